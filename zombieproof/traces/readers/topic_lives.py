"""When topics were created and deleted: the cluster's metadata log, and the calls of an operator in a recording.

Nothing in a partition's log or in ``__transaction_state`` tells a topic from a later one of the same name.
"""

from zombieproof.formats.cluster_metadata import PartitionCreated, TopicCreated, TopicRemoved, read_topic_record
from zombieproof.formats.faults import Undecodable
from zombieproof.traces.evidence import Evidence, TopicLife
from zombieproof.traces.readers.segments import Keep, read_segment

CREATE, DELETE = "create topic", "delete topic"


def read_topic_lives(data: memoryview, file: str, lives: list[TopicLife]) -> str:
    """Add what a segment of the metadata log tells to `lives`; return why a part of it was not read ("": all was)."""
    content = read_segment(data, file, Keep.ALL)
    known = {life.topic_id: life for life in lives if life.topic_id}
    unread = f"what stands at byte {content.damage[0].position} cannot be read" if content.damage else ""
    for batch in content.batches:
        for record in batch.records or () if not batch.is_control else ():
            try:
                found = read_topic_record(record.value) if record.value else None
            except Undecodable as fault:
                unread = unread or f"the record at offset {record.offset} cannot be read: {fault}"
                continue
            _take(found, record.timestamp_ms, file, lives, known)
    return unread and f"a part of the cluster's metadata log: {unread}"


def _take(
    found: TopicCreated | PartitionCreated | TopicRemoved | None,
    timestamp_ms: int,
    file: str,
    lives: list[TopicLife],
    known: dict[str, TopicLife],
) -> None:
    """Take in one record. Several nodes have the same log: what is known stays as it is."""
    if found is None:
        return
    life = known.get(found.topic_id)
    if isinstance(found, TopicCreated):
        if life is None:
            known[found.topic_id] = life = TopicLife(found.topic, found.topic_id, timestamp_ms, file)
            lives.append(life)
    elif life is None:
        # The topic is older than what is left of the log.
        return
    elif isinstance(found, PartitionCreated):
        life.partitions.setdefault(found.partition, timestamp_ms)
    elif life.removed_ms is None:
        life.removed_ms = timestamp_ms


def add_calls(evidence: Evidence) -> None:
    """Add the topics that calls in a recording create and delete, of which the metadata does not tell."""
    recorded = {life.topic for life in evidence.topic_lives}
    for call in evidence.client_calls:
        topic = call.args.get("topic")
        if call.action not in (CREATE, DELETE) or not isinstance(topic, str) or topic in recorded or call.error:
            continue
        if call.action == CREATE:
            evidence.topic_lives.append(TopicLife(topic, "", call.timestamp_ms, call.file))
            continue
        life = evidence.life_of(topic)
        if life is None or life.removed_ms is not None:
            life = TopicLife(topic, "", None, call.file)
            evidence.topic_lives.append(life)
        life.removed_ms = call.timestamp_ms

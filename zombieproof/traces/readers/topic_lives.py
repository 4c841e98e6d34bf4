"""When topics were created and deleted: the cluster's metadata log, and the calls of an operator in a recording.

Nothing in a partition's log or in ``__transaction_state`` tells a topic from a later one of the same name.
"""

import json
import re
import struct
from collections.abc import Callable, Mapping

from zombieproof.formats.cluster_metadata import (
    PartitionCreated,
    TopicConfigured,
    TopicCreated,
    TopicRemoved,
    read_topic_record,
)
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import LOG_OVERHEAD
from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Evidence, TopicLife
from zombieproof.traces.readers.segments import read_header, read_payload

CREATE, DELETE = "create topic", "delete topic"
CLEANUP_POLICY = "cleanup.policy"


TELLS = re.compile(rb"\x01[\x02\x03\x04\x09]")
"""Every batch with a record that is read here has these bytes: the frame version and the API key of its value.

The log holds a batch each half second that tells nothing: those are passed over without being decoded.
"""
LENGTH = struct.Struct(">i")
SMALLEST = 61


def read_topic_lives(data: memoryview, file: str, lives: list[TopicLife], policies: dict[str, str]) -> str:
    """Add what a segment of the metadata log tells to `lives`, and the cleanup.policy of topics to `policies`.

    Returned is why a part of it was not read ("": all was).
    """
    known = {life.topic_id: life for life in lives if life.topic_id}
    at, unread = 0, ""
    while at + SMALLEST <= len(data):
        size = LOG_OVERHEAD + LENGTH.unpack_from(data, at + 8)[0]
        if size < SMALLEST or at + size > len(data):
            break
        if TELLS.search(data, at + SMALLEST, at + size):
            unread = unread or _read_batch(data, at, file, lives, known, policies)
        at += size
    if any(data[at:]):
        unread = unread or f"there is no batch at byte {at}"
    return unread and f"a part of the cluster's metadata log: {unread}"


def _read_batch(
    data: memoryview,
    at: int,
    file: str,
    lives: list[TopicLife],
    known: dict[str, TopicLife],
    policies: dict[str, str],
) -> str:
    """Take in the records of a batch; return why it was not read ("": it was)."""
    batch = read_header(data, at, file)
    if not batch.is_valid:
        return f"the batch at byte {at} does not match its CRC"
    try:
        for record in () if batch.is_control else read_payload(data, batch):
            found = read_topic_record(record.value) if record.value else None
            if isinstance(found, TopicConfigured):
                _configure(found, policies)
            else:
                _take(found, record.timestamp_ms, file, lives, known)
    except Undecodable as fault:
        return f"a record at byte {at} cannot be read: {fault}"
    return ""


def _configure(found: TopicConfigured, policies: dict[str, str]) -> None:
    if found.name != CLEANUP_POLICY:
        return
    if found.value is None:
        policies.pop(found.topic, None)
    else:
        policies[found.topic] = found.value


def read_cleanup_policies(data: memoryview) -> dict[str, str]:
    """The cleanup.policy of the topics in a ``cluster.json`` that have one of their own.

    Raises:
        Undecodable: it is something else.
    """
    try:
        topics = json.loads(bytes(data))["topics"]
        configs = {str(topic): known.get("config") or {} for topic, known in topics.items()}
        return {topic: str(config[CLEANUP_POLICY]) for topic, config in configs.items() if CLEANUP_POLICY in config}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as fault:
        raise Undecodable("it is not the cluster.json of zombieproof serve") from fault


def read_present_topics(data: memoryview) -> dict[str, int]:
    """The topics in a ``cluster.json`` of `zombieproof serve --data`, and how many partitions each has.

    Raises:
        Undecodable: it is something else.
    """
    try:
        topics = json.loads(bytes(data))["topics"]
        return {str(topic): len(known["partitions"]) for topic, known in topics.items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as fault:
        raise Undecodable("it is not the cluster.json of zombieproof serve") from fault


def read_unreplicated(data: memoryview) -> set[TopicPartition]:
    """The partitions in a ``cluster.json`` that have one replica.

    Raises:
        Undecodable: it is something else.
    """
    try:
        topics = json.loads(bytes(data))["topics"].items()
        return {
            (str(topic), number)
            for topic, known in topics
            for number, partition in enumerate(known["partitions"])
            if len(partition.get("replicas", ())) == 1
        }
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as fault:
        raise Undecodable("it is not the cluster.json of zombieproof serve") from fault


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


def earlier_topics(evidence: Evidence, latest_in: Callable[[], Mapping[str, int]]) -> dict[str, str]:
    """Folders of topics that were deleted and created again, and why each is passed over.

    A broker that was away keeps the folder until it is back: it is no copy of the present partition. Which of several
    ids is the present one the metadata tells, else the newest batch (`latest_in`, by folder); nothing is passed over
    where neither does, or where all topics differ, as those of two clusters do.
    """
    folders: dict[str, dict[str, list[str]]] = {}
    for each in evidence.topic_identities:
        folders.setdefault(each.topic, {}).setdefault(each.topic_id, []).append(each.folder)
    is_one_cluster = any(len(ids) == 1 and len(next(iter(ids.values()))) > 1 for ids in folders.values())
    found: dict[str, str] = {}
    for topic, ids in folders.items():
        present = _present(topic, ids, evidence, latest_in, is_one_cluster=is_one_cluster) if len(ids) > 1 else None
        for topic_id in ids if present else ():
            if topic_id != present:
                why = f"of an earlier topic {topic!r}, with the id {topic_id}; the present one has {present}"
                found.update(dict.fromkeys(ids[topic_id], why))
    return found


def _present(
    topic: str,
    ids: Mapping[str, list[str]],
    evidence: Evidence,
    latest_in: Callable[[], Mapping[str, int]],
    *,
    is_one_cluster: bool,
) -> str | None:
    """The id of the present topic of a name; None where it is not known."""
    lives = [life for life in evidence.topic_lives if life.topic == topic and life.topic_id]
    if any(life.topic_id in ids for life in lives):
        return lives[-1].topic_id if lives[-1].topic_id in ids else None
    times = latest_in()
    latest = {topic_id: max((times.get(each, -1) for each in here), default=-1) for topic_id, here in ids.items()}
    newest = max(latest.values())
    if not is_one_cluster or min(latest.values()) < 0 or list(latest.values()).count(newest) > 1:
        return None
    return next(topic_id for topic_id, time in latest.items() if time == newest)


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

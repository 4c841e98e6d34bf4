"""How far logs reached, as other evidence tells: a copy that ends before is cut, whatever its last bytes look like.

Nothing in a log says where it ends. But a producer snapshot is named by the offset that the log had reached (one is
written at every clean stop), the recovery point was synced, the index of aborted transactions speaks of offsets, an
index is made with its segment, other copies are longer, and producers are told offsets. Brokers report snapshots in
their logs: a report confirms an end, but does not refute one, since logs of brokers may be older or newer than what
was copied.
"""

from collections.abc import Iterator
from typing import NamedTuple

from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Evidence, Lost, PartitionLog, Phase
from zombieproof.traces.readers.files import plain_name


class Reached(NamedTuple):
    """An offset below which a log had records, and what says so.

    `is_end`: a clean stop leaves just this. `only_confirms`: it may speak of another time.
    """

    place: TopicPartition
    offset: int
    why: str
    is_end: bool = False
    only_confirms: bool = False


def look_for_ends(evidence: Evidence) -> None:
    """Note in each log to be judged what is lost at its end, and what shows that nothing is."""
    logs = evidence.partition_logs()
    for reached in _witnesses(evidence):
        found = logs.get(reached.place)
        if found is not None and reached.is_end and reached.offset == found.end_offset and not found.torn_tail:
            found.end_shown_by = reached.why
    for reached in sorted(_witnesses(evidence), key=lambda reached: -reached.offset):
        found = logs.get(reached.place)
        if found is not None and not reached.only_confirms:
            _cut(found, reached)
    for reached in _acknowledged(evidence):
        found = logs.get(reached.place)
        if found is not None and not found.end_shown_by:
            _cut(found, reached)
    _look_at_coordinators(logs, evidence)


def _cut(log: PartitionLog, reached: Reached) -> None:
    """Note that a log went on behind its end, once."""
    if reached.offset > log.end_offset and not any(lost.first == log.end_offset for lost in log.lost):
        log.lost.append(Lost(log.end_offset, None if log.torn_tail else reached.offset - 1, reached.why))
        log.torn_tail, log.end_shown_by = True, ""


def _witnesses(evidence: Evidence) -> Iterator[Reached]:
    for snapshot in evidence.snapshots:
        place = (snapshot.topic, snapshot.partition)
        name = f"{snapshot.offset:020}.snapshot"
        yield Reached(place, snapshot.offset, f"producer snapshot {name} was made at {snapshot.offset}", is_end=True)
        for entry in snapshot.entries:
            if entry.last_offset != NONE:
                yield Reached(place, entry.last_offset + 1, f"{name} knows offset {entry.last_offset}")
    for aborted in evidence.aborted_transactions:
        why = f"the index of aborted transactions has one that ends at {aborted.last_offset}"
        yield Reached((aborted.topic, aborted.partition), aborted.last_offset + 1, why)
    for (_, place), offset in evidence.named_offsets.items():
        yield Reached(place, offset, f"an index is named {offset:020}")
    for synced in evidence.synced:
        why = f"recovery-point-offset-checkpoint says that it was on the disk up to offset {synced.offset - 1}"
        yield Reached(synced.place, synced.offset, why)
    for log in evidence.logs:
        yield Reached(
            log.topic_partition, log.end_offset, f"another copy ({', '.join(map(plain_name, log.files))}) is longer"
        )
    yield from _reported(evidence)


def _reported(evidence: Evidence) -> Iterator[Reached]:
    """The last snapshot that a broker reports."""
    last = {(each.file, each.place): each for each in evidence.hosted if each.end_offset != NONE}
    for each in last.values():
        why = f"{plain_name(each.file)}, line {each.line}, speaks of a producer snapshot at {each.end_offset}"
        yield Reached(each.place, each.end_offset, why, is_end=True, only_confirms=True)


def _acknowledged(evidence: Evidence) -> Iterator[Reached]:
    """What producers were told is judged against logs that are shown to be whole; others may be older copies.

    What they were told before the partition was created that has the name now says nothing of its end.
    """
    for call in evidence.client_calls:
        result = call.result
        if call.error is None and call.action == "send" and isinstance(result, dict):
            topic, partition, offset = (result.get(name) for name in ("topic", "partition", "offset"))
            if isinstance(topic, str) and isinstance(partition, int) and isinstance(offset, int):
                created_ms = evidence.created_ms((topic, partition))
                if created_ms is None or call.timestamp_ms is None or call.timestamp_ms >= created_ms:
                    yield Reached((topic, partition), offset + 1, f"client {call.client!r} was told of offset {offset}")


def _look_at_coordinators(logs: dict[TopicPartition, PartitionLog], evidence: Evidence) -> None:
    """A coordinator's log that ends before a transition which its broker completed was cut or copied before."""
    newest: dict[int, int] = {}
    homes: dict[str, int] = {}
    for record in evidence.transaction_states:
        homes[record.transactional_id] = record.partition
        if record.value is not None:
            newest[record.partition] = max(newest.get(record.partition, NONE), record.value.last_update_ms)
    for line in evidence.coordinator_lines:
        home = homes.get(line.transactional_id)
        log = logs.get((TRANSACTION_STATE, NONE if home is None else home))
        if log is None or home is None or log.end_shown_by or log.torn_tail or line.target is None:
            continue
        if line.phase is Phase.COMPLETE and line.target.last_update_ms > newest[home]:
            why = (
                f"{plain_name(line.file)}, line {line.line}, completes a later transition of {line.transactional_id!r}"
            )
            log.lost.append(Lost(log.end_offset, None, why))
            log.torn_tail = True

"""The committed offsets of consumer groups: ``__consumer_offsets`` folded through the group coordinator's machine.

An offset that a transaction commits waits until the marker of its producer id behind it; a later commit of the same
offset wins whichever way it was made (reference §4.2, §4.3).
"""

from collections.abc import Iterable, Mapping
from heapq import merge

from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.model.decisions.txn_offset_commit import evolve_offsets_marker, evolve_pending
from zombieproof.model.records import GroupOffset, PendingOffset
from zombieproof.model.vocabulary import NONE, GroupEvent
from zombieproof.statemachines.group_coordinator import GROUP_COORDINATOR
from zombieproof.traces.evidence import OffsetCommitRecord
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory

Key = tuple[str, TopicPartition]
"""Group and the partition whose offset is committed."""


def read_groups(
    commits: Iterable[OffsetCommitRecord], partitions: Mapping[TopicPartition, PartitionHistory]
) -> dict[str, dict[TopicPartition, int]]:
    """The committed offset of each group and partition; what waits for a marker does not count."""
    by_partition: dict[int, list[OffsetCommitRecord]] = {}
    for commit in commits:
        by_partition.setdefault(commit.log_partition, []).append(commit)
    found: dict[str, dict[TopicPartition, int]] = {}
    for number, records in by_partition.items():
        history = partitions.get((CONSUMER_OFFSETS, number))
        endings = [ending for each in history.endings.values() for ending in each] if history else []
        # Dumps that do not tell their partition may be parts of one, and come in any order.
        records.sort(key=lambda record: record.log_offset)
        for (group, place), committed in _fold(records, sorted(endings, key=lambda ending: ending.offset)).items():
            if committed.offset != NONE:
                found.setdefault(group, {})[place] = committed.offset
    return found


def _fold(records: list[OffsetCommitRecord], endings: list[Ending]) -> dict[Key, GroupOffset]:
    committed: dict[Key, GroupOffset] = {}
    pending: dict[int, dict[Key, PendingOffset]] = {}
    steps: Iterable[tuple[int, OffsetCommitRecord | Ending]] = merge(
        ((record.log_offset, record) for record in records),
        ((ending.offset, ending) for ending in endings),
        key=lambda step: step[0],
    )
    for _, step in steps:
        if not isinstance(step, Ending):
            _commit(step, committed, pending)
        elif step.commits is not None:
            _mark(step, committed, pending.pop(step.producer_id, {}))
    return committed


def _commit(
    record: OffsetCommitRecord, committed: dict[Key, GroupOffset], pending: dict[int, dict[Key, PendingOffset]]
) -> None:
    key = (record.group, (record.topic, record.partition))
    if record.offset is None:
        committed.pop(key, None)
        for waiting in pending.values():
            waiting.pop(key, None)
    elif record.is_transactional and record.producer_id != NONE:
        slot = pending.setdefault(record.producer_id, {}).setdefault(key, PendingOffset())
        state = GROUP_COORDINATOR.target(slot.state, GroupEvent.TXN_OFFSET_COMMIT, record.group)
        evolve_pending(slot, record.offset, record.log_offset, state)
    else:
        committed[key] = GroupOffset(record.offset, record.log_offset)


def _mark(ending: Ending, committed: dict[Key, GroupOffset], waiting: dict[Key, PendingOffset]) -> None:
    event = GroupEvent.COMMIT_MARKER if ending.commits else GroupEvent.ABORT_MARKER
    for key, slot in waiting.items():
        state = GROUP_COORDINATOR.target(slot.state, event, key[0])
        evolve_offsets_marker(committed.setdefault(key, GroupOffset()), slot, bool(ending.commits), state)

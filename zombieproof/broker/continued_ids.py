"""Transactional ids whose newest states a repair has lost: they continue as the data logs show.

The data logs show, for each producer id, its newest epoch, the partitions in which a transaction of it is open, and how
earlier ones ended. A state that may be outdated is replaced so that the coordinator ends exactly the open transactions:

- Open records of epoch N belong to a decided transaction if a marker of epoch N + 1 has ended it in another partition,
  or if the surviving state is the decision that raised the epoch to N + 1. They are ended as decided.
- All other open records are aborted, by the next InitProducerId or by the transaction timeout. With transaction
  version 0 or 1 the epoch stays the same from one transaction to the next. A surviving PREPARE_COMMIT of the same
  epoch then decides only if a partition of it, of which the whole log is there, has no marker of this epoch: its
  transaction was not completed, so that no later one can have begun. A producer that is still running could add
  records of the next transaction to those that are to be aborted: the epoch is raised, and it is fenced.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.broker.store.disk import Disk, Kind
from zombieproof.broker.store.known_logs import SNAPSHOT
from zombieproof.broker.store.segment import base_of
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.encoding import read_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.producer_snapshot import read_snapshot
from zombieproof.formats.segments import PartKind, parts_of
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE, PRODUCER_EPOCH_MAX, TransactionState

MOST_NAMES = 20
"""So many ids are named in the report of a repair."""
DECIDED = {
    TransactionState.PREPARE_COMMIT: True,
    TransactionState.COMPLETE_COMMIT: True,
    TransactionState.PREPARE_ABORT: False,
    TransactionState.COMPLETE_ABORT: False,
}
"""Whether the transaction that ended last was committed, by the state."""


@dataclass(slots=True)
class InLog:
    """One producer id in the log of one partition.

    Attributes:
        epoch: its newest epoch.
        opened: the epoch of the transaction that is open; NONE: none is.
        markers: whether the last marker of each epoch commits.
        raised: the same of transactions whose marker has the next epoch, by the epoch of their records.
    """

    epoch: int = NONE
    opened: int = NONE
    markers: dict[int, bool] = field(default_factory=dict)
    raised: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Replica:
    """One log: its producers, where it ends, and whether every offset from 0 on was read."""

    end_offset: int = 0
    is_whole: bool = True
    producers: dict[int, InLog] = field(default_factory=dict)


DataLogs = Mapping[TopicPartition, Replica]
"""The logs of data, of each partition the longest replica."""


class Written:
    """One producer id in all data logs."""

    def __init__(self, data: DataLogs, producer_id: int) -> None:
        logs = {each: log.producers[producer_id] for each, log in data.items() if producer_id in log.producers}
        self.newest = max((log.epoch for log in logs.values()), default=NONE)
        self.opened = {each: log.opened for each, log in logs.items() if log.opened != NONE}
        self.raised = {epoch: committed for log in logs.values() for epoch, committed in log.raised.items()}
        self.last = max((max(log.markers.items()) for log in logs.values() if log.markers), default=None)
        self._data, self._logs = data, logs

    def has_no_marker(self, partition: TopicPartition, epoch: int) -> bool:
        """Whether a partition has no marker of an epoch, nor has had one."""
        is_whole = partition in self._data and self._data[partition].is_whole
        return is_whole and (partition not in self._logs or epoch not in self._logs[partition].markers)


class Continued(NamedTuple):
    """How ids continue: a batch of new states (None: no id needs one), and the report of it."""

    batch: Batch | None
    text: str


# ---------------------------------------------------------------- reading the data


def segments_of(disk: Disk, folder: str) -> Iterator[tuple[int, bytes]]:
    """The segments in a folder, in order: base offset and bytes."""
    for name, kind in sorted(disk.kinds(folder).items()):
        base = base_of(name)
        if base is not None and kind is Kind.FILE:
            yield base, disk.read(f"{folder}/{name}")


def read_data(disk: Disk, logs: Mapping[TopicPartition, Iterable[str]]) -> DataLogs:
    """Read the sound batches of these logs, of which replicas are in these folders."""
    read = {partition: [_read_log(disk, folder) for folder in folders] for partition, folders in logs.items()}
    return {each: max(replicas, key=lambda log: log.end_offset) for each, replicas in read.items() if replicas}


def _read_log(disk: Disk, folder: str) -> Replica:
    found, is_first = Replica(), True
    for base, data in segments_of(disk, folder):
        if is_first and base:
            _begin_behind(found, disk, folder, base)
        is_first = False
        for part in parts_of(memoryview(data)):
            header = part.header
            if part.kind is not PartKind.BATCH or header is None:
                found.is_whole = False
                continue
            found.is_whole = found.is_whole and header.base_offset == found.end_offset
            found.end_offset = max(found.end_offset, header.base_offset + header.last_offset_delta + 1)
            if header.producer_id != NONE:
                of = found.producers.setdefault(header.producer_id, InLog())
                of.epoch = max(of.epoch, header.producer_epoch)
                if header.is_control:
                    _end(of, header.producer_epoch, data, part.position)
                elif header.is_transactional:
                    of.opened = header.producer_epoch
    return found


def _end(of: InLog, epoch: int, data: bytes, position: int) -> None:
    """A control batch: a marker ends the open transaction."""
    marker = None
    with suppress(Undecodable):
        marker = read_batch(data, position).marker
    if marker is not None:
        if of.opened == epoch - 1 >= 0:
            of.raised[of.opened] = marker.committed
        of.opened, of.markers[epoch] = NONE, marker.committed


def _begin_behind(found: Replica, disk: Disk, folder: str, start: int) -> None:
    """A log whose first records were deleted: its oldest snapshot knows the transactions that began before."""
    found.is_whole = False
    names = [name for name in sorted(disk.listed(folder)) if name.endswith(SNAPSHOT) and name[:20].isdecimal()]
    for name in names[:1]:
        with suppress(Undecodable):
            for each in read_snapshot(disk.read(f"{folder}/{name}")):
                if 0 <= each.current_txn_first_offset < start:
                    found.producers[each.producer_id] = InLog(each.producer_epoch, each.producer_epoch)


def read_producer_ids(disk: Disk, folders: Iterable[str]) -> set[int]:
    """The producer ids that any state in these folders names."""
    found = set[int]()
    for folder in folders:
        for _, data in segments_of(disk, folder):
            for part in parts_of(memoryview(data)):
                if part.kind is PartKind.BATCH:
                    with suppress(Undecodable):
                        for record in read_batch(data, part.position, TRANSACTION_STATE).records:
                            if isinstance(record.value, TransactionValue):
                                found |= {record.value.producer_id, record.value.next_producer_id}
    return found


# ---------------------------------------------------------------- how ids continue


def continued(
    batches: Sequence[Batch], lost: Collection[tuple[int, int]], data: DataLogs, base_offset: int
) -> Continued:
    """The states with which the ids of a log of states continue, as a batch at `base_offset`.

    Args:
        batches: those of the log that are left.
        lost: the offsets that are lost, as ranges. An id whose last state is above them is as it was.
        data: the logs of data.
        base_offset: where the batch is to be.
    """
    changed, aborted = dict[str, TransactionValue](), list[str]()
    for name, (offset, value) in _last_values(batches).items():
        if not any(end > offset for _, end in lost):
            continue
        of = Written(data, value.producer_id)
        above = _above(value, of)
        if above != value:
            changed[name] = above
        if above.state in (TransactionState.ONGOING, TransactionState.PREPARE_ABORT) and of.opened:
            aborted.append(f"{name} ({_names(each for each in of.opened if each in above.partitions)})")
    text = "states of transactional ids, which continue with the newest epochs in the data"
    if aborted:
        text += f"; open transactions are aborted, also one that a lost state says is committed: {_names(aborted)}"
    if not changed:
        return Continued(None, text)
    batch = Batch(
        records=tuple(Record(name, value) for name, value in changed.items()),
        last_offset_delta=len(changed) - 1,
        base_offset=base_offset,
        leader_epoch=max((batch.leader_epoch for batch in batches), default=0),
        timestamp_ms=max(value.last_update_ms for value in changed.values()),
    )
    return Continued(batch, text)


def hanging(data: DataLogs, producer_ids: Collection[int]) -> str:
    """The report of transactions that are open and that no id has any more; empty: there are none."""
    found = (
        f"producer id {producer_id} in {_names([partition])}"
        for partition, log in data.items()
        for producer_id, of in log.producers.items()
        if of.opened != NONE and producer_id not in producer_ids
    )
    names = _names(found)
    advice = "end them with kafka-transactions.sh abort"
    return f"; open transactions of which no id is left stay open, {advice}: {names}" if names else ""


def _last_values(batches: Iterable[Batch]) -> dict[str, tuple[int, TransactionValue]]:
    """The last state of every id, with its offset."""
    found = dict[str, tuple[int, TransactionValue]]()
    for batch in batches:
        for offset, record in zip(batch.offsets, batch.records, strict=True):
            if isinstance(record.key, str) and isinstance(record.value, TransactionValue):
                found[record.key] = offset, record.value
            elif isinstance(record.key, str) and record.value is None:
                found.pop(record.key, None)
    return found


def _above(value: TransactionValue, of: Written) -> TransactionValue:
    """The state that follows an outdated one."""
    epoch = max(of.newest, value.producer_epoch)
    if not of.opened:
        return value if epoch == value.producer_epoch else _completed(value, of)
    fates = {partition: _decision(value, of, opened) for partition, opened in of.opened.items()}
    left = frozenset(each for each, fate in fates.items() if fate is not True)
    if not left:
        if value.state == TransactionState.PREPARE_COMMIT and epoch == value.producer_epoch:
            return replace(value, partitions=value.partitions | frozenset(fates))
        return _at(value, epoch, TransactionState.PREPARE_COMMIT, frozenset(fates))
    if any(fates[each] is None and of.opened[each] == epoch for each in left):
        is_new = value.client_transaction_version >= 2 and value.producer_epoch == epoch
        if is_new and value.state == TransactionState.ONGOING:
            left |= value.partitions
        # A producer whose commit has raised the epoch raises it at every end: one transaction has this one.
        is_alone = is_new or of.raised.get(epoch - 1, False)
        fenced = epoch if is_alone else min(epoch + 1, PRODUCER_EPOCH_MAX - 1)
        return _at(value, max(epoch, fenced), TransactionState.ONGOING, left)
    return _at(value, epoch, TransactionState.PREPARE_ABORT, left)


def _decision(value: TransactionValue, of: Written, opened: int) -> bool | None:
    """Whether the open transaction of an epoch was committed, where that can be shown."""
    if opened in of.raised:
        return of.raised[opened]
    decided, raises_epoch = DECIDED.get(value.state), value.client_transaction_version >= 2
    if decided is not None and value.producer_epoch == opened + 1 and (raises_epoch or not decided):
        return decided
    is_same = value.state == TransactionState.PREPARE_COMMIT and value.producer_epoch == opened and not raises_epoch
    if is_same and of.opened.keys() <= value.partitions:
        return True if any(of.has_no_marker(each, opened) for each in value.partitions) else None
    return None


def _completed(value: TransactionValue, of: Written) -> TransactionValue:
    """Nothing is open, and the data has a newer epoch: the transaction of the state was completed."""
    state = TransactionState.EMPTY
    if of.last is not None:
        state = TransactionState.COMPLETE_COMMIT if of.last[1] else TransactionState.COMPLETE_ABORT
    return _at(value, of.newest, state, frozenset())


def _at(
    value: TransactionValue, epoch: int, state: TransactionState, partitions: frozenset[TopicPartition]
) -> TransactionValue:
    return replace(
        value,
        producer_epoch=epoch,
        state=state,
        partitions=partitions,
        next_producer_id=NONE,
        next_producer_epoch=NONE,
        start_ms=value.start_ms if value.start_ms != NONE or not partitions else value.last_update_ms,
    )


def _names(subjects: Iterable[str] | Iterable[TopicPartition]) -> str:
    found = sorted(each if isinstance(each, str) else f"{each[0]}-{each[1]}" for each in subjects)
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more

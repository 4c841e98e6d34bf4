"""What the logs of partitions say of a subject, in the order of each log."""

from collections.abc import Iterable

from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.traces.evidence import (
    LoggedBatch,
    OffsetCommitRecord,
    PartitionLog,
    TransactionStateRecord,
)
from zombieproof.traces.explaining.timeline.beside_logs import AT, BEFORE, of_index, of_snapshots
from zombieproof.traces.explaining.timeline.entries import Entry, EntryKind, places, span
from zombieproof.traces.explaining.timeline.subject import Subject, SubjectKind
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.verdict.report import named

Sorted = list[tuple[tuple[int, int], Entry]]


def log_entries(subject: Subject, examined: Examined) -> list[list[Entry]]:
    """The entries of each log that says something of the subject."""
    found = [_of_partition(subject, examined, history) for history in examined.partitions.values()]
    found += _of_states(subject, examined)
    return [entries for entries in found if entries]


# ---- __transaction_state


def _of_states(subject: Subject, examined: Examined) -> list[list[Entry]]:
    """Records of ``__transaction_state``, by partition."""
    by_log: dict[str, list[Entry]] = {}
    touching = _touching(subject, examined)
    for record in examined.evidence.transaction_states:
        source = named((TRANSACTION_STATE, record.partition)) if record.partition >= 0 else TRANSACTION_STATE
        if _is_told(subject, record, touching):
            by_log.setdefault(source, []).append(_state(record, source))
    return [
        _with_unknown(entries, examined.evidence.log(TRANSACTION_STATE, int(entries[0].partition or 0)), subject)
        if entries[0].offset is not None
        else entries
        for entries in by_log.values()
    ]


def _touching(subject: Subject, examined: Examined) -> dict[str, list[tuple[int, int | None]]]:
    """By transactional id, from where to where in its log a transaction is one of the partition or of the epoch."""
    found: dict[str, list[tuple[int, int | None]]] = {}
    for history in examined.histories:
        for txn in history.transactions:
            if _concerns(subject, txn):
                found.setdefault(history.transactional_id, []).append((txn.position, txn.completed_at))
    return found


def _concerns(subject: Subject, txn: RecordedTransaction) -> bool:
    if subject.kind is SubjectKind.PARTITION:
        return subject.place in (txn.partitions or ())
    return subject.epoch is not None and subject.is_producer(txn.producer_id, txn.data_epoch)


def _is_told(
    subject: Subject, record: TransactionStateRecord, touching: dict[str, list[tuple[int, int | None]]]
) -> bool:
    value = record.value
    if subject.kind is SubjectKind.ID:
        return record.transactional_id == subject.name
    if subject.place == (TRANSACTION_STATE, record.partition):
        return True
    if value is not None and subject.is_producer(value.producer_id, value.producer_epoch):
        return True
    spans = touching.get(record.transactional_id, ())
    return any(first <= record.offset and (last is None or record.offset <= last) for first, last in spans)


def _state(record: TransactionStateRecord, source: str) -> Entry:
    value = record.value
    is_placed = record.offset >= 0
    entry = Entry(
        kind=EntryKind.STATE,
        source=source,
        text=f"{record.transactional_id}: forgotten (a tombstone)",
        file=record.file,
        time_ms=record.timestamp_ms if record.timestamp_ms >= 0 else value.last_update_ms if value else None,
        topic=TRANSACTION_STATE,
        partition=record.partition if is_placed else None,
        offset=record.offset if is_placed else None,
        transactional_id=record.transactional_id,
    )
    if value is not None:
        entry.producer_id, entry.producer_epoch = value.producer_id, value.producer_epoch
        holder = f"producer {value.producer_id} epoch {value.producer_epoch}"
        listed = f", partitions {places(value.partitions)}" if value.partitions else ""
        limit = f", time-out {value.timeout_ms:,} ms" if value.state.name in {"EMPTY", "ONGOING"} else ""
        entry.text = f"{record.transactional_id}: {value.state.name}, {holder}{listed}{limit}"
    return entry


# ---- partitions


def _of_partition(subject: Subject, examined: Examined, history: PartitionHistory) -> list[Entry]:
    """Batches, what is missing between them, snapshots and entries of the index of aborted transactions."""
    log, place = history.log, history.place
    endings = {ending.offset: ending for each in history.endings.values() for ending in each}
    epochs = _of_an_epoch(subject, history)
    commits: dict[int, list[OffsetCommitRecord]] = {}
    if place[0] == CONSUMER_OFFSETS:
        for commit in examined.evidence.offset_commits:
            if commit.log_partition == place[1]:
                commits.setdefault(commit.log_offset, []).append(commit)
    is_whole = subject.place == place
    found: Sorted = []
    for batch in log.batches:
        committed = [commit for offset in batch.offsets() for commit in commits.get(offset, ())] if commits else []
        if is_whole or batch.base_offset in epochs or _is_of(subject, batch, committed):
            entry = _batch(batch, place, endings.get(batch.base_offset), committed)
            found.append(((batch.base_offset, AT), entry))
    found += of_snapshots(subject, examined, place)
    found += of_index(subject, examined, place)
    found.sort(key=lambda each: each[0])
    return _with_unknown([entry for _, entry in found], log, subject)


def _of_an_epoch(subject: Subject, history: PartitionHistory) -> set[int]:
    """Offsets of the markers that end data of the epoch asked for: under version 2 they have the epoch above it."""
    if subject.epoch is None:
        return set()
    return {
        run.ending.offset
        for producer_id in subject.producer_ids
        for run in history.runs.get(producer_id, ())
        if run.ending is not None and run.stretch_of(subject.epoch) is not None
    }


def _is_of(subject: Subject, batch: LoggedBatch, commits: Iterable[OffsetCommitRecord]) -> bool:
    if batch.producer_id >= 0 and subject.is_producer(batch.producer_id, batch.producer_epoch):
        return True
    if subject.kind is SubjectKind.GROUP:
        return any(commit.group == subject.name for commit in commits)
    return subject.place is not None and any((commit.topic, commit.partition) == subject.place for commit in commits)


def _batch(
    batch: LoggedBatch, place: TopicPartition, ending: Ending | None, commits: list[OffsetCommitRecord]
) -> Entry:
    has_producer = batch.producer_id >= 0
    entry = Entry(
        kind=EntryKind.DATA,
        source=named(place),
        text="",
        file=batch.file,
        time_ms=batch.max_timestamp_ms if batch.max_timestamp_ms >= 0 else None,
        topic=place[0],
        partition=place[1],
        offset=batch.base_offset,
        last_offset=batch.last_offset,
        producer_id=batch.producer_id if has_producer else None,
        producer_epoch=batch.producer_epoch if has_producer else None,
        # The group coordinator and the leader set the times of offsets and markers, producers those of their data.
        by_client=batch.timestamp_type is TimestampType.CREATE_TIME
        and not batch.is_control
        and place[0] != CONSUMER_OFFSETS,
    )
    producer = f" of producer {batch.producer_id} epoch {batch.producer_epoch}" if has_producer else ""
    if batch.is_control:
        entry.kind = EntryKind.MARKER if ending is not None else EntryKind.CONTROL
        entry.text = _marker(batch, ending) + producer + _ended(ending)
    elif commits:
        entry.kind = EntryKind.OFFSETS
        entry.text = _committed(commits) + (f", in the transaction{producer}" if has_producer else "")
    else:
        what = "records in a transaction" if batch.is_transactional else "records"
        sequences = f", sequence {span(batch.base_sequence, batch.last_sequence)}" if has_producer else ""
        entry.text = f"{batch.count:,} {what if batch.count != 1 else what.replace('records', 'record', 1)}"
        entry.text += producer + sequences
    return entry


def _marker(batch: LoggedBatch, ending: Ending | None) -> str:
    if batch.marker is not None:
        return f"{'COMMIT' if batch.marker.commit else 'ABORT'} marker"
    if ending is not None:
        return "marker, of which the source does not show what it decides,"
    return "control batch that ends no transaction"


def _ended(ending: Ending | None) -> str:
    if ending is None:
        return ""
    if ending.run is None:
        return ": ends no data"
    return f": ends the data at {span(ending.run.first_offset, ending.run.last_offset)}"


def _committed(commits: Iterable[OffsetCommitRecord]) -> str:
    by_group: dict[str, list[str]] = {}
    for commit in commits:
        offset = "forgotten" if commit.offset is None else str(commit.offset)
        by_group.setdefault(commit.group, []).append(f"{commit.topic}-{commit.partition} to {offset}")
    return "; ".join(f"group {group} commits {', '.join(offsets)}" for group, offsets in by_group.items())


# ---- what is not known


def _with_unknown(entries: list[Entry], log: PartitionLog | None, subject: Subject) -> list[Entry]:
    """The entries of a log and the places between them of which nothing is known.

    Of what the cleaner took only somebody who looks at the partition wants to hear.
    """
    if log is None or not (entries or subject.place == log.topic_partition):
        return entries
    unknown = [(at, "what stood before this offset cannot be read") for at in sorted(log.damaged_at)]
    if log.start_offset > 0:
        unknown.append((log.start_offset, f"the log begins at offset {log.start_offset}"))
    if subject.place == log.topic_partition:
        gaps = [gap for gap in log.gaps() if not gap.damaged]
        unknown += [(gap.last + 1, f"no record is left at {span(gap.first, gap.last)}") for gap in gaps]
    if log.torn_tail:
        unknown.append((log.end_offset, f"the log is cut: what stood from offset {log.end_offset} on is not known"))
    made = [((at, BEFORE), _unknown(log, at, text)) for at, text in unknown]
    known = [((entry.offset or 0, AT), entry) for entry in entries]
    return [entry for _, entry in sorted([*made, *known], key=lambda each: each[0])]


def _unknown(log: PartitionLog, offset: int, text: str) -> Entry:
    return Entry(
        kind=EntryKind.UNKNOWN,
        source=named(log.topic_partition),
        text=text,
        file=log.files[0] if log.files else "",
        topic=log.topic,
        partition=log.partition,
        offset=offset,
    )

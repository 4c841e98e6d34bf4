"""Open transactions according to tools and producer snapshots, and the commands that end them.

The producers of a leader and a snapshot show the open transactions of a partition. Only the coordinator's tables show
who will end them; `find-hanging` asks both. All of them describe a past moment, so each command comes with checks.
Source: KIP-664; TransactionsCommand (a coordinator epoch below 0 is sent as 0); reference §9.5.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import Evidence, ProducerSnapshot
from zombieproof.traces.explaining.open.models import EndedBy, StatedOpen, StatedTransaction
from zombieproof.traces.explaining.scene.shell import quoted
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.gathering.captures import last_states, told_by
from zombieproof.traces.judging.gathering.statements import (
    UNFINISHED,
    coordinator_answer,
    log_answer,
    newest_ms,
)
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.dump_name import BY_NAME
from zombieproof.traces.tool_reports import ProducerRow, Told, TransactionRow
from zombieproof.traces.verdict.report import named

TRANSACTIONS = "kafka-transactions.sh --bootstrap-server HOST:PORT"
NO_LIMIT_MS = 2**31 - 1
SNAPSHOT = "a producer snapshot"


@dataclass(slots=True)
class Stated:
    """Open transactions according to tools and snapshots, and their sources."""

    on_partitions: list[StatedOpen] = field(default_factory=list)
    transactions: list[StatedTransaction] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def says_what_is_open(evidence: Evidence) -> bool:
    """Return whether tools or snapshots list open transactions, or show that there are none."""
    has_tables = any(tool.startswith("kafka-transactions.sh") for tool in evidence.reports.rows)
    return bool(evidence.reports.producers or evidence.reports.transactions or evidence.snapshots or has_tables)


def what_is_stated(examined: Examined, narrowing: Narrowing) -> Stated:
    """List all transactions that are open according to tools and snapshots, without those that a log has."""
    evidence = examined.evidence
    last = last_states(evidence.reports.transactions, evidence.reports.producers)
    rows = [
        row
        for row in (*last.producers, *_of_snapshots(evidence))
        if not (row.place and narrowing.leaves_out(row.place[0]))
    ]
    open_rows = [row for row in rows if row.first_offset is not None]
    owners = last.owners
    found: dict[object, list[ProducerRow]] = {}
    for row in sorted(open_rows, key=_detail):
        answer = log_answer(examined.folded, row)
        if answer is None or not answer.is_listed:
            found.setdefault((row.place, row.producer_id, row.first_offset), []).append(row)
    newest = newest_ms(evidence)
    unfinished = [row for row in owners.values() if row.state in UNFINISHED]
    return Stated(
        on_partitions=[_on_partition(examined, group, owners, newest) for group in found.values()],
        transactions=[_transaction(examined, row) for row in unfinished if not _is_in_log(examined, row)],
        sources=list(_sources(evidence, rows)),
        unread=list(_unread(evidence)),
        undecided=[*last.undecided, *_contradicted(examined, owners)],
    )


def _unread(evidence: Evidence) -> Iterator[str]:
    """Yield what may hold more; of logs their own damage tells, by the certainty of each transaction."""
    yield from evidence.reports.notes
    for source, files in evidence.dialects.items():
        if source.startswith(BY_NAME):
            yield f"{', '.join(files)}: {source}"
    if not evidence.logs:
        yield from (f"{place.file}, {place.unit} {place.position}: {place.message}" for place in evidence.damage)


def _sources(evidence: Evidence, rows: Iterable[ProducerRow]) -> Iterator[str]:
    told = [row.told for row in (*evidence.reports.producers, *rows)] + [
        row.told for row in evidence.reports.transactions
    ]
    yield from dict.fromkeys(f"{each.tool} ({each.file})" for each in told)
    empty = evidence.reports.rows.keys() - {each.tool for each in told}
    yield from (f"{tool} (without rows)" for tool in sorted(empty) if tool.startswith("kafka-transactions.sh"))


def _contradicted(examined: Examined, owners: Mapping[object, TransactionRow]) -> Iterator[str]:
    """Yield the comparison of each row that says ended with a log that says open."""
    for row in owners.values():
        answer = coordinator_answer(examined.folded, row)
        if answer is not None and answer.is_open_in_log and row.state not in UNFINISHED:
            yield answer.sentence


def _is_in_log(examined: Examined, row: TransactionRow) -> bool:
    answer = coordinator_answer(examined.folded, row)
    return answer is not None and answer.is_listed


def _detail(row: ProducerRow) -> tuple[bool, bool]:
    """Sort the most detailed source first."""
    return not row.is_hanging, row.as_of_offset is not None


def _of_snapshots(evidence: Evidence) -> Iterator[ProducerRow]:
    for snapshot in _newest(evidence.snapshots):
        place: TopicPartition | None = (snapshot.topic, snapshot.partition) if snapshot.topic else None
        log = evidence.log(*place) if place else None
        if log is not None and log.end_offset >= snapshot.offset:
            continue
        for entry in snapshot.entries:
            yield ProducerRow(
                place=place,
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                coordinator_epoch=entry.coordinator_epoch,
                last_timestamp_ms=entry.last_timestamp_ms if entry.last_timestamp_ms >= 0 else None,
                first_offset=entry.current_txn_first_offset,
                told=Told(SNAPSHOT, snapshot.file, 0),
                as_of_offset=snapshot.offset,
            )


def _newest(snapshots: Iterable[ProducerSnapshot]) -> list[ProducerSnapshot]:
    """Return the newest snapshot of each partition: transactions that are open only in older ones have ended."""
    found: dict[object, ProducerSnapshot] = {}
    for snapshot in snapshots:
        key = (snapshot.topic, snapshot.partition) if snapshot.topic else (snapshot.file, snapshot.offset)
        if key not in found or found[key].offset < snapshot.offset:
            found[key] = snapshot
    return list(found.values())


def _owner_of(examined: Examined, producer_id: int, owners: dict[object, TransactionRow]) -> TransactionRow | None:
    """Return the last known state of the id that has a producer id, from a tool or the coordinator's log."""
    for row in owners.values():
        if row.producer_id == producer_id:
            return row
    for record in reversed(examined.evidence.transaction_states):
        value = record.value
        if value is not None and value.producer_id == producer_id:
            state = "".join(word.capitalize() for word in value.state.name.split("_"))
            told = Told("__transaction_state", record.file, 0)
            return TransactionRow(
                record.transactional_id,
                producer_id,
                value.producer_epoch,
                state,
                told,
                timeout_ms=value.timeout_ms,
                start_ms=value.start_ms if value.start_ms is not None and value.start_ms >= 0 else None,
                partitions=value.partitions,
            )
    return None


def owner_by_tools(examined: Examined, producer_id: int) -> str:
    """Name the transactional id and state that tools report of a producer id; empty if they do not."""
    owners = last_states(examined.evidence.reports.transactions, ()).owners
    rows = [row for row in owners.values() if row.producer_id == producer_id and row.transactional_id is not None]
    return "; ".join(f"{row.transactional_id} is {row.state}, as {told_by(row.told)} says" for row in rows)


def _ended_by(row: ProducerRow, owner: TransactionRow | None) -> EndedBy:
    if owner is None or owner.partitions is None or row.place is None:
        return EndedBy.NOBODY if row.is_hanging else EndedBy.UNKNOWN
    if row.place not in owner.partitions or owner.state not in UNFINISHED:
        return EndedBy.NOBODY
    return EndedBy.OWNER if owner.state == "Ongoing" else EndedBy.MARKER


def _on_partition(
    examined: Examined,
    rows: list[ProducerRow],
    owners: dict[object, TransactionRow],
    newest: int | None,
) -> StatedOpen:
    first = rows[0]
    owner = _owner_of(examined, first.producer_id, owners)
    ended_by = _ended_by(first, owner)
    epochs = [row.coordinator_epoch for row in rows if row.coordinator_epoch is not None]
    written = max((row.last_timestamp_ms for row in rows if row.last_timestamp_ms is not None), default=None)
    loses = ended_by is EndedBy.MARKER and owner is not None and owner.state == "PrepareCommit"
    row = replace(
        first,
        coordinator_epoch=epochs[0] if epochs else None,
        producer_epoch=next((each.producer_epoch for each in rows if each.producer_epoch is not None), None),
    )
    return StatedOpen(
        topic=row.place[0] if row.place else "",
        partition=row.place[1] if row.place else None,
        first_offset=row.first_offset or 0,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        coordinator_epoch=row.coordinator_epoch,
        last_written_ms=written,
        age_ms=None if written is None or newest is None else max(0, newest - written),
        duration_min=next((each.duration_min for each in rows if each.duration_min is not None), None),
        as_of_offset=row.as_of_offset,
        told_by=[_source(each.told) for each in rows],
        transactional_id=owner.transactional_id if owner else None,
        state=owner.state if owner else None,
        due_ms=_due(owner) if ended_by is EndedBy.OWNER else None,
        ended_by=ended_by,
        log_says=answer.sentence if (answer := log_answer(examined.folded, first)) else "",
        waiting_groups=_waiting(examined.evidence, row),
        checks=list(_checks(row, owner)),
        commands=[] if loses else list(_commands(row)),
    )


def _source(told: Told) -> str:
    return told_by(told) if told.line else f"{told.tool} ({told.file})"


def _due(owner: TransactionRow | None) -> int | None:
    if owner is None or owner.start_ms is None or owner.timeout_ms is None or owner.timeout_ms >= NO_LIMIT_MS:
        return None
    return owner.start_ms + owner.timeout_ms


def _at(row: ProducerRow) -> str:
    topic, partition = row.place or ("TOPIC", "PARTITION")
    return f"--topic {topic} --partition {partition}"


def _commands(row: ProducerRow) -> Iterator[str]:
    """Yield both forms of the abort; brokers since 3.0 look up the producer by the start offset."""
    yield f"{TRANSACTIONS} abort {_at(row)} --start-offset {row.first_offset}"
    epoch = "EPOCH" if row.producer_epoch is None else row.producer_epoch
    coordinator = "EPOCH" if row.coordinator_epoch is None else max(0, row.coordinator_epoch)
    yield (
        f"{TRANSACTIONS} abort {_at(row)} --producer-id {row.producer_id} --producer-epoch {epoch} "
        f"--coordinator-epoch {coordinator}"
    )


def _checks(row: ProducerRow, owner: TransactionRow | None) -> Iterator[tuple[str, str]]:
    place = named(row.place) if row.place else "this partition"
    still = f"it still has producer {row.producer_id} with CurrentTransactionStartOffset {row.first_offset}"
    yield f"{TRANSACTIONS} describe-producers {_at(row)}", still
    if owner is None or owner.transactional_id is None:
        yield f"{TRANSACTIONS} list", f"no transactional id has producer {row.producer_id}; if one has, describe it"
        name = "ID"
    else:
        name = quoted(owner.transactional_id)
    yield f"{TRANSACTIONS} describe --transactional-id {name}", f"{place} is not among its TopicPartitions"


def _waiting(evidence: Evidence, row: ProducerRow) -> list[str]:
    """Name the groups whose position is the first offset: readers of committed data stop there."""
    return [
        f"group {position.group or '(not named)'} at {position.offset}"
        + ("" if position.lag is None else f", lag {position.lag}")
        for position in evidence.reports.positions().values()
        if position.place == row.place and position.offset == row.first_offset
    ]


def _transaction(examined: Examined, row: TransactionRow) -> StatedTransaction:
    return StatedTransaction(
        transactional_id=row.transactional_id,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        state=row.state,
        coordinator_id=row.coordinator_id,
        start_ms=row.start_ms,
        duration_ms=row.duration_ms,
        timeout_ms=row.timeout_ms,
        due_ms=_due(row) if row.state == "Ongoing" else None,
        partitions=None if row.partitions is None else [named(place) for place in sorted(row.partitions)],
        told_by=_source(row.told),
        log_says=answer.sentence if (answer := coordinator_answer(examined.folded, row)) else "",
    )

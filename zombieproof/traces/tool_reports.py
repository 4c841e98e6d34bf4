"""Rows that Kafka's command-line tools and its Admin client print about transactions and groups, without their logs.

A row describes one moment, and usually does not say which. None: the source does not tell.
Source: reference §9.4, §9.5; TransactionsCommand, ConsumerGroupCommand, GetOffsetShell, OffsetsMessageFormatter.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class Told:
    """The tool that printed a row, and its place: `line` counts from 1."""

    tool: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ProducerRow:
    """The state of a producer at the leader of a partition. `place` is None if nothing names the partition.

    `first_offset` None: no transaction is open. `is_hanging`: the tool asked the coordinator too, which has nothing
    to end the transaction with. `duration_min` is the tool's own. `as_of_offset` is that of a snapshot.
    """

    place: TopicPartition | None
    producer_id: int
    producer_epoch: int | None
    coordinator_epoch: int | None
    last_timestamp_ms: int | None
    first_offset: int | None
    told: Told
    duration_min: int | None = None
    is_hanging: bool = False
    as_of_offset: int | None = None


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """The state of a transactional id at its coordinator. The id is None in a description printed without it.

    `state` is in the tool's words, such as ``PrepareCommit``. `duration_ms` is the tool's own.
    """

    transactional_id: str | None
    producer_id: int
    producer_epoch: int | None
    state: str
    told: Told
    coordinator_id: int | None = None
    timeout_ms: int | None = None
    start_ms: int | None = None
    duration_ms: int | None = None
    partitions: frozenset[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The position of a group; `offset` None: it has none. `group` is None in a map that was printed alone.

    `end_offset` is the end of the partition when the tool ran. `committed_ms` is the time of the commit. `is_record`: a
    console consumer printed the record, and prints those of open and aborted transactions as well.
    """

    group: str | None
    place: TopicPartition
    offset: int | None
    told: Told
    end_offset: int | None = None
    lag: int | None = None
    committed_ms: int | None = None
    is_record: bool = False


@dataclass(frozen=True, slots=True)
class EndRow:
    """An offset that a tool reports of a partition: its end, or its last stable offset if the tool asked for that."""

    place: TopicPartition
    offset: int
    told: Told


@dataclass(slots=True)
class ToolReports:
    """All rows of all files. `rows` counts them by the tool that printed them, including those of no use here.

    `notes` are sentences about lines that were not used, and about gaps in the sources.
    """

    producers: list[ProducerRow] = field(default_factory=list)
    transactions: list[TransactionRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    ends: list[EndRow] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, other: "ToolReports") -> None:
        """Add the rows of another file."""
        self.producers += other.producers
        self.transactions += other.transactions
        self.groups += other.groups
        self.ends += other.ends
        self.notes += other.notes
        for tool, count in other.rows.items():  # also tables without a row, which `+=` leaves out
            self.rows[tool] += count

    def take(self, row: ProducerRow | TransactionRow | GroupRow | EndRow) -> None:
        """Add one row."""
        if isinstance(row, ProducerRow):
            self.producers.append(row)
        elif isinstance(row, TransactionRow):
            self.transactions.append(row)
        elif isinstance(row, GroupRow):
            self.groups.append(row)
        else:
            self.ends.append(row)
        self.rows[row.told.tool] += 1

    def leave_out(self, past: Iterable[ProducerRow | TransactionRow | GroupRow | EndRow]) -> None:
        """Leave out rows of one file that are past; they stay counted."""
        lines = {(row.told.tool, row.told.line) for row in past}

        def holds(row: ProducerRow | TransactionRow | GroupRow) -> bool:
            return (row.told.tool, row.told.line) not in lines

        if lines:
            self.producers = list(filter(holds, self.producers))
            self.transactions = list(filter(holds, self.transactions))
            self.groups = list(filter(holds, self.groups))

    def positions(self) -> dict[tuple[str | None, TopicPartition], GroupRow]:
        """Return the last position of each group and partition, without those that were deleted.

        Of positions without the name of a group, the last of each partition. Positions on which several files disagree
        are left out.
        """
        last = {key: rows[-1] for key, rows in self.last_positions().items() if len({row.offset for row in rows}) == 1}
        return {key: row for key, row in last.items() if row.offset is not None}

    def last_positions(self) -> dict[tuple[str | None, TopicPartition], list[GroupRow]]:
        """Return the last position in each file; of records, which have times, the newest of all files."""
        found: dict[tuple[str | None, TopicPartition], dict[str, tuple[int, GroupRow]]] = {}
        for row in self.groups:
            in_files = found.setdefault((row.group, row.place), {})
            before = in_files.get(row.told.file)
            newest = before[0] if before else -1
            time = newest if row.committed_ms is None else row.committed_ms
            if not row.is_record or time >= newest:
                in_files[row.told.file] = time, row
        return {key: _newest_of(list(in_files.values())) for key, in_files in found.items()}

    def topics(self) -> set[str]:
        """Return the topics of all rows."""
        places = [row.place for row in self.producers if row.place is not None]
        places += [row.place for row in self.groups] + [row.place for row in self.ends]
        places += [place for row in self.transactions for place in row.partitions or ()]
        return {topic for topic, _ in places}


def _newest_of(rows: list[tuple[int, GroupRow]]) -> list[GroupRow]:
    newest = max(time for time, _ in rows)
    has_times = all(row.is_record and time >= 0 for time, row in rows)
    return [row for time, row in rows if time == newest or not has_times]

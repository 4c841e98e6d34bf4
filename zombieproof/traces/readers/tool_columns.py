"""The tables that Kafka's command-line tools print: their columns, and the meaning of their rows.

A table is one of `TABLES`: a header holds some of its columns in any order, so one entry serves releases that print
fewer or more columns. Source: TransactionsCommand (3.0 to 4.4, the same columns), ConsumerGroupCommand
(0.11 to 4.4).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.readers.internal_text import STATE_NAMES, partitions_in
from zombieproof.traces.tool_reports import EndRow, GroupRow, ProducerRow, Told, TransactionRow

Row = ProducerRow | TransactionRow | GroupRow | EndRow
Value = str | int | frozenset[TopicPartition] | None

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
NOTHING = ("None", "-", "", "OptionalLong.empty")
WRAPPED_NUMBER = re.compile(r"OptionalLong\[(\d{1,19})\]", re.ASCII)
"""Builds between 2.8 and 3.0 printed offsets so."""
OTHER_STATES = ("PrepareEpochFence", "Dead", "Unknown")
"""States that a coordinator reports, and never writes to its log."""

CONSUMER_GROUPS = "kafka-consumer-groups.sh"
GET_OFFSETS = "kafka-get-offsets.sh"
TRANSACTIONS = "kafka-transactions.sh"


class Cell(Enum):
    """The kind of text in a column."""

    TEXT = auto()
    TOPIC = auto()
    NUMBER = auto()
    OPTIONAL = auto()
    TIME = auto()
    STATE = auto()
    PLACES = auto()
    WORD = auto()
    """Any text; it is not used."""


@dataclass(frozen=True, slots=True)
class Context:
    """Facts from outside a table: options of the command line above it."""

    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a tool. A header has all columns of `needed`, and one of `marks`, which no other table has."""

    tool: str
    columns: Mapping[str, Cell]
    needed: frozenset[str]
    marks: frozenset[str]
    row: Callable[[Mapping[str, Value], Context, Told], Row | None]
    has_tabs: bool = True

    def is_header(self, words: Sequence[str]) -> bool:
        """Return whether words are the names of columns of this table, and of no other."""
        there = set(words)
        return self.needed <= there and there <= set(self.columns) and bool(self.marks & there)


def value_of(cell: Cell, text: str) -> Value:
    """Return the value of a cell.

    Raises:
        Undecodable: no tool prints that in such a column.
    """
    if cell is Cell.WORD:
        return text
    if cell in (Cell.TEXT, Cell.TOPIC):
        if not text or (cell is Cell.TOPIC and not TOPIC.fullmatch(text)):
            raise Undecodable(f"{text!r} is not a name")
        return text
    if cell is Cell.STATE:
        if text not in OTHER_STATES and text.upper() not in STATE_NAMES:
            raise Undecodable(f"{text!r} is not a state of a transaction")
        return text
    if cell is Cell.PLACES:
        return partitions_in(f"[{text}]")
    if cell is Cell.OPTIONAL:
        if text in NOTHING:
            return None
        text = WRAPPED_NUMBER.sub(r"\1", text)
    if not NUMBER.fullmatch(text) or (cell is Cell.TIME and int(text) > 0 and len(text) < len("1000000000000")):
        raise Undecodable(f"{text!r} is not a {'time' if cell is Cell.TIME else 'number'}")
    return int(text)


def _number(cells: Mapping[str, Value], name: str) -> int | None:
    found = cells.get(name)
    return found if isinstance(found, int) else None


def _needed(cells: Mapping[str, Value], name: str) -> int:
    found = cells.get(name)
    if not isinstance(found, int):
        raise Undecodable(f"{name} is missing")
    return found


def _text(cells: Mapping[str, Value], name: str) -> str | None:
    found = cells.get(name)
    return found if isinstance(found, str) else None


def _time(cells: Mapping[str, Value], name: str) -> int | None:
    found = _number(cells, name)
    return None if found is None or found < 0 else found


def _hanging(cells: Mapping[str, Value], _: Context, told: Told) -> Row:
    return ProducerRow(
        place=(str(cells["Topic"]), _needed(cells, "Partition")),
        producer_id=_needed(cells, "ProducerId"),
        producer_epoch=_number(cells, "ProducerEpoch"),
        coordinator_epoch=_number(cells, "CoordinatorEpoch"),
        last_timestamp_ms=_time(cells, "LastTimestamp"),
        first_offset=_needed(cells, "StartOffset"),
        told=told,
        duration_min=_number(cells, "Duration(min)"),
        is_hanging=True,
    )


def _producer(cells: Mapping[str, Value], context: Context, told: Told) -> Row:
    topic, partition = context.options.get("topic"), context.options.get("partition", "")
    place = (topic, int(partition)) if topic and TOPIC.fullmatch(topic) and NUMBER.fullmatch(partition) else None
    return ProducerRow(
        place=place,
        producer_id=_needed(cells, "ProducerId"),
        producer_epoch=_number(cells, "ProducerEpoch"),
        coordinator_epoch=_number(cells, "LatestCoordinatorEpoch"),
        last_timestamp_ms=_time(cells, "LastTimestamp"),
        first_offset=_number(cells, "CurrentTransactionStartOffset"),
        told=told,
    )


def _transaction(cells: Mapping[str, Value], _: Context, told: Told) -> Row:
    partitions = cells.get("TopicPartitions")
    coordinator = _number(cells, "CoordinatorId")
    if cells["TransactionState"] == "Ongoing" and partitions == frozenset():
        raise Undecodable("an ongoing transaction lists a partition")
    return TransactionRow(
        transactional_id=_text(cells, "TransactionalId"),
        producer_id=_needed(cells, "ProducerId"),
        producer_epoch=_number(cells, "ProducerEpoch"),
        state=str(cells["TransactionState"]),
        told=told,
        coordinator_id=_number(cells, "Coordinator") if coordinator is None else coordinator,
        timeout_ms=_number(cells, "TransactionTimeoutMs"),
        start_ms=_time(cells, "CurrentTransactionStartTimeMs"),
        duration_ms=_number(cells, "TransactionDurationMs"),
        partitions=partitions if isinstance(partitions, frozenset) else None,
    )


def _position(cells: Mapping[str, Value], context: Context, told: Told) -> Row | None:
    topic, partition = _text(cells, "TOPIC"), _number(cells, "PARTITION")
    if topic is None or topic == "-" or partition is None:
        return None
    return GroupRow(
        group=_text(cells, "GROUP") or context.options.get("group"),
        place=(topic, partition),
        offset=_number(cells, "CURRENT-OFFSET"),
        told=told,
        end_offset=_number(cells, "LOG-END-OFFSET"),
        lag=_number(cells, "LAG"),
    )


def _nothing(_: Mapping[str, Value], __: Context, ___: Told) -> None:
    return None


LIST = Table(
    tool=f"{TRANSACTIONS} list",
    columns={
        "TransactionalId": Cell.TEXT,
        "Coordinator": Cell.NUMBER,
        "ProducerId": Cell.NUMBER,
        "TransactionState": Cell.STATE,
    },
    needed=frozenset({"TransactionalId", "ProducerId", "TransactionState"}),
    marks=frozenset({"TransactionState"}),
    row=_transaction,
)
DESCRIBE = Table(
    tool=f"{TRANSACTIONS} describe",
    columns={
        "CoordinatorId": Cell.NUMBER,
        "TransactionalId": Cell.TEXT,
        "ProducerId": Cell.NUMBER,
        "ProducerEpoch": Cell.NUMBER,
        "TransactionState": Cell.STATE,
        "TransactionTimeoutMs": Cell.NUMBER,
        "CurrentTransactionStartTimeMs": Cell.OPTIONAL,
        "TransactionDurationMs": Cell.OPTIONAL,
        "TopicPartitions": Cell.PLACES,
    },
    needed=frozenset({"TransactionalId", "ProducerId", "TransactionState"}),
    marks=frozenset({"CoordinatorId", "ProducerEpoch", "TransactionTimeoutMs", "TopicPartitions"}),
    row=_transaction,
)
DESCRIBE_PRODUCERS = Table(
    tool=f"{TRANSACTIONS} describe-producers",
    columns={
        "ProducerId": Cell.NUMBER,
        "ProducerEpoch": Cell.NUMBER,
        "LatestCoordinatorEpoch": Cell.NUMBER,
        "LastSequence": Cell.NUMBER,
        "LastTimestamp": Cell.TIME,
        "CurrentTransactionStartOffset": Cell.OPTIONAL,
    },
    needed=frozenset({"ProducerId", "CurrentTransactionStartOffset"}),
    marks=frozenset({"CurrentTransactionStartOffset"}),
    row=_producer,
)
FIND_HANGING = Table(
    tool=f"{TRANSACTIONS} find-hanging",
    columns={
        "Topic": Cell.TOPIC,
        "Partition": Cell.NUMBER,
        "ProducerId": Cell.NUMBER,
        "ProducerEpoch": Cell.NUMBER,
        "CoordinatorEpoch": Cell.NUMBER,
        "StartOffset": Cell.NUMBER,
        "LastTimestamp": Cell.TIME,
        "Duration(min)": Cell.NUMBER,
    },
    needed=frozenset({"Topic", "Partition", "ProducerId", "StartOffset"}),
    marks=frozenset({"StartOffset"}),
    row=_hanging,
)
GROUP_OFFSETS = Table(
    tool=f"{CONSUMER_GROUPS} --describe",
    columns={
        "GROUP": Cell.TEXT,
        "TOPIC": Cell.TEXT,
        "PARTITION": Cell.OPTIONAL,
        "LEADER-EPOCH": Cell.OPTIONAL,
        "CURRENT-OFFSET": Cell.OPTIONAL,
        "LOG-END-OFFSET": Cell.OPTIONAL,
        "LAG": Cell.OPTIONAL,
        "CONSUMER-ID": Cell.WORD,
        "HOST": Cell.WORD,
        "CLIENT-ID": Cell.WORD,
        "OWNER": Cell.WORD,
    },
    needed=frozenset({"TOPIC", "PARTITION", "CURRENT-OFFSET"}),
    marks=frozenset({"CURRENT-OFFSET"}),
    row=_position,
    has_tabs=False,
)
GROUP_MEMBERS = Table(
    tool=f"{CONSUMER_GROUPS} --describe --members, which has no offsets",
    columns=dict.fromkeys(
        (
            *("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"),
            *("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"),
        ),
        Cell.WORD,
    ),
    needed=frozenset({"CONSUMER-ID", "#PARTITIONS"}),
    marks=frozenset({"#PARTITIONS"}),
    row=_nothing,
    has_tabs=False,
)
GROUP_STATE = Table(
    tool=f"{CONSUMER_GROUPS} --describe --state, which has no offsets",
    columns=dict.fromkeys(
        (
            *("GROUP", "COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
            *("GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"),
        ),
        Cell.WORD,
    ),
    needed=frozenset({"COORDINATOR", "STATE", "#MEMBERS"}),
    marks=frozenset({"#MEMBERS"}),
    row=_nothing,
    has_tabs=False,
)
GROUP_RESET = Table(
    tool=f"{CONSUMER_GROUPS} --reset-offsets, which has no positions unless it was executed",
    columns=dict.fromkeys(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), Cell.WORD),
    needed=frozenset({"TOPIC", "PARTITION", "NEW-OFFSET"}),
    marks=frozenset({"NEW-OFFSET"}),
    row=_nothing,
    has_tabs=False,
)
TABLES = (FIND_HANGING, DESCRIBE_PRODUCERS, LIST, DESCRIBE, GROUP_OFFSETS, GROUP_MEMBERS, GROUP_STATE, GROUP_RESET)
"""Tried in this order: a list is the description with the fewest columns."""


def table_with(words: Sequence[str]) -> Table | None:
    """Return the table whose header these words are."""
    return next((table for table in TABLES if table.is_header(words)), None) if len(words) > 1 else None

"""A state of the transaction protocol in words: its records, ids and transactions, and what there is at the end."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from zombieproof.checker.transactions.capacities import TXNS
from zombieproof.checker.transactions.narration import READERS, client_name, id_name, partition_name
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import LogRecord, Reader, State
from zombieproof.model.promises import fate
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, LogEntry, Outcome, TransactionState

FATES = {Outcome.COMMIT: "committed", Outcome.ABORT: "aborted", Outcome.UNDECIDED: "undecided"}


NAMES = (
    "A, B: producers; A.1: A's first transaction, or batch without one; x0, x1: transactional ids; p0, p1: partitions"
)
"""What the names in a story stand for."""


class Line(NamedTuple):
    """One line about one subject."""

    subject: str
    text: str


def label_name(label: int) -> str:
    """A transaction (or batch without one) of an application: A.1 is A's first."""
    client, number = divmod(int(label) - 1, TXNS)
    return f"{client_name(client)}.{number + 1}"


def identity(producer_id: int, producer_epoch: int) -> str:
    """A producer id and epoch."""
    return f"producer {producer_id}, epoch {producer_epoch}"


def record_words(record: LogRecord) -> str:
    """A record of a partition's log."""
    who = identity(record.producer_id, record.producer_epoch)
    if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
        return f"{LogEntry(record.kind).name} marker ({who}, coordinator epoch {record.value})"
    if record.kind == LogEntry.TOMBSTONE:
        return "tombstones of the group's offsets"
    if record.kind == LogEntry.PLAIN_OFFSET:
        return f"offset {record.value}, committed beside transactions"
    if record.kind == LogEntry.OFFSET:
        return f"offset {record.value} of {label_name(record.label)} ({who})"
    return f"data of {label_name(record.label)} ({who}, sequence {record.value})"


def transaction_words(txn: Transaction) -> str:
    """What a coordinator knows of a transactional id."""
    where = f", partitions {listed(txn.partitions)}" if txn.partitions else ""
    rotates = txn.next_producer_id not in (NONE, txn.producer_id)
    then = f", then producer {txn.next_producer_id}" if rotates else ""
    return f"{TransactionState(txn.state).name} ({identity(txn.producer_id, txn.producer_epoch)}{then}){where}"


def listed(partitions: int) -> str:
    """The names of the partitions in a bit mask."""
    return ", ".join(map(partition_name, bits(partitions)))


def offsets_words(mask: int) -> str:
    """The offsets in a bit mask: "offset 1", "offsets 0, 2", or nothing."""
    found = [str(offset) for offset in bits(mask)]
    return f"offset{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else ""


def bits(mask: int) -> list[int]:
    """The places of the bits that are set."""
    return [place for place in range(int(mask).bit_length()) if (int(mask) >> place) & 1 == 1]


def _left_words(state: State, p: int, offset: int) -> str:
    """What is added to a record of which less is left than was written."""
    if not state.remains:
        return ""
    left = state.remains[p]
    if offset < left.start:
        return "; dropped"
    if offset in bits(left.gone):
        return "; cleaned away"
    return "; without its record" if offset in bits(left.empty) else ""


# ---------------------------------------------------------------- what there is at the end


def ending(state: State, setup: Setup) -> tuple[Line, ...]:
    """The logs, what became of each record, and what each application asked for and was told."""
    return (*_logs(state), *_ids(state), *_applications(state), *_deliveries(state, setup))


def _logs(state: State) -> Iterator[Line]:
    for p, partition in enumerate(state.partitions):
        for offset in range(partition.end):
            record = partition.log[offset]
            is_marker = record.kind in (LogEntry.COMMIT, LogEntry.ABORT)
            outcome = "" if is_marker else f": {FATES[Outcome(fate(partition, offset))]}"
            subject = partition_name(p) if offset == 0 else ""
            yield Line(subject, f"{offset}  {record_words(record)}{outcome}{_left_words(state, p, offset)}")
        if not partition.leader:
            yield Line(partition_name(p) if partition.end == 0 else "", "without a leader")


def _ids(state: State) -> Iterator[Line]:
    for k, durable in enumerate(state.durable):
        if durable.known:
            yield Line(id_name(k), transaction_words(durable))


def _applications(state: State) -> Iterator[Line]:
    said = {Outcome.COMMIT: "commit", Outcome.ABORT: "abort"}
    before = ""
    for label, known in enumerate(state.ghost.labels, start=1):
        parts = [partition_name(p) for p in range(len(state.partitions)) if (known.acked >> p) & 1 == 1]
        facts = []
        if known.asked:
            facts.append(f"asked to {said[Outcome(known.asked)]}")
        if known.result:
            facts.append(f"was told: {FATES[Outcome(known.result)]}")
        if parts:
            facts.append(f"acknowledged by {' and '.join(parts)}")
        if facts:
            who = label_name(label)
            yield Line(who[0] if who[0] != before else "", f"{who}  {', '.join(facts)}")
            before = who[0]


def _deliveries(state: State, setup: Setup) -> Iterator[Line]:
    readers: list[Reader] = state.readers[: setup.bounds.readers]
    for name, reader in zip_longest(READERS[: len(readers)], readers):
        got = offsets_words(reader.delivered) or "nothing"
        yield Line(name.removeprefix("the "), f"delivered {got} of p0, stands at offset {reader.position}")
    if setup.bounds.grouped:
        facts = [f"committed offset {state.group.committed.offset}", f"generation {state.group.generation}"]
        facts += [
            f"offset {waiting.offset} of producer {pid} waits"
            for pid, waiting in enumerate(state.group.pending)
            if waiting.offset != NONE
        ]
        yield Line("group", ", ".join(facts))

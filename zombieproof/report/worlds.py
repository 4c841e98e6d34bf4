"""A world of the transaction protocol in words: what a step changed in it, and what there is at the end."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from zombieproof.checker.narration import client_name, partition_name
from zombieproof.checker.world import TXNS, Kind, LogRecord, MachineIndex, Node, Partition, Reader, Setup, World
from zombieproof.model.promises import fate
from zombieproof.model.vocabulary import LogEntry, Outcome, TransactionState

READERS = ("the read_committed reader", "the buffering reader")
_FATES = {Outcome.COMMIT: "committed", Outcome.ABORT: "aborted", Outcome.UNDECIDED: "undecided"}


class Line(NamedTuple):
    """One line about one subject."""

    subject: str
    text: str


def id_name(k: int) -> str:
    """A transactional id: x0, x1."""
    return f"x{k}"


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
    if record.kind == LogEntry.OFFSET:
        return f"offset {record.value} of {label_name(record.label)} ({who})"
    return f"data of {label_name(record.label)} ({who}, sequence {record.value})"


# ---------------------------------------------------------------- what a step changed


def changes(before: World, after: World, setup: Setup) -> tuple[str, ...]:
    """What is new in `after`, as far as a reader of the story wants to know: logs, markers, answers, readers."""
    return (
        *_appended(before, after),
        *_coordinators(before, after),
        *_markers(before, after),
        *_clients(before, after),
        *_group(before, after),
        *_readers(before, after),
        *_mistakes(before, after),
    )


def _appended(before: World, after: World) -> Iterator[str]:
    for p, (old, new) in enumerate(zip(before.partitions, after.partitions, strict=True)):
        for offset in range(old.end, new.end):
            yield f"{partition_name(p)} has at offset {offset}: {record_words(new.log[offset])}"


def _coordinators(before: World, after: World) -> Iterator[str]:
    if before.coordinator != after.coordinator:
        node = after.coordinator
        yield f"node {node} is the coordinator, with coordinator epoch {after.nodes[node].epoch}"
    for old, new in zip(before.nodes, after.nodes, strict=True):
        for k in range(len(new.cache)):
            for p in _skipped(old, new, k, after.partitions):
                yield f"{partition_name(p)} has no leader: it is taken off the list of {id_name(k)} without a marker"


def _skipped(old: Node, new: Node, k: int, partitions: list[Partition]) -> Iterator[int]:
    """The partitions that left the list of an id that is decided, although they could not get a marker."""
    txn = new.cache[k]
    if new.role == 0 or txn.state not in (
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    ):
        return
    gone = old.cache[k].partitions & ~txn.partitions
    for p, partition in enumerate(partitions):
        if (gone >> p) & 1 == 1 and partition.leader == 0:
            yield p


def _markers(before: World, after: World) -> Iterator[str]:
    def sent(world: World) -> list[tuple[int, ...]]:
        return [
            (m.client, m.partition, m.detail, m.producer_id, m.producer_epoch, m.value)
            for m in world.messages
            if m.kind == Kind.MARKER and m.live == 1
        ]

    was_there = sent(before)
    for k, p, committed, producer_id, producer_epoch, epoch in sent(after):
        if (k, p, committed, producer_id, producer_epoch, epoch) not in was_there:
            outcome = "COMMIT" if committed else "ABORT"
            yield f"{outcome} marker ({identity(producer_id, producer_epoch)}) sets out for {partition_name(p)}"


def _clients(before: World, after: World) -> Iterator[str]:
    for c, (old, new) in enumerate(zip(before.clients, after.clients, strict=True)):
        was, now = (old.producer_id, old.producer_epoch), (new.producer_id, new.producer_epoch)
        if was != now and new.producer_id >= 0:
            yield f"{client_name(c)} is now {identity(*now)}"
    for label, (told_before, told) in enumerate(zip(before.ghost.labels, after.ghost.labels, strict=True), start=1):
        who = label_name(label)
        for p in range(len(after.partitions)):
            if (told.acked & ~told_before.acked) >> p & 1 == 1:
                yield f"{who[0]} is told that {partition_name(p)} has its part of {who}"
        if told.told != told_before.told:
            yield f"{who[0]} is told that {who} is {_FATES[Outcome(told.told)]}"


def _group(before: World, after: World) -> Iterator[str]:
    old, new = before.group, after.group
    if old.generation != new.generation:
        yield f"generation {new.generation} of the group: {client_name(new.owner)} owns the input"
    if old.committed.offset != new.committed.offset:
        yield f"the group's committed offset is {new.committed.offset}"


def _readers(before: World, after: World) -> Iterator[str]:
    for r, (old, new) in enumerate(zip(before.readers, after.readers, strict=True)):
        if old.position == new.position:
            continue
        delivered = _offsets(new.delivered & ~old.delivered)
        got = f"delivers {delivered} of p0" if delivered else "delivers nothing"
        yield f"{READERS[r]} {got} and stands at offset {new.position}"


def _mistakes(before: World, after: World) -> Iterator[str]:
    """What only the ghost facts know: the promises about them name no place."""
    if after.ghost.illegal > before.ghost.illegal:
        machine = MachineIndex(after.ghost.illegal - 1).name.lower().replace("_", " ")
        yield f"the {machine} has no such move in its table"
    if after.ghost.contradiction > before.ghost.contradiction:
        yield "a transaction that was decided is decided again, and differently"
    if after.ghost.usurped > before.ghost.usurped:
        yield "the transaction that is ended is another one than its sender meant"
    if after.ghost.insane > before.ghost.insane:
        yield "the coordinator fails a check of its own"


def _offsets(mask: int) -> str:
    found = [str(offset) for offset in range(int(mask).bit_length()) if (mask >> offset) & 1 == 1]
    return f"offset{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else ""


# ---------------------------------------------------------------- what there is at the end


def ending(world: World, setup: Setup) -> tuple[Line, ...]:
    """The logs, what became of each record, and what each application asked for and was told."""
    return (*_logs(world), *_ids(world), *_applications(world), *_deliveries(world, setup))


def _logs(world: World) -> Iterator[Line]:
    for p, partition in enumerate(world.partitions):
        for offset in range(partition.end):
            record = partition.log[offset]
            is_marker = record.kind in (LogEntry.COMMIT, LogEntry.ABORT)
            outcome = "" if is_marker else f": {_FATES[Outcome(fate(partition, offset))]}"
            subject = partition_name(p) if offset == 0 else ""
            yield Line(subject, f"{offset}  {record_words(record)}{outcome}")
        if partition.leader == 0:
            yield Line(partition_name(p) if partition.end == 0 else "", "without a leader")


def _ids(world: World) -> Iterator[Line]:
    for k, durable in enumerate(world.durable):
        if durable.known == 1:
            state = TransactionState(durable.state).name
            listed = [partition_name(p) for p in range(len(world.partitions)) if (durable.partitions >> p) & 1 == 1]
            where = f", partitions {', '.join(listed)}" if listed else ""
            text = f"{state} ({identity(durable.producer_id, durable.producer_epoch)}){where}"
            yield Line(id_name(k), text)


def _applications(world: World) -> Iterator[Line]:
    said = {Outcome.COMMIT: "commit", Outcome.ABORT: "abort"}
    before = ""
    for label, told in enumerate(world.ghost.labels, start=1):
        parts = [partition_name(p) for p in range(len(world.partitions)) if (told.acked >> p) & 1 == 1]
        facts = []
        if told.asked:
            facts.append(f"asked to {said[Outcome(told.asked)]}")
        if told.told:
            facts.append(f"was told: {_FATES[Outcome(told.told)]}")
        if parts:
            facts.append(f"acknowledged by {' and '.join(parts)}")
        if facts:
            who = label_name(label)
            yield Line(who[0] if who[0] != before else "", f"{who}  {', '.join(facts)}")
            before = who[0]


def _deliveries(world: World, setup: Setup) -> Iterator[Line]:
    readers: list[Reader] = world.readers[: setup.bounds.readers]
    for name, reader in zip_longest(READERS[: len(readers)], readers):
        got = _offsets(reader.delivered) or "nothing"
        yield Line(name.removeprefix("the "), f"delivered {got} of p0, stands at offset {reader.position}")
    if setup.bounds.grouped:
        yield Line("group", f"committed offset {world.group.committed.offset}, generation {world.group.generation}")

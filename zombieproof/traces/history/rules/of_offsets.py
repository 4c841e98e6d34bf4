"""Offsets of groups: what is told was committed, and it accounts for the output, no more and no less."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import NOTHING, CommitOffsets, Event, Input, Send
from zombieproof.traces.history.facts import Facts, Fate, OffsetCommit, Transaction, Write
from zombieproof.traces.history.rules.committed_offsets import CommittedOffsets, Place

Claim = Write | OffsetCommit
Asked = Send | CommitOffsets


def a_told_offset_was_committed(facts: Facts) -> Iterator[Found]:
    """Somebody had asked to commit it, and was not told that this failed."""
    for fetched, partition, offset in CommittedOffsets(facts).unexplained():
        message = f"{fetched.group} was told offset {offset} of {partition}, which nobody had committed"
        yield Found(Anomaly.UNCOMMITTED_OFFSET, message, (fetched,), silent="")


def a_committed_offset_is_told(facts: Facts) -> Iterator[Found]:
    """What is known to be committed is told to whoever asks afterwards, unless something newer is."""
    for fetched, partition, by in CommittedOffsets(facts).lost():
        if by.fate is Fate.COMMITTED:
            offset, told = by.sent.offsets[partition], fetched.offsets[partition]
            message = f"{fetched.group} was told {told} of {partition} after {offset} had been committed"
            ending = by.told if by.transaction is None else by.transaction.told
            known = () if ending is None else (ending,)
            yield Found(Anomaly.LOST_OFFSET, message, (by.sent, *known, fetched))


def no_input_is_processed_twice(facts: Facts) -> Iterator[Found]:
    """Of two units of work that deal with the same record for the same group, one at most is committed."""
    first: dict[Input, tuple[object, Claim]] = {}
    for made_of, claim in facts.claims():
        if not _is_committed(claim):
            continue
        unit, known = first.setdefault(made_of, (_unit(claim), claim))
        if unit is not _unit(claim) and unit != _unit(claim):
            at = f"{made_of.partition} at {made_of.offset}"
            message = f"{made_of.group} has dealt with {at} twice: {_name(known)} and {_name(claim)}"
            yield Found(Anomaly.INPUT_PROCESSED_TWICE, message, (_asked(known), _asked(claim)))


def _is_committed(claim: Claim) -> bool:
    if claim.transaction is not None:
        return claim.transaction.is_committed
    return claim.fate is Fate.COMMITTED or (isinstance(claim, Write) and bool(claim.reads))


def _unit(claim: Claim) -> Transaction | str:
    """What is committed at once: a transaction, or what one process does outside of any."""
    return claim.transaction if claim.transaction is not None else _asked(claim).process


def _name(claim: Claim) -> str:
    unit = _unit(claim)
    return unit.name if isinstance(unit, Transaction) else unit


def _asked(claim: Claim) -> Asked:
    return claim.send if isinstance(claim, Write) else claim.sent


def offsets_do_not_run_ahead_of_output(facts: Facts) -> Iterator[Found]:
    """Each record below a group's offset is dealt with by something that is, or may be, committed.

    Records are those that somebody claims to have dealt with, and those that are known to be committed behind the
    first of them: a record that a group never got is skipped.
    """
    claims: dict[Place, dict[int, list[Claim]]] = defaultdict(lambda: defaultdict(list))
    for made_of, claim in facts.claims():
        claims[made_of.group, made_of.partition][made_of.offset].append(claim)
    inputs = _known_records(facts, {partition for _, partition in claims})
    reached = _reached(facts)
    for place, by_offset in claims.items():
        if place not in reached:
            continue
        end, shown = reached[place]
        first = min(by_offset)
        known = inputs.get(place[1], [])
        skipped = known[bisect_left(known, first) : bisect_left(known, end)]
        for offset in sorted({*(offset for offset in by_offset if offset < end), *skipped}):
            claimed = by_offset.get(offset, [])
            if not any(_may_be_committed(claim) for claim in claimed):
                what = "has no output that is committed" if claimed else "was never dealt with"
                message = f"{place[0]} is at {end} of {place[1]}, and the record at {offset} {what}"
                yield Found(Anomaly.OFFSET_AHEAD_OF_OUTPUT, message, (*map(_asked, claimed), shown), silent="")


def _may_be_committed(claim: Claim) -> bool:
    if claim.transaction is not None and claim.transaction.is_committed:
        return True
    return claim.fate is not Fate.ABORTED


def _known_records(facts: Facts, partitions: set[str]) -> dict[str, list[int]]:
    """The offsets of records that are known to be committed."""
    found: dict[str, set[int]] = defaultdict(set)
    for write in facts.writes.values():
        if write.send.partition in partitions and write.offset != NOTHING and _is_committed(write):
            found[write.send.partition].add(write.offset)
    for span in facts.spans:
        if span.partition in partitions and span.is_committed:
            found[span.partition].update(read.offset for read in span.reads)
    return {partition: sorted(offsets) for partition, offsets in found.items()}


def _reached(facts: Facts) -> dict[Place, tuple[int, Event]]:
    """The farthest offset of each group that is known to be committed, and what shows it."""
    reached: dict[Place, tuple[int, Event]] = {}
    for commit in facts.commits:
        if _is_committed(commit):
            for partition, offset in commit.sent.offsets.items():
                _reach(reached, (commit.sent.group, partition), offset, commit.sent)
    for fetched in facts.fetches:
        for partition, offset in fetched.offsets.items():
            _reach(reached, (fetched.group, partition), offset, fetched)
    return reached


def _reach(reached: dict[Place, tuple[int, Event]], place: Place, offset: int, shown: Event) -> None:
    if place not in reached or reached[place][0] < offset:
        reached[place] = offset, shown

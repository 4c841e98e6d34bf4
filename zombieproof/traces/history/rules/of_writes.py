"""Records: each acknowledged one is there once, where it was acknowledged, in the order in which it was sent."""

from collections.abc import Iterator

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import NOTHING, Event, Read
from zombieproof.traces.history.facts import Facts, Fate, Write


def no_record_is_there_twice(facts: Facts) -> Iterator[Found]:
    """One value is read at one offset only. It may be read there by many, and again by who starts again."""
    for write in facts.writes.values():
        first: dict[int, Read] = {}
        for read in write.reads:
            first.setdefault(read.offset, read)
        if len(first) > 1:
            places = " and ".join(str(offset) for offset in sorted(first))
            message = f"{write.send.value} lies in {write.send.partition} at {places}"
            yield Found(Anomaly.DUPLICATE, message, (write.send, *first.values()))


def a_record_lies_where_it_was_acknowledged(facts: Facts) -> Iterator[Found]:
    """The offset of an acknowledgement is the record's."""
    for write in facts.writes.values():
        if write.offset == NOTHING or write.sent is None:
            continue
        elsewhere = next((read for read in write.reads if read.offset != write.offset), None)
        if elsewhere is not None:
            message = f"{write.send.value} was acknowledged at {write.offset} and lies at {elsewhere.offset}"
            yield Found(Anomaly.MOVED_WRITE, message, (write.sent, elsewhere))


def nothing_is_read_that_nobody_wrote(facts: Facts) -> Iterator[Found]:
    """What is read was sent before, to that partition, and was not refused outside of a transaction."""
    for read in facts.strangers:
        message = f"{read.value} was read in {read.partition}, where nobody had sent it"
        yield Found(Anomaly.PHANTOM_READ, message, (read,), silent=None if read.value in facts.writes else "")
    for write in facts.writes.values():
        if write.transaction is None and write.fate is Fate.ABORTED and write.reads:
            assert write.sent is not None, "something was told of what is known to have failed"
            message = f"{write.send.value} was refused, and is there"
            yield Found(Anomaly.PHANTOM_READ, message, (write.sent, write.reads[0]))


def records_lie_in_the_order_in_which_they_were_sent(facts: Facts) -> Iterator[Found]:
    """Offsets of one process in one partition increase; one that is known from nobody is passed over."""
    for writes in facts.by_producer().values():
        before: Write | None = None
        for write in writes:
            offset = _offset_of(write)
            if offset == NOTHING:
                continue
            if before is not None and offset < _offset_of(before):
                message = f"{before.send.value} was sent before {write.send.value} and lies behind it"
                events = (before.send, write.send, _shown(before), _shown(write))
                yield Found(Anomaly.REORDERED_WRITES, message, events)
            before = write


def _offset_of(write: Write) -> int:
    return write.offset if write.offset != NOTHING or not write.reads else write.reads[0].offset


def _shown(write: Write) -> Event:
    return write.sent if write.sent is not None and write.offset != NOTHING else write.reads[0]


def no_acknowledged_record_is_lost(facts: Facts) -> Iterator[Found]:
    """Who reads past an acknowledged offset gets its record: any under read_uncommitted, else if it is committed.

    A final read that was begun after everything was told also shows what lay behind the end of the log.
    """
    told = set[str]()
    for write, span, is_behind_end in facts.passed_over:
        ending = write.transaction.told if write.transaction is not None else write.sent
        is_owed = write.fate is Fate.COMMITTED or not span.is_committed
        if not is_owed or write.sent is None or write.send.value in told:
            continue
        known_at = max(event.at for event in (write.sent, ending) if event is not None)
        if is_behind_end and (span.final is None or span.final.since <= known_at):
            continue
        told.add(write.send.value)
        where = write.send.partition if write.offset == NOTHING else f"{write.send.partition} at {write.offset}"
        message = f"{write.send.value} was acknowledged in {where}, and {span.reader} read past it without it"
        if write.fate is not Fate.COMMITTED:
            message += " (it is not known to be committed, but read_uncommitted returns such records as well)"
        known = () if ending is None or ending is write.sent else (ending,)
        yield Found(Anomaly.LOST_WRITE, message, (write.send, write.sent, *known, span.passing(write.offset)))

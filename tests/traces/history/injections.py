"""One fault, put into a history without any: what the cluster would have had to do to make it."""

import random
from collections.abc import Callable
from dataclasses import replace

from zombieproof.traces.history.anomalies import Anomaly
from zombieproof.traces.history.events import (
    Ended,
    Event,
    Fetched,
    FinalRead,
    Initialized,
    Read,
    Send,
    Sent,
)

Injection = Callable[[list[Event], random.Random], list[Event] | None]
"""Gives the history with its fault, or None where this one has no place for it."""

Reads = list[Read]


def _final_reads(events: list[Event], isolation: str = "read_committed") -> Reads:
    """What the last reader got of the outputs."""
    name = f"last {isolation}"
    return [e for e in events if isinstance(e, Read) and e.reader == name and e.partition != "in"]


def _told(events: list[Event], outcome: str) -> dict[str, Ended]:
    return {e.transaction: e for e in events if isinstance(e, Ended) and e.outcome == outcome}


def _drawn(chance: random.Random, found: list[Read]) -> Read | None:
    return chance.choice(found) if found else None


def _label(read: Read) -> str:
    return read.value.partition(".")[0]


def a_record_is_lost(events: list[Event], chance: random.Random) -> list[Event] | None:
    """For all who read."""
    committed = _told(events, "committed")
    read = _drawn(chance, [each for each in _final_reads(events) if _label(each) in committed])
    return None if read is None else [e for e in events if not (isinstance(e, Read) and e.value == read.value)]


def a_record_is_doubled(events: list[Event], chance: random.Random) -> list[Event] | None:
    """Its copy lies behind everything, and is read by one."""
    read = _drawn(chance, _final_reads(events))
    if read is None:
        return None
    [final] = [
        e for e in events if isinstance(e, FinalRead) and (e.reader, e.partition) == (read.reader, read.partition)
    ]
    at = events.index(final)
    return [*events[:at], replace(read, offset=final.end), *events[at:]]


def an_aborted_record_is_read(events: list[Event], chance: random.Random) -> list[Event] | None:
    """By a reader that should not have got it."""
    aborted = _told(events, "aborted")
    open_to_all = _final_reads(events, "read_uncommitted")
    read = _drawn(chance, [each for each in open_to_all if _label(each) in aborted])
    if read is None:
        return None
    reader = "last read_committed"
    of_reader = [e for e in events if isinstance(e, Read | FinalRead) and e.reader == reader]
    behind = (e for e in of_reader if e.partition == read.partition)
    at = events.index(next(e for e in behind if isinstance(e, FinalRead) or e.offset > read.offset))
    return [*events[:at], replace(read, reader=reader), *events[at:]]


def half_a_transaction_is_lost(events: list[Event], chance: random.Random) -> list[Event] | None:
    """One record of several, for all who read, of one whose outcome nobody was told."""
    told = {**_told(events, "committed"), **_told(events, "aborted")}
    by_label: dict[str, Reads] = {}
    for each in _final_reads(events):
        by_label.setdefault(_label(each), []).append(each)
    found = [reads for label, reads in by_label.items() if label not in told and len(reads) > 1]
    if not found:
        return None
    lost = chance.choice(chance.choice(found))
    return [e for e in events if not (isinstance(e, Read) and e.value == lost.value and "uncommitted" not in e.reader)]


def a_reader_reads_twice(events: list[Event], chance: random.Random) -> list[Event] | None:
    """The same record, one after the other."""
    read = _drawn(chance, [e for e in events if isinstance(e, Read)])
    if read is None:
        return None
    at = events.index(read)
    return [*events[: at + 1], read, *events[at + 1 :]]


def a_record_comes_from_nowhere(events: list[Event], chance: random.Random) -> list[Event] | None:
    """Where another one lay."""
    read = _drawn(chance, _final_reads(events))
    return None if read is None else [replace(e, value="nobody's") if e is read else e for e in events]


def two_records_change_places(events: list[Event], chance: random.Random) -> list[Event] | None:
    """As they were acknowledged and for all who read."""
    sends = [e for e in events if isinstance(e, Send) and e.process == "source"]
    one, other = sorted(chance.sample(range(len(sends)), 2))
    swapped = {sends[one].value: sends[other].value, sends[other].value: sends[one].value}
    found: list[Event] = [
        replace(e, value=swapped[e.value])
        if isinstance(e, Read) and e.value in swapped
        else replace(e, value=swapped[e.value])
        if isinstance(e, Sent) and e.value in swapped
        else e
        for e in events
    ]
    # What is acknowledged must have been sent: the acknowledgements of both come behind both.
    acknowledged = [e for e in found if isinstance(e, Sent) and e.value in swapped]
    rest = [e for e in found if e not in acknowledged]
    last = max(i for i, e in enumerate(rest) if isinstance(e, Send) and e.value in swapped)
    return [*rest[: last + 1], *acknowledged, *rest[last + 1 :]]


def offsets_are_lost(events: list[Event], chance: random.Random) -> list[Event] | None:
    """Whoever looks last is told that there are none."""
    fetches = [e for e in events if isinstance(e, Fetched) and e.offsets["in"] > 0]
    if not _told(events, "committed") or not fetches:
        return None
    return [replace(e, offsets={"in": -1}) if e is fetches[-1] else e for e in events]


def offsets_run_ahead(events: list[Event], chance: random.Random) -> list[Event] | None:
    """Whoever looks last is told more than there is."""
    fetches = [e for e in events if isinstance(e, Fetched)]
    return [replace(e, offsets={"in": 10_000}) if e is fetches[-1] else e for e in events]


def a_zombie_goes_on(events: list[Event], chance: random.Random) -> list[Event] | None:
    """A process begins after its successor is there, and commits."""
    told = [e for e in events if isinstance(e, Initialized)]
    if len(told) < 2:
        return None
    old = chance.choice(told[:-1]).process
    done = [e for e in events if getattr(e, "process", None) == old and getattr(e, "transaction", None)]
    labels = [e.transaction for e in done if isinstance(e, Ended) and e.outcome == "committed"]
    if not labels:
        return None
    [begun, *_, ended] = [i for i, e in enumerate(events) if getattr(e, "transaction", None) == labels[-1]]
    moved = events[begun : ended + 1]
    rest = [*events[:begun], *events[ended + 1 :]]
    last = rest.index(told[-1])
    return [*rest[: last + 1], *moved, *rest[last + 1 :]]


INJECTIONS: dict[Injection, set[Anomaly]] = {
    a_record_is_lost: {Anomaly.LOST_WRITE},
    a_record_is_doubled: {Anomaly.DUPLICATE},
    an_aborted_record_is_read: {Anomaly.ABORTED_READ},
    half_a_transaction_is_lost: {Anomaly.TORN_TRANSACTION},
    a_reader_reads_twice: {Anomaly.READER_GOES_BACK},
    a_record_comes_from_nowhere: {Anomaly.PHANTOM_READ},
    two_records_change_places: {Anomaly.REORDERED_WRITES},
    offsets_are_lost: {Anomaly.LOST_OFFSET, Anomaly.TORN_TRANSACTION},
    offsets_run_ahead: {Anomaly.UNCOMMITTED_OFFSET},
    a_zombie_goes_on: {Anomaly.ZOMBIE_WRITE},
}
"""Each with the anomaly that has to be found among others, or one of them: it depends on what was told before."""

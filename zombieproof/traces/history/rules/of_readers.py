"""Readers: each goes forward, and those of one isolation see the same."""

from collections import defaultdict
from collections.abc import Iterator

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import Read
from zombieproof.traces.history.facts import Facts, Span, Transaction


def a_reader_goes_forward(facts: Facts) -> Iterator[Found]:
    """Offsets that one reader gets of a partition increase, from where it was positioned.

    Those that a buffering reader gets increase within each transaction, and none comes twice.
    """
    for span in facts.spans:
        for one, other in _steps_back(span) if span.is_in_order else _twice_or_back(span, facts):
            after = span.start - 1 if one is None else one.offset
            message = f"{span.reader} was handed offset {other.offset} of {span.partition} after {after}"
            yield Found(Anomaly.READER_GOES_BACK, message, (one or span.positioned, other))


def _steps_back(span: Span) -> Iterator[tuple[Read | None, Read]]:
    """Reads that do not lie behind the one before; None: behind the place where the reader began."""
    last: Read | None = None
    for read in span.reads:
        if read.offset <= (span.start - 1 if last is None else last.offset):
            yield last, read
        last = read


def _twice_or_back(span: Span, facts: Facts) -> Iterator[tuple[Read | None, Read]]:
    known = dict[int, Read]()
    newest = dict[Transaction | None, Read]()
    for read in span.reads:
        write = facts.writes.get(read.value)
        transaction = None if write is None else write.transaction
        last = newest.get(transaction)
        if read.offset in known:
            yield known[read.offset], read
        elif read.offset < span.start or (last is not None and read.offset < last.offset):
            yield last, read
        known[read.offset] = newest[transaction] = read


def readers_see_the_same(facts: Facts) -> Iterator[Found]:
    """What lies at an offset is one record for everybody; who reads past it has got it if others of its isolation have.

    Who reads uncommitted gets everything, so also what others got who read only what is committed.
    """
    anybody: dict[str, dict[int, Read]] = defaultdict(dict)
    committed: dict[str, dict[int, Read]] = defaultdict(dict)
    for span in facts.spans:
        for read in span.reads:
            known = anybody[span.partition].setdefault(read.offset, read)
            if known.value != read.value:
                message = f"{span.partition} has at {read.offset} {known.value} and {read.value}"
                yield Found(Anomaly.READERS_DISAGREE, message, (known, read))
            if span.is_committed:
                committed[span.partition].setdefault(read.offset, read)
    everything = {name: sorted(reads) for name, reads in anybody.items()}
    stable = {name: sorted(reads) for name, reads in committed.items()}
    for span in facts.spans:
        reads = (committed if span.is_committed else anybody)[span.partition]
        offsets = (stable if span.is_committed else everything).get(span.partition, [])
        for offset in span.passed_over(offsets):
            other = reads[offset]
            message = f"{other.reader} has read {span.partition} at {offset}, and {span.reader} read past it"
            yield Found(Anomaly.READERS_DISAGREE, message, (other, span.passing(offset)))

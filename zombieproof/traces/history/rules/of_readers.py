"""Readers: each goes forward, and those of one isolation see the same."""

from collections import defaultdict
from collections.abc import Iterator

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import Read
from zombieproof.traces.history.facts import Facts


def a_reader_goes_forward(facts: Facts) -> Iterator[Found]:
    """Offsets that one reader gets of a partition increase, from where it was positioned."""
    for span in facts.spans:
        last, shown = span.start - 1, None
        for read in span.reads:
            if read.offset <= last:
                message = f"{span.reader} was handed offset {read.offset} of {span.partition} after {last}"
                yield Found(Anomaly.READER_GOES_BACK, message, (shown or span.positioned, read))
            last, shown = read.offset, read


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
            if span.isolation == "read_committed":
                committed[span.partition].setdefault(read.offset, read)
    everything = {name: sorted(reads) for name, reads in anybody.items()}
    stable = {name: sorted(reads) for name, reads in committed.items()}
    for span in facts.spans:
        is_committed = span.isolation == "read_committed"
        reads = (committed if is_committed else anybody)[span.partition]
        offsets = (stable if is_committed else everything).get(span.partition, [])
        for offset in span.passed_over(offsets):
            other = reads[offset]
            message = f"{other.reader} has read {span.partition} at {offset}, and {span.reader} read past it"
            yield Found(Anomaly.READERS_DISAGREE, message, (other, span.passing(offset)))

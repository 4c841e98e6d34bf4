"""Folding events into facts, one after the other.

Nothing is judged here but whether the events can have been told by clients at all: an answer to what nobody asked is
no anomaly of a cluster, it is a history that nobody can judge.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter

from zombieproof.traces.history.events import (
    Begin,
    CommitOffsets,
    End,
    Ended,
    Event,
    Fetched,
    FinalRead,
    Init,
    Initialized,
    Isolation,
    OffsetsCommitted,
    Positioned,
    Read,
    Send,
    Sent,
)
from zombieproof.traces.history.facts import Facts, Instance, OffsetCommit, PassedOver, Span, Transaction, Write

_OFFSET = attrgetter("offset")


class Impossible(ValueError):
    """An event that cannot follow those before: `event`, and why."""

    def __init__(self, event: Event, why: str) -> None:
        self.event, self.why = event, why
        super().__init__(why)


class Fold:
    """Takes one event after the other."""

    def __init__(self) -> None:
        self.facts = Facts()
        self._spans: dict[tuple[str, str], Span] = {}
        self._isolations: dict[str, Isolation] = {}
        self._offsets_of: dict[str, OffsetCommit] = {}

    def take(self, event: Event) -> None:
        """Take the next event.

        Raises:
            Impossible: it cannot follow those before.
        """
        match event:
            case Read():
                self._read(event)
            case Send():
                self._send(event)
            case Sent():
                self._sent(event)
            case Begin():
                self._begin(event)
            case End():
                self._end(event)
            case Ended():
                self._ended(event)
            case CommitOffsets():
                commit = OffsetCommit(event, self._transaction_of(event, event.transaction))
                if commit.transaction is not None:
                    commit.transaction.offsets.append(commit)
                self.facts.commits.append(commit)
                self._offsets_of[event.process] = commit
            case OffsetsCommitted():
                self._offsets_committed(event)
            case Init():
                self._instance(event.process).init = event
            case Initialized():
                self._initialized(event)
            case Positioned():
                self._positioned(event)
            case FinalRead():
                self._final_read(event)
            case Fetched():
                self.facts.fetches.append(event)

    # ---------------------------------------------------------------- producers

    def _instance(self, process: str) -> Instance:
        return self.facts.instances.setdefault(process, Instance(process))

    def _fenced(self, event: Initialized | Sent | OffsetsCommitted | Ended) -> None:
        instance = self._instance(event.process)
        if event.outcome == "fenced" and instance.fenced is None:
            instance.fenced = event

    def _initialized(self, event: Initialized) -> None:
        instance = self._instance(event.process)
        if instance.init is None:
            raise Impossible(event, f"{event.process} is told of an init that it never asked for")
        if event.outcome == "ok" and instance.initialized is None:
            instance.initialized = event
        self._fenced(event)

    def _transaction_of(self, event: Send | CommitOffsets | End | Ended, name: str | None) -> Transaction | None:
        if name is None:
            return None
        found = self.facts.transactions.get(name)
        if found is None:
            raise Impossible(event, f"transaction {name} was never begun")
        if found.begin.process != event.process:
            raise Impossible(event, f"transaction {name} is {found.begin.process}'s, not {event.process}'s")
        return found

    def _begin(self, event: Begin) -> None:
        if event.transaction in self.facts.transactions:
            raise Impossible(event, f"transaction {event.transaction} is begun twice; labels are unique")
        self.facts.transactions[event.transaction] = Transaction(event)

    def _send(self, event: Send) -> None:
        if event.value in self.facts.writes:
            raise Impossible(event, f"the value {event.value} is sent twice; values are unique")
        write = Write(event, self._transaction_of(event, event.transaction))
        self.facts.writes[event.value] = write
        if write.transaction is not None:
            write.transaction.writes.append(write)

    def _sent(self, event: Sent) -> None:
        write = self.facts.writes.get(event.value)
        if write is None or write.send.process != event.process:
            raise Impossible(event, f"{event.process} is told of {event.value}, which it never sent")
        if write.sent is not None and write.sent.outcome != "unknown":
            raise Impossible(event, f"{event.process} is told of {event.value} twice")
        if event.outcome != "acknowledged" and event.offset is not None:
            raise Impossible(
                event, f"{event.value} is {event.outcome} and has an offset; only what is acknowledged has"
            )
        write.sent = event
        self._fenced(event)

    def _end(self, event: End) -> None:
        transaction = self._transaction_of(event, event.transaction)
        assert transaction is not None, "the end of a transaction names it"
        transaction.last_end = event
        if event.wants == "commit" and transaction.commit is None:
            transaction.commit = event

    def _ended(self, event: Ended) -> None:
        transaction = self._transaction_of(event, event.transaction)
        assert transaction is not None, "the end of a transaction names it"
        if transaction.last_end is None:
            raise Impossible(event, f"{event.process} is told of an end of {event.transaction} that it never asked for")
        if event.outcome == "committed" and transaction.commit is None:
            raise Impossible(event, f"{event.transaction} is told to be committed, and nobody asked for that")
        if transaction.told is not None and transaction.told.outcome in ("committed", "aborted"):
            raise Impossible(event, f"{event.process} is told of the end of {event.transaction} twice")
        self._fenced(event)
        if event.outcome == "failed" and transaction.last_end.wants == "abort":
            # That an abort failed says nothing of a commit that was asked for before.
            return
        transaction.told = event

    def _offsets_committed(self, event: OffsetsCommitted) -> None:
        commit = self._offsets_of.pop(event.process, None)
        if commit is None:
            raise Impossible(event, f"{event.process} is told of offsets that it never sent")
        commit.told = event
        self._fenced(event)

    # ---------------------------------------------------------------- readers

    def _positioned(self, event: Positioned) -> None:
        if self._isolations.setdefault(event.reader, event.isolation) != event.isolation:
            raise Impossible(event, f"{event.reader} is {self._isolations[event.reader]}, and a reader stays so")
        for partition in event.positions:
            span = Span(event.reader, event.isolation, partition, event)
            self._spans[event.reader, partition] = span
            self.facts.spans.append(span)

    def _span(self, event: Read | FinalRead) -> Span:
        span = self._spans.get((event.reader, event.partition))
        if span is None:
            raise Impossible(event, f"{event.reader} has no position in {event.partition} to read from")
        return span

    def _read(self, event: Read) -> None:
        span = self._span(event)
        span.reads.append(event)
        write = self.facts.writes.get(event.value)
        if write is None or write.send.partition != event.partition:
            self.facts.strangers.append(event)
            return
        write.reads.append(event)
        if write.transaction is not None and write.transaction.seen is None and span.is_committed:
            write.transaction.seen = event

    def _final_read(self, event: FinalRead) -> None:
        if event.since > event.at:
            raise Impossible(event, f"is told at {event.at} what it asked for at {event.since}")
        self._span(event).final = event


def fold(events: Iterable[Event]) -> Facts:
    """What events say.

    Raises:
        Impossible: one cannot follow those before.
    """
    folding = Fold()
    for event in events:
        folding.take(event)
    facts = folding.facts
    facts.passed_over.extend(_passed_over(facts))
    return facts


def _passed_over(facts: Facts) -> Iterator[PassedOver]:
    """Costs as much as there are acknowledged writes between the starts and the ends of all spans."""
    by_partition: dict[str, list[Write]] = defaultdict(list)
    for write in facts.writes.values():
        if write.is_acknowledged:
            by_partition[write.send.partition].append(write)
    somewhere: dict[str, list[Write]] = {}
    for partition, writes in by_partition.items():
        writes.sort(key=_OFFSET)
        placed = bisect_left(writes, 0, key=_OFFSET)
        somewhere[partition], writes[:placed] = writes[:placed], []
    for span in facts.spans:
        writes = by_partition.get(span.partition, [])
        got = {read.value for read in span.reads}
        first = bisect_left(writes, span.start, key=_OFFSET)
        end = bisect_left(writes, span.end, key=_OFFSET)
        yield from (PassedOver(write, span, False) for write in writes[first:end] if write.send.value not in got)
        if span.final is not None:
            behind = bisect_left(writes, max(span.final.end, span.end), key=_OFFSET)
            yield from (PassedOver(write, span, True) for write in writes[behind:])
            # Who has read a whole log has passed every place.
            missing = (write for write in somewhere.get(span.partition, ()) if write.send.value not in got)
            yield from (PassedOver(write, span, True) for write in missing if span.start == 0)

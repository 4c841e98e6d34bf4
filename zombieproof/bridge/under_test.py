"""Brokers for a test of an application, which judge what it did through them: the fixture behind `pytest_plugin`.

Theory of operation: the brokers run in a thread (`wire.running`) and write a trace. When the test is over, the run is
taken again from its trace and the promises are judged where it ends; the logs tell what the application owed. Of
clients that wrote a history, that is judged too. What is wrong is told as a story: what was asked in which order.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from zombieproof.bridge.again import live_again
from zombieproof.bridge.applications import OWED, committed_batches, judge_applications, log_of
from zombieproof.broker.cluster.network import CLIENT_IN_TRACES
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.formats.batches import Batch
from zombieproof.messages.plain import from_plain
from zombieproof.model.catalogue import IN_STATES
from zombieproof.model.vocabulary import ApiKey
from zombieproof.traces.history.history_file import HistoryError
from zombieproof.traces.history.judge import judge as judge_history
from zombieproof.traces.history.writer import HistoryWriter
from zombieproof.traces.trace import Cause, Event, LiveRecord
from zombieproof.traces.trace_file import read_live
from zombieproof.wire.plan.calls import call_of
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.plan.selection import Sender
from zombieproof.wire.running import Running

Seen = TypeVar("Seen")

TOLD = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.OFFSET_COMMIT,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
    }
)
"""Requests that a story tells; those who read and ask change nothing."""
HAPPENINGS = frozenset({"fault", "kill", "stop", "start", "elect"})
LINES = 40
"""So many lines a story has at the most, the last ones."""

PROMISES = frozenset({*IN_STATES, *OWED})
"""Every promise that can be broken in a test."""


class UnknownPromise(ValueError):
    """A test allows something to break that is no promise."""


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record as a reader gets it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a run: the promises that broke, each with what happened, and the plan's own faults.

    After an internal error of the brokers `plan` is its report.
    """

    broken: tuple[tuple[str, str], ...]
    plan: str
    story: tuple[str, ...]
    trace: Path | None

    def __str__(self) -> str:
        lines = [f"{promise} is broken: {says}" for promise, says in self.broken]
        lines += [self.plan] if self.plan else []
        if self.broken:
            lines += ["what happened:", *(f"  {line}" for line in self.story)]
        if self.trace is not None:
            lines.append(f"everything that clients sent and brokers did is in {self.trace}")
            lines.append("zombieproof replay judges the brokers by it; it does not judge the application")
        return "\n".join(lines)


class TestedBrokers(Running):
    """Brokers of a test. `allowed` are promises that may break in it.

    Raises:
        UnknownPromise: one of `allowed` is none.
    """

    __test__ = False

    def __init__(self, plan: Plan, trace: Path, brokers: int = 1, allowed: Collection[str] = ()) -> None:
        unknown = sorted(set(allowed) - PROMISES)
        if unknown:
            raise UnknownPromise(f"{unknown[0]!r} is no promise; legal are {', '.join(sorted(PROMISES))}")
        super().__init__(plan, trace, brokers)
        self.allowed = frozenset(allowed)
        self._history: HistoryWriter | None = None

    @property
    def history(self) -> HistoryWriter:
        """Where a test, or clients of it, may write what they are told and what they read; it is judged too."""
        if self._history is None:
            self._history = HistoryWriter()
        return self._history

    def transport(self, client_id: str = "") -> EmbeddedTransport:
        """The way of clients of this package to these brokers, in this process; none may come over sockets beside."""
        return EmbeddedTransport(self.embedded, client_id)

    def records(
        self, topic: str, isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    ) -> list[ReadRecord]:
        """What a reader of a topic gets, partition by partition.

        Raises:
            ValueError: there is no such topic, or isolation.
        """
        if isolation not in ("read_committed", "read_uncommitted"):
            raise ValueError(f"{isolation!r} is no isolation; legal are read_committed and read_uncommitted")
        return self._see(lambda: self._records(topic, isolation == "read_committed"))

    def _see(self, what: Callable[[], Seen]) -> Seen:
        """Look at the brokers, which may have been stopped."""
        return self.do(what) if self.is_running else what()

    def _records(self, topic: str, committed: bool) -> list[ReadRecord]:
        places = self.cluster.metadata.partitions_of([topic])
        if not places:
            raise ValueError(f"there is no topic {topic!r}; topics are {', '.join(self.cluster.metadata.topic_ids)}")
        found: list[ReadRecord] = []
        for place in sorted(places):
            batches = log_of(self.cluster, place)
            for batch in committed_batches(place, batches) if committed else batches:
                found += _records_of(batch, *place)
        return found

    # ---------------------------------------------------------------- when the test is over

    def wrong(self) -> Wrong | None:
        """What is wrong with the run so far; None: nothing is."""
        assert self.trace is not None, "a test has a trace"
        if self.server.reports:
            # What happened since is not what the protocol says, so nothing else is judged.
            return Wrong((), "\n".join(self.server.reports), (), None)
        self.save_trace()
        broken = self._see(lambda: [(each.promise, each.story) for each in judge_applications(self.cluster)])
        record = read_live(self.trace)
        judgement = live_again(record, str(self.trace), only_at_the_end=True)
        if judgement.finding is not None:
            broken.append((judgement.finding.promise, judgement.finding.message))
        broken += self._of_the_history()
        broken = [each for each in broken if each[0] not in self.allowed]
        report = self.play.report()
        plan = "" if report.is_whole or not self.plan.faults else str(report)
        if not broken and not plan:
            return None
        return Wrong(tuple(broken), plan, tuple(story_of(record)), self.trace)

    def _of_the_history(self) -> list[tuple[str, str]]:
        if self._history is None:
            return []
        try:
            verdict = judge_history(self._history.history())
        except HistoryError as error:
            return [("a_history_can_be_followed", str(error))]
        return [(str(each.anomaly), each.message) for each in verdict.findings]


def _records_of(batch: Batch, topic: str, partition: int) -> list[ReadRecord]:
    if batch.is_control:
        return []
    return [
        ReadRecord(topic, partition, offset, record.key, record.value, record.headers, timestamp_ms)
        for offset, record, timestamp_ms in zip(batch.offsets, batch.records, batch.timestamps, strict=True)
        if not isinstance(record.key, str) and (record.value is None or isinstance(record.value, bytes))
        if record.key is None or isinstance(record.key, bytes)
    ]


def story_of(record: LiveRecord) -> list[str]:
    """What happened in a run, one line for each thing that changed something; times count from its beginning."""
    sent, lines = dict[int, str](), list[str]()
    begins_ms = record.events[0].ms if record.events else 0
    for event in record.events:
        line = _line(event, sent)
        if line:
            lines.append(f"{event.ms - begins_ms:>6} ms  {line}")
    return lines if len(lines) <= LINES else [f"({len(lines) - LINES} lines before)", *lines[-LINES:]]


def _line(event: Event, sent: dict[int, str]) -> str:
    """What an event is told as; `sent` are the requests of clients that set out before, by number."""
    cause = event.cause
    if cause.what == "fault":
        told = cause.fields or {}
        return f"fault: {told.get('fault')}, at {told.get('request')}"
    if cause.what in HAPPENINGS:
        where = "" if cause.partition is None else f" for {cause.partition[0]}-{cause.partition[1]}"
        return f"{cause.what}: broker {cause.node}{where}"
    if (
        cause.what == "deliver"
        and not cause.is_answer
        and cause.sender == CLIENT_IN_TRACES
        and cause.number is not None
    ):
        if cause.number not in sent:
            return f"a copy of {cause.api} arrives"
        return f"late: {sent[cause.number]}" if cause.number != max(sent) and sent[cause.number] else ""
    if cause.what != "send" or cause.body is None or cause.number is None:
        return ""
    sent[cause.number] = _told(cause)
    return sent[cause.number]


def _told(cause: Cause) -> str:
    """A request of a client that changes something; "" if it only asks."""
    call = call_of(cause.number or 0, from_plain(cause.body), Sender.CLIENT, cause.receiver)
    if call.key not in TOLD:
        return ""
    committed = getattr(call.request, "committed", None)
    decides = "" if committed is None else " commits" if committed else " aborts"
    offsets = ", ".join(
        f"{row.partition[0]}-{row.partition[1]} -> {row.offset}" for row in getattr(call.request, "offsets", ())
    )
    return f"{call}{decides}" + (f": {offsets}" if offsets else "")

"""A live run taken again from its trace: the same causes, the same steps, decisions and tables, and what they owe.

A trace holds everything that happened to a cluster from outside. Here an equal cluster, in memory, goes through it
once more, and each event has to come out as the trace says. What clients have told is checked against their tables.
After the events the promises are judged, on what the logs hold and what applications were told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from zombieproof.bridge.causes import HAPPENS, CannotHappen, equal_cluster, message_in_flight
from zombieproof.bridge.labels import Labels
from zombieproof.broker.cluster.cluster import NoSuchNode
from zombieproof.broker.cluster.live_trace import LiveTrace
from zombieproof.broker.cluster.network import CLIENT, CLIENT_IN_TRACES, Message
from zombieproof.broker.coordinator.steps import InvalidTransition
from zombieproof.messages.partitions import DeleteRecords, DeleteTopics
from zombieproof.messages.plain import NotPlain, from_plain
from zombieproof.model.catalogue import IN_STATES
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.registry import ALL_MACHINES
from zombieproof.traces.trace import Event, LiveRecord, Move, TraceError
from zombieproof.traces.trace_file import parse_line

JUDGED: Final = (
    "only_what_was_asked_to_commit_is_committed",
    "an_acknowledged_commit_loses_nothing",
    "a_transaction_is_all_or_nothing",
    "every_open_transaction_is_known_to_its_coordinator",
    "a_transaction_has_one_decision",
    "only_its_owner_ends_a_transaction",
    "epochs_never_go_down",
    "sequences_follow_each_other",
    "memory_is_the_fold_of_the_log",
    "a_decided_transaction_is_driven_to_its_end",
    "what_is_pending_is_under_way",
)
"""The promises that messages and logs are enough for; those of readers, inputs and instances are not among them."""

EVERY_EVENT: Final = 300
"""Up to so many records in all logs the promises are judged after each event; with more, only at the end."""

REMOVES: Final = ("compact", "retention")
"""Causes by which records go, beside requests that want them to."""

MOST: Final = 5_000
"""With more records than this they are not judged at all: each looks at every pair of records."""


@dataclass(frozen=True, slots=True)
class LiveFinding:
    """What is wrong in a run: the line of its file, and what broke: a promise, or what is expected of any event."""

    line: int
    promise: str
    message: str


@dataclass(frozen=True, slots=True)
class LiveJudgement:
    """What came of a run that was taken again.

    Attributes:
        record: the trace.
        finding: the first thing that is wrong; None if nothing is.
        open_question: why the run could not be taken again, or judged, to its end; "" if it was.
        line: the line where that is.
        judged: how many events came out as the trace says.
        labels: which request belongs to which transaction of an application.
    """

    record: LiveRecord
    finding: LiveFinding | None = None
    open_question: str = ""
    line: int = 0
    judged: int = 0
    labels: Labels | None = None


class _Found(Exception):
    def __init__(self, promise: str, message: str) -> None:
        super().__init__(message)
        self.promise, self.message = promise, message


def live_again(record: LiveRecord, file: str, *, only_at_the_end: bool = False) -> LiveJudgement:
    """Take a live run again and judge it, while there are few records after each event, or `only_at_the_end`.

    Raises:
        TraceError: an event names what no cluster has: a request that is none, a field that is missing.
    """
    run = _Run(record, file, 0 if only_at_the_end else EVERY_EVENT)
    count = 0
    for event in record.events:
        line = event.number + 1
        try:
            run.take(event)
        except _Found as found:
            finding = LiveFinding(line, found.promise, found.message)
            return LiveJudgement(record, finding, judged=count, labels=run.labels)
        except CannotHappen as unknown:
            return LiveJudgement(record, None, str(unknown), line, count)
        except (KeyError, TypeError, ValueError, NotPlain) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError(file, line, f"cannot happen as it says: {error}") from error
        count += 1
    broken = run.broken_at_the_end()
    if broken:
        last = len(record.events) + 1
        return LiveJudgement(record, LiveFinding(last, broken, _sentence(broken)), judged=count, labels=run.labels)
    return LiveJudgement(record, None, run.not_judged or record.fault, record.line, count)


class _Run:
    """An equal cluster on its way through the events."""

    def __init__(self, record: LiveRecord, file: str, judged_each: int) -> None:
        self.record, self.file, self._judged_each = record, file, judged_each
        self.lines: list[str] = []
        self.again = LiveTrace(self.lines.append, record.header.scenario)
        self.not_judged = ""
        self._clients: dict[tuple[str, str, str], str] = {}
        self._taken = 0
        self.cluster = equal_cluster(record, file, self.again)
        self.again.flush()
        self.labels = Labels(self.cluster)
        self.labels.begin()

    def take(self, event: Event) -> None:
        """One event: it happens again, and must be the same."""
        for move in event.moves:
            _is_legal(move)
        if event.cause.what == "client":
            self._check_client(event)
            self.again.flush()
            self.again.events += 1
            self.lines.append("")
            self._taken += 1
            return
        self._taken += 1
        if len(self.lines) <= self._taken:
            self._happen(event)
            self.again.flush()
        again = parse_line(self.lines[self._taken], self.file, event.number + 1, ("event",))
        assert isinstance(again, Event), "a trace writes events"
        _is_the_same(event, again)
        if event.illegal:
            raise _Found("no_machine_leaves_its_table", event.illegal)
        if event.moves or (event.cause.is_answer and event.cause.receiver == CLIENT_IN_TRACES):
            self._judge()

    def _happen(self, event: Event) -> None:
        happens = HAPPENS.get(event.cause.what)
        if happens is None:
            raise CannotHappen(f"{event.cause.what!r} is nothing that can happen again; legal: {', '.join(HAPPENS)}")
        before = message_in_flight(self.cluster, event.cause) if event.cause.what == "deliver" else None
        try:
            happens(self.cluster, event.cause)
        except (IllegalTransition, InvalidTransition):
            pass  # the event says so, which is compared
        except NoSuchNode as error:
            raise CannotHappen(str(error)) from error
        if not self.not_judged and (
            event.cause.what in REMOVES
            or (before is not None and isinstance(before.body, DeleteRecords | DeleteTopics))
        ):
            self.not_judged = (
                f"event {event.number} removes records: promises are judged of what was there before, for they are "
                "about whole logs; every event is as it must be"
            )
        if event.cause.what == "send":
            cause = event.cause
            self.labels.sent(Message(cause.number or 0, CLIENT, cause.receiver or 0, from_plain(cause.body)))
        elif event.cause.what == "double":
            self.labels.copied(event.cause.number or 0, self.cluster.network.in_flight[-1].number)
        elif before is not None:
            self.labels.told(before)
            self._forget_exchange(before)
        self.labels.look(before)

    def _forget_exchange(self, message: Message) -> None:
        exchange = self.cluster.network.exchanges.get(message.number)
        if exchange is not None and exchange.is_over:
            del self.cluster.network.exchanges[message.number]

    # ---------------------------------------------------------------- clients

    def _check_client(self, event: Event) -> None:
        """What a client has told: its machines go from state to state."""
        for move in event.moves:
            key = event.cause.client or "", move.machine, move.subject
            known = self._clients.get(key)
            begins = ALL_MACHINES[move.machine].initial.name
            if known not in (None, move.before) or (known is None and move.before != begins):
                was = known or begins
                raise _Found(
                    "no_machine_leaves_its_table",
                    f"{move.machine} {move.subject!r} of {key[0]} was in {was}, and moves from {move.before}",
                )
            self._clients[key] = move.after
        if event.illegal:
            raise _Found("no_machine_leaves_its_table", event.illegal)

    # ---------------------------------------------------------------- promises

    def _records(self) -> int:
        return sum(store.log.end_offset for store in self.cluster.stores.values())

    def _judge(self) -> None:
        if self._records() <= self._judged_each and not self.not_judged:
            broken = self._broken()
            if broken:
                raise _Found(broken, _sentence(broken))

    def broken_at_the_end(self) -> str:
        """The promise that is broken when everything has happened; "" if none is."""
        if self.not_judged:
            return ""
        if self._records() > MOST:
            self.not_judged = f"promises are judged of runs with up to {MOST:,} records; every event is as it must be"
            return ""
        return self._broken()

    def _broken(self) -> str:
        self.labels.watch()
        state = self.labels.state([], [])
        for name in JUDGED:
            promise = IN_STATES[name]
            if promise.predicate is not None and not promise.predicate(state):
                return name
        return ""


def _sentence(promise: str) -> str:
    return IN_STATES[promise].sentence


# ---------------------------------------------------------------- comparison


def _is_legal(move: Move) -> None:
    """A move is a row of its machine's table.

    Raises:
        _Found: it is none.
    """
    machine = ALL_MACHINES.get(move.machine)
    if machine is None:
        raise _Found("no_machine_leaves_its_table", f"{move.machine!r} is no machine; legal: {', '.join(ALL_MACHINES)}")
    state, event = machine.states[move.before], machine.events[move.event]
    try:
        target = machine.target(state, event, move.subject)
    except IllegalTransition as illegal:
        raise _Found("no_machine_leaves_its_table", str(illegal)) from illegal
    if machine.states(target).name != move.after:
        where = f"{move.machine} {move.subject!r}: {move.event} in {move.before} leads to {machine.states(target).name}"
        raise _Found("no_machine_leaves_its_table", f"{where}, not to {move.after}")


def _is_the_same(said: Event, now: Event) -> None:
    """An event came out as the trace says.

    Raises:
        _Found: it did not.
    """
    for name, what in COMPARED.items():
        was, found = getattr(said, name), getattr(now, name)
        if was != found:
            raise _Found(what, f"{name} is {_shown(found)} by the same rules, and the trace says {_shown(was)}")


COMPARED: Final = {
    "cause": "an_event_follows_from_what_happened",
    "ms": "an_event_follows_from_what_happened",
    "verdicts": "a_decision_is_the_one_that_the_rules_make",
    "moves": "a_move_follows_from_its_decision",
    "illegal": "a_move_follows_from_its_decision",
}
"""What is compared of an event -> what is wrong where it differs."""


def _shown(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    texts = [
        part.model_dump_json(by_alias=True, exclude_none=True) if isinstance(part, BaseModel) else repr(part)
        for part in parts
    ]
    return f"[{', '.join(texts)}]" if isinstance(value, tuple) else texts[0]

"""The trace of a live run: everything that happened to a cluster, with what was decided and moved because of it.

A `LiveTrace` is a journal. Given to a cluster it writes an event, one JSON line, for each thing that happens from
outside: a request is sent, a message arrives, a timer runs, a node is killed. What the brokers decide and which
machines move until the next one stands in the same event. Everything that a cluster does follows from these events, so
that they can be taken again (``zombieproof replay``). What clients do is told by journals of theirs (`of_client`).
"""

import base64
import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from zombieproof.broker.cluster.clock import Clock, ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import MACHINES_BY_INDEX, NAMES_OF_DECISIONS, Journal
from zombieproof.broker.cluster.network import Message, number_in_traces
from zombieproof.broker.cluster.node import Store
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config_names import named
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce
from zombieproof.messages.plain import as_plain
from zombieproof.messages.registry import api_of
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Row
from zombieproof.statemachines.kernel import IllegalTransition, Machine
from zombieproof.statemachines.notes import Notes
from zombieproof.traces.trace import FORMAT, LIVE_VERSION, rules_as_data

Write = Callable[[str], object]
"""Takes a whole line, with its end."""

STARTS = "open"
"""The cause of what brokers do when a cluster begins."""

REFUSED = "refused"
"""The topics that a request was to delete and the disk did not, in the fields of its event."""


class LiveTrace(Journal):
    """A journal that writes. It is opened by the cluster that it is given to, and holds that cluster's run only.

    Args:
        write: takes one line after the other.
        name: what the run is called.
    """

    __slots__ = (
        "_apis",
        "_clock",
        "_cluster",
        "_decisions",
        "_event",
        "_illegal",
        "_moves",
        "_ms",
        "_name",
        "_of_clients",
        "_write",
        "events",
    )

    def __init__(self, write: Write, name: str = "live") -> None:
        super().__init__()
        self._write, self._name = write, name
        self._cluster: Cluster | None = None
        self._event: dict[str, object] | None = None
        self._ms, self.events = 0, 0
        self._decisions: list[dict[str, str]] = []
        self._moves: list[dict[str, str]] = []
        self._illegal = ""
        self._apis: dict[int, str] = {}
        self._clock = SteadyClock(ManualClock())
        self._of_clients: deque[dict[str, object]] = deque()

    # ---------------------------------------------------------------- what a cluster tells

    def steady(self, clock: Clock) -> Clock:
        """What follows from one cause follows at one time, so that it can follow again."""
        self._clock = SteadyClock(clock)
        return self._clock

    def opened(self, cluster: Cluster, was_clean: bool) -> None:
        """Write the header; what brokers do when they start is the first event."""
        if self._cluster is not None:
            raise ValueError("a trace holds the run of one cluster: open another one")
        self._cluster = cluster
        header = {
            "kind": "header",
            "format": FORMAT,
            "version": LIVE_VERSION,
            "model": "live",
            "scenario": self._name,
            "rules": rules_as_data(cluster.rules),
            "cluster": _described(cluster, was_clean),
        }
        self._line(header)
        self.caused(STARTS)

    def found(self, node: int, partition: TopicPartition, store: Store) -> None:
        """Write what a store holds when the run begins: its log, and the snapshots of producers."""
        kept = ((offset, store.snapshots.read(offset)) for offset in store.snapshots.offsets())
        snapshots = [[offset, base64.b64encode(data).decode()] for offset, data in kept if data is not None]
        self.caused("found", node=node, partition=partition, start=store.log.start_offset, snapshots=snapshots)
        assert self._event is not None, "it begins with its cause"
        try:
            self._event["body"] = [as_plain(batch) for batch in store.log.read()]
        except Damaged as damage:
            said = self._event["fields"]
            assert isinstance(said, dict)
            self._event |= {"body": [], "fields": {**said, "damage": str(damage)}}

    def caused(self, what: str, **about: object) -> None:
        """The event before this one is over; another begins."""
        self.flush()
        assert self._cluster is not None, "a trace is opened by its cluster"
        self._ms = self._clock.look()
        self._event = {"what": what, **self._told(what, about, self._cluster)}

    def refused(self, topics: Collection[str]) -> None:
        """The present event says it, so that it happens again in a cluster that has no disk."""
        assert self._event is not None, "a request is delivered"
        said = self._event.get("fields", {})
        assert isinstance(said, dict)
        self._event["fields"] = {**said, REFUSED: sorted(topics)}

    def take(self, subject: str, noted: Notes | None = None) -> None:
        """What a step of a broker has noted belongs to the present event.

        Raises:
            IllegalTransition: it wanted a move that its machine's table does not have; the event says so.
        """
        notes = self._notes if noted is None else noted
        for each in notes.decisions[: notes.decision_count]:
            self.decided(NAMES_OF_DECISIONS[each.decision], each.row, each.error, subject)
        for taken in notes.moves[: notes.count]:
            machine = MACHINES_BY_INDEX[taken.machine]
            self._moves.append(_moved(machine, subject, taken.state, taken.event, taken.target))
        try:
            super().take(subject, noted)
        except IllegalTransition as illegal:
            self._illegal = str(illegal)
            self.flush()
            raise

    def decided(self, decision: str, row: int, error: int, subject: str) -> None:
        """Note a decision."""
        self._decisions.append(_decided(decision, row, error, subject))

    def move(self, machine: Machine, subject: str, state: int, event: int) -> int:
        """The state after `event`; the transition is noted."""
        target = machine.target(state, event, subject)
        self._moves.append(_moved(machine, subject, state, event, target))
        return target

    # ---------------------------------------------------------------- clients

    def of_client(self, name: str) -> "ClientJournal":
        """A journal for one client: each of its steps that moves a machine is an event of its own."""
        return ClientJournal(self, name)

    def client_stepped(self, name: str, cause: Mapping[str, object], subject: str, notes: Notes) -> None:
        """A step of a client moved or decided something: an event behind the present one.

        Clients may be in other threads than whoever drives the cluster: here is only noted what is written there.
        """
        told: dict[str, object] = {"cause": {"what": "client", "client": name, "fields": dict(cause)}}
        moves = [
            _moved(MACHINES_BY_INDEX[each.machine], subject, each.state, each.event, each.target)
            for each in notes.moves[: notes.count]
        ]
        if moves:
            told["moves"] = moves
        if notes.decision_count:
            told["verdicts"] = [
                _decided(NAMES_OF_DECISIONS[each.decision], each.row, each.error, subject)
                for each in notes.decisions[: notes.decision_count]
            ]
        try:
            Journal.take(self, subject, notes)
        except IllegalTransition as illegal:
            told["illegal"] = str(illegal)
            raise
        finally:
            self._of_clients.append(told)

    # ---------------------------------------------------------------- causes

    def _told(self, what: str, about: Mapping[str, object], cluster: Cluster) -> dict[str, object]:
        """A cause without what says nothing."""
        message, told = about.get("message"), dict[str, object]()
        if isinstance(message, Message):
            told = self._told_of(message, is_sent=what == "send")
        told |= {name: value for name, value in about.items() if name in ("node", "number") and value is not None}
        partition = about.get("partition")
        if isinstance(partition, tuple):
            told["partition"] = list(partition)
        extra = {
            name: rules_as_data(value) if isinstance(value, Rules) else value
            for name, value in about.items()
            if name not in ("message", "node", "number", "partition")
        }
        if what == "flushed":
            extra["durable"] = _durable(cluster, about)
        if what == "start":
            extra["ends"] = _ends(cluster, about)
        return {**told, "fields": extra} if extra else told

    def _told_of(self, message: Message, *, is_sent: bool) -> dict[str, object]:
        """A message; an answer is of the API of its request."""
        body, number = message.body, message.number
        told: dict[str, object] = {
            "number": number,
            "sender": number_in_traces(message.sender),
            "receiver": number_in_traces(message.receiver),
            "is_answer": message.is_answer,
        }
        if message.is_answer:
            told["api"] = self._apis.pop(number, "")
        elif body is not None:
            told["api"] = self._apis[number] = api_of(type(body)).name
        if body is not None:
            told["body" if is_sent else "fields"] = as_plain(body) if is_sent else key_fields(body)
        return told

    # ---------------------------------------------------------------- lines

    def flush(self) -> None:
        """Write the present event, and what clients did meanwhile."""
        if self._event is not None:
            told: dict[str, object] = {"cause": self._event}
            if self._moves:
                told["moves"] = self._moves
            if self._decisions:
                told["verdicts"] = self._decisions
            if self._illegal:
                told["illegal"] = self._illegal
            self._event, self._moves, self._decisions, self._illegal = None, [], [], ""
            self._write_event(told)
        while self._of_clients:
            self._write_event(self._of_clients.popleft())

    def _write_event(self, told: dict[str, object]) -> None:
        self.events += 1
        self._line({"kind": "event", "number": self.events, "ms": self._ms, **told})

    def end(self) -> None:
        """Write the last line."""
        self.flush()
        self._line({"kind": "end", "events": self.events})

    def _line(self, line: Mapping[str, object]) -> None:
        self._write(json.dumps(line, separators=(",", ":")) + "\n")


class SteadyClock:
    """A clock that is looked at when something happens, and stands still until the next thing does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now_ms = clock.now_ms()

    def look(self) -> int:
        """Look what the time is."""
        self._now_ms = self._clock.now_ms()
        return self._now_ms

    def now_ms(self) -> int:
        """What the time was when it was last looked at."""
        return self._now_ms


class LiveTraceFile(LiveTrace):
    """A trace that is a file, which is written as the run goes on, and closed whole by `close`.

    Raises:
        OSError: the file cannot be made.
    """

    __slots__ = ("_file",)

    def __init__(self, path: Path, name: str = "live") -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8", newline="\n")
        super().__init__(self._file.write, name)

    def save(self) -> None:
        """Everything that has happened is in the file; for whoever drives the cluster."""
        self.flush()
        self._file.flush()

    def close(self) -> None:
        """Write what is left and the last line."""
        if not self._file.closed:
            self.end()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class ClientJournal(Journal):
    """What one client tells the trace: `caused` says what its next steps are about."""

    __slots__ = ("_cause", "_name", "_trace")

    def __init__(self, trace: LiveTrace, name: str) -> None:
        super().__init__()
        self._trace, self._name = trace, name
        self._cause: dict[str, object] = {}

    def caused(self, what: str, **about: object) -> None:
        """A call of the application, or an answer, is handled next."""
        self._cause = {"because": what, **about}

    def take(self, subject: str, noted: Notes | None = None) -> None:
        """A step is over; one that has noted nothing is no event."""
        notes = self._notes if noted is None else noted
        if notes.count or notes.decision_count or notes.illegal:
            self._trace.client_stepped(self._name, self._cause, subject, notes)


# ---------------------------------------------------------------- what is said of a cluster and a cause


def _described(cluster: Cluster, was_clean: bool) -> dict[str, Any]:
    """What a cluster is made of: enough to make an equal one."""
    nodes, metadata = cluster.nodes, cluster.metadata
    topics: dict[str, Any] = {
        topic: {"id": str(topic_id), "partitions": [], "config": named(metadata.config_of(topic))}
        for topic, topic_id in metadata.topic_ids.items()
    }
    for topic, stated in metadata.stated.items():
        topics[topic]["stated"] = stated
    for (topic, _), known in sorted(metadata.partitions.items()):
        said = {"replicas": list(known.replicas), "in_sync": list(known.in_sync), "leader": known.leader}
        topics[topic]["partitions"].append({**said, "leader_epoch": known.leader_epoch})
    access = {} if cluster.access is None else {"access": cluster.access.as_data()}
    return {
        **access,
        "nodes": len(nodes),
        "release": cluster.release_of(nodes[0]),
        "settings": asdict(cluster.settings),
        "topics": topics,
        "producer_ids": list(metadata.producer_ids.blocks),
        "version": metadata.version,
        "was_clean": was_clean,
        "default_config": named(metadata.default_config),
    }


def _durable(cluster: Cluster, about: Mapping[str, Any]) -> int:
    return cluster.stores[about["node"], about["partition"]].log.durable_offset


def _ends(cluster: Cluster, about: Mapping[str, Any]) -> list[list[object]]:
    """Where the logs of a node end that comes back: what was not durable may be gone."""
    return [[*tp, store.log.end_offset] for (node, tp), store in cluster.stores.items() if node == about["node"]]


def key_fields(body: object) -> dict[str, object]:
    """The fields of a message that say whose it is and what it wants; of batches who wrote them, not what they hold."""
    if isinstance(body, Produce):
        return {
            "transactional_id": body.transactional_id,
            "batches": [
                [*tp, sent.batch.producer_id, sent.batch.producer_epoch, sent.batch.base_sequence]
                for tp, batches in body.partitions.items()
                for sent in batches
            ],
        }
    if isinstance(body, Fetch | FetchAnswer):
        return {"partitions": [list(tp) for tp in _partitions(body.partitions)]}
    assert is_dataclass(body), "messages are dataclasses"
    return {each.name: as_plain(getattr(body, each.name)) for each in fields(body)}


def _partitions(found: Iterable[TopicPartition]) -> list[TopicPartition]:
    return list(found)


def _decided(decision: str, row: int, error: int, subject: str) -> dict[str, str]:
    return {"decision": decision, "subject": subject, "row": Row(row).name, "error": Error(error).name}


def _moved(machine: Machine, subject: str, state: int, event: int, target: int) -> dict[str, str]:
    names = machine.states(state).name, machine.events(event).name, machine.states(target).name
    return {"machine": machine.name, "subject": subject, "from": names[0], "event": names[1], "to": names[2]}

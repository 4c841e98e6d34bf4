"""A live run that broke a promise, as a scenario of one's own: what its applications did, and what went wrong.

The scenario has the clients, transactions and faults of the run up to where the promise broke, each as often as they
were there, and the run's rules. The checker then looks for the shortest way there itself: records that a transaction
sent to one partition after the other are one line of a program, and nothing is said of what came when.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zombieproof.bridge.again import LiveJudgement
from zombieproof.bridge.labels import Identity, Labels
from zombieproof.checker.transactions.capacities import CLIENTS, IDS, OPS, TXNS
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import TxnOffsetCommit
from zombieproof.messages.partitions import Produce
from zombieproof.messages.plain import from_plain
from zombieproof.messages.transactions import EndTxn, InitProducerId
from zombieproof.model.rules import PRESETS, Rules, preset
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, PartitionEvent
from zombieproof.traces.trace import RULE_NAMES, Cause, Event

DATA_PARTITIONS = 2
MOST_OF_A_FAULT = 2
"""How often a fault may happen in the scenario at most: what it takes is mostly one."""


class DoesNotFit(ValueError):
    """A run has more than a state of the checker can hold; the message says of what, and what can be done."""


@dataclass
class _Client:
    """One instance of an application: its transactional id, and what each of its transactions did, by label."""

    transactional_id: str | None
    transactions: dict[int, list[Op]] = field(default_factory=dict)


@dataclass
class _Seen:
    """What is read off the events. `faults` counts them by the names of budgets."""

    labels: Labels
    topics: Mapping[str, Any]
    clients: list[_Client] = field(default_factory=list)
    partitions: list[TopicPartition] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    grouped: bool = False
    _asked: dict[int, InitProducerId] = field(default_factory=dict)
    _of: dict[Identity, _Client] = field(default_factory=dict)
    _ending: dict[int, Identity] = field(default_factory=dict)
    _produced: dict[int, int] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _waits: set[TopicPartition] = field(default_factory=set)

    # ---------------------------------------------------------------- events

    def see(self, event: Event) -> None:
        """One event."""
        cause = event.cause
        if cause.what == "send":
            self._sent(cause.number or 0, from_plain(cause.body))
        elif cause.what == "deliver" and cause.is_answer and cause.receiver == 0:
            self._answered(cause)
        elif cause.what == "deliver" and not cause.is_answer:
            self._arrives(cause)
        else:
            self._fault(event)

    def _sent(self, number: int, body: Any) -> None:
        label = self.labels.of_request(number)
        match body:
            case InitProducerId():
                self._asked[number] = body
            case Produce():
                for tp, batches in body.partitions.items():
                    identity = batches[0].batch.producer_id, batches[0].batch.producer_epoch
                    self._does(identity, body.transactional_id, label, self._op_of(tp))
                    self._produced[number] = label
            case TxnOffsetCommit():
                self.grouped = True
                self._does((body.producer_id, body.producer_epoch), body.transactional_id, label, Op.OFFSETS)
            case EndTxn():
                identity = body.producer_id, body.producer_epoch
                self._ending[number] = identity
                self._ended.add(label)
                self._does(identity, body.transactional_id, label, Op.COMMIT if body.committed else Op.ABORT)

    def _op_of(self, tp: TopicPartition) -> Op:
        if tp not in self.partitions:
            self.partitions.append(tp)
        if self.partitions.index(tp) >= DATA_PARTITIONS:
            raise DoesNotFit(f"the run wrote to {len(self.partitions)} partitions, and a state holds {DATA_PARTITIONS}")
        return (Op.SEND_0, Op.SEND_1)[self.partitions.index(tp)]

    def _does(self, identity: Identity, transactional_id: str | None, label: int, op: Op) -> None:
        client = self._of.get(identity)
        if client is None:
            client = self._of[identity] = _Client(transactional_id)
            self.clients.append(client)
        ops = client.transactions.setdefault(label, [])
        if op not in ops:
            ops.append(op)

    def _answered(self, cause: Cause) -> None:
        """A grant begins an instance, unless it answers one that raised its epoch; so does no end."""
        told, number = cause.fields or {}, cause.number or 0
        granted = told.get("producer_id", NONE), told.get("producer_epoch", NONE)
        asked, ending = self._asked.pop(number, None), self._ending.pop(number, None)
        if NONE in granted or told.get("error") != Error.NONE:
            return
        if asked is not None:
            before = self._of.get((asked.producer_id, asked.producer_epoch))
            if before is None:
                before = _Client(asked.transactional_id)
                self.clients.append(before)
            self._of[granted] = before
        elif ending in self._of:
            self._of[granted] = self._of[ending]

    def _arrives(self, cause: Cause) -> None:
        """A batch that comes when its application has asked for the end already was given up."""
        label = self._produced.pop(cause.number or 0, 0)
        if label in self._ended:
            self._count("late")

    # ---------------------------------------------------------------- faults

    def _count(self, *names: str) -> None:
        for name in names:
            self.faults[name] = min(self.faults.get(name, 0) + 1, MOST_OF_A_FAULT)

    def _fault(self, event: Event) -> None:
        cause, happened = event.cause, {(move.machine, move.event) for move in event.moves}
        if cause.what == "lose":
            self._count("lost")
        elif cause.what == "double":
            of_batches = ("Produce", "TxnOffsetCommit")
            is_marker = cause.api == "WriteTxnMarkers"
            self._count("doubled_markers" if is_marker else "doubled_batches" if cause.api in of_batches else "doubled")
        elif cause.what == "timer":
            if ("coordinator", CoordinatorEvent.FENCE.name) in happened:
                self._count("timeouts")
            if ("coordinator", CoordinatorEvent.EXPIRE.name) in happened:
                self._count("expirations")
            if ("partition_leader", PartitionEvent.EXPIRE_PRODUCER.name) in happened:
                self._count("forgotten")
        elif cause.what == "elect" and cause.partition is not None:
            of_coordinators = cause.partition[0] == TRANSACTION_STATE
            self._count("deposed" if of_coordinators else "leader_changes")
        elif cause.what in ("kill", "stop"):
            self._count(*self._lost_with(cause.node))

    def _lost_with(self, node: int | None) -> Iterator[str]:
        """What goes when a node does."""
        held = [
            (topic, each["replicas"])
            for topic, known in self.topics.items()
            for each in known["partitions"]
            if node in each["replicas"]
        ]
        if any(topic == TRANSACTION_STATE for topic, _ in held):
            yield "failovers"
        led = [replicas for topic, replicas in held if topic not in (TRANSACTION_STATE, CONSUMER_OFFSETS)]
        if any(len(replicas) == 1 for replicas in led):
            yield "leaderless"
        elif led:
            yield "leader_changes"


def scenario_text(judgement: LiveJudgement, file: str) -> tuple[str, str]:
    """The text of a Python file with the scenario of a run that broke a promise, and the scenario's name.

    Raises:
        DoesNotFit: no promise is broken, or the run has more clients, ids or partitions than a state can hold.
    """
    finding, labels = judgement.finding, judgement.labels
    if finding is None or labels is None or finding.promise not in _PROMISES:
        raise DoesNotFit("no promise of the checker is broken in the run: there is nothing to look for")
    header = judgement.record.header
    seen = _Seen(labels, (header.cluster or {}).get("topics", {}))
    for event in judgement.record.events[: finding.line - 1]:
        seen.see(event)
    clients = seen.clients
    if len(clients) > CLIENTS:
        clients = [client for client in clients if client.transactions]
    ids = _ids(clients)
    name = re.sub(r"\W+", "_", f"{header.scenario}_seen").strip("_")
    base, changes = _nearest(header.rules_in_force())
    arguments: dict[str, str] = {
        "always": f"({json.dumps(finding.promise)},)",
        "sometimes": "()",
        "ids": repr((*ids, *(0 for _ in range(CLIENTS - len(ids))))),
        "rules": json.dumps(base),
    }
    if changes:
        arguments["changes"] = json.dumps(changes)
    if seen.grouped:
        arguments["grouped"] = "1"
    arguments |= {fault: str(count) for fault, count in sorted(seen.faults.items())}
    programs = _programs(clients)
    transaction_scenario(name, "is made once here, so that a mistake is told now", programs, **_values(arguments))
    return _TEMPLATE.format(
        file=file,
        line=finding.line,
        promise=finding.promise,
        sentence=finding.message,
        name=name,
        programs=_programs_text(programs),
        arguments="".join(f"    {key}={value},\n" for key, value in arguments.items()),
    ), name


_PROMISES = frozenset({*ALWAYS, "a_decided_transaction_is_driven_to_its_end", "what_is_pending_is_under_way"})

Programs = tuple[tuple[tuple[Op, ...], ...], ...]


def _ids(clients: list[_Client]) -> list[int]:
    if len(clients) > CLIENTS:
        raise DoesNotFit(f"{len(clients)} instances of producers wrote something, and a state holds {CLIENTS}")
    names = list(dict.fromkeys(each.transactional_id for each in clients if each.transactional_id is not None))
    if len(names) > IDS:
        raise DoesNotFit(f"the run has {len(names)} transactional ids, and a state holds {IDS}")
    return [NONE if each.transactional_id is None else names.index(each.transactional_id) for each in clients]


def _programs(clients: list[_Client]) -> Programs:
    """The last transactions of each client, with as many lines as fit; one that only took its id over does no more."""
    nothing = ((Op.ABORT,),)
    return tuple(
        tuple(tuple(ops[:OPS]) for ops in list(each.transactions.values())[-TXNS:]) or nothing for each in clients
    )


def _programs_text(programs: Programs) -> str:
    """A line for each client."""
    return "".join(f"        {_tuple_of([_tuple_of(ops) for ops in client])},\n" for client in programs)


def _tuple_of(parts: Sequence[Op | str]) -> str:
    texts = [part if isinstance(part, str) else f"Op.{part.name}" for part in parts]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _nearest(rules: Rules) -> tuple[str, dict[str, int]]:
    """The preset that the rules differ least from, and how."""
    differing = {
        name: {each: int(getattr(rules, each)) for each in RULE_NAMES if getattr(rules, each) != getattr(base, each)}
        for name, base in ((name, preset(name)) for name in PRESETS)
    }
    found = min(differing, key=lambda name: (len(differing[name]), name != "newest"))
    return found, differing[found]


def _values(arguments: Mapping[str, str]) -> dict[str, Any]:
    return {name: ast.literal_eval(text) for name, text in arguments.items()}


_TEMPLATE = '''"""Seen in a live run ({file}, line {line}), written by `zombieproof replay --write-scenario`.

Broken there: {promise}.
{sentence}
"""

from zombieproof import Op, transaction_scenario

SCENARIO = transaction_scenario(
    "{name}",
    "What the applications of a live run did, and the faults that it had, in any order.",
    (
{programs}    ),
{arguments})
'''

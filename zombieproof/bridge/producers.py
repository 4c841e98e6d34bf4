"""Live producers beside the checker's clients: each call and answer goes to both, and both must send the same.

The checker's clients are records and steps; a `LiveProducer` is what an application has: `TransactionManager` and
`Sender`, with their queues, batches and look-ups. What the checker leaves out stays in here: FindCoordinator is
answered at once, nobody waits for a back-off, and each partition has a node of its own: a Produce holds one batch.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from zombieproof.bridge.requests import (
    DATA,
    GROUP,
    INIT_VERSION,
    INPUT,
    TIMEOUT_MS,
    TRANSACTIONAL_IDS,
    VERSIONS_OF_COMMIT,
    VERSIONS_OF_PRODUCE,
    live_generation,
    message_of,
    names_partition,
)
from zombieproof.checker.transactions.asked_again import ABORT, may_call, open_call, times_out
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.client_actions import label_of, next_op
from zombieproof.checker.transactions.narration import client_name, message_name
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.views import end_txn_version, mode
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.brokers import Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.errors import IllegalState, ProducerFailure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import Sender, SenderSettings
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import GroupMetadata, OutgoingRequest
from zombieproof.formats.batches import Record
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, OffsetToCommit
from zombieproof.messages.partitions import ProduceAnswer
from zombieproof.messages.transactions import EndTxn, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Mode, Outcome, ProducerState
from zombieproof.statemachines.producer.records import Producer

FIRST_NODE = 1_000
"""As far as a producer knows, the leader of partition p is node `FIRST_NODE` + p."""

NOT_COMPARED = {"coordinator_raises": "learned of versions, when a request leaves: in a state rules say it"}
"""Fields of `Producer` that the checker's clients leave alone, and why."""

Ask = Callable[[InitProducerId], InitProducerIdAnswer]


class Surroundings(NamedTuple):
    """What a live producer finds: whom FindCoordinator names, and who grants ids to those without transactional id."""

    coordinator: int
    grant: Ask


RECORDED = tuple(each.name for each in fields(Producer) if each.name not in NOT_COMPARED)


class ClientsDiffer(AssertionError):
    """A live producer does what the checker's client does not, or the other way round; the message says what."""


@dataclass(slots=True)
class LiveProducer:
    """One instance, and what its application holds of its calls and records (with their labels)."""

    manager: TransactionManager
    sender: Sender
    now_ms: int = 0
    call: PendingResult | None = None
    ends: list[tuple[int, int, PendingResult]] = field(default_factory=list)
    records: list[tuple[int, int, SentRecord]] = field(default_factory=list)
    offsets: list[tuple[int, PendingResult]] = field(default_factory=list)

    def waits_for(self, result: PendingResult) -> PendingResult:
        """The application waits for a call."""
        self.call = result
        return result

    def hear(self) -> None:
        """The application sees the end of the call that it waits for."""
        if self.call is not None and self.call.is_completed:
            with contextlib.suppress(ProducerFailure):  # the machine is in an error state, which is compared
                self.call.acknowledge()
            self.call = None


def new_producer(setup: Setup, c: int) -> LiveProducer:
    """An instance as client `c` of the checker is one: it speaks the versions that the checker means."""
    joining = Mode(mode(setup))
    versions = {
        ApiKey.PRODUCE: VERSIONS_OF_PRODUCE[joining],
        ApiKey.FIND_COORDINATOR: 4,
        ApiKey.INIT_PRODUCER_ID: INIT_VERSION,
        ApiKey.ADD_PARTITIONS_TO_TXN: 3,
        ApiKey.ADD_OFFSETS_TO_TXN: 3,
        ApiKey.END_TXN: end_txn_version(setup),
        ApiKey.TXN_OFFSET_COMMIT: VERSIONS_OF_COMMIT[joining],
    }
    brokers = Brokers(versions)
    brokers.learn_features(setup.rules.transaction_version, 1)
    place = setup.bounds.transactional_id[c]
    manager = TransactionManager(
        None if place == NONE else TRANSACTIONAL_IDS[place],
        brokers=brokers,
        transaction_timeout_ms=TIMEOUT_MS,
        retry_backoff_ms=0,
        rules=setup.rules,
    )
    sender = Sender(manager, SenderSettings(retry_backoff_ms=0, max_in_flight=5, batch_records=1))
    sender.set_leaders({tp: FIRST_NODE + p for p, tp in enumerate(DATA)})
    return LiveProducer(manager, sender)


@dataclass(slots=True)
class LiveProducers:
    """The instances of all clients, what they want sent, and what they have sent by its number in the network."""

    setup: Setup
    of_clients: dict[int, LiveProducer] = field(default_factory=dict)
    outgoing: dict[int, list[OutgoingRequest]] = field(default_factory=dict)
    sent: dict[int, tuple[int, OutgoingRequest]] = field(default_factory=dict)

    # ---------------------------------------------------------------- what the application calls

    def step(self, state: State, c: int, abort_instead: bool, around: Surroundings, member: str) -> None:
        """The application of client `c` does in `state` what its program says."""
        client = state.clients[c]
        if client.state == ProducerState.UNINITIALIZED:
            producer = self.of_clients[c] = new_producer(self.setup, c)
            if producer.manager.is_transactional:
                producer.waits_for(producer.manager.init_transactions())
            self._pump(c, around)
            return
        if may_call(client):
            self._call_again(state, c, abort_instead, around)
            return
        producer, label = self.of_clients[c], label_of(state, c)
        op = Op.ABORT if abort_instead else Op(next_op(self.setup, client, c))
        if op == Op.FETCH and client.state == ProducerState.READY:
            return
        if client.state == ProducerState.READY and producer.manager.is_transactional:
            producer.manager.begin_transaction()
        if client.state == ProducerState.ABORTABLE_ERROR or op == Op.ABORT:
            producer.ends.append((label, Outcome.ABORT, producer.waits_for(producer.manager.begin_abort())))
        elif op == Op.COMMIT:
            producer.ends.append((label, Outcome.COMMIT, producer.waits_for(producer.manager.begin_commit())))
        elif op == Op.OFFSETS:
            row = OffsetToCommit(INPUT, int(client.position) + 1, str(label))
            group = GroupMetadata(GROUP, live_generation(int(client.generation)), member)
            producer.offsets.append((label, producer.manager.send_offsets((row,), group)))
        else:
            p = 0 if op == Op.SEND_0 else 1
            record = Record(None, str(label).encode())
            producer.records.append((label, p, producer.sender.send(DATA[p], record, producer.now_ms)))
        self._pump(c, around)

    def _call_again(self, state: State, c: int, abort_instead: bool, around: Surroundings) -> None:
        """The application calls again what timed out, or aborts; where that is refused it closes its producer."""
        producer, label = self.of_clients[c], label_of(state, c)
        aborts = abort_instead or open_call(state.clients[c]) == ABORT
        call = producer.manager.begin_abort if aborts else producer.manager.begin_commit
        try:
            result = producer.waits_for(call())
        except IllegalState:
            self.crash(c)
            return
        except ProducerFailure:  # that the call has failed is what it is told
            return
        # What it is told now counts, and no more what it asked before.
        producer.ends = [each for each in producer.ends if each[2] is not result]
        producer.ends.append((label, Outcome.ABORT if aborts else Outcome.COMMIT, result))
        self._pump(c, around)

    def crash(self, c: int) -> None:
        """The process of client `c` is gone."""
        self.of_clients.pop(c, None)
        self.outgoing.pop(c, None)
        self.sent = {number: known for number, known in self.sent.items() if known[0] != c}

    def give_up(self, state: State, number: int, around: Surroundings) -> None:
        """The delivery time of the batch in request `number` is over.

        With an EndTxn the patience of its application is, once; or the producer itself.
        """
        c, request = self.sent[number]
        if isinstance(request.body, EndTxn):
            if times_out(state, c):
                self.of_clients[c].call = None
            else:
                self.crash(c)
            return
        producer = self.of_clients[c]
        (batch,) = producer.sender._in_flight[request.number][1].values()
        batch.created_ms = producer.now_ms - producer.sender.settings.delivery_timeout_ms
        producer.sender._expire_batches(producer.now_ms)
        self._pump(c, around)

    # ---------------------------------------------------------------- what comes back

    def answered(self, number: int, answer: object, around: Surroundings) -> None:
        """The answer to request `number` arrives at its client."""
        known = self.sent.pop(number, None)
        if known is None:
            return
        c, request = known
        producer = self.of_clients[c]
        assert isinstance(answer, ProduceAnswer | CoordinatorAnswer), f"{answer!r} answers no request of a producer"
        producer.sender.handle_answer(request, answer, producer.now_ms)
        self._pump(c, around)

    def lost(self, number: int, around: Surroundings) -> None:
        """No answer to request `number` arrives: its client sees the connection end."""
        known = self.sent.pop(number, None)
        if known is not None:
            c, request = known
            self.of_clients[c].sender.handle_disconnect(request, self.of_clients[c].now_ms)
            self._pump(c, around)

    # ---------------------------------------------------------------- what leaves

    def take(self, message: Message, to_node: int, named: Callable[[int], int]) -> OutgoingRequest:
        """The request with which the live producer does what the checker's client does by `message`.

        Raises:
            ClientsDiffer: it sends something else, or nothing.
        """
        wants = self.outgoing.get(int(message.client), [])
        for request in wants:
            found = message_of(request.body, int(message.client), int(message.label))
            found.producer_id = named(found.producer_id)
            found.live, found.node = message.live, message.node
            to_leader = names_partition(message.kind)
            if found == message and (to_leader or request.node == to_node):
                wants.remove(request)
                return request
        there = "; ".join(f"{request.body} to node {request.node}" for request in wants) or "nothing"
        what = message_name(message, self.setup)
        raise ClientsDiffer(f"the checker's client sends {what} to node {to_node}; the live producer sends {there}")

    def remember(self, number: int, request: OutgoingRequest, c: int) -> None:
        """A request has left as `number`."""
        self.sent[number] = c, request

    def _pump(self, c: int, around: Surroundings) -> None:
        """Everything that client `c` wants sent now; look-ups of coordinators are answered here."""
        producer = self.of_clients[c]
        producer.hear()
        wants = self.outgoing.setdefault(c, [])
        for _ in range(100):
            request = producer.sender.next_request(producer.now_ms)
            if request is None:
                first = producer.manager.requests.queue.first
                if first is None or not producer.manager.requests.is_backing_off(producer.now_ms):
                    break
                producer.now_ms = first.not_before_ms
            elif isinstance(request.body, FindCoordinator):
                found = CoordinatorFound(Error.NONE, around.coordinator)
                producer.sender.handle_answer(request, found, producer.now_ms)
            elif isinstance(request.body, InitProducerId) and not producer.manager.is_transactional:
                producer.sender.handle_answer(request, around.grant(request.body), producer.now_ms)
            else:
                wants.append(request)
        producer.hear()

    # ---------------------------------------------------------------- comparison

    def compare(self, state: State, named: Callable[[int], int]) -> None:
        """Each live producer stands where the checker's client stands.

        Raises:
            ClientsDiffer: one does not, or wants to send what the checker's client does not.
        """
        for c, wants in self.outgoing.items():
            if wants:
                said = f"{client_name(c)}'s live producer sends {wants[0].body}"
                raise ClientsDiffer(f"{said} to node {wants[0].node}; the checker's client does not")
        for c, producer in self.of_clients.items():
            client, live = state.clients[c], producer.manager.producer
            for name in RECORDED:
                expected, found = getattr(client, name), getattr(live, name)
                if name in ("producer_id", "prepared_id"):
                    found = named(found)
                if int(expected) != int(found):
                    where = f"{client_name(c)}: {name} is {int(expected)} in the checker"
                    raise ClientsDiffer(f"{where}, and {int(found)} in the live producer")
            self._compare_what_was_told(state, c, producer)

    def _compare_what_was_told(self, state: State, c: int, producer: LiveProducer) -> None:
        labels = state.ghost.labels
        told = [(label, 1 << p, record.is_successful) for label, p, record in producer.records]
        told += [(label, 1 << OFFSETS, result.is_successful) for label, result in producer.offsets]
        for label, bit, is_successful in told:
            if bool(labels[label - 1].acked & bit) != is_successful and not self._is_repeated(told, label, bit):
                said = "is acknowledged" if is_successful else "is not acknowledged"
                raise ClientsDiffer(f"{client_name(c)}: what was sent {said} to the live application; differs")
        for label, outcome, result in producer.ends:
            # Who stopped waiting is told nothing until it asks again.
            is_told = result.is_acknowledged and result.is_successful
            if is_told and labels[label - 1].result != outcome:
                raise ClientsDiffer(f"{client_name(c)}: only the live application was told {Outcome(outcome).name}")

    @staticmethod
    def _is_repeated(told: list[tuple[int, int, bool]], label: int, bit: int) -> bool:
        """Two records of one transaction to one partition share a bit: one of them is enough."""
        return sum((each[0], each[1]) == (label, bit) for each in told) > 1


__all__ = ["ClientsDiffer", "Kind", "LiveProducer", "LiveProducers"]

"""The checker's clients at a live cluster: one combined state, and its steps.

Theory of operation: a `Twin` is a live cluster, and beside it what the cluster does not know: the clients, the ghost
facts, the budgets of faults (all of them the checker's own records), and which request was sent by whom. A step clones
the twin and takes one action of the checker's list. What clients do is done by the checker's functions, interpreted,
on the projected state; the requests that they send go out as typed requests. Everything else is done by a command at
the cluster (``commands``), and the answers that clients hear are the cluster's. The state is then projected anew.

What may happen when (budgets of faults, connections that keep their order) is the environment's, and the checker's.
Whether a broker has anything to do with it is the broker's: a step after which nothing happened was disabled.
"""

import pickle
from dataclasses import dataclass, field, replace

from zombieproof.bridge import commands, projected_travels, projection
from zombieproof.bridge.appends import Appends, forget_fresh_metadata
from zombieproof.bridge.clusters import COORDINATOR_NODES
from zombieproof.bridge.commands import COORDINATORS
from zombieproof.bridge.flights import Answered, InFlight, Sent, messages
from zombieproof.bridge.names import Lost, Names, leading_log
from zombieproof.bridge.producers import LiveProducers, Surroundings
from zombieproof.bridge.projection import Consumer
from zombieproof.bridge.requests import (
    INIT_VERSION,
    PARTITIONS,
    TIMEOUT_MS,
    TRANSACTIONAL_IDS,
    names_partition,
    request_of,
)
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import NAMES_OF_DECISIONS, Decided
from zombieproof.broker.cluster.network import CLIENT
from zombieproof.broker.cluster.operations import QuestionsUnderWay
from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.transactions import coordinator_appends, network
from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.capacities import MESSAGES
from zombieproof.checker.transactions.model import initial_state, travels, widen
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, Ghost, Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.formats.batches import TransactionValue
from zombieproof.messages.transactions import InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Row, TransactionState
from zombieproof.statemachines.notes import Decision
from zombieproof.statemachines.partition_leader.questions import ChannelFailure

MESSAGE, STATE = layout_of(Message), layout_of(State)

ENDED = {TransactionState.PREPARE_COMMIT: 1, TransactionState.PREPARE_ABORT: 2}
"""What a decided record says: `Told.decided`."""

_VERIFICATION = NAMES_OF_DECISIONS[Decision.VERIFICATION]


@dataclass(slots=True)
class Beside:
    """What the cluster does not know. `answers` have left their brokers, by the numbers of their requests."""

    clients: list[Client]
    ghost: Ghost
    budget: Budget
    sent: dict[int, Sent] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    names: Names = field(default_factory=Names)
    lost: dict[int, Lost] = field(default_factory=dict)
    consumers: list[Consumer] = field(default_factory=list)
    producers: LiveProducers | None = None
    appends: Appends = field(default_factory=Appends)
    answers: dict[int, Answered] = field(default_factory=dict)


class Twin:
    """One state. `state` is its projection in normal form, `flights` what each message of it stands for."""

    def __init__(
        self, cluster: Cluster, beside: Beside, setup: Setup, state: State, flights: list[InFlight | None]
    ) -> None:
        self.cluster, self.beside, self.setup = cluster, beside, setup
        self.state, self.flights = state, flights
        self._frozen = b""

    def prepare(self) -> None:
        """Make it ready for a step to be tried."""
        self.scratch = copied(self.state), Trail()
        if self.setup.bounds.appends_travel == 1:
            room = len(self.state.group.pending)
            unused = [n for n in range(room) if not coordinator_appends._is_used(self.state, n)]
            self.beside.names.free(unused)

    def freeze(self) -> None:
        """Make it ready for steps to be tried, and to be cloned."""
        self.prepare()
        self._frozen = pickle.dumps((self.cluster, self.beside), pickle.HIGHEST_PROTOCOL)

    def clone(self) -> "Twin":
        """An equal twin that shares nothing with this one; its state is the same until it is refreshed."""
        cluster, beside = pickle.loads(self._frozen)
        return Twin(cluster, beside, self.setup, self.state, self.flights)

    def equals(self, clone: "Twin") -> bool:
        """Whether a clone is still as it was when it was made, so that another step can be tried on it."""
        return pickle.dumps((clone.cluster, clone.beside), pickle.HIGHEST_PROTOCOL) == self._frozen

    # ---------------------------------------------------------------- projection

    def refresh(self) -> None:
        """Project the cluster; what the normal form drops, late copies that change nothing, is lost on its way."""
        journal = commands.journal_of(self.cluster)
        if journal.contradictions or any(map(_is_internal, journal.decisions)):
            self.beside.ghost.insane = True
        journal.clear()
        self.look()
        flights = messages(self.cluster, self.beside.sent, self.beside.names, self.setup, self.beside.appends)
        flights += [InFlight(message, told, number) for number, (message, told) in self.beside.answers.items()]
        state = self.brokers()
        for slot, flight in enumerate(flights):
            network.copy(flight.message, state.messages[slot])
        network.normalise(state, self.setup)
        self.state, self.flights = state, _in_order(state, flights)
        for flight in flights:
            if not any(flight is kept for kept in self.flights):
                self.lose_on_its_way(flight)
        if self.beside.producers is not None:
            self.beside.producers.compare(self.state, self.beside.names.producer_id)

    def look(self, label: int = 0) -> None:
        """Name what is new, and place appends that are; a request that asked for one now has `label`."""
        bounds = self.setup.bounds
        if bounds.appends_travel == 1 or bounds.id_blocks > 0:
            deposed = 1 - projection.coordinator(self.cluster)
            held = self.state.nodes[deposed]
            if held.believes:
                forget_fresh_metadata(self.cluster, COORDINATOR_NODES[deposed], held.cache)
        self.beside.names.update(self.cluster, self.beside.lost)
        self.beside.appends.update(self.cluster, label)

    def lose_on_its_way(self, flight: InFlight) -> None:
        """A message will never arrive; a leader that waits for the answer to it waits no longer."""
        if flight.message.stage == Stage.BACK_TO_LEADER and flight.request:
            leader = self.cluster.brokers[flight.live.receiver]
            for ticket in leader.desk.waits.tickets(flight.live.number):
                asked = leader.desk.waits.remove(ticket)
                assert isinstance(asked, QuestionsUnderWay), "a leader waits for the coordinator's word"
                leader.writes.channel.answered(asked.sent.lane, ChannelFailure.DISCONNECTED)
                leader.desk.waits.remove(asked.sent.lane)
            del leader.desk.requesters[flight.request]
        self.beside.sent.pop(flight.request, None)
        self.cluster.network.in_flight.remove(flight.live)

    def brokers(self) -> State:
        """The state without its messages, with copies of what is beside the cluster."""
        cluster, beside = self.cluster, self.beside
        known = beside.clients, beside.ghost, beside.budget
        clients, ghost, budget = pickle.loads(pickle.dumps(known, pickle.HIGHEST_PROTOCOL))
        there = initial_state(self.setup)
        state = replace(
            there,
            lanes=projection.lanes(cluster) if self.setup.bounds.verification_queue == 1 else there.lanes,
            clients=clients,
            nodes=projection.nodes(cluster, beside.names),
            durable=projection.durable(cluster, beside.names),
            partitions=projection.partitions(cluster, beside.names, beside.lost),
            readers=projection.readers(beside.consumers, beside.names),
            group=projection.group(cluster, beside.members, beside.names),
            ghost=ghost,
            budget=budget,
            coordinator=projection.coordinator(cluster),
            highest_epoch=projection.highest_epoch(cluster),
        )
        self._project_between_brokers(state)
        if travels(self.setup.bounds, self.setup.budget):
            widen(state)
        return state

    def _project_between_brokers(self, state: State) -> None:
        """What a state says of appends and producer ids; where ids come with records that travel none is counted."""
        cluster, names, bounds = self.cluster, self.beside.names, self.setup.bounds
        if bounds.appends_travel == 1:
            state.appends = projected_travels.appends(cluster, self.beside.appends, names)
        else:
            state.next_producer_id = projection.next_producer_id(names)
        if bounds.id_blocks > 0:
            state.next_block, state.given = projected_travels.next_block(cluster), projected_travels.given(names)
            state.blocks, state.allocations = projected_travels.blocks(cluster), projected_travels.allocations(cluster)

    # ---------------------------------------------------------------- steps

    def take(self, state: State) -> None:
        """What is beside the cluster is what the checker's functions have made of it."""
        self.beside.clients, self.beside.ghost, self.beside.budget = state.clients, state.ghost, state.budget
        while len(self.beside.names.producer_ids) < state.next_producer_id:
            self.grant_producer_id(InitProducerId(INIT_VERSION, None, TIMEOUT_MS, NONE, NONE))

    def grant_producer_id(self, request: InitProducerId) -> InitProducerIdAnswer:
        """A producer without transactional id asks any broker, and is told at once."""
        answer = commands.ask(self.cluster, request, COORDINATOR_NODES[0])
        assert isinstance(answer, InitProducerIdAnswer), "any broker grants producer ids"
        self.beside.names.producer_ids.append(answer.producer_id)
        return answer

    def around_producers(self) -> Surroundings:
        """What live producers find."""
        return Surroundings(COORDINATOR_NODES[projection.coordinator(self.cluster)], self.grant_producer_id)

    def follow(self, state: State, answered: int = NONE) -> None:
        """Send what clients have sent in `state`. Slot `answered` was answered: what is there now is new."""
        for slot in range(MESSAGES):
            before, after = self.state.messages[slot], state.messages[slot]
            flight = self.flights[slot]
            if slot == answered or flight is None:
                if after.kind != Kind.EMPTY:
                    self.send(after, self._original_of(after))
                continue
            if before.answered and after.kind == Kind.EMPTY:
                del self.beside.answers[flight.request], self.beside.sent[flight.request]
                continue
            unchanged = copied_message(before)
            unchanged.live = after.live
            assert MESSAGE.leaves(unchanged) == MESSAGE.leaves(after), f"{before} became {after} unheard"
            if before.live != after.live:
                self.beside.sent[flight.request] = Sent(after.client, after.label, bool(after.live))

    def _original_of(self, late: Message) -> InFlight | None:
        """What a late copy is a copy of."""
        if late.live:
            return None
        original = copied_message(late)
        original.live = True
        same = (f for f in self.flights if f is not None and MESSAGE.leaves(f.message) == MESSAGE.leaves(original))
        return next(same)

    def send(self, message: Message, original: InFlight | None = None) -> None:
        """A request goes out; with `original` it is a late copy of that one."""
        if original is not None:
            doubled = commands.double(self.cluster, original.live)
            if message.kind != Kind.MARKER:
                self.beside.sent[doubled.number] = Sent(message.client, message.label, waits=False)
            return
        member = self.beside.members[message.client] if self.beside.members[message.client :] else ""
        named = copied_message(message)
        named.producer_id = self.beside.names.live_producer_id(message.producer_id)
        receiver, producers = self._receiver(message), self.beside.producers
        if producers is None:
            request = request_of(named, self.setup, member)
            number = self.cluster.network.request(CLIENT, receiver, request)
        else:
            live = producers.take(message, receiver, self.beside.names.producer_id)
            number = self.cluster.network.request(CLIENT, receiver, live.body)
            producers.remember(number, live, int(message.client))
        self.beside.sent[number] = Sent(message.client, message.label, waits=True)
        self.cluster.network.exchanges.clear()

    def _receiver(self, message: Message) -> int:
        """Whom a request is for; while a partition has no leader its request is on its way to the next one."""
        if not names_partition(message.kind):
            return COORDINATOR_NODES[message.node]
        partition = PARTITIONS[message.partition]
        leader = self.cluster.leader_of(partition)
        return self.cluster.metadata.partitions[partition].in_sync[0] if leader is None else leader

    # ---------------------------------------------------------------- ghost facts

    def remember_decisions(self, ends: int, label: int, *, by_client: bool) -> None:
        """Who opened which transaction and what became of it, from the records behind number `ends` of the log.

        `label` is that of the request that was handled, 0 for what coordinators do by themselves; `by_client`: it is
        a client's EndTxn. The client is told of an internal error of the decision; what nobody is told of counts.
        """
        ghost, node = self.beside.ghost, self.state.coordinator
        if by_client:
            journal = commands.journal_of(self.cluster)
            journal.decisions[:] = [each for each in journal.decisions if each.error != Error.UNKNOWN_SERVER_ERROR]
        for batch in leading_log(self.cluster, COORDINATORS)[ends:]:
            (record,) = batch.records
            if not isinstance(record.value, TransactionValue):
                continue
            k, state = TRANSACTIONAL_IDS.index(str(record.key)), record.value.state
            was_open = self.state.nodes[node].cache[k].state == TransactionState.ONGOING
            if state == TransactionState.ONGOING and not was_open:
                ghost.owner[k] = label
            if state in ENDED and was_open:
                if by_client and ghost.owner[k] != label:
                    ghost.usurped = True
                coordinator_appends.decide_label(State(ghost=ghost), k, ENDED[state])


def _in_order(state: State, flights: list[InFlight]) -> list[InFlight | None]:
    """For each message of the state the flight that it was projected from; equal messages are alike."""
    left, ordered = list(flights), list[InFlight | None]()
    for message in state.messages:
        leaves = MESSAGE.leaves(message)
        found = next((flight for flight in left if MESSAGE.leaves(flight.message) == leaves), None)
        if found is not None:
            left.remove(found)
        ordered.append(found)
    return ordered


def _is_internal(decided: Decided) -> bool:
    """Whether a decision met what cannot be; not, where its log has refused the record, and it only tells so."""
    tells = decided.row == Row.F1 or decided.decision == _VERIFICATION
    return decided.error == Error.UNKNOWN_SERVER_ERROR and not tells


def copied(state: State) -> State:
    """An equal state that shares nothing."""
    another: State = STATE.copy(state)
    return another


def copied_message(message: Message) -> Message:
    """An equal message."""
    another = Message()
    network.copy(message, another)
    return another

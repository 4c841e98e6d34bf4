"""The checker's clients at a live cluster: one combined state, and its steps.

Theory of operation: a `Twin` is a live cluster, and beside it what the cluster does not know: the clients, the ghost
facts, the budgets of faults (all of them the checker's own records), and which request was sent by whom. A step clones
the twin and takes one action of the checker's list. What clients do is done by the checker's functions, interpreted,
on the projected world; the requests that they send go out as typed requests. Everything else is done by a command at
the cluster (``commands``), and the answers that clients hear are the cluster's. The world is then projected anew.

What may happen when (budgets of faults, connections that keep their order) is the environment's, and the checker's.
Whether a broker has anything to do with it is the broker's: a step after which nothing happened was disabled.
"""

import pickle
from dataclasses import dataclass, field

from tests.refinement import commands, projection
from tests.refinement.commands import COORDINATORS
from tests.refinement.projection import COORDINATOR_NODES, Consumer, InFlight, Lost, Names, Sent
from tests.refinement.requests import (
    DATA,
    GROUP,
    INPUT,
    OFFSETS_PARTITION,
    PARTITIONS,
    TRANSACTIONAL_IDS,
    names_partition,
    request_of,
)
from zombieproof.broker.clock import ManualClock
from zombieproof.broker.cluster import Cluster
from zombieproof.broker.group_requests import OffsetFetch, OffsetFetchAnswer, OffsetsCommitted
from zombieproof.broker.journal import Journal
from zombieproof.broker.log import CONSUMER_OFFSETS, TRANSACTION_STATE, TransactionValue
from zombieproof.broker.network import CLIENT, Answer
from zombieproof.broker.partition_requests import ProduceAnswer
from zombieproof.broker.transaction_requests import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
)
from zombieproof.checker import actions, client_actions, client_answers, coordinator_actions, network
from zombieproof.checker.acts import ACTIONS, Act
from zombieproof.checker.layout import layout_of
from zombieproof.checker.transactions import initial_world
from zombieproof.checker.world import (
    MESSAGES,
    OFFSETS,
    PRODUCER_IDS,
    Budget,
    Client,
    Ghost,
    Kind,
    Message,
    Op,
    Setup,
    Stage,
    Trail,
    World,
)
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.model.records import PendingOffset
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Isolation, ProducerState, TransactionState

MESSAGE = layout_of(Message)
ISOLATIONS = (Isolation.READ_COMMITTED, Isolation.READ_COMMITTED_BUFFERING)
"""How readers 0 and 1 of a world read."""
MUCH_MS = 10**12
"""Where the clock stands, so that everything can be made older than anything is kept."""

ENDED = {TransactionState.PREPARE_COMMIT: 1, TransactionState.PREPARE_ABORT: 2}
"""What a decided record says: `Told.decided`."""

BUDGETS = {
    Act.TIME_OUT: "timeouts",
    Act.FAIL_OVER: "failovers",
    Act.DEPOSE: "deposed",
    Act.EXPIRE: "expirations",
    Act.CHANGE_LEADER: "leader_changes",
    Act.REBALANCE: "rebalances",
    Act.FORGET_PRODUCER: "forgotten",
    Act.FORGET_GUARD: "forgotten",
    Act.LOSE_LEADER: "leaderless",
}
"""Faults at brokers that a twin can strike with, and the budgets that they are taken from."""

AT_MESSAGES = (Act.DELIVER, Act.LOSE_ANSWER, Act.UNKNOWN_APPEND)
BY_THE_CHECKER = (Act.STEP, Act.ABORT_INSTEAD, Act.CRASH, Act.GIVE_UP, Act.DOUBLE)
"""What clients do, and the network with a client's request: done by the checker, followed by the cluster."""


class OutOfScope(AssertionError):
    """A scenario asks for what a twin cannot do; the message says what."""


@dataclass(slots=True)
class Beside:
    """What the cluster does not know."""

    clients: list[Client]
    ghost: Ghost
    budget: Budget
    sent: dict[int, Sent] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    names: Names = field(default_factory=Names)
    lost: dict[int, Lost] = field(default_factory=dict)
    consumers: list[Consumer] = field(default_factory=list)


class Twin:
    """One state. `world` is its projection in normal form, `flights` what each message of it stands for."""

    def __init__(
        self, cluster: Cluster, beside: Beside, setup: Setup, world: World, flights: list[InFlight | None]
    ) -> None:
        self.cluster, self.beside, self.setup = cluster, beside, setup
        self.world, self.flights = world, flights
        self._frozen = b""

    def freeze(self) -> None:
        """Make it ready for steps to be tried, and to be cloned."""
        self._scratch = copied(self.world), Trail()
        self._frozen = pickle.dumps((self.cluster, self.beside), pickle.HIGHEST_PROTOCOL)

    def clone(self) -> "Twin":
        """An equal twin that shares nothing with this one; its world is the same until it is refreshed."""
        cluster, beside = pickle.loads(self._frozen)
        return Twin(cluster, beside, self.setup, self.world, self.flights)

    # ---------------------------------------------------------------- projection

    def refresh(self) -> None:
        """Project the cluster; what the normal form drops, late copies that change nothing, is lost on its way."""
        self.cluster.journal.clear()
        self.beside.names.update(self.cluster, self.beside.lost)
        flights = projection.messages(self.cluster, self.beside.sent, self.beside.names, self.setup)
        world = self.brokers()
        for slot, flight in enumerate(flights):
            network.copy(flight.message, world.messages[slot])
        network.normalise(world, self.setup)
        self.world, self.flights = world, _in_order(world, flights)
        for flight in flights:
            if not any(flight is kept for kept in self.flights):
                self._lose_on_its_way(flight)

    def _lose_on_its_way(self, flight: InFlight) -> None:
        if flight.message.stage == Stage.BACK_TO_LEADER and flight.request:
            leader = self.cluster.brokers[flight.live.receiver]
            del leader._questions[flight.live.number]
            del leader._in_progress[flight.request], leader._requesters[flight.request]
        self.beside.sent.pop(flight.request, None)
        self.cluster.network.in_flight.remove(flight.live)

    def brokers(self) -> World:
        """The world without its messages, with copies of what is beside the cluster."""
        cluster, beside = self.cluster, self.beside
        known = beside.clients, beside.ghost, beside.budget
        clients, ghost, budget = pickle.loads(pickle.dumps(known, pickle.HIGHEST_PROTOCOL))
        return World(
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
            next_producer_id=projection.next_producer_id(beside.names),
        )

    # ---------------------------------------------------------------- steps

    def may_try(self, action: int) -> bool:
        """Whether the environment lets an action happen; whether it does anything is seen when it is tried."""
        act, i = Act(ACTIONS[action][0]), ACTIONS[action][1]
        if act == Act.STEP and self._is_about_to_fetch(i):
            return True
        if act in BY_THE_CHECKER:
            world, trail = self._scratch
            tried = actions.step(world, action, self.setup, trail)
            if tried:
                self._scratch = copied(self.world), Trail()
            return tried
        if act in AT_MESSAGES:
            return self._may_reach(act, i)
        if act == Act.RESIGN:
            return i != self.world.coordinator and self.world.nodes[i].role == 1
        if act == Act.ELECT:
            return i in self.beside.lost
        if act in (Act.READ_ONE, Act.READ_ALL):
            return i < len(self.beside.consumers)
        return act in BUDGETS and int(getattr(self.beside.budget, BUDGETS[act])) > 0

    def step(self, action: int) -> bool:
        """Take an action that may be tried; False if nothing came of it, and the twin is to be thrown away."""
        act, i = Act(ACTIONS[action][0]), ACTIONS[action][1]
        if act in BY_THE_CHECKER:
            return self._by_the_checker(action, act, i)
        if act in AT_MESSAGES:
            return self._reach(act, i)
        return self._read(act, i) if act in (Act.READ_ONE, Act.READ_ALL) else self._strike(act, i)

    def _by_the_checker(self, action: int, act: Act, i: int) -> bool:
        world = copied(self.world)
        if act == Act.STEP and self._is_about_to_fetch(i) and not self._fetch_offset(world):
            return False
        if not actions.step(world, action, self.setup, Trail()):
            return False
        self._take(world)
        self._follow(world)
        return True

    def _is_about_to_fetch(self, c: int) -> bool:
        client, bounds = self.world.clients[c], self.setup.bounds
        if c >= bounds.clients or client.txn >= bounds.transactions[c] or self.world.group.owner != c:
            return False
        return client.state == ProducerState.READY and client_actions.next_op(self.setup, client, c) == Op.FETCH

    def _fetch_offset(self, world: World) -> bool:
        """The input position is what the live group says; False while that is unstable. In `world` it is told."""
        node = self.cluster.group_coordinator_of(GROUP)
        assert node is not None, "the group's coordinator fails over at once"
        answer = commands.ask(self.cluster, OffsetFetch(7, GROUP, True, (INPUT,)), node)
        assert isinstance(answer, OffsetFetchAnswer)
        row = answer.partitions[INPUT]
        world.group.committed.offset = 0 if row.offset == NONE else row.offset
        world.group.pending = [PendingOffset() for _ in world.group.pending]
        return row.error == Error.NONE

    def _take(self, world: World) -> None:
        """What is beside the cluster is what the checker's functions have made of it."""
        self.beside.clients, self.beside.ghost, self.beside.budget = world.clients, world.ghost, world.budget

    def _follow(self, world: World, heard: int = NONE) -> None:
        """Send what clients have sent in `world`. Slot `heard` was answered: what is there now is new."""
        for slot in range(MESSAGES):
            before, after = self.world.messages[slot], world.messages[slot]
            flight = self.flights[slot]
            if slot == heard or flight is None:
                if after.kind != Kind.EMPTY:
                    self._send(after, self._original_of(after))
                continue
            unchanged = _copied_message(before)
            unchanged.live = after.live
            assert MESSAGE.leaves(unchanged) == MESSAGE.leaves(after), f"{before} became {after} unheard"
            if before.live != after.live:
                self.beside.sent[flight.request] = Sent(after.client, after.label, bool(after.live))

    def _original_of(self, late: Message) -> InFlight | None:
        """What a late copy is a copy of."""
        if late.live == 1:
            return None
        original = _copied_message(late)
        original.live = 1
        same = (f for f in self.flights if f is not None and MESSAGE.leaves(f.message) == MESSAGE.leaves(original))
        return next(same)

    def _send(self, message: Message, original: InFlight | None = None) -> None:
        """A request goes out; with `original` it is a late copy of that one."""
        if original is not None:
            doubled = commands.double(self.cluster, original.live)
            if message.kind != Kind.MARKER:
                self.beside.sent[doubled.number] = Sent(message.client, message.label, waits=False)
            return
        member = self.beside.members[message.client] if self.beside.members[message.client :] else ""
        named = _copied_message(message)
        named.producer_id = self.beside.names.live_producer_id(message.producer_id)
        request = request_of(named, self.setup, member)
        number = self.cluster.network.request(CLIENT, self._receiver(message), request)
        self.beside.sent[number] = Sent(message.client, message.label, waits=True)
        self.cluster.network.exchanges.clear()

    def _receiver(self, message: Message) -> int:
        """Whom a request is for; while a partition has no leader its request is on its way to the next one."""
        if not names_partition(message.kind):
            return COORDINATOR_NODES[message.node]
        partition = PARTITIONS[message.partition]
        leader = self.cluster.leader_of(partition)
        return self.cluster.metadata.partitions[partition].in_sync[0] if leader is None else leader

    # ---------------------------------------------------------------- what happens to messages

    def _may_reach(self, act: Act, i: int) -> bool:
        """Whether the network lets it happen: the budgets, and the order of what shares a connection."""
        message, budget = self.world.messages[i], self.beside.budget
        if message.kind == Kind.EMPTY or actions._repeats(self.world, i):
            return False
        has_leader = self.world.partitions[message.partition].leader == 1
        if message.kind == Kind.MARKER:
            may_lose = act == Act.LOSE_ANSWER and budget.lost > 0 and message.live == 1
            return has_leader and (act == Act.DELIVER or may_lose)
        to_leader = names_partition(message.kind) and message.stage != Stage.TO_COORDINATOR
        if to_leader and (not has_leader or actions._is_behind_another(self.world, message)):
            return False
        if act == Act.LOSE_ANSWER:
            return budget.lost > 0 and message.live == 1 and message.stage != Stage.TO_COORDINATOR
        if act == Act.UNKNOWN_APPEND:
            for_coordinator = network.speaks_to_coordinator(message.kind) or message.stage == Stage.TO_COORDINATOR
            here = message.node == self.world.coordinator
            return budget.unknown_appends > 0 and message.live == 1 and for_coordinator and here
        return True

    def _reach(self, act: Act, i: int) -> bool:
        """The message in slot `i` arrives, and so does the answer, unless it is lost."""
        flight = self.flights[i]
        assert flight is not None
        ends = len(projection.leading_log(self.cluster, COORDINATORS))
        if act == Act.UNKNOWN_APPEND:
            self.beside.budget.unknown_appends -= 1
            self._append_unknown(flight)
        else:
            commands.deliver(self.cluster, flight.live)
        self._remember_decisions(ends, self.world.messages[i])
        if act == Act.LOSE_ANSWER:
            self.beside.budget.lost -= 1
        if flight.message.kind == Kind.MARKER:
            self._answer_marker(flight, act == Act.LOSE_ANSWER)
        else:
            self._answer_client(i, flight, act == Act.LOSE_ANSWER)
        return True

    def _append_unknown(self, flight: InFlight) -> None:
        """The fault strikes the append that the request itself asks for, not the abort behind a fence."""
        trial = pickle.loads(pickle.dumps(self.cluster, pickle.HIGHEST_PROTOCOL))
        trial.journal.clear()
        commands.deliver(trial, flight.live)
        if any(move.target == TransactionState.PREPARE_EPOCH_FENCE for move in trial.journal.moves):
            commands.deliver(self.cluster, flight.live)
        else:
            commands.append_unknown(self.cluster, flight.live)

    def _answer_marker(self, flight: InFlight, is_lost: bool) -> None:
        answer = commands.answer_to(self.cluster, flight.live)
        assert answer is not None, "a leader answers a marker at once"
        if is_lost:
            self.cluster.network.lose(answer)
            answer = commands.answer_to(self.cluster, flight.live)
            assert answer is not None
        commands.deliver(self.cluster, answer)
        self.cluster.resend_markers()

    def _answer_client(self, i: int, flight: InFlight, is_lost: bool) -> None:
        """What a client is told now, if it is told anything: the checker's clients make of it what they make of it."""
        told = next((each for each in self.cluster.network.in_flight if each.receiver == CLIENT), None)
        if told is None:
            return
        assert told.number == flight.request, "only who asked is answered"
        self.cluster.network.in_flight.remove(told)
        facts = self.beside.sent.pop(flight.request)
        if not facts.waits:
            return
        self.beside.names.update(self.cluster, self.beside.lost)
        world = self._listening(i)
        message = world.messages[i]
        if is_lost:
            actions._restore_request(world, message)
        else:
            assert isinstance(told.body, Answer), "a broker that was asked lives, and answers"
            client_answers.hear(world, self.setup, Trail(), i, self._told(told.body, message))
        self._take(world)
        self._follow(world, heard=i)

    def _listening(self, i: int) -> World:
        """The world as a client finds it that is about to be answered."""
        world = self.brokers()
        for slot in range(MESSAGES):
            network.copy(self.world.messages[slot], world.messages[slot])
        message = world.messages[i]
        message.stage, message.error, message.guard = Stage.TO_LEADER, Error.NONE, 0
        if names_partition(message.kind):
            message.node = 0
        return world

    def _told(self, answer: Answer, message: Message) -> int:
        """The error of an answer; what it grants is left in the message."""
        match answer:
            case InitProducerIdAnswer() | EndTxnAnswer():
                if answer.error == Error.NONE and answer.producer_id != NONE:
                    message.producer_id = self.beside.names.producer_id(answer.producer_id)
                    message.producer_epoch = answer.producer_epoch
                return answer.error
            case AddPartitionsToTxnAnswer():
                return answer.error or next(iter(answer.transactions[0].errors.values()))
            case AddOffsetsToTxnAnswer():
                return answer.error
            case ProduceAnswer():
                return answer.partitions[DATA[message.partition]].error
            case OffsetsCommitted():
                return answer.errors[INPUT]
            case _:
                raise AssertionError(f"{answer!r} answers no request of a client")

    # ---------------------------------------------------------------- consumers

    def _read(self, act: Act, r: int) -> bool:
        """A consumer reads; a fetch that ends behind the first batch is one of its own only if there is more."""
        consumer = self.beside.consumers[r]
        found = len(commands.fetch(self.cluster, consumer.reader).batches)
        if found == 0 or (act == Act.READ_ONE and found == 1):
            return False
        read = commands.read_one if act == Act.READ_ONE else commands.read_all
        for record in read(self.cluster, consumer.reader):
            consumer.delivered |= 1 << record.offset
        consumer.reader.journal.clear()
        return True

    # ---------------------------------------------------------------- what strikes brokers

    def _strike(self, act: Act, i: int) -> bool:
        ends = len(projection.leading_log(self.cluster, COORDINATORS))
        self.cluster.journal.clear()
        if not self._command(act, i):
            return False
        if act in BUDGETS:
            setattr(self.beside.budget, BUDGETS[act], getattr(self.beside.budget, BUDGETS[act]) - 1)
        self._remember_decisions(ends, None)
        return True

    def _command(self, act: Act, i: int) -> bool:
        """Do it; False if there was nothing to be done."""
        cluster = self.cluster
        if act == Act.TIME_OUT:
            commands.time_out(cluster, TRANSACTIONAL_IDS[i])
            return any(each.decision == "transaction_timeout" for each in cluster.journal.decisions)
        if act == Act.EXPIRE:
            commands.expire(cluster, TRANSACTIONAL_IDS[i])
            return any(each.decision == "transactional_id_expiration" for each in cluster.journal.decisions)
        if act in (Act.FORGET_PRODUCER, Act.FORGET_GUARD):
            return self._forget(act, i // PRODUCER_IDS, i % PRODUCER_IDS)
        if act == Act.RESIGN:
            commands.resign(cluster, COORDINATOR_NODES[i])
        elif act == Act.FAIL_OVER:
            commands.fail_over(cluster)
        elif act == Act.DEPOSE:
            commands.depose(cluster)
        elif act == Act.CHANGE_LEADER:
            return self.world.partitions[i].end > 0 and self._lose_leader(act, i)
        elif act == Act.LOSE_LEADER:
            return self._lose_leader(act, i)
        elif act == Act.ELECT:
            del self.beside.lost[i]
            commands.elect(cluster, PARTITIONS[i])
        elif act == Act.REBALANCE:
            return self._rebalance()
        return True

    def _forget(self, act: Act, p: int, pid: int) -> bool:
        """A sweep forgets both; the checker's faults strike one, and no guard while a transaction is open."""
        entry, names = self.world.partitions[p].entries[pid], self.beside.names
        if pid >= len(names.producer_ids) or entry.txn_first_offset != NONE:
            return False
        if act == Act.FORGET_PRODUCER and entry.known == 0:
            return False
        forget = commands.forget_producer if act == Act.FORGET_PRODUCER else commands.forget_guard
        forget(self.cluster, PARTITIONS[p], names.live_producer_id(pid))
        return bool(self.cluster.journal.moves)

    def _lose_leader(self, act: Act, p: int) -> bool:
        """What was under way at the old leader is gone with it; who waits asks the new one."""
        if self.world.partitions[p].leader == 0 or (p == OFFSETS and self.setup.bounds.grouped == 0):
            return False
        lost = [
            flight
            for flight in self.flights
            if flight is not None and flight.message.partition == p and flight.message.stage != Stage.TO_LEADER
            if flight.message.kind != Kind.MARKER
        ]
        if act == Act.CHANGE_LEADER:
            commands.change_leader(self.cluster, PARTITIONS[p])
        else:
            known = copied(self.world).partitions[p]
            known.leader = 0
            self.beside.lost[p] = Lost(known, projection.guards_of(self.cluster, PARTITIONS[p]))
            commands.lose_leader(self.cluster, PARTITIONS[p])
        for flight in lost:
            facts = self.beside.sent.pop(flight.request)
            if facts.waits:
                self._send(_at_leader(flight.message))
        return True

    def _rebalance(self) -> bool:
        if self.setup.bounds.grouped == 0:
            return False
        owner = self.world.group.owner
        joins = (owner + 1) % self.setup.bounds.clients
        members = list(self.beside.members)
        members[joins] = commands.rebalance(self.cluster, GROUP, members[owner])
        self.beside.members = tuple(members)
        return True

    # ---------------------------------------------------------------- ghost facts

    def _remember_decisions(self, ends: int, message: Message | None) -> None:
        """Who opened which transaction and what became of it, from the records behind number `ends` of the log.

        `message` is the request that was handled, None for what coordinators do by themselves.
        """
        ghost, node = self.beside.ghost, self.world.coordinator
        label = 0 if message is None else message.label
        for batch in projection.leading_log(self.cluster, COORDINATORS)[ends:]:
            (record,) = batch.records
            if not isinstance(record.value, TransactionValue):
                continue
            k, state = TRANSACTIONAL_IDS.index(str(record.key)), record.value.state
            was_open = self.world.nodes[node].cache[k].state == TransactionState.ONGOING
            if state == TransactionState.ONGOING and not was_open:
                ghost.owner[k] = label
            if state in ENDED and was_open:
                if message is not None and message.kind == Kind.END_TXN and ghost.owner[k] != label:
                    ghost.usurped = 1
                coordinator_actions.decide_label(World(ghost=ghost), k, ENDED[state])


def _in_order(world: World, flights: list[InFlight]) -> list[InFlight | None]:
    """For each message of the world the flight that it was projected from; equal messages are alike."""
    left, ordered = list(flights), list[InFlight | None]()
    for message in world.messages:
        leaves = MESSAGE.leaves(message)
        found = next((flight for flight in left if MESSAGE.leaves(flight.message) == leaves), None)
        if found is not None:
            left.remove(found)
        ordered.append(found)
    return ordered


def copied(world: World) -> World:
    """An equal world that shares nothing."""
    another: World = pickle.loads(pickle.dumps(world, pickle.HIGHEST_PROTOCOL))
    return another


def _copied_message(message: Message) -> Message:
    another = Message()
    network.copy(message, another)
    return another


def _at_leader(message: Message) -> Message:
    """A request as its client sends it."""
    again = _copied_message(message)
    again.stage, again.node, again.error, again.guard = Stage.TO_LEADER, 0, Error.NONE, 0
    return again


def first_twin(setup: Setup, rules: Rules | None = None) -> Twin:
    """The twin before anything happened: a coordinator and a stand-in, and each partition at brokers of its own.

    Args:
        setup: the checker's; `rules` those of the brokers, the setup's by default.

    Raises:
        OutOfScope: the scenario has what a twin cannot do.
    """
    bounds, budget = setup.bounds, setup.budget
    if bounds.answers_travel or bounds.keep_dead_letters or min(bounds.transactional_id[: bounds.clients]) < 0:
        raise OutOfScope("a twin knows the world in its smallest form, and no producers without transactional id")
    if budget.leaderless and (budget.leader_changes or bounds.grouped or bounds.readers):
        raise OutOfScope("a partition without a leader has one replica, and nobody reads it")
    replicas = 1 + setup.budget.leader_changes
    broker = iter(range(3, 100))
    of_each = {tp: tuple(next(broker) for _ in range(replicas)) for tp in PARTITIONS}
    cluster = Cluster(
        max(of_each[OFFSETS_PARTITION]),
        rules or setup.rules,
        topics={
            TRANSACTION_STATE: [COORDINATOR_NODES],
            CONSUMER_OFFSETS: [of_each[OFFSETS_PARTITION]],
            DATA[0][0]: [of_each[tp] for tp in DATA],
            INPUT[0]: [COORDINATOR_NODES],
        },
        clock=ManualClock(MUCH_MS),
    )
    world = initial_world(setup)
    members: tuple[str, ...] = ()
    if bounds.grouped:
        members = (commands.join(cluster, GROUP), *("" for _ in range(bounds.clients - 1)))
    beside = Beside(world.clients, world.ghost, world.budget, members=members)
    beside.consumers = [
        Consumer(FetchFilter(DATA[0], isolation, setup.rules, Journal())) for isolation in ISOLATIONS[: bounds.readers]
    ]
    twin = Twin(cluster, beside, setup, world, [])
    twin.refresh()
    return twin

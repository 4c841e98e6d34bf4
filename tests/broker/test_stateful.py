"""Random clients, faults, failovers and time jumps at a live cluster; after every step the promises hold.

The kinds of actions are those of the checker (``checker.transactions.action_kinds.Action``): each has a rule here, and
no rule injects a fault that the checker does not know. What is wrong in a release on purpose (its published bugs) is
listed with the promise that it breaks.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.live.application import Application
from zombieproof.bridge.commands import NO_LEVER
from zombieproof.bridge.observer import LiveReader, Observer
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.metadata import NOBODY, Metadata
from zombieproof.broker.cluster.network import Message, Request
from zombieproof.broker.cluster.node import AppendFault
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.checker.transactions.action_kinds import KINDS_BETWEEN_BROKERS, Action
from zombieproof.clients.errors import IllegalState, ProducerFailure
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import JoinGroup
from zombieproof.messages.transactions import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId
from zombieproof.model.catalogue import IN_STATES
from zombieproof.model.rules import PRESETS, preset, with_switches
from zombieproof.model.vocabulary import Error, Isolation, Outcome, ProducerState, TransactionVersion

IDS = ["x0", "x1"]
DATA = [("t", 0), ("t", 1)]
PARTITIONS = [*DATA, (CONSUMER_OFFSETS, 0)]
NODES = 3
PRODUCER_ID_EXPIRATION_MS = 300_000

CLIENT_RELEASES = ("newest", "3.9", "2.5", "0.11.0")


ToCoordinator = InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn

NOT_HERE: Mapping[str, str] = {
    "a_question_waits_only_behind_another": "tests/refinement compares what waits at a leader step by step",
    "sequences_in_memory_are_the_fold_of_their_log": "tests/refinement compares what a leader remembers step by step",
    "each_input_has_one_committed_output": "nobody consumes here: inputs belong to the conformance tests",
    "no_input_is_passed_over": "nobody consumes here either",
    "a_committed_position_never_goes_back": "positions are random numbers here",
    "offsets_of_a_commit_outlive_an_earlier_deletion": "tests/broker/test_deleted_groups shows B80",
    "what_was_decided_outside_is_not_aborted": "nobody decides outside of Kafka here",
    "nothing_of_an_older_instance_takes_effect": "two transactional ids are in use here, where it says nothing",
    "an_unrivalled_producer_is_never_fenced": "producers have rivals here",
    "what_was_acknowledged_stays_in_the_log": "tests/broker/test_durability judges it where replicas lag",
    "nothing_that_was_read_is_lost": "tests/broker/test_durability does that, too",
}


WHERE_PRODUCERS_ARE_FORGOTTEN: Mapping[str, str] = {
    "memory_is_the_fold_of_the_log": "what a leader forgets on purpose is in its log all the same",
    "sequences_follow_each_other": "an unknown producer may start at any sequence (S3)",
}

WHERE_REFUSED_COMMITS_TAKE_ALONG: Mapping[str, str] = {
    "offsets_in_memory_are_the_fold_of_their_log": "B74: a refused TxnOffsetCommit takes along what waits",
}

WHERE_EPOCHS_ARE_SHARED: Mapping[str, str] = {
    "only_what_was_asked_to_commit_is_committed": "B01: a late EndTxn(COMMIT) ends the next transaction",
    "an_acknowledged_commit_loses_nothing": "B02: a late EndTxn(ABORT) ends the next transaction",
    "a_transaction_is_all_or_nothing": "B01, B02",
    "a_transaction_has_one_decision": "B01, B02",
    "only_its_owner_ends_a_transaction": "B01, B02",
    "a_reader_gets_committed_records_only": "B04: a late batch joins a transaction that nobody knows of",
    "every_open_transaction_is_known_to_its_coordinator": "B04",
}
"""Before transaction version 2 the transactions of one instance share an epoch: published bugs of the protocol."""

PHASES = (Phase.generate, Phase.shrink)


class LiveCluster(RuleBasedStateMachine):
    """Two transactional ids, up to four instances of their applications, three brokers, and every fault."""

    RELEASE = "newest"
    CLIENTS: tuple[str, ...] = CLIENT_RELEASES
    OFF: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        nodes = tuple(range(1, NODES + 1))
        around = [nodes[i:] + nodes[:i] for i in range(NODES)]
        self.cluster = Cluster(
            NODES,
            with_switches(preset(self.RELEASE), off=self.OFF),
            Settings(
                min_insync_replicas=1,
                transactional_id_expiration_ms=600_000,
                producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
                group_initial_rebalance_delay_ms=0,
            ),
            {"t": [around[0], around[1]], "input": 1, TRANSACTION_STATE: [around[1]], CONSUMER_OFFSETS: [around[2]]},
            metadata=Metadata(producer_ids=ProducerIdController(block_size=10)),
        )
        self.observer = Observer(self.cluster, PARTITIONS, IDS)
        self.applications: list[Application] = []
        self.forgotten = False
        self.readers = [
            FetchFilter(DATA[0], isolation, self.cluster.rules, self.cluster.journal)
            for isolation in (Isolation.READ_COMMITTED, Isolation.READ_COMMITTED_BUFFERING)
        ]
        self.delivered = [0, 0]

    # ------------------------------------------------------------ applications

    @rule(which=st.sampled_from(IDS), data=st.data())
    @precondition(lambda self: len(self.applications) < 4)
    def start(self, which: str, data: st.DataObject) -> None:
        release = data.draw(st.sampled_from(self.CLIENTS))
        self.applications.append(Application(self.observer, which, release))

    @initialize(data=st.data())
    def begin_with_two(self, data: st.DataObject) -> None:
        """Two instances of one application, or of two; what comes first is not always interrupted."""
        for which in data.draw(st.sampled_from([("x0", "x0"), ("x0", "x1")])):
            self.start(which, data)
            self._let_arrive()

    @rule(data=st.data(), steps=st.integers(1, 8))
    @precondition(lambda self: self.applications)
    def work(self, data: st.DataObject, steps: int) -> None:
        """An application goes on undisturbed for a while."""
        application = self._application(data)
        for _ in range(steps):
            self._step(application, data)
            self._let_arrive()

    @rule(data=st.data(), steps=st.integers(2, 4))
    @precondition(lambda self: self.applications)
    def hurry(self, data: st.DataObject, steps: int) -> None:
        """An application goes on, and what it sends stays under way."""
        application = self._application(data)
        for _ in range(steps):
            self._step(application, data)

    @rule(data=st.data())
    @precondition(lambda self: self.applications)
    def step(self, data: st.DataObject) -> None:
        """An application does the next thing that it may do."""
        self._step(self._application(data), data)

    def _step(self, application: Application, data: st.DataObject) -> None:
        application.speak()
        if not application.is_free:
            return
        state = application.producer.manager.state
        if state == ProducerState.READY:
            application.begin()
        elif state == ProducerState.IN_TRANSACTION:
            what = data.draw(st.sampled_from(["send 0", "send 1", "offsets", "commit"]))
            with suppress(IllegalState, ProducerFailure):
                self._go_on(application, what)
        elif state == ProducerState.ABORTABLE_ERROR:
            application.end(Outcome.ABORT)
        application.speak()

    def _go_on(self, application: Application, what: str) -> None:
        if what == "commit":
            application.end(Outcome.COMMIT)
        elif what == "offsets":
            if not application.has_sent_offsets:
                application.send_offsets(len(self.observer.ghost.labels))
        elif not application.has_sent(int(what[-1])):
            application.send(int(what[-1]))

    @rule(data=st.data())
    @precondition(lambda self: self.applications)
    def abort_instead(self, data: st.DataObject) -> None:
        application = self._application(data)
        if application.is_free and application.producer.manager.state == ProducerState.IN_TRANSACTION:
            application.end(Outcome.ABORT)
            application.speak()

    @rule(data=st.data())
    @precondition(lambda self: self.applications)
    def crash(self, data: st.DataObject) -> None:
        application = self._application(data)
        application.alive = False
        application.producer.waiting.clear()

    def _application(self, data: st.DataObject) -> Application:
        living = [application for application in self.applications if application.alive]
        return data.draw(st.sampled_from(living or self.applications))

    # ------------------------------------------------------------ messages

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.network.in_flight)
    def deliver(self, data: st.DataObject) -> None:
        self.observer.deliver(self._message(data))
        self._everybody_handles_answers()

    @rule()
    @precondition(lambda self: self.cluster.network.in_flight)
    def deliver_everything(self) -> None:
        self._let_arrive()

    def _let_arrive(self) -> None:
        for _ in range(100):
            if not self.cluster.network.in_flight:
                break
            self.observer.deliver(self.cluster.network.in_flight[0])
            self._everybody_handles_answers()

    @rule(data=st.data())
    @precondition(lambda self: any(m.is_answer for m in self.cluster.network.in_flight))
    def lose_answer(self, data: st.DataObject) -> None:
        answers = [message for message in self.cluster.network.in_flight if message.is_answer]
        self.cluster.network.lose(data.draw(st.sampled_from(answers)))

    @rule(data=st.data())
    @precondition(lambda self: any(isinstance(m.body, Request) for m in self.cluster.network.in_flight))
    def double(self, data: st.DataObject) -> None:
        requests = [message for message in self.cluster.network.in_flight if isinstance(message.body, Request)]
        message = data.draw(st.sampled_from(requests))
        self.cluster.network.double(message)
        copy = self.cluster.network.in_flight[-1]
        self.observer.copied(message.number, copy.number)

    def _message(self, data: st.DataObject) -> Message:
        return data.draw(st.sampled_from(self.cluster.network.in_flight))

    def _everybody_handles_answers(self) -> None:
        for application in self.applications:
            if application.alive:
                application.speak()

    # ------------------------------------------------------------ what happens to brokers

    def _inject(self, command: Callable[[], None]) -> None:
        command()
        self.observer.look(None)
        self._everybody_handles_answers()

    def _leading(self, partition: TopicPartition) -> int | None:
        return self.cluster.leader_of(partition)

    @rule(data=st.data(), error=st.sampled_from([Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND]))
    def unknown_append(self, data: st.DataObject, error: Error) -> None:
        """What a request makes the coordinator append becomes durable, but is reported as failed."""
        node = self._leading((TRANSACTION_STATE, 0))
        requests = [m for m in self.cluster.network.in_flight if isinstance(m.body, ToCoordinator)]
        waiting = [message for message in requests if message.receiver == node]
        if node is None or not waiting:
            return
        faults = self.cluster.brokers[node].transactions.append_faults
        faults.append(AppendFault(error, is_written=True))
        self.observer.deliver(data.draw(st.sampled_from(waiting)))
        faults.clear()
        self._everybody_handles_answers()

    @rule(clean=st.booleans())
    def fail_over(self, clean: bool) -> None:
        node = self._leading((TRANSACTION_STATE, 0))
        if node is not None:
            self._inject(lambda: self.cluster.stop(node) if clean else self.cluster.kill(node))

    @rule()
    def depose(self) -> None:
        if self._has_others((TRANSACTION_STATE, 0)):
            self._inject(lambda: self.cluster.elect((TRANSACTION_STATE, 0), old_resigns=False))

    @rule(data=st.data())
    @precondition(lambda self: self.cluster.brokers)
    def resign(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(self.cluster.brokers)))
        self._inject(lambda: self.cluster.resign(node))

    @rule(which=st.sampled_from(PARTITIONS))
    def change_leader(self, which: TopicPartition) -> None:
        if self._has_others(which):
            self._inject(lambda: self.cluster.elect(which))

    @rule(which=st.sampled_from(PARTITIONS))
    def lose_leader(self, which: TopicPartition) -> None:
        node = self._leading(which)
        if node is not None:
            self._inject(lambda: self.cluster.kill(node))

    @rule()
    def elect(self) -> None:
        """Whoever is down comes back."""
        for node in range(1, NODES + 1):
            if node not in self.cluster.brokers:
                self._inject(partial(self.cluster.start, node, was_clean=False))

    def _has_others(self, partition: TopicPartition) -> bool:
        known = self.cluster.metadata.partitions[partition]
        return known.leader != NOBODY and len(known.in_sync) > 1

    @rule(member=st.sampled_from(["", "m"]))
    def rebalance(self, member: str) -> None:
        node = self._leading((CONSUMER_OFFSETS, 0))
        if node is not None:
            self.cluster.send(JoinGroup(3, "g", member), node)

    # ------------------------------------------------------------ time

    @rule(ms=st.sampled_from([60, 500]))
    def time_passes(self, ms: int) -> None:
        self._advance(ms)
        self._inject(self.cluster.resend_markers)

    @rule()
    def give_up(self) -> None:
        """Long enough for every request and batch that is under way to be given up."""
        self._advance(6_000)
        self._inject(self.cluster.resend_markers)

    @rule()
    def time_out(self) -> None:
        self._advance(30_000)
        self._inject(self.cluster.abort_timed_out_transactions)

    @rule()
    def expire(self) -> None:
        self._advance(700_000)
        self._inject(self.cluster.remove_expired_ids)

    @rule()
    def forget_producer(self) -> None:
        self._advance(400_000)
        self._inject(self.cluster.expire_producers)

    @rule()
    def forget_guard(self) -> None:
        self._advance(310_000)
        self._inject(self.cluster.expire_producers)

    def _advance(self, ms: int) -> None:
        clock = self.cluster.clock
        assert isinstance(clock, ManualClock)
        clock.advance(ms)
        self.forgotten = self.forgotten or ms >= PRODUCER_ID_EXPIRATION_MS

    # ------------------------------------------------------------ readers

    @rule(which=st.integers(0, 1))
    def read_one(self, which: int) -> None:
        """A reader takes the next batch."""
        self._read(which, 1)

    @rule(which=st.integers(0, 1))
    def read_all(self, which: int) -> None:
        """A reader takes everything that it may."""
        self._read(which, 1000)

    def _read(self, which: int, batches: int) -> None:
        node, reader = self._leading(DATA[0]), self.readers[which]
        if node is None:
            return
        fetched = self.cluster.brokers[node].partitions.fetch(reader.request()).partitions[DATA[0]]
        found = reader.read(replace(fetched, batches=fetched.batches[:batches]))
        self.delivered[which] |= sum(1 << record.offset for record in found)

    # ------------------------------------------------------------ promises

    @property
    def _has_an_epoch_for_each_transaction(self) -> bool:
        newest = all(application.release == "newest" for application in self.applications)
        return newest and self.cluster.rules.transaction_version == TransactionVersion.TV2

    @invariant()
    def the_promises_hold(self) -> None:
        clients = [application.facts() for application in self.applications if application.alive]
        readers = [
            LiveReader(reader.position, delivered, sum(1 << offset for offset in reader.held_offsets))
            for reader, delivered in zip(self.readers, self.delivered, strict=True)
        ]
        state = self.observer.state(clients, readers)
        excused = {
            *NOT_HERE,
            *(WHERE_PRODUCERS_ARE_FORGOTTEN if self.forgotten else ()),
            *(() if self.cluster.rules.refused_commit_keeps_pending else WHERE_REFUSED_COMMITS_TAKE_ALONG),
            *(() if self._has_an_epoch_for_each_transaction else WHERE_EPOCHS_ARE_SHARED),
        }
        for name, promise in IN_STATES.items():
            if promise.kind == "always" and name not in excused:
                assert promise.holds(state), promise.sentence


def run(machine: type[LiveCluster], examples: int, steps: int, phases: tuple[Phase, ...] = PHASES) -> None:
    """Let hypothesis walk; the same walks every time, so that a failure is a change and not luck."""
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)


def variant(release: str, clients: tuple[str, ...] = CLIENT_RELEASES, off: tuple[str, ...] = ()) -> type[LiveCluster]:
    return type("Variant", (LiveCluster,), {"RELEASE": release, "CLIENTS": clients, "OFF": off})


def test_the_newest_cluster_with_newest_clients_keeps_every_promise() -> None:
    run(variant("newest", ("newest",)), 100, 60)


@pytest.mark.share(2)
@pytest.mark.sample("4.3", "3.9", "0.11")
@pytest.mark.parametrize("release", PRESETS)
def test_every_release_keeps_its_promises_with_clients_of_all_ages(release: str) -> None:
    run(variant(release), 10, 40)


@pytest.mark.sample("init_raises_epoch")
@pytest.mark.parametrize("switch", ["markers_before_completion", "strict_end", "init_raises_epoch"])
def test_a_rule_that_is_off_is_noticed(switch: str) -> None:
    with pytest.raises(AssertionError):
        run(variant("newest", ("newest",), (switch,)), 200, 60, (Phase.generate,))


def test_rules_and_the_checkers_actions_share_one_list() -> None:
    """Neither knows a kind of action or fault that the other does not; the rest are undisturbed walks and time."""
    undisturbed = {"start", "work", "hurry", "deliver_everything", "time_passes"}
    rules = {each.function.__name__ for each in LiveCluster().rules}
    # Appends are under way where a store holds them back: `test_power_failures` walks there. Questions of leaders and
    # blocks of producer ids are messages of the network, and delivered, lost and doubled like all others.
    # What replicas lack while they lag is in `test_durability`.
    elsewhere = {*KINDS_BETWEEN_BROKERS, *NO_LEVER}
    assert rules - undisturbed == {kind.name.lower() for kind in Action if kind not in elsewhere}

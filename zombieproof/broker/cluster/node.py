"""One broker: takes a message, lets the part that it concerns handle it, and puts on the network what follows.

A request that has to wait (for the coordinator's word on its partitions, for a durable append) is an entry in
`_in_progress` or a ticket of the coordinator until its answer goes out. All of that is memory: it is gone when the
broker is.

Source: reference §2.5, §2.8, §3.3 to §3.5, §4.1, §7.5; ``KafkaApis.scala``, ``ReplicaManager.scala``.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.broker.cluster.apis import is_understood
from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Message, Network, Request
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition.log import Log
from zombieproof.broker.partition.produce import PartitionsToVerify, ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.service import PartitionService
from zombieproof.broker.partition.snapshots import SnapshotStore
from zombieproof.broker.partition.waiting_fetches import WaitingFetches
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, GroupRequest, TxnOffsetCommit
from zombieproof.messages.partitions import (
    ConnectionClosed,
    Fetch,
    PartitionRequest,
    Produce,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    TransactionAdded,
    TransactionRequest,
    TransactionToAdd,
)
from zombieproof.model.decisions.add_partitions_to_txn import error_of_partition_to_add
from zombieproof.model.decisions.find_coordinator import decide_find_coordinator
from zombieproof.model.decisions.verification import SENTINEL, version_of_verification
from zombieproof.model.decisions.write_txn_markers import error_of_marker_place
from zombieproof.model.releases import newest_version
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Mode, Origin

InProgress = ProduceInProgress | OffsetCommitInProgress
"""A write that may have to wait for the coordinator of its transaction."""

KEY_TYPE_OF_GROUPS = 0


@dataclass(slots=True)
class Tokens:
    """Verification guards: numbers that no two verifications of a cluster share; 0 is none."""

    last: int = 0

    def next(self) -> int:
        """A token that was never given before."""
        self.last += 1
        return self.last


class Software(NamedTuple):
    """What a broker runs: its rules (with the feature level of the cluster) and the release that it is."""

    rules: Rules
    release: str


@dataclass(slots=True)
class Surroundings:
    """What all brokers of a cluster share."""

    settings: Settings
    clock: Clock
    journal: Journal
    metadata: Metadata
    network: Network
    numbers: PartitionNumbers = field(default_factory=PartitionNumbers)
    producer_ids: ProducerIds = field(default_factory=ProducerIds)
    tokens: Tokens = field(default_factory=Tokens)
    software: dict[int, Software] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Store:
    """What of one replica outlives its broker."""

    log: Log
    snapshots: SnapshotStore


@dataclass(frozen=True, slots=True)
class AppendFault:
    """The next append to a transaction log is told `error`; it is in the log all the same if `is_written`."""

    error: Error
    is_written: bool


class Broker:
    """One broker of a cluster: a coordinator, the replicas of its partitions, and what is in progress.

    Args:
        stores: the log and snapshots of each replica that it has.
        was_clean: whether it was stopped in order when it ran last.
    """

    def __init__(
        self,
        node_id: int,
        around: Surroundings,
        stores: Mapping[TopicPartition, Store],
        was_clean: bool,
    ) -> None:
        self.node_id, self._around, self.software = node_id, around, around.software[node_id]
        self._network, self._metadata = around.network, around.metadata
        rules, settings, clock, journal = self.software.rules, around.settings, around.clock, around.journal
        self.groups = GroupCoordinator(rules, settings, clock, journal, self._metadata)
        self.partitions = PartitionService(self._metadata, settings, self.groups, journal)
        self.coordinator = TransactionCoordinator(
            rules, settings, clock, journal, around.numbers, around.producer_ids, self._metadata
        )
        self.append_faults: deque[AppendFault] = deque()
        self.holds_appends = False
        self.held_appends: list[Append] = []
        self._fetches = WaitingFetches(clock, self.partitions)
        self._requesters: dict[int, int] = {}
        self._in_progress: dict[int, InProgress] = {}
        self._questions: dict[int, int] = {}
        self._markers_sent: dict[int, int] = {}
        self._refused: dict[int, tuple[TransactionAdded | None, ...]] = {}
        for partition, store in stores.items():
            replica = Replica(partition, store.log, rules, settings, clock, journal, around.tokens, store.snapshots)
            replica.recover(was_clean)
            self.partitions.replicas[partition] = replica

    # ---------------------------------------------------------------- roles

    def take_over(self, partition: TopicPartition) -> None:
        """Lead `partition` from now on, under the leader epoch that the metadata has."""
        epoch = self._metadata.leader_epoch(partition)
        replica = self.partitions.replicas[partition]
        replica.lead(epoch)
        if partition[0] == TRANSACTION_STATE:
            self._carry_out(self.coordinator.load(partition[1], epoch, replica.log.read()))
        elif partition[0] == CONSUMER_OFFSETS:
            self.groups.load(partition[1], replica)

    def lose_leadership(self, partition: TopicPartition) -> None:
        """Somebody else leads `partition`: nothing can be appended here any more."""
        self.partitions.replicas[partition].follow(self._metadata.leader_epoch(partition))

    def step_down(self, partition: TopicPartition) -> None:
        """The coordinators learn that somebody else leads `partition`."""
        epoch = self._metadata.leader_epoch(partition)
        self.lose_leadership(partition)
        if partition[0] == TRANSACTION_STATE:
            self._carry_out(self.coordinator.resign(partition[1], epoch))
        elif partition[0] == CONSUMER_OFFSETS:
            self.groups.resign(partition[1])

    def close(self) -> None:
        """Stop in order: producer states are kept with the logs."""
        for replica in self.partitions.replicas.values():
            replica.stop()

    # ---------------------------------------------------------------- timers

    def abort_timed_out_transactions(self) -> None:
        """One sweep of the transaction time-outs."""
        self._carry_out(self.coordinator.abort_timed_out_transactions())

    def remove_expired_ids(self) -> None:
        """One sweep of the transactional ids."""
        self._carry_out(self.coordinator.remove_expired_ids())

    def expire_producers(self) -> None:
        """One sweep of the producer states and verifications of every replica."""
        for replica in self.partitions.replicas.values():
            replica.expire_producers()

    def answer_waiting_fetches(self) -> None:
        """Answer the fetches that have waited for long enough, or have enough to read now."""
        for number, answer in self._fetches.due():
            self._answer(number, answer)

    def send_markers(self) -> None:
        """Put every marker that waits on the network, and go on with what needs none."""
        requests, effects = self.coordinator.markers_to_send()
        for request in requests:
            newest = newest_version(self._around.software[request.broker].release, ApiKey.WRITE_TXN_MARKERS)
            number = self._network.request(self.node_id, request.broker, _at_most(request.request, newest))
            self._markers_sent[number] = request.number
        if effects:
            self._carry_out(effects)

    # ---------------------------------------------------------------- messages

    def receive(self, message: Message) -> None:
        """Handle a request, or the answer to one of its own."""
        if message.is_answer:
            self._hear(message)
        elif message.body is not None:
            self._requesters[message.number] = message.sender
            if isinstance(message.body, Request) and not is_understood(message.body, self.software.release):
                self._answer(message.number, ConnectionClosed())
            else:
                self._handle(message.number, message.body)

    def _handle(self, number: int, request: Request | Answer) -> None:
        match request:
            case AddPartitionsToTxn():
                self._add_partitions(number, request)
            case Produce():
                self._start(number, ProduceInProgress(request, self._around.settings, self._around.journal))
            case TxnOffsetCommit():
                replica = self.partitions.replica(self._metadata.group_partition(request.group))
                self._start(number, self.groups.commit(request, replica))
            case FindCoordinator():
                self._answer(number, self._find_coordinator(request))
            case _ if isinstance(request, TransactionRequest):
                self._carry_out(self.coordinator.handle(request, number))
            case Fetch():
                self._answer_if(number, self._fetches.start(number, request))
            case _ if isinstance(request, PartitionRequest):
                self._answer(number, self.partitions.handle(request))
            case _ if isinstance(request, GroupRequest):
                self._answer(number, self.groups.handle(request))
            case _:
                raise TypeError(f"a broker cannot handle {request!r}")

    def _hear(self, message: Message) -> None:
        answer = message.body
        if message.number in self._markers_sent:
            number = self._markers_sent.pop(message.number)
            written = answer if isinstance(answer, WriteTxnMarkersAnswer) else None
            self._carry_out(self.coordinator.markers_answered(number, written), sends_markers=False)
        elif message.number in self._questions:
            number = self._questions.pop(message.number)
            work = self._in_progress.pop(number)
            if not isinstance(answer, AddPartitionsToTxnAnswer):
                _verification_failed(work, Error.NETWORK_EXCEPTION)
            elif answer.error != Error.NONE:
                _verification_failed(work, answer.error)
            elif isinstance(work, OffsetCommitInProgress):
                work.verified(next(iter(answer.transactions[0].errors.values())))
            else:
                work.verified(answer.transactions[0].errors)
            self._finish(number, work)

    def _answer(self, number: int, answer: Answer | ConnectionClosed | None) -> None:
        """Answer request `number`; None: it gets no answer."""
        sender = self._requesters.pop(number)
        if answer is not None:
            body = None if isinstance(answer, ConnectionClosed) else answer
            self._network.answer(number, self.node_id, sender, body)

    def _answer_if(self, number: int, answer: Answer | None) -> None:
        """Answer request `number`, unless it waits."""
        if answer is not None:
            self._answer(number, answer)

    def _find_coordinator(self, request: FindCoordinator) -> CoordinatorFound:
        of_group = request.key_type == KEY_TYPE_OF_GROUPS
        place = self._metadata.group_partition if of_group else self._metadata.transaction_partition
        leader = self._metadata.leader_of(place(request.key))
        verdict = decide_find_coordinator(int(leader.topic_exists), int(leader.node is not None), request.key_type)
        self._around.journal.decided("find_coordinator", verdict.guard, verdict.error, request.key)
        found = leader.node if verdict.error == Error.NONE and leader.node is not None else NONE
        return CoordinatorFound(verdict.error, found)

    # ---------------------------------------------------------------- writes that may have to wait

    def _start(self, number: int, work: InProgress) -> None:
        """Begin a Produce or TxnOffsetCommit: ask the transaction's coordinator, or go through at once."""
        question = self._question(work)
        if question is None or question.transactional_id is None:
            self._finish(number, work)
            return
        leader = self._metadata.leader_of(self._metadata.transaction_partition(question.transactional_id))
        if leader.node is None:
            _verification_failed(work, Error.COORDINATOR_NOT_AVAILABLE)
            self._finish(number, work)
            return
        self._in_progress[number] = work
        asked = self._network.request(self.node_id, leader.node, _as_request(question, self.software.rules))
        self._questions[asked] = number

    def _question(self, work: InProgress) -> PartitionsToVerify | None:
        if isinstance(work, OffsetCommitInProgress):
            return work.start()
        return next(iter(work.start(self.partitions.replica, self._metadata.exists)), None)

    def _finish(self, number: int, work: InProgress) -> None:
        if isinstance(work, OffsetCommitInProgress):
            self._answer(number, work.finish())
        else:
            self._answer(number, work.finish(self.partitions.replica))

    # ---------------------------------------------------------------- the coordinator's effects

    def _add_partitions(self, number: int, request: AddPartitionsToTxn) -> None:
        """Transactions with a partition that cannot join are refused here; the coordinator decides on the others."""
        refused = tuple(self._refusal(asked, request.version) for asked in request.transactions)
        left = tuple(asked for asked, refusal in zip(request.transactions, refused, strict=True) if refusal is None)
        if not left and request.transactions:
            self._answer(number, AddPartitionsToTxnAnswer(int(Error.NONE), tuple(r for r in refused if r is not None)))
            return
        self._refused[number] = refused
        self._carry_out(self.coordinator.handle(AddPartitionsToTxn(request.version, left), number))

    def _refusal(self, asked: TransactionToAdd, version: int) -> TransactionAdded | None:
        errors = {
            partition: error_of_partition_to_add(
                int(self._metadata.exists(partition)), int(partition[0] in INTERNAL_TOPICS), version
            )
            for partition in asked.partitions
        }
        if not any(errors.values()):
            return None
        told = {tp: error or int(Error.OPERATION_NOT_ATTEMPTED) for tp, error in errors.items()}
        return TransactionAdded(asked.transactional_id, told)

    def _carry_out(self, effects: Iterable[Effect], sends_markers: bool = True) -> None:
        """Do what the coordinator wants done, and what follows from that."""
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Reply):
                self._reply(effect)
            elif self.holds_appends:
                self.held_appends.append(effect)
            else:
                todo.extend(self._append(effect))
        if sends_markers:
            self.send_markers()

    def release_append(self, append: Append) -> None:
        """An append that was held goes into the log now, and the coordinator hears of it."""
        self.held_appends.remove(append)
        error = self.coordinator.may_append(append)
        self._carry_out(self._append(append) if error == Error.NONE else self.coordinator.append_ended(append, error))

    def _append(self, append: Append) -> list[Effect]:
        fault = self.append_faults.popleft() if self.append_faults else None
        replica = self.partitions.replica((TRANSACTION_STATE, append.partition))
        error = error_of_marker_place(
            1,
            int(replica is not None and replica.leads),
            replica.in_sync if replica is not None else 0,
            self._around.settings.transaction_state_log_min_isr or self._around.settings.min_insync_replicas,
        )
        if replica is not None and error == Error.NONE and (fault is None or fault.is_written):
            record = Record(append.transactional_id, append.value)
            batch = Batch(records=(record,), timestamp_ms=self._around.clock.now_ms())
            error = replica.append(batch, SENTINEL, Origin.COORDINATOR).error
        return self.coordinator.appended(append, error if fault is None else fault.error)

    def _reply(self, reply: Reply) -> None:
        answer = reply.answer
        refused = self._refused.pop(reply.ticket, ())
        if isinstance(answer, AddPartitionsToTxnAnswer) and answer.error == Error.NONE and any(refused):
            decided = iter(answer.transactions)
            merged = tuple(next(decided) if refusal is None else refusal for refusal in refused)
            answer = AddPartitionsToTxnAnswer(answer.error, merged)
        self._answer(reply.ticket, answer)


def _at_most(request: WriteTxnMarkers, newest: int) -> WriteTxnMarkers:
    """`request` in a version that its receiver understands; before 2 markers say nothing of a transaction version."""
    if request.version <= newest:
        return request
    return WriteTxnMarkers(newest, tuple(replace(marker, transaction_version=0) for marker in request.markers))


def _verification_failed(work: InProgress, error: int) -> None:
    """The question as a whole was answered with `error`."""
    work.verification_failed(error)


def _as_request(question: PartitionsToVerify, rules: Rules) -> AddPartitionsToTxn:
    """What a broker asks the coordinator: are these partitions in the transaction, or (mode ADD) let them be."""
    asked = TransactionToAdd(
        question.transactional_id,
        question.producer_id,
        question.producer_epoch,
        question.partitions,
        verify_only=question.mode != Mode.ADD,
    )
    return AddPartitionsToTxn(version_of_verification(rules), (asked,))

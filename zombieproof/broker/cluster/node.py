"""One broker: takes a message, lets the part that it concerns handle it, and puts on the network what follows.

Theory of operation: what has to wait (for more to read, for a durable append, for the coordinator's word, for an answer
to markers) is an operation in `waits` until it can go on, and goes on in the step that changes what it waits for. An
append is durable when the stores of all replicas in sync say so (`replicated`); until then nobody is answered, and
nothing sent, that depends on it. All of that is memory: it is gone when the broker is.

Source: reference §2.5, §2.8, §3.3 to §3.5, §4.1, §7.5; ``KafkaApis.scala``, ``ReplicaManager.scala``.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from zombieproof.broker.cluster.apis import is_understood
from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Message, Network, Request
from zombieproof.broker.cluster.operations import (
    AppendUnderWay,
    HeldAnswer,
    HeldAppend,
    InProgress,
    Judged,
    Load,
    MarkersUnderWay,
    Need,
    Operation,
    WaitingFetch,
    WriteUnderWay,
    needs_of_produce,
)
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.cluster.waiting import Key, Waits
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
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, GroupRequest, TxnOffsetCommit
from zombieproof.messages.partitions import (
    ConnectionClosed,
    DescribeProducers,
    DescribeTopics,
    Fetch,
    ListOffsets,
    Produce,
    ProduceAnswer,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.messages.registry import Receiver, api_of
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    TransactionAdded,
    TransactionRequest,
    TransactionToAdd,
)
from zombieproof.model.decisions.add_partitions_to_txn import error_of_partition_to_add
from zombieproof.model.decisions.verification import SENTINEL, version_of_verification
from zombieproof.model.decisions.write_txn_markers import error_of_marker_place
from zombieproof.model.releases import newest_version
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Mode, Origin
from zombieproof.statemachines.find_coordinator import find_coordinator

KEY_TYPE_OF_GROUPS = 0

FOR_EVER = 1 << 63
"""A time (ms) that never comes."""


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
        self.numbers = PartitionNumbers()
        self.coordinator = TransactionCoordinator(
            rules, settings, clock, journal, self.numbers, around.producer_ids, self._metadata
        )
        self.append_faults: deque[AppendFault] = deque()
        self.holds_appends = False
        self.waits = Waits[Operation]()
        self._requesters: dict[int, int] = {}
        self._refused: dict[int, tuple[TransactionAdded | None, ...]] = {}
        for partition, store in stores.items():
            replica = Replica(partition, store.log, rules, settings, clock, journal, around.tokens, store.snapshots)
            replica.written = self.partitions.written
            replica.recover(was_clean)
            if len(self._metadata.partitions[partition].replicas) > 1:
                # From here on it is where all replicas in sync are, which somebody else knows.
                replica.high_watermark = replica.high_watermark
            self.partitions.replicas[partition] = replica

    # ---------------------------------------------------------------- roles

    def take_over(self, partition: TopicPartition) -> None:
        """Lead `partition` from now on, under the leader epoch that the metadata has."""
        epoch = self._metadata.leader_epoch(partition)
        replica = self.partitions.replicas[partition]
        replica.lead(epoch)
        if partition[0] == TRANSACTION_STATE:
            self.coordinator.begin_loading(partition[1], epoch)
        elif partition[0] == CONSUMER_OFFSETS:
            self.groups.begin_loading(partition[1])
        else:
            return
        self._wait(Load(epoch, Need(partition, replica.log.end_offset)), (partition,))

    def lose_leadership(self, partition: TopicPartition) -> None:
        """Somebody else leads `partition`: nothing can be appended here any more."""
        self.partitions.replicas[partition].follow(self._metadata.leader_epoch(partition))
        self._look_again_at(partition)

    def replicated(self, partition: TopicPartition, offset: int | None) -> None:
        """Everything of `partition` below `offset` is durable at every replica in sync; None: its only replica is here.

        Whoever waits for that goes on.
        """
        self.partitions.replicas[partition].raise_high_watermark(offset)
        self._look_again_at(partition)

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
            replica.log.flush()
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

    def end_waits(self) -> None:
        """What has waited for long enough goes on as it can."""
        for ticket in self.waits.overdue(self._around.clock.now_ms()):
            operation = self.waits.get(ticket)
            if isinstance(operation, WriteUnderWay | MarkersUnderWay):
                self.waits.remove(ticket)
                self._hear(operation, None)
            elif operation is not None:
                self._look_again(ticket, operation, is_over=True)

    # ---------------------------------------------------------------- waiting

    def _wait(self, operation: Judged, keys: tuple[Key, ...], until_ms: int = FOR_EVER) -> None:
        """Go on with `operation` now, or when one of `keys` has changed."""
        result = operation.judge(self.partitions, self._around.clock.now_ms(), is_over=False)
        if result is None:
            self.waits.add(operation, keys, until_ms)
        else:
            self._go_on(operation, result)

    def _look_again_at(self, key: Key) -> None:
        for ticket in self.waits.tickets(key):
            operation = self.waits.get(ticket)
            if operation is not None and not isinstance(operation, WriteUnderWay | MarkersUnderWay):
                self._look_again(ticket, operation, is_over=False)

    def _look_again(self, ticket: int, operation: Judged, is_over: bool) -> None:
        result = operation.judge(self.partitions, self._around.clock.now_ms(), is_over)
        if result is not None:
            self.waits.remove(ticket)
            self._go_on(operation, result)

    def _go_on(self, operation: Judged, result: Answer | int) -> None:
        """`operation` waits no longer: `result` is what it has judged."""
        if isinstance(operation, AppendUnderWay | HeldAppend):
            assert isinstance(result, int), "an append has an error as its outcome"
            self._carry_out(self.coordinator.appended(operation.append, result), operation.sends_markers)
        elif isinstance(operation, Load):
            if result == Error.NONE:
                self._load(operation)
        elif not isinstance(result, int):
            self._answer(operation.number, result)

    def _load(self, load: Load) -> None:
        (topic, number), epoch = load.need.partition, load.leader_epoch
        replica = self.partitions.replicas[load.need.partition]
        if topic == TRANSACTION_STATE:
            self._carry_out(self.coordinator.finish_loading(number, epoch, replica.log.read()))
        elif epoch == replica.leader_epoch:
            self.groups.load(number, replica)

    def _timeout(self) -> int:
        return self._around.clock.now_ms() + self._around.settings.request_timeout_ms

    def _answer_when_durable(self, number: int, answer: Answer, needs: tuple[Need, ...]) -> None:
        """Answer request `number` when everything is durable that the answer depends on."""
        keys: tuple[Key, ...] = (*(need.partition for need in needs), number)
        self._wait(HeldAnswer(number, answer, needs), keys, self._timeout())

    def disconnected(self, number: int) -> None:
        """Nobody waits for the answer to request `number` any more. What it has done stays done."""
        self._requesters.pop(number, None)
        for ticket in self.waits.tickets(number):
            self.waits.remove(ticket)

    def send_markers(self) -> None:
        """Put every marker that waits on the network, and go on with what needs none."""
        requests, effects = self.coordinator.markers_to_send()
        for request in requests:
            newest = newest_version(self._around.software[request.broker].release, ApiKey.WRITE_TXN_MARKERS)
            number = self._network.request(self.node_id, request.broker, _at_most(request.request, newest))
            self.waits.add(MarkersUnderWay(request.number), (number,), self._timeout())
        if effects:
            self._carry_out(effects)

    # ---------------------------------------------------------------- messages

    def receive(self, message: Message) -> None:
        """Handle a request, or the answer to one of its own."""
        if self.numbers.may_free:
            self.numbers.free_others(self.coordinator.mentioned_partitions())
        if message.is_answer:
            for ticket in self.waits.tickets(message.number):
                operation = self.waits.remove(ticket)
                if isinstance(operation, WriteUnderWay | MarkersUnderWay):
                    self._hear(operation, message.body)
        elif message.body is not None:
            self._requesters[message.number] = message.sender
            if isinstance(message.body, Request) and not is_understood(message.body, self.software.release):
                self._answer(message.number, ConnectionClosed())
            else:
                self._handle(message.number, message.body)

    def _handle(self, number: int, request: Any) -> None:
        """Hand a request to the part that it goes to, or begin what has to wait here."""
        api = api_of(type(request))
        handle = BEGINS.get(api.key) or PARTS[api.receiver]
        handle(self, number, request)

    def _start_produce(self, number: int, request: Produce) -> None:
        self._start(number, ProduceInProgress(request, self._around.settings, self._around.journal))

    def _start_offset_commit(self, number: int, request: TxnOffsetCommit) -> None:
        replica = self.partitions.replica(self._metadata.group_partition(request.group))
        self._start(number, self.groups.commit(request, replica))

    def _start_fetch(self, number: int, request: Fetch) -> None:
        now_ms = self._around.clock.now_ms()
        keys: tuple[Key, ...] = (*request.partitions, number)
        self._wait(WaitingFetch(number, request, now_ms), keys, now_ms + request.max_wait_ms)

    def _ask_coordinator(self, number: int, request: TransactionRequest) -> None:
        self._carry_out(self.coordinator.handle(request, number))

    def _ask_partitions(self, number: int, request: ListOffsets | DescribeProducers | DescribeTopics) -> None:
        self._answer(number, self.partitions.handle(request))

    def _ask_groups(self, number: int, request: GroupRequest) -> None:
        self._answer_for_group(number, request.group, self.groups.handle(request))

    def _hear(self, operation: WriteUnderWay | MarkersUnderWay, answer: object) -> None:
        """What a request of this broker was answered with; anything else: the connection was lost, or time is over."""
        if isinstance(operation, MarkersUnderWay):
            written = answer if isinstance(answer, WriteTxnMarkersAnswer) else None
            self._carry_out(self.coordinator.markers_answered(operation.number, written), sends_markers=False)
            return
        work = operation.work
        if not isinstance(answer, AddPartitionsToTxnAnswer):
            _verification_failed(work, Error.NETWORK_EXCEPTION)
        elif answer.error != Error.NONE:
            _verification_failed(work, answer.error)
        elif isinstance(work, OffsetCommitInProgress):
            work.verified(next(iter(answer.transactions[0].errors.values())))
        else:
            work.verified(answer.transactions[0].errors)
        self._finish(operation.number, work)

    def _answer(self, number: int, answer: Answer | ConnectionClosed | None) -> None:
        """Answer request `number`; None: it gets no answer, nor does who has gone meanwhile."""
        sender = self._requesters.pop(number, None)
        if answer is not None and sender is not None:
            body = None if isinstance(answer, ConnectionClosed) else answer
            self._network.answer(number, self.node_id, sender, body)

    def _answer_for_group(self, number: int, group: str, answer: Answer) -> None:
        """What a group coordinator says depends on everything that it has written."""
        partition = self._metadata.group_partition(group)
        replica = self.partitions.replicas.get(partition)
        leads = replica is not None and replica.leads
        needs = (Need(partition, replica.log.end_offset),) if replica is not None and leads else ()
        self._answer_when_durable(number, answer, needs)

    def _write_markers(self, number: int, request: WriteTxnMarkers) -> None:
        answer = self.partitions.write_markers(request)
        written = {tp: None for row in answer.markers for tp, error in row.errors.items() if error == Error.NONE}
        least = self._around.settings.min_insync_replicas
        needs = tuple(Need(tp, self.partitions.replicas[tp].log.end_offset, least) for tp in written)
        self._answer_when_durable(number, answer, needs)

    def _find_coordinator(self, number: int, request: FindCoordinator) -> None:
        of_group = request.key_type == KEY_TYPE_OF_GROUPS
        place = self._metadata.group_partition if of_group else self._metadata.transaction_partition
        leader = self._metadata.leader_of(place(request.key))
        node, journal = NONE if leader.node is None else leader.node, self._around.journal
        found = find_coordinator(int(leader.topic_exists), node, request.key_type, journal.begin())
        journal.take(request.key)
        self._answer(number, CoordinatorFound(found.error, found.node))

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
        asked = self._network.request(self.node_id, leader.node, _as_request(question, self.software.rules))
        self.waits.add(WriteUnderWay(number, work), (asked,), self._timeout())

    def _question(self, work: InProgress) -> PartitionsToVerify | None:
        if isinstance(work, OffsetCommitInProgress):
            return work.start()
        return next(iter(work.start(self.partitions.replica, self._metadata.exists)), None)

    def _finish(self, number: int, work: InProgress) -> None:
        if isinstance(work, OffsetCommitInProgress):
            self._answer_for_group(number, work.request.group, work.finish())
            return
        answer = work.finish(self.partitions.replica)
        if not isinstance(answer, ProduceAnswer):
            self._answer(number, answer)
            return
        needs = needs_of_produce(work.request, answer, self._around.settings.min_insync_replicas, self.partitions)
        self._answer_when_durable(number, answer, needs)

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
                self.waits.add(HeldAppend(effect, sends_markers), (), self._timeout())
            else:
                todo.extend(self._append(effect, sends_markers))
        if sends_markers:
            self.send_markers()

    @property
    def held_appends(self) -> list[Append]:
        """The appends that are kept from the log."""
        return [operation.append for _, operation in self.waits if isinstance(operation, HeldAppend)]

    def release_append(self, append: Append) -> None:
        """An append that was held goes into the log now, and the coordinator hears of it."""
        ticket = next(ticket for ticket, each in self.waits if isinstance(each, HeldAppend) and each.append == append)
        self.waits.remove(ticket)
        error = self.coordinator.may_append(append)
        self._carry_out(
            self._append(append, sends_markers=True)
            if error == Error.NONE
            else self.coordinator.append_ended(append, error)
        )

    def _append(self, append: Append, sends_markers: bool) -> list[Effect]:
        """Put a record into the transaction log; what follows if its outcome is known at once."""
        fault = self.append_faults.popleft() if self.append_faults else None
        partition = TRANSACTION_STATE, append.partition
        replica = self.partitions.replica(partition)
        settings = self._around.settings
        least = settings.transaction_state_log_min_isr or settings.min_insync_replicas
        error = error_of_marker_place(
            1,
            int(replica is not None and replica.leads),
            replica.in_sync if replica is not None else 0,
            least,
        )
        if replica is not None and error == Error.NONE and (fault is None or fault.is_written):
            record = Record(append.transactional_id, append.value)
            batch = Batch(records=(record,), timestamp_ms=self._around.clock.now_ms())
            error = replica.append(batch, SENTINEL, Origin.COORDINATOR).error
        if fault is not None or error != Error.NONE or replica is None:
            return self.coordinator.appended(append, error if fault is None else fault.error)
        under_way = AppendUnderWay(append, Need(partition, replica.log.end_offset, least), sends_markers)
        outcome = under_way.judge(self.partitions, 0, is_over=False)
        if outcome is not None:
            return self.coordinator.appended(append, outcome)
        self.waits.add(under_way, (partition,), self._timeout())
        return []

    def _reply(self, reply: Reply) -> None:
        answer = reply.answer
        refused = self._refused.pop(reply.ticket, ())
        if isinstance(answer, AddPartitionsToTxnAnswer) and answer.error == Error.NONE and any(refused):
            decided = iter(answer.transactions)
            merged = tuple(next(decided) if refusal is None else refusal for refusal in refused)
            answer = AddPartitionsToTxnAnswer(answer.error, merged)
        self._answer(reply.ticket, answer)


Handler = Callable[[Broker, int, Any], None]
"""Takes the number of a request, and the request: of the class that the registry has for its key."""

# The methods of a broker by what they are for; nobody else calls them.
BEGINS: Mapping[ApiKey, Handler] = {
    ApiKey.ADD_PARTITIONS_TO_TXN: Broker._add_partitions,  # noqa: SLF001
    ApiKey.PRODUCE: Broker._start_produce,  # noqa: SLF001
    ApiKey.TXN_OFFSET_COMMIT: Broker._start_offset_commit,  # noqa: SLF001
    ApiKey.FIND_COORDINATOR: Broker._find_coordinator,  # noqa: SLF001
    ApiKey.FETCH: Broker._start_fetch,  # noqa: SLF001
    ApiKey.WRITE_TXN_MARKERS: Broker._write_markers,  # noqa: SLF001
}
"""Requests that may have to wait in the broker, or concern two of its parts."""

PARTS: Mapping[Receiver, Handler] = {
    Receiver.TRANSACTION_COORDINATOR: Broker._ask_coordinator,  # noqa: SLF001
    Receiver.PARTITION_LEADER: Broker._ask_partitions,  # noqa: SLF001
    Receiver.ANY_BROKER: Broker._ask_partitions,  # noqa: SLF001
    Receiver.GROUP_COORDINATOR: Broker._ask_groups,  # noqa: SLF001
}
"""The part of a broker that answers any other request to whom it goes."""


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

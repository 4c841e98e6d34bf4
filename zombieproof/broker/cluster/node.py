"""One broker: takes a message, lets the part that it concerns handle it, and puts on the network what follows.

Theory of operation: what has to wait (for more to read, for a durable append, for the coordinator's word, for an answer
to markers) is an operation at the `desk` until it can go on, and goes on in the step that changes what it waits for. An
append is durable when the stores of all replicas in sync say so (`replicated`); until then nobody is answered, and
nothing sent, that depends on it. All of that is memory: it is gone when the broker is.

Source: reference §2.5, §3.3 to §3.5, §4.1, §7.5; ``KafkaApis.scala``, ``ReplicaManager.scala``.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.authorization.door import Door
from zombieproof.broker.authorization.principals import ANONYMOUS, Principal
from zombieproof.broker.cluster.apis import is_understood
from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.configs import Configs
from zombieproof.broker.cluster.desk import Desk
from zombieproof.broker.cluster.internal_errors import Contain, InternalError, concerns_coordinators
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.members import Members
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import CLIENT, Answer, Message, Network, Request
from zombieproof.broker.cluster.operations import (
    AppendUnderWay,
    AskAgain,
    Asking,
    BlockUnderWay,
    GroupTimer,
    HeldAppend,
    Judged,
    Load,
    MarkersUnderWay,
    Need,
    QuestionsUnderWay,
    WaitingDeletion,
    WaitingFetch,
)
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.cluster.topics import Topics
from zombieproof.broker.cluster.transactions import AppendFault, Software, Transactions
from zombieproof.broker.cluster.writes import Writes
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdManager
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.partition.fetch_budget import FetchBudget
from zombieproof.broker.partition.log import Damaged, Log, StorageFailure
from zombieproof.broker.partition.produce import ProduceInProgress
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.service import PartitionService
from zombieproof.broker.partition.snapshots import SnapshotStore
from zombieproof.broker.partition.verification_channel import VerificationChannel
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.admin import (
    AlterConfigs,
    CreatePartitions,
    CreateTopics,
    DescribeConfigs,
    DescribeLogDirs,
    ElectLeaders,
    IncrementalAlterConfigs,
    LogDirsDescribed,
)
from zombieproof.messages.controller import AllocateProducerIds
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, GroupRequest, TxnOffsetCommit
from zombieproof.messages.partitions import (
    ConnectionClosed,
    DeleteRecords,
    DeleteTopics,
    DescribeProducers,
    DescribeTopics,
    Fetch,
    ListOffsets,
    OffsetForLeaderEpoch,
    Produce,
    TopicsDeleted,
    WriteTxnMarkers,
)
from zombieproof.messages.registry import Receiver, api_of
from zombieproof.messages.transactions import TransactionRequest
from zombieproof.model.access import CLUSTER_NAME, AclOperation, ResourceType
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines.find_coordinator import find_coordinator
from zombieproof.statemachines.group_coordinator import lookup
from zombieproof.statemachines.partition_leader.deleting import deletes_topic

__all__ = ["AppendFault", "Broker", "Software", "Store", "Surroundings"]

KEY_TYPE_OF_GROUPS = 0


@contextmanager
def _noted_by(log: Log) -> Iterator[None]:
    """What is inside may find `log` damaged: that stands in `Log.offline`, and whoever runs the cluster acts on it."""
    try:
        yield
    except Damaged:
        if log.offline is None:
            raise


def log_directory(node: int) -> str:
    """The one log directory of a broker, as clients are told of it."""
    return f"broker-{node}"


@dataclass(slots=True)
class Tokens:
    """Verification guards: numbers that no two verifications of a cluster share; 0 is none."""

    last: int = 0

    def next(self) -> int:
        """A token that was never given before."""
        self.last += 1
        return self.last


@dataclass(slots=True)
class Surroundings:
    """What all brokers of a cluster share.

    `access` None: nobody asks for rights. `contain` None: internal errors are raised.
    """

    settings: Settings
    clock: Clock
    journal: Journal
    metadata: Metadata
    network: Network
    tokens: Tokens = field(default_factory=Tokens)
    software: dict[int, Software] = field(default_factory=dict)
    access: AccessList | None = None
    contain: Contain | None = None
    fetch_budget: FetchBudget = field(default_factory=FetchBudget)


@dataclass(frozen=True, slots=True)
class Store:
    """What of one replica outlives its broker."""

    log: Log
    snapshots: SnapshotStore


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
        self.node_id, self._around, self._metadata = node_id, around, around.metadata
        self.software = around.software[node_id]
        rules, settings, clock, journal = self.software.rules, around.settings, around.clock, around.journal
        self.groups = GroupCoordinator(rules, settings, clock, journal, self._metadata)
        self.topics = Topics(self._metadata, settings)
        self.configs = Configs(node_id, self._metadata, settings)
        self.partitions = PartitionService(
            self._metadata, settings, self.groups, journal, self.topics, budget=around.fetch_budget
        )
        self.numbers = PartitionNumbers()
        self.producer_ids = ProducerIdManager(rules, clock)
        self.coordinator = TransactionCoordinator(
            rules, settings, clock, journal, self.numbers, self.producer_ids, self._metadata
        )
        self.rebuilds_coordinators = False
        self.desk = Desk(
            node_id, around.network, clock, settings, self.partitions, self._go_on, self._handle_answer, self.failed
        )
        self.transactions = Transactions(
            self.desk, self._metadata, self.coordinator, self.producer_ids, around.software
        )
        self.writes = Writes(self.desk, self._metadata, VerificationChannel(rules, journal))
        self.members = Members(self.desk, self.writes, self.groups)
        for partition, store in stores.items():
            self.add_replica(partition, store, was_clean)

    # ---------------------------------------------------------------- roles

    def begin(self) -> None:
        """The broker is up: it asks for producer ids before anybody needs one."""
        self.producer_ids.prefetch()
        self.transactions.ask_for_producer_ids()

    def add_replica(self, partition: TopicPartition, store: Store, was_clean: bool) -> None:
        """Have a replica of `partition`, and know what its log says; `was_clean`: it was left in order."""
        around, rules = self._around, self.software.rules
        replica = Replica(
            partition,
            store.log,
            rules,
            around.settings,
            around.clock,
            around.journal,
            around.tokens,
            store.snapshots,
        )
        replica.written, replica.config = self.partitions.written, self._metadata.config_of(partition[0])
        if store.log.offline is None:
            with _noted_by(store.log):
                replica.recover(was_clean)
        if len(self._metadata.partitions[partition].replicas) > 1:
            # From here on it is where all replicas in sync are, which somebody else knows.
            replica.high_watermark = replica.high_watermark
        self.partitions.replicas[partition] = replica

    def remove_replicas(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Drop the replicas of deleted partitions; returned are the partitions that this broker had."""
        return [each for each in partitions if self.partitions.replicas.pop(each, None) is not None]

    def forget(
        self, partitions: list[TopicPartition], topic_ids: Mapping[str, UUID], held: list[TopicPartition]
    ) -> None:
        """Topics were deleted: end what waits at their partitions, and let the groups forget them.

        No broker may have a replica of them any more: what waits at one partition looks at others too.

        Args:
            topic_ids: the ids that the topics had, by name.
            held: the partitions of which this broker had a replica.
        """
        for partition in held:
            self.desk.changed(partition)
        self.groups.deletions.forget_partitions(partitions)
        self.groups.forget_topics(topic_ids)

    def take_over(self, partition: TopicPartition) -> None:
        """Lead `partition` from now on, under the leader epoch that the metadata has."""
        epoch = self._metadata.leader_epoch(partition)
        replica = self.partitions.replicas[partition]
        replica.lead(epoch)
        if replica.log.offline is not None:
            return
        if partition[0] == TRANSACTION_STATE:
            self.coordinator.begin_loading(partition[1], epoch)
        elif partition[0] == CONSUMER_OFFSETS:
            self.members.carry_out(self.groups.begin_loading(partition[1]))
        else:
            return
        self.desk.wait(Load(epoch, Need(partition, replica.log.end_offset)), (partition,))

    def lose_leadership(self, partition: TopicPartition) -> None:
        """Somebody else leads `partition`: nothing can be appended here any more."""
        self.partitions.replicas[partition].follow(self._metadata.leader_epoch(partition))
        self.desk.changed(partition)

    def replicated(self, partition: TopicPartition, offset: int | None) -> None:
        """Everything of `partition` below `offset` is durable at every replica in sync; None: its only replica is here.

        Whoever waits for that goes on.
        """
        self.partitions.replicas[partition].raise_high_watermark(offset)
        self.desk.changed(partition)

    def step_down(self, partition: TopicPartition) -> None:
        """The coordinators learn that somebody else leads `partition`."""
        self.lose_leadership(partition)
        self._resign(partition)

    def _resign(self, partition: TopicPartition) -> None:
        topic, number = partition
        if topic == TRANSACTION_STATE:
            resigned = self.coordinator.resign(number, self._metadata.leader_epoch(partition))
            self.transactions.carry_out(resigned)
        elif topic == CONSUMER_OFFSETS:
            self.members.carry_out(self.groups.resign(number))

    def go_offline(self, partition: TopicPartition) -> None:
        """The log of `partition` is damaged, and no other replica can lead: the coordinators here forget it.

        Whoever waits for it, or asks for it from now on, is told KAFKA_STORAGE_ERROR.
        """
        topic, number = partition
        if topic == TRANSACTION_STATE:
            self.transactions.carry_out(self.coordinator.resign(number, None))
        elif topic == CONSUMER_OFFSETS:
            self.members.carry_out(self.groups.resign(number))
        self.desk.changed(partition)

    def close(self) -> None:
        """Stop in order: members that wait are told so, and producer states are kept with the logs.

        Raises:
            StorageFailure: a log could not be written; all others were.
        """
        for partition, replica in self.partitions.replicas.items():
            if partition[0] == CONSUMER_OFFSETS and replica.leads:
                self._resign(partition)
        failures = list[StorageFailure]()
        for replica in self.partitions.replicas.values():
            if replica.log.offline is None:
                try:
                    replica.log.flush()
                    replica.stop()
                except StorageFailure as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]

    # ---------------------------------------------------------------- timers

    def abort_timed_out_transactions(self) -> None:
        """One sweep of the transaction time-outs."""
        self.transactions.carry_out(self.coordinator.abort_timed_out_transactions())

    def remove_expired_ids(self) -> None:
        """One sweep of the transactional ids."""
        self.transactions.carry_out_expiry(self.coordinator.remove_expired_ids())

    def expire_producers(self) -> None:
        """One sweep of the producer states and verifications of every replica."""
        for replica in self.partitions.replicas.values():
            replica.expire_producers()

    def expire_offsets(self) -> None:
        """One sweep of the groups' offsets."""
        self.groups.expire_offsets()

    def end_waits(self) -> None:
        """What has waited for long enough goes on as it can."""
        self.desk.end_waits()

    def send_markers(self) -> None:
        """Send the markers again that could not be written."""
        self.transactions.send_markers()

    # ---------------------------------------------------------------- messages

    def receive(self, message: Message) -> None:
        """Handle a request, or the answer to one of its own."""
        if self.numbers.may_free:
            self.numbers.free_others(self.coordinator.mentioned_partitions())
        body, number = message.body, message.number
        if message.is_answer:
            self.desk.answered(number, None if body is None or isinstance(body, Request) else body)
        elif isinstance(body, Request):
            self.desk.requesters[number] = message.sender, body.version
            try:
                self._take(number, body, message)
            except Exception as error:  # noqa: BLE001  # `failed` raises what it does not contain
                self.failed(body, number, error)

    def _take(self, number: int, body: Request, message: Message) -> None:
        if not is_understood(body, self.software.release):
            self.desk.answer(number, ConnectionClosed())
        elif message.sender == CLIENT and self._around.access is not None:
            self._let_in(number, body, message.principal or ANONYMOUS, self._around.access)
        else:
            self._handle(number, body)

    def failed(self, subject: object, number: int | None, error: Exception) -> None:
        """An internal error has ended the handling of `subject`: close the connection of request `number`, and go on.

        Raises:
            Exception: `error`, where errors are not contained, or what this broker holds cannot be trusted any more.
        """
        contain, replicas = self._around.contain, self.partitions.replicas.values()
        is_half_done = bool(self._metadata.changes) or any(replica.is_changing for replica in replicas)
        if contain is None or is_half_done or isinstance(error, StorageFailure | Damaged) or isinstance(subject, Load):
            raise error
        if number is not None:
            self.desk.close_connection(number)
        self.rebuilds_coordinators |= concerns_coordinators(subject)
        contain(InternalError(self.node_id, subject, error))

    def _let_in(self, number: int, request: Request, who: Principal, access: AccessList) -> None:
        """Hand in what a client may ask for; what it may not is answered here, or beside the rest."""
        door = Door(access, self._around.journal, lambda topic: self._metadata.count(topic) > 0)
        visit = door.judge(request, who)
        if visit.answer is not None:
            self.desk.answer(number, visit.answer)
            return
        self.desk.visits[number] = visit
        self._handle(number, visit.left)

    def _handle(self, number: int, request: Any) -> None:
        """Hand a request to the part that it goes to, or begin what has to wait here."""
        api = api_of(type(request))
        handle = BEGINS.get(api.key) or PARTS[api.receiver]
        handle(self, number, request)

    def _start_produce(self, number: int, request: Produce) -> None:
        self.writes.start(number, ProduceInProgress(request, self._around.settings, self._around.journal))

    def _start_offset_commit(self, number: int, request: TxnOffsetCommit) -> None:
        replica = self.partitions.replica(self._metadata.group_partition(request.group))
        self.writes.start(number, self.groups.commit(request, replica))

    def _start_fetch(self, number: int, request: Fetch) -> None:
        now_ms = self._around.clock.now_ms()
        self.desk.wait(
            WaitingFetch(number, request, now_ms), (*request.partitions, number), now_ms + request.max_wait_ms
        )

    def _delete_records(self, number: int, request: DeleteRecords) -> None:
        deletions, now_ms = self.partitions.delete_records(request), self._around.clock.now_ms()
        self.desk.wait(WaitingDeletion(number, deletions), (*request.partitions, number), now_ms + request.timeout_ms)

    def _delete_topics(self, number: int, request: DeleteTopics) -> None:
        enabled, rows = self._around.settings.delete_topic_enable, dict[str, int]()
        for name, times in Counter(request.topics).items():
            exists = self._metadata.count(name) > 0
            rows[name] = deletes_topic(
                enabled,
                times > 1,
                exists,
                request.by_id,
                name in INTERNAL_TOPICS,
                self._may(number, AclOperation.DESCRIBE, name),
                self._may(number, AclOperation.DELETE, name),
            )
        deleted = [name for name, error in rows.items() if error == Error.NONE]
        try:
            self._metadata.keep_deletion(deleted)
        except OSError:
            self._around.journal.refused(deleted)
            rows |= dict.fromkeys(deleted, int(Error.KAFKA_STORAGE_ERROR))
            deleted = []
        for name in deleted:
            self._metadata.delete(name)
        self.desk.answer(number, TopicsDeleted(rows))

    def _may(self, number: int, operation: AclOperation, topic: str) -> bool:
        """Whether the sender of a DeleteTopics may do this to a topic: who may delete in the cluster may do both."""
        return self.desk.may(number, AclOperation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME) or self.desk.may(
            number, operation, ResourceType.TOPIC, topic
        )

    def _create_topics(self, number: int, request: CreateTopics) -> None:
        self.desk.answer(number, self.topics.create(request, partial(self.desk.may, number)))

    def _create_partitions(self, number: int, request: CreatePartitions) -> None:
        self.desk.answer(number, self.topics.widen(request, partial(self.desk.may, number)))

    def _describe_configs(self, number: int, request: DescribeConfigs) -> None:
        self.desk.answer(number, self.configs.describe(request, partial(self.desk.may, number)))

    def _alter_configs(self, number: int, request: AlterConfigs) -> None:
        self.desk.answer(number, self.configs.alter(request, partial(self.desk.may, number)))

    def _change_configs(self, number: int, request: IncrementalAlterConfigs) -> None:
        self.desk.answer(number, self.configs.change(request, partial(self.desk.may, number)))

    def _elect_leaders(self, number: int, request: ElectLeaders) -> None:
        self.desk.answer(number, self.topics.elect(request))

    def _describe_log_dirs(self, number: int, request: DescribeLogDirs) -> None:
        asked = None if request.partitions is None else set(request.partitions)
        sizes = {
            partition: replica.log.size_in_bytes
            for partition, replica in self.partitions.replicas.items()
            if asked is None or partition in asked
        }
        self.desk.answer(number, LogDirsDescribed(log_directory(self.node_id), sizes))

    def _ask_coordinator(self, number: int, request: TransactionRequest) -> None:
        self.transactions.handle(number, request)

    def _ask_partitions(
        self, number: int, request: ListOffsets | OffsetForLeaderEpoch | DescribeProducers | DescribeTopics
    ) -> None:
        self.desk.answer(number, self.partitions.handle(request, partial(self.desk.may, number)))

    def _ask_groups(self, number: int, request: GroupRequest) -> None:
        self.members.handle(number, request)

    def _allocate_producer_ids(self, number: int, _: AllocateProducerIds) -> None:
        leads = self._metadata.controller == self.node_id
        self.desk.answer(number, self._metadata.producer_ids.allocate() if leads else ConnectionClosed())

    def _write_markers(self, number: int, request: WriteTxnMarkers) -> None:
        answer = self.partitions.write_markers(request)
        written = dict.fromkeys(tp for row in answer.markers for tp, error in row.errors.items() if error == Error.NONE)
        least = self._around.settings.min_insync_replicas
        needs = tuple(Need(tp, self.partitions.replicas[tp].log.end_offset, least) for tp in written)
        self.desk.answer_when_durable(number, answer, needs)

    def _find_coordinator(self, number: int, request: FindCoordinator) -> None:
        of_group = request.key_type == KEY_TYPE_OF_GROUPS
        place = self._metadata.group_partition if of_group else self._metadata.transaction_partition
        leader = self._metadata.leader_of(place(request.key))
        node, journal = NONE if leader.node is None else leader.node, self._around.journal
        found = find_coordinator(leader.topic_exists, node, request.key_type, journal.begin())
        journal.take(request.key)
        self.desk.answer(number, CoordinatorFound(found.error, found.node))

    # ---------------------------------------------------------------- what has waited

    def _go_on(self, operation: Judged, result: Answer | int) -> None:
        """`operation` waits no longer: `result` is what it has judged."""
        if isinstance(operation, GroupTimer):
            self.members.is_due(operation)
        elif isinstance(operation, AskAgain):
            self.writes.ask_again(operation)
        elif not isinstance(result, int):
            assert not isinstance(operation, AppendUnderWay | HeldAppend | Load), "they have an error as their outcome"
            self.desk.answer(operation.number, result)
        elif isinstance(operation, AppendUnderWay | HeldAppend):
            self.transactions.appended(operation, result)
        elif isinstance(operation, Load) and result == Error.NONE:
            self._load(operation)
        elif isinstance(operation, Load):
            self._resign(operation.need.partition)

    def _handle_answer(self, operation: Asking, answer: Answer | None) -> None:
        """What a request of this broker was answered with; None: the connection was lost, or time is over."""
        match operation:
            case QuestionsUnderWay():
                self.writes.handle_answer(operation, answer)
            case MarkersUnderWay():
                self.transactions.handle_answer(operation, answer)
            case BlockUnderWay():
                self.transactions.allocated(answer)

    def _load(self, load: Load) -> None:
        (topic, number), epoch = load.need.partition, load.leader_epoch
        replica = self.partitions.replicas[load.need.partition]
        with _noted_by(replica.log):
            if topic == TRANSACTION_STATE:
                self.transactions.carry_out(self.coordinator.finish_loading(number, epoch, replica.log.read()))
            elif lookup.installs(epoch, replica.leader_epoch):
                self.members.carry_out(self.groups.load(number, replica))
                self.groups.deletions.forget_left_over(number)
        if replica.log.offline is not None:
            self.go_offline(load.need.partition)


Handler = Callable[[Broker, int, Any], None]
"""Takes the number of a request, and the request: of the class that the registry has for its key."""

# The methods of a broker by what they are for; nobody else calls them.
BEGINS: Mapping[ApiKey, Handler] = {
    ApiKey.PRODUCE: Broker._start_produce,  # noqa: SLF001
    ApiKey.TXN_OFFSET_COMMIT: Broker._start_offset_commit,  # noqa: SLF001
    ApiKey.FIND_COORDINATOR: Broker._find_coordinator,  # noqa: SLF001
    ApiKey.FETCH: Broker._start_fetch,  # noqa: SLF001
    ApiKey.CREATE_TOPICS: Broker._create_topics,  # noqa: SLF001
    ApiKey.CREATE_PARTITIONS: Broker._create_partitions,  # noqa: SLF001
    ApiKey.DESCRIBE_CONFIGS: Broker._describe_configs,  # noqa: SLF001
    ApiKey.ALTER_CONFIGS: Broker._alter_configs,  # noqa: SLF001
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Broker._change_configs,  # noqa: SLF001
    ApiKey.ELECT_LEADERS: Broker._elect_leaders,  # noqa: SLF001
    ApiKey.DESCRIBE_LOG_DIRS: Broker._describe_log_dirs,  # noqa: SLF001
    ApiKey.DELETE_TOPICS: Broker._delete_topics,  # noqa: SLF001
    ApiKey.DELETE_RECORDS: Broker._delete_records,  # noqa: SLF001
    ApiKey.WRITE_TXN_MARKERS: Broker._write_markers,  # noqa: SLF001
}
"""Requests that may have to wait in the broker, or concern two of its parts."""

PARTS: Mapping[Receiver, Handler] = {
    Receiver.TRANSACTION_COORDINATOR: Broker._ask_coordinator,  # noqa: SLF001
    Receiver.PARTITION_LEADER: Broker._ask_partitions,  # noqa: SLF001
    Receiver.ANY_BROKER: Broker._ask_partitions,  # noqa: SLF001
    Receiver.GROUP_COORDINATOR: Broker._ask_groups,  # noqa: SLF001
    Receiver.CONTROLLER: Broker._allocate_producer_ids,  # noqa: SLF001
}
"""The part of a broker that answers any other request to whom it goes."""

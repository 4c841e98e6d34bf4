"""A cluster of one broker, requests of every version to it, and the states in which a machine behind it says no."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.conformance.baselines import rules_of
from tests.conformance.cases import NotRunnable
from tests.conformance.phrases import check
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import (
    OffsetsCommitted,
    OffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import (
    Produce,
    ProduceAnswer,
    SentBatch,
)
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, Error

ID, GROUP, TOPIC = "x", "readers", "in"
TIMEOUT_MS = 60_000
NODE = 1
LAST_EPOCH = 2
"""The epoch of the producer that took over; those below are stale, the one before it is no retry of it."""

OFFSETS: TopicPartition = (CONSUMER_OFFSETS, 0)
Part = tuple[TopicPartition, ...]


@dataclass(slots=True)
class Scene:
    """A cluster of one broker with one partition of each internal topic."""

    baseline: str
    partitions: int = 2
    cluster: Cluster = field(init=False)
    producer_id: int = NONE
    producer_epoch: int = NONE

    def __post_init__(self) -> None:
        settings = Settings(
            transaction_state_log_num_partitions=1,
            offsets_topic_num_partitions=1,
            unstable_api_versions_enable=True,
        )
        self.cluster = Cluster(1, rules_of(self.baseline), settings, {TOPIC: self.partitions, "out": 1})

    def ask(self, request: Request) -> Answer:
        """The answer to a request; none is a failure of the case."""
        answer = self.cluster.ask(request)
        assert answer is not None, f"{request} was not answered"
        return answer

    def begin(self, transactional_id: str = ID) -> None:
        """A producer takes an id."""
        answer = self.ask(InitProducerId(4, transactional_id, TIMEOUT_MS))
        assert isinstance(answer, InitProducerIdAnswer)
        assert answer.error == Error.NONE
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch

    def replica(self, partition: TopicPartition) -> Replica:
        """The only replica of a partition."""
        replica = self.cluster.brokers[NODE].partitions.replica(partition)
        assert replica is not None
        return replica

    def data(self, count: int, sequence: int, *, transactional: bool = True) -> Batch:
        """A batch of the producer."""
        records = tuple(Record(None, b"v") for _ in range(count))
        return Batch(self.producer_id, self.producer_epoch, sequence, transactional, records, None, count - 1)


# ---------------------------------------------------------------- requests in every version


def _init(scene: Scene, version: int) -> Request:
    return InitProducerId(version, ID, TIMEOUT_MS, scene.producer_id, scene.producer_epoch)


def add_partitions(scene: Scene, version: int, partitions: Part = ((TOPIC, 0), (TOPIC, 1))) -> Request:
    asked = TransactionToAdd(ID, scene.producer_id, scene.producer_epoch, partitions)
    return AddPartitionsToTxn(version, (asked,))


def _add_offsets(scene: Scene, version: int) -> Request:
    return AddOffsetsToTxn(version, ID, scene.producer_id, scene.producer_epoch, GROUP)


def _end(scene: Scene, version: int) -> Request:
    return EndTxn(version, ID, scene.producer_id, scene.producer_epoch, committed=True)


def _commit_offsets(scene: Scene, version: int) -> Request:
    rows = tuple(OffsetToCommit((TOPIC, number), 10 + number, "") for number in range(2))
    return TxnOffsetCommit(version, ID, GROUP, scene.producer_id, scene.producer_epoch, rows)


def _produce(scene: Scene, version: int) -> Request:
    batch = scene.data(1, 0, transactional=False)
    return Produce(version, None, -1, {(TOPIC, number): (SentBatch(batch),) for number in range(2)})


REQUESTS: dict[str, tuple[range, Callable[[Scene, int], Request]]] = {
    "InitProducerId": (range(7), _init),
    "AddPartitionsToTxn": (range(6), add_partitions),
    "AddOffsetsToTxn": (range(5), _add_offsets),
    "EndTxn": (range(6), _end),
    "TxnOffsetCommit": (range(6), _commit_offsets),
    "Produce": (range(3, 14), _produce),
}
"""Name of an API -> its versions, and how a request of a version is made."""


def errors_of(answer: Answer) -> set[int]:
    """The errors of all parts of an answer."""
    match answer:
        case InitProducerIdAnswer() | AddOffsetsToTxnAnswer() | EndTxnAnswer():
            return {answer.error}
        case AddPartitionsToTxnAnswer():
            return {error for added in answer.transactions for error in added.errors.values()} or {answer.error}
        case OffsetsCommitted():
            return set(answer.errors.values())
        case ProduceAnswer():
            return {row.error for row in answer.partitions.values()}
        case _:
            raise NotRunnable(f"{answer!r} is no answer of this suite")


# ---------------------------------------------------------------- what the machine behind answers


def _stale_producer(scene: Scene) -> None:
    """Somebody else has taken the id, and the producer does not know."""
    scene.begin()
    for _ in range(LAST_EPOCH):
        scene.begin()
    scene.producer_epoch -= LAST_EPOCH


def _stale_batch(scene: Scene) -> None:
    """The partitions have seen a newer epoch of the producer."""
    scene.begin()
    scene.begin()
    for number in range(2):
        scene.replica((TOPIC, number)).replicate(scene.data(1, 0, transactional=False))
    scene.producer_epoch -= 1


def _open_offsets(scene: Scene) -> None:
    scene.begin()
    check("AddOffsetsToTxn", {0}, errors_of(scene.ask(_add_offsets(scene, 4))))


def _group_loads(scene: Scene) -> None:
    _open_offsets(scene)
    scene.cluster.brokers[NODE].groups.begin_loading(OFFSETS[1])


def _group_moved(scene: Scene) -> None:
    _open_offsets(scene)
    scene.cluster.brokers[NODE].groups.resign(OFFSETS[1])


def _coordinator_loads(scene: Scene) -> None:
    scene.begin()
    scene.cluster.brokers[NODE].coordinator.begin_loading(0, 1)


def _coordinator_moved(scene: Scene) -> None:
    scene.begin()
    scene.cluster.brokers[NODE].coordinator.resign(0, None)


WAYS: dict[tuple[str, str], Callable[[Scene], None]] = {
    ("coordinator_answers", "PRODUCER_FENCED"): _stale_producer,
    ("coordinator_answers", "COORDINATOR_LOAD_IN_PROGRESS"): _coordinator_loads,
    ("coordinator_answers", "NOT_COORDINATOR"): _coordinator_moved,
    ("group_coordinator_answers", "COORDINATOR_LOAD_IN_PROGRESS"): _group_loads,
    ("group_coordinator_answers", "NOT_COORDINATOR"): _group_moved,
    ("group_coordinator", "fails with COORDINATOR_LOAD_IN_PROGRESS"): _group_loads,
    ("group_coordinator", "fails with NOT_COORDINATOR"): _group_moved,
    ("partition_leader_answers", "INVALID_PRODUCER_EPOCH"): _stale_batch,
}
"""What a machine answers -> how that is brought about."""

WHO_IS_ASKED = {
    "coordinator_answers": {"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"},
    "group_coordinator_answers": {"TxnOffsetCommit"},
    "group_coordinator": {"TxnOffsetCommit"},
    "partition_leader_answers": {"Produce"},
}

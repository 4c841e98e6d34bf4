"""A producer of ours at a cluster of ours, in one process: the sender's requests go over the cluster's network."""

from collections.abc import Callable, Mapping

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Exchange
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.brokers import NEWEST_VERSIONS, Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import Sender, SenderSettings
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import OutgoingRequest
from zombieproof.formats.batches import Record
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.partitions import ProduceAnswer
from zombieproof.model.releases import NEWEST_VERSIONS as NEWEST_BY_RELEASE
from zombieproof.model.releases import newest_version
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey

TICK_MS = 50
"""How far time moves where somebody only waits."""

PATIENCE = 400
"""How many ticks a call is waited for."""


def _newest(release: str, api: ApiKey, ours: int) -> int:
    """The newest version that a client and a broker both have."""
    return min(ours, newest_version(release, api)) if api in NEWEST_BY_RELEASE else ours


class LiveProducer:
    """A producer instance whose requests travel over `cluster.network`; `versions` are what it speaks at most.

    `rules` are those of the client, by default the cluster's.
    """

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str | None,
        *,
        versions: Mapping[ApiKey, int] = NEWEST_VERSIONS,
        transaction_timeout_ms: int = 60_000,
        settings: SenderSettings | None = None,
        rules: Rules | None = None,
    ) -> None:
        self.cluster = cluster
        brokers = Brokers(versions)
        brokers.learn_features(cluster.rules.transaction_version, cluster.features_epoch)
        self.manager = TransactionManager(
            transactional_id,
            brokers=brokers,
            transaction_timeout_ms=transaction_timeout_ms,
            retry_backoff_ms=TICK_MS,
            rules=rules or cluster.rules,
        )
        self.sender = Sender(self.manager, settings or SenderSettings(retry_backoff_ms=TICK_MS))
        self.waiting: list[tuple[OutgoingRequest, Exchange]] = []
        self._versions = versions
        self._metadata_seen = self._features_seen = -1

    @property
    def _now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    def send_requests(self) -> None:
        """Everything that may leave now sets out."""
        self._look_at_cluster()
        while self.cluster.brokers and (request := self.sender.next_request(self._now_ms)) is not None:
            self.waiting.append((request, self.cluster.send(request.body, request.node)))

    def _look_at_cluster(self) -> None:
        """Leaders, versions and features are learned as soon as they change: metadata, ApiVersions.

        But not before the end of a connection is seen: else two times five batches could be under way for a partition,
        to its old and its new leader, and a leader recognises only five when they come again.
        """
        cluster = self.cluster
        if (cluster.metadata.version, cluster.features_epoch) == (self._metadata_seen, self._features_seen):
            return
        if any(exchange.node not in cluster.brokers for _, exchange in self.waiting):
            return
        self._metadata_seen, self._features_seen = cluster.metadata.version, cluster.features_epoch
        partitions = cluster.metadata.partitions
        leaders = {tp: known.leader for tp, known in partitions.items() if tp[0] not in INTERNAL_TOPICS}
        self.sender.set_leaders({tp: leader for tp, leader in leaders.items() if leader in cluster.brokers})
        brokers = self.manager.brokers
        brokers.learn_features(cluster.rules.transaction_version, cluster.features_epoch)
        for node in cluster.brokers:
            release = cluster.release_of(node)
            brokers.learn_versions(node, {api: _newest(release, api, ours) for api, ours in self._versions.items()})

    def handle_answers(self) -> None:
        """Every answer that has arrived is heard."""
        for request, exchange in list(self.waiting):
            if not exchange.is_over:
                continue
            self.waiting.remove((request, exchange))
            self.cluster.network.exchanges.pop(exchange.number, None)
            if isinstance(exchange.answer, ProduceAnswer | CoordinatorAnswer):
                self.sender.handle_answer(request, exchange.answer, self._now_ms)
            else:
                self.sender.handle_disconnect(request, self._now_ms)

    def run(self, is_over: Callable[[], bool]) -> bool:
        """Let everything arrive and time pass until `is_over`, or until nobody would wait any longer."""
        clock = self.cluster.clock
        assert isinstance(clock, ManualClock), "time is moved here"
        for _ in range(PATIENCE):
            self.send_requests()
            self.cluster.settle()
            self.handle_answers()
            if is_over():
                return True
            clock.advance(TICK_MS)
        return is_over()

    def wait_for(self, result: PendingResult) -> None:
        """Wait for a call.

        Raises:
            ProducerFailure: it failed.
            TimeoutError: it is not over.
        """
        if not self.run(lambda: result.is_completed):
            raise TimeoutError(f"{result.operation} is not over")
        result.acknowledge()

    # ---------------------------------------------------------------- what an application does

    def init(self) -> None:
        """``initTransactions``, waited for."""
        self.wait_for(self.manager.init_transactions())

    def begin(self) -> None:
        """``beginTransaction``."""
        self.manager.begin_transaction()

    def send(self, partition: TopicPartition, value: bytes, key: bytes | None = None) -> SentRecord:
        """``send``: the outcome shows in what is returned."""
        return self.sender.send(partition, Record(key, value), self._now_ms)

    def flush(self) -> None:
        """``flush``: every record has its outcome."""
        self.run(lambda: not self.sender.accumulator.has_incomplete)

    def commit(self) -> None:
        """``commitTransaction``, waited for."""
        self.wait_for(self.manager.begin_commit())

    def abort(self) -> None:
        """``abortTransaction``, waited for."""
        self.wait_for(self.manager.begin_abort())

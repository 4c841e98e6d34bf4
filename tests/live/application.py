"""One instance of an application at a live cluster: its producer, and what it asked for and was told, by label."""

from collections.abc import Callable

from tests.live.producer import LiveProducer
from zombieproof.bridge.observer import LiveClient, Observer
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.brokers import NEWEST_VERSIONS
from zombieproof.clients.errors import IllegalState, ProducerFailure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import SenderSettings
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.model.releases import NEWEST_VERSIONS as VERSIONS_BY_RELEASE
from zombieproof.model.releases import age
from zombieproof.model.vocabulary import ApiKey, Outcome


class Application:
    """One instance of an application: a live producer, the label of its present transaction, and what it waits for."""

    def __init__(self, observer: Observer, transactional_id: str, release: str) -> None:
        self.observer, self.release = observer, release
        versions = newest_of(release)
        self.producer = LiveProducer(
            observer.cluster,
            transactional_id,
            versions=versions,
            settings=SenderSettings(delivery_timeout_ms=5_000, request_timeout_ms=2_000, retry_backoff_ms=50),
            transaction_timeout_ms=20_000,
        )
        self.label = 0
        self.result: PendingResult | None = None
        self.outcome = Outcome.UNDECIDED
        self.records: list[tuple[int, int, SentRecord]] = []
        self.offsets: list[tuple[int, PendingResult]] = []
        self.alive = True
        self.call(self.producer.manager.init_transactions)

    def call(self, start: Callable[[], PendingResult]) -> None:
        """Make a call that takes a while, unless the producer refuses it."""
        try:
            self.result = start()
        except (IllegalState, ProducerFailure):
            self.result = None

    @property
    def is_free(self) -> bool:
        """Whether no call is under way."""
        return self.alive and self.result is None

    def begin(self) -> None:
        """Begin a transaction."""
        self.producer.begin()
        self.label = self.observer.new_label()
        self.outcome = Outcome.UNDECIDED

    def end(self, outcome: Outcome) -> None:
        """Ask for the end of the transaction."""
        if self.label:
            facts = self.observer.facts(self.label)
            if facts.asked == Outcome.UNDECIDED:
                facts.asked = outcome
            self.outcome = outcome
        manager = self.producer.manager
        self.call(manager.begin_commit if outcome == Outcome.COMMIT else manager.begin_abort)

    def has_sent(self, number: int) -> bool:
        """Whether the transaction has a record for this partition: one at most, so that copies can be told apart."""
        return any(label == self.label and sent == number for label, sent, _ in self.records)

    @property
    def has_sent_offsets(self) -> bool:
        """Whether the transaction has committed an input position."""
        return any(label == self.label for label, _ in self.offsets)

    def send(self, number: int) -> None:
        """Send one record with the label."""
        record = self.producer.send(self.observer.partitions[number], str(self.label).encode())
        self.records.append((self.label, number, record))

    def send_offsets(self, offset: int) -> None:
        """Commit an input position with the transaction."""
        row = OffsetToCommit(("input", 0), offset, str(self.label))
        self.offsets.append((self.label, self.producer.manager.send_offsets((row,), GroupMetadata("g"))))

    def speak(self) -> None:
        """Hear what has arrived, and send what may leave."""
        self.producer.handle_answers()
        before = len(self.producer.waiting)
        self.producer.send_requests()
        sequences = self.producer.manager.sequences
        for _, exchange in self.producer.waiting[before:]:
            self.observer.note_sent(exchange.number, self.label, sequences.identity)
        self._take_note()

    def _take_note(self) -> None:
        for label, number, record in self.records:
            if record.is_successful:
                self.observer.facts(label).acked |= 1 << number
        for label, result in self.offsets:
            if result.is_successful:
                self.observer.facts(label).acked |= 1 << self.observer.partitions.index((CONSUMER_OFFSETS, 0))
        if self.result is not None and self.result.is_completed:
            try:
                self.result.acknowledge()
                if self.label and self.outcome != Outcome.UNDECIDED:
                    self.observer.facts(self.label).result = self.outcome
                    self.label = 0
            except ProducerFailure:
                pass
            self.result = None

    def facts(self) -> LiveClient:
        """The instance as promises see it."""
        producer_id, producer_epoch = self.producer.manager.sequences.identity
        return LiveClient(self.producer.manager.state, producer_id, producer_epoch)


def newest_of(release: str) -> dict[ApiKey, int]:
    """The newest version of each request in a release."""
    if release == "newest":
        return dict(NEWEST_VERSIONS)
    known = {
        api: max((version for since, version in by_line.items() if age(since) <= age(release)), default=0)
        for api, by_line in VERSIONS_BY_RELEASE.items()
        if api in NEWEST_VERSIONS
    }
    return {**NEWEST_VERSIONS, **known}

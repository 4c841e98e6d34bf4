"""A running producer between the calls of its application: its turns, and what it knows of the cluster.

Theory of operation: a call is an *operation*, a generator that yields what it waits for; whoever made the call waits
in his own way (`ProducerCalls` has the calls). In between, the producer gets its turns: when an answer arrives, and
when the transport calls it at the time it has asked for. A turn hears what has arrived, sends what may leave, and says
when to be called next. One thread at a time takes turns; who finds another at it leaves him what he has brought.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping
from threading import Lock
from typing import NamedTuple, TypeVar

from zombieproof.broker.cluster.network import Answer
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.brokers import NEWEST_VERSIONS, Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.errors import CallTimedOut, Failure, IllegalState, ProducerFailure, as_told
from zombieproof.clients.producer_core import FOREVER_MS
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import Sender, SenderSettings
from zombieproof.clients.settings import ProducerSettings
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import OutgoingRequest
from zombieproof.clients.transport import Transport
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error

T = TypeVar("T")

NEVER_MS = 1 << 50
"""A time (ms) that nobody waits for."""


class Wait(NamedTuple):
    """What an operation waits for, and how long at most (ms)."""

    is_over: Callable[[], bool]
    timeout_ms: int


Operation = Generator[Wait, bool, T]
"""A call that is under way: it yields what it waits for, and is sent whether that has come."""


class ProducerRuntime:
    """One producer instance at work.

    Args:
        settings: its settings.
        transport: the way to the brokers, and the clock.
        rules: the rules that it follows; by default the newest.
    """

    def __init__(self, settings: ProducerSettings, transport: Transport, rules: Rules | None = None) -> None:
        self.settings, self.transport = settings, transport
        two_phases = settings.transaction_two_phase_commit_enable
        self.manager = TransactionManager(
            settings.transactional_id,
            transaction_timeout_ms=FOREVER_MS if two_phases else settings.transaction_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
            brokers=Brokers(NEWEST_VERSIONS),
            two_phase_commit=two_phases,
            rules=rules,
        )
        self.sender = Sender(self.manager, _sender_settings(settings))
        self._lock = Lock()
        self._inbox: deque[tuple[OutgoingRequest, Answer | None]] = deque()
        self._wants_turn = False
        self._wake_ms = NEVER_MS
        self._seen = NONE
        self._refreshed_ms = transport.now_ms()
        self._available: dict[str, list[int]] = {}
        self._counts: Mapping[str, int] = {}
        self._watched: deque[tuple[SentRecord, Callable[[], None]]] = deque()
        self._is_closed = False
        self._look_at_cluster()

    # ---------------------------------------------------------------- turns

    def attend(self) -> None:
        """Take turns while there is something to do, unless somebody is at it: who is looks again before he leaves."""
        while (self._inbox or self._wants_turn) and self._lock.acquire(blocking=False):
            try:
                self._turn()
            finally:
                self._lock.release()
        for _ in range(len(self._watched)):
            sent, action = self._watched.popleft()
            if sent.is_done:
                action()
            else:
                self._watched.append((sent, action))

    def _turn(self) -> None:
        self._wants_turn = False
        while self._inbox:
            self._hear(*self._inbox.popleft())
        now_ms = self.transport.now_ms()
        settings, hurries = self.settings, self.sender.waits_for_leader
        if now_ms >= self._refreshed_ms + (settings.retry_backoff_ms if hurries else settings.metadata_max_age_ms):
            self._refresh(now_ms)
        self._look_at_cluster()
        while (request := self.sender.next_request(now_ms)) is not None or self.sender.has_expired:
            if request is not None:
                self._send(request, now_ms)
        self._plan(now_ms)

    def _hear(self, request: OutgoingRequest, answer: Answer | None) -> None:
        now_ms = self.transport.now_ms()
        if answer is None:
            self._refresh(now_ms)
            self.sender.handle_disconnect(request, now_ms)
            return
        assert isinstance(answer, ProduceAnswer | CoordinatorAnswer), f"{answer} is no answer to a producer"
        if isinstance(answer, ProduceAnswer) and any(row.error != Error.NONE for row in answer.partitions.values()):
            self._refresh(now_ms)
        self.sender.handle_answer(request, answer, now_ms)

    def _send(self, request: OutgoingRequest, now_ms: int) -> None:
        body = request.body
        if isinstance(body, Produce) and body.acks == 0:
            self.transport.send(request.node, body, lambda _: None)
            unknown = ProduceAnswer(dict.fromkeys(body.partitions, Produced(Error.NONE)))
            self.sender.handle_answer(request, unknown, now_ms)
            return
        self.transport.send(request.node, body, lambda answer: self._answered(request, answer))

    def _answered(self, request: OutgoingRequest, answer: Answer | None) -> None:
        self._inbox.append((request, answer))
        self.attend()

    def _plan(self, now_ms: int) -> None:
        """Say when the next turn is, if nothing comes before."""
        if self._is_closed:
            return
        next_ms = self.sender.next_ms(now_ms) or NEVER_MS
        if self.sender.waits_for_leader:
            next_ms = min(next_ms, now_ms + max(self.settings.retry_backoff_ms, 1))
        if next_ms < self._wake_ms:
            self._wake_ms = next_ms
            self.transport.call_at(next_ms, lambda: self._wake(next_ms))

    def _wake(self, planned_ms: int) -> None:
        if self._wake_ms == planned_ms:
            self._wake_ms = NEVER_MS
        self._wants_turn = True
        self.attend()

    def watch(self, sent: SentRecord, action: Callable[[], None]) -> None:
        """Call `action` when a record has its outcome."""
        self._watched.append((sent, action))
        self.attend()

    # ---------------------------------------------------------------- the cluster

    def _refresh(self, now_ms: int) -> None:
        self._refreshed_ms = now_ms
        self.transport.refresh_metadata()

    def _look_at_cluster(self) -> None:
        metadata = self.transport.metadata()
        if metadata.number == self._seen:
            return
        self._seen, brokers = metadata.number, self.manager.brokers
        leaders = {tp: node for tp, node in metadata.leaders.items() if tp[0] not in INTERNAL_TOPICS}
        self.sender.set_leaders(leaders)
        self._counts = metadata.partitions
        self._available = {}
        for topic, number in sorted(leaders):
            self._available.setdefault(topic, []).append(number)
        brokers.learn_features(metadata.transaction_version, metadata.features_epoch)
        for node, versions in metadata.versions.items():
            brokers.learn_versions(
                node, {api: min(ours, versions.get(api, ours)) for api, ours in NEWEST_VERSIONS.items()}
            )

    # ---------------------------------------------------------------- calls

    def _check_open(self) -> None:
        if self._is_closed:
            raise IllegalState("the producer is closed: make a new one")

    def _do(self, call: Callable[[], T]) -> T:
        """Make a call, and take a turn behind it.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self._check_open()
        with self._lock:
            made = self._told(call)
            self._wants_turn = True
        self.attend()
        return made

    def _told(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except ProducerFailure as failure:
            raise self._as_told(failure)  # noqa: B904  # it has its cause, or is the failure itself

    def _as_told(self, failure: Failure) -> Failure:
        lifecycle = self.manager.lifecycle
        return as_told(failure, is_fatal=lifecycle.is_at_its_end) if lifecycle.has_error else failure

    def _await(self, result: PendingResult) -> Operation[None]:
        limit_ms = self.settings.max_block_ms
        if not (yield Wait(lambda: result.is_completed, limit_ms)):
            raise CallTimedOut(result.operation, limit_ms)
        self._told(result.acknowledge)


def _sender_settings(settings: ProducerSettings) -> SenderSettings:
    return SenderSettings(
        delivery_timeout_ms=settings.delivery_ms,
        request_timeout_ms=settings.request_timeout_ms,
        retry_backoff_ms=settings.retry_backoff_ms,
        retry_backoff_max_ms=settings.retry_backoff_max_ms,
        retries=settings.retries,
        max_in_flight=settings.max_in_flight_requests_per_connection,
        batch_records=1 << 31,
        batch_size=settings.batch_size,
        linger_ms=settings.linger_ms,
        codec=settings.compression_type,
        acks=settings.acks,
        idempotent=settings.enable_idempotence,
    )

"""The requests of one producer to coordinators: those that wait, and the one that is under way.

Source: reference §5.3; ``Sender.maybeSendAndPollTransactionalRequest``, ``TransactionManager.java``.
"""

from dataclasses import replace

from zombieproof.clients.brokers import Brokers
from zombieproof.clients.errors import Failure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.transactional_requests import (
    TRANSACTION,
    OutgoingRequest,
    RequestQueue,
    TransactionalRequest,
)
from zombieproof.messages.groups import FindCoordinator, TxnOffsetCommit
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.statemachines.producer.records import Destination


class CoordinatorRequests:
    """The queue, and `in_flight`: what was sent, with its place in the queue's books."""

    def __init__(self, transactional_id: str | None, brokers: Brokers, retry_backoff_ms: int) -> None:
        self.transactional_id, self.brokers, self.retry_backoff_ms = transactional_id, brokers, retry_backoff_ms
        self.queue = RequestQueue()
        self.in_flight: tuple[OutgoingRequest, TransactionalRequest] | None = None
        self._numbers = 0

    @property
    def all(self) -> tuple[TransactionalRequest, ...]:
        """What waits, and what is under way."""
        return (*self.queue, self.in_flight[1]) if self.in_flight is not None else tuple(self.queue)

    def next_number(self) -> int:
        """A number for a request, never given twice by one producer."""
        self._numbers += 1
        return self._numbers

    def is_backing_off(self, now_ms: int) -> bool:
        """Whether the next request waits only for its time."""
        return self.queue.first is not None and now_ms < self.queue.first.not_before_ms

    def node_for(self, request: TransactionalRequest) -> int | None:
        """The coordinator of `request`, None if it is not known or any broker will do."""
        return None if request.coordinator is None else self.brokers.coordinators[request.coordinator]

    def destination(self, request: TransactionalRequest) -> Destination:
        """Where `request` would go now."""
        node, brokers = self.node_for(request), self.brokers
        return Destination(
            is_known=node is not None,
            is_ready=node is not None and brokers.is_ready(node),
            newest=brokers.newest_version(node, request.api),
            newest_init=brokers.newest_version(node, ApiKey.INIT_PRODUCER_ID),
            coordinates_transactions=request.coordinator == TRANSACTION,
        )

    def send(self, request: TransactionalRequest, version: int, now_ms: int) -> OutgoingRequest:
        """`request` leaves."""
        body = replace(request.body, version=version)
        outgoing = OutgoingRequest(self.next_number(), self.node_for(request), body, now_ms)
        self.in_flight = outgoing, request
        return outgoing

    def land(self, request: OutgoingRequest) -> TransactionalRequest | None:
        """`request` is not under way any more; None if it was given up before."""
        if self.in_flight is None or self.in_flight[0] is not request:
            return None
        queued, self.in_flight = self.in_flight[1], None
        return queued

    def repeat(self, request: TransactionalRequest, now_ms: int, wait_ms: int) -> None:
        """`request` waits for its turn once more, and at least `wait_ms`."""
        request.not_before_ms = now_ms + wait_ms
        self.queue.put(request)

    def look_up(self, request: TransactionalRequest) -> None:
        """The coordinator of `request` is not known any more: FindCoordinator goes first."""
        kind = request.coordinator
        assert kind is not None, "only requests to a coordinator look one up"
        self.brokers.coordinators[kind] = None
        key = request.body.group if isinstance(request.body, TxnOffsetCommit) else self.transactional_id or ""
        body = FindCoordinator(NONE, key, kind)
        if all(waiting.body != body for waiting in self.queue):
            self.queue.put(TransactionalRequest(body, PendingResult("findCoordinator"), coordinator=None))

    def drop(self, reason: Failure) -> None:
        """Everything that waits fails."""
        for request in self.queue:
            self.queue.remove(request)
            request.result.fail(reason)

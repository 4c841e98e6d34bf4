"""How a client reaches brokers: an interface, and the one to a cluster in this process.

Theory of operation: whoever waits lets things happen, one `turn` at a time: a message arrives, or it is time for what
somebody has asked to be called at. `ClusterTransport` moves the clock of its cluster: while messages are in flight it
stands still, then it goes to the next time at which a client, a broker or whoever waits has something to do. So a test
runs an hour in a millisecond, and the same test always runs in the same way.
"""

import heapq
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Protocol

from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode
from zombieproof.broker.cluster.network import CLIENT, Answer, Exchange, Request
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.timers import sweeps_of
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce
from zombieproof.model.releases import NEWEST_VERSIONS, newest_version
from zombieproof.model.vocabulary import ApiKey

Done = Callable[[Answer | None], None]
"""Takes the answer to a request; None: the connection was lost, and nobody knows what became of the request."""

MARKERS_AGAIN_MS = 100
"""How often a coordinator looks for markers to be sent again."""


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What a client knows of a cluster, as it was when it last asked.

    `leaders`: the node of each partition that has a leader now; `partitions`: how many each topic has; `versions`: the
    newest version of each transactional API at each node that is up; `transaction_version`: the finalized feature,
    as of `features_epoch`. `number` grows with each change.
    """

    number: int = 0
    leaders: Mapping[TopicPartition, int] = field(default_factory=lambda: MappingProxyType({}))
    partitions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    versions: Mapping[int, Mapping[ApiKey, int]] = field(default_factory=lambda: MappingProxyType({}))
    transaction_version: int = 0
    features_epoch: int = -1


class Transport(Protocol):
    """The way of any number of clients to the brokers of one cluster.

    Requests of one client to one node arrive in the order in which they were sent, and where one is lost, so is what
    follows it, as on a connection: a leader that knows nothing of a producer takes any sequence for its first.
    """

    def now_ms(self) -> int:
        """The time (ms); clients have no other clock."""
        ...

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held by a client while it works, never while it waits, and whenever `done` and what is due are called."""
        ...

    def send(self, node: int | None, body: Request, done: Done) -> None:
        """Send a request to `node`, or to any broker.

        `done` is called once, later, by whoever lets things happen; never for a Produce with acks 0.
        """
        ...

    def call_at(self, at_ms: int, action: Callable[[], None]) -> None:
        """Call `action` once, when it is `at_ms` or later, by whoever lets things happen then."""
        ...

    def turn(self, until_ms: int) -> bool:
        """Let the next thing happen, if that is not behind `until_ms`; False: nothing has happened."""
        ...

    def wait_until(self, is_over: Callable[[], bool], timeout_ms: int) -> bool:
        """Let things happen until `is_over`, but not longer than `timeout_ms`; whether it is."""
        ...

    def metadata(self) -> ClusterMetadata:
        """What is known of the cluster."""
        ...

    def refresh_metadata(self) -> None:
        """Ask what the cluster is like now: `metadata` shows it as soon as somebody has answered."""
        ...


class Calls:
    """What is to be called when, in the order of its time; may be used by any thread."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers, self._lock = count(), Lock()

    @property
    def next_ms(self) -> int:
        """When the next call is due; FOR_EVER if there is none."""
        with self._lock:
            return self._calls[0][0] if self._calls else FOR_EVER

    def add(self, at_ms: int, action: Callable[[], None]) -> None:
        """Call `action` once, when it is `at_ms` or later."""
        with self._lock:
            heapq.heappush(self._calls, (at_ms, next(self._numbers), action))

    def run_next(self, now_ms: int) -> bool:
        """Make the next call, if it is due; False: it is not."""
        with self._lock:
            if not self._calls or self._calls[0][0] > now_ms:
                return False
            _, _, action = heapq.heappop(self._calls)
        action()
        return True


class ClusterTransport:
    """The way to the brokers of a cluster in this process. One thread drives it.

    Args:
        cluster: its clock is a ManualClock, which is moved here, and what Kafka does by timers is done here.

    Raises:
        TypeError: the cluster has a clock that nobody can move.
    """

    def __init__(self, cluster: Cluster) -> None:
        if not isinstance(cluster.clock, ManualClock):
            raise TypeError(
                f"the clock of the cluster is a {type(cluster.clock).__name__}, which cannot be moved: "
                "give Cluster(clock=ManualClock()), or run the cluster as what moves by itself"
            )
        self.cluster, self._clock = cluster, cluster.clock
        self._waiting: dict[int, tuple[Exchange, Done]] = {}
        self._calls = Calls()
        now_ms, self._sweeps = self.now_ms(), sweeps_of(cluster)
        self._due = [now_ms + interval_ms for interval_ms, _ in self._sweeps]
        self._metadata = ClusterMetadata()
        self.refresh_metadata()

    @property
    def lock(self) -> AbstractContextManager[object]:
        """One thread needs none."""
        return nullcontext()

    def now_ms(self) -> int:
        """The time of the cluster."""
        return self._clock.now_ms()

    # ---------------------------------------------------------------- requests

    def send(self, node: int | None, body: Request, done: Done) -> None:
        """Put a request in flight; a node that does not exist is one whose connection is lost at once."""
        try:
            exchange = self.cluster.send(body, node)
        except NoSuchNode:
            self.call_at(self.now_ms(), lambda: done(None))
            return
        if isinstance(body, Produce) and body.acks == 0:
            self.cluster.network.exchanges.pop(exchange.number, None)
        else:
            self._waiting[exchange.number] = exchange, done

    def call_at(self, at_ms: int, action: Callable[[], None]) -> None:
        """Call `action` once, when it is `at_ms` or later."""
        self._calls.add(at_ms, action)

    # ---------------------------------------------------------------- what happens

    def wait_until(self, is_over: Callable[[], bool], timeout_ms: int) -> bool:
        """Take turns until `is_over`, but not longer than `timeout_ms`; whether it is."""
        until_ms = self.now_ms() + timeout_ms
        while not is_over():
            if not self.turn(until_ms):
                return False
        return True

    def turn(self, until_ms: int) -> bool:
        """One call that is due, or one message, or the clock moves, to `until_ms` at most; False: that is over."""
        if self._calls.run_next(self.now_ms()) or self.deliver():
            return True
        if self.now_ms() >= until_ms:
            return False
        self._move_clock(until_ms)
        return True

    def deliver(self) -> bool:
        """The message that is in flight for longest arrives, and whoever waits for it is told; False: there is none."""
        network = self.cluster.network
        if not network.in_flight:
            return False
        message = network.in_flight[0]
        self.cluster.step()
        if message.receiver == CLIENT:
            self._tell(message.number)
        return True

    def _tell(self, number: int) -> None:
        if number in self._waiting and self._waiting[number][0].is_over:
            exchange, done = self._waiting.pop(number)
            self.cluster.network.exchanges.pop(number, None)
            done(exchange.answer)

    # ---------------------------------------------------------------- time

    def _move_clock(self, until_ms: int) -> None:
        cluster, now_ms = self.cluster, self.now_ms()
        times = [
            until_ms,
            self._calls.next_ms,
            *self._due,
            cluster.next_wait_ms,
        ]
        if any(broker.coordinator.has_markers_to_write for broker in cluster.brokers.values()):
            times.append(now_ms + MARKERS_AGAIN_MS)
        self._clock.advance(max(min(times) - now_ms, 1))
        cluster.resend_markers()
        cluster.end_waits()
        for number, (interval_ms, sweep) in enumerate(self._sweeps):
            if self.now_ms() >= self._due[number]:
                self._due[number] = self.now_ms() + interval_ms
                sweep()

    # ---------------------------------------------------------------- metadata

    def metadata(self) -> ClusterMetadata:
        """The cluster as it was at the last `refresh_metadata`."""
        return self._metadata

    def refresh_metadata(self) -> None:
        """Look at the cluster as it is now."""
        self._metadata = look_at(self.cluster, self._metadata)


def look_at(cluster: Cluster, known: ClusterMetadata) -> ClusterMetadata:
    """What a cluster in this process is like now; `known` itself if it is as it was."""
    partitions = cluster.metadata.partitions
    seen = ClusterMetadata(
        number=known.number,
        leaders={tp: each.leader for tp, each in partitions.items() if each.leader in cluster.brokers},
        partitions={topic: cluster.metadata.count(topic) for topic in cluster.metadata.topic_ids},
        versions={node: versions_of(cluster.release_of(node)) for node in cluster.brokers},
        transaction_version=cluster.rules.transaction_version,
        features_epoch=cluster.features_epoch,
    )
    return known if seen == known else replace(seen, number=known.number + 1)


def versions_of(release: str) -> dict[ApiKey, int]:
    """The newest version of each transactional request that a broker of a release understands, as ApiVersions says."""
    return {api: newest for api in NEWEST_VERSIONS if (newest := newest_version(release, api)) >= 0}

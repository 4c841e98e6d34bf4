"""A cluster that is asked from outside: what it speaks, who leads and coordinates, and the connections to its brokers.

Theory of operation: one connection to each broker, opened when it is first asked, and again after a broker has ended
it. What a cluster is like (versions, features, settings, brokers) is asked once; who leads a topic when it is made; who
coordinates an id when it is first asked about, and again when a broker says that it does not.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.outside.bootstrap import spoken
from zombieproof.conformance.outside.introduction import (
    CLIENT_ID,
    FIRST_PATIENCE_S,
    Unreachable,
    first_answer,
    named,
    said,
)
from zombieproof.conformance.symbol_names import SymbolNames
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Address
from zombieproof.wire.asking import Asking
from zombieproof.wire.faults import Malformed
from zombieproof.wire.names import NO_ID, TopicNames

T = TypeVar("T")

PATIENCE_S: Final = 30.0
"""How long it may take for any other answer."""
SETTLES_S: Final = 30.0
"""How long a cluster may take to make a topic, or to find a coordinator for the first time."""
UNTOLD_S: Final = 0.1
"""How long nothing has to come of a request that has no answer."""
BACKOFF_S: Final = 0.05
BROKER_RESOURCE: Final = 4
GROUP, TRANSACTION = 0, 1
"""What FindCoordinator looks for."""

NOT_YET: Final = frozenset(
    {
        Error.LEADER_NOT_AVAILABLE,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class NotPossible(Exception):
    """The cluster refuses what is needed before anything can be judged: a new topic, a coordinator."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as its cluster tells it: the leader and the leader's epoch of each partition; NONE: there is none."""

    topic_id: UUID
    leaders: Mapping[int, int]
    epochs: Mapping[int, int]


class Peer:
    """A cluster, by the addresses of some of its brokers.

    Raises:
        Unreachable: nobody answers there in Kafka's protocol.
    """

    def __init__(self, addresses: Sequence[Address], patience_s: float = FIRST_PATIENCE_S) -> None:
        self._ids: dict[str, UUID] = {}
        self._names: dict[UUID, str] = {}
        self.names = SymbolNames(TopicNames(self._ids, self._names))
        self.topics: dict[str, Topic] = {}
        self._connections: dict[int, Asking] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._first, self.spoken = first_answer(addresses, self.names, patience_s)
        self.brokers: dict[int, Address] = {}
        self.controller = NONE
        try:
            self.describe([])
        except Unreachable as error:
            self.close()
            raise Unreachable(
                f"{error}; it speaks Kafka's protocol, and ends the connection of whoever has not said who it is: "
                "only listeners without authentication (PLAINTEXT) can be asked, no SASL"
            ) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Hang up."""
        for each in (self._first, *self._connections.values()):
            each.close()
        self._connections.clear()

    # ---------------------------------------------------------------- asking

    def ask(self, request: Request, node: int | None) -> Answer | None:
        """The answer of a broker, or of any; None: there is none to a request that wants none.

        Raises:
            ConnectionError: the broker has ended the connection instead; the next question opens another.
            TimeoutError: it did not answer for too long.
            Malformed: what it answers is no answer.
            Unreachable: it does not listen any more.
        """
        at = self._some() if node is None else node
        connection = self._connected(at)
        try:
            connection.send(request)
            if isinstance(request, Produce) and request.acks == 0:
                return self._untold(connection, request)
            return connection.receive(request)
        except BaseException:
            # Whatever it was: an answer that still comes is not the answer to the next question.
            self._hang_up(at)
            raise

    def _untold(self, connection: Asking, request: Request) -> Answer | None:
        time.sleep(UNTOLD_S)
        try:
            return connection.receive(request, waits=False)
        except BlockingIOError:
            return None

    def entity(self, api: ApiKey, ours: int, values: Mapping[str, Any], node: int | None = None) -> Any:
        """Kio's entity of an answer in the newest version up to `ours`.

        Raises:
            NotPossible: the broker does not speak this API.
            Unreachable: it does not answer any more.
        """
        version = self.spoken.newest(api, ours)
        if version == NONE:
            raise NotPossible(f"the broker does not speak {api.name} in any version up to {ours}")
        at = self._some() if node is None else node
        try:
            return self._connected(at).entity(api, version, values)
        except (OSError, Malformed) as error:
            self._hang_up(at)
            raise Unreachable(f"{self._where(at)} does not answer {api.name}: {said(error)}") from error
        except BaseException:
            # Whatever it was, as in `ask`: an answer that still comes is not the answer to the next question.
            self._hang_up(at)
            raise

    def is_alive(self) -> bool:
        """Whether some broker still says what it speaks."""
        try:
            self._hang_up(self._some())
            self.entity(ApiKey.API_VERSIONS, 0, {})
        except (Unreachable, NotPossible):
            return False
        return True

    def _some(self) -> int:
        return min(self.brokers, default=NONE)

    def _connected(self, node: int) -> Asking:
        if node not in self.brokers:
            return self._first
        if node not in self._connections:
            address = self.brokers[node]
            try:
                self._connections[node] = Asking(address, CLIENT_ID, self.names, PATIENCE_S)
            except OSError as error:
                raise Unreachable(f"{spoken(address)} does not listen any more: {said(error)}") from error
        return self._connections[node]

    def _hang_up(self, node: int) -> None:
        if node in self._connections:
            self._connections.pop(node).close()

    def _where(self, node: int) -> str:
        return spoken(self.brokers[node]) if node in self.brokers else "the broker"

    # ---------------------------------------------------------------- topics

    def describe(self, topics: Sequence[str]) -> None:
        """Learn who leads some topics, and which brokers there are.

        Raises:
            Unreachable: nobody answers.
        """
        rows = [{"name": topic, "topic_id": NO_ID} for topic in topics]
        found = self.entity(ApiKey.METADATA, 12, {"topics": rows, "allow_auto_topic_creation": False})
        self.brokers = {each.node_id: Address(each.host, each.port) for each in found.brokers}
        self.controller = found.controller_id
        for each in found.topics:
            topic_id = getattr(each, "topic_id", None) or NO_ID
            if int(each.error_code.value) == Error.NONE:
                leaders = {row.partition_index: row.leader_id for row in each.partitions}
                epochs = {row.partition_index: getattr(row, "leader_epoch", 0) for row in each.partitions}
                self.topics[each.name] = Topic(topic_id, leaders, epochs)
                self._ids[each.name], self._names[topic_id] = topic_id, each.name

    def create(self, partitions: Mapping[str, int]) -> None:
        """Make topics, and wait until all their partitions have a leader.

        Raises:
            NotPossible: they are refused, or nobody leads them for too long.
            Unreachable: nobody answers.
        """
        version = self.spoken.newest(ApiKey.CREATE_TOPICS, 5)
        replicas = NONE if version >= FIRST_WITH_DEFAULTS else 1
        rows = [
            {"name": name, "num_partitions": count, "replication_factor": replicas, "assignments": (), "configs": ()}
            for name, count in partitions.items()
        ]
        found = self.entity(ApiKey.CREATE_TOPICS, 5, {"topics": rows, "timeout": 30_000}, self._controlling())
        for row in found.topics:
            if int(row.error_code.value) != Error.NONE:
                said = getattr(row, "error_message", None)
                raise NotPossible(
                    f"topic {row.name} cannot be made: {named(row.error_code)}{(said and f' ({said})') or ''}"
                )

        def are_led() -> bool:
            self.describe(list(partitions))
            made = [self.topics.get(name) for name in partitions]
            return all(each is not None and each.leaders and min(each.leaders.values()) >= 0 for each in made)

        wait_until(are_led, lambda: f"nobody leads the topics {', '.join(partitions)} after {SETTLES_S:g} s")

    def delete(self, topics: Iterable[str]) -> list[str]:
        """Delete topics; returned are those that are still there.

        Raises:
            Unreachable: nobody answers.
        """
        names = list(topics)
        if not names:
            return []
        found = self.entity(ApiKey.DELETE_TOPICS, 5, {"topic_names": names, "timeout": 30_000}, self._controlling())
        for name in names:
            self._names.pop(self._ids.pop(name, NO_ID), None)
            self.topics.pop(name, None)
        gone = (Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION)
        return [row.name for row in found.responses if int(row.error_code.value) not in gone]

    def _controlling(self) -> int | None:
        return self.controller if self.controller in self.brokers else None

    def leader_of(self, partition: TopicPartition) -> int | None:
        """Who leads a partition; None: nobody, as far as is known."""
        topic, number = partition
        if topic not in self.topics:
            self.describe([topic])
        known = self.topics.get(topic)
        return None if known is None else known.leaders.get(number)

    # ---------------------------------------------------------------- coordinators, settings

    def coordinator_of(self, key: str, kind: int) -> int | None:
        """Who coordinates a group or a transactional id; None: nobody does, whatever is asked.

        Raises:
            NotPossible: nobody does for too long.
            Unreachable: nobody answers.
        """
        if (kind, key) not in self._coordinators:
            told: list[Any] = [None]

            def is_found() -> bool:
                found = self.entity(ApiKey.FIND_COORDINATOR, 3, {"key": key, "key_type": kind})
                told[0] = found
                return int(found.error_code.value) not in NOT_YET

            wait_until(
                is_found, lambda: f"nobody coordinates {key!r} after {SETTLES_S:g} s: {named(told[0].error_code)}"
            )
            if int(told[0].error_code.value) != Error.NONE:
                return None
            self._coordinators[kind, key] = told[0].node_id
            if told[0].node_id not in self.brokers:
                self.brokers[told[0].node_id] = Address(told[0].host, told[0].port)
        return self._coordinators[kind, key]

    def forget_roles(self, topics: Iterable[str]) -> None:
        """Who has a role is asked anew, where it matters."""
        self._coordinators.clear()
        known = [topic for topic in topics if topic in self.topics]
        if known:
            self.describe(known)

    def settings(self) -> Mapping[str, str | None]:
        """The settings of a broker, by Kafka's names; empty where it does not tell."""
        values = {
            "resources": [
                {"resource_type": BROKER_RESOURCE, "resource_name": str(self._some()), "configuration_keys": None}
            ],
            "include_synonyms": False,
            "include_documentation": False,
        }
        try:
            found = self.entity(ApiKey.DESCRIBE_CONFIGS, 2, values)
        except (NotPossible, Unreachable):
            return {}
        return {row.name: row.value for each in found.results for row in each.configs}


FIRST_WITH_DEFAULTS = 4
"""From this version of CreateTopics on -1 replicas are as many as the broker gives by default."""


def wait_until(is_so: Callable[[], bool], says: Callable[[], str]) -> None:
    """Wait until something is so.

    Raises:
        NotPossible: it is not for too long; the text is what is said then.
    """
    until = time.monotonic() + SETTLES_S
    while not is_so():
        if time.monotonic() > until:
            raise NotPossible(says())
        time.sleep(BACKOFF_S)

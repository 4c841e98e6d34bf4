"""The subject in this process: a cluster of interpreted brokers over logs in memory.

A request goes to the node that has to answer it, as a client that knows the metadata would send it; readings over
several leaders are asked of each and put together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from pydantic import JsonValue

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster, NoSuchNode, Replicas
from zombieproof.broker.cluster.journal import Decided, KeptJournal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer, Exchange, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.conformance.connections import Connections, access_of
from zombieproof.conformance.readings import read_from
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.subject import (
    NOBODY,
    Authenticated,
    Closed,
    Credentials,
    Impossible,
    Role,
    Sender,
    Silence,
)
from zombieproof.conformance.symbols import place_group, place_transactional_id
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.partitions import DescribeProducers, Fetch, ListOffsets
from zombieproof.messages.registry import Receiver, api_of, values_of
from zombieproof.messages.schema import Entity
from zombieproof.messages.transactions import DescribeTransactions, ListTransactions
from zombieproof.model.releases import UnknownRelease
from zombieproof.model.rules import preset_for

ATTEMPTS = 4
"""How often a request is sent again: each time everything has arrived before, so more cannot tell more."""

MOST = (1 << 63) - 1
MOST_PARTITIONS = 1000
MOST_NODES = 100
MOST_LOOKS = 10_000
"""How often brokers look at their clock while a step lets time pass; in a longer time they look less often."""

LAYOUT = frozenset({"transaction.version", "nodes", "replicas"})
"""What `config` says besides the settings of brokers."""

RECORDER = Settings(
    transaction_state_log_num_partitions=2,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=200,
    offsets_topic_num_partitions=2,
    group_initial_rebalance_delay_ms=0,
    unstable_api_versions_enable=True,
    add_partitions_to_txn_retry_backoff_max_ms=0,
    connection_failed_authentication_delay_ms=0,
)
"""The settings of every recorded broker that a sequence does not repeat.

But for the last two: a recorded broker asked a coordinator again for a tenth of a second, and so long whoever had
failed to say who he is waited to hear it. Here everything has arrived when it asks first, and the time stands still.
"""

RECORDER_OF_THREE = replace(RECORDER, transaction_state_log_num_partitions=3, offsets_topic_num_partitions=3)

READER = "x0"
"""The transactional id whose coordinator answers what concerns no id."""


def settings_of(recorded: Recorded) -> Settings:
    """The broker settings of a sequence.

    Raises:
        RecordingError: a setting does not exist here, or has a value of another kind.
    """
    known = {field.name.replace("_", "."): field for field in fields(Settings)}
    given: dict[str, JsonValue] = {}
    for name, value in recorded.sequence.config.items():
        if name in LAYOUT:
            continue
        if name not in known:
            raise recorded.refused(
                f"config {name}", f"there is no such setting here; legal are {', '.join(sorted({*known, *LAYOUT}))}"
            )
        kind = type(known[name].default)
        if type(value) is not kind:
            raise recorded.refused(f"config {name}", f"{value!r} is no {kind.__name__}")
        most = MOST_PARTITIONS if name.endswith(".num.partitions") else MOST
        if isinstance(value, int) and kind is int and not 1 <= value <= most:
            raise recorded.refused(f"config {name}", f"{value} is out of range; legal is 1 to {most}")
        given[known[name].name] = value
    base = RECORDER if recorded.sequence.config.get("nodes", 1) == 1 else RECORDER_OF_THREE
    try:
        # The names are those of fields, and the values were compared with their kinds.
        return replace(base, **given)  # type: ignore[arg-type]
    except ValueError as error:
        raise recorded.refused("config", str(error)) from error


def topics_of(recorded: Recorded) -> Mapping[str, int | Replicas]:
    """The topics of a sequence, with replicas where it says them. g0 is coordinated by the last node.

    Raises:
        RecordingError: the replicas are no lists of nodes, or not of these topics.
    """
    sequence, replicas = recorded.sequence, recorded.sequence.config.get("replicas")
    if replicas is None:
        return dict(sequence.topics)
    if not isinstance(replicas, dict):
        raise recorded.refused("config replicas", "is no object; legal is a list of nodes for each topic-partition")
    nodes = tuple(range(1, nodes_of(recorded) + 1))
    turned = [tuple(nodes[(first + i) % len(nodes)] for i in range(len(nodes))) for first in range(len(nodes))]
    found: dict[str, int | Replicas] = {CONSUMER_OFFSETS: turned[-1:] + turned[:-1]}
    for topic, partitions in sequence.topics.items():
        found[topic] = [_replicas(recorded, replicas, f"{topic}-{number}", nodes) for number in range(partitions)]
    return found


def _replicas(recorded: Recorded, given: Mapping[str, JsonValue], name: str, nodes: Sequence[int]) -> tuple[int, ...]:
    wanted = given.get(name)
    found = (
        tuple(node for node in wanted if isinstance(node, int) and node in nodes) if isinstance(wanted, list) else ()
    )
    if not found or not isinstance(wanted, list) or len(found) != len(wanted):
        raise recorded.refused(f"config replicas {name}", f"{wanted!r} is no list of nodes; nodes are {nodes}")
    return found


def nodes_of(recorded: Recorded) -> int:
    """How many brokers a sequence has.

    Raises:
        RecordingError: that is no positive number.
    """
    nodes = recorded.sequence.config.get("nodes", 1)
    if not isinstance(nodes, int) or isinstance(nodes, bool) or not 1 <= nodes <= MOST_NODES:
        raise recorded.refused("config nodes", f"{nodes!r} is no number of brokers; legal is 1 to {MOST_NODES}")
    return nodes


class InProcess:
    """A cluster of interpreted brokers for one sequence.

    Raises:
        RecordingError: there is no such release or transaction version, or no such setting.
    """

    def __init__(self, recorded: Recorded) -> None:
        sequence, settings = recorded.sequence, settings_of(recorded)
        try:
            rules = preset_for(sequence.kafka, sequence.tv)
        except UnknownRelease as error:
            raise recorded.refused("kafka", str(error)) from error
        if not settings.transaction_partition_verification_enable:
            rules.verification = 0
        self._clock = ManualClock()
        self._settings = settings
        self._next_look_at_offsets_ms = self._clock.now_ms() + settings.offsets_retention_check_interval_ms
        self._journal = KeptJournal()
        self.cluster = Cluster(
            nodes_of(recorded),
            rules,
            settings,
            topics_of(recorded),
            self._clock,
            Metadata(place_transactional_id=place_transactional_id, place_group=place_group),
            sequence.kafka,
            journal=self._journal,
            access=access_of(recorded),
        )
        self.cluster.settle()
        self._principal: Principal | None = None
        self._sessions = Connections(sequence.kafka, self._journal)
        self._down: list[tuple[int, bool]] = []
        self._begun: dict[str, Exchange] = {}
        self._holders: dict[Role, list[int]] = {}
        self._epochs: list[int] = []
        self._look()

    # ---------------------------------------------------------------- requests

    def ask(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Answer | Closed | Silence:
        """Ask, and let everything arrive."""
        self._journal.clear()
        self._principal = None if sender.principal is None else Principal(sender.principal)
        if sender.connection is not None:
            refused = self._sessions.refusal(request, sender.connection)
            if refused is not None:
                return refused
            self._principal = self._sessions.principal(sender.connection)
        return self._asked(request, role)

    def authenticate(self, credentials: Credentials, connection: str) -> Authenticated | Closed:
        """Say it on a connection."""
        self._journal.clear()
        return self._sessions.authenticate(credentials, connection)

    def _asked(self, request: Request, role: Role | None) -> Answer | Closed | Silence:
        if role is not None:
            return self._ask(request, self._node(role))
        if isinstance(request, Fetch | ListOffsets | DescribeProducers | DescribeTransactions):
            return read_from(request, self._ask, self.cluster.leader_of, self.cluster.coordinator_of)
        return self._ask(request, self._receiver(request))

    def begin(self, request: Request, role: Role | None, name: str) -> None:
        """Ask, and let everything arrive but, it may be, an answer."""
        self._journal.clear()
        self._principal = None
        self._begun[name] = self._sent(request, self._receiver(request) if role is None else self._node(role))

    def answered(self, name: str) -> Answer | Closed | Silence:
        """What has come by now."""
        return _answer_of(self._begun[name])

    def _ask(self, request: Request, node: int | None) -> Answer | Closed | Silence:
        exchange = self._sent(request, node)
        self.cluster.network.exchanges.pop(exchange.number, None)
        return _answer_of(exchange)

    def _sent(self, request: Request, node: int | None) -> Exchange:
        try:
            exchange = self.cluster.send(request, node, self._principal)
        except NoSuchNode as error:
            raise Impossible(str(error)) from error
        self.cluster.settle()
        return exchange

    def _receiver(self, request: Request) -> int | None:
        """The node that has to answer it; None: any node."""
        match api_of(type(request)).receiver:
            case Receiver.PARTITION_LEADER:
                leaders = map(self.cluster.leader_of, values_of(request, Entity.PARTITION))
                return next((node for node in leaders if node), None)
            case Receiver.TRANSACTION_COORDINATOR:
                asked = READER if isinstance(request, ListTransactions) else None
                return self._coordinator(next(values_of(request, Entity.TRANSACTIONAL_ID), asked))
            case Receiver.GROUP_COORDINATOR:
                group = next(values_of(request, Entity.GROUP), None)
                return None if group is None else self.cluster.group_coordinator_of(group)
            case _:
                return None

    def _coordinator(self, transactional_id: str | None) -> int | None:
        return None if transactional_id is None else self.cluster.coordinator_of(transactional_id)

    def go_on(self, attempt: int) -> bool:
        """Markers that could not be written are sent again; everything else has happened already."""
        self.cluster.resend_markers()
        self.cluster.settle()
        return attempt < ATTEMPTS

    # ---------------------------------------------------------------- time and faults

    def pass_time(self, milliseconds: int, *, until_ended: str | None = None) -> None:
        """Time passes in steps of the shortest interval at which brokers look at their clock."""
        settings = self._settings
        interval = min(
            settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            settings.transaction_remove_expired_transaction_cleanup_interval_ms,
            settings.producer_id_expiration_check_interval_ms,
        )
        interval = max(interval, milliseconds // MOST_LOOKS)
        left = milliseconds
        while left > 0:
            self._clock.advance(min(interval, left))
            left -= interval
            self.cluster.sweep()
            if self._clock.now_ms() >= self._next_look_at_offsets_ms:
                self.cluster.expire_offsets()
                self._next_look_at_offsets_ms += settings.offsets_retention_check_interval_ms

    def restart(self, clean: bool) -> None:
        """Every node stops or is killed, and starts again."""
        self.cluster.restart(clean)
        self._settle()

    def move(self, role: Role) -> None:
        """Another node in sync is elected."""
        self._remember(role)
        try:
            self.cluster.elect(self._partition(role))
        except NoSuchNode as error:
            raise Impossible(str(error)) from error
        self._settle()

    def stop(self, role: Role) -> None:
        """The node stops in order."""
        node = self._remember(role)
        self.cluster.stop(node)
        self._down.append((node, True))
        self._settle()

    def kill(self, role: Role) -> None:
        """The node is gone."""
        node = self._remember(role)
        self.cluster.kill(node)
        self._down.append((node, False))
        self._settle()

    def give_back(self) -> None:
        """The node that went down last starts again."""
        if not self._down:
            raise Impossible("no node is down; legal is a Return after a Stop or Kill")
        node, was_clean = self._down.pop()
        self.cluster.start(node, was_clean)
        self._settle()

    def _settle(self) -> None:
        self.cluster.settle()
        self._look()

    def _look(self) -> None:
        """Note the epoch of the coordinator if it has another."""
        epoch = self.cluster.metadata.leader_epoch(self.cluster.metadata.transaction_partition(READER))
        if not self._epochs or self._epochs[-1] != epoch:
            self._epochs.append(epoch)

    def coordinator_epochs(self) -> Sequence[int]:
        """The epochs of x0's coordinator."""
        return self._epochs

    def close(self) -> None:
        """Nothing is left of it."""

    def decisions(self) -> Sequence[Decided]:
        """What the journal holds since the last request."""
        return self._journal.decisions

    # ---------------------------------------------------------------- roles

    def _partition(self, role: Role) -> TopicPartition:
        if role.kind == "coordinator":
            return self.cluster.metadata.transaction_partition(role.name)
        if role.kind == "group" or role.partition is None:
            return self.cluster.metadata.group_partition(role.name)
        return role.partition

    def _node(self, role: Role) -> int:
        """The node that has a role, or had it."""
        if role.is_old:
            holders = self._holders.get(replace(role, is_old=False))
            if not holders:
                raise Impossible(
                    f"nobody was {role.kind} {role.name} before: it has not moved; legal is it after a Move"
                )
            return holders[-1]
        known = self.cluster.metadata.partitions.get(self._partition(role))
        nodes = [] if known is None else [n for n in known.replicas if (n == known.leader) != (role.kind == "follower")]
        if not nodes or nodes[0] not in self.cluster.brokers:
            raise Impossible(f"nobody is {role.kind} {role.name}; nodes that are up are {sorted(self.cluster.brokers)}")
        return nodes[0]

    def _remember(self, role: Role) -> int:
        """The node that has a role, which from now on is the old one."""
        node = self._node(role)
        self._holders.setdefault(role, []).append(node)
        return node


def _answer_of(exchange: Exchange) -> Answer | Closed | Silence:
    if exchange.is_closed:
        return Closed()
    return Silence() if exchange.answer is None else exchange.answer

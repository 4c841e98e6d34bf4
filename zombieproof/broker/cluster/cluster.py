"""Several brokers in one process: who leads what, who lives, what is in flight; all of it moved by whoever drives it.

Theory of operation: a request of a client is put in flight (`send`), and each `step` delivers one message, to a broker
or to a client. A broker answers in the step in which it can. Records that a leader appends are at every replica that
is up when the step ends, and count as replicated when the stores of all that are in sync say that they are durable,
which is at once or later (`flushed`). Elections, clean stops, kills and returns happen on command, and so does
everything that Kafka does by a timer: the sweeps, the repeated sending of markers, the end of what waits for too long.
Nothing else happens.

Source: reference §1, §2.5, §2.12, §3.7.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from zombieproof.broker.authorization.access_list import AccessList, Entry
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.clock import Clock, ManualClock
from zombieproof.broker.cluster.internal_errors import Contain
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import NOBODY, Changes, Metadata
from zombieproof.broker.cluster.network import CLIENT, Answer, Exchange, Message, Network, Request
from zombieproof.broker.cluster.node import Broker, Software, Store, Surroundings
from zombieproof.broker.cluster.replication import Replication
from zombieproof.broker.cluster.settings import RECONFIGURABLE, Settings
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.partition.log import Damaged, MemoryLog, StorageFailure
from zombieproof.broker.partition.snapshots import MemorySnapshots
from zombieproof.broker.store.cleaner import CleanerSettings
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.config_names import named
from zombieproof.broker.store.findings import forgotten
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TRANSACTION_STATE, TopicPartition, check_topic
from zombieproof.model.releases import RELEASES, transaction_version_of
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.topics import MOST_AT_ONCE, at_start

Replicas = list[tuple[int, ...]]
"""The replicas of each partition of a topic, preferred leader first."""

OpenStore = Callable[[int, TopicPartition], Store]
"""Gives the store of one node's replica of a partition."""

SetAside = Callable[[int, TopicPartition], str | None]
"""Moves the damaged files of one node's replica out of the way; says where to, if there are any."""

LOGGER = logging.getLogger("zombieproof.broker")
"""What people who run brokers should know; `zombieproof serve` prints it to stderr."""


def in_memory(node: int, partition: TopicPartition) -> Store:
    """A store that lives as long as the cluster does."""
    return Store(MemoryLog(), MemorySnapshots())


def nothing_is_kept(node: int, partition: TopicPartition) -> None:
    """There are no files: a store in memory is replaced."""


class NoSuchNode(ValueError):
    """A node was named that is not what the command needs (no such node, not in sync, already up or down)."""


class Cluster:
    """A cluster of brokers, numbered from 1 unless told otherwise.

    Args:
        nodes: how many brokers.
        rules: the rules in force in all of them, and the feature level of the cluster.
        settings: their settings.
        topics: the topics that exist, each with its number of partitions (spread over the nodes, one replica each) or
            with the replicas of each partition. The two internal topics exist in any case; where they are not given
            they have as many partitions as `settings` says, and every node has a replica of each.
        clock: where the time comes from.
        metadata: says where ids and groups live; Kafka's own placement by default.
        release: the Kafka release that the brokers are: they end the connection of a request that it does not
            understand. It does not choose the rules (``rules.preset_for`` does).
        open_store: gives the store of a replica when it is first needed; in memory by default. It outlives its broker.
        journal: where decisions and moves of all brokers go; nowhere by default.
        was_clean: whether whoever used the stores before stopped in order.
        access: who may do what; None: everybody everything, and nobody is asked who he is.
        set_aside: keeps the damaged files of a replica out of the way of new ones; returned is where.
        first_node: the number of the first broker; the others follow it.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each has a default, and who builds a cluster names the few that matter
        self,
        nodes: int = 1,
        rules: Rules | None = None,
        settings: Settings | None = None,
        topics: Mapping[str, int | Replicas] | None = None,
        clock: Clock | None = None,
        metadata: Metadata | None = None,
        release: str = RELEASES[-1],
        open_store: OpenStore = in_memory,
        journal: Journal | None = None,
        was_clean: bool = True,
        access: AccessList | None = None,
        set_aside: SetAside = nothing_is_kept,
        first_node: int = 1,
    ) -> None:
        self.journal = journal or Journal()
        self.clock = clock or ManualClock()
        self.settings = replace(settings or Settings())
        self.network = Network()
        self.metadata = metadata or Metadata()
        self.stores: dict[tuple[int, TopicPartition], Store] = {}
        self._open_store, self._set_aside = open_store, set_aside
        self.brokers: dict[int, Broker] = {}
        self.replication = Replication(self.metadata, self.stores, self.brokers)
        self.rules = replace(rules or Rules())
        self.features_epoch = 1
        steady = self.journal.steady(self.clock)
        self.access = access
        self._surroundings = Surroundings(
            self.settings, steady, self.journal, self.metadata, self.network, access=access
        )
        self.fetch_budget = self._surroundings.fetch_budget
        self._node_ids = self.metadata.nodes = tuple(range(first_node, first_node + nodes))
        self._software = self._surroundings.software
        self._software.update(dict.fromkeys(self._node_ids, Software(self.rules, release)))
        for topic, partitions in self._all_topics(topics or {}).items():
            if self.metadata.count(topic) == 0:
                self.metadata.create(topic, partitions)
        self.journal.opened(self, was_clean)
        for node in self._node_ids:
            self._start(node, was_clean)
        damaged = [each for each, store in self.stores.items() if store.log.offline is not None]
        for node, partition in damaged:
            self._replace(node, partition)
            self._answer_for_damaged(node, partition)
        if not was_clean:
            self._elect_longest()
        self._take_over(self.metadata.partitions)
        for partition, known in self.metadata.partitions.items():
            self._bring_up_to_date(partition, *(node for node in known.replicas if node != known.leader))
        for node, partition in damaged:
            self._fetch_again(node, partition)
        self.settle()

    def _all_topics(self, given_topics: Mapping[str, int | Replicas]) -> dict[str, Replicas]:
        every = dict[str, Replicas]()
        for topic in given_topics:
            check_topic(topic)
        counts = {
            TRANSACTION_STATE: self.settings.transaction_state_log_num_partitions,
            CONSUMER_OFFSETS: self.settings.offsets_topic_num_partitions,
        }
        for topic, given in {**counts, **given_topics}.items():
            every[topic] = self._spread(topic, given) if isinstance(given, int) else given
        return every

    def _spread(self, topic: str, partitions: int) -> Replicas:
        if at_start(partitions).error != Error.NONE:
            raise ValueError(
                f"topic {topic!r} would have {partitions:,} partitions: at most {MOST_AT_ONCE:,} can be made at once, "
                "as by a request to Kafka; CreatePartitions adds more"
            )
        ids = self._node_ids
        width = len(ids) if topic in INTERNAL_TOPICS else 1
        return [tuple(ids[(first + i) % len(ids)] for i in range(width)) for first in range(partitions)]

    # ---------------------------------------------------------------- requests and steps

    def send(self, request: Request, node: int | None = None, principal: Principal | None = None) -> Exchange:
        """Put a client's request in flight, to `node` or to the first node that is up; `principal` is who he is.

        Raises:
            NoSuchNode: `node` does not exist, or nobody is up.
        """
        receiver = next(iter(sorted(self.brokers)), None) if node is None else node
        if receiver not in self._node_ids:
            raise NoSuchNode(f"node {receiver} cannot be asked; nodes are {_listed(self._node_ids)}")
        number = self.network.request(CLIENT, receiver, request, principal)
        said = {} if principal is None else {"principal": list(principal)}
        self.journal.caused("send", message=self.network.in_flight[-1], **said)
        if receiver not in self.brokers:
            self.network.in_flight.pop()
            self.network.answer(number, receiver, CLIENT, None)
        return self.network.exchanges[number]

    def deliver(self, message: Message) -> None:
        """One step: a message in flight arrives."""
        self.journal.caused("deliver", message=message)
        self._deliver(message)

    def lose(self, message: Message) -> None:
        """`message`, which is in flight, does not arrive: whoever waits for it sees the connection end."""
        self.journal.caused("lose", message=message)
        self.network.lose(message)

    def double(self, message: Message) -> Message:
        """A request that is in flight was sent twice: nobody waits for the answer to the copy, which is returned.

        Raises:
            ValueError: `message` is an answer, or the end of a connection.
        """
        self.network.double(message)
        self.journal.caused("double", message=message)
        return self.network.in_flight[-1]

    def _deliver(self, message: Message) -> None:
        self.network.in_flight.remove(message)
        if message.receiver == CLIENT:
            self.network.arrive(message)
        elif message.receiver in self.brokers:
            broker = self.brokers[message.receiver]
            broker.receive(message)
            if self.metadata.changes:
                self._follow(self.metadata.take_changes())
            self.replication.replicate(broker)
            self._rebuild_coordinators()
        elif not message.is_answer:
            self.network.answer(message.number, message.receiver, message.sender, None)

    def step(self) -> bool:
        """Deliver the message that is in flight for longest; False if there is none."""
        if not self.network.in_flight:
            return False
        self.deliver(self.network.in_flight[0])
        return True

    def settle(self) -> None:
        """Step until nothing is in flight."""
        while self.step():
            pass

    def ask(self, request: Request, node: int | None = None, principal: Principal | None = None) -> Answer | None:
        """Send a request, let everything arrive, and return the answer; None: there was none."""
        exchange = self.send(request, node, principal)
        self.settle()
        del self.network.exchanges[exchange.number]
        return exchange.answer

    def disconnect(self, exchange: Exchange) -> None:
        """The client of a request hangs up, and is not answered any more. What it asked for may happen all the same."""
        self.journal.caused("disconnect", number=exchange.number)
        self.network.exchanges.pop(exchange.number, None)
        exchange.is_closed = True
        if exchange.node in self.brokers:
            self.brokers[exchange.node].desk.disconnected(exchange.number)

    def faulted(self, **about: object) -> None:
        """Somebody does something to this cluster on purpose: it stands in the trace, and nothing else comes of it."""
        self.journal.caused("fault", **about)

    def flushed(self, node: int, partition: TopicPartition) -> None:
        """The store of a replica has made more of it durable; who waits for that goes on."""
        self.journal.caused("flushed", node=node, partition=partition)
        self.replication.raise_high_watermark(partition)
        leader = self.leader_of(partition)
        if leader is not None:
            self.replication.replicate(self.brokers[leader])
        self._rebuild_coordinators()

    # ---------------------------------------------------------------- timers, on command

    def abort_timed_out_transactions(self, node: int | None = None) -> None:
        """Each coordinator (or that of `node`) looks once for transactions that were open for too long."""
        self._on_each(node, Broker.abort_timed_out_transactions)

    def remove_expired_ids(self, node: int | None = None) -> None:
        """Each coordinator looks once for transactional ids that were unused for too long."""
        self._on_each(node, Broker.remove_expired_ids)

    def expire_producers(self, node: int | None = None) -> None:
        """Each replica looks once for producers that were silent, and verifications that were unused, for too long."""
        self._on_each(node, Broker.expire_producers)

    def expire_offsets(self, node: int | None = None) -> None:
        """Each group coordinator looks once for offsets that nobody needed for too long, and groups without any."""
        self._on_each(node, Broker.expire_offsets)

    def end_waits(self, node: int | None = None) -> None:
        """Each broker goes on with what has waited for long enough: fetches, appends, requests to other brokers."""
        self._on_each(node, Broker.end_waits)

    @property
    def next_wait_ms(self) -> int:
        """When `end_waits` has something to do again; FOR_EVER if nothing waits for a time."""
        return min((broker.desk.waits.next_ms for broker in self.brokers.values()), default=FOR_EVER)

    def resend_markers(self, node: int | None = None) -> None:
        """Each coordinator sends again the markers that could not be written."""
        self._on_each(node, Broker.send_markers)

    def sweep(self) -> None:
        """Everything that Kafka does by a timer, once, with all that follows from it.

        But for `expire_offsets`: between two looks at the offsets of groups lie ten minutes.
        """
        for timer in (
            self.resend_markers,
            self.abort_timed_out_transactions,
            self.remove_expired_ids,
            self.expire_producers,
            self.end_waits,
        ):
            timer()
            self.settle()

    def _on_each(self, node: int | None, timer: Callable[[Broker], None], *, is_command: bool = True) -> None:
        if is_command:
            self.journal.caused("timer", node=node, name=timer.__name__)
        for broker in [self.brokers[node]] if node is not None else list(self.brokers.values()):
            try:
                timer(broker)
            except Exception as error:  # noqa: BLE001  # `failed` raises what it does not contain
                broker.failed(timer.__name__, None, error)
            self.replication.replicate(broker)
        self._rebuild_coordinators()

    # ---------------------------------------------------------------- internal errors

    def contain_errors(self, contain: Contain) -> None:
        """From now on an internal error ends what it happened in, and `contain` hears of it; see `internal_errors`."""
        self._surroundings.contain = contain

    def _rebuild_coordinators(self) -> None:
        """Where an internal error was contained, the coordinators of the broker are again what their logs say."""
        for node in [broker.node_id for broker in self.brokers.values() if broker.rebuilds_coordinators]:
            self.brokers[node].rebuilds_coordinators = False
            for partition, known in self.metadata.partitions.items():
                if partition[0] in INTERNAL_TOPICS and known.leader == node:
                    self._hand_over(partition, node)

    # ---------------------------------------------------------------- administration

    def create_topic(self, topic: str, partitions: int | Replicas, config: LogConfig | None = None) -> None:
        """A new topic: so many partitions, spread over the nodes with one replica each, or with these replicas.

        `config` None: it has the settings that the brokers have for topics without any of their own.

        Raises:
            ValueError: there is one of that name, or Kafka takes no such name or number.
        """
        check_topic(topic)
        if self.metadata.count(topic):
            raise ValueError(f"there is a topic {topic!r} already")
        replicas = self._spread(topic, partitions) if isinstance(partitions, int) else partitions
        if not replicas:
            raise ValueError(f"topic {topic!r} would have no partitions: at least 1 is needed")
        if config is not None:
            self.metadata.configs[topic] = config
        of_topic = named(self.metadata.config_of(topic))
        self.journal.caused("create", name=topic, replicas=[list(each) for each in replicas], config=of_topic)
        self.metadata.create(topic, replicas)
        self._add(self.metadata.partitions_of([topic]))

    def _follow(self, changes: Changes) -> None:
        """What a request has changed of the topics is so in all brokers."""
        self._remove(changes)
        self._add([each for each in changes.created if self.metadata.exists(each)])
        for topic in changes.configured:
            self._configure(topic)
        for partition, node in changes.elected:
            self._hand_over(partition, node)

    def _add(self, partitions: list[TopicPartition]) -> None:
        """Partitions are new: whoever is to have a replica has one, and their leaders lead."""
        for partition in partitions:
            for node in self.metadata.partitions[partition].replicas:
                self.stores[node, partition] = self._open_store(node, partition)
                if node in self.brokers:
                    self.brokers[node].add_replica(partition, self.stores[node, partition], was_clean=True)
        self._take_over(partitions)

    def _configure(self, topic: str) -> None:
        """The settings of a topic's logs have changed."""
        config = self.metadata.config_of(topic)
        for (node, partition), store in self.stores.items():
            if partition[0] == topic:
                store.log.configure(config)
                if node in self.brokers:
                    self.brokers[node].partitions.replicas[partition].config = config

    def offsets_can_go(self) -> bool:
        """Whether each group coordinator has its log and can write it; one whose log is damaged has none."""
        for partition in self.metadata.partitions_of([CONSUMER_OFFSETS]):
            node = self.leader_of(partition)
            if node is None or (log := self.stores[node, partition].log).offline is not None:
                continue
            if log.failure is not None or not self.brokers[node].groups.is_loaded(partition[1]):
                return False
        return True

    def set_access(self, entries: Iterable[Entry]) -> None:
        """Other rights are in force from now on, for what is asked and answered then.

        Raises:
            ValueError: nobody here asks for rights.
        """
        if self.access is None:
            raise ValueError("this cluster asks nobody for rights: give it an access list when it is made")
        given = frozenset(entries)
        self.journal.caused("access", entries=sorted(list(entry) for entry in given))
        self.access.set_entries(given)

    def _remove(self, changes: Changes) -> None:
        """Topics were deleted: no broker has anything of them any more, and then whoever waits for them looks again."""
        partitions = changes.deleted
        gone = set(partitions)
        for each in [known for known in self.stores if known[1] in gone]:
            del self.stores[each]
        brokers = list(self.brokers.values()) if partitions else []
        held = [broker.remove_replicas(partitions) for broker in brokers]
        for broker, theirs in zip(brokers, held, strict=True):
            broker.forget(partitions, changes.deleted_topics, theirs)
            self.replication.replicate(broker)

    def raise_log_start(self, node: int, partition: TopicPartition, offset: int) -> None:
        """Records of a replica below `offset` are not served any more (retention)."""
        self.journal.caused("retention", node=node, partition=partition, offset=offset)
        self.brokers[node].partitions.replicas[partition].raise_log_start(offset)

    def compact(self, node: int, partition: TopicPartition, dirty: tuple[int, int], delete_retention_ms: int) -> None:
        """A replica's log is cleaned up to where `dirty` ends, and was up to where it begins; see `Replica.compact`."""
        self.journal.caused(
            "compact", node=node, partition=partition, dirty=list(dirty), delete_retention_ms=delete_retention_ms
        )
        self.brokers[node].partitions.replicas[partition].compact(*dirty, CleanerSettings(delete_retention_ms))

    def configure(self, name: str, value: int) -> None:
        """Change a setting in all brokers, also in those that start later.

        Raises:
            ValueError: it cannot be changed while brokers run.
        """
        if name not in RECONFIGURABLE:
            raise ValueError(
                f"{name} needs a restart; while brokers run {', '.join(sorted(RECONFIGURABLE))} may change"
            )
        self.journal.caused("configure", name=name, value=value)
        setattr(self.settings, name, value)

    def upgrade(self, node: int, rules: Rules, release: str) -> None:
        """`node`, which is down, runs another release when it starts; the feature level stays.

        Raises:
            NoSuchNode: it is up, or does not exist.
        """
        if node not in self._node_ids or node in self.brokers:
            raise NoSuchNode(f"node {node} is not down; down are {_listed(set(self._node_ids) - set(self.brokers))}")
        self.journal.caused("upgrade", node=node, rules=rules, release=release)
        at_level = replace(rules, transaction_version=self.rules.transaction_version)
        self._software[node] = Software(at_level, release)

    def finalize_transaction_version(self, version: int) -> None:
        """Raise or lower the feature ``transaction.version`` of the cluster: all brokers follow it at once.

        Raises:
            UnknownRelease: a broker is of a release that has no such version.
        """
        for software in self._software.values():
            transaction_version_of(software.release, version)
        self.journal.caused("finalize", version=version)
        for rules in (self.rules, *(software.rules for software in self._software.values())):
            rules.transaction_version = version
        self.features_epoch += 1

    def release_of(self, node: int) -> str:
        """The release that `node` runs."""
        return self._software[node].release

    # ---------------------------------------------------------------- stores that are lost

    def lost_store(self, node: int, partition: TopicPartition) -> None:
        """The log of a replica was found damaged, or cannot be written any more: another replica leads, if one can.

        A damaged log whose partition has a leader is set aside and fetched again. Without another replica a damaged
        partition is offline; one that cannot be written is still read.
        """
        damage = self.stores[node, partition].log.offline
        self.journal.caused("lost_store", node=node, partition=partition, is_damaged=damage is not None)
        old = self.metadata.partitions[partition].leader
        self._replace(node, partition)
        new = self.metadata.partitions[partition].leader
        if new != old and new == NOBODY:
            self.brokers[node].go_offline(partition)
        elif new != old:
            self.brokers[node].step_down(partition)
            self._take_over([partition])
        self._fetch_again(node, partition)
        self.replication.raise_high_watermark(partition)
        self.brokers[node].desk.changed(partition)
        self._on_each(None, Broker.send_markers, is_command=False)

    def reopened(self, node: int, partition: TopicPartition, store: Store) -> None:
        """The log of a replica can be written again: `store` has what was durable of it."""
        self.journal.caused("reopened", node=node, partition=partition, end=store.log.end_offset)
        self.stores[node, partition], broker = store, self.brokers[node]
        broker.add_replica(partition, store, was_clean=False)
        known = self.metadata.partitions[partition]
        if store.log.offline is not None:
            self.lost_store(node, partition)
        elif node in known.in_sync and known.leader in (node, NOBODY):
            broker.go_offline(partition)
            self.metadata.elect(partition, node)
            self._take_over([partition])
            self._bring_up_to_date(partition, *(each for each in known.replicas if each != node))
        else:
            self._bring_up_to_date(partition, node)
        self._on_each(None, Broker.send_markers, is_command=False)

    def _elect_longest(self) -> None:
        """After a crash the replica in sync whose log is longest leads: what another has lost is fetched from it."""
        for partition, known in self.metadata.partitions.items():
            if len(known.in_sync) < 2 or known.leader == NOBODY:
                continue
            ends = {node: self._end_of(node, partition) for node in (known.leader, *known.in_sync)}
            longest = max(ends, key=lambda node: ends[node])
            if ends[longest] > ends[known.leader]:
                self.metadata.elect(partition, longest)

    def _end_of(self, node: int, partition: TopicPartition) -> tuple[int, int]:
        """The newest leader epoch in a log, and where it ends; a log that is offline has neither."""
        log = self.stores[node, partition].log
        newest = max((epoch for epoch, _ in log.leader_epochs), default=NONE)
        return (newest, log.end_offset) if log.offline is None else (NONE, NONE)

    def _replace(self, node: int, partition: TopicPartition) -> None:
        """Without the store of `node`: it is not in sync, and does not lead, where another replica is sound."""
        known, log = self.metadata.partitions[partition], self.stores[node, partition].log
        sound = [each for each in known.in_sync if each != node and self.replication.is_sound(partition, each)]
        if sound:
            self.metadata.set_in_sync(partition, tuple(each for each in known.in_sync if each != node))
        if known.leader == node and (sound or log.offline is not None):
            self.metadata.elect(partition, sound[0] if sound else NOBODY)
        if log.offline is not None and log.failure is None and known.leader == NOBODY:
            LOGGER.error("%s is offline: %s. Other partitions are served", _name(partition), _sentence(log.offline))

    def _answer_for_damaged(self, node: int, partition: TopicPartition) -> None:
        """Where nobody leads, the broker with the damaged log says so to whoever asks it."""
        if self.leader_of(partition) is None and self.stores[node, partition].log.offline is not None:
            self.brokers[node].take_over(partition)

    def _fetch_again(self, node: int, partition: TopicPartition) -> None:
        """A damaged log is set aside, and an empty one takes what the leader has."""
        damage, leader = self.stores[node, partition].log.offline, self.leader_of(partition)
        is_closed = self.stores[node, partition].log.failure is not None
        if damage is None or is_closed or leader in (None, node) or node not in self.brokers:
            return
        try:
            aside = self._set_aside(node, partition)
            store = self.stores[node, partition] = self._open_store(node, partition)
        except (OSError, StorageFailure) as error:
            what = _name(partition), node, _sentence(damage), error
            LOGGER.warning("%s at broker %d is offline: %s. Its files cannot be moved: %s", *what)
            return
        self.brokers[node].add_replica(partition, store, was_clean=True)
        self._bring_up_to_date(partition, node)
        kept = "there were no files" if aside is None else f"the damaged files are in {aside}"
        if start := self.stores[node, partition].log.start_offset:
            kept += f". It lost {forgotten(start)}"
        LOGGER.warning(
            "%s at broker %d: %s. Its log was fetched again from broker %d; %s",
            _name(partition),
            node,
            "; ".join(map(str, damage.findings)) or _sentence(damage),
            leader,
            kept,
        )

    # ---------------------------------------------------------------- who is who

    @property
    def nodes(self) -> tuple[int, ...]:
        """Every node, up or down."""
        return self._node_ids

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The node that leads `partition`."""
        return self.metadata.leader_of(partition).node

    def coordinator_of(self, transactional_id: str) -> int | None:
        """The node that coordinates a transactional id."""
        return self.leader_of(self.metadata.transaction_partition(transactional_id))

    def group_coordinator_of(self, group: str) -> int | None:
        """The node that coordinates a consumer group."""
        return self.leader_of(self.metadata.group_partition(group))

    # ---------------------------------------------------------------- failover on command

    def elect(self, partition: TopicPartition, node: int | None = None, old_resigns: bool = True) -> None:
        """Another in-sync replica (the next one, or `node`) leads `partition`; the old leader lives on.

        Unless `old_resigns`, a coordinator that is deposed does not know it before it is told to `resign`: it goes on
        answering from memory, and only its appends fail.

        Raises:
            NoSuchNode: there is no other, or `node` is none.
        """
        known = self.metadata.partitions[partition]
        others = [n for n in known.replicas if n in known.in_sync and n != known.leader]
        if not others or node not in (None, *others):
            raise NoSuchNode(
                f"{_name(partition)} cannot be led by {node or 'another node'}; in sync are {_listed(others)}"
            )
        new = others[0] if node is None else node
        self.journal.caused("elect", node=new, partition=partition, old_resigns=old_resigns)
        self._hand_over(partition, new, old_resigns)

    def resign(self, node: int) -> None:
        """`node` learns which partitions it does not lead any more."""
        self._need_up(node)
        self.journal.caused("resign", node=node)
        for partition, known in self.metadata.partitions.items():
            if node in known.replicas and known.leader != node:
                self.brokers[node].step_down(partition)

    def stop(self, node: int) -> None:
        """A controlled shutdown: its partitions get other leaders, then `node` stops cleanly.

        What it answers meanwhile to those who wait reaches them before the connections end.
        """
        self._need_up(node)
        self.journal.caused("stop", node=node)
        sent_before = list(self.network.in_flight)
        for partition, known in self.metadata.partitions.items():
            if known.leader == node and len(known.in_sync) > 1:
                self._hand_over(partition, next(n for n in known.replicas if n in known.in_sync and n != node))
        self.brokers[node].close()
        for message in [each for each in self.network.in_flight if each not in sent_before]:
            if message.is_answer and message.sender == node and message.receiver == CLIENT:
                self._deliver(message)
        self._lose(node)

    def kill(self, node: int) -> None:
        """`node` is gone at once with all that it had in memory only; its partitions get other leaders."""
        self._need_up(node)
        self.journal.caused("kill", node=node)
        self._lose(node)

    def start(self, node: int, was_clean: bool = True) -> None:
        """`node` comes back on its data, catches up, and leads what nobody else in sync could lead meanwhile.

        Raises:
            NoSuchNode: it is up already, or does not exist.
        """
        if node not in self._node_ids or node in self.brokers:
            raise NoSuchNode(f"node {node} cannot start; down are {_listed(set(self._node_ids) - set(self.brokers))}")
        self.journal.caused("start", node=node, was_clean=was_clean)
        self._start(node, was_clean)
        led = []
        for partition, known in self.metadata.partitions.items():
            if node not in known.replicas:
                continue
            if known.leader == NOBODY and node in known.in_sync and self.stores[node, partition].log.offline is None:
                self.metadata.elect(partition, node)
                led.append(partition)
            elif known.leader != NOBODY:
                self._bring_up_to_date(partition, node)
                self._fetch_again(node, partition)
            else:
                self._answer_for_damaged(node, partition)
        self._take_over(led)
        self._on_each(None, Broker.send_markers, is_command=False)

    def _bring_up_to_date(self, partition: TopicPartition, *nodes: int) -> None:
        for node in nodes:
            self.replication.catch_up(partition, node)
            self.replication.raise_high_watermark(partition)

    def restart(self, clean: bool) -> None:
        """Every node stops (`clean`) or is killed, and starts again on its data."""
        nodes = tuple(self.brokers)
        for node in nodes:
            self.stop(node) if clean else self.kill(node)
        for node in reversed(nodes):
            self.start(node, clean)

    def _need_up(self, node: int) -> None:
        if node not in self.brokers:
            raise NoSuchNode(f"node {node} is not up; up are {_listed(self.brokers)}")

    def _start(self, node: int, was_clean: bool) -> None:
        theirs = [partition for partition, known in self.metadata.partitions.items() if node in known.replicas]
        for partition in theirs:
            if (node, partition) not in self.stores:
                store = self.stores[node, partition] = self._open_store(node, partition)
                if store.log.end_offset > 0 or store.log.offline is not None:
                    self.journal.found(node, partition, store)
        stores = {partition: self.stores[node, partition] for partition in theirs}
        self.brokers[node] = Broker(node, self._surroundings, stores, was_clean)
        self.metadata.up.add(node)
        if self.metadata.controller == NOBODY:
            self.metadata.controller = node
        self.brokers[node].begin()

    def _lose(self, node: int) -> None:
        del self.brokers[node]
        self.metadata.up.discard(node)
        if self.metadata.controller == node:
            self.metadata.controller = min(self.brokers, default=NOBODY)
        self.network.cut_off(node)
        led, shrunk = [], []
        for partition, known in self.metadata.partitions.items():
            if node not in known.in_sync:
                continue
            shrunk.append(partition)
            left = tuple(n for n in known.in_sync if n != node)
            if left:
                self.metadata.set_in_sync(partition, left)
            if known.leader == node:
                self.metadata.elect(partition, left[0] if left else NOBODY)
                led.append(partition)
        self._take_over(led)
        for partition in shrunk:
            self.replication.raise_high_watermark(partition)
        self._on_each(None, Broker.send_markers, is_command=False)

    def _hand_over(self, partition: TopicPartition, node: int, old_resigns: bool = True) -> None:
        old = self.metadata.partitions[partition].leader
        self.metadata.elect(partition, node)
        if old in self.brokers:
            self.brokers[old].lose_leadership(partition)
            if old_resigns:
                self.brokers[old].step_down(partition)
        self._take_over([partition])
        self._on_each(None, Broker.send_markers, is_command=False)

    def _take_over(self, partitions: Iterable[TopicPartition]) -> None:
        """New leaders begin. Everybody knows them before a coordinator loads: it asks at once who leads what."""
        for partition in sorted(partitions, key=lambda led: led[0] == TRANSACTION_STATE):
            leader = self.leader_of(partition)
            if leader is not None:
                self.brokers[leader].take_over(partition)
                self.replication.replicate(self.brokers[leader])


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(str(node) for node in sorted(nodes)) or "none"


def _sentence(damage: Damaged) -> str:
    return str(damage).replace("\n", "; ").rstrip(".")


def _name(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"

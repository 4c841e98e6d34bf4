"""What each kind of action of the checker (``zombieproof.checker.transactions.action_kinds``) is at a live cluster.

`COMMANDS`, `OF_CLIENTS` and `NO_LEVER` hold every kind between them, so that neither side knows a fault that the
other does not know. Where the checker says "at any moment", the subject is made old enough here, and the broker's own
sweep finds it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from zombieproof.bridge.between_brokers import (
    allocate_block,
    close_log,
    double_block,
    doubt_append,
    fail_append,
    give_block,
    give_late_block,
    lose_block,
    make_append,
    reject_append,
    tell_append,
)
from zombieproof.bridge.clusters import asker_of_block
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.network import Answer, Message, Request
from zombieproof.broker.cluster.node import AppendFault
from zombieproof.broker.cluster.operations import MarkersUnderWay
from zombieproof.broker.partition.snapshots import encode
from zombieproof.checker.transactions.action_kinds import AT_LOGS, KINDS_ON_REPLICAS, Action
from zombieproof.clients.read_committed import Delivered, FetchFilter
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import JoinGroup, JoinGroupAnswer, LeaveGroup, SyncGroup
from zombieproof.messages.partitions import FetchAnswer, Fetched
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, Error

COORDINATORS: TopicPartition = (TRANSACTION_STATE, 0)
"""The partition whose leader coordinates every transactional id of a small cluster."""


# ---------------------------------------------------------------- messages


def deliver(cluster: Cluster, message: Message) -> None:
    """A message arrives."""
    cluster.deliver(message)


def answer_to(cluster: Cluster, message: Message) -> Message | None:
    """The answer to a request, if it is in flight."""
    answers = (each for each in cluster.network.in_flight if each.is_answer and each.number == message.number)
    return next(answers, None)


def lose_answer(cluster: Cluster, message: Message) -> None:
    """A request arrives and has its effect; the answer, if there is one at once, does not arrive."""
    cluster.deliver(message)
    answer = answer_to(cluster, message)
    if answer is not None:
        cluster.network.lose(answer)


def double(cluster: Cluster, message: Message) -> Message:
    """A request was sent twice; nobody waits for the answer to the copy, which is returned."""
    cluster.network.double(message)
    return cluster.network.in_flight[-1]


def append_unknown(cluster: Cluster, message: Message) -> None:
    """A request arrives at its coordinator; what it wants appended is in the log, but reported as failed."""
    faults = cluster.brokers[message.receiver].transactions.append_faults
    faults.append(AppendFault(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, is_written=True))
    cluster.deliver(message)
    faults.clear()


def disconnect(cluster: Cluster, message: Message) -> Message | None:
    """A leader's connection to a coordinator breaks while `message`, its question or the answer, is under way.

    A question that was under way still is, returned, and nobody waits for its answer any more.
    """
    left = None if message.is_answer else double(cluster, message)
    cluster.network.lose(message)
    closed = answer_to(cluster, message)
    assert closed is not None, "whoever waits for an answer sees the connection end"
    cluster.deliver(closed)
    return left


def forget_answer(cluster: Cluster, message: Message) -> None:
    """The answer to a question that nobody waits for."""
    answer = answer_to(cluster, message)
    if answer is not None:
        cluster.network.in_flight.remove(answer)


def ask(cluster: Cluster, request: Request, node: int) -> Answer | None:
    """Ask a broker and handle its answer; whatever else is in flight stays there."""
    exchange = cluster.send(request, node)
    for _ in range(2):
        cluster.deliver(next(each for each in cluster.network.in_flight if each.number == exchange.number))
    del cluster.network.exchanges[exchange.number]
    return exchange.answer


# ---------------------------------------------------------------- coordinators


def fail_over(cluster: Cluster) -> None:
    """The coordinator's broker crashes and is there again at once; another one has loaded the log meanwhile.

    What it had sent, and what was on its way to it, is still on its way, but for what it had asked the controller.
    """
    node = _leader(cluster, COORDINATORS)
    under_way = [each for each in cluster.network.in_flight if asker_of_block(each) != node]
    cluster.kill(node)
    cluster.start(node, was_clean=False)
    _keep_under_way(cluster, under_way)


def depose(cluster: Cluster) -> None:
    """Another broker is elected coordinator; the old one does not know it yet."""
    cluster.elect(COORDINATORS, old_resigns=False)


def resign(cluster: Cluster, node: int) -> None:
    """A deposed coordinator learns of it."""
    cluster.resign(node)


def time_out(cluster: Cluster, transactional_id: str) -> None:
    """The transaction of an id is open for longer than its time-out when the coordinator looks."""
    transaction = _held(cluster, transactional_id)
    if transaction is not None and transaction.start_ms != NONE:
        transaction.start_ms = cluster.clock.now_ms() - transaction.timeout_ms - 1
        cluster.abort_timed_out_transactions(_leader(cluster, COORDINATORS))


def expire(cluster: Cluster, transactional_id: str) -> None:
    """An id was used last longer ago than ids are kept when the coordinator looks."""
    transaction = _held(cluster, transactional_id)
    if transaction is not None:
        if transaction.last_update_ms != NONE:
            transaction.last_update_ms = cluster.clock.now_ms() - cluster.settings.transactional_id_expiration_ms
        cluster.remove_expired_ids(_leader(cluster, COORDINATORS))


def _held(cluster: Cluster, transactional_id: str) -> Transaction | None:
    coordinator = cluster.brokers[_leader(cluster, COORDINATORS)].coordinator
    return coordinator.entries(COORDINATORS[1]).get(transactional_id)


# ---------------------------------------------------------------- partitions


def lose_leader(cluster: Cluster, partition: TopicPartition) -> None:
    """The leader of a partition crashes, and there is no other replica; what was on its way to it waits on its way."""
    old, under_way = _leader(cluster, partition), list(cluster.network.in_flight)
    cluster.kill(old)
    _keep_under_way(cluster, [each for each in under_way if each.sender != old and not _answers(each, old)])


def _answers(message: Message, node: int) -> bool:
    return message.is_answer and message.receiver == node


def elect(cluster: Cluster, partition: TopicPartition, *, was_clean: bool = False) -> None:
    """The replica that led last is there again, with what its log says, and leads; or its snapshot (`was_clean`)."""
    cluster.start(cluster.metadata.partitions[partition].in_sync[0], was_clean)


def change_leader(cluster: Cluster, partition: TopicPartition) -> None:
    """The leader of a partition crashes, and another replica leads.

    Requests that were on their way to it are on their way to the new one. Coordinators see that the connection ends,
    and send their markers again; what is left of a late copy of a marker goes to the new leader too.
    """
    old, under_way = _leader(cluster, partition), list(cluster.network.in_flight)
    cluster.kill(old)
    new = _leader(cluster, partition)
    waited_for = {each.number for each in under_way if _is_of_coordinator(cluster, each)}
    for message in [each for each in cluster.network.in_flight if each not in under_way and each.body is None]:
        if message.number in waited_for:
            cluster.deliver(message)
            cluster.resend_markers()
        else:
            cluster.network.in_flight.remove(message)
    for message in under_way:
        if message.receiver == old and not message.is_answer and message.number not in waited_for:
            again = Message(message.number, message.sender, new, message.body)
            cluster.network.in_flight.append(again)


def lose_memory(cluster: Cluster, partition: TopicPartition) -> None:
    """Whoever leads a partition next knows nothing of what it has: its snapshot names no producer.

    A replica that was stopped in order believes its snapshot and does not read what lies below (reference §3.7): each
    that is up and follows stops and starts again; one that is down will find it.
    """
    known = cluster.metadata.partitions[partition]
    for node in [each for each in known.in_sync if each != known.leader]:
        if node in cluster.brokers:
            cluster.stop(node)
        store = cluster.stores[node, partition]
        store.snapshots.write(store.log.end_offset, encode(()))
        if known.leader != NOBODY:
            cluster.start(node, was_clean=True)


def forget_producer(cluster: Cluster, partition: TopicPartition, producer_id: int) -> None:
    """A producer was silent, and its verification unused, for longer than a leader remembers when it looks."""
    _forget(cluster, partition, producer_id, is_silent=True)


def forget_guard(cluster: Cluster, partition: TopicPartition, producer_id: int) -> None:
    """A verification was unused for longer than a leader remembers it, but its producer was not silent."""
    _forget(cluster, partition, producer_id, is_silent=False)


def _forget(cluster: Cluster, partition: TopicPartition, producer_id: int, *, is_silent: bool) -> None:
    node = _leader(cluster, partition)
    known = cluster.brokers[node].partitions.replicas[partition].producers._producers.get(producer_id)
    long_ago = cluster.clock.now_ms() - cluster.settings.producer_id_expiration_ms
    if known is not None:
        known.last_timestamp_ms = long_ago if is_silent else cluster.clock.now_ms()
        known.verified_ms = NONE if known.verified_ms == NONE else long_ago
        cluster.expire_producers(node)


# ---------------------------------------------------------------- consumers


def fetch(cluster: Cluster, reader: FetchFilter) -> Fetched:
    """A consumer fetches everything that it may have."""
    answer = ask(cluster, reader.request(), _leader(cluster, reader.partition))
    assert isinstance(answer, FetchAnswer)
    return answer.partitions[reader.partition]


def read_one(cluster: Cluster, reader: FetchFilter) -> tuple[Delivered, ...]:
    """A consumer gets one batch of what it may have, by a fetch that ends there."""
    fetched = fetch(cluster, reader)
    return reader.read(replace(fetched, batches=fetched.batches[:1]))


def read_all(cluster: Cluster, reader: FetchFilter) -> tuple[Delivered, ...]:
    """A consumer gets all that it may have."""
    return reader.read(fetch(cluster, reader))


# ---------------------------------------------------------------- groups


def join(cluster: Cluster, group: str) -> str:
    """A member joins a classic group, and the generation that begins with it is durable; returned is its member id."""
    node = cluster.group_coordinator_of(group)
    assert node is not None, "a group is joined at its coordinator"
    joined = ask(cluster, JoinGroup(3, group, ""), node)
    assert isinstance(joined, JoinGroupAnswer)
    ask(cluster, SyncGroup(3, group, joined.generation, joined.member), node)
    return joined.member


def rebalance(cluster: Cluster, group: str, leaves: str) -> str:
    """A member is taken for dead, and another one joins; returned is its member id."""
    node = cluster.group_coordinator_of(group)
    assert node is not None, "a group is left at its coordinator"
    ask(cluster, LeaveGroup(2, group, leaves), node)
    return join(cluster, group)


# ---------------------------------------------------------------- small helpers


def _is_of_coordinator(cluster: Cluster, message: Message) -> bool:
    """Whether a coordinator waits for the answer to markers that it sent with this number."""
    waits = [broker.desk.waits for broker in cluster.brokers.values()]
    found = (each.get(ticket) for each in waits for ticket in each.tickets(message.number))
    return any(isinstance(operation, MarkersUnderWay) for operation in found)


def journal_of(cluster: Cluster) -> KeptJournal:
    """What the brokers of a twin have decided."""
    assert isinstance(cluster.journal, KeptJournal), "a twin keeps the journal of its brokers"
    return cluster.journal


def _leader(cluster: Cluster, partition: TopicPartition) -> int:
    leader = cluster.leader_of(partition)
    assert leader is not None, f"{partition} has no leader to lose"
    return leader


def _keep_under_way(cluster: Cluster, under_way: list[Message]) -> None:
    fresh = [each for each in cluster.network.in_flight if each not in under_way and each.body is not None]
    cluster.network.in_flight[:] = [*under_way, *fresh]


COMMANDS: Mapping[Action, Callable[..., object]] = {
    Action.DELIVER: deliver,
    Action.LOSE_ANSWER: lose_answer,
    Action.DOUBLE: double,
    Action.UNKNOWN_APPEND: append_unknown,
    Action.FAIL_OVER: fail_over,
    Action.DEPOSE: depose,
    Action.RESIGN: resign,
    Action.TIME_OUT: time_out,
    Action.EXPIRE: expire,
    Action.CHANGE_LEADER: change_leader,
    Action.LOSE_LEADER: lose_leader,
    Action.ELECT: elect,
    Action.FORGET_PRODUCER: forget_producer,
    Action.FORGET_GUARD: forget_guard,
    Action.DISCONNECT: disconnect,
    Action.REBALANCE: rebalance,
    Action.READ_ONE: read_one,
    Action.READ_ALL: read_all,
    Action.MAKE_APPEND: make_append,
    Action.FAIL_APPEND: fail_append,
    Action.DOUBT_APPEND: doubt_append,
    Action.REJECT_APPEND: reject_append,
    Action.CLOSE_LOG: close_log,
    Action.TELL_APPEND: tell_append,
    Action.ALLOCATE_BLOCK: allocate_block,
    Action.LOSE_BLOCK: lose_block,
    Action.GIVE_BLOCK: give_block,
    Action.DOUBLE_BLOCK: double_block,
    Action.GIVE_LATE_BLOCK: give_late_block,
}
"""Kind of action -> the command."""

NO_LEVER: Mapping[Action, str] = {
    Action.REFUSE: "batches of one partition share a connection here: a leader that refuses one refuses all behind it",
    Action.ABORT_BY_HAND: "whoever coordinates sends the markers of a twin, and nobody else",
    Action.MISLEAD: "a live producer of a twin is told at once who coordinates",
    Action.RECORD_BLOCK: "the controller of a twin answers when its record is durable, in one step",
    Action.CHANGE_CONTROLLER: "the controller of a twin is one broker, and stays",
    Action.REPLICATE_OFFSETS: "replicas of a twin have what is appended, in the same step",
    Action.ANSWER_COMMIT: "a commit of offsets of a twin is answered in the step of its append",
    Action.FAIL_COMMIT: "the offsets log of a twin takes what it is given",
    Action.DOUBT_COMMIT: "a commit of offsets of a twin is answered in the step of its append",
    Action.CUT_OFFSETS: "replicas of a twin have what is appended, in the same step",
    **dict.fromkeys(KINDS_ON_REPLICAS, "what a twin's leader has in its log is at its other replicas at once"),
    Action.FORGET_PARTITION: "live producers keep sequences by the name of a partition, as Kafka's does",
    Action.DELETE_GROUP: "the group of a twin has members, which stay",
    Action.RECREATE_INPUT: "the input topic of a twin is created once",
    Action.BEGIN_FETCH: "a broker of a twin answers a fetch in one step",
    **dict.fromkeys(AT_LOGS, "logs of a twin are whole: what a leader knows is told by all that was written"),
    Action.COMMIT_PLAINLY: "no member of a twin's group commits by itself",
}
"""Kinds of action that a live cluster has no command for, and why; ``beginning`` refuses what may have them."""

OF_CLIENTS: Mapping[Action, str] = {
    Action.STEP: "an application goes on with its program",
    Action.ABORT_INSTEAD: "an application aborts where its program commits",
    Action.GIVE_UP: "a client's time-out: it stops waiting for a batch or a commit that is still in flight",
    Action.CRASH: "a client's process is gone; what it sent stays in flight",
}
"""Kinds of action that happen at a client: nothing happens at the cluster but what the client sends."""

"""Short live runs that are traced: requests of clients, one after the other, and what happens to the brokers."""

from collections.abc import Callable

from zombieproof.broker.cluster.cluster import Cluster, Replicas
from zombieproof.broker.cluster.live_trace import LiveTrace
from zombieproof.broker.cluster.network import CLIENT
from zombieproof.broker.cluster.settings import Settings
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE

FEW = Settings(transaction_state_log_num_partitions=1, offsets_topic_num_partitions=1)
Identity = tuple[int, int]


def traced(write: Callable[[str], object], rules: Rules | None = None) -> Cluster:
    """Two brokers that lead a partition each, and one that coordinates."""
    places: dict[str, int | Replicas] = {
        "t": [(1,), (2,)],
        "__transaction_state": [(3,)],
        "__consumer_offsets": [(3,)],
    }
    return Cluster(3, rules, FEW, places, journal=LiveTrace(write, "live"))


def init(cluster: Cluster, transactional_id: str, node: int = 3) -> Identity:
    granted = cluster.ask(InitProducerId(4, transactional_id, 60_000, NONE, NONE), node)
    assert isinstance(granted, InitProducerIdAnswer)
    return granted.producer_id, granted.producer_epoch


def init_until_granted(cluster: Cluster, transactional_id: str) -> Identity:
    """As a client that is told that a transaction is being ended, and asks again."""
    while NONE in (identity := init(cluster, transactional_id)):
        pass
    return identity


def produce(cluster: Cluster, identity: Identity, place: TopicPartition, sequence: int = 0, name: str = "x") -> int:
    batch = Batch(*identity, sequence, transactional=True, records=(Record(None, b"v"),))
    leader = cluster.leader_of(place)
    answer = cluster.ask(Produce(12, name, -1, {place: (SentBatch(batch),)}), leader)
    assert isinstance(answer, ProduceAnswer)
    return answer.partitions[place].error


def end(cluster: Cluster, identity: Identity, *, committed: bool, name: str = "x", node: int = 3) -> Identity:
    answer = cluster.ask(EndTxn(5, name, *identity, committed), node)
    assert isinstance(answer, EndTxnAnswer)
    return (answer.producer_id, answer.producer_epoch) if answer.producer_id != NONE else identity


def close(cluster: Cluster) -> None:
    """The run is over, and its trace is closed."""
    cluster.settle()
    assert isinstance(cluster.journal, LiveTrace)
    cluster.journal.end()


def zombie_ends_anothers_transaction(write: Callable[[str], object]) -> None:
    """Without `strict_end`: a producer that was fenced ends the transaction of the one that fenced it."""
    cluster = traced(write, with_switches(preset("newest"), off=("strict_end",)))
    zombie = init(cluster, "x")
    produce(cluster, zombie, ("t", 0))
    owner = init_until_granted(cluster, "x")
    produce(cluster, owner, ("t", 0))
    end(cluster, zombie, committed=False)
    close(cluster)


def marker_is_skipped(write: Callable[[str], object]) -> None:
    """Without `marker_waits_for_leader`: a partition has no leader while its transaction is committed."""
    cluster = traced(write, with_switches(preset("newest"), off=("marker_waits_for_leader",)))
    identity = init(cluster, "x")
    for place in (("t", 0), ("t", 1)):
        produce(cluster, identity, place)
    cluster.kill(1)
    identity = end(cluster, identity, committed=True)
    cluster.start(1, was_clean=False)
    for place in (("t", 0), ("t", 1)):
        produce(cluster, identity, place)
    end(cluster, identity, committed=False)
    close(cluster)


def two_transactions(write: Callable[[str], object]) -> None:
    """All is well: one transaction is committed, one aborted."""
    cluster = traced(write)
    identity = init(cluster, "x")
    for committed in (True, False):
        for place in (("t", 0), ("t", 1)):
            produce(cluster, identity, place)
        identity = end(cluster, identity, committed=committed)
    close(cluster)


def batch_is_written_again(write: Callable[[str], object]) -> None:
    """Without `duplicate_check` and `sequence_check`: the answer to a batch is lost, and it is sent again."""
    cluster = traced(write, with_switches(preset("newest"), off=("duplicate_check", "sequence_check")))
    identity = init(cluster, "x")
    batch = Batch(*identity, 0, transactional=True, records=(Record(None, b"v"),))
    sent = Produce(12, "x", -1, {("t", 0): (SentBatch(batch),)})
    cluster.send(sent, 1)
    while not cluster.network.in_flight[0].is_answer or cluster.network.in_flight[0].receiver != CLIENT:
        cluster.step()
    cluster.lose(cluster.network.in_flight[0])
    cluster.settle()
    cluster.ask(sent, 1)
    end(cluster, identity, committed=True)
    close(cluster)


BREAKING = {
    "only_its_owner_ends_a_transaction": zombie_ends_anothers_transaction,
    "every_open_transaction_is_known_to_its_coordinator": marker_is_skipped,
    "sequences_follow_each_other": batch_is_written_again,
}
"""Promise -> a run that breaks it, under rules that lack one."""

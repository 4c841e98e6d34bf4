"""A zombie at a cluster in this process: three brokers, a coordinator that dies, a commit that comes late.

    python examples/zombie_at_a_live_cluster.py

Every message waits until it is delivered, so the order of things is the program's to choose.
"""

from zombieproof import (
    Answer,
    Batch,
    Cluster,
    EndTxn,
    EndTxnAnswer,
    Error,
    Fetch,
    FetchAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    Isolation,
    Produce,
    Record,
    Request,
    SentBatch,
    preset,
)

SHOP = "shop"
ORDERS = ("orders", 0)


def ask_coordinator(cluster: Cluster, request: Request) -> Answer | None:
    """What the coordinator of the transactional id answers, wherever it is now."""
    return cluster.ask(request, cluster.coordinator_of(SHOP))


def start_producer(cluster: Cluster) -> InitProducerIdAnswer:
    """A producer takes the transactional id; it asks again until the abort of what was open is through."""
    while True:
        answer = ask_coordinator(cluster, InitProducerId(version=5, transactional_id=SHOP, timeout_ms=60_000))
        assert isinstance(answer, InitProducerIdAnswer)
        if answer.error != Error.CONCURRENT_TRANSACTIONS:
            return answer


def write(cluster: Cluster, producer: InitProducerIdAnswer, value: bytes) -> None:
    """A record in a transaction; from version 12 on the broker lets the partition join by itself."""
    identity = producer.producer_id, producer.producer_epoch
    batch = Batch(*identity, base_sequence=0, transactional=True, records=(Record(None, value),))
    cluster.ask(Produce(12, SHOP, acks=-1, partitions={ORDERS: (SentBatch(batch),)}), cluster.leader_of(ORDERS))


def commit(producer: InitProducerIdAnswer) -> EndTxn:
    """The request that commits what a producer has open."""
    return EndTxn(5, SHOP, producer.producer_id, producer.producer_epoch, committed=True)


def main() -> None:
    """Let it happen, and say what was answered."""
    cluster = Cluster(nodes=3, rules=preset("newest"), topics={"orders": [(1, 2, 3)]})
    zombie = start_producer(cluster)
    print(f"the first producer has id {zombie.producer_id}, epoch {zombie.producer_epoch}")
    write(cluster, zombie, b"from the first")

    coordinator = cluster.coordinator_of(SHOP)
    assert coordinator is not None
    cluster.send(commit(zombie), coordinator)
    cluster.network.in_flight.clear()  # the commit is held up on its way ...
    cluster.kill(coordinator)  # ... and its coordinator dies
    cluster.settle()

    successor = start_producer(cluster)
    print(f"node {coordinator} is down; the second has id {successor.producer_id}, epoch {successor.producer_epoch}")
    write(cluster, successor, b"from the second")

    answer = ask_coordinator(cluster, commit(zombie))  # now the commit arrives, at a coordinator that has read the log
    assert isinstance(answer, EndTxnAnswer)
    print(f"the commit of the first is answered {Error(answer.error).name}")
    ask_coordinator(cluster, commit(successor))

    fetched = cluster.ask(Fetch(11, Isolation.READ_COMMITTED, {ORDERS: 0}), cluster.leader_of(ORDERS))
    assert isinstance(fetched, FetchAnswer)
    found = fetched.partitions[ORDERS]
    for batch in found.batches:
        if batch.marker is not None:
            what = "COMMIT marker" if batch.marker.committed else "ABORT marker"
        else:
            what = ", ".join(str(record.value) for record in batch.records)
        print(f"  offset {batch.base_offset}: producer {batch.producer_id}, epoch {batch.producer_epoch}: {what}")
    aborted = [first for _, first in found.aborted or ()]
    print(f"a read_committed consumer skips what began at {aborted}")


if __name__ == "__main__":
    main()

"""A transfer between two accounts that lie in two partitions: all of it is committed, or nothing.

    python examples/bank_transfer.py

And what a transaction does not give: who reads both partitions may see one of them before the other.
"""

from collections.abc import Iterator

from zombieproof import (
    AbortableError,
    Batch,
    Cluster,
    ClusterTransport,
    FatalError,
    Fetch,
    FetchAnswer,
    Isolation,
    Producer,
)

ACCOUNTS = {"alice": ("accounts", 0), "bob": ("accounts", 1)}


def move(teller: Producer, account: str, amount: int) -> None:
    """One line in the book of an account."""
    topic, partition = ACCOUNTS[account]
    teller.send(topic, str(amount).encode(), account.encode(), partition=partition)


def transfer(teller: Producer, amount: int, *, is_interrupted: bool = False) -> None:
    """Both lines, or none."""
    with teller.transaction():
        move(teller, "alice", -amount)
        if is_interrupted:
            teller.flush()  # the line is in the log, and stays there
            raise RuntimeError("the power fails in the middle")
        move(teller, "bob", amount)


def read(cluster: Cluster, account: str, isolation: Isolation = Isolation.READ_COMMITTED) -> int:
    """The balance of an account, as a consumer sees it at this moment: nothing else happens meanwhile."""
    partition = ACCOUNTS[account]
    asked = cluster.send(Fetch(11, isolation, {partition: 0}), cluster.leader_of(partition))
    for _ in ("the question arrives", "and so does the answer"):
        cluster.deliver(cluster.network.in_flight[-1])
    assert isinstance(asked.answer, FetchAnswer)
    fetched = asked.answer.partitions[partition]
    lines = [record.value for batch in shown(fetched.batches, list(fetched.aborted or ())) for record in batch.records]
    return sum(int(line) for line in lines if isinstance(line, bytes))


def shown(batches: tuple[Batch, ...], aborted: list[tuple[int, int]]) -> Iterator[Batch]:
    """What a read_committed consumer keeps of the batches that it is sent, with the list of what was aborted."""
    skipped = set[int]()
    for batch in batches:
        skipped |= {producer_id for producer_id, first in aborted if first <= batch.last_offset}
        aborted = [entry for entry in aborted if entry[1] > batch.last_offset]
        if batch.marker is not None:
            skipped.discard(batch.producer_id)
        elif batch.producer_id not in skipped:
            yield batch


def tell(cluster: Cluster, when: str) -> int:
    """Print both balances, and what they come to."""
    alice, bob = (read(cluster, account) for account in ACCOUNTS)
    print(f"{when}: alice has {alice}, bob has {bob}, together {alice + bob}")
    return alice + bob


def main() -> None:
    """Let it happen, and say what a reader sees."""
    cluster = Cluster(nodes=2, topics={"accounts": 2})
    teller = Producer(ClusterTransport(cluster), {"transactional.id": "teller"})
    teller.init_transactions()
    with teller.transaction():
        move(teller, "alice", 100)
    cluster.settle()
    tell(cluster, "in the beginning")

    try:
        transfer(teller, 30, is_interrupted=True)
    except RuntimeError as interruption:
        print(f"a transfer of 30 is begun: {interruption}")
    cluster.settle()
    tell(cluster, "it was aborted")
    uncommitted = read(cluster, "alice", Isolation.READ_UNCOMMITTED)
    print(f"  (who reads what is not committed sees {uncommitted} at alice: the line is in the log)")

    transfer(teller, 30)
    print("a transfer of 30 is committed: the coordinator has logged it, its markers are on their way")
    seen = {tell(cluster, "at this moment")}
    while cluster.step():
        together = sum(read(cluster, account) for account in ACCOUNTS)
        if together not in seen:
            tell(cluster, "a message later")
        seen.add(together)
    tell(cluster, "in the end")
    print(f"sums that a reader of both partitions may have seen: {sorted(seen)}")

    successor = Producer(ClusterTransport(cluster), {"transactional.id": "teller"})
    successor.init_transactions()
    print("a second teller took over, and the first one does not know")
    for _ in range(2):
        try:
            transfer(teller, 30)
        except AbortableError:
            print("  its transfer cannot be committed: it is aborted, and tried again")
        except FatalError as fatal:
            print(f"  it is told {fatal}")
    teller.close()
    successor.close()
    tell(cluster, "nothing was moved twice")


if __name__ == "__main__":
    main()

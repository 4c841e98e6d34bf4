"""What can be asked of a cluster, and what clients could send next."""

from collections.abc import Callable
from dataclasses import replace

from tests.live.recovery_program import (
    CLASSIC,
    DATA,
    IDS,
    MODERN,
    OFFSETS,
    PARTITIONS,
    TIMEOUT_MS,
    TRANSACTIONS,
    Program,
)
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Request
from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    CoordinatorFound,
    FindCoordinator,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetToCommit,
    SyncGroup,
)
from zombieproof.messages.partitions import (
    LATEST,
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    MarkerToWrite,
    SentBatch,
    WriteTxnMarkers,
)
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    ListTransactions,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, Isolation

Answers = dict[str, object]

Probe = Callable[[Cluster], Answers]
"""Something that happens to a cluster, and what was answered, and everything that can be asked then."""


def battery(cluster: Cluster) -> Answers:
    """Everything that can be asked without changing anything, and the transactions that are in the log."""
    answers: Answers = {
        "DescribeTransactions": _ask(cluster, DescribeTransactions(0, IDS), TRANSACTIONS),
        "ListTransactions": _ask(cluster, ListTransactions(0), TRANSACTIONS),
        "FindCoordinator of x0": _lookup(cluster, FindCoordinator(3, "x0", 1)),
        "FindCoordinator of g": _lookup(cluster, FindCoordinator(3, CLASSIC, 0)),
        "transaction log": _transaction_log(cluster),
    }
    for group in (CLASSIC, MODERN):
        for stable in (True, False):
            answers[f"OffsetFetch of {group}, {stable}"] = _ask(cluster, OffsetFetch(7, group, stable, None), OFFSETS)
    for leader in {cluster.leader_of(at): None for at in PARTITIONS}:
        answers |= _of_leader(cluster, leader)
    return answers


def _of_leader(cluster: Cluster, leader: int | None) -> Answers:
    led = tuple(at for at in PARTITIONS if cluster.leader_of(at) == leader)
    answers: Answers = {}
    requests: dict[str, Request] = {"DescribeProducers": DescribeProducers(0, led)}
    for isolation in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
        requests[f"ListOffsets {isolation.name}"] = ListOffsets(5, isolation, dict.fromkeys(led, LATEST))
        requests[f"Fetch {isolation.name}"] = Fetch(11, isolation, dict.fromkeys(led, 0))
    for what, request in requests.items():
        answer = cluster.ask(request, leader)
        assert isinstance(answer, DescribeProducersAnswer | ListOffsetsAnswer | FetchAnswer)
        answers |= {f"{what} of {at}": row for at, row in answer.partitions.items()}
    return answers


def _transaction_log(cluster: Cluster) -> list[tuple[object, object]]:
    """Every record but for the last producer epoch, which Kafka does not write."""
    leader = cluster.leader_of(TRANSACTIONS)
    assert leader is not None
    return [
        (record.key, replace(record.value, last_producer_epoch=NONE) if record.value is not None else None)
        for batch in cluster.stores[leader, TRANSACTIONS].log.read()
        for record in batch.records
        if isinstance(record.value, TransactionValue | None)
    ]


def _ask(cluster: Cluster, request: Request, at: TopicPartition) -> object:
    return cluster.ask(request, cluster.leader_of(at))


def _lookup(cluster: Cluster, request: FindCoordinator) -> object:
    """Who coordinates is for the metadata to say; that it is said so is what counts."""
    answer = cluster.ask(request)
    assert isinstance(answer, CoordinatorFound)
    at = OFFSETS if request.key_type == 0 else TRANSACTIONS
    return answer.error, answer.node == (cluster.leader_of(at) if answer.error == 0 else NONE)


def probes(program: Program) -> dict[str, Probe]:
    """Every next request that somebody could send, and every timer, by name."""
    found = dict[str, Probe]()
    for name in IDS:
        found |= _of_transaction(program, name)
    found |= _of_partitions(program)
    found |= _of_groups(program)
    for timer in (Cluster.abort_timed_out_transactions, Cluster.remove_expired_ids, Cluster.expire_producers):
        for ms in (0, TIMEOUT_MS + 1, 700_000):
            found[f"{timer.__name__} after {ms} ms"] = _after(ms, timer)
    found["enough replicas again"] = _feed
    return found


def _of_transaction(program: Program, name: str) -> dict[str, Probe]:
    newest, versions = program.identity(name), program.versions
    known = dict.fromkeys(program.granted.get(name, [])[-3:])
    requests: dict[str, tuple[Request, TopicPartition]] = {
        "a new instance": (InitProducerId(versions.init[0], name, TIMEOUT_MS), TRANSACTIONS),
        "add": (AddPartitionsToTxn(3, (TransactionToAdd(name, *newest, (DATA[0],)),)), TRANSACTIONS),
        "verify": (AddPartitionsToTxn(4, (TransactionToAdd(name, *newest, DATA, verify_only=True),)), TRANSACTIONS),
        "add offsets": (AddOffsetsToTxn(3, name, *newest, CLASSIC), TRANSACTIONS),
    }
    if versions.init[0] >= 3:
        for identity in known:
            request = InitProducerId(versions.init[0], name, TIMEOUT_MS, *identity)
            requests[f"init as {identity}"] = request, TRANSACTIONS
    for committed in (False, True):
        requests[f"end {committed}"] = EndTxn(versions.end[0], name, *newest, committed), TRANSACTIONS
        requests[f"end {committed} otherwise"] = EndTxn(versions.end[1], name, *newest, committed), TRANSACTIONS
        for at in PARTITIONS[1:]:
            row = MarkerToWrite(*newest, committed, 1, (at,))
            requests[f"marker {committed} to {at}"] = WriteTxnMarkers(1, (row,)), at
    if name in program.last_end:
        last = program.last_end[name]
        requests["last end"] = last, TRANSACTIONS
        requests["opposite end"] = replace(last, committed=not last.committed), TRANSACTIONS
    for which, version in enumerate(versions.produce):
        for at in DATA:
            requests[f"produce {version} to {at}"] = program.next_produce(name, at, version), at
        requests[f"offsets {which}"] = program.offsets_in_transaction(name, which), OFFSETS
    found = {f"{name}: {what}": _send(request, at) for what, (request, at) in requests.items()}
    return found | {f"{name}: add, then the batch after the next": _skip_one(program, name)}


def _of_partitions(program: Program) -> dict[str, Probe]:
    found = dict[str, Probe]()
    for back, request in enumerate(reversed(program.sent[-7:])):
        found[f"produce {back} again"] = _send(request, next(iter(request.partitions)))
    for at in DATA:
        found[f"next plain to {at}"] = _send(program.next_produce(None, at, program.versions.produce[0]), at)
    found["a new plain producer"] = _send(InitProducerId(program.versions.init[0], None, TIMEOUT_MS), TRANSACTIONS)
    return found


def _of_groups(program: Program) -> dict[str, Probe]:
    member, generation = program.member
    row = (OffsetToCommit(DATA[0], 9_000, ""),)
    named, epoch = program.beat
    in_transaction = program.offsets_in_transaction("x0")
    requests: dict[str, Request] = {
        "the member joins": JoinGroup(5, CLASSIC, member),
        "somebody joins": JoinGroup(5, CLASSIC, ""),
        "an instance joins": JoinGroup(5, CLASSIC, "", "static"),
        "somebody joins the consumer group by the classic protocol": JoinGroup(5, MODERN, ""),
        "the member syncs": SyncGroup(3, CLASSIC, generation, member),
        "the member syncs late": SyncGroup(3, CLASSIC, generation - 1, member),
        "the member leaves": LeaveGroup(2, CLASSIC, member),
        "the member commits": OffsetCommit(8, CLASSIC, row, generation, member),
        "the member commits late": OffsetCommit(8, CLASSIC, row, generation - 1, member),
        "the member commits in a transaction": replace(in_transaction, generation=generation, member=member),
        "nobody commits": OffsetCommit(8, CLASSIC, row),
        "somebody commits to a group that is not there": OffsetCommit(8, "unheard", row, 1, "m"),
        "offsets are deleted": OffsetDelete(0, CLASSIC, DATA),
        "heartbeat": ConsumerGroupHeartbeat(0, MODERN, named, epoch, ("t",)),
        "heartbeat of the epoch before": ConsumerGroupHeartbeat(0, MODERN, named, epoch - 1, ("t",)),
        "heartbeat of the next epoch": ConsumerGroupHeartbeat(0, MODERN, named, epoch + 1, ("t",)),
        "another heartbeat": ConsumerGroupHeartbeat(0, MODERN, "", 0, ("t",)),
        "last heartbeat": ConsumerGroupHeartbeat(0, MODERN, named, -1),
        "commit to the consumer group": OffsetCommit(8, MODERN, row, epoch, named),
        "late commit to the consumer group": OffsetCommit(8, MODERN, row, epoch - 1, named),
    }
    found = {what: _send(request, OFFSETS) for what, request in requests.items()}
    return found | {"the member commits later": _later(requests["the member commits"])}


def _later(request: Request) -> Probe:
    """A session that was new ends before."""

    def send(cluster: Cluster) -> Answers:
        assert isinstance(cluster.clock, ManualClock)
        cluster.clock.advance(10_000)
        cluster.end_waits()
        cluster.settle()
        return {"answer": _ask(cluster, request, OFFSETS)}

    return send


def _send(request: Request, at: TopicPartition) -> Probe:
    def send(cluster: Cluster) -> Answers:
        return {"answer": _ask(cluster, request, at), **battery(cluster)}

    return send


def _skip_one(program: Program, name: str) -> Probe:
    add = AddPartitionsToTxn(3, (TransactionToAdd(name, *program.identity(name), (DATA[0],)),))
    produce = program.next_produce(name, DATA[0], program.versions.produce[-1])
    (sent,) = produce.partitions[DATA[0]]
    later = SentBatch(replace(sent.batch, base_sequence=sent.batch.base_sequence + 1))
    skips = replace(produce, partitions={DATA[0]: (later,)})

    def send(cluster: Cluster) -> Answers:
        return {"added": _ask(cluster, add, TRANSACTIONS), "answer": _ask(cluster, skips, DATA[0]), **battery(cluster)}

    return send


def _after(ms: int, timer: Callable[[Cluster], None]) -> Probe:
    def sweep(cluster: Cluster) -> Answers:
        assert isinstance(cluster.clock, ManualClock)
        cluster.clock.advance(ms)
        timer(cluster)
        cluster.settle()
        return battery(cluster)

    return sweep


def _feed(cluster: Cluster) -> Answers:
    cluster.configure("min_insync_replicas", 1)
    cluster.sweep()
    return battery(cluster)

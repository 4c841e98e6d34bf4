"""Sequences of users and rights that lie beside recorded ones: every API that is served, and how entries add up.

Written like ``neighbours``; root prepares and looks on, u0 asks. The broker has StandardAuthorizer, a listener with
SASL/PLAIN, and root for a super user.
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Acl = list[str]
Script = tuple[str, list[Acl], list[Json]]

TOPICS = {"t0": 2, "t1": 1}
CONFIG = {"transaction.two.phase.commit.enable": True}


def rights(kafka: str, tv: int) -> list[Json]:
    """The sequences for a cluster of release 4.0 or later at a transaction version."""
    families = (_of_groups(), _of_topics(), _of_producers(), _of_transactions(), _of_entries())
    return [
        {
            "id": f"n-acl-{rule}/{kafka}/tv{tv}",
            "tv": tv,
            "kafka": kafka,
            "rule": f"acl-{rule}",
            "config": {"transaction.version": tv} | CONFIG,
            "topics": TOPICS,
            "security": {"mechanism": "PLAIN", "super": ["root"], "acls": acls},
            "steps": steps,
        }
        for family in families
        for rule, acls, steps in family
    ]


def step(api: str, version: int, principal: str = "u0", **request: Any) -> Json:
    return {"client": "A", "api": api, "version": version, "principal": principal, "request": request}


def allow(operation: str, resource: str, name: str, *prefixed: str, permission: str = "ALLOW") -> Acl:
    return ["u0", permission, operation, resource, name, *prefixed]


def deny(operation: str, resource: str, name: str, *prefixed: str) -> Acl:
    return allow(operation, resource, name, *prefixed, permission="DENY")


def on_cluster(operation: str) -> Acl:
    return allow(operation, "Cluster", "kafka-cluster")


ROWS = [["t0", 0], ["t1", 0], ["nope", 0]]
READ_GROUP = allow("READ", "Group", "g0")


def commit(principal: str = "u0", version: int = 8, rows: Any = (("t0", 0), ("t1", 0)), **more: Any) -> Json:
    offsets = [[*row, 5, ""] for row in rows]
    who = {"generation": -1, "member": ""} | more
    return step("OffsetCommit", version, principal, group="g0", offsets=offsets, **who)


def offsets(principal: str = "root", version: int = 7, rows: Any = (("t0", 0), ("t1", 0))) -> Json:
    partitions = None if rows is None else [list(row) for row in rows]
    return step("OffsetFetch", version, principal, group="g0", require_stable=False, partitions=partitions)


def beat(group: str, member: str, topics: Any, version: int = 1, epoch: int = 0, **more: Any) -> Json:
    said = {} if topics is None else {"topics": topics}
    return step("ConsumerGroupHeartbeat", version, group=group, member=member, epoch=epoch, **said, **more)


def batch(pid: str | int = -1, sequence: int = -1, *, transactional: bool = False, value: str = "a") -> Json:
    epoch = -1 if pid == -1 else 0
    return {"pid": pid, "epoch": epoch, "base_sequence": sequence, "transactional": transactional, "values": [value]}


def produce(
    *rows: tuple[str, int, Json], version: int = 11, acks: int = -1, transactional_id: str | None = None
) -> Json:
    partitions = [{"topic": topic, "partition": number, "batches": [one]} for topic, number, one in rows]
    return step("Produce", version, transactional_id=transactional_id, acks=acks, partitions=partitions)


def fetched(principal: str = "root", version: int = 11, rows: Any = (("t0", 0), ("t1", 0))) -> Json:
    return step("Fetch", version, principal, isolation="read_uncommitted", partitions=[[*row, 0] for row in rows])


def init(transactional_id: str | None = "x0", version: int = 4, principal: str = "u0", **more: Any) -> Json:
    who = {"pid": -1, "epoch": -1} | more
    return step("InitProducerId", version, principal, transactional_id=transactional_id, timeout_ms=60000, **who)


# ---------------------------------------------------------------- groups


def _of_groups() -> Iterator[Script]:
    members = [
        step("JoinGroup", 5, group="g0", member="", instance="i"),
        step("JoinGroup", 3, group="g0", member=""),
        step("SyncGroup", 3, group="g0", member="bogus", generation=1),
        step("Heartbeat", 3, group="g0", member="bogus", generation=1, instance=None),
        step("Heartbeat", 0, group="g0", member="bogus", generation=1),
        step("LeaveGroup", 2, group="g0", member="bogus"),
        step("LeaveGroup", 3, group="g0", members=[["bogus", None], ["other", "i"]]),
        beat("g1", "m", ["t0"]),
        offsets("u0"),
        offsets("u0", 8),
        step("FindCoordinator", 4, key="g0", key_type=0),
    ]
    yield "members-nothing", [], members
    yield "members-describe", [allow("DESCRIBE", "Group", "*")], members
    yield "members-delete", [allow("DELETE", "Group", "*")], members
    group = allow("READ", "Group", "*")
    heartbeats = [
        beat("g0", "a", ["t0", "t1"]),
        beat("g0", "a", ["nope"]),
        beat("g0", "a", ["t0"]),
        beat("g0", "a", ["t1"], epoch=2),
        beat("g0", "a", None, epoch=2),
        beat("g0", "a", [], epoch=2),
        beat("g1", "b", ["t1"], epoch=-1),
    ]
    yield "heartbeat-and-topics", [group, allow("DESCRIBE", "Topic", "t0")], heartbeats
    yield "heartbeat-without-topics", [group], heartbeats
    yield from _of_offsets()


def _of_offsets() -> Iterator[Script]:
    kept = [commit("root"), commit("root", rows=[["t0", 1]])]
    read_topic = allow("READ", "Topic", "t0")
    all_of_them = [offsets("u0", rows=None), offsets("u0", 8, rows=None), offsets("u0", 8), offsets("u0", 10)]
    some = [offsets("u0", rows=[["t1", 0]]), offsets("u0", rows=ROWS)]
    yield "offsets-of-all-topics", [allow("DESCRIBE", "Group", "g0"), read_topic], [*kept, *all_of_them, *some]
    commits = [
        commit(rows=ROWS),
        commit(rows=[["t1", 0]], generation=4, member="bogus"),
        commit(version=10, rows=[["t0", 1], ["t1", 0], ["unknown-id", 0]]),
        offsets(),
    ]
    yield "offset-commit", [READ_GROUP, read_topic, allow("DESCRIBE", "Topic", "t1")], commits
    delete = [
        step("OffsetDelete", 0, group="g0", partitions=ROWS),
        step("OffsetDelete", 0, group="g0", partitions=[["t1", 0]]),
        step("OffsetDelete", 0, group="g1", partitions=[["t1", 0], ["t0", 0]]),
        offsets(),
        step("DeleteGroups", 2, groups=["g1", "g0"]),
        offsets(),
    ]
    yield "delete-offsets-nothing", [READ_GROUP], [*kept, *delete]
    yield "delete-offsets", [allow("DELETE", "Group", "g0"), read_topic], [*kept, *delete]
    yield "delete-offsets-every-group", [allow("DELETE", "Group", "*"), read_topic], [*kept, *delete]


# ---------------------------------------------------------------- topics


def _of_topics() -> Iterator[Script]:
    looks = [
        step("Metadata", 12, topics=["t0", "t1", "nope"]),
        step("Metadata", 12, topics=["t0", "t1", "unknown-id"], by_id=True),
        step("ListOffsets", 5, isolation="read_committed", partitions=ROWS),
        fetched("u0", rows=ROWS),
        fetched("u0", 13, rows=[["t0", 0], ["t1", 0], ["unknown-id", 0]]),
        step("DescribeProducers", 0, partitions=[*ROWS, ["t0", 9], ["no;topic", 0]]),
        produce(("t0", 0, batch()), ("t1", 0, batch()), ("nope", 0, batch())),
        produce(("t0", 0, batch()), ("t1", 0, batch()), ("unknown-id", 0, batch()), version=13),
        step("DeleteRecords", 2, partitions=[["t0", 0, 0], ["t1", 0, 0], ["nope", 0, 0]], timeout_ms=5000),
        fetched(),
    ]
    deletes = [
        step("DeleteTopics", 5, topics=["t0", "t1", "nope"], timeout_ms=5000),
        step("DeleteTopics", 6, topics=["t1", "unknown-id"], timeout_ms=5000, by_id=True),
        step("DeleteTopics", 6, topics=["t1", "t1"], timeout_ms=5000),
        step("Metadata", 12, "root", topics=["t0", "t1"]),
    ]
    for operation in ("READ", "WRITE", "DESCRIBE", "DELETE", "ALTER"):
        yield f"topics-{operation.lower()}", [allow(operation, "Topic", "t0")], looks
        yield f"delete-topics-{operation.lower()}", [allow(operation, "Topic", "t0")], deletes
    yield "topics-nothing", [], looks
    yield "delete-topics-nothing", [], deletes
    yield "delete-topics-by-cluster", [on_cluster("DELETE")], deletes


# ---------------------------------------------------------------- producers


def _of_producers() -> Iterator[Script]:
    no_idempotence = deny("IDEMPOTENT_WRITE", "Cluster", "kafka-cluster")
    writes = allow("WRITE", "Topic", "t0")
    writes_t, not_t = allow("WRITE", "Topic", "t", "PREFIXED"), deny("WRITE", "Topic", "t", "PREFIXED")
    writes_tom, not_tom = allow("WRITE", "Topic", "tom", "PREFIXED"), deny("WRITE", "Topic", "tom", "PREFIXED")
    of_entries: dict[str, list[Acl]] = {
        "nothing": [],
        "idempotent": [on_cluster("IDEMPOTENT_WRITE")],
        "idempotent-denied": [no_idempotence, on_cluster("ALL")],
        "idempotent-denied-but-a-topic": [no_idempotence, writes],
        "topic": [writes],
        "topic-all": [allow("ALL", "Topic", "t0")],
        "topic-read": [allow("READ", "Topic", "t0")],
        "topic-prefix": [writes_t],
        "topic-denied": [writes, deny("WRITE", "Topic", "t0")],
        "topic-denied-all": [writes, deny("ALL", "Topic", "*")],
        "topic-denied-read": [writes, deny("READ", "Topic", "*")],
        "topic-denied-by-prefix": [writes, not_t],
        "prefix-denied-by-shorter": [writes_tom, not_t],
        "prefix-denied-by-longer": [writes_t, not_tom],
        "prefix-denied-by-name": [writes_t, deny("WRITE", "Topic", "t0")],
        "all-denied-by-prefix": [allow("WRITE", "Topic", "*"), not_t],
        "hardcode-denied": [allow("WRITE", "Topic", "hardcode"), deny("WRITE", "Topic", "*")],
    }
    for name, acls in of_entries.items():
        yield f"no-id-{name}", acls, [init(None, 5)]
    yield from _of_two_phase_commit()
    in_transaction = batch("p0", 0, transactional=True)
    mixed = [
        init(principal="root"),
        produce(("t0", 0, in_transaction), ("t1", 0, in_transaction), transactional_id="x0"),
        produce(("t1", 0, in_transaction)),
        produce(("t0", 0, batch()), ("t1", 0, in_transaction)),
        produce(("t0", 0, batch()), ("t1", 0, batch()), transactional_id="x0"),
        produce(("t0", 0, batch()), acks=0),
        produce(("t0", 0, batch()), ("t1", 0, batch()), acks=0),
        produce(("t1", 0, batch()), acks=0),
        produce(("t0", 0, in_transaction), transactional_id="x0", acks=0),
        fetched(),
    ]
    yield "produce-topic", [writes], mixed
    yield "produce-id", [allow("WRITE", "TransactionalId", "x0")], mixed
    yield "produce-both", [writes, allow("WRITE", "TransactionalId", "x", "PREFIXED")], mixed


def _of_two_phase_commit() -> Iterator[Script]:
    write, commit_so = (allow(each, "TransactionalId", "x0") for each in ("WRITE", "TWO_PHASE_COMMIT"))
    asked = [init(version=6, enable_2pc=enabled, keep_prepared=False) for enabled in (True, False)]
    yield "two-phase-commit-nothing", [], asked
    yield "two-phase-commit-write", [write], asked
    yield "two-phase-commit-alone", [commit_so], asked
    yield "two-phase-commit-both", [write, commit_so], asked
    yield "two-phase-commit-all", [allow("ALL", "TransactionalId", "*")], asked


# ---------------------------------------------------------------- transactions


def _of_transactions() -> Iterator[Script]:
    producer: Json = {"pid": "p0", "epoch": 0}
    who: Json = {"transactional_id": "x0", **producer}
    marker = {**producer, "committed": True, "coordinator_epoch": 0, "partitions": [["t0", 0], ["nope", 0]]}
    question = {**who, "verify_only": True, "partitions": [["t0", 0], ["t1", 0]]}
    commits = {**who, "group": "g0", "instance": None}
    rows = [[*row, 5, ""] for row in ROWS]
    asked = [
        init(principal="root"),
        step("AddPartitionsToTxn", 3, "root", **who, partitions=[["t0", 1], ["t1", 0]]),
        step("AddPartitionsToTxn", 3, **who, partitions=[["t0", 0], ["t1", 0]]),
        step("AddPartitionsToTxn", 5, transactions=[question]),
        step("TxnOffsetCommit", 3, **commits, generation=-1, member="", offsets=rows),
        step("TxnOffsetCommit", 3, **commits, generation=7, member="bogus", offsets=rows[1:2]),
        step("WriteTxnMarkers", 1, markers=[marker]),
        step("DescribeTransactions", 0, transactional_ids=["x1", "x0"]),
        step("ListTransactions", 0, states=[], pids=["p0"]),
        step("EndTxn", 3, **who, committed=True),
    ]
    every_id, every_group = allow("ALL", "TransactionalId", "*"), allow("ALL", "Group", "*")
    every_topic = allow("ALL", "Topic", "*")
    yield "transaction-describe", [allow("DESCRIBE", "TransactionalId", "x0")], asked
    yield "transaction-alter-cluster", [on_cluster("ALTER")], asked
    yield "transaction-act-for-cluster", [on_cluster("CLUSTER_ACTION")], asked
    yield "transaction-all-but-topics", [every_id, every_group], asked
    yield "transaction-all-but-group", [every_id, every_topic], asked
    yield "transaction-all-but-one-topic", [every_id, every_group, every_topic, deny("ALL", "Topic", "t1")], asked


# ---------------------------------------------------------------- how entries add up


def _of_entries() -> Iterator[Script]:
    looks = [
        step("Metadata", 12, topics=["t0", "t1"]),
        fetched("u0"),
        produce(("t0", 0, batch()), ("t1", 0, batch())),
    ]
    every, reads = allow("ALL", "Topic", "*"), allow("READ", "Topic", "t0")
    of_entries: dict[str, list[Acl]] = {
        "deny-describe": [every, deny("DESCRIBE", "Topic", "t0")],
        "deny-read": [every, deny("READ", "Topic", "t0")],
        "deny-read-of-allowed-read": [reads, deny("READ", "Topic", "t0")],
        "deny-all": [every, deny("ALL", "Topic", "t0")],
        "deny-by-prefix": [reads, deny("READ", "Topic", "t", "PREFIXED")],
        "deny-everything": [reads, deny("READ", "Topic", "*")],
        "allow-by-prefix-that-is-longer": [allow("READ", "Topic", "tom", "PREFIXED")],
        "star-as-a-prefix": [allow("READ", "Topic", "*", "PREFIXED")],
        "of-another-type": [allow("ALL", "Group", "t0"), allow("ALL", "TransactionalId", "*")],
        "alter-implies-describe": [allow("ALTER", "Topic", "t0"), allow("ALTER_CONFIGS", "Topic", "t1")],
    }
    for name, acls in of_entries.items():
        yield f"entries-{name}", acls, looks

"""Sequences that lie beside recorded ones: topics named by id, static members, late commits, members.

What a real Kafka answers to them is in ``tests/answers/neighbours.jsonl.gz``. Written like recordings, without answers.
"""

from collections.abc import Iterator
from typing import Any

from tests.answers.recorder import consumer_groups as consumers
from tests.answers.recorder.joins import DELAYED, SETTINGS, delayed_joins, joins

Json = dict[str, Any]

TOPICS = {"t0": 2, "t1": 1}
INSTANCE = "i1"


def neighbours(kafka: str, tv: int) -> list[Json]:
    """The sequences for a cluster of a release (3.9.1, or 4.0 and later) at a transaction version."""
    has_ids = not kafka.startswith("3.")
    deleted = [*_deleted_groups(), *(_deleted_consumer_groups() if has_ids else ())]
    scripts = [*_members(), *_late_commits(), *deleted, *(_by_id() if has_ids else _fetched_by_id(17))]
    families: list[tuple[Json, Any]] = [({}, scripts), (SETTINGS, joins()), (DELAYED, delayed_joins())]
    if has_ids:
        families.append((consumers.SETTINGS, consumers.consumer_groups()))
        families.append((consumers.SMALL, consumers.full_groups()))
    return [
        {
            "id": f"n-{rule}/{kafka}/tv{tv}",
            "tv": tv,
            "kafka": kafka,
            "rule": rule,
            "config": {"transaction.version": tv} | settings,
            "topics": TOPICS,
            "steps": steps,
        }
        for settings, family in families
        for rule, steps in family
    ]


def step(api: str, version: int, client: str = "A", **request: Any) -> Json:
    return {"client": client, "api": api, "version": version, "request": request}


# -------------------------------------------------------------------- what many begin with


def init(client: str = "A", pid: str | int = -1, epoch: int = -1, transactional_id: str = "x0") -> Json:
    return step("InitProducerId", 4, client, transactional_id=transactional_id, timeout_ms=60000, pid=pid, epoch=epoch)


def batch(sequence: int, value: str, epoch: int = 0, transactional: bool = True) -> Json:
    return {"pid": "p0", "epoch": epoch, "base_sequence": sequence, "transactional": transactional, "values": [value]}


def produce(version: int, *rows: tuple[str, int, Json], transactional_id: str | None = "x0") -> Json:
    partitions = [{"topic": topic, "partition": partition, "batches": [one]} for topic, partition, one in rows]
    return step("Produce", version, transactional_id=transactional_id, acks=-1, partitions=partitions)


def end(client: str, epoch: int, committed: bool = True) -> Json:
    return step("EndTxn", 3, client, transactional_id="x0", pid="p0", epoch=epoch, committed=committed)


def add_offsets(client: str, epoch: int, group: str = "g0") -> Json:
    return step("AddOffsetsToTxn", 3, client, transactional_id="x0", pid="p0", epoch=epoch, group=group)


def txn_commit(client: str, epoch: int, *rows: list[Any], group: str = "g0", **member: Any) -> Json:
    who = {"generation": -1, "member": "", "instance": None} | member
    return step(
        "TxnOffsetCommit",
        3,
        client,
        transactional_id="x0",
        group=group,
        pid="p0",
        epoch=epoch,
        offsets=list(rows),
        **who,
    )


def commit(*rows: list[Any], version: int = 8, generation: int = -1, member: str = "", **more: Any) -> Json:
    return step("OffsetCommit", version, group="g0", generation=generation, member=member, offsets=list(rows), **more)


def fetch_offsets(version: int = 7, group: str = "g0", stable: bool = True, rows: Any = (("t0", 0), ("t0", 1))) -> Json:
    partitions = None if rows is None else [list(row) for row in rows]
    return step("OffsetFetch", version, "-", group=group, require_stable=stable, partitions=partitions)


# -------------------------------------------------------------------- topics by id


def _by_id() -> Iterator[tuple[str, list[Json]]]:
    yield from _fetched_by_id(13)
    yield from _fetched_by_id(17)
    yield (
        "produce-by-id",
        [
            init(),
            step("AddPartitionsToTxn", 3, transactional_id="x0", pid="p0", epoch=0, partitions=[["t0", 0]]),
            produce(13, ("zero-id", 0, batch(0, "1"))),
            produce(13, ("unknown-id", 0, batch(0, "2"))),
            produce(13, ("t0", 0, batch(0, "3")), ("unknown-id", 0, batch(0, "4"))),
            produce(13, ("t0", 7, batch(0, "5"))),
            produce(13, ("unknown-id", 7, batch(0, "6")), ("zero-id", 7, batch(0, "7"))),
            produce(13, ("unknown-id", 0, batch(0, "8", epoch=9))),
            produce(13, ("t0", 0, batch(1, "9"))),
            end("A", 0),
        ],
    )
    yield (
        "produce-by-id-without-a-transaction",
        [
            init(),
            produce(13, ("zero-id", 0, batch(0, "1", transactional=False)), transactional_id=None),
            produce(13, ("t1", 0, batch(0, "2", transactional=False)), transactional_id=None),
            produce(13, ("nope", 0, batch(1, "3", transactional=False)), transactional_id=None),
        ],
    )
    yield (
        "metadata-by-id",
        [
            step("Metadata", 12, topics=["t0", "t1"], by_id=True),
            step("Metadata", 12, topics=["t0", "nope"]),
            step("Metadata", 12, topics=["unknown-id"], by_id=True),
            step("Metadata", 12, topics=["t0", "unknown-id"], by_id=True),
        ],
    )
    yield (
        "offsets-by-id",
        [
            commit(["t0", 0, 10, "a"], ["t0", 1, 11, "b"], version=10),
            commit(["unknown-id", 0, 12, "c"], version=10),
            commit(["t0", 0, 13, "d"], ["unknown-id", 0, 14, "e"], version=10),
            commit(["zero-id", 0, 15, "f"], ["t0", 1, 16, "g"], version=10),
            commit(["t0", 7, 17, "h"], ["unknown-id", 7, 18, "i"], version=10),
            commit(["t0", 0, 19, "j"], version=10, generation=3, member="bogus"),
            commit(["unknown-id", 0, 20, "k"], version=10, generation=3, member="bogus"),
            commit(["t0", 0, 21, "l" * 4097], ["unknown-id", 0, 22, "m"], version=10),
            fetch_offsets(10),
            fetch_offsets(10, rows=(("t0", 0), ("unknown-id", 0))),
            fetch_offsets(10, rows=(("unknown-id", 0), ("zero-id", 1))),
            fetch_offsets(10, rows=(("t0", 7),)),
            fetch_offsets(10, rows=None),
            fetch_offsets(10, group="g1", rows=(("unknown-id", 0), ("t0", 0))),
            fetch_offsets(9),
            fetch_offsets(8, rows=(("t0", 0), ("nope", 0))),
        ],
    )
    yield (
        "pending-offsets-by-id",
        [
            init(),
            commit(["t0", 0, 5, ""], version=10),
            add_offsets("A", 0),
            txn_commit("A", 0, ["t0", 0, 10, "a"]),
            fetch_offsets(10, rows=(("t0", 0), ("t0", 1), ("unknown-id", 0))),
            fetch_offsets(10, stable=False, rows=(("t0", 0), ("unknown-id", 0))),
            end("A", 0),
            fetch_offsets(10, rows=(("t0", 0),)),
        ],
    )


def _fetched_by_id(version: int) -> Iterator[tuple[str, list[Json]]]:
    def fetch(*rows: list[Any], isolation: str = "read_committed") -> Json:
        return step("Fetch", version, "-", isolation=isolation, partitions=list(rows))

    yield (
        f"fetch-{version}-by-id",
        [
            init(),
            step("AddPartitionsToTxn", 3, transactional_id="x0", pid="p0", epoch=0, partitions=[["t0", 0], ["t0", 1]]),
            produce(11, ("t0", 0, batch(0, "1"))),
            fetch(["t0", 0, 0]),
            fetch(["t0", 0, 0], isolation="read_uncommitted"),
            fetch(["unknown-id", 0, 0]),
            fetch(["unknown-id", 0, 0], isolation="read_uncommitted"),
            fetch(["zero-id", 0, 0]),
            fetch(["t0", 0, 0], ["unknown-id", 3, 9]),
            fetch(["t0", 7, 0], ["unknown-id", 7, 0]),
            fetch(["t0", 0, 99]),
            end("A", 0, committed=False),
            fetch(["t0", 0, 0], ["zero-id", 0, 0]),
        ],
    )


# -------------------------------------------------------------------- static members


def join(client: str = "A", member: str = "", instance: str | None = INSTANCE, version: int = 5) -> Json:
    return step("JoinGroup", version, client, group="g0", member=member, instance=instance)


def sync(member: str, generation: int, instance: str | None = INSTANCE, version: int = 3) -> Json:
    return step("SyncGroup", version, group="g0", member=member, generation=generation, instance=instance)


def beat(member: str, generation: int, instance: str | None = INSTANCE, version: int = 3, group: str = "g0") -> Json:
    return step("Heartbeat", version, group=group, member=member, generation=generation, instance=instance)


def leave(*members: tuple[str, str | None], version: int = 3, group: str = "g0") -> Json:
    return step("LeaveGroup", version, group=group, members=[list(each) for each in members])


STATIC = [join(), sync("m0", 1)]
DYNAMIC = [join(instance=None, version=3), sync("m0", 1, None)]


def _members() -> Iterator[tuple[str, list[Json]]]:
    yield (
        "heartbeat-of-a-static-member",
        [
            beat("m", 1),
            join(),
            beat("m0", 1),
            sync("m0", 1),
            beat("m0", 1),
            beat("m0", 1, None),
            beat("bogus", 1),
            beat("bogus", 1, None),
            beat("", 1),
            beat("", 1, None),
            beat("m0", 1, "i2"),
            beat("m0", 2),
            beat("bogus", 2),
            beat("m0", -1),
            beat("m0", 1, version=4),
            beat("m0", 1, group=""),
            beat("m0", 1, group="g1"),
            *[step("Heartbeat", version, group="g0", member="m0", generation=1) for version in (0, 1, 2)],
            join("B"),
            beat("m0", 1),
            beat("m0", 1, None),
            beat("m1", 1),
        ],
    )
    yield "heartbeat-of-a-dynamic-member", [*DYNAMIC, beat("m0", 1, None), beat("m0", 1), beat("m0", 3, None)]
    yield (
        "leave-of-a-static-member",
        [
            leave(("m", None)),
            *STATIC,
            leave(("bogus", None), ("bogus", INSTANCE), ("m0", "i2"), ("", None), ("", "i2")),
            leave(version=4),
            leave(("m0", INSTANCE), group=""),
            leave(("m0", INSTANCE), group="g1"),
            beat("m0", 1),
            leave(("m0", INSTANCE), ("m0", INSTANCE), ("", INSTANCE)),
            beat("m0", 1),
            join("B"),
            sync("m1", 3),
            leave(("", INSTANCE)),
            leave(("", INSTANCE)),
            join("C"),
            sync("m2", 5),
            leave(("m2", None), version=4),
            beat("m2", 5),
        ],
    )
    yield (
        "leave-2-of-a-static-member",
        [
            *STATIC,
            step("LeaveGroup", 2, group="g0", member="bogus"),
            step("LeaveGroup", 2, group="g0", member=""),
            step("LeaveGroup", 2, group="g0", member="m0"),
            step("LeaveGroup", 2, group="g0", member="m0"),
        ],
    )
    yield (
        "leave-of-a-member-with-an-id-only",
        [
            join(instance=None),
            leave(("m0", INSTANCE)),
            join(instance=None),
            leave(("m1", None), ("m1", None)),
            join("B", member="m0", instance=None),
        ],
    )
    yield (
        "rejoin-of-a-static-member",
        [
            *STATIC,
            join("B"),
            sync("m0", 1),
            sync("m1", 1),
            beat("m0", 1),
            beat("m1", 1),
            join("A", member="m0"),
            join("A", member="m0", instance=None),
            join("B", member="m1", instance="i2"),
            join("B", member="m1"),
            sync("m1", 2),
            join("C"),
            sync("m2", 2),
            leave(("m1", INSTANCE)),
            leave(("m2", INSTANCE)),
        ],
    )
    yield (
        "rejoin-of-a-static-member-before-its-assignment",
        [join(), join("B"), sync("m0", 1), sync("m1", 2), beat("m1", 2)],
    )
    yield (
        "sync-of-a-static-member",
        [
            join(),
            sync("m0", 1, "i2"),
            sync("bogus", 1),
            sync("m0", 1, None),
            sync("m0", 1),
            sync("m0", 2),
            sync("", 1),
            sync("m0", 1, version=4),
            sync("m0", 1, version=5),
        ],
    )
    yield (
        "plain-commits-of-a-static-member",
        [
            *STATIC,
            commit(["t0", 0, 10, ""], generation=1, member="m0", instance=INSTANCE),
            commit(["t0", 0, 11, ""], generation=1, member="m0"),
            commit(["t0", 0, 12, ""], generation=1, member="bogus", instance=INSTANCE),
            commit(["t0", 0, 13, ""], generation=1, member="m0", instance="i2"),
            commit(["t0", 0, 14, ""], generation=2, member="m0", instance=INSTANCE),
            commit(["t0", 0, 15, ""], generation=-1, member="", instance=INSTANCE),
            commit(["t0", 0, 16, ""]),
            join("B"),
            commit(["t0", 0, 17, ""], generation=1, member="m0", instance=INSTANCE),
            commit(["t0", 0, 18, ""], generation=1, member="m0"),
            commit(["t0", 0, 19, ""], generation=1, member="m1", instance=INSTANCE),
            fetch_offsets(),
        ],
    )
    yield (
        "transactional-commits-of-a-static-member",
        [
            *STATIC,
            init(),
            add_offsets("A", 0),
            txn_commit("A", 0, ["t0", 0, 10, ""], generation=1, member="m0", instance=INSTANCE),
            txn_commit("A", 0, ["t0", 0, 11, ""], generation=1, member="m0", instance=None),
            join("B"),
            txn_commit("A", 0, ["t0", 0, 12, ""], generation=1, member="m0", instance=None),
            txn_commit("A", 0, ["t0", 0, 13, ""], generation=1, member="", instance=INSTANCE),
            txn_commit("A", 0, ["t0", 0, 14, ""], generation=1, member="m1", instance=None),
            leave(("", INSTANCE)),
            txn_commit("A", 0, ["t0", 0, 15, ""], generation=1, member="m1", instance=INSTANCE),
            txn_commit("A", 0, ["t0", 0, 16, ""]),
            end("A", 0),
            fetch_offsets(),
        ],
    )


# -------------------------------------------------------------------- groups that are deleted


def delete(*groups: str, version: int = 2) -> Json:
    return step("DeleteGroups", version, "-", groups=list(groups))


def commit_to(group: str, offset: int) -> Json:
    return step("OffsetCommit", 8, group=group, generation=-1, member="", offsets=[["t0", 0, offset, ""]])


RESTART = step("Restart", 0, "-", how="clean")


def _deleted_groups() -> Iterator[tuple[str, list[Json]]]:
    pending = [init(), add_offsets("A", 0), txn_commit("A", 0, ["t0", 0, 10, "a"], ["t0", 1, 11, "b"])]
    yield (
        "delete-groups",
        [
            delete("g0"),
            delete("g0", version=0),
            delete(""),
            delete(),
            commit_to("g0", 5),
            delete("g0", version=1),
            fetch_offsets(),
            delete("g0"),
            *[commit_to(group, 6) for group in ("g0", "g1", "g2")],
            delete("g0", "g0"),
            delete("g1", "g3", "g2", "g1", "g0", "g3"),
            *[fetch_offsets(group=group, rows=None) for group in ("g0", "g1", "g2")],
            commit_to("", 7),
            delete("", "g0"),
            fetch_offsets(group="", rows=None),
        ],
    )
    yield (
        "delete-group-with-members",
        [
            join(instance=None, version=5),
            delete("g0"),
            join(member="m0", instance=None, version=5),
            delete("g0"),
            sync("m0", 1, None),
            commit(["t0", 0, 5, ""], generation=1, member="m0"),
            delete("g0", "g1"),
            beat("m0", 1, None),
            fetch_offsets(),
            step("LeaveGroup", 2, group="g0", member="m0"),
            delete("g0"),
            delete("g0"),
            fetch_offsets(rows=None),
            beat("m0", 1, None),
            *DYNAMIC[:1],
            sync("m1", 1, None),
        ],
    )
    yield (
        "delete-group-of-a-static-member",
        [*STATIC, delete("g0"), leave(("", INSTANCE)), delete("g0"), join("B"), sync("m1", 1), sync("m1", 3)],
    )
    yield (
        "delete-group-and-restart",
        [commit_to("g0", 5), RESTART, delete("g0"), RESTART, fetch_offsets(), delete("g0")],
    )
    yield (
        "delete-group-with-pending-offsets-beside-committed-ones",
        [
            commit(["t0", 0, 5, "old"], ["t0", 1, 6, "old"]),
            *pending,
            fetch_offsets(),
            delete("g0"),
            fetch_offsets(),
            fetch_offsets(rows=None),
            end("A", 0),
            fetch_offsets(),
            RESTART,
            fetch_offsets(),
        ],
    )
    yield (
        "delete-group-and-go-on-in-the-transaction",
        [
            commit(["t0", 0, 5, "old"], ["t0", 1, 6, "old"]),
            *pending,
            delete("g0"),
            txn_commit("A", 0, ["t0", 1, 20, "c"]),
            fetch_offsets(),
            end("A", 0),
            fetch_offsets(),
            RESTART,
            fetch_offsets(),
        ],
    )
    for committed, name in ((True, "committed"), (False, "aborted")):
        yield (
            f"delete-group-with-pending-offsets-only-{name}",
            [
                *pending,
                fetch_offsets(),
                delete("g0"),
                fetch_offsets(),
                delete("g0"),
                end("A", 0, committed=committed),
                fetch_offsets(),
                RESTART,
                fetch_offsets(),
            ],
        )


def _deleted_consumer_groups() -> Iterator[tuple[str, list[Json]]]:
    def member(member: str, epoch: int, topics: tuple[str, ...] | None = ("t0",)) -> Json:
        listed = None if topics is None else list(topics)
        return step("ConsumerGroupHeartbeat", 0, group="g0", member=member, epoch=epoch, topics=listed)

    yield (
        "delete-consumer-group",
        [
            member("me", 0),
            delete("g0"),
            member("me", -1, None),
            commit_to("g0", 5),
            delete("g0", "g1"),
            delete("g0"),
            fetch_offsets(rows=None),
            member("me", 1, None),
            *DYNAMIC,
        ],
    )
    yield (
        "delete-consumer-group-with-pending-offsets",
        [
            member("me", 0),
            init(),
            add_offsets("A", 0),
            txn_commit("A", 0, ["t0", 0, 10, "a"]),
            member("me", -1, None),
            fetch_offsets(rows=[["t0", 0]]),
            delete("g0"),
            fetch_offsets(rows=[["t0", 0]]),
            end("A", 0),
            fetch_offsets(rows=[["t0", 0]]),
            RESTART,
            fetch_offsets(rows=[["t0", 0]]),
        ],
    )


# -------------------------------------------------------------------- late offset commits (B74)

OWNER = 2
"""The epoch of B: the fence of A's transaction raises the epoch once, and the grant once more."""


def _late_commits() -> Iterator[tuple[str, list[Json]]]:
    takeover = [commit(["t0", 0, 5, "old"]), init(), add_offsets("A", 0), init("B"), add_offsets("B", OWNER)]
    owner, both = ["t0", 0, 10, "B"], (["t0", 0, 10, "B"], ["t0", 1, 11, "B"])
    late, behind = ["t0", 0, 20, "A"], [fetch_offsets(), end("B", OWNER), fetch_offsets()]
    restart = step("Restart", 0, "-", how="clean")
    yield "late-commit", [*_owned(takeover, owner), txn_commit("A", 0, late), *behind, restart, fetch_offsets()]
    yield (
        "late-commit-read-in-between",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, late),
            restart,
            *behind,
        ],
    )
    yield "late-commit-of-one-of-two-partitions", [*_owned(takeover, *both), txn_commit("A", 0, late), *behind]
    yield (
        "late-commit-of-two-partitions",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, late, ["t0", 1, 21, "A"]),
            *behind,
        ],
    )
    yield (
        "late-commit-of-another-partition",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, ["t0", 1, 21, "A"]),
            *behind,
        ],
    )
    yield (
        "late-commit-of-an-unknown-partition-too",
        [
            *_owned(takeover, *both),
            txn_commit("A", 0, late, ["t0", 9, 21, "A"], ["nope", 0, 22, "A"]),
            *behind,
        ],
    )
    yield (
        "late-commit-with-long-metadata",
        [
            *_owned(takeover, *both),
            txn_commit("A", 0, ["t0", 0, 20, 4097], ["t0", 1, 21, "A"]),
            *behind,
        ],
    )
    yield (
        "late-commit-then-again",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, late),
            txn_commit("B", OWNER, ["t0", 0, 12, "B2"]),
            *behind,
        ],
    )
    yield (
        "late-commit-and-abort",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, late),
            fetch_offsets(),
            end("B", OWNER, committed=False),
            fetch_offsets(),
        ],
    )
    yield (
        "late-commit-beside-a-plain-one",
        [
            *_owned(takeover, owner),
            txn_commit("A", 0, late),
            commit(["t0", 0, 7, "plain"]),
            *behind,
        ],
    )
    yield (
        "plain-commit-then-late-commit",
        [
            *_owned(takeover, owner),
            commit(["t0", 0, 7, "plain"]),
            txn_commit("A", 0, late),
            *behind,
        ],
    )
    yield (
        "late-commit-to-another-group",
        [
            *takeover,
            add_offsets("B", OWNER, "g2"),
            txn_commit("B", OWNER, owner),
            txn_commit("B", OWNER, owner, group="g2"),
            txn_commit("A", 0, late, group="g2"),
            fetch_offsets(),
            fetch_offsets(group="g2"),
            end("B", OWNER),
            fetch_offsets(),
            fetch_offsets(group="g2"),
        ],
    )
    yield (
        "late-commit-of-the-same-instance",
        [
            init(),
            add_offsets("A", 0),
            txn_commit("A", 0, late),
            end("A", 0, committed=False),
            init(pid="p0", epoch=0),
            add_offsets("A", 1),
            txn_commit("A", 1, owner),
            txn_commit("A", 0, late),
            fetch_offsets(),
            end("A", 1),
            fetch_offsets(),
        ],
    )
    yield (
        "late-commit-of-a-member",
        [
            *STATIC,
            *takeover[1:],
            txn_commit("B", OWNER, owner, generation=1, member="m0", instance=INSTANCE),
            txn_commit("A", 0, late, generation=1, member="bogus"),
            fetch_offsets(),
            txn_commit("A", 0, late, generation=1, member="m0", instance=INSTANCE),
            *behind,
        ],
    )
    yield (
        "commit-of-a-later-epoch",
        [
            *_owned(takeover, owner),
            txn_commit("A", 7, late),
            *behind,
        ],
    )


def _owned(takeover: list[Json], *rows: list[Any]) -> list[Json]:
    return [*takeover, txn_commit("B", OWNER, *rows)]

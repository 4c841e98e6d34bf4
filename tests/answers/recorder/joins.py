"""Sequences of groups whose members wait for each other: JoinGroup and SyncGroup that are answered later.

Written like ``neighbours``; a step with `later` is not waited for, and `answered` tells what had come of it by then.
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Script = tuple[str, list[Json]]

LONG_MS = 60_000
SHORT_MS = 2_000
OVER_MS = 2_500
"""Time enough for whatever lasts `SHORT_MS`; what lasts `LONG_MS` has not ended by then."""

SETTINGS = {"group.min.session.timeout.ms": 100}
DELAYED = SETTINGS | {"group.initial.rebalance.delay.ms": SHORT_MS}


def step(api: str, version: int, later: str | None = None, **request: Any) -> Json:
    told = {} if later is None else {"later": later}
    return {"client": "A", "api": api, "version": version, "request": request} | told


def join(
    member: str = "",
    later: str | None = None,
    instance: str | None = None,
    version: int = 5,
    session: int = LONG_MS,
    rebalance: int = LONG_MS,
) -> Json:
    """JoinGroup; a new member without an instance joins by version 3, which needs no id."""
    asked = 3 if version == 5 and not member and instance is None else version
    said: Json = {"group": "g0", "member": member, "session_timeout_ms": session, "rebalance_timeout_ms": rebalance}
    return step("JoinGroup", asked, later, **said, **({"instance": instance} if asked >= 5 else {}))


def sync(member: str, generation: int, later: str | None = None, instance: str | None = None) -> Json:
    return step("SyncGroup", 3, later, group="g0", member=member, generation=generation, instance=instance)


def beat(member: str, generation: int, instance: str | None = None) -> Json:
    return step("Heartbeat", 3, group="g0", member=member, generation=generation, instance=instance)


def leave(member: str) -> Json:
    return step("LeaveGroup", 2, group="g0", member=member)


def answered(of: str) -> Json:
    return step("Answered", 0, of=of)


def sleep(ms: int) -> Json:
    return step("Sleep", 0, ms=ms)


def commit(member: str, generation: int) -> Json:
    return step("OffsetCommit", 8, group="g0", generation=generation, member=member, offsets=[["t0", 0, 5, ""]])


def in_transaction(member: str, generation: int) -> Json:
    who: Json = {"generation": generation, "member": member, "instance": None}
    producer: Json = {"transactional_id": "x0", "pid": "p0", "epoch": 0}
    return step("TxnOffsetCommit", 3, group="g0", offsets=[["t0", 0, 10 + generation, ""]], **producer, **who)


RESTART = step("Restart", 0, how="clean")
BEGIN = [
    step("InitProducerId", 4, transactional_id="x0", timeout_ms=60000, pid=-1, epoch=-1),
    step("AddOffsetsToTxn", 3, transactional_id="x0", pid="p0", epoch=0, group="g0"),
]
END = [
    step("EndTxn", 3, transactional_id="x0", pid="p0", epoch=0, committed=True),
    step("OffsetFetch", 7, group="g0", require_stable=True, partitions=[["t0", 0]]),
]


def alone(session: int = LONG_MS, rebalance: int = LONG_MS) -> list[Json]:
    """m0 is the only member of the stable generation 1."""
    return [join(session=session, rebalance=rebalance), sync("m0", 1)]


def joined(rebalance: int = LONG_MS) -> list[Json]:
    """m0, which leads, and m1 have joined generation 2, and nobody knows who reads what."""
    return [*alone(rebalance=rebalance), join(later="b", rebalance=rebalance), rejoin("m0", rebalance), answered("b")]


def rejoin(member: str, rebalance: int = LONG_MS, later: str | None = None) -> Json:
    return join(member, later, rebalance=rebalance)


def stable() -> list[Json]:
    """m0, which leads, and m1 are the members of the stable generation 2."""
    return [*joined(), sync("m1", 2, "s"), sync("m0", 2), answered("s")]


def joins() -> Iterator[Script]:
    """Every sequence of a cluster that does not wait before the first rebalance of a group."""
    yield from _of_members()
    yield from _of_who_goes()
    yield from _of_static_members()
    yield from _of_time()


def delayed_joins() -> Iterator[Script]:
    """Every sequence of a cluster that does."""
    yield "initial-delay-of-one", [join(later="a"), answered("a"), sleep(OVER_MS), answered("a"), sync("m0", 1)]
    yield (
        "initial-delay-of-two",
        [
            join(later="a"),
            sleep(1_000),
            join(later="b"),
            sleep(1_500),
            answered("a"),
            sleep(OVER_MS),
            answered("a"),
            answered("b"),
            sync("m1", 1, "s"),
            sync("m0", 1),
            answered("s"),
        ],
    )
    yield (
        "initial-delay-as-long-as-the-rebalance-may-last",
        [
            join(later="a", rebalance=1_000),
            join(later="b", rebalance=1_000),
            sleep(OVER_MS),
            answered("a"),
            answered("b"),
        ],
    )
    yield (
        "initial-delay-and-an-id-that-is-not-used",
        [
            join(version=6),
            join("m0", "a"),
            join(version=6),
            sleep(OVER_MS),
            answered("a"),
            join("m1", "b"),
            beat("m0", 1),
        ],
    )


def _of_members() -> Iterator[Script]:
    yield (
        "two-members",
        [
            *alone(),
            *BEGIN,
            join(later="b"),
            answered("b"),
            beat("m0", 1),
            commit("m0", 1),
            in_transaction("m0", 1),
            sync("m0", 1),
            rejoin("m0"),
            answered("b"),
            in_transaction("m0", 1),
            in_transaction("m0", 2),
            in_transaction("m1", 2),
            commit("m0", 1),
            commit("m0", 2),
            *[beat(member, 2) for member in ("m0", "m1")],
            sync("m1", 2, "s"),
            answered("s"),
            beat("m1", 2),
            sync("m0", 2),
            answered("s"),
            commit("m1", 2),
            in_transaction("m1", 2),
            *END,
        ],
    )
    yield (
        "three-members",
        [
            *alone(),
            join(later="b"),
            join(later="c"),
            answered("c"),
            rejoin("m0"),
            answered("b"),
            answered("c"),
            sync("m2", 2, "s2"),
            sync("m1", 2, "s1"),
            answered("s2"),
            sync("m0", 2),
            answered("s1"),
            answered("s2"),
            leave("m2"),
            *[beat(member, 2) for member in ("m0", "m1", "m2")],
            rejoin("m1", later="b2"),
            answered("b2"),
            rejoin("m0"),
            answered("b2"),
            sync("m1", 2),
            sync("m0", 3),
            sync("m1", 3),
        ],
    )
    yield "the-leader-joins-again", [*stable(), rejoin("m0", later="a"), beat("m1", 2), rejoin("m1"), answered("a")]
    yield "a-follower-joins-again", [*stable(), rejoin("m1"), beat("m0", 2), beat("m1", 2)]
    yield (
        "somebody-joins-while-assignments-are-awaited",
        [*joined(), sync("m1", 2, "s"), join(later="c"), answered("s"), sync("m0", 2), beat("m0", 2), commit("m0", 2)],
    )
    yield (
        "a-member-joins-twice",
        [*alone(), join(version=6), join("m1", "b1"), join("m1", "b2"), rejoin("m0"), answered("b2"), answered("b1")],
    )
    yield (
        "a-member-asks-twice-for-its-assignment",
        [*joined(), sync("m1", 2, "s1"), sync("m1", 2, "s2"), sync("m0", 2), answered("s2"), answered("s1")],
    )
    yield (
        "an-id-that-was-given-out-is-waited-for",
        [
            *alone(),
            join(version=6),
            join(later="c"),
            rejoin("m0", later="a"),
            answered("a"),
            leave("m1"),
            answered("a"),
            answered("c"),
        ],
    )
    yield (
        "restart-while-members-wait",
        [
            *alone(),
            join(later="b"),
            RESTART,
            answered("b"),
            beat("m0", 1),
            join(later="b2"),
            rejoin("m0"),
            answered("b2"),
            sync("m1", 2, "s"),
            RESTART,
            answered("s"),
            beat("m0", 1),
            beat("m1", 2),
        ],
    )


def _of_who_goes() -> Iterator[Script]:
    yield (
        "the-leader-leaves-while-another-waits",
        [*alone(), join(later="b"), leave("m0"), answered("b"), sync("m1", 2), beat("m0", 1)],
    )
    yield (
        "who-waits-to-join-leaves",
        [*alone(), join(version=6), join("m1", "b"), leave("m1"), answered("b"), beat("m0", 1), rejoin("m0")],
    )
    yield (
        "who-waits-for-an-assignment-leaves",
        [*joined(), sync("m1", 2, "s"), leave("m1"), answered("s"), beat("m0", 2), rejoin("m0")],
    )
    yield (
        "an-id-is-given-back-to-a-stable-group",
        [*alone(), join(version=6), leave("m1"), beat("m0", 1), rejoin("m0")],
    )
    yield "everybody-leaves", [*stable(), leave("m0"), leave("m1"), beat("m1", 2), join()]


def _of_static_members() -> Iterator[Script]:
    static = [join(instance="i1"), sync("m0", 1, instance="i1")]
    both = [
        *static,
        join(later="b"),
        join("m0", instance="i1"),
        answered("b"),
        sync("m1", 2, "s"),
        sync("m0", 2, instance="i1"),
        answered("s"),
    ]
    yield (
        "a-static-member-takes-its-place-while-others-wait",
        [
            *both,
            join(later="c"),
            join("m0", "a", "i1"),
            answered("a"),
            join(later="a2", instance="i1"),
            answered("a"),
            rejoin("m1"),
            answered("c"),
            answered("a2"),
            beat("m0", 2, "i1"),
        ],
    )
    yield (
        "a-static-member-takes-its-place-while-an-assignment-is-awaited",
        [
            *static,
            join(later="b"),
            join("m0", instance="i1"),
            answered("b"),
            sync("m1", 2, "s"),
            join(later="a", instance="i1"),
            answered("s"),
            answered("a"),
            rejoin("m1"),
            answered("a"),
        ],
    )
    yield (
        "a-static-leader-takes-its-place-by-version-9",
        [*static, join(instance="i1", version=9), beat("m1", 1, "i1"), join(instance="i1", version=8)],
    )
    yield (
        "a-static-member-that-does-not-come-stays",
        [
            join(instance="i1", rebalance=SHORT_MS),
            sync("m0", 1, instance="i1"),
            join(later="b", rebalance=SHORT_MS),
            sleep(OVER_MS),
            answered("b"),
            beat("m0", 1, "i1"),
            beat("m0", 2, "i1"),
            sync("m1", 2),
            sleep(OVER_MS),
            beat("m0", 2, "i1"),
            beat("m1", 2),
        ],
    )


def _of_time() -> Iterator[Script]:
    yield (
        "a-member-that-never-joins-again",
        [
            *alone(rebalance=SHORT_MS),
            *BEGIN,
            join(later="b", rebalance=SHORT_MS),
            beat("m0", 1),
            answered("b"),
            in_transaction("m0", 1),
            sleep(OVER_MS),
            answered("b"),
            beat("m0", 1),
            in_transaction("m0", 1),
            in_transaction("m1", 2),
            sync("m1", 2),
            rejoin("m0"),
            *END,
        ],
    )
    yield (
        "a-session-ends-while-another-waits",
        [*alone(session=SHORT_MS), join(later="b"), answered("b"), sleep(OVER_MS), answered("b"), beat("m0", 1)],
    )
    yield "a-session-ends", [*alone(session=SHORT_MS), sleep(OVER_MS), beat("m0", 1), join()]
    yield (
        "heartbeats-and-commits-keep-a-session",
        [
            *alone(session=SHORT_MS),
            sleep(1_200),
            beat("m0", 1),
            sleep(1_200),
            commit("m0", 1),
            sleep(1_200),
            beat("m0", 1),
        ],
    )
    yield (
        "who-waits-to-join-again-is-alive",
        [
            *joined(),
            sync("m1", 2, "s"),
            sync("m0", 2),
            answered("s"),
            join("m0", "a", session=SHORT_MS),
            sleep(OVER_MS),
            answered("a"),
            rejoin("m1"),
            answered("a"),
        ],
    )
    yield (
        "an-id-that-was-given-out-is-forgotten",
        [*alone(), join(version=6, session=SHORT_MS), sleep(OVER_MS), join("m1"), beat("m0", 1)],
    )
    yield (
        "who-does-not-ask-for-its-assignment-is-gone",
        [*joined(SHORT_MS), sync("m0", 2), sleep(OVER_MS), beat("m1", 2), beat("m0", 2), rejoin("m0")],
    )
    yield "nobody-asks-for-an-assignment", [*joined(SHORT_MS), sleep(OVER_MS), beat("m1", 2), beat("m0", 2), join()]
    yield (
        "session-time-outs-that-are-not-allowed",
        [join(session=99), join(session=100), join(session=1_800_001), join("bogus", session=99), join("bogus")],
    )

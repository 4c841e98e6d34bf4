"""Sequences of groups of the consumer protocol (KIP-848): epochs, what moves, silence, static members.

Written like ``neighbours``. A heartbeat says no more than is given: that the member owns nothing, and the rebalance
time-out of Kafka's consumer, unless it says otherwise (`owned` None: nothing of what it owns).
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Script = tuple[str, list[Json]]

SESSION_MS = 3_000
SETTINGS = {
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.min.session.timeout.ms": 100,
}
SMALL = SETTINGS | {"group.consumer.max.size": 2, "group.max.size": 2}
T0 = ["t0"]
BOTH = ["t0", "t1"]
INSTANCE: Json = {"instance": "i"}


def step(api: str, version: int, **request: Any) -> Json:
    return {"client": "A", "api": api, "version": version, "request": request}


def beat(member: str, epoch: int, topics: list[str] | None = None, *, version: int = 1, **more: Any) -> Json:
    said = {} if topics is None else {"topics": topics}
    return step("ConsumerGroupHeartbeat", version, group="g0", member=member, epoch=epoch, **said, **more)


def own(*numbers: int, t1: bool = False) -> Json:
    return {"owned": [*(["t0", number] for number in numbers), *([["t1", 0]] if t1 else [])]}


def sleep(ms: int) -> Json:
    return step("Sleep", 0, ms=ms)


DUE = sleep(1_100)
"""An assignment is due again."""


def commit(member: str, epoch: int, *numbers: int, instance: str | None = None, version: int = 9) -> Json:
    rows = [["t0", number, 5, ""] for number in numbers]
    return step("OffsetCommit", version, group="g0", generation=epoch, member=member, instance=instance, offsets=rows)


def in_transaction(member: str, epoch: int, *numbers: int) -> Json:
    who: Json = {"generation": epoch, "member": member, "instance": None}
    producer: Json = {"transactional_id": "x0", "pid": "p0", "epoch": 0}
    rows = [["t0", number, 5, ""] for number in numbers]
    return step("TxnOffsetCommit", 5, group="g0", offsets=rows, **producer, **who)


def joins(version: int = 3, **more: Any) -> Json:
    member: Json = {"group": "g0", "member": "", "session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    return step("JoinGroup", version, **(member | more))


def two() -> list[Json]:
    """a has to give t0-1 back, and b waits for it: the epochs are 2 and 3."""
    return [beat("a", 0, T0), DUE, beat("b", 0, T0), beat("a", 2, **own(0, 1))]


BEGIN = step("InitProducerId", 4, transactional_id="x0", timeout_ms=60_000, pid=-1, epoch=-1)


def consumer_groups() -> Iterator[Script]:
    """Every sequence of a cluster with `SETTINGS`."""
    yield from _of_shapes()
    yield from _of_epochs()
    yield from _of_what_moves()
    yield from _of_static_members()
    yield from _of_time()
    yield from _of_patterns()
    yield from _of_commits()
    yield from _of_other_groups()


def full_groups() -> Iterator[Script]:
    """Every sequence of a cluster with `SMALL`."""
    yield (
        "full-consumer-group",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("b", 0, T0),
            beat("c", 0, T0),
            beat("", 0, T0, version=0),
            beat("b", 0, T0),
            beat("a", -2, **INSTANCE),
            beat("c", 0, T0, **INSTANCE),
            beat("c", 5),
            beat("c", -1),
            beat("b", -1),
            beat("c", 0, T0),
        ],
    )
    yield from _classic_guards()


def _of_shapes() -> Iterator[Script]:
    yield (
        "consumer-shapes",
        [
            beat("a", 0, T0, rebalance_timeout_ms=-1),
            beat("a", 0, T0, owned=None),
            beat("a", 0, T0, **own(0)),
            beat("a", 0),
            beat("", 0, T0),
            beat("a", 0, T0, instance=""),
            beat("a", -2),
            beat("a", -3),
            beat("a", 0, T0, assignor="sticky"),
            beat("", 0, T0, assignor="sticky"),
            beat("a", -1),
            beat("a", -2, **INSTANCE),
            beat("a", 1),
            beat("a", 0, topic_pattern="("),
            step("ConsumerGroupHeartbeat", 1, group="", member="a", epoch=0, topics=T0),
        ],
    )
    yield (
        "consumer-id-of-the-broker",
        [beat("", 0, T0, version=0), beat("", 2, version=0), beat("", -1, version=0), beat("m0", 2, version=0)],
    )


def _of_epochs() -> Iterator[Script]:
    yield (
        "consumer-rejoin",
        [
            beat("a", 0, T0),
            beat("a", 0, T0),
            beat("a", 1),
            beat("a", 3),
            beat("a", 2),
            beat("a", 2, T0, **own(0)),
            beat("a", 2, T0, rebalance_timeout_ms=-1),
            beat("a", 2, T0, owned=None),
        ],
    )
    yield (
        "consumer-epoch-before",
        [
            *two(),
            beat("a", 2, **own(0)),
            beat("a", 2, **own(0)),
            beat("a", 2, **own(0, 1)),
            beat("a", 2, **own(1)),
            beat("a", 2, owned=None),
            beat("a", 0, T0),
            beat("a", 3),
        ],
    )
    yield "consumer-nothing-then-something", [beat("a", 0, []), beat("a", 1, T0), beat("b", 0, T0)]
    yield "consumer-unknown-topic", [beat("a", 0, ["t9"]), DUE, beat("a", 2, ["t9", "t0"])]
    yield (
        "consumer-interval",
        [beat("a", 0, T0), beat("b", 0, T0), beat("b", -1), beat("a", 2), DUE, beat("a", 2, owned=None), beat("a", 4)],
    )


def _of_what_moves() -> Iterator[Script]:
    yield (
        "consumer-two-steps",
        [
            *two(),
            beat("b", 3),
            beat("a", 2, **own(0, 1)),
            beat("a", 2, owned=None),
            beat("a", 2, **own(0)),
            beat("b", 3),
            beat("a", 3, **own(0)),
            beat("b", 3, **own(1)),
        ],
    )
    yield "consumer-gives-back-at-once", [*two()[:3], beat("a", 2, **own(0)), beat("b", 3)]
    yield (
        "consumer-leaves-what-it-had",
        [*two(), beat("a", -1), beat("b", 3), DUE, beat("b", 3), beat("b", 4, owned=None)],
    )
    yield (
        "consumer-gets-back-what-it-gives-back",
        [
            *two(),
            beat("b", -1),
            DUE,
            beat("a", 2, **own(0, 1)),
            beat("a", 2, **own(0)),
            beat("a", 4, **own(0)),
            beat("a", 4, **own(0, 1)),
        ],
    )
    yield (
        "consumer-gives-back-twice",
        [
            beat("a", 0, BOTH),
            DUE,
            beat("b", 0, ["t1"]),
            beat("a", 2, **own(0, 1, t1=True)),
            DUE,
            beat("c", 0, T0),
            beat("a", 2, **own(0, 1)),
            beat("a", 3, **own(0, 1)),
            beat("a", 3, **own(0)),
            beat("b", 3),
            beat("c", 4),
            beat("a", 4, **own(0)),
        ],
    )
    yield (
        "consumer-reads-less",
        [
            beat("a", 0, BOTH),
            beat("a", 2, ["t1"], **own(0, 1, t1=True)),
            beat("a", 2, **own(t1=True)),
            DUE,
            beat("a", 2, owned=None),
            beat("a", 3, BOTH, owned=None),
            DUE,
            beat("a", 3, owned=None),
        ],
    )
    yield (
        "consumer-range",
        [
            beat("b", 0, BOTH, assignor="range"),
            beat("a", 0, BOTH, assignor="range"),
            DUE,
            beat("b", 2),
            beat("a", 2),
            beat("b", 3),
        ],
    )
    yield (
        "consumer-restart-clean",
        [
            *two(),
            step("Restart", 0, how="clean"),
            beat("b", 3),
            beat("a", 2, **own(0, 1)),
            beat("a", 2, **own(0)),
            beat("b", 3),
            beat("c", 0, BOTH),
        ],
    )


def _of_static_members() -> Iterator[Script]:
    yield (
        "consumer-static",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("b", 0, T0, **INSTANCE),
            beat("b", -2, **INSTANCE),
            beat("b", 2, owned=None, **INSTANCE),
            beat("a", 2, instance="j"),
            beat("a", 2),
            beat("a", -2, **INSTANCE),
            beat("a", 2, **INSTANCE),
            beat("a", -2, **INSTANCE),
            beat("b", 0, T0, **INSTANCE),
            beat("a", 2, **INSTANCE),
            beat("b", 2, **INSTANCE),
            beat("b", -1, **INSTANCE),
            beat("b", 2, **INSTANCE),
        ],
    )
    yield (
        "consumer-static-under-the-same-id",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("a", 0, T0, **INSTANCE),
            beat("a", -2, **INSTANCE),
            beat("a", 0, T0, **INSTANCE),
            beat("a", -1),
            beat("a", 2),
        ],
    )
    yield (
        "consumer-static-reads-something-else",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("a", -2, **INSTANCE),
            beat("b", 0, ["t1"], **INSTANCE),
            DUE,
            beat("b", 2, **INSTANCE),
            beat("b", 3, **INSTANCE),
        ],
    )
    yield (
        "consumer-static-goes-while-it-gives-back",
        [
            beat("a", 0, T0, **INSTANCE),
            DUE,
            beat("b", 0, T0),
            beat("a", 2, **INSTANCE, **own(0, 1)),
            beat("a", -2, **INSTANCE),
            beat("b", 3),
            beat("c", 0, T0, **INSTANCE),
            beat("b", 3),
            beat("c", 3, **INSTANCE),
        ],
    )
    yield (
        "consumer-becomes-static",
        [
            beat("a", 0, T0),
            beat("a", 0, T0, **INSTANCE),
            beat("a", 2, **INSTANCE),
            beat("a", -1, **INSTANCE),
            beat("a", -1),
        ],
    )
    yield (
        "consumer-static-restart",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("a", -2, **INSTANCE),
            step("Restart", 0, how="clean"),
            beat("b", 0, T0, **INSTANCE),
            beat("b", 2, **INSTANCE),
        ],
    )


def _of_time() -> Iterator[Script]:
    yield (
        "consumer-session",
        [
            beat("a", 0, T0),
            sleep(2_300),
            beat("a", 2),
            sleep(2_300),
            beat("a", 2),
            sleep(SESSION_MS + 500),
            beat("a", 2),
            beat("a", 0, T0),
        ],
    )
    yield (
        "consumer-session-of-one-that-left-its-place",
        [
            beat("a", 0, T0, **INSTANCE),
            sleep(2_000),
            beat("a", -2, **INSTANCE),
            sleep(1_500),
            beat("b", 0, T0, **INSTANCE),
            sleep(SESSION_MS + 500),
            beat("b", 2, **INSTANCE),
        ],
    )
    yield (
        "consumer-session-ends-and-partitions-pass-on",
        [*two()[:3], *[sleep(1_000), beat("b", 3)] * 3, beat("b", 4), beat("b", 4)],
    )
    slow: Json = {"rebalance_timeout_ms": 1_500}
    yield (
        "consumer-rebalance-time-out",
        [
            beat("a", 0, T0, **slow),
            DUE,
            beat("b", 0, T0),
            beat("a", 2, **slow, **own(0, 1)),
            sleep(1_000),
            beat("a", 2, **slow, **own(0, 1)),
            beat("b", 3),
            sleep(1_000),
            beat("b", 3),
            beat("a", 2, **own(0)),
            beat("b", 4),
        ],
    )


def _of_patterns() -> Iterator[Script]:
    yield (
        "consumer-pattern",
        [
            beat("a", 0, topic_pattern="t0.*"),
            sleep(500),
            beat("a", 1),
            beat("a", 2),
            beat("b", 0, topic_pattern="t0.*"),
            beat("c", 0, topic_pattern="t1.*"),
            DUE,
            beat("c", 2),
        ],
    )
    yield (
        "consumer-names-and-a-pattern",
        [
            beat("a", 0, ["t1"], topic_pattern="t0.*"),
            sleep(500),
            beat("a", 2, **own(t1=True)),
            DUE,
            beat("a", 2, **own(t1=True)),
            beat("a", 3, topic_pattern="", **own(0, 1, t1=True)),
            beat("a", 3, topic_pattern="", **own(t1=True)),
            DUE,
            beat("a", 3),
            beat("a", 4),
        ],
    )
    yield (
        "consumer-patterns-that-are-none",
        [
            beat("a", 0, topic_pattern=pattern)
            for pattern in ("(", "t0(?=.*)", r"(t)\1", "t0**", "[", "(?P<n>t)(?P=n)", "t{2000}", "t++")
        ],
    )
    yield "consumer-empty-pattern", [beat("a", 0, topic_pattern=""), beat("a", 1, T0)]


def _of_commits() -> Iterator[Script]:
    yield (
        "consumer-commits",
        [
            *two(),
            commit("a", 2, 1),
            commit("a", 3, 1),
            commit("b", 3, 1),
            commit("b", 2, 1),
            beat("a", 2, **own(0)),
            commit("a", 2, 1),
            commit("a", 2, 0),
            commit("a", 3, 0, 1),
            commit("c", 3, 0),
            commit("a", 3, 0, version=8),
        ],
    )
    yield (
        "consumer-commits-of-static-members",
        [
            beat("a", 0, T0, **INSTANCE),
            beat("a", -2, **INSTANCE),
            commit("a", 2, 0, instance="i"),
            commit("a", -2, 0, instance="i"),
            beat("b", 0, T0, **INSTANCE),
            commit("a", 2, 0, instance="i"),
            commit("b", 2, 0, instance="j"),
        ],
    )
    yield (
        "consumer-commits-of-what-is-given-back-later",
        [
            beat("a", 0, BOTH),
            DUE,
            beat("a", 2, T0, **own(0, 1)),
            DUE,
            beat("b", 0, T0),
            beat("a", 3, **own(0, 1)),
            commit("a", 2, 1),
            commit("a", 2, 0),
            BEGIN,
            in_transaction("a", 2, 1),
            in_transaction("a", 1, 1),
        ],
    )


def _of_other_groups() -> Iterator[Script]:
    yield (
        "consumer-and-classic",
        [
            joins(),
            step("SyncGroup", 3, group="g0", member="m0", generation=1),
            beat("a", 0, T0),
            step("Heartbeat", 3, group="g0", member="m0", generation=1, instance=None),
            step("LeaveGroup", 2, group="g0", member="m0"),
            beat("a", 0, T0),
            step("Heartbeat", 3, group="g0", member="m1", generation=2, instance=None),
            beat("a", -1),
            joins(),
        ],
    )


# ---------------------------------------------------------------- the guards of JoinGroup


def _classic_guards() -> Iterator[Script]:
    """Requests that are wrong in two ways: the answer says which is looked at first."""
    wrong: dict[str, Json] = {
        "session": {"session_timeout_ms": 99},
        "type": {"protocol_type": "connect"},
        "no-type": {"protocol_type": ""},
        "no-protocols": {"protocols": []},
        "other-protocols": {"protocols": [{"name": "sticky"}]},
        "stranger": {"member": "bogus"},
        "no-group": {"group": ""},
    }
    for first, one in wrong.items():
        yield f"guard-{first}", [*_empty(**one), joins(), *_second(**one)]
        for second, other in list(wrong.items())[list(wrong).index(first) + 1 :]:
            if not one.keys() & other.keys():
                yield (
                    f"guard-{first}-and-{second}",
                    [
                        *_empty(**one, **other),
                        joins(),
                        *_second(**one, **other),
                    ],
                )
    yield from _static_guards(wrong)
    full = [joins(), joins(later="b"), joins(member="m0"), step("Answered", 0, of="b")]
    for name, one in ({"": {}} | wrong).items():
        yield f"guard-full{name and '-and-'}{name}", [*(_waits(each) for each in full), joins(**one)]
    yield "guard-full-for-an-id", [*(_waits(each) for each in full), joins(5), joins(5, instance="i")]
    yield (
        "guard-full-of-ids",
        [
            *[joins(5)] * 3,
            joins(5, member="m0"),
            _waits(joins(5, later="b", member="m2")),
            _waits(joins(5, later="c", member="m1")),
            joins(5, member="m0"),
            step("Answered", 0, of="b"),
            step("Answered", 0, of="c"),
            step("Heartbeat", 3, group="g0", member="m0", generation=1, instance=None),
            joins(5),
        ],
    )


def _empty(**said: Any) -> list[Json]:
    """Somebody joins a group that is not there, and is gone before the next comes."""
    return [joins(**said), step("LeaveGroup", 2, group="g0", member="m0")]


def _second(version: int = 3, **said: Any) -> list[Json]:
    """Somebody joins, and waits where it is let in."""
    return [_waits(joins(version, later="w", **said)), step("Answered", 0, of="w")]


def _waits(each: Json) -> Json:
    """A step whose answer is not waited for says so beside its request."""
    request = dict(each["request"])
    later = request.pop("later", None)
    return each | {"request": request} | ({} if later is None else {"later": later})


def _static_guards(wrong: dict[str, Json]) -> Iterator[Script]:
    """Of a member whose instance another one has."""
    taken = [joins(5, instance="i"), step("SyncGroup", 3, group="g0", member="m0", generation=1, instance="i")]
    fenced: Json = {"member": "other", "instance": "i"}
    for name, one in wrong.items():
        if name != "stranger":
            yield f"guard-fenced-and-{name}", [*taken, joins(5, **(fenced | one))]
            yield f"guard-replaces-and-{name}", [*taken, joins(5, instance="i", **one)]
    yield (
        "guard-fenced-and-full",
        [
            *taken,
            *[_waits(each) for each in (joins(later="b"), joins(5, member="m0", instance="i"))],
            joins(5, **fenced),
        ],
    )

"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: members come, get their assignment, beat, and go."""

from typing import Any

from tests.wire.stage import Scene, Stage
from zombieproof.model.vocabulary import ApiKey, Error

JOIN, SYNC, BEAT, LEAVE = ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP
COMMIT = ApiKey.OFFSET_COMMIT
RANGE = ({"name": "range", "metadata": b"said"},)
TWO = ({"name": "roundrobin", "metadata": b"rr"}, {"name": "range", "metadata": b"r"})


def joining(stage: Stage, member: str = "", group: str = "g", **more: Any) -> dict[str, Any]:
    """A JoinGroup."""
    return {
        "group_id": stage.name(group) if group else "",
        "session_timeout": 10_000,
        "rebalance_timeout": 20_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": RANGE,
        **more,
    }


def join(stage: Stage, version: int, **more: Any) -> Any:
    """Join, with the id that a new member gets first where a version demands it."""
    answer = stage.ask(JOIN, version, **joining(stage, **more))
    if answer["error_code"] == Error.MEMBER_ID_REQUIRED:
        answer = stage.ask(JOIN, version, **joining(stage, **{**more, "member": answer["member_id"]}))
    return answer


def syncing(stage: Stage, joined: Any, *members: str, group: str = "g", **more: Any) -> dict[str, Any]:
    """A SyncGroup; of the leader with an assignment for each member."""
    return {
        "group_id": stage.name(group),
        "generation_id": joined["generation_id"],
        "member_id": joined["member_id"],
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": b"has %d" % n} for n, member in enumerate(members)],
        **more,
    }


def stable(stage: Stage, version: int = 5, **more: Any) -> Any:
    """A group with one member, who has its assignment; what it was told when it joined."""
    joined = join(stage, version, **more)
    stage.ask(SYNC, 3, **syncing(stage, joined, joined["member_id"], group=more.get("group", "g")))
    return joined


# ---------------------------------------------------------------- JoinGroup


def one_member(stage: Stage, version: int) -> None:
    """A member joins, joins again, and says something else."""
    joined = join(stage, version)
    again = joining(stage, joined["member_id"])
    stage.ask(JOIN, version, **again)
    stage.ask(JOIN, version, **{**again, "protocols": TWO})


def odd_joins(stage: Stage, version: int) -> None:
    """What is refused: no group, no protocol, a time-out out of bounds, a member that nobody knows."""
    for more in (
        {"group": ""},
        {"session_timeout": 5_999},
        {"session_timeout": 1_800_001},
        {"session_timeout": 1_800_000, "group": "most"},
        {"member": "nobody"},
        {"protocols": ()},
        {"protocol_type": ""},
        {"protocol_type": "connect", "group": "connect"},
        {"rebalance_timeout": -1, "group": "none"},
        {"rebalance_timeout": 0, "group": "nought"},
        {"protocols": ({"name": "", "metadata": b""},), "group": "nameless"},
    ):
        join(stage, version, **more)


def other_protocols(stage: Stage, version: int) -> None:
    """Who shares no protocol with those who are in does not join them."""
    join(stage, version)
    join(stage, version, protocol_type="connect")
    join(stage, version, protocols=({"name": "sticky", "metadata": b""},))


def two_members(stage: Stage, version: int) -> None:
    """The second member opens a rebalance, which ends when the first has joined again."""
    first = join(stage, version, protocols=TWO)
    joining_second = joining(stage)
    if version >= 4:
        promised = stage.ask(JOIN, version, **joining_second)
        joining_second["member_id"] = promised["member_id"]
    second = stage.begin(JOIN, version, **joining_second)
    stage.silent(JOIN, version, second)
    beat = {"group_id": stage.name("g"), "generation_id": first["generation_id"], "member_id": first["member_id"]}
    stage.ask(BEAT, 3, **beat)
    told = stage.ask(JOIN, version, **joining(stage, first["member_id"], protocols=TWO))
    joined = stage.heard(JOIN, version, second)
    waits = stage.begin(SYNC, 3, **syncing(stage, joined))
    stage.silent(SYNC, 3, waits)
    stage.ask(SYNC, 3, **syncing(stage, told, told["member_id"], joined["member_id"]))
    stage.heard(SYNC, 3, waits)
    stage.ask(BEAT, 3, **{**beat, "generation_id": told["generation_id"]})
    stage.ask(LEAVE, 1, group_id=stage.name("g"), member_id=joined["member_id"])
    stage.ask(BEAT, 3, **{**beat, "generation_id": told["generation_id"]})


def static_members(stage: Stage, version: int) -> None:
    """A static member goes on in its place; who was there before is fenced."""
    first = stable(stage, version, group_instance_id="i")
    other = stage.ask(JOIN, version, **joining(stage, group_instance_id="i"))
    named = {"group_id": stage.name("g"), "generation_id": first["generation_id"], "group_instance_id": "i"}
    stage.ask(BEAT, 3, member_id=first["member_id"], **named)
    stage.ask(BEAT, 3, member_id=other["member_id"], **named)
    stage.ask(JOIN, version, **joining(stage, first["member_id"], group_instance_id="i"))
    stage.ask(JOIN, version, **joining(stage, other["member_id"], group_instance_id="j"))
    stage.ask(JOIN, version, **joining(stage, "unknown", group_instance_id="k"))


# ---------------------------------------------------------------- SyncGroup


def syncs(stage: Stage, version: int) -> None:
    """The leader assigns; what it says of the protocol has to be so."""
    joined = join(stage, 5)
    right = syncing(stage, joined, joined["member_id"])
    for more in (
        {"group_id": ""},
        {"group_id": stage.name("nowhere")},
        {"member_id": "nobody"},
        {"member_id": ""},
        {"generation_id": joined["generation_id"] + 1},
        {"generation_id": -1},
        {"protocol_name": "sticky"},
        {"protocol_type": "connect"},
        {"protocol_name": None},
        {"protocol_type": None},
        {"group_instance_id": "i"},
    ):
        stage.ask(SYNC, version, **{**right, **more})
    stage.ask(SYNC, version, **right)
    stage.ask(SYNC, version, **{**right, "assignments": ()})


def syncs_without_assignment(stage: Stage, version: int) -> None:
    """A leader that assigns nothing, and one that assigns to strangers."""
    joined = join(stage, 5)
    stage.ask(SYNC, version, **syncing(stage, joined))
    joined = stage.ask(JOIN, 5, **joining(stage, joined["member_id"]))
    stage.ask(SYNC, version, **syncing(stage, joined, "stranger", joined["member_id"]))


# ---------------------------------------------------------------- Heartbeat


def beats(stage: Stage, version: int) -> None:
    """A member beats; so does who is none."""
    joined = join(stage, 5)
    right = {"group_id": stage.name("g"), "generation_id": joined["generation_id"], "member_id": joined["member_id"]}
    stage.ask(BEAT, version, **right)
    stage.ask(SYNC, 3, **syncing(stage, joined, joined["member_id"]))
    for more in (
        {},
        {"group_id": ""},
        {"group_id": stage.name("nowhere")},
        {"member_id": "nobody"},
        {"member_id": ""},
        {"generation_id": joined["generation_id"] + 1},
        {"generation_id": -1},
        {"group_instance_id": "i"},
        {"group_instance_id": ""},
    ):
        stage.ask(BEAT, version, **{**right, **more})
    promised = stage.ask(JOIN, 5, **joining(stage))
    stage.ask(BEAT, version, **{**right, "member_id": promised["member_id"]})


# ---------------------------------------------------------------- LeaveGroup


def leaves(stage: Stage, version: int) -> None:
    """Members leave, one or several at a time; so do those who are none."""
    first = stable(stage)
    fixed = stable(stage, group="s", group_instance_id="i")
    promised = stage.ask(JOIN, 5, **joining(stage, group="p"))

    def leave(group: str, *members: tuple[str, str | None]) -> None:
        rows = [{"member_id": member, "group_instance_id": instance, "reason": "why"} for member, instance in members]
        stage.ask(LEAVE, version, group_id=group, member_id=members[0][0] if members else "", members=rows)

    leave("", (first["member_id"], None))
    leave(stage.name("nowhere"), (first["member_id"], None))
    leave(stage.name("g"), ("nobody", None))
    leave(stage.name("g"), ("", None))
    leave(stage.name("g"), (first["member_id"], None), ("nobody", None), (first["member_id"], None))
    leave(stage.name("g"), (first["member_id"], None))
    leave(stage.name("s"), (fixed["member_id"], "j"))
    leave(stage.name("s"), ("other", "i"))
    leave(stage.name("s"), ("", "i"), (fixed["member_id"], None))
    leave(stage.name("p"), (promised["member_id"], None))
    leave(stage.name("g"))


SCENES = (
    Scene("join-one", JOIN, one_member),
    Scene("join-odd", JOIN, odd_joins),
    Scene("join-protocols", JOIN, other_protocols),
    Scene("join-two", JOIN, two_members),
    Scene("join-static", JOIN, static_members, since=5),
    Scene("sync", SYNC, syncs),
    Scene("sync-unassigned", SYNC, syncs_without_assignment),
    Scene("beat", BEAT, beats),
    Scene("leave", LEAVE, leaves),
)

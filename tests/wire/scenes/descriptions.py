"""DescribeGroups, ListGroups and ConsumerGroupDescribe: what a coordinator knows of groups."""

from typing import Any

from tests.wire.scenes.classic_groups import join, joining, stable
from tests.wire.scenes.offsets import committing
from tests.wire.stage import Scene, Stage
from zombieproof.model.vocabulary import ApiKey

DESCRIBE, LIST, OF_CONSUMERS = ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE
BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


def beating(stage: Stage, member: str, epoch: int, group: str = "k", **more: Any) -> dict[str, Any]:
    """A ConsumerGroupHeartbeat of somebody who says everything."""
    return {
        "group_id": stage.name(group),
        "member_id": member,
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": 45_000,
        "subscribed_topic_names": [stage.name("t")],
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [],
        **more,
    }


def beat(stage: Stage, version: int, *said: Any, **more: Any) -> Any:
    """Beat; of an error's text only counts that there is one."""
    told = stage.quietly(BEAT, version, **beating(stage, *said, **more))
    stage.keep(BEAT, version, {**told, "error_message": told["error_message"] is not None})
    return told


def groups(stage: Stage) -> None:
    """Groups of every kind: with offsets only, stable, awaiting an assignment, and one of the consumer protocol."""
    stage.topic("t", 2)
    stage.quietly(ApiKey.OFFSET_COMMIT, 5, **committing(stage, 5, ("t", 0, 5, None), group="offsets"))
    stable(stage, group="stable", group_instance_id="i")
    join(stage, 5, group="completing")
    stage.ask(ApiKey.JOIN_GROUP, 5, **joining(stage, group="promised"))
    gone = stable(stage, group="gone")
    stage.ask(ApiKey.LEAVE_GROUP, 1, group_id=stage.name("gone"), member_id=gone["member_id"])


def describes(stage: Stage, version: int) -> None:
    """Each group, with its members."""
    groups(stage)
    for group in ("offsets", "stable", "completing", "promised", "gone", "never"):
        stage.ask(DESCRIBE, version, groups=[stage.name(group)], include_authorized_operations=False)
    both = [stage.name(group) for group in ("offsets", "never")]
    stage.ask(DESCRIBE, version, groups=both, include_authorized_operations=False)
    stage.ask(DESCRIBE, version, groups=[], include_authorized_operations=False)


def lists(stage: Stage, version: int) -> None:
    """Groups of this scene, all and by what they are."""
    groups(stage)
    for states, types in (
        ((), ()),
        (("Empty",), ()),
        (("stable",), ()),
        (("Empty", "CompletingRebalance"), ()),
        (("Nonsense",), ()),
        ((), ("classic",)),
        ((), ("Consumer",)),
        (("Stable",), ("classic", "consumer")),
    ):
        told = stage.quietly(LIST, version, states_filter=states, types_filter=types)
        own = [row for row in told["groups"] if row["group_id"].startswith(stage.prefix)]
        stage.keep(LIST, version, {**told, "groups": own})


def describes_consumers(stage: Stage, version: int) -> None:
    """A group of the consumer protocol, and what is none."""
    groups(stage)
    stage.quietly(BEAT, 1, **beating(stage, "mine", 0))
    for group in ("k", "stable", "offsets", "never"):
        stage.ask(OF_CONSUMERS, version, group_ids=[stage.name(group)], include_authorized_operations=False)
    stage.ask(DESCRIBE, 5, groups=[stage.name("k")], include_authorized_operations=False)
    told = stage.quietly(LIST, 5, states_filter=(), types_filter=("consumer",))
    stage.keep(LIST, 5, [row for row in told["groups"] if row["group_id"].startswith(stage.prefix)])
    left = {**beating(stage, "mine", -1), "topic_partitions": None}
    stage.quietly(BEAT, 1, **left)
    stage.ask(OF_CONSUMERS, version, group_ids=[stage.name("k")], include_authorized_operations=False)
    stage.ask(OF_CONSUMERS, version, group_ids=[], include_authorized_operations=False)


def beats(stage: Stage, version: int) -> None:
    """Two members of the consumer protocol share a topic; so do offsets and their epochs."""
    stage.topic("t", 2)
    stage.side.pass_time(500)
    first = beat(stage, version, "mine" if version else "", 0)
    who = first["member_id"]
    beat(stage, version, who, first["member_epoch"], topic_partitions=None)
    for member, epoch in ((who, 7), ("nobody", 1), (who, -3)):
        beat(stage, version, member, epoch)
    for member, epoch in ((who, first["member_epoch"]), (who, 9), ("nobody", 1), (None, -1)):
        asked = {"group_id": stage.name("k"), "member_id": member, "member_epoch": epoch, "topics": None}
        stage.ask(ApiKey.OFFSET_FETCH, 9, groups=[asked])
    beat(stage, version, who, -1)


EARLY_ACCESS = "3.9 answers 35 unless group.coordinator.rebalance.protocols names the consumer protocol; here it does"

SCENES = (
    Scene("describe-groups", DESCRIBE, describes),
    Scene("group-list", LIST, lists),
    Scene("group-consumers", OF_CONSUMERS, describes_consumers, differs={"3.9.1 0": EARLY_ACCESS}),
    Scene("group-beat", BEAT, beats, differs={"3.9.1 0": EARLY_ACCESS}),
)

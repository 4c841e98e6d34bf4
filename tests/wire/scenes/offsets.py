"""OffsetCommit, OffsetFetch, TxnOffsetCommit, OffsetDelete and DeleteGroups: where a group goes on reading."""

from typing import Any
from uuid import UUID

from tests.wire.scenes.classic_groups import joining, stable
from tests.wire.stage import Scene, Stage
from zombieproof.model.vocabulary import ApiKey

COMMIT, FETCH, OF_TXN = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.TXN_OFFSET_COMMIT
DELETE, DELETE_GROUPS = ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS
BY_ID_SINCE, GROUPS_SINCE = 10, 8


def named(stage: Stage, version: int, topic: str, since: int = BY_ID_SINCE) -> dict[str, Any]:
    """A topic by its name, or by its id; "nowhere" is none."""
    if version < since:
        return {"name": stage.name(topic)}
    return {"topic_id": UNKNOWN_ID if topic == "nowhere" else stage.id_of(topic)}


UNKNOWN_ID = UUID("00000000-0000-4000-8000-000000000001")


def committing(
    stage: Stage, version: int, *rows: tuple[str, int, int, str | None], group: str = "g", **more: Any
) -> dict[str, Any]:
    """An OffsetCommit or TxnOffsetCommit of rows (topic, partition, offset, metadata)."""
    topics = dict.fromkeys(topic for topic, *_ in rows)
    return {
        "group_id": stage.name(group) if group else "",
        "generation_id": -1,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time": -1,
        "topics": [
            {
                **named(stage, version, topic),
                "partitions": [
                    {
                        "partition_index": number,
                        "committed_offset": offset,
                        "committed_leader_epoch": 3,
                        "committed_metadata": metadata,
                    }
                    for of, number, offset, metadata in rows
                    if of == topic
                ],
            }
            for topic in topics
        ],
        **more,
    }


def fetching(
    stage: Stage, version: int, *rows: tuple[str, tuple[int, ...]], groups: tuple[str, ...] = ("g",), **more: Any
) -> dict[str, Any]:
    """An OffsetFetch of rows (topic, partitions); without rows of everything."""
    topics = [{**named(stage, version, topic), "partition_indexes": list(numbers)} for topic, numbers in rows] or None
    asked = [{"group_id": stage.name(group) if group else "", "topics": topics, **more} for group in groups]
    if version < GROUPS_SINCE:
        return {**asked[0], **more}
    return {"groups": asked, **more}


# ---------------------------------------------------------------- OffsetCommit


def commits(stage: Stage, version: int) -> None:
    """Offsets of a group without members: with and without metadata, of what is there and of what is not."""
    stage.topic("t", 2)
    rows = (("t", 0, 5, None), ("t", 1, 7, "said"), ("t", 9, 1, ""), ("nowhere", 0, 1, ""))
    stage.ask(COMMIT, version, **committing(stage, version, *rows))
    stage.ask(FETCH, 5, **fetching(stage, 5))
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, 6, "m" * 4097), ("t", 1, 8, "m" * 4096)))
    stage.ask(FETCH, 5, **fetching(stage, 5))
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, 6, ""), group=""))
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, -1, "")))
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, -5, "")))
    stage.ask(COMMIT, version, **committing(stage, version))
    stage.ask(FETCH, 5, **fetching(stage, 5))


def commits_of_members(stage: Stage, version: int) -> None:
    """A group with members wants to know who commits."""
    stage.topic("t")
    joined = stable(stage)
    right = {
        "generation_id_or_member_epoch": joined["generation_id"],
        "generation_id": joined["generation_id"],
        "member_id": joined["member_id"],
    }
    for more in (
        {},
        {"member_id": "nobody"},
        {"member_id": ""},
        {"generation_id_or_member_epoch": 9, "generation_id": 9},
        {"generation_id_or_member_epoch": -1, "generation_id": -1},
        {"generation_id_or_member_epoch": -1, "generation_id": -1, "member_id": ""},
        {"group_instance_id": "i"},
        {"group": "new"},
    ):
        stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, 5, ""), **{**right, **more}))
    again = stage.ask(ApiKey.JOIN_GROUP, 5, **joining(stage, joined["member_id"]))
    awaited = {**right, "generation_id_or_member_epoch": again["generation_id"]}
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, 6, ""), **awaited))


def commits_for_a_while(stage: Stage, version: int) -> None:
    """Up to version 4 an offset may say for how long it is kept."""
    stage.topic("t")
    stage.ask(COMMIT, version, **committing(stage, version, ("t", 0, 5, ""), retention_time=60_000))
    stage.ask(FETCH, 5, **fetching(stage, 5))


# ---------------------------------------------------------------- OffsetFetch


def fetches(stage: Stage, version: int) -> None:
    """What is committed, what is not, of groups that are there and of one that is not."""
    stage.topic("t", 3)
    stage.ask(COMMIT, 5, **committing(stage, 5, ("t", 0, 5, None), ("t", 1, 7, "said")))
    stage.ask(COMMIT, 6, **committing(stage, 6, ("t", 2, 9, "")))
    rows = (("t", (0, 1, 2, 9)), ("nowhere", (0,)))
    stage.ask(FETCH, version, **fetching(stage, version, *rows))
    stage.ask(FETCH, version, **fetching(stage, version, *rows, require_stable=True))
    stage.ask(FETCH, version, **fetching(stage, version, ("t", (0,)), groups=("never",)))
    stage.ask(FETCH, version, **fetching(stage, version, ("t", (0,)), groups=("",)))
    if version >= 2:
        stage.ask(FETCH, version, **fetching(stage, version))
        stage.ask(FETCH, version, **fetching(stage, version, groups=("never",)))


def fetches_of_groups(stage: Stage, version: int) -> None:
    """Several groups in one request, of which one is not there."""
    stage.topic("t", 2)
    for group, offset in (("a", 3), ("b", 4)):
        stage.ask(COMMIT, 5, **committing(stage, 5, ("t", 0, offset, None), group=group))
    stage.ask(FETCH, version, **fetching(stage, version, ("t", (0, 1)), groups=("a", "b", "c")))
    stage.ask(FETCH, version, **fetching(stage, version, groups=("a", "b", "c")))


def fetches_of_members(stage: Stage, version: int) -> None:
    """From version 9 on a member may say who it is; of a classic group nobody asks."""
    stage.topic("t")
    joined = stable(stage)
    stage.ask(
        COMMIT,
        5,
        **committing(stage, 5, ("t", 0, 3, None), member_id=joined["member_id"], generation_id_or_member_epoch=1),
    )
    for member, epoch in ((joined["member_id"], 1), ("nobody", 1), ("nobody", 7), (None, -1)):
        stage.ask(FETCH, version, **fetching(stage, version, ("t", (0,)), member_id=member, member_epoch=epoch))


def fetches_while_open(stage: Stage, version: int) -> None:
    """An offset that a transaction may still change."""
    stage.topic("t", 2)
    stage.ask(COMMIT, 5, **committing(stage, 5, ("t", 0, 1, None), ("t", 1, 2, None)))
    said = producer(stage)
    stage.ask(OF_TXN, 3, **committing(stage, 3, ("t", 0, 5, ""), **said))
    for stable_only in (False, True):
        stage.ask(FETCH, version, **fetching(stage, version, ("t", (0, 1)), require_stable=stable_only))
    if version >= 2:
        stage.ask(FETCH, version, **fetching(stage, version, require_stable=True))
    end(stage, said)


# ---------------------------------------------------------------- TxnOffsetCommit


def producer(stage: Stage, name: str = "x", group: str = "g") -> dict[str, Any]:
    """A producer whose transaction has the offsets of a group; what it says of itself."""
    who = stage.name(name)
    first = {"transactional_id": who, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    told = done(stage, ApiKey.INIT_PRODUCER_ID, first)
    said = {"transactional_id": who, "producer_id": told["producer_id"], "producer_epoch": told["producer_epoch"]}
    done(stage, ApiKey.ADD_OFFSETS_TO_TXN, {**said, "group_id": stage.name(group)})
    return said


def done(stage: Stage, api: ApiKey, values: dict[str, Any]) -> Any:
    """Ask until it is not to be asked again."""
    for _ in range(100):
        told = stage.quietly(api, 3, **values)
        if told["error_code"] == 0:
            return told
        stage.side.pass_time(50)
    raise AssertionError(told)


def end(stage: Stage, said: dict[str, Any]) -> None:
    """The transaction is committed, and its markers are there."""
    done(stage, ApiKey.END_TXN, {**said, "committed": True})
    for _ in range(100):
        told = stage.quietly(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[said["transactional_id"]])
        if told["transaction_states"][0]["transaction_state"] == "CompleteCommit":
            return
        stage.side.pass_time(50)
    raise AssertionError(told)


def commits_in_transactions(stage: Stage, version: int) -> None:
    """Offsets that count with their transaction."""
    stage.topic("t", 2)
    said = producer(stage)
    rows = (("t", 0, 5, None), ("t", 1, 7, "said"), ("t", 9, 1, ""), ("nowhere", 0, 1, ""))
    stage.ask(OF_TXN, version, **committing(stage, version, *rows, **said))
    stage.ask(FETCH, 5, **fetching(stage, 5))
    stage.ask(OF_TXN, version, **committing(stage, version, ("t", 0, 6, "m" * 4097), **said))
    for more in ({"group": ""}, {"member_id": "nobody", "generation_id": 3}, {"group_instance_id": "i"}):
        stage.ask(OF_TXN, version, **committing(stage, version, ("t", 0, 6, ""), **{**said, **more}))
    stage.ask(OF_TXN, version, **committing(stage, version, **said))
    end(stage, said)
    stage.ask(FETCH, 5, **fetching(stage, 5))


# ---------------------------------------------------------------- what goes


def deletes_offsets(stage: Stage, version: int) -> None:
    """Offsets go, where nobody reads."""
    stage.topic("t", 2)
    stage.ask(COMMIT, 5, **committing(stage, 5, ("t", 0, 5, None), ("t", 1, 7, None)))
    rows = [
        {"name": stage.name("t"), "partitions": [{"partition_index": n} for n in (0, 1, 9)]},
        {"name": stage.name("nowhere"), "partitions": [{"partition_index": 0}]},
    ]
    stage.ask(DELETE, version, group_id=stage.name("g"), topics=rows)
    stage.ask(FETCH, 5, **fetching(stage, 5))
    stage.ask(DELETE, version, group_id=stage.name("g"), topics=rows)
    stage.ask(DELETE, version, group_id=stage.name("never"), topics=rows)
    stage.ask(DELETE, version, group_id="", topics=rows)
    stable(stage, group="m")
    stage.ask(DELETE, version, group_id=stage.name("m"), topics=rows)
    stage.ask(DELETE, version, group_id=stage.name("g"), topics=[])


def deletes_groups(stage: Stage, version: int) -> None:
    """Groups go that nobody is in."""
    stage.topic("t")
    for group in "gh":
        stage.ask(COMMIT, 5, **committing(stage, 5, ("t", 0, 5, None), group=group))
    stable(stage, group="m")
    names = [stage.name(group) for group in ("g", "never", "m", "g")]
    stage.ask(DELETE_GROUPS, version, groups_names=names)
    stage.ask(DELETE_GROUPS, version, groups_names=names)
    stage.ask(DELETE_GROUPS, version, groups_names=[])
    stage.ask(FETCH, 5, **fetching(stage, 5))


OLD_COORDINATOR = "3.9 has the group coordinator of before KIP-848, which is modelled only where transactions notice"
"""It answers 22 where a group is not there that a member commits to, and forgets a group with its last offset."""

SCENES = (
    Scene("offset-commit", COMMIT, commits),
    Scene("offset-commit-member", COMMIT, commits_of_members, differs={"3.9.1 9": OLD_COORDINATOR}),
    Scene("offset-commit-while", COMMIT, commits_for_a_while, until=4),
    Scene("offset-fetch", FETCH, fetches),
    Scene("offset-fetch-groups", FETCH, fetches_of_groups, since=8),
    Scene("offset-fetch-member", FETCH, fetches_of_members, since=9),
    Scene("offset-fetch-open", FETCH, fetches_while_open),
    Scene("offset-txn", OF_TXN, commits_in_transactions),
    Scene("offset-delete", DELETE, deletes_offsets, differs={"3.9.1 0": OLD_COORDINATOR}),
    Scene("offset-groups-delete", DELETE_GROUPS, deletes_groups),
)

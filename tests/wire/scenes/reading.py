"""ListOffsets, OffsetForLeaderEpoch and Fetch: where records are, and the records."""

from typing import Any

from tests.wire.scenes.offsets import done, named
from tests.wire.stage import TIME_MS, Scene, Stage, batch_bytes
from zombieproof.model.vocabulary import ApiKey

LIST, FETCH, OF_EPOCH = ApiKey.LIST_OFFSETS, ApiKey.FETCH, ApiKey.OFFSET_FOR_LEADER_EPOCH
BY_ID_SINCE = 13
HIGHEST = 1 << 30


def records(stage: Stage) -> None:
    """Two partitions: one with three batches, one that is empty."""
    stage.topic("t", 2)
    stage.produce(stage.name("t"), 0, TIME_MS, TIME_MS + 100)
    stage.produce(stage.name("t"), 0, TIME_MS + 50)
    stage.produce(stage.name("t"), 0, TIME_MS + 200, TIME_MS + 150, TIME_MS + 200)


def open_transaction(stage: Stage, ends: bool | None = None) -> None:
    """A batch of a transaction in partition 0, which is open, committed (`ends`) or aborted."""
    who = stage.name("x")
    first = {"transactional_id": who, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    told = done(stage, ApiKey.INIT_PRODUCER_ID, first)
    said = {"producer_id": told["producer_id"], "producer_epoch": told["producer_epoch"]}
    topics = [{"name": stage.name("t"), "partitions": [0]}]
    added = {
        f"v3_and_below_{name}": value for name, value in {**said, "transactional_id": who, "topics": topics}.items()
    }
    for _ in range(100):
        told = stage.quietly(ApiKey.ADD_PARTITIONS_TO_TXN, 3, **added)
        if not told["results_by_topic_v3_and_below"][0]["results_by_partition"][0]["partition_error_code"]:
            break
        stage.side.pass_time(50)
    batch = {**said, "base_sequence": 0, "transactional": True}
    stage.produce(stage.name("t"), 0, TIME_MS + 300, transactional_id=who, **batch)
    if ends is not None:
        done(stage, ApiKey.END_TXN, {**said, "transactional_id": who, "committed": ends})
        for _ in range(100):
            told = stage.quietly(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[who])
            if told["transaction_states"][0]["transaction_state"].startswith("Complete"):
                return
            stage.side.pass_time(50)


# ---------------------------------------------------------------- ListOffsets


def listing(stage: Stage, *rows: tuple[str, int, int], epoch: int = -1, **more: Any) -> dict[str, Any]:
    """A ListOffsets of rows (topic, partition, time)."""
    return {
        "replica_id": -1,
        "isolation_level": 0,
        "timeout": 1_000,
        "topics": [
            {
                "name": stage.name(topic),
                "partitions": [{"partition_index": number, "current_leader_epoch": epoch, "timestamp": at}],
            }
            for topic, number, at in rows
        ],
        **more,
    }


def lists(stage: Stage, version: int) -> None:
    """Every special time, and others, of what has records and of what has none."""
    records(stage)
    for at in (-1, -2, -3, -4, -5, -6, -7, 0, TIME_MS, TIME_MS + 1, TIME_MS + 160, TIME_MS + 200, TIME_MS + 201):
        for number in (0, 1):
            stage.ask(LIST, version, **listing(stage, ("t", number, at)))
    stage.ask(LIST, version, **listing(stage, ("t", 9, -1), ("nowhere", 0, -1)))
    stage.ask(LIST, version, **listing(stage))


def lists_twice(stage: Stage, version: int) -> None:
    """A partition that is named twice."""
    records(stage)
    stage.ask(LIST, version, **listing(stage, ("t", 0, -1), ("t", 0, -1)))


def lists_under_epochs(stage: Stage, version: int) -> None:
    """From version 4 on a client says under which leader it reads."""
    records(stage)
    for epoch in (-2, -1, 0, 1):
        stage.ask(LIST, version, **listing(stage, ("t", 0, -1), epoch=epoch))
    stage.ask(LIST, version, **listing(stage, ("t", 9, -1), epoch=5))


def lists_stable(stage: Stage, version: int) -> None:
    """Who reads what is committed is told no more of an open transaction."""
    records(stage)
    open_transaction(stage)
    for isolation in (0, 1):
        for at in (-1, -2, -3, TIME_MS + 200, TIME_MS + 300):
            stage.ask(LIST, version, **listing(stage, ("t", 0, at), isolation_level=isolation))


# ---------------------------------------------------------------- OffsetForLeaderEpoch


def ends_of_epochs(stage: Stage, version: int) -> None:
    """Where the records of a leader end."""
    records(stage)
    for number in (0, 1, 9):
        for epoch in (-1, 0, 1, 5):
            for present in (-1, 0, 1, -2):
                rows = [{"partition": number, "current_leader_epoch": present, "leader_epoch": epoch}]
                stage.ask(OF_EPOCH, version, topics=[{"topic": stage.name("t"), "partitions": rows}], replica_id=-1)


# ---------------------------------------------------------------- Fetch


def fetching(stage: Stage, version: int, *rows: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    """A Fetch of rows (topic, partition, offset); `of_partition` is what else is said of each."""
    said = {
        "current_leader_epoch": -1,
        "last_fetched_epoch": -1,
        "partition_max_bytes": HIGHEST,
        "log_start_offset": -1,
    }
    said |= more.pop("of_partition", {})
    topics = [
        {
            "topic": stage.name(topic),
            **named(stage, version, topic, BY_ID_SINCE),
            "partitions": [{"partition": number, "fetch_offset": offset, **said}],
        }
        for topic, number, offset in rows
    ]
    return {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": HIGHEST,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": topics,
        "rack_id": "",
        **more,
    }


def fetches(stage: Stage, version: int) -> None:
    """Records from an offset on, of both kinds of readers."""
    records(stage)
    for isolation in (0, 1):
        for offset in (0, 1, 3, 6, 7, -1):
            stage.ask(FETCH, version, **fetching(stage, version, ("t", 0, offset), isolation_level=isolation))
        stage.ask(FETCH, version, **fetching(stage, version, ("t", 1, 0), isolation_level=isolation))
        stage.ask(FETCH, version, **fetching(stage, version, ("t", 9, 0), isolation_level=isolation))
        stage.ask(FETCH, version, **fetching(stage, version, ("nowhere", 0, 0), isolation_level=isolation))
    stage.ask(FETCH, version, **fetching(stage, version))


def fetches_within_limits(stage: Stage, version: int) -> None:
    """No more than so many bytes: of all partitions together, and of each; but at least one batch."""
    records(stage)
    stage.produce(stage.name("t"), 1, TIME_MS)
    both = (("t", 0, 0), ("t", 1, 0))
    size = len(batch_bytes((TIME_MS, TIME_MS + 100)))
    for most in (0, 1, size - 1, size, size + 1, 3 * size):
        stage.ask(FETCH, version, **fetching(stage, version, *both, max_bytes=most))
        stage.ask(FETCH, version, **fetching(stage, version, *both, of_partition={"partition_max_bytes": most}))


def fetches_under_epochs(stage: Stage, version: int) -> None:
    """From version 9 on a client says under which leader it reads, from 12 on under which it read last."""
    records(stage)
    for present in (-2, -1, 0, 1):
        asked = {"current_leader_epoch": present}
        stage.ask(FETCH, version, **fetching(stage, version, ("t", 0, 0), of_partition=asked))
    for last in (0, 1):
        for offset in (2, 6):
            asked = {"last_fetched_epoch": last}
            stage.ask(FETCH, version, **fetching(stage, version, ("t", 0, offset), of_partition=asked))


def fetches_transactions(stage: Stage, version: int) -> None:
    """What is committed, what was aborted."""
    records(stage)
    open_transaction(stage)
    for isolation in (0, 1):
        for offset in (0, 6):
            stage.ask(FETCH, version, **fetching(stage, version, ("t", 0, offset), isolation_level=isolation))


def fetches_in_sessions(stage: Stage, version: int) -> None:
    """A session that nobody knows, and one that is given up."""
    records(stage)
    for session, epoch in ((5, 1), (5, -1), (0, 3)):
        stage.ask(FETCH, version, **fetching(stage, version, ("t", 0, 0), session_id=session, session_epoch=epoch))


def waits_for_bytes(stage: Stage, version: int) -> None:
    """A fetch waits until there are as many bytes as it wants."""
    stage.topic("t")
    size = len(batch_bytes((TIME_MS,)))
    asked = fetching(stage, version, ("t", 0, 0), min_bytes=2 * size, max_wait=3_000)
    waits = stage.begin(FETCH, version, **asked)
    stage.silent(FETCH, version, waits)
    stage.produce(stage.name("t"), 0)
    stage.silent(FETCH, version, waits)
    stage.produce(stage.name("t"), 0)
    stage.heard(FETCH, version, waits)


NAMED_TWICE = "3.9 tells of a partition as often as it is named, in rows of their own; a mapping has it once"

SCENES = (
    Scene("list", LIST, lists),
    Scene("list-twice", LIST, lists_twice, differs={f"3.9.1 {version}": NAMED_TWICE for version in range(10)}),
    Scene("list-epoch", LIST, lists_under_epochs, since=4),
    Scene("list-stable", LIST, lists_stable, since=2),
    Scene("epoch-end", OF_EPOCH, ends_of_epochs),
    Scene("fetch", FETCH, fetches),
    Scene("fetch-limits", FETCH, fetches_within_limits),
    Scene("fetch-epoch", FETCH, fetches_under_epochs, since=9),
    Scene("fetch-open", FETCH, fetches_transactions),
    Scene("fetch-session", FETCH, fetches_in_sessions, since=7),
    Scene("fetch-waits", FETCH, waits_for_bytes),
)

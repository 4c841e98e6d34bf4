"""ListOffsets, OffsetForLeaderEpoch and Fetch: where records are, and the records."""

from time import time
from typing import Any
from uuid import UUID

from tests.wire.scenes.offsets import done, named
from tests.wire.sides import Later
from tests.wire.stage import TIME_MS, Scene, Stage, batch_bytes, whole_batches
from zombieproof.model.placement import partition_for
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


def open_transaction(stage: Stage, ends: bool | None = None, at_ms: int = TIME_MS + 300) -> None:
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
    stage.produce(stage.name("t"), 0, at_ms, transactional_id=who, **batch)
    if ends is not None:
        end_transaction(stage, ends=ends)


def end_transaction(stage: Stage, *, ends: bool) -> None:
    """The open transaction is committed (`ends`) or aborted, and its marker is there."""
    who = stage.name("x")
    (row,) = stage.quietly(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[who])["transaction_states"]
    said = {"producer_id": row["producer_id"], "producer_epoch": row["producer_epoch"]}
    done(stage, ApiKey.END_TXN, {**said, "transactional_id": who, "committed": ends})
    for _ in range(100):
        (row,) = stage.quietly(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[who])["transaction_states"]
        if row["transaction_state"].startswith("Complete"):
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


def lists_old_style(stage: Stage, version: int) -> None:
    """Version 0: the beginning and the end, as a list of offsets."""
    records(stage)
    for at in (-1, -2):
        for number in (0, 1, 9):
            for most in (0, 1):
                rows = [{"partition_index": number, "timestamp": at, "max_num_offsets": most}]
                stage.ask(LIST, version, replica_id=-1, topics=[{"name": stage.name("t"), "partitions": rows}])
    open_transaction(stage)
    rows = [{"partition_index": 0, "timestamp": -1, "max_num_offsets": 1}]
    stage.ask(LIST, version, replica_id=-1, topics=[{"name": stage.name("t"), "partitions": rows}])


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


def lists_behind_deleted_records(stage: Stage, version: int) -> None:
    """Times of records below the log start offset: within a batch, in a segment that is kept, in a transaction."""
    topic = stage.topic("t", 4)
    stage.produce(topic, 0, TIME_MS, TIME_MS + 100, TIME_MS + 50, TIME_MS + 200)
    stage.produce(topic, 0, TIME_MS + 150)
    stage.produce(topic, 1, TIME_MS + 900)
    stage.produce(topic, 1, TIME_MS + 100, TIME_MS + 200)
    stage.produce(topic, 2, TIME_MS + 900, TIME_MS + 100, TIME_MS + 200)
    stage.produce(topic, 2, TIME_MS + 800)
    stage.produce(topic, 3, TIME_MS + 900, TIME_MS + 100)
    for number, offset in ((0, 2), (1, 1), (2, 1), (3, 2)):
        rows = [{"name": topic, "partitions": [{"partition_index": number, "offset": offset}]}]
        told = stage.quietly(ApiKey.DELETE_RECORDS, 2, topics=rows, timeout_ms=5_000)
        assert told["topics"][0]["partitions"][0]["low_watermark"] == offset, told
    times = (-1, -2, -3, 0, TIME_MS, TIME_MS + 60, TIME_MS + 101, TIME_MS + 201, TIME_MS + 850, TIME_MS + 901)
    for number in range(4):
        for at in times:
            stage.ask(LIST, version, **listing(stage, ("t", number, at)))
    open_transaction(stage)
    rows = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 6}]}]
    stage.quietly(ApiKey.DELETE_RECORDS, 2, topics=rows, timeout_ms=5_000)
    for isolation in (0, 1):
        for at in times:
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


def _later(stage: Stage, version: int, *rows: tuple[str, int, int], **more: Any) -> Later:
    """Begin a fetch that may wait; keep whether it is answered at once."""
    waits = stage.begin(FETCH, version, **fetching(stage, version, *rows, **{"max_wait": 1_500, **more}))
    stage.silent(FETCH, version, waits)
    return waits


def now_ms() -> int:
    """The time of records in a segment that a marker of today does not end (``segment.ms``)."""
    return int(time() * 1000)


def waits_behind_transactions(stage: Stage, version: int) -> None:
    """Markers and aborted records count with all their bytes, for both kinds of readers."""
    for ends in (True, False):
        stage = Stage(stage.side, stage.name(f"{ends}-"), stage.answers)
        stage.topic("t")
        open_transaction(stage, ends, at_ms=now_ms())
        told = stage.quietly(FETCH, version, **fetching(stage, version, ("t", 0, 0)))
        (row,) = told["responses"][0]["partitions"]
        batches = whole_batches(row["records"])
        marker, size = len(batches[-1]) // 2, len(row["records"])
        for isolation in (0, 1):
            for offset, enough in ((1, marker), (0, size)):
                for min_bytes in (1, enough, enough + 1):
                    _later(stage, version, ("t", 0, offset), min_bytes=min_bytes, isolation_level=isolation)


def waits_for_the_end_of_a_transaction(stage: Stage, version: int) -> None:
    """A committed reader waits at an open transaction, and is answered when it ends; another one is answered before."""
    stage.topic("t")
    stage.produce(stage.name("t"), 0, now_ms())
    open_transaction(stage, at_ms=now_ms())
    waits = _later(stage, version, ("t", 0, 1), isolation_level=1, max_wait=4_000)
    _later(stage, version, ("t", 0, 1), isolation_level=0)
    _later(stage, version, ("t", 0, 0), isolation_level=1)
    _later(stage, version, ("t", 0, 0), isolation_level=1, min_bytes=1 + len(batch_bytes((TIME_MS,))))
    end_transaction(stage, ends=True)
    stage.silent(FETCH, version, waits)
    (row,) = waits.answer()["responses"][0]["partitions"]
    stage.answers.append(["batches", version, len(whole_batches(row["records"]))])


def waits_at_the_end(stage: Stage, version: int) -> None:
    """At the end of a log a fetch waits for as long as it has said; what it may not read is told at once."""
    stage.topic("t", 2)
    stage.produce(stage.name("t"), 0)
    for more in ({}, {"min_bytes": 0}, {"max_wait": 0}, {"max_wait": -1}, {"min_bytes": -1}):
        _later(stage, version, ("t", 0, 1), **more)
    for rows in (
        (("t", 0, 2),),
        (("t", 0, 1), ("t", 9, 0)),
        (("t", 0, 1), ("t", 1, 0)),
        (("t", 0, 0), ("t", 1, 0)),
        (),
    ):
        _later(stage, version, *rows)
    if version >= 12:
        _later(stage, version, ("t", 0, 2), of_partition={"last_fetched_epoch": 0})
    _later(stage, version, ("t", 9, 0), ("nowhere", 0, 0))
    _later(stage, version, ("t", 0, 1), ("nowhere", 0, 0))
    waits = _later(stage, version, ("t", 0, 1), ("t", 1, 0))
    stage.side.pass_time(2_000)
    stage.silent(FETCH, version, waits)
    stage.heard(FETCH, version, waits)


def waits_for_more_than_fits(stage: Stage, version: int) -> None:
    """What counts of a partition is no more than may be read of it; a first batch that does not fit counts whole."""
    stage.topic("t", 2)
    for _ in range(2):
        stage.produce(stage.name("t"), 0)
    size, both = len(batch_bytes((TIME_MS,))), ("t", 0, 0)
    for most in (1, size, size + 10, 2 * size, 3 * size):
        for min_bytes in (1, size, size + 1, size + 10, size + 11, 2 * size, 2 * size + 1):
            _later(stage, version, both, min_bytes=min_bytes, of_partition={"partition_max_bytes": most})
            _later(stage, version, both, min_bytes=min_bytes, max_bytes=most)
    for most, min_bytes in ((1, 1), (1, 2), (size, size), (size, size + 1), (2 * size, size + 1)):
        stage.topic(f"u{most}-{min_bytes}")
        row, said = (f"u{most}-{min_bytes}", 0, 0), {"partition_max_bytes": most}
        waits = _later(stage, version, row, min_bytes=min_bytes, of_partition=said, max_wait=4_000)
        stage.produce(stage.name(row[0]), 0)
        stage.silent(FETCH, version, waits)
        stage.produce(stage.name(row[0]), 0)
        stage.silent(FETCH, version, waits)
    stage.produce(stage.name("t"), 1)
    for min_bytes in (3 * size, 3 * size + 1):
        _later(stage, version, both, ("t", 1, 0), min_bytes=min_bytes)


def waits_in_internal_topics(stage: Stage, version: int) -> None:
    """Records that brokers write for themselves count as others do."""
    stage.topic("t")
    open_transaction(stage)
    group = stage.name("g")
    row = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
    rows = [{"name": stage.name("t"), "partitions": [row]}]
    said = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    told = stage.quietly(ApiKey.OFFSET_COMMIT, 8, group_id=group, topics=rows, **said)
    assert told["topics"][0]["partitions"][0]["error_code"] == 0, told
    for topic, of in (("__consumer_offsets", group), ("__transaction_state", stage.name("x"))):
        internal = _Internal(stage, version, topic, partition_for(of, 2))
        size = internal.size
        stage.answers.append([topic, version, "more than 61 bytes" if size > 61 else size])
        for isolation in (0, 1):
            for min_bytes in (1, size, size + 1):
                internal.later(isolation, min_bytes)


class _Internal:
    """The last batch of a partition of an internal topic, by name or by id."""

    def __init__(self, stage: Stage, version: int, topic: str, partition: int) -> None:
        self.stage, self.version = stage, version
        (row,) = stage.quietly(ApiKey.METADATA, 12, topics=[{"name": topic}])["topics"]
        listed = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -1, **ANY_EPOCH}]}]
        told = stage.quietly(LIST, 7, replica_id=-1, isolation_level=0, topics=listed)
        at = {"partition": partition, "fetch_offset": told["topics"][0]["partitions"][0]["offset"] - 1, **ANY_EPOCH}
        at |= {"last_fetched_epoch": -1, "log_start_offset": -1, "partition_max_bytes": HIGHEST}
        self.topics = [{"topic": topic, "topic_id": UUID(row["topic_id"]), "partitions": [at]}]
        told = stage.quietly(FETCH, version, **{**fetching(stage, version), "topics": self.topics})
        self.size = len(told["responses"][0]["partitions"][0]["records"])

    def later(self, isolation: int, min_bytes: int) -> None:
        """Keep whether a fetch of it is answered at once."""
        said = {"topics": self.topics, "isolation_level": isolation, "min_bytes": min_bytes, "max_wait": 1_500}
        waits = self.stage.begin(FETCH, self.version, **{**fetching(self.stage, self.version), **said})
        self.stage.silent(FETCH, self.version, waits)


ANY_EPOCH = {"current_leader_epoch": -1}

NAMED_TWICE = "3.9 tells of a partition as often as it is named, in rows of their own; a mapping has it once"

SCENES = (
    Scene("list", LIST, lists, since=1),
    Scene("list-offsets", LIST, lists_old_style, until=0),
    Scene(
        "list-twice", LIST, lists_twice, since=1, differs={f"3.9.1 {version}": NAMED_TWICE for version in range(1, 10)}
    ),
    Scene("list-epoch", LIST, lists_under_epochs, since=4),
    Scene("list-stable", LIST, lists_stable, since=2),
    Scene("list-deleted", LIST, lists_behind_deleted_records, since=7, until=8),
    Scene("epoch-end", OF_EPOCH, ends_of_epochs),
    Scene("fetch", FETCH, fetches),
    Scene("fetch-limits", FETCH, fetches_within_limits),
    Scene("fetch-epoch", FETCH, fetches_under_epochs, since=9),
    Scene("fetch-open", FETCH, fetches_transactions),
    Scene("fetch-session", FETCH, fetches_in_sessions, since=7),
    Scene("fetch-waits", FETCH, waits_for_bytes),
    Scene("fetch-waits-behind-transactions", FETCH, waits_behind_transactions, since=11, until=13),
    Scene("fetch-waits-at-a-transaction", FETCH, waits_for_the_end_of_a_transaction, since=11, until=13),
    Scene("fetch-waits-at-the-end", FETCH, waits_at_the_end, since=11, until=13),
    Scene("fetch-waits-for-more", FETCH, waits_for_more_than_fits, since=11, until=13),
    Scene("fetch-waits-internal", FETCH, waits_in_internal_topics, since=11, until=13),
)

"""The rows of an answer to a commit of offsets, in the order of a real 4.4.0, and what is stored of them."""

from typing import Any
from uuid import UUID

import pytest

from tests.wire.raw import Ours, ask
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.formats.batches import OffsetKey, OffsetValue
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import ApiKey

NOBODYS = UUID(int=7)
NONE, UNKNOWN, TOO_LARGE, UNKNOWN_ID = 0, 3, 12, 100


def broker(release: str) -> Ours:
    return Ours(Cluster(1, preset_for(release), topics={"t0": 2}, release=release))


def row(partition: int, metadata: str = "") -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": 7,
        "committed_leader_epoch": -1,
        "committed_metadata": metadata,
    }


def committed(at: Ours, api: ApiKey, version: int, *topics: tuple[str, tuple[dict[str, Any], ...]]) -> Any:
    """What is answered, as (name or id, rows) for each topic that stands in it."""
    ids = {"t0": at.cluster.metadata.topic_ids["t0"], "nope": NOBODYS}
    values: dict[str, Any] = {
        "group_id": "g",
        "topics": [{"name": name, "topic_id": ids[name], "partitions": rows} for name, rows in topics],
        "generation_id": -1,
        "generation_id_or_member_epoch": -1,
    }
    if api == ApiKey.TXN_OFFSET_COMMIT:
        init = ask(
            at,
            ApiKey.INIT_PRODUCER_ID,
            4,
            {"transactional_id": f"x{version}", "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1},
        )
        values |= {
            "transactional_id": f"x{version}",
            "producer_id": init["producer_id"],
            "producer_epoch": init["producer_epoch"],
        }
    told = ask(at, api, version, values)["topics"]
    names = {str(id_): name for name, id_ in ids.items()}
    return [
        (
            topic["name"] if "name" in topic else names[topic["topic_id"]],
            [(each["partition_index"], each["error_code"]) for each in topic["partitions"]],
        )
        for topic in told
    ]


COMMITS = pytest.mark.parametrize(
    ("api", "version"),
    [
        (ApiKey.TXN_OFFSET_COMMIT, 5),
        (ApiKey.TXN_OFFSET_COMMIT, 6),
        (ApiKey.OFFSET_COMMIT, 9),
        (ApiKey.OFFSET_COMMIT, 10),
    ],
)


@COMMITS
def test_what_no_broker_knows_is_told_first_and_the_rest_is_stored(api: ApiKey, version: int) -> None:
    at = broker("4.4")
    asked = (("t0", (row(0), row(7), row(1, "x" * 5000))), ("nope", (row(0),)), ("t0", (row(0), row(9))))
    by_id = (api, version) in ((ApiKey.TXN_OFFSET_COMMIT, 6), (ApiKey.OFFSET_COMMIT, 10))
    assert committed(at, api, version, *asked) == [
        ("t0", [(7, UNKNOWN), (9, UNKNOWN), (0, NONE), (1, TOO_LARGE), (0, NONE)]),
        ("nope", [(0, UNKNOWN_ID if by_id else UNKNOWN)]),
    ]
    assert [key.partition for key, _ in stored(at)] == [0, 0]


@COMMITS
def test_a_topic_that_is_named_twice_is_told_twice(api: ApiKey, version: int) -> None:
    at = broker("4.4")
    told = committed(at, api, version, ("t0", (row(0), row(1))), ("t0", (row(0),)))
    assert told == [("t0", [(0, NONE), (1, NONE)]), ("t0", [(0, NONE)])]
    assert [key.partition for key, _ in stored(at)] == [0, 1, 0]


def stored(at: Ours) -> list[tuple[OffsetKey, OffsetValue]]:
    partition = at.cluster.metadata.group_partition("g")
    batches = at.cluster.brokers[1].partitions.replicas[partition].log.read()
    return [
        (record.key, record.value)
        for batch in batches
        for record in batch.records
        if isinstance(record.key, OffsetKey) and isinstance(record.value, OffsetValue)
    ]


@pytest.mark.parametrize(
    ("release", "plain", "transactional"), [("4.0", False, False), ("4.3", True, False), ("4.4", True, True)]
)
def test_an_offset_is_stored_with_the_id_of_its_topic_however_that_was_named(
    release: str, plain: bool, transactional: bool
) -> None:
    at = broker(release)
    newest = release == "4.4"
    committed(at, ApiKey.OFFSET_COMMIT, 9, ("t0", (row(0),)))
    committed(at, ApiKey.OFFSET_COMMIT, 10 if release != "4.0" else 8, ("t0", (row(0),)))
    committed(at, ApiKey.TXN_OFFSET_COMMIT, 5, ("t0", (row(0),)))
    if newest:
        committed(at, ApiKey.TXN_OFFSET_COMMIT, 6, ("t0", (row(0),)))
    ids = [
        None if value.topic_id is None else at.cluster.metadata.topic_names[value.topic_id] for _, value in stored(at)
    ]
    expected = ["t0" if plain else None] * 2 + ["t0" if transactional else None] * (2 if newest else 1)
    assert ids == expected

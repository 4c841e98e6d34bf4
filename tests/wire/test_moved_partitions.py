"""Who asks a broker that does not lead a partition, or means another leader, is told who leads (KIP-951, KIP-320)."""

from typing import Any

import pytest

pytest.importorskip(
    "kio", reason="kio (extra `wire`) is missing; errors of leaders are tested on brokers in tests/broker"
)

from tests.wire.raw import answer_values, request_bytes
from tests.wire.stage import TIME_MS, batch_bytes
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Address, Around
from zombieproof.wire.frames import SIZE
from zombieproof.wire.front import Front

ADDRESSES = {1: Address("127.0.0.1", 9092), 2: Address("127.0.0.1", 9093)}
LED_BY_TWO = {"leader_id": 2, "leader_epoch": 1}


@pytest.fixture
def cluster() -> Cluster:
    """Node 1 has written a record under epoch 0; node 2 leads under epoch 1."""
    found = Cluster(2, topics={"t": [(1, 2)]}, clock=ManualClock(TIME_MS))
    records = [{"index": 0, "records": batch_bytes((TIME_MS,))}]
    told = ask(found, 1, ApiKey.PRODUCE, 9, topic_data=[{"name": "t", "partition_data": records}])
    assert rows_of(told)["error_code"] == Error.NONE
    found.elect(("t", 0), 2)
    return found


def ask(cluster: Cluster, node: int, api: ApiKey, version: int, **values: Any) -> Any:
    front = Front(cluster, node, Around(cluster.metadata, ADDRESSES, "two", lambda: cluster.brokers))
    asked = front.ask(request_bytes(api, version, {"acks": -1, "timeout": 100, **values}))
    answers = [cluster.ask(each, node) for each in asked.messages]
    frame = front.answered(asked, tuple(each for each in answers if each is not None))
    return answer_values(api, version, frame[SIZE.size :])


def rows_of(answer: Any) -> Any:
    (topic,) = answer.get("responses") or answer["topics"]
    (row,) = topic.get("partition_responses") or topic["partitions"]
    return row


def fetching(cluster: Cluster, **said: int) -> dict[str, Any]:
    rows = [{"partition": 0, "fetch_offset": 0, "current_leader_epoch": -1, "partition_max_bytes": 1 << 20, **said}]
    topic = {"topic": "t", "topic_id": cluster.metadata.topic_ids["t"], "partitions": rows}
    return {"max_wait": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1, "topics": [topic]}


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_who_writes_to_the_old_leader_is_told_the_new_one(cluster: Cluster, version: int) -> None:
    topic = {"name": "t", "topic_id": cluster.metadata.topic_ids["t"]}
    records = [{"index": 0, "records": batch_bytes((TIME_MS,))}]
    answer = ask(cluster, 1, ApiKey.PRODUCE, version, topic_data=[{**topic, "partition_data": records}])
    row = rows_of(answer)
    assert row["error_code"] == Error.NOT_LEADER_OR_FOLLOWER
    if version >= 10:
        assert row["current_leader"] == LED_BY_TWO
        assert answer["node_endpoints"] == [{"node_id": 2, "host": "127.0.0.1", "port": 9093, "rack": None}]


@pytest.mark.parametrize("version", [9, 12, 15, 16, 18])
@pytest.mark.parametrize(
    ("epoch", "error"), [(0, Error.FENCED_LEADER_EPOCH), (2, Error.UNKNOWN_LEADER_EPOCH), (1, Error.NONE)]
)
def test_who_reads_under_another_epoch_is_told_so(cluster: Cluster, version: int, epoch: int, error: int) -> None:
    answer = ask(cluster, 2, ApiKey.FETCH, version, **fetching(cluster, current_leader_epoch=epoch))
    row = rows_of(answer)
    assert row["error_code"] == error
    if version >= 16:
        is_told = error == Error.FENCED_LEADER_EPOCH
        assert (row["current_leader"] == LED_BY_TWO) == is_told
        assert [each["port"] for each in answer["node_endpoints"]] == [9093] * is_told


def test_who_has_read_more_than_a_leader_wrote_is_told_where_they_part(cluster: Cluster) -> None:
    """Epoch 0 ends at offset 1: whoever has read up to 1 under it goes on, whoever has read farther does not."""
    records = [{"index": 0, "records": batch_bytes((TIME_MS,))}]
    ask(cluster, 2, ApiKey.PRODUCE, 9, topic_data=[{"name": "t", "partition_data": records}])
    for offset, parts in ((1, None), (2, {"epoch": 0, "end_offset": 1})):
        row = rows_of(ask(cluster, 2, ApiKey.FETCH, 12, **fetching(cluster, fetch_offset=offset, last_fetched_epoch=0)))
        assert row["error_code"] == Error.NONE
        assert row["diverging_epoch"] == (parts or {"epoch": -1, "end_offset": -1})
        assert bool(row["records"]) == (parts is None)


@pytest.mark.parametrize(("epoch", "found"), [(0, (0, 1)), (1, (1, 2)), (2, (-1, -1)), (-1, (-1, -1))])
def test_where_the_records_of_an_epoch_end(cluster: Cluster, epoch: int, found: tuple[int, int]) -> None:
    records = [{"index": 0, "records": batch_bytes((TIME_MS,))}]
    ask(cluster, 2, ApiKey.PRODUCE, 9, topic_data=[{"name": "t", "partition_data": records}])
    asked = [{"partition": 0, "current_leader_epoch": 1, "leader_epoch": epoch}]
    row = rows_of(ask(cluster, 2, ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, topics=[{"topic": "t", "partitions": asked}]))
    assert (row["error_code"], (row["leader_epoch"], row["end_offset"])) == (0, found)

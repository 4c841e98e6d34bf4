"""Clients that mean no good stop no broker, and make no log that the next start calls damaged."""

from typing import Any

import pytest

from tests.wire.hostile import hostile_sequences
from tests.wire.questions_topic_life import OurLine
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines.partition_leader import markers

INT_MAX, LONG_MAX = (1 << 31) - 1, (1 << 63) - 1


@pytest.mark.parametrize(("nodes", "stored"), [(1, True), (3, True), (1, False)])
def test_hostile_sequences_meet_no_unexpected_error(nodes: int, stored: bool) -> None:
    found = hostile_sequences(75, 1, nodes=nodes, stored=stored)
    assert found.findings == []
    assert found.counts["answered"] > 300


def test_markers_that_damage_a_log_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "error_of_marker_producer", lambda *_: 0)
    found = hostile_sequences(15, 1, stored=True)
    assert any("are damaged" in each for each in found.findings)


class Brokers:
    """One broker on a disk, with topic `t`."""

    def __init__(self) -> None:
        self.clock, self.disk = ManualClock(), FaultDisk()
        self.open()

    def open(self) -> None:
        self.embedded = Embedded(clock=self.clock, disk=self.disk, topics={"t": 1})
        self.line = OurLine(self.embedded, self._advance)

    def _advance(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)
        while self.embedded.pump():
            pass

    def ask(self, api: ApiKey, version: int, values: dict[str, Any]) -> Any:
        self.line.send(api, version, values)
        return self.line.wait()

    def mark(self, *asked: tuple[int, int, str], coordinator_epoch: int = 0) -> list[int]:
        """Send markers of (producer id, epoch) for a topic each, and return the errors."""
        rows = [
            {
                "producer_id": producer_id,
                "producer_epoch": epoch,
                "transaction_result": True,
                "topics": [{"name": topic, "partition_indexes": [0]}],
                "coordinator_epoch": coordinator_epoch,
            }
            for producer_id, epoch, topic in asked
        ]
        told = self.ask(ApiKey.WRITE_TXN_MARKERS, 1, {"markers": rows})
        return [row["topics"][0]["partitions"][0]["error_code"] for row in told["markers"]]

    def init(self, name: str | None = "x") -> tuple[int, int]:
        values = {
            "transactional_id": name,
            "transaction_timeout": 60_000,
            "producer_id": NONE,
            "producer_epoch": NONE,
        }
        for _ in range(50):
            told = self.ask(ApiKey.INIT_PRODUCER_ID, 4, values)
            if told["error_code"] == Error.NONE:
                break
            self._advance(100)
        return told["error_code"], told["producer_id"]

    @property
    def log_end(self) -> int:
        return self.embedded.cluster.brokers[1].partitions.replicas["t", 0].log.end_offset

    def begin_again(self) -> None:
        survivor = self.disk.survivor(Fate.KEPT)
        self.embedded.abandon()
        self.disk = survivor
        self.open()
        assert self.embedded.cluster.brokers[1].partitions.replicas["t", 0].log.offline is None


@pytest.mark.parametrize(
    ("asked", "errors", "written"),
    [
        ([(50, 0, "t")], [0], 1),
        ([(50, 0, "t"), (NONE, 0, "t"), (51, 0, "t")], [-1, -1, -1], 1),
        ([(NONE, 0, "t"), (52, 0, "t")], [-1, -1], 0),
        ([(NONE, 0, "nosuch")], [3], 0),
        ([(53, NONE, "t")], [-1], 0),
        ([(53, NONE, "nosuch")], [3], 0),
        ([(54, -2, "t")], [47], 0),
        ([(54, -2, "nosuch"), (55, 0, "t")], [3, 0], 1),
        ([(56, 3, "t"), (56, -32_768, "t")], [0, 47], 1),
    ],
)
def test_a_marker_of_an_impossible_producer_is_refused_as_by_kafka(
    asked: list[tuple[int, int, str]], errors: list[int], written: int
) -> None:
    """These are the answers of Kafka 4.4.0, and how many markers it wrote."""
    brokers = Brokers()
    assert brokers.mark(*asked) == errors
    assert brokers.log_end == written
    brokers.begin_again()
    assert brokers.log_end == written


def test_a_marker_of_an_id_that_no_batch_can_have_is_refused() -> None:
    brokers = Brokers()
    assert brokers.mark((-2, 0, "t")) == [Error.UNKNOWN_SERVER_ERROR], "Kafka writes it"
    brokers.begin_again()
    assert brokers.log_end == 0


@pytest.mark.parametrize(("version", "error"), [(3, 76), (6, 76), (7, 0), (12, 0)])
def test_an_old_request_with_zstd_is_refused_as_by_kafka(version: int, error: int) -> None:
    batch = Batch(records=(Record(None, b"v"),), timestamp_ms=1, codec=Codec.ZSTD)
    data = [{"name": "t", "partition_data": [{"index": 0, "records": write_batch(batch)}]}]
    asked = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": data}
    told = Brokers().ask(ApiKey.PRODUCE, version, asked)["responses"][0]["partition_responses"][0]
    assert told["error_code"] == error


def test_numbers_that_clients_make_up_use_up_no_ids_and_epochs() -> None:
    brokers = Brokers()
    given = brokers.init()[1]
    assert brokers.mark((LONG_MAX, 0, "t"), (7_000_000, 0, "t"), coordinator_epoch=INT_MAX) == [0, 0]
    batch = Batch(LONG_MAX - 1, 0, 0, records=(Record(None, b"v"),), timestamp_ms=1)
    data = [{"name": "t", "partition_data": [{"index": 0, "records": write_batch(batch)}]}]
    asked = {"transactional_id": None, "acks": -1, "timeout": 1000, "topic_data": data}
    assert brokers.ask(ApiKey.PRODUCE, 9, asked)["responses"][0]["partition_responses"][0]["error_code"] == 0
    for _ in range(3):
        brokers.begin_again()
        assert brokers.init() == (Error.NONE, given)
        error, fresh = brokers.init(None)
        assert (error, fresh > 7_000_000, fresh < 8_000_000) == (Error.NONE, True, True), "above what is possible"

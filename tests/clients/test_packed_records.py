"""Records go from a producer to a consumer in the bytes that the producer made: who has to look at one unpacks them."""

from pathlib import Path
from struct import pack_into

import pytest

from tests.formats.drawn import with_checksum
from tests.store.workloads import SETTINGS
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store import segment
from zombieproof.broker.store.config import Durability
from zombieproof.clients.consumer import Consumer
from zombieproof.clients.embedded_transport import EmbeddedTransport
from zombieproof.clients.partition_reader import ConsumerRecord
from zombieproof.clients.producer import Producer
from zombieproof.clients.read_committed import CorruptBatchError, FetchFilter
from zombieproof.formats import record_batch
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec, unpack_records
from zombieproof.formats.encoding import read_batch, view_batch, write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.packed_records import PackedRecords
from zombieproof.formats.record_batch import HEADER
from zombieproof.messages.partitions import Fetched
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Isolation

P0 = ("t", 0)
BATCHES, RECORDS = 4, 5


class Unpacked:
    """How often the records of a batch were unpacked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count, unpack = 0, unpack_records

        def counted(codec: Codec, section: bytes | memoryview) -> bytes:
            self.count += codec is Codec.ZSTD
            return unpack(codec, section)

        patch.setattr(record_batch, "unpack_records", counted)


def written(embedded: Embedded) -> None:
    producer = Producer(EmbeddedTransport(embedded), compression_type="zstd")
    for batch in range(BATCHES):
        for number in range(RECORDS):
            producer.send("t", b"%d %d" % (batch, number), b"key", partition=0, timestamp_ms=1000 * batch + number)
        producer.flush()
    producer.close()


def read(embedded: Embedded) -> list[ConsumerRecord]:
    found: list[ConsumerRecord] = []
    with Consumer(
        EmbeddedTransport(embedded), group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        consumer.assign([P0])
        while len(found) < BATCHES * RECORDS:
            found += consumer.poll(1000)
        at = consumer.offsets_for_times({P0: 2003})
    assert at == {P0: 2 * RECORDS + 3}
    return found


def test_a_broker_unpacks_a_batch_only_to_look_for_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = Unpacked(monkeypatch)
    embedded = Embedded(tmp_path / "d", topics={"t": 1}, settings=SETTINGS, durability=Durability.PAGE_CACHE)
    written(embedded)
    assert unpacked.count == 0, "on the way into the log"
    embedded.abandon()
    with Embedded(tmp_path / "d", settings=SETTINGS) as again:
        assert unpacked.count == 0, "when a log is read after a kill"
        found = read(again)
        assert unpacked.count == BATCHES + 1, "by the consumer, and one where the broker has looked for a time"
    assert [(each.value, each.timestamp_ms) for each in found] == [
        (b"%d %d" % (batch, number), 1000 * batch + number) for batch in range(BATCHES) for number in range(RECORDS)
    ]


def test_what_is_unpacked_too_often_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "view_batch", read_batch)
    monkeypatch.setattr(segment.Segment, "read_since", lambda self, timestamp_ms, from_offset: self.read(from_offset))
    with pytest.raises(AssertionError, match="by the consumer"):
        test_a_broker_unpacks_a_batch_only_to_look_for_a_time(tmp_path, monkeypatch)


def test_packed_records_are_what_a_tuple_of_them_is() -> None:
    records = tuple(
        Record(b"k", b"%d" % n, headers=(("h", None),), timestamp_ms=None if n == 2 else n) for n in range(3)
    )
    batch = Batch(1, 0, 0, False, records, last_offset_delta=2, timestamp_ms=2, base_offset=0)
    packed = view_batch(write_batch(batch))
    assert isinstance(packed.records, PackedRecords)
    assert packed == batch
    assert batch == packed
    assert hash(packed) == hash(batch)
    assert (len(packed.records), packed.records[1], packed.records[1:]) == (3, records[1], records[1:])
    assert packed.records == view_batch(write_batch(batch)).records
    assert packed.records != records[:2]
    assert packed.records != list(records)
    assert repr(packed.records) == repr(records)
    assert write_batch(packed) == write_batch(batch)


def damaged(offset: int) -> Batch:
    """A batch whose checksum is right, and whose one record is longer than the batch."""
    data = bytearray(write_batch(Batch(records=(Record(None, b"value"),), timestamp_ms=1, base_offset=offset)))
    data[HEADER.size] = 0x7E
    pack_into(">q", data, 0, offset)
    return view_batch(with_checksum(bytes(data)))


def sound(offset: int) -> Batch:
    return view_batch(write_batch(Batch(records=(Record(None, b"value"),), timestamp_ms=1, base_offset=offset)))


@pytest.mark.parametrize("isolation", [Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED])
def test_records_that_are_not_what_their_batch_says_are_refused_where_they_are(isolation: Isolation) -> None:
    reader = FetchFilter(P0, isolation, Rules(), Journal())
    fetched = Fetched(Error.NONE, 9, 9, 0, (), (sound(0), damaged(1), sound(2)))
    assert [each.offset for each in reader.read(fetched)] == [0], "what is before is delivered"
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="the batch at offset 1"):
            reader.read(fetched)
    assert reader.position == 1
    with pytest.raises(Undecodable, match="does not fit into its batch"):
        damaged(1).records[0]

"""The bytes of a producer's batch on their way through a partition: to its log, its followers and its consumers."""

from dataclasses import replace
from struct import pack_into

import cramjam
import pytest

from tests.broker.partitions import Place, verified
from tests.formats.drawn import with_checksum
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import read_batch, read_batches, write_batch
from zombieproof.formats.record_batch import HEADER, header_at
from zombieproof.model.vocabulary import NONE, Error, Mode, Origin

RECORDS = (
    Record(b"key" * 20, b"value" * 20, headers=(("trace", b"1"), ("none", None)), timestamp_ms=3),
    Record(None, None),
)


def sent(sequence: int, codec: Codec) -> bytes:
    """A batch as a client packs it whose settings are not ours."""
    ours = write_batch(Batch(7, 0, sequence, True, RECORDS, last_offset_delta=1, timestamp_ms=9, codec=codec))
    if codec is not Codec.LZ4:
        return ours
    section = bytes(cramjam.lz4.decompress(ours[HEADER.size :]))
    data = bytearray(ours[: HEADER.size] + bytes(cramjam.lz4.compress(section, level=9)))
    pack_into(">i", data, 8, len(data) - 12)
    return with_checksum(bytes(data))


@pytest.mark.parametrize("codec", list(Codec))
def test_what_a_producer_sent_lies_on_disk_and_is_what_a_consumer_gets(codec: Codec) -> None:
    place, follower = Place(), Place()
    leader = place.leader()
    data = [sent(sequence, codec) for sequence in (0, 2)]
    for each in data:
        batch = replace(read_batch(each), base_offset=NONE)
        assert verified(leader, batch, Mode.GENERIC).error == Error.NONE
    held = list(place.log.read())
    for batch in held:
        follower.replica().replicate(batch)
    for log in (place.log, follower.log):
        written = [write_batch(batch) for batch in log.read()]
        assert [(each[8:12], each[16:]) for each in written] == [(each[8:12], each[16:]) for each in data]
        assert [header_at(each, 0).base_offset for each in written] == [0, 2]
        assert {header_at(each, 0).leader_epoch for each in written} == {0}
    assert held[0].records == RECORDS


def test_a_partition_comes_back_from_the_bytes_of_its_log() -> None:
    place = Place()
    leader = place.leader()
    for sequence in (0, 2):
        verified(leader, replace(read_batch(sent(sequence, Codec.ZSTD)), base_offset=NONE))
    leader.append(Batch(records=RECORDS, last_offset_delta=1, timestamp_ms=9), 0, Origin.CLIENT)
    batches = tuple(place.log.read())
    again = Place(log=MemoryLog(tuple(read_batches(b"".join(map(write_batch, batches))))))
    assert tuple(again.log.read()) == batches
    one, other = place.restart(clean=False), again.restart(clean=False)
    assert one.last_stable_offset == other.last_stable_offset == 0
    assert one.log.end_offset == other.log.end_offset == 6

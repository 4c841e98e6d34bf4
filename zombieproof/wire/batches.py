"""The batches of a Produce request, as bytes that anybody may have written.

Source: ``ByteBufferLogInputStream.java``, ``ProduceRequest.validateRecords``, ``LogValidator.java``.
"""

from collections.abc import Iterator
from dataclasses import replace

from zombieproof.formats.batches import Batch, Encoded
from zombieproof.formats.compression import unpack_records
from zombieproof.formats.encoding import batch_of, view_batch, write_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.packed_records import PackedRecords
from zombieproof.formats.record_batch import CRC_AT, HEADER, LOG_OVERHEAD, MAGIC, MAGIC_AT, header_at, matches_checksum
from zombieproof.formats.stored_records import check_section
from zombieproof.messages.partitions import SentBatch
from zombieproof.model.vocabulary import NONE

LEAST_LENGTH = 14
"""No message of any format is shorter."""

CORRUPT = SentBatch(Batch(), is_corrupt=True)


def sent_batches(data: bytes, topic: str) -> tuple[SentBatch, ...]:
    """The batches that somebody sent to a partition of `topic`; one that is cut short is none, nor is what follows.

    Batches of an older format, which no version of the request that is spoken may have, are none either.
    """
    return tuple(_batches(data, topic))


def _batches(data: bytes, topic: str) -> Iterator[SentBatch]:
    at = 0
    while len(data) - at > MAGIC_AT:
        length, magic = int.from_bytes(data[at + 8 : at + LOG_OVERHEAD], "big", signed=True), data[at + MAGIC_AT]
        if length < LEAST_LENGTH or magic > MAGIC:
            yield CORRUPT
            return
        end = at + LOG_OVERHEAD + length
        if end > len(data) or magic != MAGIC:
            return
        yield _batch(data, at, end, topic)
        at = end


def _batch(data: bytes, at: int, end: int, topic: str) -> SentBatch:
    if end - at < HEADER.size:
        return CORRUPT
    header = header_at(data, at)
    try:
        batch = view_batch(data, at, topic)
    except Undecodable:
        # What its header says counts all the same: whoever refuses it asks about its transaction first.
        packed, is_corrupt = data[at:end], not matches_checksum(header, data, at)
        records = PackedRecords(packed, max(header.record_count, 0)) if is_corrupt else ()
        batch = batch_of(header, Encoded(packed, records, None, ()))
        return SentBatch(batch, header.base_offset, is_corrupt)
    if not header.is_control:
        try:
            section = unpack_records(header.codec, data[at + HEADER.size : end])
            check_section(section, header.record_count, header.last_offset_delta)
        except Undecodable:
            # A batch without records is refused as one that is not what it says (-1 in Kafka if it cannot be unpacked).
            batch = replace(batch, records=())
    return SentBatch(batch, header.base_offset)


def batch_bytes(sent: SentBatch) -> bytes:
    """A batch as a client sends it; one that is called corrupt does not match its checksum."""
    data = bytearray(write_batch(replace(sent.batch, base_offset=sent.base_offset, leader_epoch=NONE)))
    if sent.is_corrupt:
        data[CRC_AT] ^= 0xFF
    return bytes(data)

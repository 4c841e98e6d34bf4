"""The batches of a Produce request, as bytes that anybody may have written.

Source: ``ByteBufferLogInputStream.java``, ``ProduceRequest.validateRecords``, ``LogValidator.java``.
"""

from collections.abc import Iterator
from dataclasses import replace

from zombieproof.formats.batches import Batch
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import view_batch
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.record_batch import HEADER, LOG_OVERHEAD, MAGIC, MAGIC_AT, header_at
from zombieproof.formats.stored_records import read_section
from zombieproof.messages.partitions import SentBatch

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
        return SentBatch(Batch(), header.base_offset, is_corrupt=True)
    if header.codec is Codec.NONE and not header.is_control:
        try:
            read_section(data[at + HEADER.size : end], header.record_count, header.last_offset_delta)
        except Undecodable:
            # A batch without records is refused as one that is not what it says.
            batch = replace(batch, records=())
    return SentBatch(batch, header.base_offset)

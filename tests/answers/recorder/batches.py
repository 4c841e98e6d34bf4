"""Batches as bytes, for topics with settings of their own: what a real Kafka was asked to store by ``stored``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import crc32c

from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.record_batch import TimestampType

HOUR_MS = 3_600_000
NEVER_MS = 1_000_000_000_000
"""Long before whatever is recorded."""

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "appended": {"message.timestamp.type": "LogAppendTime"},
    "appended-lz4": {"message.timestamp.type": "LogAppendTime", "compression.type": "lz4"},
    "compacted": {"cleanup.policy": "compact"},
    "both": {"cleanup.policy": "compact,delete"},
    "small": {"max.message.bytes": "200"},
    "segments": {"max.message.bytes": "3000000", "segment.bytes": "1048576"},
    "recent": {"message.timestamp.before.max.ms": "60000"},
    "any-time": {"message.timestamp.after.max.ms": "9223372036854775807"},
    "gzip": {"compression.type": "gzip"},
    "snappy": {"compression.type": "snappy"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed"},
}
"""The topics, each with its settings."""


def batch(now_ms: int, *keys: bytes | None, codec: Codec = Codec.NONE, size: int = 10, later_ms: int = 0) -> Batch:
    """A batch of records with headers, a few milliseconds apart."""
    records = tuple(
        Record(
            key,
            b"v" * size,
            timestamp_ms=now_ms + later_ms + 3 * i,
            headers=(("trace", b"%d" % i), ("empty", None)),
        )
        for i, key in enumerate(keys)
    )
    newest_ms = max((each.timestamp_ms or 0 for each in records), default=now_ms)
    return Batch(records=records, last_offset_delta=len(keys) - 1, timestamp_ms=newest_ms, codec=codec)


def sealed(data: bytes) -> bytes:
    """The bytes with the last one of the checksum wrong."""
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


def miscounted(data: bytes) -> bytes:
    """The bytes of a batch that says that it has one record more."""
    last = int.from_bytes(data[23:27], "big") + 1
    covered = data[21:23] + last.to_bytes(4, "big") + data[27:]
    return data[:17] + crc32c.crc32c(covered).to_bytes(4, "big") + covered


def based(data: bytes, offset: int) -> bytes:
    """The bytes with a base offset of their own."""
    return offset.to_bytes(8, "big") + data[8:]


def cases(now_ms: int) -> Iterator[tuple[str, str, bytes]]:
    """Topic, name and bytes of each batch, in the order in which they are sent."""
    two = write_batch(batch(now_ms, b"a", b"b"))
    for topic in SETTINGS:
        yield topic, "two records", two
        for codec in Codec:
            yield topic, f"two records by {codec.name.lower()}", write_batch(batch(now_ms, b"a", b"b", codec=codec))
        stamped = replace(batch(now_ms, b"a", b"b"), timestamp_type=TimestampType.LOG_APPEND_TIME)
        yield topic, "stamped by the client", write_batch(stamped)
    for topic in ("compacted", "both"):
        yield topic, "no key", write_batch(batch(now_ms, None))
        yield topic, "no key in the middle", write_batch(batch(now_ms, b"a", None, b"c", None))
        yield topic, "no key, by gzip", write_batch(batch(now_ms, b"a", None, codec=Codec.GZIP))
        yield topic, "no key, and too far ahead", write_batch(batch(now_ms, None, b"b", later_ms=2 * HOUR_MS))
        yield topic, "no key, and a wrong checksum", sealed(write_batch(batch(now_ms, None)))
        yield topic, "no key, and a count that is wrong", miscounted(write_batch(batch(now_ms, None, b"b")))
    for size in (10, 112, 113, 114, 115, 116, 200):
        yield "small", f"a value of {size} bytes", write_batch(batch(now_ms, b"a", size=size))
    large = write_batch(batch(now_ms, b"a", size=300))
    yield "small", "too large, and a wrong checksum", sealed(large)
    yield "small", "too large, with a base offset", based(large, 5)
    yield "small", "too large, but not as gzip", write_batch(batch(now_ms, b"a", size=300, codec=Codec.GZIP))
    yield "small", "too large, and a count that is wrong", miscounted(large)
    yield "segments", "larger than a segment", write_batch(batch(now_ms, b"a", size=1_100_000))
    for topic in ("plain", "appended", "recent", "any-time"):
        for name, later_ms in (
            ("an hour and a minute ahead", HOUR_MS + 60_000),
            ("a minute less than an hour ahead", HOUR_MS - 60_000),
            ("two minutes old", -120_000),
            ("half a minute old", -30_000),
            ("years old", NEVER_MS - now_ms),
        ):
            yield topic, name, write_batch(batch(now_ms, b"a", b"b", later_ms=later_ms))
            yield topic, f"{name}, by gzip", write_batch(batch(now_ms, b"a", later_ms=later_ms, codec=Codec.GZIP))
    for topic in ("plain", "appended"):
        idempotent = replace(batch(now_ms, b"a"), producer_id=7_000, producer_epoch=0, base_sequence=0)
        yield topic, "an idempotent batch", write_batch(idempotent)
        yield topic, "the same once more", write_batch(idempotent)

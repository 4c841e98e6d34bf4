"""``python -m tests.answers.recorder.stored OUT --port PORT --data DIR``: what a real Kafka makes of batches.

Each batch goes as bytes into a topic with settings of its own; kept are the answer, and the bytes that lie in the log
then. Needed: kio (the extra ``wire``), and a Kafka on loopback whose log directory can be read.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import crc32c

from tests.answers.recorder.messages import made, topic_ids
from tests.answers.recorder.real_broker import PAUSE_S, Connection, wait_for_coordinators
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.record_batch import TimestampType
from zombieproof.model.vocabulary import Error

Json = dict[str, Any]
HOUR_MS = 3_600_000
NOT_YET = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_LEADER_OR_FOLLOWER)
"""What a broker says of a partition that was just made."""
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


class Kafka:
    """The broker, and its folder."""

    def __init__(self, connection: Connection, data: Path) -> None:
        self.connection, self.data = connection, data
        self.names = {topic: f"{topic}-{time.time_ns()}" for topic in SETTINGS}
        wait_for_coordinators(connection)
        create = import_module("kio.schema.create_topics.v5.request")
        rows = [
            {
                "name": self.names[topic],
                "num_partitions": 1,
                "replication_factor": 1,
                "assignments": [],
                "configs": [{"name": name, "value": value} for name, value in settings.items()],
            }
            for topic, settings in SETTINGS.items()
        ]
        told = connection.ask(made(create.CreateTopicsRequest, {"topics": rows, "timeout": 10_000}))
        assert not any(int(row.error_code) for row in told.topics), told
        metadata = import_module("kio.schema.metadata.v12.request").MetadataRequest
        every = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        while not set(self.names.values()) <= set(topic_ids(connection.ask(made(metadata, every)))):
            time.sleep(PAUSE_S)
        self.sizes = dict.fromkeys(SETTINGS, 0)

    def ask(self, topic: str, data: bytes) -> Json:
        """What a batch is answered, and what lies in the log for it."""
        while (told := self._asked(topic, data))["error"] in NOT_YET:
            time.sleep(PAUSE_S)
        path = self.data / f"{self.names[topic]}-0" / "00000000000000000000.log"
        stored = path.read_bytes()[self.sizes[topic] :]
        self.sizes[topic] += len(stored)
        return told | {"stored": stored.hex()}

    def _asked(self, topic: str, data: bytes) -> Json:
        produce = import_module("kio.schema.produce.v11.request").ProduceRequest
        rows = [{"name": self.names[topic], "partition_data": [{"index": 0, "records": data}]}]
        values = {"transactional_id": None, "acks": -1, "timeout": 5_000, "topic_data": rows}
        told = self.connection.ask(made(produce, values)).responses[0].partition_responses[0]
        stamp = told.log_append_time
        return {
            "error": int(told.error_code),
            "base_offset": int(told.base_offset),
            "log_append_time_ms": -1 if stamp is None else round(stamp.timestamp() * 1000),
            "log_start_offset": int(told.log_start_offset),
            "record_errors": [[int(row.batch_index), row.batch_index_error_message] for row in told.record_errors],
            "message": told.error_message,
        }


def main() -> None:
    """Ask, and keep the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kafka", required=True, help="release, such as 4.3.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="the broker's log directory")
    given = parser.parse_args()
    kafka, now_ms, lines = Kafka(Connection("127.0.0.1", given.port), given.data), int(time.time() * 1000), []
    for topic, name, data in cases(now_ms):
        asked_ms = int(time.time() * 1000)
        told = kafka.ask(topic, data)
        lines.append(
            {
                "kafka": given.kafka,
                "topic": topic,
                "config": SETTINGS[topic],
                "name": name,
                "asked_ms": asked_ms,
                "sent": data.hex(),
                **told,
            }
        )
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    given.out.write_bytes(gzip.compress(text.encode(), mtime=0))
    sys.stdout.write(f"{len(lines)} batches\n")


if __name__ == "__main__":
    main()

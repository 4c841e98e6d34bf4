"""``python -m tests.answers.recorder.stored OUT --port PORT --data DIR``: what a real Kafka makes of batches.

Each batch goes as bytes into a topic with settings of its own; kept are the answer, and the bytes that lie in the log
then. Needed: kio (the extra ``wire``), and a Kafka on loopback whose log directory can be read.
"""

import argparse
import gzip
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.answers.recorder.batches import SETTINGS, cases
from tests.answers.recorder.messages import made, topic_ids
from tests.answers.recorder.real_broker import PAUSE_S, Connection, wait_for_coordinators
from zombieproof.model.vocabulary import Error

Json = dict[str, Any]
NOT_YET = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_LEADER_OR_FOLLOWER)
"""What a broker says of a partition that was just made."""


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

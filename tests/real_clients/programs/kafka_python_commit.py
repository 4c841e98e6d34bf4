"""Commit a record and read it, with any release of kafka-python since 1.4.4: `… FOLDER BOOTSTRAP TOPIC`.

Since 2.1 it has transactions: one is aborted and one committed. Before, the record is a plain one. Prints the version
and the value that a member of a group reads.
"""

import sys
from typing import Any

PATIENCE_MS = 30_000


def main(folder: str, bootstrap: str, topic: str) -> None:
    """Run the program."""
    sys.path.insert(0, folder)
    import kafka  # noqa: PLC0415  # of that folder

    configs: dict[str, Any] = {"bootstrap_servers": bootstrap}
    if "transactional_id" in kafka.KafkaProducer.DEFAULT_CONFIG:
        producer = kafka.KafkaProducer(**configs, transactional_id="kafka-python-commit")
        producer.init_transactions()
        for value in (b"aborted", b"committed"):
            producer.begin_transaction()
            producer.send(topic, value).get(30)
            if value == b"committed":
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        configs["isolation_level"] = "read_committed"
    else:
        producer = kafka.KafkaProducer(**configs, acks="all")
        producer.send(topic, b"committed").get(30)
    configs |= {"group_id": "kafka-python-commit", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = kafka.KafkaConsumer(topic, consumer_timeout_ms=PATIENCE_MS, **configs)
    found = next(iter(consumer)).value.decode()
    consumer.commit()
    print(kafka.__version__, found, flush=True)  # noqa: T201  # what the test reads


if __name__ == "__main__":
    main(*sys.argv[1:])

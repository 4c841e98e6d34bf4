"""Commit a record and read it, with the librdkafka in a wheel of confluent-kafka: `… FOLDER BOOTSTRAP TOPIC`.

The library is called directly, so the wheel may be for any Python. Since 1.4 it has transactions: one is aborted and
one committed. Since 1.0 it has an idempotent producer, and before that a plain one. Prints the version and the values.
"""

import ctypes
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATIENCE_MS = 30_000
PRODUCER, CONSUMER = 0, 1
VALUE, TOPIC_NAME, END, FREE_NOTHING, COPY = 4, 1, 0, 0, 2
WITH_IDEMPOTENCE, WITH_TRANSACTIONS = 0x01000000, 0x01040000


TRANSACTIONS = ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction")


class Message(ctypes.Structure):
    """The beginning of rd_kafka_message_t."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("rkt", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
    )


def library(folder: Path) -> Any:
    """The library of the wheel that was unpacked into a folder."""
    [path] = (*folder.glob("confluent_kafka.libs/librdkafka*"), *folder.glob("confluent_kafka/.libs/librdkafka*"))
    others = [each for each in path.parent.iterdir() if each != path]
    for _ in range(len(others)):  # Some need others of the wheel, in no order that is known.
        others = [each for each in others if not loads(each)]
    found: Any = ctypes.CDLL(str(path))
    for name in ("conf_new", "new", "topic_new", "topic_partition_list_new", "consumer_poll", *TRANSACTIONS):
        if hasattr(found, f"rd_kafka_{name}"):
            getattr(found, f"rd_kafka_{name}").restype = ctypes.c_void_p
    for name in ("error_string", "version_str", "err2str"):
        if hasattr(found, f"rd_kafka_{name}"):
            getattr(found, f"rd_kafka_{name}").restype = ctypes.c_char_p
    return found


def loads(path: Path) -> bool:
    """Whether a library can be loaded now."""
    try:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def handle(rd: Any, kind: int, configs: Mapping[str, str]) -> ctypes.c_void_p:
    """A producer or a consumer."""
    conf, words = ctypes.c_void_p(rd.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
    for name, value in configs.items():
        failed = rd.rd_kafka_conf_set(conf, name.encode(), value.encode(), words, ctypes.c_size_t(512))
        if failed:
            raise SystemExit(words.value.decode())
    made = rd.rd_kafka_new(kind, conf, words, ctypes.c_size_t(512))
    if not made:
        raise SystemExit(words.value.decode())
    return ctypes.c_void_p(made)


def checked(rd: Any, error: int | None) -> None:
    """End with what a call of transactions has failed with."""
    if error:
        raise SystemExit(rd.rd_kafka_error_string(ctypes.c_void_p(error)).decode())


def send(rd: Any, producer: ctypes.c_void_p, topic: str, value: bytes) -> None:
    """Write a record, and wait until it is acknowledged."""
    place = ctypes.c_void_p(rd.rd_kafka_topic_new(producer, topic.encode(), None))
    failed = rd.rd_kafka_produce(place, -1, COPY, value, ctypes.c_size_t(len(value)), None, ctypes.c_size_t(0), None)
    if failed or rd.rd_kafka_flush(producer, PATIENCE_MS):
        raise SystemExit("the record was not acknowledged")


def write(rd: Any, bootstrap: str, topic: str) -> None:
    """Commit a record, and abort one, as far as the library can."""
    version, configs = rd.rd_kafka_version(), {"bootstrap.servers": bootstrap, "request.required.acks": "-1"}
    if version >= WITH_TRANSACTIONS:
        configs["transactional.id"] = "librdkafka-commit"
    elif version >= WITH_IDEMPOTENCE:
        configs["enable.idempotence"] = "true"
    producer = handle(rd, PRODUCER, {**configs, "api.version.request": "true"})
    if version < WITH_TRANSACTIONS:
        send(rd, producer, topic, b"committed")
        return
    checked(rd, rd.rd_kafka_init_transactions(producer, PATIENCE_MS))
    for value in (b"aborted", b"committed"):
        checked(rd, rd.rd_kafka_begin_transaction(producer))
        send(rd, producer, topic, value)
        end = rd.rd_kafka_commit_transaction if value == b"committed" else rd.rd_kafka_abort_transaction
        checked(rd, end(producer, PATIENCE_MS))


def read(rd: Any, bootstrap: str, topic: str) -> list[str]:
    """The values that a member of a group reads; it commits its offsets."""
    configs = {
        "bootstrap.servers": bootstrap,
        "group.id": "librdkafka-commit",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "api.version.request": "true",
    }
    consumer = handle(rd, CONSUMER, configs)
    rd.rd_kafka_poll_set_consumer(consumer)
    topics = ctypes.c_void_p(rd.rd_kafka_topic_partition_list_new(1))
    rd.rd_kafka_topic_partition_list_add(topics, topic.encode(), -1)
    if rd.rd_kafka_subscribe(consumer, topics):
        raise SystemExit("the consumer cannot subscribe")
    found, until = list[str](), time.monotonic() + PATIENCE_MS / 1000
    while not found and time.monotonic() < until:
        at = rd.rd_kafka_consumer_poll(consumer, 500)
        if at:
            message = Message.from_address(at)
            if not message.err:
                found.append(ctypes.string_at(message.payload, message.size).decode())
                failed = rd.rd_kafka_commit_message(consumer, ctypes.c_void_p(at), 0)
                if failed:
                    raise SystemExit(f"the offset is not committed: {rd.rd_kafka_err2str(failed).decode()}")
    return found


def main(folder: str, bootstrap: str, topic: str) -> None:
    """Run the program."""
    rd = library(Path(folder))
    write(rd, bootstrap, topic)
    print(rd.rd_kafka_version_str().decode(), ",".join(read(rd, bootstrap, topic)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])

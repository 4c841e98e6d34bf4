"""The steps with confluent-kafka, which is librdkafka."""

import sys
import time
from typing import Any

import confluent_kafka as kafka

from tests.real_clients.programs.steps import copy_of, serve, tell

PATIENCE_S = 30.0


class Steps:
    """Producers and consumers by the names that they are given."""

    def __init__(self, bootstrap: str) -> None:
        self.common = {
            "bootstrap.servers": bootstrap,
            "reconnect.backoff.max.ms": 500,
            "metadata.recovery.strategy": "none",
        }
        self.producers: dict[str, Any] = {}
        self.readers: dict[str, Any] = {}
        self.topics: dict[str, tuple[str, str]] = {}

    def version(self) -> str:
        return f"{kafka.__version__} (librdkafka {kafka.libversion()[0]})"

    # ---------------------------------------------------------------- transactions

    def producer(self, name: str, id: str, timeout_ms: int = 60_000) -> None:  # noqa: A002  # Kafka's noun
        self.producers[name] = made = kafka.Producer(
            {
                **self.common,
                "transactional.id": id,
                "transaction.timeout.ms": timeout_ms,
                "message.timeout.ms": timeout_ms,
                "linger.ms": 0,
            }
        )
        made.init_transactions(PATIENCE_S)

    def begin(self, name: str) -> None:
        self.producers[name].begin_transaction()

    def send(self, name: str, topic: str, partition: int, value: str) -> None:
        failed: list[Any] = []
        made = self.producers[name]
        made.produce(topic, value.encode(), partition=partition, on_delivery=lambda error, _: failed.append(error))
        made.flush(PATIENCE_S)
        if failed != [None]:
            raise kafka.KafkaException(*failed)

    def commit(self, name: str) -> None:
        self.producers[name].commit_transaction(PATIENCE_S)

    def abort(self, name: str) -> None:
        self.producers[name].abort_transaction(PATIENCE_S)

    # ---------------------------------------------------------------- reading

    def reader(self, name: str, group: str, topic: str, isolation: str) -> None:
        self.readers[name] = made = self._consumer(group, isolation)
        made.subscribe([topic])

    def _consumer(self, group: str, isolation: str) -> Any:
        return kafka.Consumer(
            {
                **self.common,
                "group.id": group,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 2_000,
                "heartbeat.interval.ms": 500,
            }
        )

    def read(self, name: str, count: int, within_ms: int) -> list[str]:
        return [each.value().decode() for each in self._messages(name, count, within_ms / 1000)]

    def _messages(self, name: str, count: int, within_s: float) -> list[Any]:
        """The next messages, as many as come in time; what the client says of its connections is passed over."""
        found: list[Any] = []
        until = time.monotonic() + within_s
        while len(found) < count and (left := until - time.monotonic()) > 0:
            message = self.readers[name].poll(left)
            if message is not None and message.error() is None:
                found.append(message)
        return found

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        asking = self._consumer(group, "read_committed")
        try:
            (told,) = asking.committed([kafka.TopicPartition(topic, partition)], PATIENCE_S)
        finally:
            asking.close()
        return None if told.offset < 0 else int(told.offset)

    # ---------------------------------------------------------------- copying

    def copier(self, name: str, id: str, group: str, source: str, target: str) -> None:  # noqa: A002  # Kafka's noun
        self.topics[name] = (source, target)
        self.producer(name, id)
        self.reader(name, group, source, "read_committed")

    def copy(self, name: str, count: int, ends: str) -> None:
        found = self._messages(name, count, PATIENCE_S)
        if len(found) < count:
            raise TimeoutError(f"{count - len(found)} of {count} records did not come")
        self._copy(name, found)
        if ends == "commit":
            self.commit(name)
        else:
            self.abort(name)
            self._rewind(name)

    def _copy(self, name: str, found: list[Any]) -> None:
        made, reader = self.producers[name], self.readers[name]
        made.begin_transaction()
        for each in found:
            made.produce(self.topics[name][1], copy_of(each.value().decode()).encode(), partition=each.partition())
        made.send_offsets_to_transaction(
            reader.position(reader.assignment()), reader.consumer_group_metadata(), PATIENCE_S
        )

    def _rewind(self, name: str) -> None:
        """Read again from what is committed."""
        reader = self.readers[name]
        for each in reader.committed(reader.assignment(), PATIENCE_S):
            reader.seek(kafka.TopicPartition(each.topic, each.partition, max(each.offset, 0)))

    def loop(self, name: str) -> None:
        """As its documentation has it: a transaction that can be aborted is, what is fatal ends the program."""
        while True:
            found = self._messages(name, 1, 1.0)
            if found:
                found += self._messages(name, 4, 0.02)
                try:
                    self._copy(name, found)
                    self._commit(name)
                except kafka.KafkaException as error:
                    if not error.args[0].txn_requires_abort():
                        raise
                    self.abort(name)
                    self._rewind(name)
                else:
                    tell(copied=len(found))

    def _commit(self, name: str) -> None:
        while True:
            try:
                return self.commit(name)
            except kafka.KafkaException as error:
                if not error.args[0].retriable():
                    raise


def name_of(error: Exception) -> str:
    return str(error.args[0].name()) if isinstance(error, kafka.KafkaException) else type(error).__name__


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), name_of)

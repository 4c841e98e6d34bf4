"""The steps with kafka-python."""

import sys
import time
from typing import Any

import kafka
from kafka.errors import KafkaError, ProducerFencedError
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.real_clients.programs.steps import copy_of, serve, tell

PATIENCE_S = 30.0
SENDING_S = 8.0
"""How long a record may take: a request for it that the client has lost is waited for in vain."""


class Steps:
    """Producers and consumers by the names that they are given."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.producers: dict[str, Any] = {}
        self.readers: dict[str, Any] = {}
        self.topics: dict[str, tuple[str, str]] = {}

    def version(self) -> str:
        return str(kafka.__version__)

    # ---------------------------------------------------------------- transactions

    def producer(self, name: str, id: str, timeout_ms: int = 60_000) -> None:  # noqa: A002  # Kafka's noun
        self.producers[name] = made = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap, transactional_id=id, transaction_timeout_ms=timeout_ms
        )
        made.init_transactions()

    def begin(self, name: str) -> None:
        self.producers[name].begin_transaction()

    def send(self, name: str, topic: str, partition: int, value: str) -> None:
        self.producers[name].send(topic, value.encode(), partition=partition).get(SENDING_S)

    def commit(self, name: str) -> None:
        self.producers[name].commit_transaction()

    def abort(self, name: str) -> None:
        self.producers[name].abort_transaction()

    # ---------------------------------------------------------------- reading

    def reader(self, name: str, group: str, topic: str, isolation: str) -> None:
        self.readers[name] = self._consumer(group, isolation, topic)

    def _consumer(self, group: str, isolation: str, *topics: str) -> Any:
        return kafka.KafkaConsumer(
            *topics,
            bootstrap_servers=self.bootstrap,
            group_id=group,
            isolation_level=isolation,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=2_000,
            heartbeat_interval_ms=500,
        )

    def read(self, name: str, count: int, within_ms: int) -> list[str]:
        return [each.value.decode() for each in self._messages(name, count, within_ms / 1000)]

    def _messages(self, name: str, count: int, within_s: float) -> list[Any]:
        """The next messages, as many as come in time."""
        found: list[Any] = []
        until = time.monotonic() + within_s
        while len(found) < count and (left := until - time.monotonic()) > 0:
            told = self.readers[name].poll(timeout_ms=int(left * 1000), max_records=count - len(found))
            found += [each for messages in told.values() for each in messages]
        return found

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        asking = self._consumer(group, "read_committed")
        try:
            return asking.committed(TopicPartition(topic, partition))  # type: ignore[no-any-return]
        finally:
            asking.close()

    # ---------------------------------------------------------------- copying

    def copier(self, name: str, id: str, group: str, source: str, target: str) -> None:  # noqa: A002  # Kafka's noun
        self.topics[name] = (source, target)
        self.producer(name, id)
        self.reader(name, group, source, "read_committed")

    def copy(self, name: str, count: int, ends: str) -> None:
        found = self._messages(name, count, PATIENCE_S)
        if len(found) < count:
            raise TimeoutError(f"{count - len(found)} of {count} records did not come")
        self._copies(name, found)
        if ends == "commit":
            self.commit(name)
        else:
            self.abort(name)
            self._rewind(name)

    def _copies(self, name: str, found: list[Any]) -> None:
        made, reader = self.producers[name], self.readers[name]
        made.begin_transaction()
        for each in found:
            made.send(self.topics[name][1], copy_of(each.value.decode()).encode(), partition=each.partition)
        offsets = {
            TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset + 1, "", -1) for each in found
        }
        made.send_offsets_to_transaction(offsets, reader.group_metadata())

    def _rewind(self, name: str) -> None:
        """Read again from what is committed."""
        reader = self.readers[name]
        for each in reader.assignment():
            reader.seek(each, reader.committed(each) or 0)

    def loop(self, name: str) -> None:
        """As its documentation has it: a transaction that can be aborted is, what is fatal ends the program."""
        while True:
            found = self._messages(name, 1, 1.0)
            if found:
                found += self._messages(name, 4, 0.02)
                try:
                    self._copies(name, found)
                    self.commit(name)
                except ProducerFencedError:
                    raise
                except KafkaError:
                    self.abort(name)
                    self._rewind(name)
                else:
                    tell(copied=len(found))


def name_of(error: Exception) -> str:
    return type(error).__name__


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), name_of)

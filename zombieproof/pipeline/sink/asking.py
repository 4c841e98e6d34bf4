"""What a delivery asks of brokers, call by call, over confluent-kafka; it decides nothing.

Each call raises ``KafkaException``, which `replies` reads.
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import Settings, client, consumer_for, producer_for, timed_out
from zombieproof.pipeline.progress_topic import Committed
from zombieproof.pipeline.sink.rows import Place, Row

ANY_PARTITION = -1
"""What librdkafka takes for a partition that it is to choose."""


class RowsNotAcknowledged(Exception):
    """Some rows were refused: what the client says first, and of which topic and partition ("": it does not say)."""

    def __init__(self, error: Any, where: str = "") -> None:
        self.error, self.where = error, where
        super().__init__(f"{where}{error}")


class Asking:
    """A producer and a consumer of one delivery; neither joins a group."""

    def __init__(self, settings: Settings, group: str, transactional_id: str) -> None:
        self._refused: list[tuple[Any, str]] = []
        told = {"delivery.report.only.error": True, "on_delivery": self._told, **settings}
        self._producer: Any = producer_for(told, transactional_id)
        self._is_connected = False
        self._consumer = consumer_for(settings, group)

    def take_id(self, topic: str, within_s: float) -> None:
        """Take the transactional id: what is open under it is aborted, and no earlier holder commits any more.

        librdkafka asks for the coordinator at once and then every half second, so a connection has to be there before.
        It is made by asking for the topic that rows go to: first over the address that was given, which tells names
        of brokers, then over the connection to one of them.
        """
        if not self._is_connected:
            self._producer.list_topics(topic, within_s)
            self._producer.list_topics(topic, within_s)
            self._is_connected = True
        self._producer.init_transactions(within_s)

    def committed(self, places: Iterable[Place], within_s: float) -> dict[Place, Committed]:
        """Positions of the group with their metadata, none of which is undecided; NONE where there is none."""
        asked = [client.TopicPartition(topic, partition) for topic, partition in places]
        found = {}
        for told in self._consumer.committed(asked, within_s) if asked else ():
            if told.error is not None:
                raise client.KafkaException(told.error)
            offset = told.offset if told.offset >= 0 else NONE
            found[told.topic, told.partition] = Committed(offset, told.metadata or "")
        return found

    def send_rows(self, rows: Sequence[Row], until: float, records: Sequence[Row] = ()) -> None:
        """Open a transaction and send rows and records of the progress topic in it, until each is acknowledged.

        Raises:
            RowsNotAcknowledged: one is not.
        """
        self._producer.begin_transaction()
        produce, refused = self._producer.produce, self._refused
        for row in itertools.chain(records, rows):  # written out, because each call counts in a million rows
            topic, value, key, partition, headers, timestamp_ms, _ = row
            try:
                if headers or timestamp_ms is not None:
                    self._send(row, until)
                elif partition is None:
                    produce(topic, value, key)
                else:
                    produce(topic, value, key, partition)
            except (BufferError, client.KafkaException):
                self._send(row, until)
            if refused:
                break
        waiting = self._served(self._producer.flush, max(0.0, until - time.monotonic()))
        if self._refused:
            raise RowsNotAcknowledged(*self._refused[0])
        if waiting:
            raise RowsNotAcknowledged(timed_out(f"{waiting} rows are on their way"))

    def _send(self, row: Row, until: float) -> None:
        topic, value, key, partition, headers, timestamp_ms, _ = row
        place = ANY_PARTITION if partition is None else partition
        more: dict[str, Any] = {"headers": list(headers)} if headers else {}
        if timestamp_ms is not None:
            more["timestamp"] = timestamp_ms
        while True:
            try:
                self._producer.produce(topic, value, key, place, **more)
            except BufferError:
                if time.monotonic() > until:
                    raise RowsNotAcknowledged(timed_out("the queue of the client stays full")) from None
                self._served(self._producer.poll, 0.05)
            except client.KafkaException as refused:
                raise RowsNotAcknowledged(refused.args[0], _place(topic, place)) from None
            else:
                return

    @staticmethod
    def _served(serve: Callable[[float], int], within_s: float) -> int:
        """Let the client tell what it has; of a fatal error it raises its own between two calls of `_told`.

        CPython then says that a call returned with an exception set, and names that one as the cause; or that it
        returned nothing at all, and then the next call to the client says what it is.
        """
        try:
            return serve(within_s)
        except SystemError as between:
            fatal = between.__cause__
            _forget_frames(between)
            if isinstance(fatal, client.KafkaException):
                raise client.KafkaException(*fatal.args) from None
            return 1

    def _told(self, error: Any, message: Any) -> None:
        if error is not None:
            self._refused.append((error, _place(message.topic(), message.partition())))

    def send_offsets(self, positions: Mapping[Place, tuple[int, str]], within_s: float) -> None:
        """Positions, each with its metadata, into the transaction."""
        told = [client.TopicPartition(*place, offset, text) for place, (offset, text) in positions.items()]
        self._producer.send_offsets_to_transaction(told, self._consumer.consumer_group_metadata(), within_s)

    def commit(self, within_s: float) -> None:
        """Commit, or ask again what came of it."""
        self._producer.commit_transaction(within_s)

    def abort(self, within_s: float) -> None:
        """Abort, or ask again what came of it."""
        self._producer.abort_transaction(within_s)

    def close(self) -> None:
        """Let go of both; a transaction that is open stays so until its time-out, or until the id is taken again."""
        if self._producer is None:
            return
        with contextlib.suppress(client.KafkaException):
            self._producer.purge()
        self._producer = None  # it holds `_told`, and so this object: without this neither would go
        self._consumer.close()


def _place(topic: str | None, partition: int | None) -> str:
    return f"topic {topic!r}, partition {'any' if partition in (None, ANY_PARTITION) else partition}: "


def _forget_frames(error: BaseException) -> None:
    """Let go of the frames of an error and of those that led to it: the client keeps one, and so would keep itself."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            left += [each.__cause__, each.__context__]

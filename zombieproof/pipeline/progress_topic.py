"""The progress topic: a compacted topic that keeps how far each write is, for as long as the cluster exists.

Kafka deletes the positions of a group without members after `offsets.retention.minutes`, and the group itself on
request. So every transaction of the sink also writes its positions to this topic, one record per group and partition of
the source. It is read only where the group holds no position.

The ids of topics are here too, because the same client asks for both: a topic that was deleted and created again has
the old name and another id, and positions in the old one mean nothing in it.
"""

import json
import time
from collections.abc import Callable, Container, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import LOGGER, Settings, admin_for, client, consumer_for, timed_out

Place = tuple[str, int]

TOPIC: Final = "zombieproof-progress"
CONFIG: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
"""Small segments: only closed ones are compacted, and a reader reads what is not."""
RECORDED: Final = "@progressTopic"
"""In the offsets of a checkpoint, the key whose value has the id of the progress topic, by its name."""
PARTITION: Final = 0
"""Every record goes to this partition, so that another number of partitions does not hide the older ones."""
ASK_S: Final = 10.0
READS_SOON: Final = {"enable.partition.eof": True, "fetch.wait.max.ms": 20}

_compacted: dict[tuple[str, str], str] = {}
"""The ids of the progress topics that this process found to be compacted, by brokers and name."""


class ProgressUnusable(RuntimeError):
    """A progress topic that cannot be created, or that does not keep its records."""


class Committed(NamedTuple):
    """A committed position: NONE if there is none, and its metadata."""

    offset: int
    metadata: str


NOWHERE: Final = Committed(NONE, "")


class Keyed(NamedTuple):
    """A position in the progress topic, with its group and its topic and partition."""

    group: str
    place: Place
    committed: Committed


class Progress:
    """The progress topic and the ids of topics, for one write or one source.

    Args:
        settings: of the client.
        group: the consumer group of the write.
        topic: the progress topic.
    """

    def __init__(self, settings: Settings, group: str, topic: str = TOPIC) -> None:
        self.topic = topic
        self._settings, self._group = settings, group
        self._known = str(settings.get("bootstrap.servers")), topic
        self._admin: Any = None
        self._described: Mapping[str, Future[Any]] = {}
        self._configured: Mapping[Any, Future[Any]] = {}

    def ask(self, topics: Iterable[str]) -> None:
        """Ask for the ids of topics, and of the progress topic, without waiting for the answer."""
        if self._admin is None:
            self._admin = admin_for(self._settings)
        names = sorted({self.topic, *topics} - {""})
        self._described = self._admin.describe_topics(client.TopicCollection(names), request_timeout=ASK_S)
        if self._known not in _compacted:
            self._ask_for_configuration()

    def _ask_for_configuration(self) -> None:
        resource = client.admin.ConfigResource("topic", self.topic)
        self._configured = self._admin.describe_configs([resource], request_timeout=ASK_S)

    def ids(self) -> dict[str, str]:
        """Return the answer to `ask`: ids by name, without topics that do not exist; "" if brokers have no ids.

        A progress topic that this client may not see is left out, too: a query without a sink needs none.

        Raises:
            KafkaException: the brokers do not answer, or refuse.
        """
        found = {}
        for name, future in self._described.items():
            try:
                told = future.result(ASK_S + 1)
            except client.KafkaException as error:
                is_hidden = name == self.topic and error.args[0].name() == "TOPIC_AUTHORIZATION_FAILED"
                if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART" and not is_hidden:
                    raise
            except TimeoutError:
                raise client.KafkaException(timed_out(f"the id of topic {name} did not come")) from None
            else:
                found[name] = "" if told.topic_id is None or _is_zero(told.topic_id) else str(told.topic_id)
        return found

    def create(self) -> None:
        """Create the topic, if it is not there.

        Raises:
            ProgressUnusable: that is not permitted.
            KafkaException: the brokers do not answer.
        """
        new = client.admin.NewTopic(self.topic, 1, -1, config=dict(CONFIG))
        self._configured = {}
        try:
            self._result(self._admin.create_topics([new], request_timeout=ASK_S))
        except client.KafkaException as error:
            if error.args[0].name() == "TOPIC_ALREADY_EXISTS":
                return
            if error.args[0].retriable() or error.args[0].name().startswith("_"):
                raise
            raise ProgressUnusable(
                f"topic {self.topic}, which keeps the progress of every write, does not exist or is hidden from this "
                f"client, which cannot create it ({error.args[0].str()}). Permit Describe, Read and Write on it, and "
                f"create it with: {self.command}"
            ) from None

    def check(self, topic_id: str) -> None:
        """Check that the topic keeps the newest record of each key; once per process.

        Raises:
            ProgressUnusable: it does not.
            KafkaException: the brokers do not answer.
        """
        if _compacted.get(self._known) == topic_id:
            return
        if not self._configured:
            self._ask_for_configuration()
        asked, self._configured = self._configured, {}
        try:
            policy = self._result(asked)["cleanup.policy"].value
        except client.KafkaException as error:
            if error.args[0].name() != "TOPIC_AUTHORIZATION_FAILED":
                raise
            LOGGER.warning(
                "this client may not read the configuration of topic %s, so it is unknown whether the topic is "
                "compacted; check that its cleanup.policy is compact, or permit DescribeConfigs",
                self.topic,
            )
        else:
            if policy != "compact":
                raise ProgressUnusable(
                    f"topic {self.topic} keeps the progress of every write, and its cleanup.policy is {policy}, which "
                    "deletes records by age or size. Set it with: kafka-configs.sh --bootstrap-server "
                    f"{self._known[0]} --alter --entity-type topics --entity-name {self.topic} --add-config "
                    "cleanup.policy=compact; or name another topic by option progressTopic"
                )
        _compacted[self._known] = topic_id

    @property
    def command(self) -> str:
        """The command that creates the topic."""
        return (
            f"kafka-topics.sh --bootstrap-server {self._known[0]} --create --topic {self.topic} --partitions 1 "
            "--config cleanup.policy=compact"
        )

    def record(self, place: Place, offset: int, metadata: str) -> tuple[bytes, bytes]:
        """Return key and value of the record that says the same as a position of the group."""
        told = {"offset": offset, "metadata": metadata}
        return json.dumps([self._group, *place]).encode(), json.dumps(told, separators=(",", ":")).encode()

    def newest(self, places: Iterable[Place]) -> dict[Place, Committed]:
        """Read the newest record of each place; a place without one is left out.

        An open transaction hides the records above it. That matters only if records of these places are there.

        Raises:
            KafkaException: brokers do not answer, or records of these places are undecided.
            ProgressUnusable: a record was not written by this project.
        """
        keys = {self.record(place, 0, "")[0]: place for place in places}
        past = self._high_watermark() if keys else 0
        found, at = self._scan("read_committed", client.OFFSET_BEGINNING, past, keys)
        self._refuse_hidden(at, [keys[key] for key in self._scan("read_uncommitted", at, past, keys)[0]])
        return {keys[key]: committed for key, committed in found.items()}

    def of_all_groups(self, is_wanted: "Callable[[Keyed], bool]") -> "list[Keyed]":
        """Read the newest record of each group and place, and return those that are wanted.

        Raises:
            KafkaException: brokers do not answer, or an open transaction hides a record that is wanted.
            ProgressUnusable: a record was not written by this project.
        """
        past = self._high_watermark()
        found, at = self._scan("read_committed", client.OFFSET_BEGINNING, past)
        hidden = [each for each in _keyed(self._scan("read_uncommitted", at, past)[0]) if is_wanted(each)]
        self._refuse_hidden(at, [each.place for each in hidden])
        return [each for each in _keyed(found) if is_wanted(each)]

    def _refuse_hidden(self, at: int, places: Iterable[Place]) -> None:
        if below := ", ".join(str(place) for place in places):
            raise client.KafkaException(
                client.KafkaError(
                    client.KafkaError.UNSTABLE_OFFSET_COMMIT,
                    f"{self.topic} is decided to offset {at} only, below records of {below}",
                )
            )

    def _scan(
        self, isolation: str, first: int, past: int, keys: Container[bytes] | None = None
    ) -> tuple[dict[bytes, Committed], int]:
        """The newest records from `first` on by key, as far as this isolation shows them, and where that ends."""
        found: dict[bytes, Committed] = {}
        at = max(0, first)
        if past <= at:
            return found, past
        consumer = consumer_for({**self._settings, **READS_SOON}, self._group, isolation)
        until = time.monotonic() + ASK_S
        try:
            consumer.list_topics(self.topic, ASK_S)  # else librdkafka waits 500 ms for a leader
            consumer.assign([client.TopicPartition(self.topic, PARTITION, first)])
            while at < past:
                if time.monotonic() > until:
                    raise client.KafkaException(timed_out(f"nothing came from {self.topic}, offset {at} of {past}"))
                for message in consumer.consume(1000, 0.02):
                    error = message.error()
                    if error is None:
                        at, until = message.offset() + 1, time.monotonic() + ASK_S
                        if keys is None or message.key() in keys:
                            found[message.key()] = self._read(message)
                    elif error.name() == "_PARTITION_EOF":
                        return found, max(at, message.offset())
                    else:
                        raise client.KafkaException(error)
        finally:
            consumer.close()
        return found, at

    def _read(self, message: Any) -> Committed:
        try:
            told = json.loads(message.value())
            return Committed(int(told["offset"]), str(told["metadata"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ProgressUnusable(
                f"topic {self.topic}, offset {message.offset()}, key {message.key()!r}: the value is "
                f"{message.value()!r}, which no sink wrote; nothing else may write to this topic. Use another one "
                "(progressTopic)"
            ) from error

    def _high_watermark(self) -> int:
        at = client.TopicPartition(self.topic, PARTITION)
        isolation = client.IsolationLevel.READ_UNCOMMITTED
        asked = self._admin.list_offsets(
            {at: client.admin.OffsetSpec.latest()}, isolation_level=isolation, request_timeout=ASK_S
        )
        return int(self._result(asked).offset)

    @staticmethod
    def _result(asked: Mapping[Any, "Future[Any]"]) -> Any:
        (future,) = asked.values()
        try:
            return future.result(ASK_S + 1)
        except TimeoutError:
            raise client.KafkaException(timed_out("a broker did not answer")) from None


def _keyed(records: Mapping[bytes, Committed]) -> list[Keyed]:
    named = [(json.loads(key), committed) for key, committed in records.items()]
    return [Keyed(group, (topic, partition), committed) for (group, topic, partition), committed in named]


def _is_zero(topic_id: Any) -> bool:
    return bool(topic_id.get_most_significant_bits() == 0 == topic_id.get_least_significant_bits())


def is_signed(text: str) -> bool:
    """Whether a delivery of this project, maybe of another release, wrote the metadata of a position."""
    try:
        told = json.loads(text)
    except ValueError:
        return False
    return isinstance(told, dict) and "zombieproof" in told


def unsigned(committed: Mapping[Place, Committed]) -> list[Place]:
    """The places at which the group holds no position of a delivery: none, or one that another client has committed."""
    return [place for place, (offset, text) in committed.items() if offset == NONE or not is_signed(text)]


def without_position(committed: Mapping[Place, Committed]) -> list[Place]:
    """The places at which the group holds no position."""
    return [place for place, (offset, _) in committed.items() if offset == NONE]

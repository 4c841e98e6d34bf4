"""A recorded request as the typed request that it stands for: field by field, as the message says what it names."""

from collections.abc import Callable, Mapping
from typing import Any

from zombieproof.broker.cluster.network import Request
from zombieproof.conformance.forms import BatchForm, Form, has_default
from zombieproof.conformance.recorded_names import AS_LISTS, LEFT_OUT, SAID_AS_NOTHING, SAID_BESIDES, name_of
from zombieproof.conformance.symbols import IDS_OF_NO_TOPIC, Symbols
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetToCommit, PlainOffsetToCommit
from zombieproof.messages.partitions import LATEST, DeleteTopics, DescribeTopics, ListOffsets, Produce, SentBatch
from zombieproof.messages.registry import Api
from zombieproof.messages.schema import Entity, FieldOfMessage, Rows, fields_of, record_in
from zombieproof.model.vocabulary import Isolation


def request_of(api: Api, version: int, form: Form, symbols: Symbols) -> Request:
    """The request that `form` stands for.

    Raises:
        UnknownSymbol: it contains a name that stands for nothing.
    """
    request: Request = api.request(version, **_Reader(version, symbols).values(api.request, form))
    return request


class _Reader:
    """Reads the forms of one version; what a value says depends on what its field names."""

    def __init__(self, version: int, symbols: Symbols) -> None:
        self._version, self._symbols = version, symbols
        self._of: Mapping[Entity, Callable[[Any], Any]] = {
            Entity.PRODUCER_ID: symbols.producer_id,
            Entity.MEMBER: symbols.member,
            Entity.GROUP: symbols.group,
            Entity.COORDINATOR_EPOCH: symbols.coordinator_epoch,
        }

    def values(self, message: type, form: Form) -> dict[str, Any]:
        """What the fields of a message or record are; a field that is left out has its default."""
        found: dict[str, Any] = {}
        for field in fields_of(message):
            wire = field.wire(self._version)
            record = record_in(field.kind)
            if wire is not None and not wire.name and record is not None:
                found[field.name] = (record(**self.values(record, form)),)
            elif isinstance(wire, Rows) and wire.ids_since <= self._version and "unknown_topic_ids" in _names(message):
                found["unknown_topic_ids"] = IDS_OF_NO_TOPIC
            if wire is not None and (message, field.name) in SAID_BESIDES:
                found[field.name] = SAID_BESIDES[message, field.name]
            if field.name in found or (message, field.name) in LEFT_OUT:
                continue
            value = getattr(form, name_of(message, field.name), None)
            if value is not None:
                found[field.name] = self._value(message, field, value, form)
            elif not has_default(message, field.name) or _is_nothing(message, field.name, form):
                found[field.name] = None
        return found

    def _value(self, message: type, field: FieldOfMessage, value: Any, form: Form) -> Any:
        wire, record = field.wire(self._version), record_in(field.kind)
        if (message, field.name) == (Produce, "partitions"):
            return self._batches(value, wire)
        if (message, field.name) == (ListOffsets, "partitions") and isinstance(wire, Rows):
            return {self._partition(wire, topic, symbol): LATEST for topic, symbol in value}
        if isinstance(wire, Rows):
            return self._rows(field, wire, value)
        if field.name == "topics" and message in (DescribeTopics, DeleteTopics) and getattr(form, "by_id", False):
            return tuple(self._symbols.by_id(topic) for topic in value)
        if message in (OffsetToCommit, PlainOffsetToCommit) and field.name == "metadata":
            return "m" * value if isinstance(value, int) else value
        if record is not None:
            return tuple(self._record(record, row) for row in value)
        if field.kind is Isolation:
            return Isolation[value.upper()]
        convert = self._of.get(field.entity)
        if convert is None:
            return value
        return tuple(convert(each) for each in value) if isinstance(value, tuple) else convert(value)

    def _rows(self, field: FieldOfMessage, wire: Rows, rows: Any) -> Any:
        record = record_in(field.kind)
        places = [(self._partition(wire, row[0], row[1]), row[2:]) for row in rows]
        if record is not None:
            return tuple(self._record(record, rest, place) for place, rest in places)
        if getattr(field.kind, "__origin__", None) is dict:
            return {place: rest[0] for place, rest in places}
        return tuple(place for place, _ in places)

    def _partition(self, wire: Rows, topic: str, symbol: int | str) -> TopicPartition:
        by_id = wire.ids_since <= self._version
        return self._symbols.partition(self._symbols.by_id(topic) if by_id else topic, symbol)

    def _record(self, record: type, row: Any, place: TopicPartition | None = None) -> Any:
        """A record of a form, or of a list of its values without names."""
        if record not in AS_LISTS:
            return record(**self.values(record, row))
        given, found = iter(row), dict[str, Any]()
        for field in fields_of(record):
            if field.ours is not None:
                found[field.name] = place
            elif (record, field.name) not in LEFT_OUT:
                value = next(given)
                found[field.name] = self._value(
                    record, field, "" if value is None and field.kind is str else value, row
                )
        return record(**found)

    # ---------------------------------------------------------------- batches

    def _batches(self, rows: Any, wire: Any) -> dict[TopicPartition, tuple[SentBatch, ...]]:
        found: dict[TopicPartition, tuple[SentBatch, ...]] = {}
        for each in rows:
            partition = self._partition(wire, each.topic, each.partition)
            found[partition] = (*found.get(partition, ()), *(self._batch(batch) for batch in each.batches))
        return found

    def _batch(self, form: BatchForm) -> SentBatch:
        records = tuple(Record(None, value.encode()) for value in form.values)
        whole = len(records) - 1
        batch = Batch(
            producer_id=self._symbols.producer_id(form.pid),
            producer_epoch=form.epoch,
            base_sequence=form.base_sequence,
            transactional=form.transactional,
            records=records,
            marker=None if form.control is None else Marker(form.control == "COMMIT", coordinator_epoch=0),
            last_offset_delta=whole if form.last_offset_delta is None else form.last_offset_delta,
        )
        return SentBatch(batch, form.base_offset, form.corrupt)


def _is_nothing(message: type, name: str, form: Form) -> bool:
    return (message, name) in SAID_AS_NOTHING and name_of(message, name) in form.model_fields_set


def _names(message: type) -> frozenset[str]:
    return frozenset(field.name for field in fields_of(message))

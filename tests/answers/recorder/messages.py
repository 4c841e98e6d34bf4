"""Typed requests as Kafka's messages, and Kafka's answers as typed ones: what the registry says of names, kio fills in.

What a request does not say is what Kafka's own clients say (`BESIDES`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from datetime import datetime, timedelta
from enum import IntEnum
from importlib import import_module
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from tests.answers.recorder.names import Names
from tests.messages.kafka_fields import snake
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.forms import has_default
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages import groups as g
from zombieproof.messages import partitions as p
from zombieproof.messages.registry import api_of
from zombieproof.messages.schema import Entity, FieldOfMessage, Pairs, Rows, Wire, fields_of, record_in
from zombieproof.model.vocabulary import NONE, Error

Values = Mapping[str, Any]

BY_ID_SINCE = 6
"""DeleteTopics names topics by their ids from here on, if it is asked to."""

BESIDES: Values = {
    "replica_id": NONE,
    "timeout": 5_000,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "forgotten_topics_data": [],
    "retention_time": NONE,
    "allow_auto_topic_creation": False,
    "include_topic_authorized_operations": False,
    "include_cluster_authorized_operations": False,
    "protocol_type": "consumer",
    "protocol_name": "range",
    "protocols": [{"name": "range", "metadata": b"x"}],
    "topic_partitions": [],
}
"""What Kafka's clients say in any message that has such a field."""


def made(kind: Any, values: Values) -> Any:
    """An instance of a message class of kio, with those of `values` that its version has.

    Raises:
        TypeError: a field that the version demands has no value.
    """
    hints = get_type_hints(kind)
    given = {}
    for field in fields(kind):
        if field.name in values or field.name in BESIDES:
            given[field.name] = _as_hinted(hints[field.name], values.get(field.name, BESIDES.get(field.name)))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"{kind.__module__}.{kind.__name__}: {field.name} has no value")
    return kind(**given)


def _as_hinted(hint: Any, value: Any) -> Any:
    """A value as the hint wants it: rows become messages, milliseconds a time."""
    if value is None:
        return None
    arguments = get_args(hint)
    if get_origin(hint) is UnionType:
        return _as_hinted(next(each for each in arguments if each is not type(None)), value)
    if get_origin(hint) is tuple:
        return tuple(_as_hinted(arguments[0], each) for each in value)
    if hasattr(hint, "__api_key__"):
        return made(hint, value)
    if "Timedelta" in str(hint):
        return timedelta(milliseconds=value)
    return value


def request_of(request: Request, names: Names, now_ms: int) -> Any:
    """A typed request as one of kio."""
    name, values = api_of(type(request)).name, _Sent(request.version, names, now_ms).values(request)
    module = import_module(f"kio.schema.{snake(name)}.v{request.version}.request")
    return made(getattr(module, f"{name}Request"), {**values, **_more(request, names)})


def answer_of(request: Request, response: Any, names: Names) -> Answer:
    """Kafka's answer to `request` as a typed one."""
    answer: Answer = _Told(request.version, names).message(api_of(type(request)).answer, response)
    return answer


# -------------------------------------------------------------------- requests


def _more(request: Request, names: Names) -> Values:
    """What depends on the request, and the registry does not say."""
    match request:
        case g.SyncGroup():
            return {"assignments": [{"member_id": request.member, "assignment": b"a"}]}
        case p.DeleteTopics() if request.version < BY_ID_SINCE:
            return {"topic_names": [names.topic(topic)["name"] for topic in request.topics]}
        case p.DescribeTopics() | p.DeleteTopics():
            known = [names.topic(topic) for topic in request.topics or ()]
            rows = [{"topic_id": row["topic_id"], "name": None} for row in known]
            return {"topics": rows if request.by_id else [{"topic_id": None, "name": row["name"]} for row in known]}
        case g.ConsumerGroupHeartbeat():
            topics = request.topics
            return {
                "subscribed_topic_names": None if topics is None else [names.topic(each)["name"] for each in topics],
                "subscribed_topic_regex": None
                if request.topic_pattern is None
                else names.pattern(request.topic_pattern),
            }
        case _:
            return {}


class _Sent:
    """Requests of one version, field by field."""

    def __init__(self, version: int, names: Names, now_ms: int) -> None:
        self._version, self._names, self._now_ms = version, names, now_ms

    def values(self, message: Any) -> dict[str, Any]:
        """The values of a message, or of a record in one, by kio's names."""
        found: dict[str, Any] = {}
        kind: type = type(message)
        for field in fields_of(kind):
            wire, value = field.wire(self._version), getattr(message, field.name)
            if wire is None:
                continue
            if not wire.name:
                for row in value:
                    found |= self.values(row)
            else:
                self._put(found, wire, self._value(field, wire, value))
        return found

    def _put(self, found: dict[str, Any], wire: Wire, value: Any) -> None:
        *way, last = map(snake, wire.name.split("."))
        rows = [found]
        for part in way:
            rows = [inner for row in rows for inner in row.setdefault(part, [{}])]
        for row in rows:
            row[last] = value

    def _value(self, field: FieldOfMessage, wire: Wire, value: Any) -> Any:
        if isinstance(wire, Rows):
            return None if value is None else self._rows(wire, value)
        if record_in(field.kind) is not None:
            return [self.values(row) for row in value]
        if field.entity == Entity.TRANSACTIONAL_ID:
            name = self._names.transactional_id
            return list(map(name, value)) if isinstance(value, tuple) else name(value)
        if field.entity == Entity.GROUP:
            return self._names.group(value) if isinstance(value, str) else list(map(self._names.group, value))
        return int(value) if isinstance(value, IntEnum) else value

    def _rows(self, wire: Rows, value: Any) -> list[Values]:
        said = value.items() if isinstance(value, dict) else ((getattr(row, "partition", row), row) for row in value)
        by_topic: dict[str, list[Any]] = {}
        for (topic, number), row in said:
            by_topic.setdefault(topic, []).append(self._row(wire, number, row))
        return [{**self._names.topic(topic), snake(wire.partitions): rows} for topic, rows in by_topic.items()]

    def _row(self, wire: Rows, number: int, row: Any) -> Any:
        if not wire.index:
            return number
        found: dict[str, Any] = {snake(wire.index): number}
        if isinstance(row, g.OffsetToCommit):
            return found | self.values(row)
        if isinstance(row, tuple) and wire.values:
            row = b"".join(batch_bytes(sent.batch, self._now_ms) for sent in row)
        return found | ({snake(wire.values[0]): row} if wire.values else {})


# -------------------------------------------------------------------- batches


def batch_bytes(batch: Batch, now_ms: int) -> bytes:
    """A record batch of magic 2, uncompressed, all records of one time."""
    last = len(batch.records) - 1
    return write_batch(
        replace(batch, base_offset=0, leader_epoch=NONE, marker=None, last_offset_delta=last, timestamp_ms=now_ms)
    )


# -------------------------------------------------------------------- answers


class _Told:
    """Answers of one version, field by field; what a version does not tell has its default."""

    def __init__(self, version: int, names: Names) -> None:
        self._version, self._names = version, names

    def message(self, kind: type, told: Any) -> Any:
        """A message of ours, or a record in one."""
        found: dict[str, Any] = {}
        for field in fields_of(kind):
            wire = field.wire(self._version)
            if wire is None:
                if not has_default(kind, field.name):
                    found[field.name] = int(Error.NONE) if field.kind is int else None
                continue
            value = self._value(field, wire, told)
            if value is not MISSING:
                found[field.name] = value
        return kind(**found)

    def _value(self, field: FieldOfMessage, wire: Wire, told: Any) -> Any:
        record = record_in(field.kind)
        if not wire.name and record is not None:
            return (self.message(record, told),)
        at = list(_reached(told, wire.name))
        if isinstance(wire, Rows):
            if not at and type(None) in get_args(field.kind):
                return None
            rows = dict(row for topics in at for row in self._rows(field, wire, topics))
            return rows if get_origin(field.kind) is dict else tuple(rows)
        value: Any = at[0] if at else None
        if isinstance(value, timedelta):
            value = value // timedelta(milliseconds=1)
        if isinstance(value, datetime):
            value = value.timestamp() * 1000
        if wire.entity == Entity.TRANSACTIONAL_ID and value:
            value = self._names.symbol_of(value)
        if isinstance(wire, Pairs):
            pairs = (
                [] if value is None else [(self._key(wire, row), int(getattr(row, snake(wire.value)))) for row in value]
            )
            return dict(pairs) if get_origin(field.kind) is dict else None if value is None else tuple(pairs)
        if field.name == "batches":
            return tuple(read_batches(value or b""))
        if field.name == "record_errors":
            return tuple(at)
        if record is not None:
            return tuple(self.message(record, row) for row in value or ())
        return MISSING if value is None and field.kind in (str, int) else int(value) if field.kind is int else value

    def _rows(self, field: FieldOfMessage, wire: Rows, topics: Any) -> Iterator[tuple[TopicPartition, Any]]:
        record = record_in(field.kind)
        for topic in topics or ():
            for row in getattr(topic, snake(wire.partitions)):
                place = self._names.topic_of(topic), getattr(row, snake(wire.index)) if wire.index else int(row)
                said = tuple(int(getattr(row, snake(name))) for name in wire.values)
                yield place, self.message(record, row) if record is not None else said[0] if len(said) == 1 else said

    def _key(self, wire: Pairs, row: Any) -> Any:
        if wire.entity == Entity.GROUP:
            return self._names.symbol_of(getattr(row, snake(wire.key)))
        return self._names.topic_of(row) if wire.key == "Name" else getattr(row, snake(wire.key))


def _reached(told: Any, path: str) -> Iterator[Any]:
    """The values at the end of a path through arrays."""
    first, _, rest = path.partition(".")
    value = getattr(told, snake(first))
    if not rest:
        yield value
    else:
        for row in value if isinstance(value, tuple) else () if value is None else (value,):
            yield from _reached(row, rest)


def topic_ids(response: Any) -> dict[str, UUID]:
    """The id of each topic that Metadata tells of."""
    return {row.name: row.topic_id for row in response.topics if row.name is not None and row.topic_id is not None}

"""Messages of ours as Kafka's, and Kafka's as ours: what `messages` says of names and versions, carried out.

Theory of operation: each field of a message says what Kafka calls it (`messages.schema`). Once for each class and
version that is made a list of small functions, one for each field, which take it out of kio's entity, or put it into
the values that one is made of. Both ways serve both sides: a broker reads requests and writes answers, a client the
other way round. What the names do not tell is in the file of its API (`wire.apis`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from enum import IntEnum
from functools import cache
from typing import Any, get_origin

from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import read_batches
from zombieproof.formats.topics import TopicPartition, UnnamedTopic
from zombieproof.messages.schema import Entity, FieldOfMessage, Pairs, Rows, Wire, fields_of, record_in, without_none
from zombieproof.model.vocabulary import NONE
from zombieproof.wire.entities import plain, snake
from zombieproof.wire.names import Names

Take = Callable[[Any, Names], Any]
"""Takes the value of a field out of an entity; MISSING: nothing is said there."""

Put = Callable[[dict[str, Any], Any, Names], None]
"""Puts the value of a field among those that an entity is made of."""

_TRANSLATED = frozenset({Entity.TRANSACTIONAL_ID, Entity.GROUP})


# ---------------------------------------------------------------- out of an entity


def message_of(kind: type, entity: Any, version: int, names: Names, **more: Any) -> Any:
    """The message of the class `kind` that an entity is; `more` are fields that the entity does not tell by its names.

    Raises:
        ValueError: a value is none that its field can have.
    """
    found = dict(more)
    for name, take, silence in _taking(kind, version):
        if name not in found:
            value = take(entity, names)
            if value is not MISSING:
                found[name] = value
            elif silence is not MISSING:
                found[name] = silence
    if _is_request(kind):
        found["version"] = version
    return kind(**found)


@cache
def _is_request(kind: type) -> bool:
    return any(each.name == "version" for each in fields(kind))


@cache
def _taking(kind: type, version: int) -> tuple[tuple[str, Take, Any], ...]:
    """The fields of a message: name, how it is taken, and what it is where nothing is said (MISSING: its default)."""
    found: list[tuple[str, Take, Any]] = []
    defaults = {each.name for each in fields(kind) if each.default is not MISSING}
    for field in fields_of(kind):
        wire = field.wire(version)
        silence: Any = MISSING if field.name in defaults else _silence(field.kind)
        if field.name == "unknown_topic_ids":
            found.append((field.name, _unknown_ids(kind, version), MISSING))
        elif wire is not None:
            found.append((field.name, _take(field, wire, version), silence))
        elif silence is not MISSING:
            found.append((field.name, _nothing, silence))
    return tuple(found)


def _silence(kind: Any) -> Any:
    """What a field without a default is where its version does not have it."""
    if isinstance(kind, type) and issubclass(kind, int | str):
        return kind(0) if issubclass(kind, int) else ""
    return None


def _nothing(entity: Any, names: Names) -> Any:
    return MISSING


def _take(field: FieldOfMessage, wire: Wire, version: int) -> Take:
    record = record_in(field.kind)
    if not wire.name and record is not None:
        return lambda entity, names: (message_of(record, entity, version, names),)
    if isinstance(wire, Rows):
        return _take_rows(field, wire, version)
    if isinstance(wire, Pairs):
        return _take_pairs(field, wire)
    if record is not None:
        return _take_records(field, wire, record, version)
    return _take_value(field, wire)


def _take_value(field: FieldOfMessage, wire: Wire) -> Take:
    kind = without_none(field.kind)
    enum = kind if isinstance(kind, type) and issubclass(kind, IntEnum) else None
    is_many, is_text, is_number = get_origin(kind) is tuple, field.kind is str, field.kind is int
    if kind == tuple[Batch, ...]:
        return lambda entity, names: tuple(read_batches(next(reached(entity, wire.name), None) or b""))
    if is_many and "." in wire.name:
        return lambda entity, names: tuple([plain(each) for each in reached(entity, wire.name)])

    first = _first(wire.name)

    def take(entity: Any, names: Names) -> Any:
        value = first(entity)
        if value is MISSING:
            return value
        if is_many:
            return None if value is None else tuple([plain(each) for each in value])
        value = plain(value)
        if value is None:
            return MISSING if is_text else NONE if is_number else None
        return value if enum is None else enum(value)

    return take


def _take_records(field: FieldOfMessage, wire: Wire, record: type, version: int) -> Take:
    may_be_none, first = without_none(field.kind) is not field.kind, _first(wire.name)

    def take(entity: Any, names: Names) -> Any:
        rows = first(entity)
        if rows is MISSING:
            return rows
        if rows is None and may_be_none:
            return None
        return tuple([message_of(record, row, version, names) for row in rows or ()])

    return take


def _take_pairs(field: FieldOfMessage, wire: Pairs) -> Take:
    key, value, is_dict = snake(wire.key), snake(wire.value), get_origin(field.kind) is dict
    of_topics, first = wire.key == "Name", _first(wire.name)

    def take(entity: Any, names: Names) -> Any:
        rows = first(entity)
        if rows is MISSING or rows is None:
            return MISSING if rows is MISSING else {} if is_dict else None
        pairs = [
            (
                names.topic_of(row) if of_topics else names.told(field.entity, getattr(row, key)),
                plain(getattr(row, value)),
            )
            for row in rows
        ]
        return dict(pairs) if is_dict else tuple(pairs)

    return take


def _take_rows(field: FieldOfMessage, wire: Rows, version: int) -> Take:
    kind = without_none(field.kind)
    gather: Callable[[Any], Any] = get_origin(kind) or tuple
    may_be_none, row_of = kind is not field.kind, _row(field, wire, version)
    partitions, index, first = snake(wire.partitions), snake(wire.index), _first(wire.name)

    def rows(topics: Any, names: Names) -> Iterator[Any]:
        for topic in topics:
            name = names.topic_of(topic)
            for row in getattr(topic, partitions):
                yield row_of((name, getattr(row, index) if index else int(row)), row, names)

    def take(entity: Any, names: Names) -> Any:
        topics = first(entity)
        if topics is MISSING:
            return None if may_be_none and "." in wire.name else topics
        if topics is None and may_be_none:
            return None
        return gather(rows(topics or (), names))

    return take


def _row(field: FieldOfMessage, wire: Rows, version: int) -> Callable[[TopicPartition, Any, Names], Any]:
    """What a row becomes: the pair of a partition and what is said of it, a record that knows it, or it alone."""
    record, is_dict = record_in(field.kind), get_origin(without_none(field.kind)) is dict
    if record is not None and is_dict:
        return lambda place, row, names: (place, message_of(record, row, version, names))
    if record is not None:
        return lambda place, row, names: message_of(record, row, version, names, partition=place)
    if not is_dict:
        return lambda place, row, names: place
    values = [snake(name) for name in wire.values]
    if len(values) == 1:
        return lambda place, row, names: (place, plain(getattr(row, values[0])))
    return lambda place, row, names: (place, tuple([plain(getattr(row, name)) for name in values]))


def _unknown_ids(kind: type, version: int) -> Take:
    """Topics that are named by an id which is of none."""
    taking = [
        _take(field, wire, version)
        for field in fields_of(kind)
        if isinstance(wire := field.wire(version), Rows) and version >= wire.ids_since
    ]

    def take(entity: Any, names: Names) -> Any:
        places = [place for each in taking for place in each(entity, names) or ()]
        topics = {getattr(place, "partition", place)[0] for place in places}
        return frozenset(topic for topic in topics if isinstance(topic, UnnamedTopic))

    return take if taking else _nothing


def _first(path: str) -> Callable[[Any], Any]:
    """What takes the first value at the end of a path; MISSING: there is none."""
    if "." in path:
        return lambda entity: next(reached(entity, path), MISSING)
    name = snake(path)
    return lambda entity: getattr(entity, name, MISSING)


def reached(entity: Any, path: str) -> Iterator[Any]:
    """The values at the end of a path through arrays; none where a version does not have it."""
    first, _, rest = path.partition(".")
    value = getattr(entity, snake(first), MISSING)
    if value is MISSING:
        return
    if not rest:
        yield value
        return
    for row in value if isinstance(value, tuple) else () if value is None else (value,):
        yield from reached(row, rest)


# ---------------------------------------------------------------- into an entity


def values_of(message: Any, version: int, names: Names) -> dict[str, Any]:
    """The values that the entity of a message is made of, by kio's names."""
    found: dict[str, Any] = {}
    kind: type = type(message)
    for name, put in _putting(kind, version):
        put(found, getattr(message, name), names)
    return found


@cache
def _putting(kind: type, version: int) -> tuple[tuple[str, Put], ...]:
    return tuple(
        (field.name, _put(field, wire, version))
        for field in fields_of(kind)
        if (wire := field.wire(version)) is not None
    )


def _put(field: FieldOfMessage, wire: Wire, version: int) -> Put:
    if not wire.name:

        def put_in_place(found: dict[str, Any], value: Any, names: Names) -> None:
            for row in value:
                found |= values_of(row, version, names)

        return put_in_place
    *way, last = map(snake, wire.name.split("."))
    value_of = _value(field, wire, version)

    def put(found: dict[str, Any], value: Any, names: Names) -> None:
        if value is None and isinstance(wire, Rows) and (way or last in found):
            # What nothing is said about is not there; what is said beside rows is not said of them.
            return
        rows = [found]
        for part in way:
            rows = [inner for row in rows for inner in _rows_in(row, part)]
        told = value_of(value, names)
        for row in rows:
            row[last] = merged(row[last], told) if last in row else told

    return put


def merged(topics: Any, more: Any) -> Any:
    """The rows of partitions, with what a field beside says of the same ones."""
    for topic, other in zip(topics, more, strict=True):
        (partitions,) = (name for name, value in other.items() if isinstance(value, list))
        for row, said in zip(topic[partitions], other[partitions], strict=True):
            row |= said
    return topics


def _rows_in(row: dict[str, Any], part: str) -> list[dict[str, Any]]:
    inner: list[dict[str, Any]] | dict[str, Any] = row.setdefault(part, [{}])
    return [inner] if isinstance(inner, dict) else inner


def _value(field: FieldOfMessage, wire: Wire, version: int) -> Callable[[Any, Names], Any]:
    if isinstance(wire, Rows):
        return lambda value, names: None if value is None else _topics(wire, value, version, names)
    if isinstance(wire, Pairs):
        return lambda value, names: None if value is None else _pairs(wire, value, names)
    if record_in(field.kind) is not None:
        return lambda value, names: None if value is None else [values_of(row, version, names) for row in value]
    if field.entity in _TRANSLATED:
        entity = field.entity
        return lambda value, names: (
            [names.sent(entity, each) for each in value] if isinstance(value, tuple) else names.sent(entity, value)
        )
    return lambda value, names: value


def _pairs(wire: Pairs, value: Any, names: Names) -> list[Mapping[str, Any]]:
    key, said, of_topics = snake(wire.key), snake(wire.value), wire.key == "Name"
    return [
        {**(names.topic(one) if of_topics else {key: one}), said: other}
        for one, other in (value.items() if isinstance(value, dict) else value)
    ]


def _topics(wire: Rows, value: Any, version: int, names: Names) -> list[Mapping[str, Any]]:
    said = value.items() if isinstance(value, dict) else ((getattr(row, "partition", row), row) for row in value)
    by_topic: dict[str, list[Any]] = {}
    for (topic, number), row in said:
        by_topic.setdefault(topic, []).append(_said(wire, number, row, version, names))
    return [{**names.topic(topic), snake(wire.partitions): rows} for topic, rows in by_topic.items()]


def _said(wire: Rows, number: int, row: Any, version: int, names: Names) -> Any:
    """What is said of one partition."""
    if not wire.index:
        return number
    found: dict[str, Any] = {snake(wire.index): number}
    if not wire.values:
        return found | values_of(row, version, names) if hasattr(row, "__dataclass_fields__") else found
    values = row if isinstance(row, tuple) and len(wire.values) > 1 else (row,)
    return found | dict(zip(map(snake, wire.values), values, strict=True))

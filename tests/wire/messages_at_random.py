"""Messages of any class with values at random, as far as a version of their API can say them."""

from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

from hypothesis import strategies as st

from tests.wire.fronts import TOPICS
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import read_batch, write_batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import SentBatch
from zombieproof.messages.schema import FieldOfMessage, Pairs, Rows, Wire, fields_of, record_in
from zombieproof.model.vocabulary import Error

WORDS = st.sampled_from(["", "a", "x-1", "ünlich", "?"])
NUMBERS = st.integers(-1, 100)
ERRORS = st.sampled_from([int(error) for error in Error])
NAMES = st.sampled_from(sorted(TOPICS))
PLACES = st.tuples(NAMES, st.integers(0, 3))

STORED = read_batch(write_batch(Batch(records=(Record(b"k", b"v"), Record(None, None)), last_offset_delta=1)))


@cache
def messages(kind: type, version: int) -> st.SearchStrategy[Any]:
    """Messages of a class, of which everything that the version does not have is at its default.

    What may be none in some version is something in all of them. Partitions are in order: on the wire those of a topic
    stand together.
    """
    given: dict[str, st.SearchStrategy[Any]] = {}
    for field in fields_of(kind):
        wire = field.wire(version)
        if wire is not None and not (_is_of_rows(wire, kind, field.name) or _stands_beside(wire, kind, field.name)):
            given[field.name] = _value(field, wire, version)
        elif field.name == "partition":
            given[field.name] = PLACES
        elif not _has_default(kind, field.name):
            of_silence = isinstance(field.kind, type) and issubclass(field.kind, int | str)
            given[field.name] = st.just((field.kind(0) if issubclass(field.kind, int) else "") if of_silence else None)
    if "version" in kind.__dataclass_fields__:  # type: ignore[attr-defined]  # messages are dataclasses
        given["version"] = st.just(version)
    return st.builds(kind, **given)


def _is_of_rows(wire: Wire, kind: type, name: str) -> bool:
    """Whether a value stands in each of some rows, and nowhere if there is none."""
    return "." in wire.name and not isinstance(wire, Rows) and _has_default(kind, name)


def _stands_beside(wire: Wire, kind: Any, name: str) -> bool:
    """Whether it says more of partitions that another field names: nothing, where it is left out."""
    return isinstance(wire, Rows) and kind.__dataclass_fields__[name].default is None


def _has_default(kind: Any, name: str) -> bool:
    field = kind.__dataclass_fields__[name]
    return field.default is not field.default_factory


def _value(field: FieldOfMessage, wire: Wire, version: int) -> st.SearchStrategy[Any]:
    kind, record = _without_none(field.kind), record_in(field.kind)
    if not wire.name:
        return st.tuples(messages(get_args(kind)[0], version))
    if isinstance(wire, Pairs):
        of_producers = get_origin(kind) is not dict
        keys = NAMES if wire.key == "Name" else NUMBERS if of_producers else WORDS
        pairs = st.tuples(keys, _numbers(wire.value))
        return st.dictionaries(keys, _numbers(wire.value), max_size=3) if get_origin(kind) is dict else _lists(pairs)
    if isinstance(wire, Rows):
        return _rows(kind, record, wire, version)
    if record is not None:
        return _lists(messages(record, version))
    if wire.name.endswith(("Topics.Name", "TopicNames")):
        return _lists(NAMES)
    if wire.name.endswith("ErrorCode"):
        return ERRORS
    return _plain(kind)


def _rows(kind: Any, record: type | None, wire: Rows, version: int) -> st.SearchStrategy[Any]:
    if get_origin(kind) is dict:
        if record is not None:
            return st.dictionaries(PLACES, messages(record, version), max_size=3)
        if get_args(kind)[1] == tuple[SentBatch, ...]:
            return st.dictionaries(PLACES, st.just((SentBatch(STORED),)), max_size=3)
        said = [_numbers(name) for name in wire.values]
        return st.dictionaries(PLACES, said[0] if len(said) == 1 else st.tuples(*said), max_size=3)
    if record is not None:
        rows = st.lists(messages(record, version), max_size=3, unique_by=lambda row: row.partition)
        return rows.map(lambda found: tuple(sorted(found, key=lambda row: row.partition)))
    places = st.lists(PLACES, max_size=3, unique=True)
    return places.map(frozenset) if get_origin(kind) is frozenset else places.map(lambda found: tuple(sorted(found)))


def _numbers(name: str) -> st.SearchStrategy[int]:
    return ERRORS if name.endswith("ErrorCode") else NUMBERS


def _lists(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=3).map(tuple)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (UnionType, Union):
        return next(each for each in get_args(kind) if each is not type(None))
    return kind


def _plain(kind: Any) -> st.SearchStrategy[Any]:
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return _lists(st.just(STORED) if inner is Batch else _plain(inner))
    if kind == TopicPartition:
        return PLACES
    if issubclass(kind, IntEnum):
        return st.sampled_from(list(kind))
    return {bool: st.booleans(), int: NUMBERS, str: WORDS, bytes: st.binary(max_size=5)}[kind]

"""Kafka's messages as kio has them: found by API, version and side, made of plain values, and taken apart again.

kio's types are its own: a time is a ``timedelta`` or ``datetime``, an error code a member of an enumeration. Here they
are what they are on the wire: milliseconds and numbers. Its names are Kafka's, in small letters, times without a unit.
Source: ``clients/src/main/resources/common/message/*.json``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cache
from importlib import import_module
from io import BytesIO
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.constants import uuid_zero

from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.wire.faults import Malformed
from zombieproof.wire.later_versions import EARLIER, LATER, Side, changed

Values = Mapping[str, Any]
Convert = Callable[[Any, Values], Any]

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ERRORS: Mapping[int, ErrorCode] = {int(code.value): code for code in ErrorCode}
_EMPTY: Mapping[type, Any] = {bool: False, int: 0, str: "", bytes: b"", UUID: uuid_zero}


@cache
def snake(name: str) -> str:
    """Kafka's name of a field or message as kio has it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removesuffix("_ms")


def name_of(api: ApiKey) -> str:
    """Kafka's name of an API."""
    return "".join(word.capitalize() for word in api.name.split("_"))


@cache
def entity_class(api: ApiKey, version: int, side: Side) -> Any:
    """The class of a message: kio's, or one made of it where kio does not have the version.

    Raises:
        Malformed: there is no such version.
    """
    name = name_of(api)
    try:
        module = import_module(f"kio.schema.{snake(name)}.v{version}.{side}")
    except ModuleNotFoundError as error:
        if (api, version) in LATER:
            return changed(entity_class(api, version - 1, side), version, LATER[api, version][side])
        if (api, version) in EARLIER:
            return changed(entity_class(api, version + 1, side), version, EARLIER[api, version][side])
        raise Malformed(f"{name} has no version {version}") from error
    except RuntimeError as error:
        # Python 3.11 makes this of an interrupt that comes while a class gets its fields.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from error
        raise
    return getattr(module, name + side.capitalize())


# ---------------------------------------------------------------- bytes


@cache
def _reader(kind: type) -> Callable[[bytes | memoryview, int], tuple[Any, int]]:
    reader: Callable[[bytes | memoryview, int], tuple[Any, int]] = entity_reader(kind)
    return reader


@cache
def _writer(kind: type) -> Callable[[BytesIO, Any], None]:
    writer: Callable[[BytesIO, Any], None] = entity_writer(kind)
    return writer


def read(kind: type, data: bytes | memoryview, at: int = 0) -> tuple[Any, int]:
    """The entity at byte `at`, and where it ends.

    Raises:
        Malformed: it is cut short, or a value in it is none. A count is believed only as far as there are bytes.
    """
    try:
        found, size = _reader(kind)(data, at)
    except (SerialError, ValueError, OverflowError, TypeError) as error:
        raise Malformed(f"{kind.__name__}: {error}") from error
    return found, at + size


def write(out: BytesIO, entity: Any) -> None:
    """Append the bytes of an entity."""
    kind: type = type(entity)
    _writer(kind)(out, entity)


# ---------------------------------------------------------------- values


def plain(value: Any) -> Any:
    """A value of an entity as it is on the wire: a time in milliseconds, NONE for one that is not there."""
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MILLISECOND
    return int(value.value) if isinstance(value, ErrorCode) else value


def inner_class(kind: Any, name: str) -> Any:
    """Kio's class of the rows (or of the one) in the field `name` of its class `kind`; None: it holds plain values."""
    return _inner(hints_of(kind)[name])


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """The types of the fields of kio's class `kind`."""
    return get_type_hints(kind)


def _inner(hint: Any) -> Any:
    if hasattr(hint, "__dataclass_fields__"):
        return hint
    return next((found for found in map(_inner, get_args(hint)) if found is not None), None)


def has(kind: Any, name: str) -> bool:
    """Whether kio's class `kind` has the field `name`."""
    return name in hints_of(kind)


def made(kind: Any, values: Values, besides: Values) -> Any:
    """An entity, with those of `values` that its version has, `besides` where nothing is said, else Kafka's default.

    Where Kafka has no default it is what says nothing: 0, false, nothing, none; so is what may not be null, and is.
    """
    given = {}
    for name, convert, silence in _plan(kind):
        value = values[name] if name in values else besides.get(name, MISSING)
        if value is None:
            given[name] = silence
        elif value is not MISSING:
            given[name] = convert(value, besides)
        elif not _has_default(kind, name):
            given[name] = silence
    return kind(**given)


@cache
def _has_default(kind: Any, name: str) -> bool:
    field = kind.__dataclass_fields__[name]
    return field.default is not MISSING or field.default_factory is not MISSING


@cache
def _plan(kind: Any) -> tuple[tuple[str, Convert, Any], ...]:
    """The fields of an entity: how a plain value becomes one of kio's, and what says nothing there."""
    hints = hints_of(kind)
    return tuple((each.name, _converter(hints[each.name]), silence_of(hints[each.name])) for each in fields(kind))


def silence_of(hint: Any) -> Any:
    """What says nothing in a field of a type."""
    if type(None) in get_args(hint):
        return None
    if get_origin(hint) is tuple:
        return ()
    if hasattr(hint, "__dataclass_fields__"):
        return made(hint, {}, {})
    return _converter(hint)(next((empty for kind, empty in _EMPTY.items() if issubclass(hint, kind)), 0), {})


def _converter(hint: Any) -> Convert:
    arguments = get_args(hint)
    if get_origin(hint) in (UnionType, Union):
        kind = next(each for each in arguments if each is not type(None))
        inside, nothing = _converter(kind), NONE if "TZAware" in str(kind) else None
        return lambda value, besides: None if value is None or value == nothing else inside(value, besides)
    if get_origin(hint) is tuple:
        row = _converter(arguments[0])
        return lambda value, besides: tuple([row(each, besides) for each in value])
    if hasattr(hint, "__dataclass_fields__"):
        return lambda value, besides: made(hint, one(value), besides)
    if "Timedelta" in str(hint):
        return lambda value, _: value * _MILLISECOND
    if "TZAware" in str(hint):
        return lambda value, _: _EPOCH + value * _MILLISECOND
    if hint is ErrorCode:
        return lambda value, _: _ERRORS[value]
    return _same


def one(value: Any) -> Values:
    """The values of a row that is not one of many, which a path through it has made a list of one."""
    found: Values = value[0] if isinstance(value, list) else value
    return found


def _same(value: Any, _: Values) -> Any:
    return int(value) if isinstance(value, IntEnum) else value

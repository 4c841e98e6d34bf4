"""A message, or a part of one, as plain JSON values and back: for traces, which people read too.

A record is an object with its class under "is" and its fields by name, those that are as they always are left out.
Bytes are an object with "bytes" (base64), a UUID one with "uuid", a mapping one with "pairs", a set one with "set".
A tuple is a list.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any
from uuid import UUID

from zombieproof.formats import batches, record_batch
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.messages import admin, controller, group_descriptions, groups, partitions, transactions
from zombieproof.model.vocabulary import TransactionState

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]
"""What JSON has, without fractions: no message has any."""

_MODULES = (batches, record_batch, admin, controller, group_descriptions, groups, partitions, transactions)
_CLASSES: dict[str, Any] = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and (is_dataclass(value) or hasattr(value, "_fields"))
}


_ENUMS: dict[tuple[str, str], Any] = {
    ("Batch", "codec"): Codec,
    ("Batch", "timestamp_type"): TimestampType,
    ("TransactionValue", "state"): TransactionState,
}
"""(class, field) -> what makes more than a number of it."""


class NotPlain(ValueError):
    """A JSON value that is no message, nor a part of one; the text says what is wrong with it."""


def as_plain(value: object) -> Plain:
    """A message as JSON values.

    Raises:
        TypeError: it holds what no message holds.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    if isinstance(value, frozenset):
        return {"set": [as_plain(each) for each in sorted(value)]}
    if isinstance(value, dict):
        return {"pairs": [[as_plain(key), as_plain(each)] for key, each in value.items()]}
    if is_dataclass(value):
        # Names and defaults are the dataclass's; what the class derives for itself is not handed in again.
        told = ((f.name, getattr(value, f.name), f.default) for f in fields(value) if f.init and f.name != "encoded")
        said = {name: as_plain(given) for name, given, default in told if default is MISSING or given != default}
        return {"is": type(value).__name__, **said}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"is": type(value).__name__, **{name: as_plain(getattr(value, name)) for name in value._fields}}
    if isinstance(value, Sequence):
        return [as_plain(each) for each in value]
    raise TypeError(f"{value!r} is no part of a message")


def from_plain(value: Plain) -> Any:
    """The message that `as_plain` made JSON values of.

    Raises:
        NotPlain: it is none.
    """
    if isinstance(value, list):
        return tuple(from_plain(each) for each in value)
    if not isinstance(value, dict):
        return value
    match value:
        case {"bytes": str(text)} if len(value) == 1:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise NotPlain(f"{text!r} is no base64: {error}") from error
        case {"uuid": str(text)} if len(value) == 1:
            try:
                return UUID(text)
            except ValueError as error:
                raise NotPlain(f"{text!r} is no UUID: {error}") from error
        case {"set": list(members)} if len(value) == 1:
            return frozenset(from_plain(each) for each in members)
        case {"pairs": list(pairs)} if len(value) == 1:
            return {from_plain(key): from_plain(each) for key, each in _as_pairs(pairs)}
        case {"is": str(name), **given}:
            return _made(name, given)
    raise NotPlain(f"{value!r:.80} is no part of a message; an object says what it is under 'is'")


def _as_pairs(pairs: list[Plain]) -> list[tuple[Plain, Plain]]:
    found = [tuple(pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    if len(found) != len(pairs):
        raise NotPlain(f"{pairs!r:.80} are no pairs of a key and a value")
    return [(key, value) for key, value in found]


def _same(value: Any) -> Any:
    return value


def _made(name: str, given: dict[str, Plain]) -> Any:
    made = _CLASSES.get(name)
    if made is None:
        raise NotPlain(f"{name!r} is no message nor a part of one")
    try:
        return made(**{field: _ENUMS.get((name, field), _same)(from_plain(each)) for field, each in given.items()})
    except (TypeError, ValueError) as error:
        raise NotPlain(f"no {name} is made of {', '.join(given) or 'nothing'}: {error}") from error

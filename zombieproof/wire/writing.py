"""Answers as bytes, straight from the values that they are made of.

What `entities.made` and `entities.write` do together is done here without an entity: once for each class of kio's a
list of small functions is made from its fields, and fields of a fixed size that follow each other are packed at once.
An answer is most of what a broker writes, so this is where it pays; the bytes are kio's, which the tests compare.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from typing import Any, get_args
from uuid import UUID

from zombieproof.formats.encoding import write_batch
from zombieproof.formats.primitives import write_uvarint
from zombieproof.model.vocabulary import NONE
from zombieproof.wire.counts import array_of, struct_in
from zombieproof.wire.entities import hints_of, one, plain, silence_of
from zombieproof.wire.names import NO_ID
from zombieproof.wire.responses import Output, Records

Values = Mapping[str, Any]

Put = Callable[[bytearray, Values], None]
"""Appends what values say of some fields."""

Write = Callable[[bytearray, Any], None]
"""Appends a value."""

CODES = {
    "int8": "b",
    "bool": "?",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "timedelta_i32": "i",
    "int64": "q",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "float64": "d",
}
"""How a value of a fixed size is packed, by the name of its type; all are plain numbers here."""

INT16, INT32 = struct.Struct(">h"), struct.Struct(">i")
KEPT = 1024
UVARINTS = tuple(map(write_uvarint, range(KEPT + 1)))
"""Of nearly every length."""
NO_TAGS = b"\x00"
NULL_STRUCT, A_STRUCT = b"\xff", b"\x01"


class Writer:
    """Writes the entities of one class of kio's; `besides` is what is said where the values say nothing."""

    def __init__(self, kind: Any, besides: Values) -> None:
        self._puts = _puts(kind, besides)

    def __call__(self, out: bytearray, values: Values) -> None:
        """Append an entity.

        Raises:
            struct.error: a value does not fit into its field.
        """
        for put in self._puts:
            put(out, values)


def _puts(kind: Any, besides: Values) -> tuple[Put, ...]:
    is_flexible, found, run = bool(kind.__flexible__), list[Put](), list[Field[Any]]()
    for field in (each for each in fields(kind) if "tag" not in each.metadata):
        if field.metadata.get("kafka_type") in CODES and array_of(hints_of(kind)[field.name]) is None:
            run.append(field)
            continue
        found += _packed(kind, run, besides)
        run.clear()
        found.append(_one_after_the_other(kind, field, besides))
    found += _packed(kind, run, besides)
    if is_flexible:
        found.append(_tags(kind, besides))
    return tuple(found)


def _packed(kind: Any, run: list[Field[Any]], besides: Values) -> list[Put]:
    """Fields of fixed sizes that follow each other."""
    if not run:
        return []
    pack = struct.Struct(">" + "".join(CODES[field.metadata["kafka_type"]] for field in run)).pack
    told = tuple((field.name, _absent(kind, field, besides)) for field in run)
    silent = tuple(_silence(kind, field) for field in run)

    def put(out: bytearray, values: Values) -> None:
        row = [values.get(name, absent) for name, absent in told]
        if None in row:
            row = [silence if each is None else each for each, silence in zip(row, silent, strict=True)]
        out += pack(*row)

    return [put]


def _one_after_the_other(kind: Any, field: Field[Any], besides: Values) -> Put:
    name, write = field.name, _writes(hints_of(kind)[field.name], field, bool(kind.__flexible__), besides)
    absent, silence = _absent(kind, field, besides), _silence(kind, field)

    def put(out: bytearray, values: Values) -> None:
        value = values.get(name, absent)
        write(out, silence if value is None else value)

    return put


def _tags(kind: Any, besides: Values) -> Put:
    """Fields that are told only where they say something, each behind its number and size."""
    tagged = sorted(
        (each for each in fields(kind) if "tag" in each.metadata), key=lambda each: int(each.metadata["tag"])
    )
    if not tagged:
        return _no_tags
    rows = []
    for field in tagged:
        name, default, untold = field.name, _default(kind, field), bytearray()
        write = _writes(hints_of(kind)[name], field, True, besides, is_tag=True)
        if default is not None:
            write(untold, default)
        absent, silence = besides.get(name, default), _silence(kind, field)
        rows.append((name, absent, silence, write, field.metadata["tag"], default, untold))

    def put(out: bytearray, values: Values) -> None:
        count, told = 0, bytearray()
        for name, absent, silence, write, tag, default, untold in rows:
            value = values.get(name, absent)
            value = silence if value is None else value
            if value is default or value is None:
                continue
            data = bytearray()
            write(data, value)
            if data != untold or default is None:
                told += UVARINTS[tag]
                told += write_uvarint(len(data))
                told += data
                count += 1
        out += UVARINTS[count]
        out += told

    return put


def _no_tags(out: bytearray, values: Values) -> None:
    out += NO_TAGS


# ---------------------------------------------------------------- what is told where nothing is said


def _told(value: Any) -> Any:
    """What kio has as a value, as values that say the same."""
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _told(getattr(value, each.name)) for each in fields(value)}
    return tuple(map(_told, value)) if isinstance(value, tuple) else plain(value)


def _silence(kind: Any, field: Field[Any]) -> Any:
    found = _told(silence_of(hints_of(kind)[field.name]))
    # There is no other way to say that there is no time.
    return NONE if found is None and field.metadata.get("kafka_type") == "datetime_i64" else found


def _default(kind: Any, field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return _told(field.default_factory())
    return _silence(kind, field) if field.default is MISSING else _told(field.default)


def _absent(kind: Any, field: Field[Any], besides: Values) -> Any:
    return besides.get(field.name, _default(kind, field))


# ---------------------------------------------------------------- values of any size


def _writes(hint: Any, field: Field[Any], is_flexible: bool, besides: Values, *, is_tag: bool = False) -> Write:
    element, inner = array_of(hint), struct_in(hint)
    if element is not None:
        of = struct_in(element)
        row = _write_value(field.metadata["kafka_type"], is_flexible) if of is None else _of_struct(of, besides)
        return _write_array(row, is_flexible)
    if inner is not None:
        of_it = _of_struct(inner, besides)
        return _write_nullable(of_it) if type(None) in get_args(hint) and not is_tag else of_it
    return _write_value(field.metadata["kafka_type"], is_flexible)


def _of_struct(kind: Any, besides: Values) -> Write:
    puts = _puts(kind, besides)

    def write(out: bytearray, value: Any) -> None:
        values = one(value)
        for put in puts:
            put(out, values)

    return write


def _write_nullable(of_it: Write) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out += NULL_STRUCT
        else:
            out += A_STRUCT
            of_it(out, value)

    return write


def _write_array(row: Write, is_flexible: bool) -> Write:
    def write(out: bytearray, value: Any) -> None:
        count = NONE if value is None else len(value)
        out += write_uvarint(count + 1) if is_flexible else INT32.pack(count)
        for each in value or ():
            row(out, each)

    return write


def _write_value(kafka_type: str, is_flexible: bool) -> Write:
    if kafka_type in CODES:
        pack = struct.Struct(">" + CODES[kafka_type]).pack

        def write_number(out: bytearray, value: Any) -> None:
            out += pack(value)

        return write_number
    if kafka_type == "uuid":
        return _write_uuid
    size = INT16 if kafka_type == "string" else INT32
    if kafka_type == "records":
        return partial(_write_records, is_flexible)

    def write(out: bytearray, value: Any) -> None:
        data = value.encode() if isinstance(value, str) else value
        count = NONE if data is None else len(data)
        out += (
            size.pack(count) if not is_flexible else UVARINTS[count + 1] if count < KEPT else write_uvarint(count + 1)
        )
        out += data or b""

    return write


def _write_records(is_flexible: bool, out: bytearray, value: Records | bytes | None) -> None:
    count = value.size if isinstance(value, Records) else NONE if value is None else len(value)
    out += write_uvarint(count + 1) if is_flexible else INT32.pack(count)
    if not isinstance(value, Records):
        out += value or b""
    elif isinstance(out, Output):
        out.put(value)
    else:
        out += b"".join(map(write_batch, value.batches))


def _write_uuid(out: bytearray, value: UUID | None) -> None:
    out += NO_ID.bytes if value is None else value.bytes

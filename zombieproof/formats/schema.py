"""Keys and values of internal topics by their schemas: fields in the order of their bytes, versions, tags.

What is read can be written again to the same bytes: tagged fields that no schema here names are kept, and so are bytes
that follow the last field. A tagged field is in a message exactly when it was in the bytes (Kafka leaves those out that
have their default); ask for it with `dict.get`.
Source: the message JSON of Kafka, ``generator/`` (what a field is in bytes); KIP-482 (flexible versions), KIP-915.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Any, NamedTuple

from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.primitives import (
    INT8,
    INT16,
    INT32,
    INT64,
    Fields,
    write_string,
    write_tags,
    write_uvarint,
)

VERSION_MAX = 0x7FFF
UNKNOWN_TAGS = "unknown tags"
"""The name under which a struct keeps the tagged fields that its schema does not name: tag to bytes."""

# A field is a number, text, bytes, a UUID, None, a list or a struct, as its schema says: no type says it more plainly.
Struct = dict[str, Any]
Read = Callable[[Fields], Any]
Write = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one type; `of` is a primitive's name or the fields of a struct."""

    of: "str | tuple[Field, ...]"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: int8, int16, int32, int64, string, bytes, uuid, an array, or a struct (its fields).

    `since` to `until` are the versions that have it. A field with a `tag` stands in the tagged section; of the structs
    only those may be `nullable`.
    """

    name: str
    type: "str | Array | tuple[Field, ...]"
    since: int = 0
    until: int = VERSION_MAX
    nullable: bool = False
    tag: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A key or value: `versions` (first, last) can be read; from `flexible` on strings are compact and tags follow."""

    name: str
    versions: tuple[int, int]
    flexible: int
    fields: tuple[Field, ...]


class Message(NamedTuple):
    """A key or value: its version (of a key: its type), its fields by name, and what follows the last one."""

    version: int
    fields: Struct
    rest: bytes = b""


def read_message(schema: Schema, data: bytes) -> Message:
    """The message in `data`, its version first.

    Raises:
        Undecodable: the version is unknown, or the bytes do not fit its fields.
    """
    cursor = Fields(data)
    version = cursor.int16()
    first, last = schema.versions
    if not first <= version <= last:
        raise Undecodable(f"version {version} of {schema.name} is unknown; versions {first} to {last} are read", 0)
    fields = _message_reader(schema, version)(cursor)
    return Message(version, fields, cursor.rest())


def write_message(schema: Schema, message: Message) -> bytes:
    """The bytes of a message.

    Raises:
        Unwritable: there is no such version, a field is missing, or a value does not fit into its bytes.
    """
    first, last = schema.versions
    version = message.version
    if not first <= version <= last:
        raise Unwritable(f"version {version} of {schema.name} is unknown; versions {first} to {last} are written")
    try:
        written = _message_writer(schema, version)(message.fields)
    except KeyError as missing:
        raise Unwritable(f"{schema.name} of version {version} has a field {missing}, and none is given") from missing
    except (struct.error, UnicodeEncodeError) as fault:
        raise Unwritable(f"a field of {schema.name} does not fit into its bytes: {fault}") from fault
    return INT16.pack(version) + written + message.rest


# ---------------------------------------------------------------- reading

NUMBERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q"}
"""Each kind of number as `struct` calls it."""
PRIMITIVE_READERS: dict[str, Read] = {
    "int8": Fields.int8,
    "int16": Fields.int16,
    "int32": Fields.int32,
    "int64": Fields.int64,
    "uuid": Fields.uuid,
}


@cache
def _message_reader(schema: Schema, version: int) -> Read:
    return _struct_reader(schema.fields, version, version >= schema.flexible)


def _struct_reader(fields: tuple[Field, ...], version: int, flexible: bool) -> Read:
    present = [field for field in fields if field.since <= version <= field.until]
    steps = tuple(_steps([field for field in present if field.tag is None], version, flexible))
    tagged = {field.tag: (field.name, _reader(field, version, flexible)) for field in present if field.tag is not None}

    def read(cursor: Fields) -> Struct:
        found: Struct = {}
        for names, form, read_field in steps:
            if form is None:
                found[names[0]] = read_field(cursor)
            else:
                found.update(zip(names, cursor.numbers(form), strict=True))
        if flexible:
            tags = cursor.tags()
            if tags:
                _take_tags(found, tags, tagged)
        return found

    return read


def _steps(plain: list[Field], version: int, flexible: bool) -> Iterator[tuple[list[str], struct.Struct | None, Read]]:
    """What is read at once: numbers that follow each other, or one field of another kind."""
    for are_numbers, run in groupby(plain, lambda field: field.type in NUMBERS):
        held = list(run)
        if are_numbers:
            form = struct.Struct(">" + "".join(NUMBERS[field.type] for field in held if isinstance(field.type, str)))
            yield [field.name for field in held], form, Fields.rest
        else:
            yield from (([field.name], None, _reader(field, version, flexible)) for field in held)


def _take_tags(found: Struct, tags: dict[int, bytes], known: dict[int, tuple[str, Read]]) -> None:
    unknown = {}
    for tag, data in tags.items():
        if tag not in known:
            unknown[tag] = data
            continue
        name, read_field = known[tag]
        cursor = Fields(data)
        try:
            found[name] = read_field(cursor)
            left = cursor.rest()
        except Undecodable as fault:
            raise Undecodable(
                f"tagged field {tag} ({name}) holds {len(data)} bytes: {fault}", fault.position
            ) from fault
        if left:
            raise Undecodable(f"tagged field {tag} ({name}) holds {len(left)} bytes more than are expected")
    if unknown:
        found[UNKNOWN_TAGS] = unknown


def _reader(field: Field, version: int, flexible: bool) -> Read:
    kind = field.type
    if isinstance(kind, Array):
        return partial(_read_array, _reader(Field("", kind.of), version, flexible), field.nullable, flexible)
    if isinstance(kind, tuple):
        read_struct = _struct_reader(kind, version, flexible)
        return partial(_read_nullable, read_struct) if field.nullable else read_struct
    if kind == "string":
        return partial(Fields.nullable_string if field.nullable else Fields.string, compact=flexible)
    if kind == "bytes":
        return partial(Fields.nullable_sized if field.nullable else Fields.sized, compact=flexible)
    return PRIMITIVE_READERS[kind]


def _read_nullable(read_struct: Read, cursor: Fields) -> Struct | None:
    """A struct in a tagged field that may be null: a number above 0 stands before one that is not."""
    return read_struct(cursor) if cursor.uvarint() else None


def _read_array(read_element: Read, nullable: bool, flexible: bool, cursor: Fields) -> list[Any] | None:
    count = cursor.count(compact=flexible)
    if count is None:
        if nullable:
            return None
        raise Undecodable("an array that may not be null is null")
    return [read_element(cursor) for _ in range(count)]


# ---------------------------------------------------------------- writing

PRIMITIVE_WRITERS: dict[str, Write] = {
    "int8": INT8.pack,
    "int16": INT16.pack,
    "int32": INT32.pack,
    "int64": INT64.pack,
    "uuid": lambda value: bytes(value.bytes),
}


@cache
def _message_writer(schema: Schema, version: int) -> Write:
    return _struct_writer(schema.fields, version, version >= schema.flexible)


def _struct_writer(fields: tuple[Field, ...], version: int, flexible: bool) -> Write:
    present = [field for field in fields if field.since <= version <= field.until]
    plain = tuple((field.name, _writer(field, version, flexible)) for field in present if field.tag is None)
    tagged = tuple(
        (field.tag, field.name, _writer(field, version, flexible)) for field in present if field.tag is not None
    )

    def write(struct: Struct) -> bytes:
        written = b"".join(write_field(struct[name]) for name, write_field in plain)
        if not flexible:
            return written
        tags = dict(struct.get(UNKNOWN_TAGS, {}))
        tags.update((tag, write_field(struct[name])) for tag, name, write_field in tagged if name in struct)
        return written + write_tags(dict(sorted(tags.items())))

    return write


def _writer(field: Field, version: int, flexible: bool) -> Write:
    kind = field.type
    if isinstance(kind, Array):
        return partial(_write_array, _writer(Field("", kind.of), version, flexible), field.nullable, flexible)
    if isinstance(kind, tuple):
        write_struct = _struct_writer(kind, version, flexible)
        return partial(_write_nullable, write_struct) if field.nullable else write_struct
    if kind == "string":
        return partial(_write_text, field.nullable, flexible)
    if kind == "bytes":
        return partial(_write_sized, field.nullable, flexible)
    return PRIMITIVE_WRITERS[kind]


def _write_nullable(write_struct: Write, struct: Struct | None) -> bytes:
    return write_uvarint(0) if struct is None else write_uvarint(1) + write_struct(struct)


def _write_array(write_element: Write, nullable: bool, flexible: bool, elements: Iterable[Any] | None) -> bytes:
    if elements is None:
        if not nullable:
            raise Unwritable("an array that may not be null is null")
        return write_uvarint(0) if flexible else INT32.pack(-1)
    written = [write_element(element) for element in elements]
    count = write_uvarint(len(written) + 1) if flexible else INT32.pack(len(written))
    return count + b"".join(written)


def _write_text(nullable: bool, flexible: bool, text: str | None) -> bytes:
    if text is not None:
        return write_string(text, compact=flexible)
    if not nullable:
        raise Unwritable("a string that may not be null is null")
    return write_uvarint(0) if flexible else INT16.pack(-1)


def _write_sized(nullable: bool, flexible: bool, data: bytes | None) -> bytes:
    if data is None:
        if not nullable:
            raise Unwritable("bytes that may not be null are null")
        return write_uvarint(0) if flexible else INT32.pack(-1)
    return (write_uvarint(len(data) + 1) if flexible else INT32.pack(len(data))) + data

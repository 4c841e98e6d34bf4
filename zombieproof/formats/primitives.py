"""Kafka's primitive types, read one after another and written (protocol guide, KIP-482; varints: KIP-98).

Text that is not UTF-8 is kept where Kafka's own reader keeps it (keys of record headers), and refused elsewhere.
"""

from struct import Struct
from typing import Any
from uuid import UUID

from zombieproof.formats.faults import Undecodable, Unwritable

INT8, INT16, INT32, INT64 = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")

VARINT_BYTES_MAX = 10
STRING_BYTES_MAX = 0x7FFF


class Fields:
    """A cursor over the bytes of one key or value. Every method raises `Undecodable` when the bytes do not fit."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int8(self) -> int:
        """One byte, signed."""
        return self._number(INT8)

    def int16(self) -> int:
        """Two bytes, signed."""
        return self._number(INT16)

    def int32(self) -> int:
        """Four bytes, signed."""
        return self._number(INT32)

    def int64(self) -> int:
        """Eight bytes, signed."""
        return self._number(INT64)

    def uuid(self) -> UUID:
        """Sixteen bytes."""
        return UUID(bytes=self.take(16))

    def uvarint(self) -> int:
        """An unsigned varint of at most 5 bytes."""
        at = self._at
        if at < len(self._data) and (only := self._data[at]) < 0x80:
            self._at = at + 1
            return only
        value = 0
        for shift in range(0, 35, 7):
            byte = self._data[self._pass(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Undecodable("a number is longer than 5 bytes", self._at)

    def string(self, *, compact: bool = False) -> str:
        """A string that may not be null."""
        size = self.uvarint() - 1 if compact else self.int16()
        if size < 0:
            raise Undecodable("a string that may not be null is null", self._at)
        return self._text(size)

    def nullable_string(self, *, compact: bool = False) -> str | None:
        """A string or null."""
        size = self.uvarint() - 1 if compact else self.int16()
        return None if size < 0 else self._text(size)

    def sized(self, *, compact: bool = False) -> bytes:
        """Bytes behind their number; they may not be null."""
        size = self.uvarint() - 1 if compact else self.int32()
        if size < 0:
            raise Undecodable("bytes that may not be null are null", self._at)
        return self.take(size)

    def nullable_sized(self, *, compact: bool = False) -> bytes | None:
        """Bytes behind their number; None for null."""
        size = self.uvarint() - 1 if compact else self.int32()
        return None if size < 0 else self.take(size)

    def count(self, *, compact: bool = False) -> int | None:
        """The number of elements of an array; None for null."""
        count = self.uvarint() - 1 if compact else self.int32()
        if count > len(self._data) - self._at:
            raise Undecodable(f"an array of {count} elements does not fit", self._at)
        return None if count < 0 else count

    def tags(self) -> dict[int, bytes]:
        """The tagged fields: tag to bytes, in their order."""
        found = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            found[tag] = self.take(self.uvarint())
        return found

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        at = self._pass(size)
        return self._data[at : at + size]

    def rest(self) -> bytes:
        """Everything that is left."""
        return self.take(len(self._data) - self._at)

    def numbers(self, form: Struct) -> tuple[Any, ...]:
        """What `form` makes of the next bytes."""
        return form.unpack_from(self._data, self._pass(form.size))

    def _text(self, size: int) -> str:
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"a string is not UTF-8: {error}", self._at) from error

    def _number(self, form: Struct) -> int:
        (value,) = form.unpack_from(self._data, self._pass(form.size))
        return int(value)

    def _pass(self, size: int) -> int:
        """Where `size` bytes begin that are passed by here."""
        at = self._at
        left = len(self._data) - at
        if size > left:
            raise Undecodable(f"{size} bytes are expected where {left} are left", at)
        self._at = at + size
        return at


def write_uvarint(number: int) -> bytes:
    """An unsigned varint."""
    if number < 0x80:
        return bytes((number,))
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def write_string(text: str, *, compact: bool = False) -> bytes:
    """A string behind its length.

    Raises:
        Unwritable: it is longer than a string can be.
    """
    data = text.encode()
    if compact:
        return write_uvarint(len(data) + 1) + data
    if len(data) > STRING_BYTES_MAX:
        raise Unwritable(f"a string has {len(data)} bytes; {STRING_BYTES_MAX} are the most")
    return INT16.pack(len(data)) + data


def write_tags(tags: dict[int, bytes]) -> bytes:
    """A section of tagged fields, in the order given."""
    return write_uvarint(len(tags)) + b"".join(
        write_uvarint(tag) + write_uvarint(len(data)) + data for tag, data in tags.items()
    )


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint at byte `at`, and where the next field starts.

    Raises:
        Undecodable: it runs over the end, or over 10 bytes.
    """
    if at + 1 < len(data):  # Nearly every number has one byte or two.
        first, second = data[at], data[at + 1]
        if first < 0x80:
            return (first >> 1) ^ -(first & 1), at + 1
        if second < 0x80:
            return ((first & 0x7F | second << 7) >> 1) ^ -(first & 1), at + 2
    value = 0
    for index in range(VARINT_BYTES_MAX):
        if at >= len(data):
            raise Undecodable("a number runs over the end", at)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Undecodable("a number is longer than 10 bytes", at)


def _zigzag(number: int) -> bytes:
    return write_uvarint((number << 1) ^ (number >> 63))


SMALL = 4096
SMALL_VARINTS = tuple(map(_zigzag, range(SMALL)))
"""Nearly every number of a record is one of these: a length, a place in a batch, milliseconds since its first."""


def write_varint(number: int) -> bytes:
    """A zigzag varint of a number of at most 64 bits."""
    return SMALL_VARINTS[number] if 0 <= number < SMALL else _zigzag(number)

"""Kafka's primitive types in keys and values of internal topics, read one after another (protocol guide, KIP-482)."""

from struct import Struct

from zombieproof.traces.readers.codecs import Undecodable

INT8, INT16, INT32, INT64 = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")


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

    def uvarint(self) -> int:
        """An unsigned varint of at most 5 bytes."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Undecodable("a number is longer than 5 bytes")

    def string(self, *, compact: bool = False) -> str:
        """A string that may not be null."""
        size = self.uvarint() - 1 if compact else self.int16()
        if size < 0:
            raise Undecodable("a string that may not be null is null")
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"a string is not UTF-8: {error}") from error

    def count(self, *, compact: bool = False) -> int | None:
        """The number of elements of an array; None for null."""
        count = self.uvarint() - 1 if compact else self.int32()
        if count > len(self._data) - self._at:
            raise Undecodable(f"an array of {count} elements does not fit")
        return None if count < 0 else count

    def tags(self) -> dict[int, bytes]:
        """The tagged fields: tag to bytes."""
        found = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            found[tag] = self._take(self.uvarint())
        return found

    def _number(self, form: Struct) -> int:
        (value,) = form.unpack(self._take(form.size))
        return int(value)

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise Undecodable(f"{size} bytes are expected where {len(self._data) - self._at} are left")
        part = self._data[self._at : end]
        self._at = end
        return part


def tagged(tags: dict[int, bytes], tag: int, form: Struct, default: int) -> int:
    """The number in a tagged field, or its default when it is left out.

    Raises:
        Undecodable: the field has another size.
    """
    if tag not in tags:
        return default
    if len(tags[tag]) != form.size:
        raise Undecodable(f"tagged field {tag} holds {len(tags[tag])} bytes where {form.size} are expected")
    (value,) = form.unpack(tags[tag])
    return int(value)

"""Frames and headers: where a request begins and ends on a connection, and what it says before its own fields.

A frame is its size, as four bytes, and so many bytes. A request begins with its API, version, number and client, and
from its flexible versions on with tags. Source: reference §7.5; KIP-482.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from zombieproof.model.vocabulary import NONE
from zombieproof.wire.faults import Malformed

SIZE = Struct(">i")
HEADER = Struct(">hhih")
MOST_BYTES = 104_857_600
"""The longest request that Kafka takes by default (``socket.request.max.bytes``)."""


class Frames:
    """Cuts what comes on a connection into frames; holds no more than one that is not whole and what came with it.

    Args:
        most_bytes: how long a frame may be.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self._data = most_bytes, bytearray()

    @property
    def waiting_bytes(self) -> int:
        """How many bytes are there of a frame that is not whole."""
        return len(self._data)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that are whole with `data`, in order.

        Raises:
            Malformed: a frame says that it is longer than it may be, or shorter than nothing.
        """
        self._data += data
        at = 0
        try:
            while len(self._data) - at >= SIZE.size:
                (size,) = SIZE.unpack_from(self._data, at)
                if not 0 <= size <= self.most_bytes:
                    raise Malformed(f"a frame of {size} bytes; legal are 0 to {self.most_bytes}")
                end = at + SIZE.size + size
                if len(self._data) < end:
                    return
                frame = bytes(memoryview(self._data)[at + SIZE.size : end])
                at = end
                yield frame
        finally:
            del self._data[:at]


@dataclass(frozen=True, slots=True)
class Header:
    """What a request begins with; `end` is where its own fields do, unless tags come first."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    end: int


def read_header(frame: bytes) -> Header:
    """The header of a request, but for its tags.

    Raises:
        Malformed: the frame is shorter than a header.
    """
    try:
        api_key, version, correlation_id, size = HEADER.unpack_from(frame)
        end = HEADER.size + max(size, 0)
        if size < NONE or end > len(frame):
            raise Malformed(f"a client id of {size} bytes in a frame of {len(frame)}")
        client_id = None if size == NONE else frame[HEADER.size : end].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"a header that cannot be read: {error}") from error
    return Header(api_key, version, correlation_id, client_id, end)


def behind_tags(frame: bytes, at: int) -> int:
    """Where the fields of a request begin whose header ends with tags, which are skipped.

    Raises:
        Malformed: the tags do not end within the frame.
    """
    count, at = _varint(frame, at)
    for _ in range(count):
        _, at = _varint(frame, at)
        size, at = _varint(frame, at)
        at += size
        if at > len(frame):
            raise Malformed(f"a tag of {size} bytes ends behind the frame")
    return at


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(frame):
            break
        byte = frame[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # the highest bit says that another byte follows
            return value, at
    raise Malformed("a number without an end")

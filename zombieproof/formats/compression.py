"""The records section of a batch, packed and unpacked: none, gzip, snappy, lz4, zstd (reference §7.3).

Whoever unpacks what was packed here gets the same bytes; the packed bytes themselves are those of our libraries, not of
Kafka's. Snappy is framed as the Java client does it; both forms are read.
"""

import gzip
import mmap
import zlib
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from struct import pack

import cramjam

from zombieproof.formats.faults import Undecodable

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = len(XERIAL_MAGIC) + 8
"""Snappy as the Java client writes it: magic, version, compatible version, then blocks, each behind its length."""
XERIAL_BLOCK = 32 << 10
MOST_UNPACKED, MOST_TIMES = 1 << 28, 64
"""Limits of an unpacked section: in bytes, and as a multiple of its packed size. The larger one counts."""
OFTEN_TIMES = 8
"""The first attempt has room for this multiple of the packed size."""
MOST_OF_LZ4 = 256
"""One byte of lz4 stands for no more."""


class Codec(IntEnum):
    """Compression of the records of a batch: bits 0-2 of its attributes (reference §7.3)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def pack_records(codec: Codec, section: bytes) -> bytes:
    """The records section of a batch, packed."""
    match codec:
        case Codec.NONE:
            return section
        case Codec.GZIP:
            return gzip.compress(section, mtime=0)
        case Codec.SNAPPY:
            return _xerial(section)
        case Codec.LZ4:
            return _lz4(section)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(section))


def unpack_records(codec: Codec, section: bytes | memoryview) -> bytes:
    """The records section of a batch, unpacked.

    Raises:
        Undecodable: the section is not valid for its codec, or unpacks to more than `most_unpacked` bytes.
    """
    packed = bytes(section)
    most = most_unpacked(len(packed))
    try:
        match codec:
            case Codec.NONE:
                return packed
            case Codec.GZIP:
                return _gzip(packed, most)
            case Codec.SNAPPY:
                return _snappy(packed, most)
            case Codec.LZ4:
                return _into(cramjam.lz4.decompress_into, packed, min(most, MOST_OF_LZ4 * len(packed)))
            case Codec.ZSTD:
                return _into(cramjam.zstd.decompress_into, packed, most)
    except (zlib.error, cramjam.DecompressionError, ValueError, MemoryError, OverflowError) as error:
        raise Undecodable(f"the records are not valid {codec.name.lower()}: {error}") from error


def most_unpacked(size: int) -> int:
    """How many bytes `size` packed bytes may unpack to; a few bytes of zstd could fill any memory."""
    return max(MOST_UNPACKED, MOST_TIMES * size)


def _into(unpack: Callable[[bytes, bytearray | mmap.mmap], int], packed: bytes, most: int) -> bytes:
    room = bytearray(min(most, OFTEN_TIMES * len(packed) + (1 << 12)))
    with suppress(cramjam.DecompressionError):
        return bytes(memoryview(room)[: unpack(packed, room)])
    with mmap.mmap(-1, most) as area:  # The system gives memory only for what is written.
        return area[: unpack(packed, area)]


def _gzip(packed: bytes, most: int) -> bytes:
    parts, left = [], most
    while packed:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(packed, left + 1))
        left -= len(parts[-1])
        if left < 0:
            raise ValueError(f"they unpack to more than {most} bytes")
        if not member.eof:
            raise ValueError("the stream is cut short")
        packed = member.unused_data
    return b"".join(parts)


def _snappy(packed: bytes, most: int) -> bytes:
    if not packed.startswith(XERIAL_MAGIC):
        return _snappy_block(packed, most)
    parts, left = [], most
    at = XERIAL_HEADER
    while at < len(packed):
        size = int.from_bytes(packed[at : at + 4])
        block = packed[at + 4 : at + 4 + size]
        if not size or len(block) < size:
            raise ValueError("a block is cut short")
        parts.append(_snappy_block(block, left))
        left -= len(parts[-1])
        at += 4 + size
    return b"".join(parts)


def _snappy_block(block: bytes, most: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > most:
        raise ValueError("they unpack to more bytes than are allowed")
    return bytes(cramjam.snappy.decompress_raw(block))


def _lz4(section: bytes) -> bytes:
    """Kafka reads frames of independent blocks only (``Lz4BlockOutputStream.FLG.validate``)."""
    frame = cramjam.lz4.Compressor(block_linked=False)
    frame.compress(section)
    return bytes(frame.finish())


def _xerial(section: bytes) -> bytes:
    parts = [XERIAL_MAGIC, pack(">ii", 1, 1)]
    for at in range(0, len(section), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(section[at : at + XERIAL_BLOCK]))
        parts += (pack(">i", len(block)), block)
    return b"".join(parts)

"""The records section of a batch, packed and unpacked: none, gzip, snappy, lz4, zstd (reference §7.3).

Whoever unpacks what was packed here gets the same bytes; the packed bytes themselves are those of our libraries, not of
Kafka's. Snappy is framed as the Java client does it; both forms are read.
"""

import gzip
import zlib
from enum import IntEnum
from struct import pack

import cramjam

from zombieproof.formats.faults import Undecodable

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = len(XERIAL_MAGIC) + 8
"""Snappy as the Java client writes it: magic, version, compatible version, then blocks, each behind its length."""
XERIAL_BLOCK = 32 << 10


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
        Undecodable: the section is not valid for its codec.
    """
    packed = bytes(section)
    try:
        match codec:
            case Codec.NONE:
                return packed
            case Codec.GZIP:
                return _gzip(packed)
            case Codec.SNAPPY:
                return _snappy(packed)
            case Codec.LZ4:
                return bytes(cramjam.lz4.decompress(packed))
            case Codec.ZSTD:
                return bytes(cramjam.zstd.decompress(packed))
    except (zlib.error, cramjam.DecompressionError, ValueError, MemoryError, OverflowError) as error:
        raise Undecodable(f"the records are not valid {codec.name.lower()}: {error}") from error


def _gzip(packed: bytes) -> bytes:
    parts = []
    while packed:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(packed))
        if not member.eof:
            raise ValueError("the stream is cut short")
        packed = member.unused_data
    return b"".join(parts)


def _snappy(packed: bytes) -> bytes:
    if not packed.startswith(XERIAL_MAGIC):
        return bytes(cramjam.snappy.decompress_raw(packed))
    parts = []
    at = XERIAL_HEADER
    while at < len(packed):
        size = int.from_bytes(packed[at : at + 4])
        block = packed[at + 4 : at + 4 + size]
        if not size or len(block) < size:
            raise ValueError("a block is cut short")
        parts.append(bytes(cramjam.snappy.decompress_raw(block)))
        at += 4 + size
    return b"".join(parts)


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

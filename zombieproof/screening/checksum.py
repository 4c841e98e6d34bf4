"""CRC-32C inside compiled loops, eight bytes at a time (slicing-by-8).

The library that checks batches elsewhere can be called for one batch from Python only, which costs as much as the walk
over the batch itself. The tests compare both.
"""

import numpy as np
from numpy.typing import NDArray

from zombieproof.screening.compiling import compiled

POLYNOMIAL = 0x82F63B78
"""Castagnoli, reflected."""
ALL_ONES = 0xFFFFFFFF


def _tables() -> NDArray[np.int64]:
    made = np.zeros((8, 256), dtype=np.int64)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
        made[0, byte] = crc
    for byte in range(256):
        for table in range(1, 8):
            before = int(made[table - 1, byte])
            made[table, byte] = (before >> 8) ^ int(made[0, before & 0xFF])
    return made


TABLES = _tables()


@compiled
def byte(data: NDArray[np.uint8], at: int) -> int:
    """The byte as a signed number of 64 bits: compiled, an unsigned one would make all that it meets unsigned."""
    return np.int64(data[at])  # type: ignore[return-value]  # which `int` would keep unsigned


@compiled
def checksum(data: NDArray[np.uint8], start: int, end: int, tables: NDArray[np.int64]) -> int:
    """The CRC-32C of bytes `start` up to, not including, `end`."""
    crc = ALL_ONES
    at = start
    while at + 8 <= end:
        crc ^= byte(data, at) | byte(data, at + 1) << 8 | byte(data, at + 2) << 16 | byte(data, at + 3) << 24
        crc = (
            int(tables[7, crc & 0xFF])
            ^ int(tables[6, crc >> 8 & 0xFF])
            ^ int(tables[5, crc >> 16 & 0xFF])
            ^ int(tables[4, crc >> 24 & 0xFF])
            ^ int(tables[3, byte(data, at + 4)])
            ^ int(tables[2, byte(data, at + 5)])
            ^ int(tables[1, byte(data, at + 6)])
            ^ int(tables[0, byte(data, at + 7)])
        )
        at += 8
    while at < end:
        crc = crc >> 8 ^ int(tables[0, (crc ^ byte(data, at)) & 0xFF])
        at += 1
    return crc ^ ALL_ONES

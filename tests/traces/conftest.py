"""What tests of readers share: an encoder of record batches, written for tests only, and the recordings."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import pack

import cramjam
import crc32c
import pytest

from zombieproof.formats.compression import XERIAL_MAGIC, Codec

Field = bytes | None
Encode = Callable[..., bytes]


def varint(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(field: Field) -> bytes:
    return varint(-1) if field is None else varint(len(field)) + field


def record(delta: int, key: Field, value: Field, time_delta: int = 0) -> bytes:
    body = b"\0" + varint(time_delta) + varint(delta) + sized(key) + sized(value) + varint(0)
    return varint(len(body)) + body


def xerial(data: bytes) -> bytes:
    blocks = [data[at : at + 32] for at in range(0, len(data), 32)]
    packed = [bytes(cramjam.snappy.compress_raw(block)) for block in blocks]
    return XERIAL_MAGIC + pack(">ii", 1, 1) + b"".join(pack(">i", len(block)) + block for block in packed)


PACKERS: dict[Codec, Callable[[bytes], bytes]] = {
    Codec.NONE: bytes,
    Codec.GZIP: gzip.compress,
    Codec.SNAPPY: xerial,
    Codec.LZ4: lambda data: bytes(cramjam.lz4.compress(data)),
    Codec.ZSTD: lambda data: bytes(cramjam.zstd.compress(data)),
}


def encode(
    records: Sequence[tuple[int, Field, Field]] = ((0, b"k", b"v"),),
    *,
    base_offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
    codec: Codec = Codec.NONE,
    leader_epoch: int = 0,
    base_time: int = 1_700_000_000_000,
    last_delta: int | None = None,
    section: bytes | None = None,
) -> bytes:
    """A batch of records (offset delta, key, value); `section` replaces the packed records."""
    packed = PACKERS[codec](b"".join(record(*entry) for entry in records)) if section is None else section
    delta = max((entry[0] for entry in records), default=0) if last_delta is None else last_delta
    covered = pack(
        ">hiqqqhii",
        attributes | codec,
        delta,
        base_time,
        base_time,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    covered += packed
    head = pack(">qiibI", base_offset, 9 + len(covered), leader_epoch, 2, crc32c.crc32c(covered))
    return head + covered


@pytest.fixture(scope="session")
def batch() -> Encode:
    """The bytes of a record batch: `encode`."""
    return encode


@pytest.fixture(scope="session")
def marker() -> Encode:
    """The bytes of a transaction marker batch."""

    def encode_marker(
        *, commit: bool, base_offset: int = 0, producer_id: int = 0, producer_epoch: int = 0, coordinator_epoch: int = 0
    ) -> bytes:
        key, value = pack(">hh", 0, int(commit)), pack(">hi", 0, coordinator_epoch)
        return encode(
            ((0, key, value),),
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            attributes=0x30,
        )

    return encode_marker


@pytest.fixture(scope="session")
def samples() -> Path:
    """The small recordings that every clone has."""
    return Path(__file__).parents[1] / "recordings"


@pytest.fixture(scope="session")
def shared_traces(shared_folder: Path) -> Path:
    """All recordings; skipped where they are not beside the clone."""
    return shared_folder / "traces"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two recordings are large: whoever walks through them takes seconds for each step."""
    for item in items:
        if "tests/traces/" in item.nodeid and any(name in item.nodeid for name in ("19-soak", "20-epoch-exhaustion")):
            item.add_marker(pytest.mark.slow)

"""Records sections that are packed: read back, and refused before they fill the memory."""

import os

import pytest

from zombieproof.formats import compression
from zombieproof.formats.compression import Codec, pack_records, unpack_records
from zombieproof.formats.faults import Undecodable

PACKED = [codec for codec in Codec if codec is not Codec.NONE]
KIB = 1 << 10


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("size", [0, 1, 100, 300 * KIB])
def test_a_section_is_read_back(codec: Codec, size: int) -> None:
    for section in (os.urandom(size), bytes(size)):
        assert unpack_records(codec, pack_records(codec, section)) == section


@pytest.mark.parametrize("codec", PACKED)
def test_a_section_that_unpacks_to_too_much_is_refused(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MOST_UNPACKED", 100 * KIB)
    monkeypatch.setattr(compression, "MOST_TIMES", 1)
    assert len(unpack_records(codec, pack_records(codec, bytes(100 * KIB)))) == 100 * KIB
    with pytest.raises(Undecodable, match=f"not valid {codec.name.lower()}"):
        unpack_records(codec, pack_records(codec, bytes(101 * KIB)))


@pytest.mark.parametrize(
    "packed",
    [b"\xff\xff\xff\xff\x0f" + bytes(9), compression.XERIAL_MAGIC + bytes(8) + b"\0\0\0\x06\xff\xff\xff\xff\x0f\0"],
)
def test_a_size_that_snappy_only_claims_takes_no_memory(packed: bytes) -> None:
    with pytest.raises(Undecodable, match="unpack to more"):
        unpack_records(Codec.SNAPPY, packed)

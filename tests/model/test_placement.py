"""Which partition an id or group belongs to: reference §1."""

import pytest

from zombieproof.model.placement import java_hash, murmur2, partition_for, partition_of_key


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Hello, World!", 1498789909),
        ("AaAa", 2031744),
        ("BBBB", 2031744),
        ("billing", -109829509),
        ("polygenelubricants", -2147483648),
        ("\N{GREEK SMALL LETTER OMEGA}", 969),
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_hash_is_that_of_javas_string(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("name", "partitions", "partition"),
    [
        # Where real clusters with two partitions put them.
        ("orders-0", 2, 0),
        ("orders-1", 2, 1),
        ("copier-1", 2, 0),
        ("id-lz4", 2, 0),
        ("wordcount-d9fc9fd8-8433-4456-bccd-5406eeadd99a-1", 2, 1),
        ("copier", 2, 0),
        ("wordcount", 2, 1),
        ("", 50, 0),
        ("hello", 50, 22),
        ("billing", 50, 9),
        # The one hash whose absolute value does not exist counts as 0.
        ("polygenelubricants", 50, 0),
    ],
)
def test_an_id_belongs_to_the_partition_of_its_hash(name: str, partitions: int, partition: int) -> None:
    assert partition_for(name, partitions) == partition


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_kafkas_producers_do(key: bytes, value: int) -> None:
    """The values of ``UtilsTest.testMurmur2``."""
    assert murmur2(key) == value & 0xFFFFFFFF
    assert partition_of_key(key, 7) == (value & 0x7FFFFFFF) % 7

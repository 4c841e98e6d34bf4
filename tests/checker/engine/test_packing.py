"""Packed rows: what is unpacked is what was packed, whatever differs from row to row, and it is small."""

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from zombieproof.checker.engine import intrinsics, packing, places
from zombieproof.checker.engine.binding import keys
from zombieproof.checker.engine.internals.compilation import entry, part
from zombieproof.checker.engine.places import Parents, States
from zombieproof.checker.engine.units import head_of, is_whole, most_bytes

SIZES = (1, 2, 3, 7, 8, 9, 16, 63, 64, 65, 71, 130)


class Packer(NamedTuple):
    words: int
    pack: Callable[..., int]
    unpack: Callable[..., None]


def pack(words: Any, last: Any, changes: Any, packed: Any, place: int) -> int:
    """Pack all rows as one unit."""
    for row in range(words.shape[0]):
        place = pack_row(words, row, last, changes, 0, packed, place)
    return place


def pack_row(words: Any, row: int, last: Any, changes: Any, spare: int, packed: Any, place: int) -> int:
    """Stands for the compiled function."""
    raise NotImplementedError


def unpack(parents: Any, tally: Any) -> None:
    """The entry to the compiled function."""
    unpack_units(parents, tally)


def unpack_units(parents: Any, tally: Any) -> None:
    """Stands for it."""
    raise NotImplementedError


INTRINSICS = (
    "add_weighed",
    "clear_words",
    "copy_words",
    "leading_zeros",
    "load_word",
    "note_changes",
    "store_word",
    "trailing_zeros",
)


@pytest.fixture(scope="module", params=SIZES)
def packer(request: pytest.FixtureRequest) -> Packer:
    """The functions for rows of so many words."""
    words: int = request.param
    scope: dict[str, Any] = {
        **vars(packing),
        **{name: getattr(intrinsics, name) for name in INTRINSICS},
        "WORDS": words,
        "HEAD": head_of(words),
        "PARTS": places.words_of_bits(words),
        "IS_WHOLE": is_whole(words),
        "KEYS": keys(words),
    }
    for name in ("pack_whole", "pack_row", "unpack_whole", "unpack_row"):
        scope[name] = part(types.FunctionType(getattr(packing, name).__code__, scope), checked=False)
    scope["unpack_units"] = part(types.FunctionType(packing.unpack.__code__, scope), checked=False)
    return Packer(words, *(entry(types.FunctionType(one.__code__, scope)) for one in (pack, unpack)))


def there_and_back(packer: Packer, units: list[Any], room: int) -> tuple[Any, int]:
    """Pack each unit, and unpack all into a place for so many rows; returns the rows and the bytes that they took."""
    count = sum(len(unit) for unit in units)
    packed = np.full(count * most_bytes(packer.words), 0xAA, np.uint8)
    begins, place, row = [], 0, 0
    for unit in units:
        begins.append((place, row))
        changes = np.zeros((1, places.words_of_bits(packer.words)), np.uint64)
        place = packer.pack(unit, np.zeros((1, packer.words), np.uint64), changes, packed, place)
        row += len(unit)
    table = np.array([*begins, (place, row)], np.int64)
    scratch = np.full((room, packer.words), 0x5555, np.uint64)
    weights = np.zeros((room, 2), np.uint64)
    parents = Parents(States(scratch, scratch, weights), packed, table)
    tally = np.zeros(places.PLACES, np.int64)
    found: list[Any] = []
    tally[places.UNITS], tally[places.BLOCK] = len(units), 1000
    while tally[places.UNIT] < len(units):
        packer.unpack(parents, tally)
        assert int(tally[places.BASE]) == 1000 + sum(map(len, found))
        found.append(scratch[: tally[places.LAST]].copy())
        if not is_whole(packer.words):
            assert weights[: tally[places.LAST]].tolist() == [weight_of(row) for row in found[-1].tolist()]
    return np.concatenate(found), place


def weight_of(row: list[int]) -> list[int]:
    """The sum of the words, each times its key, and of the last key: its low and its high half."""
    *own, last = (int(low) | int(high) << 64 for low, high in keys(len(row)))
    total = last + sum(word * key for word, key in zip(row, own, strict=True))
    return [total % 2**64, total >> 64 & 2**64 - 1]


@pytest.mark.share(2)
@pytest.mark.sample("71-1000", "65-40")
@pytest.mark.parametrize("kind", ["random", "sparse", "zeros", "ones", "alternating"])
@pytest.mark.parametrize("room", [40, 100, 1000])
def test_what_is_unpacked_is_what_was_packed(packer: Packer, kind: str, room: int) -> None:
    random = np.random.default_rng(packer.words)
    shape = (120, packer.words)
    rows = random.integers(0, 2**64, shape, np.uint64)
    if kind == "sparse":
        rows &= np.uint64(0xFF) << random.integers(0, 8, shape).astype(np.uint64) * np.uint64(8)
        rows[random.random(shape) < 0.9] = 0
    elif kind != "random":
        rows[:] = 0
        rows[{"zeros": slice(0), "ones": slice(None), "alternating": slice(0, None, 2)}[kind]] = 2**64 - 1
    units = [rows[:40], rows[40:41], rows[41:80], rows[80:]]
    again, size = there_and_back(packer, units, room)
    assert (again == rows).all()
    assert size <= len(rows) * most_bytes(packer.words)
    if is_whole(packer.words):
        assert size == len(rows) * packer.words * 8
    elif kind == "zeros":
        assert size == len(rows) * head_of(packer.words)


@pytest.mark.slow
def test_a_row_that_differs_in_a_byte_takes_two_bytes_beside_its_head(packer: Packer) -> None:
    rows = np.zeros((200, packer.words), np.uint64)
    rows[:, packer.words - 1] = np.arange(1, 201) * 2**56
    again, size = there_and_back(packer, [rows], 200)
    assert (again == rows).all()
    if not is_whole(packer.words):
        assert size == 200 * (head_of(packer.words) + 2)

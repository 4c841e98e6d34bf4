"""Fingerprints scatter: every bit of a state decides half of the bits, and similar states do not meet by design."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from zombieproof.checker.engine import fingerprints as kernels
from zombieproof.checker.engine import intrinsics
from zombieproof.checker.engine.binding import keys
from zombieproof.checker.engine.internals.compilation import entry, part

Fingerprints = Callable[[Any], Any]
COUNT = 1 << 16
SIZES = (1, 2, 3, 7, 69)


@pytest.fixture(scope="module", params=SIZES)
def words(request: pytest.FixtureRequest) -> int:
    """How many words a state has."""
    size: int = request.param
    return size


def one(rows: Any, row: int) -> Any:
    """Stands for the compiled fingerprint."""
    raise NotImplementedError


def another(rows: Any, row: int, others: Any, other: int, changes: Any) -> Any:
    """Stands for the compiled fingerprint of a row by that of another."""
    raise NotImplementedError


def every(rows: Any, found: Any) -> None:
    for row in range(rows.shape[0]):
        found[row] = one(rows, row)


def each_by_the_other(rows: Any, others: Any, changes: Any, found: Any) -> None:
    for row in range(rows.shape[0]):
        found[row] = another(rows, row, others, row, changes)


@pytest.fixture(scope="module")
def scope(words: int) -> dict[str, Any]:
    """The kernels that make fingerprints, compiled for states of so many words."""
    scope: dict[str, Any] = {
        **vars(kernels),
        "__name__": kernels.__name__,
        "WORDS": words,
        "KEYS": keys(words),
        "FEW_WORDS": 2,
        "word_of": intrinsics.word_of,
    }
    for name in ("weight", "scattered", "fingerprint", "moved"):
        scope[name] = part(types.FunctionType(getattr(kernels, name).__code__, scope), checked=False)

    def by_another(rows: Any, row: int, others: Any, other: int, changes: Any) -> Any:
        weighed = weight(others, other)  # type: ignore[name-defined]  # noqa: F821  # in `scope`
        return scattered(moved(weighed, changes, row, rows, row, others, other)[1])  # type: ignore[name-defined]  # noqa: F821

    scope["one"] = scope["fingerprint"]
    scope["another"] = part(types.FunctionType(by_another.__code__, scope), checked=False)
    return scope


@pytest.fixture(scope="module")
def fingerprints(scope: dict[str, Any]) -> Fingerprints:
    """Return the fingerprints of rows of words."""
    compiled = entry(types.FunctionType(every.__code__, scope))

    def call(rows: Any) -> Any:
        found = np.zeros(len(rows), np.uint64)
        compiled(rows, found)
        return found

    return call


def test_a_fingerprint_is_the_same_by_what_has_changed(
    scope: dict[str, Any], fingerprints: Fingerprints, words: int
) -> None:
    random = np.random.default_rng(words)
    others = random.integers(0, 1 << 64, (512, words), np.uint64)
    is_changed = random.random(others.shape) < np.linspace(0, 1, 512)[:, None]
    rows = np.where(is_changed, random.integers(0, 1 << 64, others.shape, np.uint64), others)
    changes = np.full((512, -(-words // 64)), 7, np.uint64)
    found = np.zeros(512, np.uint64)
    entry(types.FunctionType(each_by_the_other.__code__, scope))(rows, others, changes, found)
    assert (found == fingerprints(rows)).all()
    if words <= scope["FEW_WORDS"]:
        assert (changes == 7).all(), "of few words all are weighed, and nothing is noted"
        return
    bits = np.unpackbits(changes.view(np.uint8), axis=1, bitorder="little")
    assert (bits[:, :words] == is_changed).all()
    assert not bits[:, words:].any()


def test_the_high_half_of_a_weight_is_the_sum_of_words_times_keys(scope: dict[str, Any], words: int) -> None:
    rows = np.random.default_rng(1).integers(0, 1 << 64, (1, words), np.uint64)
    key = [int(low) | int(high) << 64 for low, high in keys(words)]
    low, high = entry(types.FunctionType(kernels.weight.__code__, scope))(rows, 0)
    total = key[words] + sum(int(word) * key[i] for i, word in enumerate(rows[0]))
    assert int(low) | int(high) << 64 == total % (1 << 128)


def test_no_key_is_given_twice() -> None:
    assert len(np.unique(keys(200))) == 2 * 201


def test_each_bit_of_a_state_flips_each_bit_of_its_fingerprint_half_of_the_time(
    fingerprints: Fingerprints, words: int
) -> None:
    rounds = 4096
    random = np.random.default_rng(words)
    states = random.integers(0, 4, (rounds, words * 8), np.uint8).view(np.uint64)
    before = fingerprints(states)
    for bit in sorted({0, 1, 7, 63, 64 * words - 1, 32 * words}):
        changed = states.copy()
        changed[:, bit // 64] ^= np.uint64(1 << (bit % 64))
        flipped = np.unpackbits((fingerprints(changed) ^ before).view(np.uint8)).reshape(rounds, 64)
        # Half of 4096, give or take five standard deviations of 32.
        assert abs(flipped.sum(axis=0).astype(int) - rounds // 2).max() < 5 * 32 + 10, bit


def test_states_that_differ_little_meet_as_rarely_as_chance(fingerprints: Fingerprints, words: int) -> None:
    marks = fingerprints(similar_states(words))
    assert len(np.unique(marks)) == COUNT
    assert all(meets_as_rarely_as_chance(marks, shift) for shift in (0, 8, 24, 40))


def test_a_mixture_that_is_no_good_is_noticed(words: int) -> None:
    products = similar_states(words).sum(axis=1) * np.uint64(0x9E3779B97F4A7C15)
    assert not all(meets_as_rarely_as_chance(products, shift) for shift in (0, 8, 24, 40))


def similar_states(words: int) -> Any:
    """Return states that are numbers of eight digits, a byte each, as states are made of."""
    states = np.zeros((COUNT, words), np.uint64)
    for place in range(8):
        states.view(np.uint8)[:, place * (words * 8 - 1) // 7] = (np.arange(COUNT) >> (2 * place)) & 3
    return states


def meets_as_rarely_as_chance(marks: Any, shift: int) -> bool:
    """Of 24 bits, chance lets COUNT²/2²⁵ = 128 pairs meet, give or take 11."""
    part_of = (marks >> np.uint64(shift)) & np.uint64(0xFFFFFF)
    return 70 < COUNT - len(np.unique(part_of)) < 190


def test_no_fingerprint_is_zero_which_means_an_empty_slot(fingerprints: Fingerprints, words: int) -> None:
    assert fingerprints(np.zeros((1, words), np.uint64))[0] != 0

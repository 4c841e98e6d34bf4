"""What is emitted does what Python does with the same function: elements, calls, truths, errors."""

import re
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import typeof

from zombieproof.checker.engine.internals.compilation import entry, part

ENTRY = np.dtype([("epoch", "i1"), ("sequences", "<i2", (3,))])
STATE = np.dtype([("log", "<i8", (4,)), ("entries", ENTRY, (2,)), ("pairs", "i1", (2, 3)), ("none", "i1", (0,))])


def is_above(state: Any, i: int, least: int) -> Any:
    """Whether an element is above a number; a truth goes back through a call."""
    return state.log[i] > least


def spread(state: Any, i: int, j: int) -> Any:
    """Read and write elements, of all arrays, and return one."""
    entry = state.entries[i]
    entry.sequences[j] = state.log[i] % 100 + entry.epoch
    state.log[j] += entry.sequences[0]
    state.pairs[i, j] = state.pairs[j % 2, i] + 1
    row = state.pairs[i]  # a part of an array, which Numba emits
    row[j] += len(row)
    column = state.pairs[:, j]
    column[i] ^= 1
    entry.epoch += 1
    return state.entries[i].sequences[j]


def both(state: Any, places: Any, found: Any) -> None:
    """Call parts under conditions, within a loop; a variable is written in some ways through it only."""
    last = 0
    for k in range(len(places)):
        i, j = places[k, 0], places[k, 1]
        if is_above(state[0], i, last) and not is_above(state[0], j, 50):
            last = spread(state[0], i, j)
        elif is_above(state[0], j, 3):
            last += 1
        found[k] = last


def compiled(*, checked: bool) -> Any:
    """The function with its parts, compiled."""
    parts = {"is_above": part(is_above, checked=checked), "spread": part(spread, checked=checked)}
    assert isinstance(both, FunctionType)
    return entry(FunctionType(both.__code__, {**both.__globals__, **parts}, both.__name__))


CHECKED, UNCHECKED = compiled(checked=True), compiled(checked=False)


def filled(seed: int) -> Any:
    """A state of small numbers in an array of one, as records are passed on."""
    state = np.zeros(1, STATE)
    random = np.random.default_rng(seed)
    state["log"] = random.integers(-100, 100, (1, 4))
    state["entries"]["epoch"] = random.integers(-5, 5, (1, 2))
    state["entries"]["sequences"] = random.integers(-9, 9, (1, 2, 3))
    state["pairs"] = random.integers(-9, 9, (1, 2, 3))
    return state


def run(function: Any, state: Any, places: Any) -> tuple[bytes, list[int], bool]:
    """What the state and the found numbers are afterwards, and whether it ended with an IndexError."""
    found, failed = np.zeros(len(places), np.int64), False
    try:
        function(state, places, found)
    except IndexError:
        failed = True
    return state.tobytes(), found.tolist(), failed


def interpreted(state: Any, places: Any, found: Any) -> None:
    """The same by the interpreter, on records."""
    both(state.view(np.recarray), places, found)


PLACES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.integers(0, 1 << 32), PLACES)
def test_elements_calls_and_errors_are_those_of_python(seed: int, places: list[tuple[int, int]]) -> None:
    there = np.array(places, np.int64)
    assert run(CHECKED, filled(seed), there) == run(interpreted, filled(seed), there)


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.lists(st.tuples(st.integers(-2, 1), st.integers(-2, 1)), min_size=1, max_size=12))
def test_without_bounds_checks_what_is_within_them_is_the_same(seed: int, places: list[tuple[int, int]]) -> None:
    there = np.array(places, np.int64)
    assert run(UNCHECKED, filled(seed), there) == run(interpreted, filled(seed), there)


def test_an_index_outside_is_an_error_with_its_reason_from_any_depth() -> None:
    with pytest.raises(IndexError, match="index is out of bounds"):
        CHECKED(filled(1), np.array([(4, 0)], np.int64), np.zeros(1, np.int64))
    with pytest.raises(IndexError, match="index is out of bounds"):
        CHECKED(filled(1), np.array([(-5, 0)], np.int64), np.zeros(1, np.int64))


def test_of_an_empty_array_nothing_can_be_read() -> None:
    def read(state: Any, i: int) -> Any:
        return state[0].none[i]

    reader = part(read, checked=True)

    def reads(state: Any, i: int) -> Any:
        return reader(state, i)

    for i in (-1, 0, 1):
        with pytest.raises(IndexError):
            entry(reads)(filled(1), i)


def test_an_index_without_a_sign_is_taken_as_it_is() -> None:
    def read(numbers: Any, i: int) -> Any:
        return numbers[i]

    reader = part(read, checked=True)

    def reads(numbers: Any, i: int) -> Any:
        return reader(numbers, i)

    numbers = np.arange(5)
    assert entry(reads)(numbers, np.uint64(4)) == 4
    for i in (5, (1 << 64) - 1):
        with pytest.raises(IndexError):
            entry(reads)(numbers, np.uint64(i))


def test_a_variable_without_a_value_is_0_as_numba_has_it() -> None:
    def read(numbers: Any) -> Any:
        for i in range(len(numbers)):
            if numbers[i] > 0:
                found = numbers[i]
        return found

    reader = part(read, checked=True)

    def reads(numbers: Any) -> Any:
        return reader(numbers)

    compiled_reads = entry(reads)
    assert [compiled_reads(np.array(numbers)) for numbers in ([3, 7, -1], [-5, -6], [2])] == [7, 0, 2]


def test_a_call_costs_a_comparison_and_nothing_is_zeroed() -> None:
    """The instructions before LLVM goes over them; Numba's own emission has four times as many."""
    reader = part(is_above, checked=False)
    [record] = [typeof(filled(1)).dtype]
    reader.compile((record, typeof(1), typeof(1)))
    [made] = reader.overloads.values()
    text = str(made.library.module())
    [body] = re.findall(r"^define .*?^}", text, re.MULTILINE | re.DOTALL)
    assert "zeroinitializer" not in body
    assert len(re.findall(r"\n  [%a-z]", body)) <= 25

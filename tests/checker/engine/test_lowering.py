"""Lowered functions say what the interpreted ones say, on all that a model may be written with."""

import random
import typing
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.checker.engine.internals import compilation
from zombieproof.checker.engine.layout import dtype_of, layout_of, to_object, to_record
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.model.fields import array, exchange, integer, is_same, precedes


class Colour(IntEnum):
    RED = 0
    GREEN = 1
    BLUE = 2


class Answer(NamedTuple):
    value: int
    colour: Colour = Colour.GREEN
    good: bool = True


@dataclass(frozen=True)
class Machine:
    table: tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class Pair:
    left: int = integer(width="i2")
    right: int = integer(width="i2")


@dataclass(slots=True)
class Desk:
    """Three inputs, some records, and room for results."""

    a: int = integer(width="i4")
    b: int = integer(width="i4")
    c: int = 0
    pairs: list[Pair] = array(Pair, 4)
    results: list[int] = array(int, 8, width="i8")


PRIMES = (2, 3, 5, 7, 11)
WARM = frozenset({Colour.RED})
CYCLE = Machine(((1, 2, 0), (2, 0, 1), (0, 1, 2)))
STEP: int = 3


def clamp(value: int, *, low: int = -5, high: int = 5) -> int:
    return max(low, min(high, value))


def judge(value: int, good: bool, desk: Any) -> Answer:
    if value in (Colour.RED, Colour.BLUE) and good:
        return Answer(desk.a, good=False)
    if value not in (4, 5):
        return Answer(value=value, colour=Colour.BLUE)
    return Answer(desk.c)


def arithmetic(desk: Desk) -> None:
    desk.results[0] = desk.a + desk.b * STEP - -desk.c
    desk.results[1] = desk.a // 7 + desk.a % 7
    desk.results[2] = desk.a // -3 + desk.a % -3
    desk.results[3] = (desk.a & desk.b) | (desk.c ^ 5) & ~desk.a
    desk.results[4] = (desk.a << 3) + (desk.b >> 2)
    desk.results[5] = abs(desk.a) + int(desk.a < desk.b) + bool(desk.c)
    desk.results[6] = clamp(desk.a) + clamp(desk.b, high=9) + clamp(low=-1, value=desk.c)
    desk.results[7] = len(PRIMES) + len(Colour) + len(desk.pairs)


def choices(desk: Desk) -> None:
    if desk.a < desk.b <= 50 or not desk.c:
        desk.results[0] = 1
    elif desk.a == desk.b and desk.c != 0:
        desk.results[0] = 2
    else:
        desk.results[0] = 3 if desk.c > 0 else 4
    desk.results[1] = 1 if desk.c in PRIMES else 0
    desk.results[2] = 1 if desk.c not in WARM else 0
    colour: Colour = Colour.BLUE
    desk.results[3] = PRIMES[desk.c % 5] + CYCLE.table[desk.c % 3][colour]
    one = judge(desk.c, desk.a > 0, desk)
    two = judge(desk.c, good=True, desk=desk)._replace(value=desk.b, colour=Colour.RED)
    desk.results[4] = one.value * 100 + one.colour * 10 + one.good
    desk.results[5] = two.value * 100 + two.colour * 10 + two.good
    desk.results[6] = typing.cast("Any", one.value)
    value, other, _ = two
    desk.results[7] = value - other


def loops(desk: Desk) -> None:
    """Has a docstring."""
    count = 0
    for i in range(len(desk.pairs)):
        if desk.pairs[i].left == 3:
            continue
        if desk.pairs[i].left > 90:
            break
        count += desk.pairs[i].left
    desk.results[0] = count
    for pair in desk.pairs:
        pair.right = pair.left
        pair.left += 1
    i = 0
    while i < desk.c and i < 20:
        i += 2
    desk.results[1] = i
    first, last = desk.pairs[0], desk.pairs[-1]
    last.left = first.right
    desk.results[2] = last.left


FUNCTIONS: list[Callable[[Desk], None]] = [arithmetic, choices, loops]


@pytest.fixture(scope="module")
def compiled() -> Callable[[int, Any], None]:
    """Call one of FUNCTIONS, compiled, on a record array."""
    lowering = Lowering()
    parts = [lowering.lower(function) for function in FUNCTIONS]
    zero, one, two = parts

    def call(which: int, desks: Any) -> None:
        if which == 0:
            zero(desks[0])
        elif which == 1:
            one(desks[0])
        else:
            two(desks[0])

    entry: Callable[[int, Any], None] = compilation.entry(call)
    return entry


small = st.integers(-120, 120)


@given(a=small, b=small, c=st.integers(-10, 12), lefts=st.lists(small, min_size=4, max_size=4))
@settings(max_examples=300)
@pytest.mark.parametrize("which", range(len(FUNCTIONS)))
def test_compiled_and_interpreted_agree(
    compiled: Callable[[int, Any], None], which: int, a: int, b: int, c: int, lefts: list[int]
) -> None:
    desk = Desk(a, b, c, [Pair(left, 0) for left in lefts])
    desks = np.zeros(1, dtype_of(Desk))
    to_record(desk, desks[0])
    compiled(which, desks)
    FUNCTIONS[which](desk)
    assert to_object(Desk, desks[0]) == layout_of(Desk).unpack(layout_of(Desk).pack(desk))


def of_bytes(count: int) -> Any:
    """A record class of so many integers of one byte."""
    return make_dataclass("Bytes", [(f"f{i}", int, 0) for i in range(count)], slots=True)


def desk_of(record: Any) -> Any:
    """A record with two of a class, and with what is found out of them."""
    return make_dataclass("Two", [("ones", list[Any], array(record, 2)), ("results", list[int], array(int, 4))])


def compares(desk: Any) -> None:
    one, other = desk.ones[0], desk.ones[1]
    desk.results[0] = int(precedes(one, other)) + 2 * int(precedes(other, one)) + 4 * int(precedes(one, one))
    desk.results[1] = int(is_same(one, other)) + 2 * int(is_same(other, one)) + 4 * int(is_same(one, one))
    if desk.results[2] == 1:
        exchange(one, other)
    desk.results[3] = int(precedes(one, other))


FEW = [-128, -2, -1, 0, 1, 127]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9, 14, 15, 16, 17, 24, 25])
def test_records_are_compared_and_exchanged_as_wholes(size: int) -> None:
    record = of_bytes(size)
    two = desk_of(record)
    lowered = Lowering().lower(compares)
    entry = compilation.entry(lambda desks: lowered(desks[0]))
    rng = random.Random(size)
    for turn in range(300):
        values = [rng.choice(FEW) for _ in range(size)]
        others = list(values)
        if turn % 5:
            others[rng.randrange(size)] = rng.choice(FEW)
        if turn % 3 == 0:
            others = [rng.choice(FEW) for _ in range(size)]
        desk = two([record(*values), record(*others)], [0, 0, turn % 2, 0])
        desks = np.zeros(1, dtype_of(two))
        to_record(desk, desks[0])
        entry(desks)
        compares(desk)
        assert to_object(two, desks[0]) == desk
        assert desk.results[:2] == [(values < others) + 2 * (others < values), 7 if values == others else 4]
        assert desk.ones[0] == record(*(others if turn % 2 else values))


def test_a_function_is_lowered_once() -> None:
    lowering = Lowering()
    assert lowering.lower(arithmetic) is lowering.lower(arithmetic)
    lowering.lower(choices)
    assert [f.__name__ for f in lowering.lowered] == ["clamp", "arithmetic", "judge", "choices"]


def test_lines_and_file_are_those_of_the_source() -> None:
    lowered = Lowering().read(loops)
    assert lowered.filename == __file__
    assert lowered.tree.lineno == loops.__code__.co_firstlineno
    assert lowered.tree.body[0].lineno == loops.__code__.co_firstlineno + 2


def test_a_function_whose_arguments_are_annotated_is_compiled_once() -> None:
    lowering = Lowering()
    part = lowering.lower(arithmetic)
    entry = compilation.entry(lambda desks: part(desks[0]))
    entry(np.zeros(1, dtype_of(Desk)))
    assert len(lowering.lower(clamp).signatures) == 1

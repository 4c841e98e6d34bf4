"""What a model's layout makes constant is folded: the rest says what it said, and what is never called is left out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from zombieproof.checker.engine.internals.compilation import entry
from zombieproof.checker.engine.layout import Sizes, layout_of
from zombieproof.checker.engine.lowering import Lowering
from zombieproof.checker.transactions import cleaning_actions, id_blocks, questions_under_way
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS
from zombieproof.model.fields import array


@dataclass(slots=True)
class Drawer:
    papers: int = 0
    pens: list[int] = array(int, 0)


@dataclass(slots=True)
class Desk:
    """It has no lamps unless a model gives it some; its drawers have no pens."""

    found: int = 0
    drawers: list[Drawer] = array(Drawer, 2)
    first: Drawer = field(default_factory=Drawer)
    lamps: list[int] = array(int, 0)


WITH_LAMPS: Sizes = {(Desk, "lamps"): 3}


def switch_on(desk: Desk) -> int:
    desk.found += 10
    return int(desk.lamps[0])


def write(desk: Desk) -> int:
    desk.found += 1
    return int(desk.drawers[0].papers)


def one_or_the_other(desk: Desk) -> int:
    if len(desk.lamps) > 0:
        return switch_on(desk)
    return write(desk)


def the_other_way_round(desk: Desk) -> int:
    if not (0 == len(desk.lamps)) or len(desk.first.pens) != 0:  # noqa: SIM201, SIM300  # that it is folded too
        said = switch_on(desk)
    elif len(desk.drawers[1].pens) < 1:
        said = write(desk)
    else:
        said = switch_on(desk)
    return said


def in_an_expression(desk: Desk) -> int:
    return switch_on(desk) if len(desk.lamps) > 0 and desk.found == 0 else write(desk)


def in_an_operand(desk: Desk) -> bool:
    return desk.found == 0 and len(desk.lamps) > 0 and switch_on(desk) > 0


def in_a_loop(desk: Desk) -> int:
    total = 0
    for _ in desk.lamps:
        total += switch_on(desk)
    for _ in range(len(desk.lamps)):
        total += switch_on(desk)
    return total


def behind_a_return(desk: Desk) -> int:
    if len(desk.lamps) == 0:
        return 7
    total = switch_on(desk)
    return total + 1


def nothing_else(desk: Desk) -> int:
    if len(desk.lamps) > 0:
        switch_on(desk)
    return int(desk.found)


def of_another_drawer(drawer: Drawer, desk: Desk) -> int:
    drawer = desk.drawers[1]
    if len(drawer.pens) > 0:
        return switch_on(desk)
    return 0


ASKING: tuple[Callable[[Desk], int], ...] = (
    one_or_the_other,
    the_other_way_round,
    in_an_expression,
    in_an_operand,
    in_a_loop,
    behind_a_return,
    nothing_else,
)


def run(function: Callable[[Desk], int], sizes: Sizes | None, layout: Sizes) -> tuple[int, list[int]]:
    """What a lowered function says of a desk of some layout, and what it leaves."""
    lowered = Lowering(packages=("tests",), sizes=sizes).lower(function)

    def call(desks: Any) -> Any:
        return lowered(desks[0])

    desk = layout_of(Desk, layout)
    packed = np.frombuffer(bytearray(desk.pack(a_desk(layout))), np.uint8)
    said = entry(call)(packed[: desk.dtype.itemsize].view(desk.dtype))
    return int(said), desk.leaves(desk.unpack(packed.tobytes()))


def a_desk(layout: Sizes) -> Desk:
    desk = Desk(lamps=[5, 6, 7] if layout else [])
    desk.drawers[0].papers = 3
    return desk


@pytest.mark.parametrize("layout", [{}, WITH_LAMPS], ids=["no lamps", "lamps"])
@pytest.mark.parametrize("function", ASKING)
def test_a_folded_function_says_and_does_what_it_does_interpreted(function: Any, layout: Sizes) -> None:
    desk = a_desk(layout)
    said = int(function(desk))
    assert run(function, layout, layout) == (said, layout_of(Desk, layout).leaves(desk))


@pytest.mark.parametrize("function", ASKING)
def test_what_only_a_list_without_elements_asks_for_is_left_out(function: Any) -> None:
    called = {sizes_given: _called(function, sizes_given) for sizes_given in ("none", "no lamps", "lamps")}
    assert "switch_on" in called["none"]
    assert "switch_on" in called["lamps"]
    assert "switch_on" not in called["no lamps"]


def _called(function: Any, which: str) -> set[str]:
    sizes: dict[str, Sizes | None] = {"none": None, "no lamps": {}, "lamps": WITH_LAMPS}
    lowering = Lowering(packages=("tests",), sizes=sizes[which])
    lowering.read(function)
    return {each.__name__ for each in lowering.lowered}


def test_a_parameter_that_is_assigned_anew_is_not_followed() -> None:
    lowering = Lowering(packages=("tests",), sizes={})
    lowering.read(of_another_drawer)
    assert switch_on in lowering.lowered


@pytest.mark.sample("model4-ask-True", "model2-ask-False")
@pytest.mark.parametrize(
    ("model", "function", "is_compiled"),
    [
        (TRANSACTIONS, cleaning_actions.clean, False),
        (TRANSACTIONS, id_blocks.arrive, False),
        (TRANSACTIONS, questions_under_way.ask, False),
        (BETWEEN_BROKERS, id_blocks.arrive, True),
        (BETWEEN_BROKERS, questions_under_way.ask, True),
        (BETWEEN_BROKERS, cleaning_actions.clean, False),
        (ON_REPLICAS, cleaning_actions.clean, True),
        (ON_REPLICAS, questions_under_way.ask, False),
    ],
)
def test_a_model_is_compiled_without_the_parts_that_it_lacks(model: Any, function: Any, is_compiled: bool) -> None:
    lowering = Lowering(sizes=model.sizes)
    for each in model.functions:
        lowering.read(each)
    assert (function in lowering.lowered) is is_compiled

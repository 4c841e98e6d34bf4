"""What cannot be lowered is refused before anything is compiled: function, line, name, and what would be legal."""

# The functions here are wrong on purpose, each in its own way.
# ruff: noqa: PLW0603

import contextlib
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pytest

from zombieproof.checker.engine.lowering import Lowering, LoweringError

RAGGED = ((1, 2), (3,))
NAMES = ("a", "b")
THINGS: list[int] = []
counter = 0


class Colour(IntEnum):
    RED = 0


@dataclass
class Changing:
    level: int = 0


CHANGING = Changing()


def helper(a: int, b: int, c: int = 1) -> int:
    return a + b + c


def raises(world: Any) -> int:
    if world.a:
        raise ValueError("no")
    return 1


def asserts(world: Any) -> int:
    assert world.a
    return 1


def tries(world: Any) -> int:
    try:
        return world.a  # type: ignore[no-any-return]  # wrong on purpose
    finally:
        world.a = 1


def withs(world: Any) -> int:
    with contextlib.nullcontext():
        return 1


def lists(world: Any) -> int:
    return len([world.a])


def comprehends(world: Any) -> bool:
    return all(i == world.a for i in range(3))


def maps(world: Any) -> int:
    return {1: 2}[world.a]


def sets(world: Any) -> bool:
    return world.a in {1, 2}


def texts(world: Any) -> str:
    return f"{world.a}"


def constants(world: Any) -> float:
    return 1.5


def lambdas(world: Any) -> int:
    return (lambda: 1)()  # noqa: PLC3002  # wrong on purpose


def nests(world: Any) -> int:
    def inner() -> int:
        return 1

    return inner()


def powers(world: Any) -> int:
    return 2**world.a  # type: ignore[no-any-return]  # wrong on purpose


def divides(world: Any) -> float:
    return world.a / 2  # type: ignore[no-any-return]  # wrong on purpose


def globals_(world: Any) -> int:
    global counter
    counter += 1
    return counter


def uses_a_list(world: Any) -> int:
    return THINGS[0]


def uses_a_ragged_table(world: Any) -> int:
    return RAGGED[world.a][0]


def uses_texts(world: Any) -> str:
    return NAMES[world.a]


def calls_out(world: Any) -> int:
    return math.gcd(world.a, 2)


def calls_a_class(world: Any) -> Any:
    return Changing(1)


def calls_an_enum(world: Any) -> Colour:
    return Colour(world.a)


def calls_a_method(world: Any) -> Any:
    return world.a.bit_length()


def reads_what_may_change(world: Any) -> int:
    return CHANGING.level


def reads_what_is_not_there(world: Any) -> Any:
    return Colour.GREEN  # type: ignore[attr-defined]  # wrong on purpose


def names_what_is_not_there(world: Any) -> Any:
    return nobody  # type: ignore[name-defined]  # noqa: F821  # wrong on purpose


def gives_too_few(world: Any) -> int:
    return helper(world.a)  # type: ignore[call-arg]  # wrong on purpose


def gives_too_many(world: Any) -> int:
    return helper(1, 2, 3, 4)  # type: ignore[call-arg]  # wrong on purpose


def gives_an_unknown(world: Any) -> int:
    return helper(1, 2, d=3)  # type: ignore[call-arg]  # wrong on purpose


def stars(world: Any) -> int:
    return helper(*world)


def takes_stars(*worlds: Any) -> int:
    return 1


def asks_twice(world: Any) -> bool:
    return helper(1, 2) in (1, 2)


def loops_with_else(world: Any) -> int:
    for i in range(3):
        if world.a == i:
            break
    else:
        return 2
    return 1


def calls_itself(world: Any) -> int:
    return calls_itself(world)


def there(world: Any) -> int:
    return and_back(world)


def and_back(world: Any) -> int:
    return there(world)


def yields(world: Any) -> Any:
    yield world


def replaces_without_names(world: Any) -> Any:
    return world._replace(1)


CASES: list[tuple[Callable[..., Any], str, str]] = [
    (raises, "an exception", "answering with a value"),
    (asserts, "an assertion", "a promise"),
    (tries, "an exception handler", "functions that do not raise"),
    (withs, "a with statement", "functions without resources"),
    (lists, "a list", "an array of a record"),
    (comprehends, "a generator expression", "a loop"),
    (maps, "a dictionary", "a record or a table"),
    (sets, "membership in {1, 2}", "a tuple"),
    (texts, "text", "interpreted functions"),
    (constants, "the constant 1.5", "integers and booleans"),
    (lambdas, "the call of lambda: 1", "functions of a module"),
    (nests, "a nested function", "a function of a module"),
    (powers, "the operator **", "shifts"),
    (divides, "the operator /", "the operator //"),
    (globals_, "a global statement", "state in records"),
    (uses_a_list, "the global THINGS is of type list", "tuples of integers"),
    (uses_a_ragged_table, "the tuple RAGGED is no table", "of one length"),
    (uses_texts, "the tuple NAMES is no table", "tuples of integers"),
    (calls_out, "math.gcd is the function math.gcd", "functions of"),
    (calls_a_class, "the global Changing is the class Changing", "NamedTuples"),
    (calls_an_enum, "the global Colour is the class Colour", "IntEnums"),
    (calls_a_method, "the call of world.a.bit_length", "functions of a module"),
    (reads_what_may_change, "attribute level of the global CHANGING", "frozen dataclasses"),
    (reads_what_is_not_there, "Colour.GREEN does not exist", "names that are defined"),
    (names_what_is_not_there, "the name nobody is not defined", "names of the function's module"),
    (gives_too_few, "helper lacks b", "every argument"),
    (gives_too_many, "helper gets 4 arguments", "each of a, b, c once"),
    (gives_an_unknown, "the argument d of helper", "each of a, b, c once"),
    (stars, "a starred expression", "arguments one by one"),
    (takes_stars, "it has a starred parameter", "parameters one by one"),
    (asks_twice, "would be evaluated more than once", "a variable on the left"),
    (loops_with_else, "a loop with else", "a flag"),
    (calls_itself, "it calls itself", "loops"),
    (there, "it calls itself, there -> and_back -> there", "loops"),
    (yields, "a generator", "a loop"),
    (replaces_without_names, "_replace without names", "_replace(field=value)"),
]


@pytest.mark.parametrize(("function", "what", "legal"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_it_is_refused_with_place_reason_and_remedy(function: Callable[..., Any], what: str, legal: str) -> None:
    with pytest.raises(LoweringError) as refused:
        Lowering().read(function)
    place, _, rest = str(refused.value).partition(" cannot be lowered: ")
    file, line, name = place.split(":")
    assert file == __file__
    first = function.__code__.co_firstlineno
    assert first <= int(line) <= first + 8
    assert name.strip() == function.__name__
    reason, _, remedy = rest.rpartition("Legal: ")
    assert what in reason
    assert legal in remedy


def test_a_call_of_what_cannot_be_lowered_is_refused_where_the_fault_is() -> None:
    with pytest.raises(LoweringError, match=r": raises cannot be lowered"):
        Lowering().read(calls_what_raises)


def calls_what_raises(world: Any) -> int:
    return raises(world)


def test_what_is_no_plain_function_is_refused() -> None:
    with pytest.raises(LoweringError, match="Legal: a function of a module"):
        Lowering().read(functools.partial(helper, 1))
    with pytest.raises(LoweringError, match=r"a lambda cannot be lowered\. Legal: a function of a module"):
        Lowering().read(eval("lambda world: 1"))
    scope: dict[str, Any] = {"__name__": __name__}
    exec("def written(world): return 1", scope)
    with pytest.raises(LoweringError, match="its source is not there"):
        Lowering().read(scope["written"])


def test_a_closure_is_refused() -> None:
    free = 3

    def closed(world: Any) -> int:
        return free

    with pytest.raises(LoweringError, match="it is a closure over free"):
        Lowering().read(closed)


def test_what_is_legal_is_lowered() -> None:
    assert Lowering().read(helper).name.endswith("test_lowering_refuses.helper")

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


def raises(state: Any) -> int:
    if state.a:
        raise ValueError("no")
    return 1


def asserts(state: Any) -> int:
    assert state.a
    return 1


def tries(state: Any) -> int:
    try:
        return state.a  # type: ignore[no-any-return]  # wrong on purpose
    finally:
        state.a = 1


def withs(state: Any) -> int:
    with contextlib.nullcontext():
        return 1


def lists(state: Any) -> int:
    return len([state.a])


def comprehends(state: Any) -> bool:
    return all(i == state.a for i in range(3))


def maps(state: Any) -> int:
    return {1: 2}[state.a]


def sets(state: Any) -> bool:
    return state.a in {1, 2}


def texts(state: Any) -> str:
    return f"{state.a}"


def constants(state: Any) -> float:
    return 1.5


def lambdas(state: Any) -> int:
    return (lambda: 1)()  # noqa: PLC3002  # wrong on purpose


def nests(state: Any) -> int:
    def inner() -> int:
        return 1

    return inner()


def powers(state: Any) -> int:
    return 2**state.a  # type: ignore[no-any-return]  # wrong on purpose


def divides(state: Any) -> float:
    return state.a / 2  # type: ignore[no-any-return]  # wrong on purpose


def globals_(state: Any) -> int:
    global counter
    counter += 1
    return counter


def uses_a_list(state: Any) -> int:
    return THINGS[0]


def uses_a_ragged_table(state: Any) -> int:
    return RAGGED[state.a][0]


def uses_texts(state: Any) -> str:
    return NAMES[state.a]


def calls_out(state: Any) -> int:
    return math.gcd(state.a, 2)


def calls_a_class(state: Any) -> Any:
    return Changing(1)


def calls_an_enum(state: Any) -> Colour:
    return Colour(state.a)


def calls_a_method(state: Any) -> Any:
    return state.a.bit_length()


def reads_what_may_change(state: Any) -> int:
    return CHANGING.level


def reads_what_is_not_there(state: Any) -> Any:
    return Colour.GREEN  # type: ignore[attr-defined]  # wrong on purpose


def names_what_is_not_there(state: Any) -> Any:
    return nobody  # type: ignore[name-defined]  # noqa: F821  # wrong on purpose


def gives_too_few(state: Any) -> int:
    return helper(state.a)  # type: ignore[call-arg]  # wrong on purpose


def gives_too_many(state: Any) -> int:
    return helper(1, 2, 3, 4)  # type: ignore[call-arg]  # wrong on purpose


def gives_an_unknown(state: Any) -> int:
    return helper(1, 2, d=3)  # type: ignore[call-arg]  # wrong on purpose


def stars(state: Any) -> int:
    return helper(*state)


def takes_stars(*states: Any) -> int:
    return 1


def asks_twice(state: Any) -> bool:
    return helper(1, 2) in (1, 2)


def loops_with_else(state: Any) -> int:
    for i in range(3):
        if state.a == i:
            break
    else:
        return 2
    return 1


def calls_itself(state: Any) -> int:
    return calls_itself(state)


def there(state: Any) -> int:
    return and_back(state)


def and_back(state: Any) -> int:
    return there(state)


def yields(state: Any) -> Any:
    yield state


def replaces_without_names(state: Any) -> Any:
    return state._replace(1)


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
    (calls_a_method, "the call of state.a.bit_length", "functions of a module"),
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


def calls_what_raises(state: Any) -> int:
    return raises(state)


def test_what_is_no_plain_function_is_refused() -> None:
    with pytest.raises(LoweringError, match="Legal: a function of a module"):
        Lowering().read(functools.partial(helper, 1))
    with pytest.raises(LoweringError, match=r"a lambda cannot be lowered\. Legal: a function of a module"):
        Lowering().read(eval("lambda state: 1"))
    scope: dict[str, Any] = {"__name__": __name__}
    exec("def written(state): return 1", scope)
    with pytest.raises(LoweringError, match="its source is not there"):
        Lowering().read(scope["written"])


def test_a_closure_is_refused() -> None:
    free = 3

    def closed(state: Any) -> int:
        return free

    with pytest.raises(LoweringError, match="it is a closure over free"):
        Lowering().read(closed)


def test_what_is_legal_is_lowered() -> None:
    assert Lowering().read(helper).name.endswith("test_lowering_refuses.helper")

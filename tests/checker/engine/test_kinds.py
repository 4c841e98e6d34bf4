"""What an expression is, is known before compilation; and a value that leaves the width of its field is never cut."""

from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.kinds import follow
from zombieproof.checker.engine.lowering import Lowering, LoweringError
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.proposal2014.model import PROPOSAL2014
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.spark_sink.model import SPARK_SINK
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS
from zombieproof.checker.two_phase_commit.model import two_phase_commit
from zombieproof.model.fields import array, exchange, integer, is_same, precedes

RANGES = {
    "i1": (-(2**7), 2**7 - 1),
    "u1": (0, 2**8 - 1),
    "i2": (-(2**15), 2**15 - 1),
    "u2": (0, 2**16 - 1),
    "i4": (-(2**31), 2**31 - 1),
    "u4": (0, 2**32 - 1),
}


class Verdict(NamedTuple):
    error: int
    guard: int


@dataclass(slots=True)
class Inner:
    value: int = 0


@dataclass(slots=True)
class State:
    count: int = 0
    inner: Inner = field(default_factory=Inner)
    marks: list[int] = array(int, 2)
    inners: list[Inner] = array(Inner, 2)


@dataclass(slots=True)
class Setup:
    value: int = integer(0, width="i8")


@dataclass(slots=True)
class Trail:
    unused: int = 0


def always(state: State) -> bool:
    return True


def model_of(step: Callable[..., bool], state: type = State) -> Model:
    return Model(
        name="small",
        state=state,
        setup=Setup,
        trail=Trail,
        actions=1,
        step=step,
        describe=lambda state, action, setup: "",
        initial=lambda setup: state(),
        promises=(Promise("always", "always", always),),
    )


def followed(model: Model) -> Any:
    lowering = Lowering()
    for function in model.functions:
        lowering.read(function)
    return follow(model, lowering.lowered)


def decided(error: int) -> Verdict:
    return Verdict(error, 1)


def reads_a_verdict(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    verdict = decided(1)
    return bool(verdict.gard == 1)  # type: ignore[attr-defined]  # wrong on purpose


def replaces_in_a_verdict(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    verdict = decided(1)._replace(eror=2)  # type: ignore[call-arg]  # wrong on purpose
    return verdict.error == 1


def loops_over_a_record(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    for one in state.inner:  # type: ignore[attr-defined]  # wrong on purpose
        state.count = one
    return True


def misspells_an_element(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    for inner in state.inners:
        inner.valu = 1  # type: ignore[attr-defined]  # wrong on purpose
    return True


def swaps_names(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    one, other = state.inners[0], state.inner
    return bool(one.value == other.count)  # type: ignore[attr-defined]  # wrong on purpose


def measures_an_integer(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    return len(state.count) == 1  # type: ignore[arg-type]  # wrong on purpose


def compares_records(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    return state.inner == state.inners[0]


def exchanges_integers(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    exchange(state.count, state.inner.value)
    return True


def exchanges_arrays(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    exchange(state.marks, state.marks)
    return True


def compares_two_kinds(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    return precedes(state.inner, trail)


def compares_what_has_a_list(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    return is_same(state, state)


def compares_what_is_wide(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    return precedes(setup, setup)


# Wrong on purpose.
def forgets_to_return(state: Any, action: Any, setup: Any, trail: Any):  # type: ignore[no-untyped-def]  # noqa: RET503
    while state.count == 0:
        state.count = 1
        return True


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (reads_a_verdict, r"verdict is a Verdict, and has no field gard \(did you mean guard\?\)"),
        (replaces_in_a_verdict, r"a Verdict has no field eror \(did you mean error\?\)"),
        (loops_over_a_record, "state.inner is a Inner, and has no elements"),
        (misspells_an_element, r"inner is a Inner, and has no field valu \(did you mean value\?\)"),
        (swaps_names, "other is a Inner, and has no field count"),
        (measures_an_integer, "state.count is an integer, and has no elements"),
        (compares_records, "state.inner is a Inner where an integer is wanted"),
        (exchanges_integers, "an integer is taken for a record. Legal: two records of one class"),
        (exchanges_arrays, "an array is taken for a record"),
        (compares_two_kinds, "a Inner and a Trail"),
        (compares_what_has_a_list, "a State has a field inner"),
        (compares_what_is_wide, "a Setup has a field value. Legal: .* integers of one byte with a sign"),
        (forgets_to_return, "it can end without a value"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_there_is_refused_before_compilation(step: Callable[..., bool], says: str) -> None:
    with pytest.raises(LoweringError, match=rf"{__file__}:\d+: {step.__name__} cannot be lowered: {says}"):
        followed(model_of(step))


@pytest.mark.parametrize(
    "model",
    [TRANSACTIONS, BETWEEN_BROKERS, ON_REPLICAS, SPARK_SINK, PROPOSAL2014, two_phase_commit(3)],
    ids=lambda model: model.name,
)
def test_the_record_of_every_attribute_is_known(model: Model) -> None:
    """Otherwise a misspelt field could hide behind one that is not followed."""
    found = followed(model)
    assert found.known > 20
    assert found.unknown == 0


def test_there_is_no_other_model_that_nobody_looks_at() -> None:
    models = {scenario.model(scenario.bounds).name.split()[0] for scenario in SCENARIOS.values()}
    of_transactions = {"transactions", "transactions_between_brokers", "transactions_on_replicas"}
    assert models == {*of_transactions, "spark_sink", "proposal2014", "two_phase_commit"}


# ---------------------------------------------------------------- widths


def stores(state: Any, action: int, setup: Setup, trail: Trail) -> bool:
    if state.count == setup.value:
        return False
    state.count = setup.value
    return True


def adds(state: Any, action: int, setup: Setup, trail: Trail) -> bool:
    if state.count == setup.value:
        return False
    state.count += setup.value
    return True


def stores_into_an_array(state: Any, action: int, setup: Setup, trail: Trail) -> bool:
    marks = state.marks
    if marks[1] == setup.value:
        return False
    marks[1] = setup.value
    return True


@pytest.mark.long(
    *("adds-i1", "adds-i2", "adds-u2", "adds-u4"),
    *("stores_into_an_array-i1", "stores_into_an_array-u1", "stores_into_an_array-u2", "stores_into_an_array-i4"),
)
@pytest.mark.sample("stores-u1", "adds-i4", "stores_into_an_array-i2")
@pytest.mark.parametrize("width", RANGES)
@pytest.mark.parametrize("step", [stores, adds, stores_into_an_array], ids=lambda step: step.__name__)
def test_a_value_that_fits_is_kept_and_one_that_does_not_is_told_with_its_field(
    step: Callable[..., bool], width: str
) -> None:
    fields = [("count", int, integer(0, width)), ("marks", list[int], array(int, 2, width))]
    model = model_of(step, make_dataclass("Small", fields, slots=True))
    name = r"marks\[1\]" if step is stores_into_an_array else "count"
    for limit, beyond in zip(RANGES[width], (-1, 1), strict=True):
        assert explore(model, Setup(limit)).distinct == (1 if limit == 0 else 2)
        with pytest.raises(ModelFault, match=rf"does not fit its field .*Small\.{name} is {limit + beyond}"):
            explore(model, Setup(limit + beyond))

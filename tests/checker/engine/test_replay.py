"""Replay and agreement: what both hosts say of a model, and that a host or a model that goes astray is caught."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.engine.hosts import CompiledHost
from zombieproof.checker.engine.lowering import LoweringError
from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.replay import (
    ActionDisabled,
    HostsDisagree,
    ModelFault,
    agree_everywhere,
    replay,
)
from zombieproof.checker.engine.walking import wander

Houses = Callable[..., Any]
Variants = Callable[..., Model]


def test_a_replay_tells_each_step(coins: Model, house: Houses) -> None:
    steps = replay(coins, house(), [0, 2, 0])
    assert [step.text for step in steps] == [
        "a coin on heap 0, which has 0",
        "a coin on heap 2, which has 0",
        "a coin on heap 0, which has 1",
    ]
    assert [step.after.heaps for step in steps] == [[1, 0, 0], [1, 0, 1], [2, 0, 1]]
    assert steps[1].before is steps[0].after
    assert (steps[2].trail.moves[0].state, steps[2].trail.moves[0].event) == (1, 0)


def test_a_counterexample_replays_to_the_state_that_breaks_the_promise(coins: Model, house: Houses) -> None:
    violated = explore(coins, house(forbidden_sum=5)).violated
    assert violated is not None
    assert violated.actions is not None
    assert sum(replay(coins, house(), violated.actions)[-1].after.heaps) == 5


def test_a_replay_of_a_disabled_action_says_what_is_enabled(coins: Model, house: Houses) -> None:
    with pytest.raises(ActionDisabled, match=r"coins, step 2: action 1 is disabled; enabled here: \[0, 2\]"):
        replay(coins, house(most=1), [1, 1])


@pytest.mark.parametrize("unknown", [-1, 3])
def test_a_replay_of_an_unknown_action_says_which_there_are(coins: Model, house: Houses, unknown: int) -> None:
    with pytest.raises(ActionDisabled, match=rf"coins, step 1: action {unknown} is unknown; give 0 to 2"):
        replay(coins, house(), [unknown])


@pytest.mark.parametrize("setup", [{}, {"sorted": 1}, {"room": 2}, {"forbidden_sum": 5}, {"wanted_sum": 99}])
def test_both_hosts_agree_everywhere(coins: Model, house: Houses, setup: dict[str, int]) -> None:
    exact = agree_everywhere(coins, house(most=4, **setup))
    found = explore(coins, house(most=4, **setup), promises=["no_heap_is_negative"])
    assert (exact.distinct, exact.generated, exact.depth) == (found.distinct, found.generated, found.depth)
    assert exact.broken == ({"the_sum_is_allowed"} if "forbidden_sum" in setup else set())
    assert exact.satisfied == (set() if "wanted_sum" in setup else {"the_sum_is_reached"})


def test_agreement_can_be_limited(coins: Model, house: Houses) -> None:
    assert 30 <= agree_everywhere(coins, house(most=7), max_states=30).distinct < 512


def test_fingerprints_tell_states_apart(coins: Model, house: Houses) -> None:
    states = agree_everywhere(coins, house(most=3)).states
    host = CompiledHost(coins, house())
    assert len({host.fingerprint(state) for state in states}) == len(states) == 64


# --- hosts and models that go astray ---


class Compiled(CompiledHost):
    """A compiled host that lies about one thing."""

    def step(self, state: bytes, action: int) -> tuple[bytes | None, bytes]:
        after, trail = super().step(state, action)
        if action == 1 and after is not None and after[0] == 2:
            return LIES[self.lie](after, trail)
        return after, trail

    def judge(self, state: bytes) -> tuple[list[bool], int]:
        holds, code = super().judge(state)
        if state[0] == 1 and self.lie == "promise":
            return [not holds[0], *holds[1:]], code
        return holds, 3 if self.lie == "bound" else code

    lie = ""


LIES: dict[str, Callable[[bytes, bytes], tuple[bytes | None, bytes]]] = {
    "state": lambda after, trail: (after[:2] + b"\x07" + after[3:], trail),
    "disabled": lambda after, trail: (None, trail),
    "trail": lambda after, trail: (after, b"\x02" + trail[1:]),
    "promise": lambda after, trail: (after, trail),
    "bound": lambda after, trail: (after, trail),
}


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ("state", r"coins, level 2: action 1 leads to different states: heaps\[2\] is 0 and 7"),
        ("disabled", "coins, level 2: action 1 is enabled interpreted and disabled compiled"),
        ("trail", "coins, level 2: action 1 leaves different trails: count is 1 and 2"),
        ("promise", "the_sum_is_allowed is True interpreted and False compiled"),
        ("bound", "bound_hit is 0 interpreted and 3 compiled"),
    ],
)
def test_a_host_that_differs_is_caught(
    coins: Model, house: Houses, monkeypatch: pytest.MonkeyPatch, lie: str, message: str
) -> None:
    monkeypatch.setattr("zombieproof.checker.engine.replay.CompiledHost", Compiled)
    monkeypatch.setattr(Compiled, "lie", lie)
    with pytest.raises(HostsDisagree, match=message):
        agree_everywhere(coins, house())


# One model that goes astray in four ways, because each model takes seconds to compile; `most` says which.
CHANGES_WHEN_DISABLED, REACHES_TOO_FAR, TURNS, SPENDS = 101, 102, 103, 104


def stray_step(state: Any, action: int, house: Any, trail: Any) -> Any:
    if house.most == REACHES_TOO_FAR:
        state.heaps[0] += 1
        state.heaps[state.heaps[0]] = 0
        return True
    state.heaps[action] += 1
    return house.most != CHANGES_WHEN_DISABLED or state.heaps[action] < 4


def stray_normalise(state: Any, house: Any) -> None:
    if house.most == TURNS:
        first = state.heaps[0]
        state.heaps[0] = state.heaps[1]
        state.heaps[1] = first


def stray_promise(state: Any, house: Any) -> bool:
    if house.most == SPENDS:
        state.heaps[1] = 9
    return True


@pytest.fixture(scope="module")
def stray(variant: Variants) -> Model:
    """A model that breaks the rules for models."""
    promise = Promise("spends", "always", stray_promise)
    return variant(step=stray_step, normalise=stray_normalise, promises=(promise,))


def stores_a_record(state: Any, action: int, house: Any, trail: Any) -> bool:
    trail.moves[0] = trail.moves[1]
    return True


def leaves_out_full_heaps(state: Any, house: Any, part: int) -> int:
    found = 0
    for heap in range(len(state.heaps)):
        if state.heaps[heap] < house.most:
            found |= 1 << heap
    return found


def leaves_out_the_second_heap(state: Any, house: Any, part: int) -> int:
    return ~2


def leaves_out_all(state: Any, house: Any, part: int) -> int:
    return 0


def test_what_a_model_leaves_out_is_not_tried_and_changes_no_count(coins: Model, house: Houses) -> None:
    short = replace(coins, worth_trying=leaves_out_full_heaps)
    setup = house(most=4)
    found, expected = explore(short, setup), explore(coins, setup)
    assert (found.distinct, found.generated, found.depth) == (expected.distinct, expected.generated, expected.depth)
    assert agree_everywhere(short, setup).distinct == expected.distinct
    assert wander(short, setup, steps=1000).generated == 1000


@pytest.mark.parametrize(("leaves_out", "action"), [(leaves_out_the_second_heap, 1), (leaves_out_all, 0)])
def test_a_model_that_leaves_out_what_is_enabled_is_caught(
    coins: Model, house: Houses, leaves_out: Callable[..., int], action: int
) -> None:
    careless = replace(coins, worth_trying=leaves_out)
    assert explore(careless, house(most=4)).depth <= 12  # it ends
    with pytest.raises(ModelFault, match=f"coins: action {action} is enabled, but worth_trying leaves it out"):
        agree_everywhere(careless, house(most=4))


def writes_what_is_not_there(state: Any, action: int, house: Any, trail: Any) -> bool:
    state.colour = 1
    return True


def reads_what_is_not_there(state: Any, action: int, house: Any, trail: Any) -> bool:
    return state.colour == 1  # type: ignore[no-any-return]  # the state is untyped here


def holds_two_things(state: Any, action: int, house: Any, trail: Any) -> bool:
    heap = 0
    if state.heaps[0] == 0:
        heap = state.heaps
    return heap == 0


def has_three_parameters(state: Any, action: int, house: Any) -> bool:
    return False


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (CHANGES_WHEN_DISABLED, r"action 0 is disabled but has changed the state: heaps\[0\] is 3 and 4"),
        (TURNS, r"after action 0 the normal form has another normal form: heaps\[0\] is 0 and 1"),
        (SPENDS, r"a promise has changed the state, compiled: heaps\[1\] is 0 and 9"),
    ],
)
def test_a_model_that_breaks_the_rules_for_models_is_caught(
    stray: Model, house: Houses, way: int, message: str
) -> None:
    with pytest.raises(ModelFault, match=message):
        agree_everywhere(stray, house(most=way))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_index_outside_its_array_is_caught_with_the_way_there(stray: Model, house: Houses, workers: int) -> None:
    with pytest.raises(ModelFault, match=r"outside its array in the last of the actions \[0, 0, 0\]"):
        explore(stray, house(most=REACHES_TOO_FAR), workers=workers)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (stores_a_record, r"trail\.moves\[1\] is a Move where an integer is wanted"),
        (
            writes_what_is_not_there,
            r"writes_what_is_not_there cannot be lowered: state is a Coins, and has no field colour",
        ),
        (
            reads_what_is_not_there,
            r"reads_what_is_not_there cannot be lowered: state is a Coins, and has no field colour",
        ),
        (holds_two_things, r"test_replay\.py:\d+: coins cannot be compiled: heap is of two kinds"),
        (has_three_parameters, r"coins: step has 3 parameters\. Legal: 4, \(state, action, setup, trail\)\."),
    ],
)
def test_a_step_that_cannot_be_compiled_is_refused(
    variant: Variants, house: Houses, step: Callable[..., bool], message: str
) -> None:
    with pytest.raises(LoweringError, match=message):
        explore(variant(step=step), house())


def test_more_than_can_be_numbered_is_refused(variant: Variants, house: Houses) -> None:
    with pytest.raises(ValueError, match="coins has 0 actions and 3 promises; an engine takes 1 to 65536 actions"):
        explore(variant(actions=0), house())

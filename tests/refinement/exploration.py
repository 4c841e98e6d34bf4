"""Breadth first through the twins of a scenario, each step beside the checker's; and through the checker alone."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.bridge.beginning import first_twin
from zombieproof.bridge.steps import may_try, step
from zombieproof.bridge.twin import Twin, copied
from zombieproof.checker.engine.hosts import difference
from zombieproof.checker.engine.layout import Layout, layout_of
from zombieproof.checker.engine.model import Model
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, TRANSACTIONS, travels
from zombieproof.checker.transactions.narration import describe
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.rules import Rules

LAYOUT, BETWEEN = layout_of(State), layout_of(State, BETWEEN_BROKERS.sizes)


NO_ACTS: frozenset[Action] = frozenset()


def layout_for(state: State) -> Layout:
    """How a state is packed: with or without room for what travels between brokers."""
    return BETWEEN if state.lanes else LAYOUT


def pack(state: State) -> bytes:
    """A state as the checker packs it."""
    return layout_for(state).pack(state)


def model_of(setup: Setup) -> Model:
    """The checker's model of a scope."""
    return BETWEEN_BROKERS if travels(setup.bounds, setup.budget) else TRANSACTIONS


class Differs(AssertionError):
    """The live system does what the checker does not, or the other way round; the message names the first leaf."""


@dataclass(slots=True)
class Explored:
    """What was reached: packed states, how many transitions were taken, and how many of each kind."""

    states: set[bytes] = field(default_factory=set)
    transitions: int = 0
    kinds: dict[Action, int] = field(default_factory=dict)

    def count(self, action: int) -> None:
        """One transition more."""
        kind = Action(ACTIONS[action][0])
        self.transitions += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1


def reachable(setup: Setup, *, without: frozenset[Action] = NO_ACTS) -> Explored:
    """Every state that the checker reaches, interpreted; `without` are actions that it is not to take."""
    first = model_of(setup).initial(setup)
    found = Explored({pack(first)})
    frontier = [first]
    while frontier:
        following = []
        for state in frontier:
            for action, after in checked_steps(state, setup, without):
                found.count(action)
                packed = pack(after)
                if packed not in found.states:
                    found.states.add(packed)
                    following.append(after)
        frontier = following
    return found


def checked_steps(state: State, setup: Setup, without: frozenset[Action]) -> Iterator[tuple[int, State]]:
    """The actions that the checker allows in a state, and where they lead."""
    after, trail = copied(state), Trail()
    for action in range(model_of(setup).actions):
        if Action(ACTIONS[action][0]) not in without and TRANSACTIONS.step(after, action, setup, trail):
            assert not after.overflow, "the scenario is too large for the checker's record"
            TRANSACTIONS.normalise(after, setup)
            yield action, after
            after, trail = copied(state), Trail()


def live_steps(twin: Twin, without: frozenset[Action]) -> Iterator[tuple[int, Twin]]:
    """The actions that the live system allows, and where they lead."""
    twin.freeze()
    after: Twin | None = None
    for action in range(len(ACTIONS)):
        if Action(ACTIONS[action][0]) in without or not may_try(twin, action):
            continue
        after = after or twin.clone()
        if step(after, action):
            after.refresh()
            yield action, after
            after = None
        elif not twin.equals(after):
            after = None


def live_reachable(setup: Setup, rules: Rules | None = None, *, without: frozenset[Action] = NO_ACTS) -> Explored:
    """Every projected state that the live system reaches; `without` are actions that it is not to take."""
    return _explore_live(first_twin(setup, rules), without, 1, lambda twin, way: None)


def refined(
    setup: Setup,
    rules: Rules | None = None,
    *,
    without: frozenset[Action] = NO_ACTS,
    without_live: frozenset[Action] = NO_ACTS,
    without_checked: frozenset[Action] = NO_ACTS,
    ways: int = 1,
) -> Explored:
    """The same, each step compared with the checker's.

    Args:
        rules: of the live system, the checker's by default.
        without: actions that neither side takes, `without_live` and `without_checked` that one of them does not.
        ways: a state that is reached in several ways is expanded from so many of them: what is left out may not count.

    Raises:
        Differs: from some state the live system and the checker do not take the same steps.
    """
    checked = without | without_checked
    first = first_twin(setup, rules)
    return _explore_live(
        first, without | without_live, ways, lambda twin, way: _Expected(twin.state, way, setup, checked)
    )


class _Expected:
    """The steps that the checker takes from a state, until the live system has taken them."""

    def __init__(self, state: State, way: tuple[int, ...], setup: Setup, without: frozenset[Action]) -> None:
        self.state, self.way, self.setup = state, way, setup
        self.left = {action: pack(after) for action, after in checked_steps(state, setup, without)}

    def take(self, action: int, reached: bytes) -> None:
        """The live system takes an action, and has reached a state."""
        expected = self.left.pop(action, None)
        if expected is None:
            raise Differs(self._story(action, "the live system does it, the checker does not"))
        if expected != reached:
            where = difference(layout_for(self.state), expected, reached)
            raise Differs(self._story(action, f"the checker and the live system differ: {where}"))

    def end(self) -> None:
        """The live system has taken every action that it can."""
        if self.left:
            raise Differs(self._story(min(self.left), "the checker does it, the live system does not"))

    def _story(self, action: int, says: str) -> str:
        """What happened until then, as the checker tells it."""
        state, lines = TRANSACTIONS.initial(self.setup), list[str]()
        for taken in (*self.way, action):
            lines.append(f"{Action(ACTIONS[taken][0]).name}: {describe(state, taken, self.setup)}")
            TRANSACTIONS.step(state, taken, self.setup, Trail())
            TRANSACTIONS.normalise(state, self.setup)
        return "\n  ".join([says, *lines])


def _explore_live(
    first: Twin, without: frozenset[Action], ways: int, compare: Callable[[Twin, tuple[int, ...]], _Expected | None]
) -> Explored:
    found, arrivals = Explored({pack(first.state)}), {pack(first.state): 1}
    frontier: list[tuple[Twin, tuple[int, ...], bool]] = [(first, (), True)]
    while frontier:
        following = []
        for twin, way, is_first in frontier:
            expected = compare(twin, way)
            for action, after in live_steps(twin, without):
                reached = pack(after.state)
                if expected is not None:
                    expected.take(action, reached)
                if is_first:
                    found.count(action)
                arrivals[reached] = arrivals.get(reached, 0) + 1
                if arrivals[reached] <= ways:
                    following.append((after, (*way, action), reached not in found.states))
                    found.states.add(reached)
            if expected is not None:
                expected.end()
        frontier = following
    return found


class Walk(NamedTuple):
    """How many steps a walk has, and the kinds of all steps that were compared on it."""

    steps: int
    kinds: frozenset[Action]


def walked(setup: Setup, seed: int, *, without: frozenset[Action] = NO_ACTS) -> Walk:
    """A random walk until nothing can be done any more: every step from every state on the way is compared.

    Raises:
        Differs: as `refined`.
    """
    chance, twin = random.Random(seed), first_twin(setup)
    way, kinds = tuple[int, ...](), set[Action]()
    while True:
        expected, following = _Expected(twin.state, way, setup, without), []
        for action, after in live_steps(twin, without):
            expected.take(action, pack(after.state))
            following.append((action, after))
            kinds.add(Action(ACTIONS[action][0]))
        expected.end()
        if not following:
            return Walk(len(way), frozenset(kinds))
        action, twin = chance.choice(following)
        way = (*way, action)

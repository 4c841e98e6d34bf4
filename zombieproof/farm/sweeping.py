"""A sweep: small combinations of a scenario's constants, the cheapest first, until time is up.

Combinations are places of a lattice: each step up makes one constant take its next value. A place is explored when all
places below it hold. So what is left at the end has smallest elements, which say what was never tried: "failovers never
above 1", "lost=2 never together with crashes=1". How many states a place has is estimated from those below it: what a
step in the same direction made of the number of states beside it, or below it.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from zombieproof.checker.registered import registered
from zombieproof.checker.request import Request, chosen
from zombieproof.checker.scenario import Scenario, UnknownBound
from zombieproof.checker.validation import MOST
from zombieproof.farm.expanding import GROWTH

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked

Place = tuple[int, ...]
"""For each constant the index of its value."""

_FIRST_STATES: Final = 1_000.0
"""About how many states there are at the lowest place."""


class NothingToSweep(ValueError):
    """A scenario has no constants that could be swept over."""


@dataclass(frozen=True)
class Space:
    """The combinations of one scenario.

    Attributes:
        scenario: it judges what no behaviour may break: with fewer faults less is reached, and that breaks nothing.
        request: rules, mutant and limits of every exploration.
        axes: for each constant its values, in the order in which they are tried.
        broken: places where a promise was seen broken that is known to be; there and above it is not judged any more.
    """

    scenario: Scenario
    request: Request
    axes: Mapping[str, tuple[int, ...]]
    broken: list[tuple[Place, str]] = field(default_factory=list, compare=False)

    def bounds(self, place: Place) -> dict[str, int]:
        """The values of the constants at a place."""
        return {name: values[at] for (name, values), at in zip(self.axes.items(), place, strict=True)}

    @property
    def lowest(self) -> Place:
        """Where a sweep begins."""
        return (0,) * len(self.axes)

    def above(self, place: Place) -> Iterator[Place]:
        """The places one step up, where a constant has its next value; not all of them need be legal."""
        for axis, values in enumerate(self.axes.values()):
            higher = (*place[:axis], place[axis] + 1, *place[axis + 1 :])
            if higher[axis] < len(values):
                yield higher

    def is_legal(self, place: Place) -> bool:
        """Whether the scenario takes these values."""
        try:
            _, bounds = chosen(self.scenario, self.request_at(place))
            self.scenario.model(bounds)
            self.scenario.setup(self.scenario.own_rules(), bounds)
        except UnknownBound:
            return False
        return True

    def scenario_at(self, place: Place) -> Scenario:
        """The scenario with the promises that are owed at a place, whatever the faults there."""
        owed = self.scenario.owed_within({**(self.request.bounds or {}), **self.bounds(place)})
        return owed.without({name for lower, name in self.broken if _is_below(lower, place)})

    def why_broken(self, place: Place, promise: str) -> str:
        """Why a promise breaks at a place, if that is known of the faults there and no rule was changed; else ""."""
        asked = self.request
        if asked.rules or asked.on or asked.off or asked.mutant:
            return ""
        rules, bounds = chosen(self.scenario, self.request_at(place))
        story = registered(self.scenario, rules, bounds, promise)
        return "" if story is None else story.why

    def request_at(self, place: Place) -> Request:
        """What is asked at a place."""
        bounds = {**(self.request.bounds or {}), **self.bounds(place)}
        return replace(self.request, bounds=bounds)


def below(place: Place) -> Iterator[Place]:
    """The places one step down."""
    for axis, at in enumerate(place):
        if at:
            yield (*place[:axis], at - 1, *place[axis + 1 :])


def _changed(one: Place, other: Place) -> Iterator[int]:
    """The constants in which two places differ."""
    return (axis for axis, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def space_of(scenario: Scenario, request: Request, values: Mapping[str, tuple[int, ...]]) -> Space:
    """The combinations of a scenario: of the values that were given, else of all its faults, from 0 on.

    Raises:
        NothingToSweep: no values were given, and no bound of it is a fault.
        UnknownBound: the lowest of the values given cannot be.
    """
    axes = dict(values)
    if not axes:
        axes = {name: tuple(range(MOST + 1)) for name in scenario.faults if name in scenario.bounds}
    if not axes:
        raise NothingToSweep(
            f"{scenario.name}: none of its bounds is a fault; name a bound to sweep over, such as "
            f"--bound {next(iter(scenario.bounds), 'NAME')}=1..4"
        )
    space = Space(replace(scenario, sometimes=()), request, axes)
    if not values:
        # A fault that means something only beside a choice which the scenario does not make is none here.
        possible = {next(_changed(space.lowest, place)) for place in space.above(space.lowest) if space.is_legal(place)}
        space = replace(space, axes={name: each for at, (name, each) in enumerate(axes.items()) if at in possible})
    rules, bounds = chosen(scenario, space.request_at(space.lowest))
    scenario.model(bounds)
    scenario.setup(rules, bounds)
    return space


@dataclass(frozen=True)
class Explored:
    """A combination that was explored, and what came out."""

    space: Space
    place: Place
    checked: Checked

    @property
    def verdict(self) -> str:
        """It is "holds", "violated" or "inconclusive"."""
        return self.checked.result.verdict

    @property
    def promise(self) -> str:
        """The promise that is broken, "" if none is."""
        violated = self.checked.result.violated if self.verdict == "violated" else None
        return violated.promise if violated else ""

    @property
    def why_known(self) -> str:
        """Why it breaks what it breaks, if that is known; else ""."""
        return self.space.why_broken(self.place, self.promise) if self.promise else ""

    @property
    def distinct(self) -> int:
        """Distinct states."""
        return self.checked.result.distinct


@dataclass(frozen=True)
class Left:
    """A combination that was not explored to its end though all below it were: about how many seconds it would take."""

    space: Space
    place: Place
    seconds: float


@dataclass
class Swept:
    """What came of a sweep: what was explored in its order, the smallest of what was not, what is known to break."""

    spaces: Sequence[Space]
    explored: list[Explored] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    known: list[Explored] = field(default_factory=list)
    interrupted: bool = False

    def of(self, space: Space) -> list[Explored]:
        """What was explored of a space."""
        return [one for one in self.explored if one.space is space]

    def largest(self, space: Space) -> list[Explored]:
        """Those that hold and are below none that holds; one step is enough, since all below what holds do."""
        holding = [one for one in self.of(space) if one.verdict == "holds"]
        covered = {lower for one in holding for lower in below(one.place)}
        return [one for one in holding if one.place not in covered]

    def never_above(self, space: Space) -> dict[str, int | None]:
        """For each constant the greatest value in a combination that was explored to its end; None: there was none."""
        ended = [one.place for one in self.of(space) if one.verdict != "inconclusive"]
        return {
            name: max((values[place[axis]] for place in ended), default=None)
            for axis, (name, values) in enumerate(space.axes.items())
        }

    def idle_above(self, space: Space) -> dict[str, int]:
        """Constants that made no difference from some value on, where they were greater: that value.

        A greater one had, beside whatever else, as many states.
        """
        counts = {one.place: one.distinct for one in self.of(space) if one.verdict == "holds"}
        found = {}
        for axis, (name, values) in enumerate(space.axes.items()):
            steps = [
                (place[axis] - 1, counts[place] == counts[lower])
                for place in counts
                for lower in below(place)
                if lower[axis] < place[axis] and lower in counts
            ]
            changed = max((at + 1 for at, is_idle in steps if not is_idle), default=0)
            if any(at >= changed for at, _ in steps):
                found[name] = values[changed]
        return found


def _is_below(one: Place, other: Place) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


Explore = Callable[[Space, Place, float], "Checked | None"]
"""Explores a combination within so many seconds; None if time was up before its end."""


def sweep(spaces: Sequence[Space], explore: Explore, seconds: float) -> Swept:
    """Explore combinations of all spaces, the cheapest first, for so many seconds; compilation is not counted.

    What is above a combination that is violated or inconclusive is not explored, and a constant that made no difference
    with its last step is not taken further there. A promise that is known to break where it does is told, and not
    judged from there on. An exploration is not begun that would take longer than what is left. Ctrl-C ends the sweep;
    what was found is there.
    """
    return _Sweep(spaces, explore, seconds).run()


class _Sweep:
    def __init__(self, spaces: Sequence[Space], explore: Explore, seconds: float) -> None:
        self.swept = Swept(spaces)
        self.explore, self.seconds = explore, seconds
        self.compiling = 0.0
        self.counts: dict[tuple[int, Place], int] = {}
        self.rate = 0.0
        self.order = itertools.count()
        self.waiting: list[tuple[float, int, int, int, Place]] = []
        for number, space in enumerate(spaces):
            self._wait(number, space.lowest)

    def run(self) -> Swept:
        try:
            while self.waiting:
                states, *_, number, place = self.waiting[0]
                if self._seconds_for(states) > self.seconds:
                    break
                heapq.heappop(self.waiting)
                began, self.compiling = time.perf_counter(), 0.0
                goes_on = self._explore(number, place)
                self.seconds -= time.perf_counter() - began - self.compiling
                if not goes_on:
                    break
        except KeyboardInterrupt:
            self.swept.interrupted = True
        for states, *_, number, place in sorted(self.waiting):
            self.swept.left.append(Left(self.swept.spaces[number], place, self._seconds_for(states)))
        return self.swept

    def _explore(self, number: int, place: Place) -> bool:
        """Explore a place; False if the sweep is to end."""
        space = self.swept.spaces[number]
        checked = self.explore(space, place, self.seconds)
        if checked is None:
            self._wait(number, place)
            return False
        result = checked.result
        self.compiling = result.compile_seconds
        if result.interrupted:
            self._wait(number, place)
            self.swept.interrupted = True
            return False
        found = Explored(space, place, checked)
        if found.why_known:
            self.swept.known.append(found)
            space.broken.append((place, found.promise))
            self._wait(number, place)
            return True
        self.swept.explored.append(found)
        if result.verdict == "holds":
            self.counts[number, place] = result.distinct
            self.rate = max(self.rate, result.distinct / max(result.seconds, 1e-3))
            for higher in space.above(place):
                # Whether it is legal takes longest to say: a setup is made for that.
                if all(self._leads_on(number, lower, higher) for lower in below(higher)) and space.is_legal(higher):
                    self._wait(number, higher)
        return True

    def _leads_on(self, number: int, place: Place, higher: Place) -> bool:
        """Whether a place holds, and its last step in the same direction changed something: else the next will not."""
        if (number, place) not in self.counts:
            return False
        axis = next(_changed(place, higher))
        lower = (*place[:axis], place[axis] - 1, *place[axis + 1 :])
        return self.counts.get((number, lower)) != self.counts[number, place]

    def _wait(self, number: int, place: Place) -> None:
        heapq.heappush(self.waiting, (self._states(number, place), sum(place), next(self.order), number, place))

    def _seconds_for(self, states: float) -> float:
        return states / self.rate if self.rate else 0.0

    def _states(self, number: int, place: Place) -> float:
        """About how many states there are at a place of which all below are known."""
        found = [_FIRST_STATES] if not any(place) else []
        for lower in below(place):
            # One step in the same direction from the side of `lower`, or from below it.
            growths = []
            for start in below(lower):
                end = tuple(at + high - low for at, high, low in zip(start, place, lower, strict=True))
                if (number, end) in self.counts and (number, start) in self.counts:
                    growths.append(self.counts[number, end] / self.counts[number, start])
            found.append(self.counts[number, lower] * max(growths, default=float(GROWTH)))
        return max(found)

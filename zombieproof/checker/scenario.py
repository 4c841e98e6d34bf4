"""A scenario: a small system with a story, the faults that may happen, and what must hold. Scenarios are data.

A scenario holds when every reachable state keeps every *always* promise and, where nothing more can happen but new
faults, every *at rest* promise, when every *sometimes* promise is reached, and no capacity of the record was. Each has
mutants: the same system with one rule removed, the promise that then breaks, and the length of the shortest way there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zombieproof.checker.engine.model import Model
from zombieproof.checker.transactions.budget import FAULTS
from zombieproof.checker.validation import MOST, ScenarioFault, check_mutant, check_scenario
from zombieproof.model.known_defects import KNOWN_DEFECTS
from zombieproof.model.rules import NUMBERS, Rules, preset, with_switches


def options_of_changes(changes: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """What `--with` and `--without` take to change fields of `Rules` like this."""
    on = [f"{name}={value}" if name in NUMBERS else name for name, value in changes.items() if name in NUMBERS or value]
    return on, [name for name, value in changes.items() if name not in NUMBERS and not value]


def rules_in_words(preset_name: str, on: Sequence[str], off: Sequence[str]) -> str:
    """Rules in words: a preset, and what was switched on and off."""
    words = preset_name
    words += f" with {', '.join(on)}" if on else ""
    return words + (f" without {', '.join(off)}" if off else "")


class UnknownBound(ScenarioFault):
    """A bound that the scenario does not have, or a value that it cannot have."""


def _go_together(name: str, bounds: Mapping[str, int]) -> None:
    """Any bounds go together."""


@dataclass(frozen=True)
class Terms:
    """What a protocol says of the bounds of its scenarios.

    Attributes:
        on_or_off: those that are 0 or 1.
        renamed: what one was called -> what it is called.
        not_owed_with: fault -> promises that nobody gives where it happens.
        refuse: the name of a scenario, its bounds -> nothing. Raises UnknownBound: they do not go together.
    """

    on_or_off: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    not_owed_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refuse: Callable[[str, Mapping[str, int]], None] = _go_together


@dataclass(frozen=True)
class Mutant:
    """A scenario with rules removed; or as it is, where Kafka's own rules break a promise (`known`).

    Attributes:
        name: what is wrong, in words joined by underscores.
        without: switches of `Rules` that are off; `changes` sets other fields of `Rules`, `bounds` bounds.
        breaks: the promise that breaks (the only one that a run of the mutant judges).
        steps: the length of the shortest counterexample.
        bug: the entry of the list of published bugs that this is, if it is one.
        rules: the preset to start from, if not the scenario's own.
        known: what is known of it, if Kafka's newest release breaks the promise: nothing is taken away, or only a rule
            that this release does not have. Where `bounds` are given it is broken under these.

    Raises:
        ScenarioFault: it names a rule or preset that does not exist, or a value that cannot be.
    """

    name: str
    breaks: str
    steps: int
    without: tuple[str, ...] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    bug: str = ""
    rules: str = ""
    known: str = ""

    def __post_init__(self) -> None:
        check_mutant(self)

    @property
    def releases(self) -> str:
        """The releases that were seen to have its bug, in words; "" if it has no number, or no release was tested."""
        return next((each.releases for each in KNOWN_DEFECTS if each.bug == self.bug), "")


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        name: what it is called on the command line.
        story: what happens, in about three sentences.
        rules: the preset of rules under which it holds; `changes` sets fields of those `Rules`.
        bounds: name -> value; what `--bounds` may change.
        always, sometimes, at_rest, leads_to: names of promises.
        mutants: what breaks it, and what is broken as it is.
        model: bounds -> the model; `setup`: rules, bounds -> what is constant during a run.
        distinct: the number of distinct states, pinned; 0 while it is not.
        origin: the file that it was read from, as it was named; "" for those that are registered.
        faults: which bounds say how often something may go wrong; those with the names of Kafka's faults by default.
        readings: which bounds are switches, 1 or 0, of the model's own rules: `--with` and `--without` set them.
        terms: what its protocol says of bounds.

    Raises:
        ScenarioFault: it names a promise, rule or preset that does not exist, or a value that cannot be.
    """

    name: str
    story: str
    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    bounds: Mapping[str, int]
    model: Callable[[Mapping[str, int]], Model]
    setup: Callable[[Rules, Mapping[str, int]], object]
    distinct: int = 0
    mutants: tuple[Mutant, ...] = ()
    rules: str = "newest"
    changes: Mapping[str, int] = field(default_factory=dict)
    origin: str = ""
    faults: tuple[str, ...] = FAULTS
    at_rest: tuple[str, ...] = ()
    leads_to: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    terms: Terms = Terms()

    def __post_init__(self) -> None:
        check_scenario(self)

    @property
    def kept(self) -> tuple[str, ...]:
        """The promises that no behaviour may break: always, at rest, and what it leads to."""
        return (*self.always, *self.at_rest, *self.leads_to)

    def not_owed(self, bounds: Mapping[str, int]) -> set[str]:
        """The promises that nobody gives within these bounds, because of their faults."""
        return {name for fault, promises in self.terms.not_owed_with.items() if bounds.get(fault) for name in promises}

    def owed_within(self, changed: Mapping[str, int]) -> Scenario:
        """The scenario with the promises that are owed where some of its bounds are changed.

        Raises:
            UnknownBound: as of `own_bounds`.
        """
        return self.without(self.not_owed(self.own_bounds(changed)))

    def without(self, promises: Collection[str]) -> Scenario:
        """The scenario with less to keep."""
        always, at_rest, leads_to = (
            tuple(name for name in names if name not in promises)
            for names in (self.always, self.at_rest, self.leads_to)
        )
        return replace(self, always=always, at_rest=at_rest, leads_to=leads_to)

    def judged(self, promise: str | None) -> tuple[str, ...]:
        """What a story about a promise is judged by: what is kept, and the promise if it is known to be broken."""
        also = [mutant.breaks for mutant in self.mutants if mutant.known and mutant.breaks == promise]
        return (*self.kept, *also)

    @property
    def asked(self) -> str:
        """What it is asked for by on the command line: its name, behind its file if it has one."""
        return f"{self.origin}:{self.name}" if self.origin else self.name

    def mutant(self, name: str) -> Mutant | None:
        """The mutant of that name, if there is one."""
        return next((mutant for mutant in self.mutants if mutant.name == name), None)

    def own_rules(self, preset_name: str = "", mutant: Mutant | None = None) -> Rules:
        """The rules of a run: a preset (the mutant's, the scenario's), the scenario's changes, the mutant's removals.

        Raises:
            UnknownRule: the preset does not exist.
        """
        base = preset(preset_name or (mutant.rules if mutant else "") or self.rules)
        rules = replace(base, **self.changes)
        if mutant is not None:
            rules = with_switches(replace(rules, **mutant.changes), off=mutant.without)
        return rules

    @property
    def rules_in_words(self) -> str:
        """The rules under which it holds, in words: the preset and what differs from it."""
        return rules_in_words(self.rules, *options_of_changes(self.changes))

    def own_bounds(self, changed: Mapping[str, int]) -> dict[str, int]:
        """The scenario's bounds with some of them changed.

        Raises:
            UnknownBound: no such bound, a value outside of 0 to 100 (a field of a state is one signed byte), or one
                of a switch that is neither 0 nor 1.
        """
        for name, value in changed.items():
            if name not in self.bounds:
                legal = ", ".join(self.bounds) or "none"
                renamed = self.terms.renamed.get(name)
                now = f"it is called {renamed} now; " if renamed else ""
                raise UnknownBound(f"{self.name}: there is no bound {name!r}; {now}there are: {legal}", name)
            if name not in self.readings and not 0 <= value <= MOST:
                raise UnknownBound(f"{self.name}: {name}={value} is out of range; give 0 to {MOST}", name)
        own = {**self.bounds, **changed}
        for name in (*self.terms.on_or_off, *self.readings):
            if own.get(name, 0) not in (0, 1):
                raise UnknownBound(f"{self.name}: {name}={own[name]} is neither off nor on; give 0 or 1", name)
        self.terms.refuse(self.name, own)
        return own

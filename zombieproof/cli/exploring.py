"""Turn command-line options into explorations: scenarios, rules and bounds, run one after another."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from zombieproof.checker import request as asking
from zombieproof.checker.engine.folder import EVERY_SECONDS, FolderRefused, Keeping
from zombieproof.checker.engine.places import MOST_SEED, MOST_THREADS
from zombieproof.checker.request import Request, Walks
from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli.naming import scenarios_chosen
from zombieproof.cli.usage import WrongUsage, known
from zombieproof.cli.watching import Watch, watching
from zombieproof.model.rules import NUMBERS, PRESETS, Rules, UnknownRule, switches, with_switches
from zombieproof.report.runs import Run, run_of
from zombieproof.report.screen import Screen

if TYPE_CHECKING:
    from zombieproof.checker.checking import Checked
    from zombieproof.checker.turning import Turn
    from zombieproof.report.mutants import Hunt


@dataclass(frozen=True, slots=True)
class Choice:
    """The options that apply to every scenario."""

    rules: str = ""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    mutant: str = ""
    bounds: Mapping[str, int] = field(default_factory=dict)
    workers: int = 1
    memory_bytes: int | None = None
    walks: Walks | None = None
    keeping: Keeping | None = None
    reduce: tuple[str, ...] = ()
    spill: Path | None = None

    def before(self) -> Choice:
        """Return the first side of --compare: without --with and --without, or else --rules and --mutant."""
        if self.on or self.off:
            return replace(self, on=(), off=())
        return replace(self, rules="", mutant="")

    def request(self, scenario: Scenario, mutant: str = "") -> Request:
        """Build the request for one scenario; skip bounds and interpretations of other scenarios."""
        names = {asking.named(rule) for rule in (*self.on, *self.off)}
        others = {name for name in names if name not in scenario.readings and not asking.is_of_kafka(name)}
        on, off = (tuple(rule for rule in rules if asking.named(rule) not in others) for rules in (self.on, self.off))
        return Request(
            rules=self.rules,
            on=on,
            off=off,
            mutant=mutant or self.mutant,
            bounds={name: value for name, value in self.bounds.items() if name in scenario.bounds},
            workers=self.workers,
            memory_bytes=self.memory_bytes,
            walks=self.walks,
            keeping=self.keeping,
            reduce=self.reduce,
            spill=self.spill,
        )


def workers_of(wanted: int | None) -> int:
    """Return the number of threads: one by default; a warning on stderr if it is capped.

    Two threads take about three fifths of the time of one, and a little more CPU time (docs/engine-workers.md). A
    fifth of the work is serial, so more than four threads wait for each other. The default is one, because large runs
    explore several scenarios in parallel.

    Raises:
        WrongUsage: it is not positive.
    """
    if wanted is None:
        return 1
    if wanted < 1:
        raise WrongUsage(f"--workers {wanted}: give 1 or more threads")
    if wanted > MOST_THREADS:
        Screen(sys.stderr).say(
            f"--workers {wanted}: an exploration uses at most {MOST_THREADS} threads; using {MOST_THREADS}"
        )
    return min(wanted, MOST_THREADS)


def walks_of(amount: str, seed: int | None, *, swarm: bool = False) -> Walks | None:
    """Parse --simulate, --seed and --swarm: "30" or "30s" are seconds, "2000000steps" are steps; "": no simulation.

    Raises:
        WrongUsage: the amount is not valid, or --seed or --swarm is given alone.
    """
    if not amount:
        if swarm:
            raise WrongUsage("--swarm needs --simulate: add --simulate SECONDS")
        if seed is not None:
            raise WrongUsage(f"--seed {seed} needs --simulate: add --simulate SECONDS")
        return None
    if seed is not None and not 0 <= seed <= MOST_SEED:
        raise WrongUsage(f"--seed {seed}: give 0 to {MOST_SEED}")
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)\s*s?|(\d{1,15})\s*steps", amount.strip(), re.ASCII)
    if not found or not float(found[1] or found[2]):
        raise WrongUsage(
            f"--simulate {amount!r} is not a valid amount; give seconds, such as 30, or steps, such as 2000000steps"
        )
    steps, seconds = int(found[2]) if found[2] else None, float(found[1]) if found[1] else None
    return Walks(seed or 0, steps, seconds, swarm)


def keeping_of(folder: Path | None, every: float | None, *, resume: bool) -> Keeping | None:
    """Parse --checkpoint, --checkpoint-every and --resume.

    Raises:
        WrongUsage: one of the others without --checkpoint, or an amount that cannot be.
    """
    if folder is None:
        if every is not None:
            raise WrongUsage(f"--checkpoint-every {every:g} needs --checkpoint: add --checkpoint DIR")
        if resume:
            raise WrongUsage("--resume continues from a checkpoint: give its folder too, --checkpoint DIR --resume")
        return None
    if every is not None and not 0 <= every < math.inf:
        raise WrongUsage(f"--checkpoint-every {every:g}: give a number of seconds; 0 saves after every level")
    return Keeping(folder, EVERY_SECONDS if every is None else every, resume)


def spill_of(folder: Path | None, choice: Choice) -> Path | None:
    """The folder of --spill.

    Raises:
        WrongUsage: another option leaves nothing to spill, or does not work with --spill.
    """
    if folder is not None and choice.keeping is not None:
        raise WrongUsage("--spill and --checkpoint: choose one; spilled states cannot be resumed from")
    if folder is not None and choice.walks is not None:
        raise WrongUsage("--spill and --simulate: choose one; random walks keep no states")
    return folder


def choose(names: Sequence[str], choice: Choice, *, model: str = "") -> list[Scenario]:
    """Return the named scenarios, or all (of a model), after checking every name in the options.

    Raises:
        WrongUsage: a scenario, model, preset, rule, mutant or bound does not exist, or cannot be.
    """
    if choice.rules:
        known("preset of rules", choice.rules, PRESETS, "zombieproof rules")
    chosen = scenarios_chosen(names, SCENARIOS, model)
    for group in _groups(chosen, named=bool(names)):
        _check_rules(group, choice)
    if choice.mutant:
        chosen = _with_mutant(chosen, choice.mutant, named=bool(names))
    _check_bounds(chosen, choice, named=bool(names))
    return chosen


def _groups(scenarios: Sequence[Scenario], *, named: bool) -> list[Sequence[Scenario]]:
    """Group scenarios: an option must fit each named scenario, or, without names, at least one."""
    return [[scenario] for scenario in scenarios] if named else [scenarios]


def _check_rules(group: Sequence[Scenario], choice: Choice) -> None:
    """Check that each rule is one of Kafka's, or an interpretation that one of these scenarios has."""
    readings = list(dict.fromkeys(name for scenario in group for name in scenario.readings))
    legal = [*(facts.name for facts in switches()), *NUMBERS, *readings]
    on, off = ([rule for rule in rules if asking.named(rule) not in readings] for rules in (choice.on, choice.off))
    for rule in (*on, *off):
        name = asking.named(rule)
        having = [scenario.name for scenario in SCENARIOS.values() if name in scenario.readings]
        if name not in legal and having:
            who = f"{group[0].name} has" if len(group) == 1 else "these scenarios have"
            raise WrongUsage(f"{who} no rule {name!r}; it belongs to {', '.join(having)}")
        if "=" not in rule or readings:
            known("rule", name, legal, "zombieproof rules or scenarios NAME" if readings else "zombieproof rules")
    try:
        with_switches(Rules(), on, off)
    except UnknownRule as error:
        raise WrongUsage(str(error)) from error


def _with_mutant(scenarios: Iterable[Scenario], mutant: str, *, named: bool) -> list[Scenario]:
    """Return the scenarios that have the mutant; every named scenario must have it."""
    scenarios = list(scenarios)
    having = [scenario for scenario in scenarios if scenario.mutant(mutant)]
    lacking = [scenario for scenario in scenarios if scenario not in having]
    if not having or (named and lacking):
        where = lacking if named else scenarios
        there_are = [each.name for scenario in where for each in scenario.mutants]
        who = f" of {', '.join(scenario.name for scenario in where)}" if named else ""
        known(f"mutant{who}", mutant, there_are, "zombieproof scenarios")
    return having


def _check_bounds(scenarios: Sequence[Scenario], choice: Choice, *, named: bool) -> None:
    """Check that each bound exists in every named scenario, or, without names, in at least one."""
    for group in _groups(scenarios, named=named):
        there_are = sorted({name for scenario in group for name in scenario.bounds})
        who = f" of {group[0].name}" if named else ""
        for name in choice.bounds:
            known(f"bound{who}", name, there_are, "zombieproof scenarios NAME")
    for scenario in scenarios:
        try:
            rules, own = asking.chosen(scenario, choice.request(scenario))
            with blaming(scenario):
                scenario.model(own)
                scenario.setup(rules, own)
        except (UnknownBound, UnknownRule) as error:
            raise WrongUsage(str(error)) from error


def explore_all(scenarios: Sequence[Scenario], choice: Choice) -> tuple[list[Run], bool]:
    """Explore scenarios one after another; also return whether the user interrupted it."""
    runs: list[Run] = []
    with watching() as watcher:
        try:
            requests = [(scenario, choice.request(scenario)) for scenario in scenarios]
            examine_all(requests)
            for scenario, request in requests:
                with blaming(scenario):
                    runs.append(run_of(_explored(scenario, request, watcher.begin), request))
                if runs[-1].checked.result.interrupted:
                    return runs, True
        except KeyboardInterrupt:
            return runs, True
    return runs, False


def hunt_all(scenarios: Sequence[Scenario], choice: Choice) -> tuple[list[Hunt], bool]:
    """Explore every mutant of the scenarios; also return whether the user interrupted it."""
    from zombieproof.report.mutants import Hunt  # noqa: PLC0415  # it is loaded when it is needed

    hunts: list[Hunt] = []
    with watching() as watcher:
        try:
            examine_all([(each, choice.request(each, mutant.name)) for each in scenarios for mutant in each.mutants])
            for scenario in scenarios:
                for mutant in scenario.mutants:
                    request = choice.request(scenario, mutant.name)
                    with blaming(scenario):
                        checked = _explored(scenario, request, watcher.begin, mutant)
                        if checked.result.interrupted:
                            return hunts, True
                        hunts.append(Hunt(mutant, run_of(checked, request)))
        except KeyboardInterrupt:
            return hunts, True
    return hunts, False


def turn_all(scenarios: Sequence[Scenario], choice: Choice) -> tuple[list[Turn], bool]:
    """Explore with each switch inverted; also return whether the user interrupted it."""
    from zombieproof.checker.turning import turn, worth_turning  # noqa: PLC0415  # Numba is loaded when it is needed

    turns: list[Turn] = []
    with watching() as watcher:
        try:
            for switch, scenario in worth_turning(scenarios):
                watch = watcher.begin(f"{scenario.name}, {switch} inverted", scenario.distinct)
                found = turn(switch, scenario, workers=choice.workers, memory_bytes=choice.memory_bytes, progress=watch)
                turns.append(found)
                if turns[-1].result.interrupted:
                    return turns[:-1], True
        except KeyboardInterrupt:
            return turns, True
    return turns, False


def examine_all(requests: Iterable[tuple[Scenario, Request]]) -> None:
    """Report mistakes in user-defined models before anything is compiled.

    Raises:
        WrongUsage: there is one.
    """
    requests = [(scenario, request) for scenario, request in requests if scenario.origin]
    if not requests:
        return
    from zombieproof.checker.checking import chosen  # noqa: PLC0415  # Numba is loaded when it is needed
    from zombieproof.checker.examination import examine  # noqa: PLC0415  # the same

    for scenario, request in requests:
        with blaming(scenario):
            examine(scenario, *chosen(scenario, request))


@contextlib.contextmanager
def blaming(scenario: Scenario) -> Iterator[None]:
    """Report mistakes in a user-defined model as wrong usage, not as an internal error.

    Raises:
        WrongUsage: there is one; the message says where it is and what would be legal.
    """
    try:
        yield
    except (WrongUsage, UnknownBound):
        raise
    except FolderRefused as error:
        raise WrongUsage(str(error)) from error
    except Exception as error:
        from zombieproof.checker.examination import blame  # noqa: PLC0415  # it is loaded when it is needed
        from zombieproof.traces.trace import TraceError  # noqa: PLC0415  # the same

        said = "" if isinstance(error, TraceError) else blame(error, scenario)
        if not said:
            raise
        raise WrongUsage(said) from error


def _explored(
    scenario: Scenario, request: Request, begin: Callable[[str, int | None], Watch], mutant: Mutant | None = None
) -> Checked:
    from zombieproof.checker.checking import check  # noqa: PLC0415  # Numba is loaded when it is needed

    name = f"{scenario.name}, {mutant.name}" if mutant else scenario.name
    is_pinned = request == type(request)(workers=request.workers, memory_bytes=request.memory_bytes, bounds={})
    return check(scenario, request, progress=begin(name, (scenario.distinct or None) if is_pinned else None))

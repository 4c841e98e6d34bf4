"""From the command line to explorations: which scenarios, under which rules and bounds, one after the other."""

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
    """What the command line chose for every scenario."""

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
        """The same before the change: without --with and --without, or else without --rules and --mutant."""
        if self.on or self.off:
            return replace(self, on=(), off=())
        return replace(self, rules="", mutant="")

    def request(self, scenario: Scenario, mutant: str = "") -> Request:
        """What is asked of one scenario. Bounds and readings that it does not have are another scenario's."""
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
    """The number of threads: one, unless chosen; stderr says if that is capped.

    Two take about three fifths of the time of one and a little more CPU time (docs/engine-workers.md); a fifth of the
    work is done by one thread at a time, so that more than four have to wait for each other. One is the default,
    because who explores much, explores several scenarios at once.

    Raises:
        WrongUsage: it is not positive.
    """
    if wanted is None:
        return 1
    if wanted < 1:
        raise WrongUsage(f"--workers {wanted}: give 1 or more threads")
    if wanted > MOST_THREADS:
        Screen(sys.stderr).say(
            f"--workers {wanted}: an exploration is shared by up to {MOST_THREADS} threads; so many work"
        )
    return min(wanted, MOST_THREADS)


def walks_of(amount: str, seed: int | None, *, swarm: bool = False) -> Walks | None:
    """The walks of --simulate, --seed and --swarm: "30" or "30s" are seconds, "2000000steps" are steps; "": none.

    Raises:
        WrongUsage: it is no amount, or a seed or a swarm alone.
    """
    if not amount:
        if swarm:
            raise WrongUsage("--swarm draws the bounds of random walks: give --simulate SECONDS as well")
        if seed is not None:
            raise WrongUsage(f"--seed {seed} says which random walks: give --simulate SECONDS as well")
        return None
    if seed is not None and not 0 <= seed <= MOST_SEED:
        raise WrongUsage(f"--seed {seed}: give 0 to {MOST_SEED}")
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)\s*s?|(\d{1,15})\s*steps", amount.strip(), re.ASCII)
    if not found or not float(found[1] or found[2]):
        raise WrongUsage(
            f"--simulate {amount!r} is no amount; give seconds, such as 30, or steps, such as 2000000steps"
        )
    steps, seconds = int(found[2]) if found[2] else None, float(found[1]) if found[1] else None
    return Walks(seed or 0, steps, seconds, swarm)


def keeping_of(folder: Path | None, every: float | None, *, resume: bool) -> Keeping | None:
    """The checkpoints of --checkpoint, --checkpoint-every and --resume.

    Raises:
        WrongUsage: one of the others without --checkpoint, or an amount that cannot be.
    """
    if folder is None:
        if every is not None:
            raise WrongUsage(f"--checkpoint-every {every:g}: give --checkpoint DIR as well")
        if resume:
            raise WrongUsage("--resume goes on from a checkpoint: give its folder as well, --checkpoint DIR --resume")
        return None
    if every is not None and not 0 <= every < math.inf:
        raise WrongUsage(f"--checkpoint-every {every:g}: give seconds, 0 for each level")
    return Keeping(folder, EVERY_SECONDS if every is None else every, resume)


def spill_of(folder: Path | None, choice: Choice) -> Path | None:
    """The folder of --spill.

    Raises:
        WrongUsage: something is asked for that has nothing to spill, or cannot be kept beside it.
    """
    if folder is not None and choice.keeping is not None:
        raise WrongUsage(
            "--spill and --checkpoint: choose one; what is on disk of a spilled exploration is no checkpoint"
        )
    if folder is not None and choice.walks is not None:
        raise WrongUsage("--spill and --simulate: choose one; walks keep nothing")
    return folder


def choose(names: Sequence[str], choice: Choice, *, model: str = "") -> list[Scenario]:
    """The scenarios that were named, or all (of a model); everything that the choice names exists.

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
    """What is asked for must be of each scenario that was named, or of some scenario where none was."""
    return [[scenario] for scenario in scenarios] if named else [scenarios]


def _check_rules(group: Sequence[Scenario], choice: Choice) -> None:
    """Each rule must be one of Kafka's, or a reading of one of these scenarios."""
    readings = list(dict.fromkeys(name for scenario in group for name in scenario.readings))
    legal = [*(facts.name for facts in switches()), *NUMBERS, *readings]
    on, off = ([rule for rule in rules if asking.named(rule) not in readings] for rules in (choice.on, choice.off))
    for rule in (*on, *off):
        name = asking.named(rule)
        having = [scenario.name for scenario in SCENARIOS.values() if name in scenario.readings]
        if name not in legal and having:
            of = group[0].name if len(group) == 1 else "these scenarios"
            raise WrongUsage(f"there is no rule of {of} named {name!r}; it is a rule of {', '.join(having)}")
        if "=" not in rule or readings:
            known("rule", name, legal, "zombieproof rules, or scenarios NAME," if readings else "zombieproof rules")
    try:
        with_switches(Rules(), on, off)
    except UnknownRule as error:
        raise WrongUsage(str(error)) from error


def _with_mutant(scenarios: Iterable[Scenario], mutant: str, *, named: bool) -> list[Scenario]:
    """The scenarios that have the mutant; those that were named must have it."""
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
    """Each bound must be one of each scenario that was named, or of some scenario where none was."""
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
    """Explore one scenario after the other; also returns whether somebody interrupted it."""
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
    """Explore every mutant of the scenarios; also returns whether somebody interrupted it."""
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
    """Explore what turning each switch changes; also returns whether somebody interrupted it."""
    from zombieproof.checker.turning import turn, worth_turning  # noqa: PLC0415  # Numba is loaded when it is needed

    turns: list[Turn] = []
    with watching() as watcher:
        try:
            for switch, scenario in worth_turning(scenarios):
                watch = watcher.begin(f"{scenario.name}, {switch} turned", scenario.distinct)
                found = turn(switch, scenario, workers=choice.workers, memory_bytes=choice.memory_bytes, progress=watch)
                turns.append(found)
                if turns[-1].result.interrupted:
                    return turns[:-1], True
        except KeyboardInterrupt:
            return turns, True
    return turns, False


def examine_all(requests: Iterable[tuple[Scenario, Request]]) -> None:
    """Find the mistakes of models that are somebody's own before anything is compiled.

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
    """Make wrong usage of the mistakes in a scenario's model: they are its author's, not this program's.

    Raises:
        WrongUsage: there was one; it says where and what would be legal.
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

"""What other rules change: the same scenario explored twice, side by side, and the step at which the stories part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from zombieproof.checker.request import asked_of
from zombieproof.report.check_json import run_data, step_data
from zombieproof.report.check_text import show_violation
from zombieproof.report.counterexample import follow
from zombieproof.report.runs import Run, has_rules, verdict_of
from zombieproof.report.screen import Column, Screen, plural
from zombieproof.report.story import Beat, tell


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a story goes another way under the other rules: the step as it is before and after the change.

    `number` is the step; one side is None where the step is not possible there.
    """

    number: int
    before: Beat | None
    after: Beat | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One scenario before and after a change of rules."""

    before: Run
    after: Run

    @property
    def is_same(self) -> bool:
        """Whether the bounds are the same on both sides, and the rules, where the model reads them."""
        one, other = self.before.checked, self.after.checked
        return one.bounds == other.bounds and (one.rules == other.rules or not has_rules(other))

    @property
    def names_rules(self) -> bool:
        """Whether rules that the model reads could be changed by what was asked: Kafka's, or readings of its own."""
        asked = self.after.request
        own = asked_of(self.after.checked.scenario, asked.on, asked.off).readings
        return has_rules(self.after.checked) or bool(own)

    @property
    def shown(self) -> Run | None:
        """The run that has a story: the one after the change if both have."""
        return next((run for run in (self.after, self.before) if run.story is not None), None)

    def parting(self) -> Parting | None:
        """Where the story of `shown` goes another way under the other rules; None if it does not.

        Raises:
            HostsDisagree: interpreted and compiled actions differ: an error of this program.
        """
        shown = self.shown
        if shown is None or shown.story is None:
            return None
        is_after = shown is self.after
        other = self.before if is_after else self.after
        actions = [beat.action for beat in shown.story.beats]
        possible, _ = follow(other.checked.model, other.checked.setup, actions)
        again = tell(other.checked.model, other.checked.setup, actions[:possible], ())
        for number, beat in enumerate(shown.story.beats, start=1):
            same = again.beats[number - 1] if number <= possible else None
            if same is None or _facts(same) != _facts(beat):
                return Parting(number, same, beat) if is_after else Parting(number, beat, same)
        return None


def _facts(beat: Beat) -> tuple[object, ...]:
    """What is said of a step; states that differ in what nobody is told part later, where it comes to light."""
    return beat.text, beat.decisions, beat.moves, beat.changes


def show_comparisons(screen: Screen, comparisons: Sequence[Comparison], *, brief: bool = False) -> None:
    """Write a table for each scenario, where the stories part, and the story after the change."""
    for comparison in comparisons:
        _show(screen, comparison)
        screen.say()
    for comparison in comparisons:
        after = comparison.after
        if after.broken and not comparison.is_same:
            show_violation(screen, after, after.broken, brief=brief)
            screen.say()
    changed = sum(_differs(comparison) for comparison in comparisons)
    screen.say(f"{plural(len(comparisons), 'scenario')} compared, {changed} with another verdict or another story")


def _differs(comparison: Comparison) -> bool:
    one, other = comparison.before.checked.result, comparison.after.checked.result
    return (one.verdict, one.violated) != (other.verdict, other.violated)


def _show(screen: Screen, comparison: Comparison) -> None:
    before, after = comparison.before, comparison.after
    screen.say(before.name, "bold")
    rows = [(what, _cell(before, what), _cell(after, what)) for what in _ROWS]
    numbers = [Column(""), Column("before"), Column("after")]
    screen.table(numbers, rows, indent=2)
    if comparison.is_same:
        why = "it has these rules already" if comparison.names_rules else "its model reads no rule of Kafka's"
        screen.say(f"Nothing is changed: {why}.", indent=2)
        return
    _show_parting(screen, comparison)


_ROWS = ("rules", "verdict", "distinct", "generated", "depth", "broken", "steps")


def _cell(run: Run, what: str) -> str:
    result = run.checked.result
    if what in ("distinct", "generated", "depth"):
        return f"{getattr(result, what):,}"
    if what == "steps":
        return str(len(run.story.beats)) if run.story else "-"
    if what == "broken":
        return run.broken.name if run.broken else "-"
    return run.rules if what == "rules" else result.verdict


def _show_parting(screen: Screen, comparison: Comparison) -> None:
    shown = comparison.shown
    if shown is None:
        return
    where = "after" if shown is comparison.after else "before"
    parting = comparison.parting()
    if parting is None:
        screen.say(f"The story {where} the change is the same on both sides, step by step.", indent=2)
        return
    steps = plural(parting.number - 1, "step")
    screen.say(
        f"The story {where} the change goes {steps} the same way on both sides. Step {parting.number}:", indent=2
    )
    for side, beat in (("before", parting.before), ("after", parting.after)):
        screen.say(f"{side}: {beat.text if beat else 'not possible'}", "bold", indent=4, hang=2)
        for words in _lines(beat) if beat else ():
            screen.say(words, indent=8, hang=2)


def _lines(beat: Beat) -> list[str]:
    decided = [decision.words for decision in beat.decisions]
    return [*decided, *(move.words for move in beat.moves), *(f"* {change}" for change in beat.changes)]


def as_json(comparisons: Iterable[Comparison]) -> str:
    """All comparisons as the text of one object; its verdict is that after the change."""
    comparisons = list(comparisons)
    verdict = verdict_of(comparison.after for comparison in comparisons)
    return json.dumps({"verdict": verdict, "comparisons": [_data(comparison) for comparison in comparisons]}, indent=2)


def _data(comparison: Comparison) -> dict[str, Any]:
    parting = None if comparison.is_same else comparison.parting()
    return {
        "name": comparison.after.name,
        "is_same": comparison.is_same,
        "before": run_data(comparison.before),
        "after": run_data(comparison.after),
        "parting": parting
        and {
            "step": parting.number,
            "before": parting.before and step_data(parting.before),
            "after": parting.after and step_data(parting.after),
        },
    }

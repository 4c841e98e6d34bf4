"""The switches of the rules: which mutants break a promise with each, and whose number of states it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zombieproof.checker.switches import WHY_NOT, takes
from zombieproof.model.rules import switches
from zombieproof.report.mutants import Hunt
from zombieproof.report.pages import table

if TYPE_CHECKING:
    from zombieproof.checker.turning import Turn

_TITLES = ("switch", "mutants that turn it alone", "steps:", "scenario", "states:", "states when turned:", "why not")


def section(hunts: Sequence[Hunt], turns: Sequence[Turn]) -> str:
    """The part of docs/results.md: a row for each switch, from what was hunted and counted."""
    rows = [_row(facts.name, hunts, turns) for facts in switches()]
    return (
        "## Switches\n\nWhat each switch of the [rules](rules.md) is good for here. A mutant *turns it alone* that "
        "takes no other switch away; *steps* is the length of their shortest story. To turn a switch is to take it "
        "away where the rules of the scenario have it, and to add it where they have not: the scenario is a small one "
        "whose number of states is another one then. *Why not* says why one of the two is missing.\n\n"
        f"{table(_TITLES, rows)}"
    )


def _row(switch: str, hunts: Sequence[Hunt], turns: Sequence[Turn]) -> tuple[str, ...]:
    breaking = sorted((hunt for hunt in hunts if takes(hunt.mutant, switch)), key=lambda hunt: hunt.steps or 0)
    names = "<br>".join(f"`{hunt.scenario.name}`: `{hunt.mutant.name}`" for hunt in breaking)
    steps = str(breaking[0].steps) if breaking else ""
    counted = next((turn for turn in turns if turn.switch == switch and turn.counts), None)
    count = (
        (f"`{counted.scenario.name}`", f"{counted.scenario.distinct:,}", f"{counted.result.distinct:,}")
        if counted
        else ("", "", "")
    )
    return f"`{switch}`", names, steps, *count, WHY_NOT.get(switch, "")


def faults_of(turns: Sequence[Turn]) -> tuple[str, ...]:
    """What does not have as many states as ``checker.switches`` says, and what to do."""
    return tuple(_fault(turn) for turn in turns if not turn.is_as_expected and turn.result.verdict != "inconclusive")


def _fault(turn: Turn) -> str:
    where = "zombieproof/checker/switches.py"
    said = f"{turn.scenario.name} with {turn.switch} turned: {turn.result.distinct:,} distinct states, "
    if turn.counts:
        return f"{said}{turn.expected:,} are pinned in {where}: if that is meant, pin the new number"
    return f"{said}{turn.expected:,} without: the switch counts; pin that in {where} instead of a reason"

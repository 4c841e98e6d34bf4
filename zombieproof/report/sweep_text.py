"""Report of a sweep: counterexamples, combinations that hold, and combinations that were never tried."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zombieproof.farm.sweeping import Explored, Left, Place, Space, Swept
from zombieproof.report.check_json import violation_data
from zombieproof.report.check_text import show_violation
from zombieproof.report.exits import Exit
from zombieproof.report.runs import Run
from zombieproof.report.screen import Column, Screen, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = (
    Column("scenario"),
    Column("verdict"),
    Column("distinct", "right"),
    Column("depth", "right"),
    Column("seconds", "right"),
    Column("bounds"),
)
SHOWN = 12
"""Combinations listed as never tried for a scenario, the cheapest first."""


def words_of(space: Space, place: Place) -> str:
    """Name a combination by the bounds above their smallest value, "lost=2,crashes=1"; "none" if there are none."""
    bounds = space.bounds(place)
    parts = [
        f"{name}={bounds[name]}"
        for (name, values), at in zip(space.axes.items(), place, strict=True)
        if at or values[0] != 0
    ]
    return ",".join(parts) or "none"


def first_violations(swept: Swept) -> list[Explored]:
    """Return the first violating combination of each scenario that has one."""
    first: dict[str, Explored] = {}
    for one in swept.explored:
        if one.verdict == "violated":
            first.setdefault(one.space.scenario.name, one)
    return list(first.values())


def exit_code_of(swept: Swept) -> Exit:
    """Return the exit code, as for `check`; inconclusive also if there was no time for any combination."""
    if swept.interrupted:
        return Exit.INTERRUPTED
    verdicts = {one.verdict for one in swept.explored}
    if "violated" in verdicts:
        return Exit.VIOLATED
    return Exit.INCONCLUSIVE if "inconclusive" in verdicts or not verdicts else Exit.HOLDS


def verdict_of(swept: Swept) -> str:
    """Return the overall verdict."""
    verdicts = {one.verdict for one in swept.explored}
    order = ("violated", "inconclusive", "holds")
    return next((word for word in order if word in verdicts), "inconclusive")


# ---------------------------------------------------------------- text


def show(screen: Screen, swept: Swept, runs: Iterable[Run], *, every: bool, brief: bool) -> None:
    """Write counterexamples, the table, the totals, and what was never tried."""
    for run in runs:
        if run.broken:
            show_violation(screen, run, run.broken, brief=brief)
            screen.say()
    largest = [one for space in swept.spaces for one in swept.largest(space)]
    shown = [one for one in swept.explored if every or one.verdict != "holds" or one in largest]
    if shown:
        screen.table(COLUMNS, map(_cells, shown))
        screen.say()
    for one in shown:
        if one.verdict == "inconclusive":
            why = one.checked.result.why
            screen.say(f"{one.space.scenario.name}, {words_of(one.space, one.place)} is inconclusive: {why}", "yellow")
    for one in swept.known:
        screen.say(f"{one.space.scenario.name}, {words_of(one.space, one.place)}: {_known(one)}")
    screen.say(_totals(swept, len(shown)))
    for space in swept.spaces:
        screen.say()
        _show_limits(screen, swept, space)


def _known(one: Explored) -> str:
    """Describe a known violation; larger combinations are not checked for it."""
    steps = one.checked.result.depth
    found = f"{one.promise} is violated in {steps} steps (known), so larger combinations are not checked for it"
    return f"{found}; {one.why_known}"


def _cells(one: Explored) -> tuple[str, ...]:
    result = one.checked.result
    return (
        one.space.scenario.name,
        one.verdict,
        f"{result.distinct:,}",
        str(result.depth),
        f"{result.seconds:.2f}",
        words_of(one.space, one.place),
    )


def _totals(swept: Swept, shown: int) -> str:
    counts = Counter(one.verdict for one in swept.explored)
    parts = [f"{counts[word]:,} {word}" for word in ("violated", "inconclusive", "holds") if counts[word]]
    said = f"{plural(len(swept.explored), 'combination')}: {', '.join(parts) or 'no time for any'}"
    hidden = len(swept.explored) - shown
    said += f"; {hidden:,} below larger ones that hold are hidden (--all shows them)" if hidden else ""
    states = sum(one.distinct for one in swept.explored)
    return f"{said}; {states:,} distinct states" + ("; interrupted" if swept.interrupted else "")


def _show_limits(screen: Screen, swept: Swept, space: Space) -> None:
    """Write the largest value tried for each bound, and the smallest combinations that were not explored."""
    screen.say(f"{space.scenario.name}: never tried", "bold")
    idle = swept.idle_above(space)
    for name, most in swept.never_above(space).items():
        if most is None:
            screen.say(f"{name}: any value", indent=2)
            continue
        remark = "; this is the last value of the sweep" if most == space.axes[name][-1] else ""
        remark = f"; it has no effect above {idle[name]}" if name in idle else remark
        screen.say(f"{name} above {most}{remark}", indent=2)
    together = [one for one in swept.left if one.space is space and sum(map(bool, one.place)) > 1]
    for left in together[:SHOWN]:
        screen.say(f"{words_of(space, left.place)} together{_estimate(left)}", indent=2)
    if len(together) > SHOWN:
        screen.say(f"and {plural(len(together) - SHOWN, 'combination')} more (--json has them all)", indent=2)


def _estimate(left: Left) -> str:
    return f", about {left.seconds:,.0f} s" if left.seconds >= 1 else ""


# ---------------------------------------------------------------- JSON


def as_json(swept: Swept, runs: Sequence[Run]) -> str:
    """Return the report as JSON; each scenario has its first violation."""
    stories = {run.name: violation_data(run) for run in runs}
    data = {
        "verdict": verdict_of(swept),
        "interrupted": swept.interrupted,
        "scenarios": [
            {
                "name": space.scenario.name,
                "values": {name: [values[0], values[-1]] for name, values in space.axes.items()},
                "combinations": [_data(one) for one in swept.of(space)],
                "never_above": swept.never_above(space),
                "idle_above": swept.idle_above(space),
                "left": [
                    {"bounds": space.bounds(one.place), "seconds": round(one.seconds, 3)}
                    for one in swept.left
                    if one.space is space
                ],
                "known": [
                    {"bounds": space.bounds(one.place), "promise": one.promise, "why": one.why_known}
                    for one in swept.known
                    if one.space is space
                ],
                "violated": stories.get(space.scenario.name),
            }
            for space in swept.spaces
        ],
    }
    return json.dumps(data, indent=2)


def _data(one: Explored) -> dict[str, Any]:
    result = one.checked.result
    return {
        "bounds": one.space.bounds(one.place),
        "verdict": result.verdict,
        "why": result.why if result.verdict == "inconclusive" else None,
        "promise": result.violated.promise if result.violated else None,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "seconds": round(result.seconds, 6),
    }

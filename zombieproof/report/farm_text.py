"""What a farm found, on the terminal: what is not as expected first, every exploration while there are few."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zombieproof.farm.found import Entry, row_of, verdict_of
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Column, Screen, plural

if TYPE_CHECKING:
    from zombieproof.farm.running import Harvest

SHOWN = 60
COLUMNS = (
    Column("scenario"),
    Column("rules"),
    Column("mutant"),
    Column("bounds"),
    Column("verdict"),
    Column("distinct", "right"),
    Column("depth", "right"),
    Column("cpu s", "right"),
    Column("outcome"),
)


def exit_code_of(harvest: Harvest) -> Exit:
    """As of `check`: what is not as expected is said before what failed, and that before what is inconclusive."""
    if harvest.interrupted:
        return Exit.INTERRUPTED
    codes = {"violated": Exit.VIOLATED, "error": Exit.INTERNAL_ERROR, "inconclusive": Exit.INCONCLUSIVE}
    return codes.get(verdict_of(harvest.entries), Exit.HOLDS)


def show(screen: Screen, harvest: Harvest) -> None:
    """Write the table, what is not as expected with the command that tells more, and the totals."""
    entries = harvest.entries
    odd = [entry for entry in entries if entry.outcome != "as expected"]
    shown = entries if len(entries) <= SHOWN else odd[:SHOWN]
    if shown:
        screen.table(COLUMNS, map(_cells, shown))
        screen.say()
    for entry in odd[:SHOWN]:
        screen.say(f"{entry.job.name} ({entry.job.words}): {entry.outcome}: {remark(entry)}", hang=2)
        screen.say(entry.job.command, indent=2)
    if odd:
        screen.say()
    if len(odd) > SHOWN:
        screen.say(f"and {plural(len(odd) - SHOWN, 'exploration')} more that are not as expected: --json has them all")
    screen.say(totals(entries))


def remark(entry: Entry) -> str:
    """What came out and, if that is not all, what was expected."""
    return "; ".join(filter(None, (came_out(entry), entry.remark)))


def came_out(entry: Entry) -> str:
    """What came out, in words; "" where the remark says it."""
    found = entry.found
    if found.promise is None:
        return "" if found.verdict in ("inconclusive", "error") else found.verdict
    way = "nothing reaches it" if found.steps is None else f"{plural(found.steps, 'step')}"
    return f"{found.promise} is broken ({way})"


def totals(entries: Sequence[Entry]) -> str:
    """How many explorations there are and what became of them, in a line."""
    outcomes = Counter[str](entry.outcome for entry in entries)
    order = ("as expected", "unexpected", "inconclusive", "failed")
    parts = [f"{outcomes[word]:,} {word}" for word in order if outcomes[word]]
    states = sum(entry.found.distinct or 0 for entry in entries)
    steps = sum(entry.found.generated or 0 for entry in entries if entry.found.walks)
    kept = sum(entry.was_kept for entry in entries)
    cpu = sum(entry.found.cpu_seconds for entry in entries)
    said = f"{plural(len(entries), 'exploration')}: {', '.join(parts) or 'none'}; {states:,} distinct states"
    said += f", {steps:,} steps at random" if steps else ""
    return f"{said} in {cpu:,.1f} CPU seconds" + (f"; {kept:,} were kept from before" if kept else "")


def _cells(entry: Entry) -> tuple[str, ...]:
    job, found = entry.job, entry.found
    return (
        job.scenario,
        job.words,
        job.mutant or "-",
        job.within or "-",
        found.verdict,
        counted(found.distinct),
        counted(found.depth),
        f"{found.cpu_seconds:.2f}",
        entry.outcome,
    )


def counted(count: int | None) -> str:
    """A count, or a dash where there is none."""
    return "-" if count is None else f"{count:,}"


def as_json(harvest: Harvest) -> str:
    """The farm as the text of one object."""
    data: dict[str, Any] = {
        "verdict": verdict_of(harvest.entries),
        "explorations": len(harvest.jobs),
        "left": len(harvest.left),
        "interrupted": harvest.interrupted,
        "results": [{**row_of(entry), "was_kept": entry.was_kept} for entry in harvest.entries],
    }
    return json.dumps(data, indent=2)

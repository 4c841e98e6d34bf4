"""What `conform` found, for people."""

import json
from collections.abc import Sequence

from zombieproof.conformance.comparison import Difference
from zombieproof.conformance.tally import Tally
from zombieproof.model.vocabulary import Error
from zombieproof.report.screen import Column, Screen, plural

SHOWN_DIFFERENCES = 20
SHOWN_DAMAGED = 20
_COLUMNS = (Column("recording"), Column("sequences", "right"), Column("steps", "right"), Column("equal", "right"))


def show(screen: Screen, tallies: Sequence[Tally]) -> None:
    """Write a row for each recording, the first differences, the first lines that are damaged, and the totals."""
    rows = [(t.file, f"{t.sequences:,}", f"{t.steps:,}", f"{t.equal:,}") for t in tallies]
    screen.table(_COLUMNS, rows)
    differences = [found for tally in tallies for found in tally.differences]
    for found in differences[:SHOWN_DIFFERENCES]:
        _show_difference(screen, found)
    screen.say()
    if len(differences) > SHOWN_DIFFERENCES:
        screen.say(f"and {len(differences) - SHOWN_DIFFERENCES:,} more; --json has them all")
    damaged = [found for tally in tallies for found in tally.damaged]
    for found_line in damaged[:SHOWN_DAMAGED]:
        screen.say(f"cannot be read: {found_line}", "bold yellow", hang=2)
    if len(damaged) > SHOWN_DAMAGED:
        screen.say(f"and {len(damaged) - SHOWN_DAMAGED:,} more; --json has them all")
    sequences, steps = sum(t.sequences for t in tallies), sum(t.steps for t in tallies)
    says = (
        f"{sequences - len(differences):,} of {plural(sequences, 'sequence')} equal, {plural(steps, 'answer')} compared"
    )
    if damaged:
        says += f"; {plural(len(damaged), 'line')} cannot be read"
    screen.say(says, "bold red" if differences else "bold yellow" if damaged else "bold green")


def _show_difference(screen: Screen, found: Difference) -> None:
    screen.say()
    screen.say(f"{found.file}: {found.id}, step {found.step}: {found.api}, version {found.version}", "bold red")
    for title, value in (("request", found.request), ("expected", found.expected), ("got", found.got)):
        screen.say(f"{title:<9} {json.dumps(value, ensure_ascii=False)}", indent=2, hang=10)
    decided = found.decision
    if decided is None:
        screen.say("decided   by no rule: it reads what the steps before left behind", indent=2)
        return
    error = Error(decided.error).name if decided.error in set(Error) else str(decided.error)
    row = f"row {found.row} of the reference" if found.row else "no row of the reference"
    about = f" about {decided.subject}" if decided.subject else ""
    screen.say(f"decided   by {decided.decision}, {row}: {error}({decided.error}){about}", indent=2, hang=10)


def decision_of(found: Difference) -> str:
    """The decision that answered and its reference row; empty where nothing was decided."""
    return "" if found.decision is None else " ".join(filter(None, (found.decision.decision, found.row)))

"""What `conform` found, as JSON."""

import json
from collections.abc import Sequence

from zombieproof.conformance.comparison import Difference
from zombieproof.conformance.tally import Tally
from zombieproof.report.conform_text import decision_of


def as_json(tallies: Sequence[Tally]) -> str:
    """One object: how many sequences and steps were compared, how many sequences are equal, and each difference.

    Steps are counted from 1; `decision` names the module that decided and its row, null where nothing was decided.
    `damaged` are the lines that could not be understood, with the reason; line 0 is the file as a whole.
    """
    data = {
        "sequences": sum(tally.sequences for tally in tallies),
        "steps": sum(tally.steps for tally in tallies),
        "equal": sum(tally.equal for tally in tallies),
        "different": [_difference(each) for tally in tallies for each in tally.differences],
        "damaged": [
            {"file": each.file, "line": each.line, "why": each.why} for tally in tallies for each in tally.damaged
        ],
    }
    return json.dumps(data, indent=2)


def _difference(found: Difference) -> dict[str, object]:
    return {
        "file": found.file,
        "id": found.id,
        "step": found.step,
        "expected": found.expected,
        "got": found.got,
        "decision": decision_of(found) or None,
    }

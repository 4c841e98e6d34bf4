"""What `conform` found of a broker outside, as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from zombieproof.conformance.outside.judge import Judge
from zombieproof.conformance.recording import RecordingError
from zombieproof.report.judged_text import VERDICTS


def as_json(judge: Judge, bootstrap: str, damaged: Sequence[RecordingError]) -> str:
    """One object: whom it is about, how many of each verdict there are, and all that was judged.

    Steps are counted from 1. `left` are topics and groups that could not be deleted, `ended` says why the run was over
    before its end ("" if it was not), `damaged` are lines of recordings that could not be understood.
    """
    count = Counter(each.verdict for each in judge.judged)
    data = {
        "bootstrap": bootstrap,
        "speaks_as": judge.circumstances.release,
        "transaction_version": judge.circumstances.spoken.transaction_version,
        "prefix": judge.prefix,
        "counts": {verdict: count[verdict] for verdict in VERDICTS},
        "judged": [asdict(each) for each in judge.judged],
        "left": asdict(judge.left),
        "ended": judge.ended,
        "damaged": [{"file": each.file, "line": each.line, "why": each.why} for each in damaged],
    }
    return json.dumps(data, indent=2)

"""What `check` found, as JSON. The keys are a contract that scripts rely on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from zombieproof.report.coverage import by_machine, rows_taken
from zombieproof.report.runs import Run, has_rules, verdict_of
from zombieproof.statemachines.registry import EXPLORED, MACHINES

if TYPE_CHECKING:
    from zombieproof.report.story import Beat


def as_json(runs: Iterable[Run]) -> str:
    """All runs as the text of one object."""
    runs = list(runs)
    return json.dumps({"verdict": verdict_of(runs), "scenarios": [run_data(run) for run in runs]}, indent=2)


def run_data(run: Run) -> dict[str, Any]:
    """One scenario. `holds` of a promise is null where the exploration ended before that was known."""
    result = run.checked.result
    kept, spilled = result.checkpoint, result.spilled
    return {
        "name": run.name,
        "rules": run.rules,
        "verdict": result.verdict,
        "distinct": result.distinct,
        "generated": result.generated,
        "walks": result.walks,
        "depth": result.depth,
        "seconds": round(result.seconds, 6),
        "cpu_seconds": round(result.cpu_seconds, 6),
        "peak_mib": round(result.peak_mib, 1),
        "bounds": dict(run.checked.bounds),
        "promises": [{"name": p.name, "kind": p.kind, "holds": p.holds} for p in result.promises],
        "violated": violation_data(run),
        "open": open_data(run),
        "coverage": coverage_data(run),
        "spilled": spilled and {"most_bytes": spilled.most_bytes, "written_bytes": spilled.written_bytes},
        "checkpoint": kept and {"folder": str(kept.folder), "depth": kept.depth, "resumed": kept.resumed},
        "reduction": reduction_data(run),
    }


def open_data(run: Run) -> list[dict[str, Any]]:
    """What the scenario's own rules break as they are, pinned: found again by `--mutant` with its name."""
    mutants = run.checked.scenario.mutants if run.checked.is_pinned else ()
    return [
        {
            "name": each.name,
            "promise": each.breaks,
            "bounds": dict(each.bounds),
            "steps": each.steps,
            "bug": each.bug or None,
            "releases": each.releases or None,
            "without": list(each.without),
            "known": each.known,
        }
        for each in mutants
        if each.known
    ]


def violation_data(run: Run) -> dict[str, Any] | None:
    """The broken promise and the steps to it; no steps for a *sometimes* promise that nothing reaches.

    Of a *leads to* promise the steps behind the first `repeats_from` repeat for ever; else it is null.
    """
    if run.broken is None:
        return None
    beats = run.story.beats if run.story else ()
    return {
        "promise": run.broken.name,
        "steps": [step_data(beat) for beat in beats],
        "repeats_from": run.story.repeats_from if run.story else None,
    }


def reduction_data(run: Run) -> dict[str, Any] | None:
    """What was reduced, and how many times fewer states that were; null where nothing was asked for."""
    reduced = run.checked.reduced
    if reduced is None:
        return None
    factor = run.checked.factor
    return {
        "asked": list(run.request.reduce),
        "used": {name: list(what) for name, what in reduced.used.items()},
        "unused": dict(reduced.unused),
        "distinct_without": run.checked.unreduced or None,
        "factor": None if factor is None else round(factor, 3),
    }


def step_data(beat: Beat) -> dict[str, Any]:
    """One step of a story."""
    return {
        "number": beat.number,
        "action": beat.action,
        "name": beat.name,
        "argument": beat.argument,
        "description": beat.text,
        "verdicts": [{"decision": d.decision, "row": d.row, "error": d.error} for d in beat.decisions],
        "moves": [
            {
                "machine": m.machine,
                "subject": m.subject,
                "from": m.before,
                "event": m.event,
                "to": m.after,
                "why": m.why,
            }
            for m in beat.moves
        ],
        "changes": list(beat.changes),
    }


def coverage_data(run: Run) -> dict[str, Any]:
    """By machine: how many of its rows were taken, and which were not; of other models those that moved at all."""
    taken = rows_taken(run.checked.result.coverage)
    is_protocol = has_rules(run.checked)
    return {
        name: {
            "rows": rows,
            "taken": count,
            "not_taken": [
                {"state": row.state.name, "event": row.event.name}
                for row in EXPLORED[name].rows
                if (name, row.state.name, row.event.name) not in taken
            ],
        }
        for name, (count, rows) in by_machine(taken).items()
        if (name in MACHINES if is_protocol else count)
    }

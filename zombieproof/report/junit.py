"""What `check` found, as JUnit XML, which CI servers show: a test case for each scenario."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zombieproof.report.check_text import show_story
from zombieproof.report.junit_xml import Case, Problem, as_xml
from zombieproof.report.screen import Screen

if TYPE_CHECKING:
    from zombieproof.report.runs import Run


def as_junit(runs: Sequence[Run]) -> str:
    """All runs as the text of one JUnit file. A violation is a failure, an inconclusive run an error."""
    return as_xml("zombieproof", [_case(run) for run in runs])


def _case(run: Run) -> Case:
    result = run.checked.result
    problems = []
    if run.broken:
        steps = f" after {len(run.story.beats)} steps" if run.story else ": nothing reaches it"
        message = f"{run.broken.name} is broken{steps}"
        problems.append(Problem("failure", message, run.broken.name, f"{run.broken.text}\n\n{_story(run)}"))
    elif result.verdict == "inconclusive":
        problems.append(Problem("error", str(result.why), "inconclusive"))
    properties = {
        "rules": run.rules,
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
    }
    return Case("zombieproof.check", run.name, result.seconds, problems, properties)


def _story(run: Run) -> str:
    stream = io.StringIO()
    if run.story:
        show_story(Screen(stream, plain=True), run.story, indent=0)
    return stream.getvalue()

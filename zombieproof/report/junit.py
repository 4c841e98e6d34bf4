"""What `check` found, as JUnit XML, which CI servers show: a test case for each scenario."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from zombieproof.report.check_text import show_story
from zombieproof.report.runs import Run
from zombieproof.report.screen import Screen

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def as_junit(runs: Sequence[Run]) -> str:
    """All runs as the text of one JUnit file. A violation is a failure, an inconclusive run an error."""
    suite = ET.Element(
        "testsuite",
        name="zombieproof",
        tests=str(len(runs)),
        failures=str(sum(run.checked.result.verdict == "violated" for run in runs)),
        errors=str(sum(run.checked.result.verdict == "inconclusive" for run in runs)),
        skipped="0",
        time=f"{sum(run.checked.result.seconds for run in runs):.3f}",
    )
    for run in runs:
        suite.append(_case(run))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(run: Run) -> ET.Element:
    result = run.checked.result
    case = ET.Element("testcase", classname="zombieproof.check", name=run.name, time=f"{result.seconds:.3f}")
    properties = ET.SubElement(case, "properties")
    for name, value in (
        ("rules", run.rules),
        ("distinct", result.distinct),
        ("generated", result.generated),
        ("depth", result.depth),
    ):
        ET.SubElement(properties, "property", name=name, value=_text(str(value)))
    if run.broken:
        steps = f" after {len(run.story.beats)} steps" if run.story else ": nothing reaches it"
        failure = ET.SubElement(case, "failure", type=run.broken.name, message=f"{run.broken.name} is broken{steps}")
        failure.text = _text(f"{run.broken.text}\n\n{_story(run)}")
    elif result.verdict == "inconclusive":
        ET.SubElement(case, "error", type="inconclusive", message=_text(str(result.why)))
    return case


def _story(run: Run) -> str:
    stream = io.StringIO()
    if run.story:
        show_story(Screen(stream, plain=True), run.story, indent=0)
    return stream.getvalue()


def _text(text: str) -> str:
    """XML has no way to write most control characters."""
    return _NOT_XML.sub("?", text)

"""JUnit XML, which CI servers show: suites and cases, whatever they are about."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree as ET

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a case did not pass. `text` may have many lines; a case is skipped for the reason in `message`."""

    outcome: Literal["failure", "error", "skipped"]
    message: str
    kind: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One case; it passed if it has no problem."""

    classname: str
    name: str
    seconds: float = 0.0
    problems: Sequence[Problem] = ()
    properties: Mapping[str, object] = field(default_factory=dict)


def as_xml(suite_name: str, cases: Sequence[Case]) -> str:
    """The text of a file with one suite. A case counts once, as the worst of its problems."""
    worst = [next((o for o in ("failure", "error", "skipped") if o in _outcomes(case)), "") for case in cases]
    suite = ET.Element(
        "testsuite",
        name=_text(suite_name),
        tests=str(len(cases)),
        failures=str(worst.count("failure")),
        errors=str(worst.count("error")),
        skipped=str(worst.count("skipped")),
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    suite.extend(map(_case, cases))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _outcomes(case: Case) -> list[str]:
    return [problem.outcome for problem in case.problems]


def _case(case: Case) -> ET.Element:
    found = ET.Element("testcase", classname=case.classname, name=_text(case.name), time=f"{case.seconds:.3f}")
    if case.properties:
        properties = ET.SubElement(found, "properties")
        for name, value in case.properties.items():
            ET.SubElement(properties, "property", name=name, value=_text(str(value)))
    for problem in case.problems:
        element = ET.SubElement(found, problem.outcome, message=_text(problem.message))
        if problem.kind:
            element.set("type", problem.kind)
        element.text = _text(problem.text) or None
    return found


def _text(text: str) -> str:
    """XML has no way to write most control characters."""
    return _NOT_XML.sub("?", text)

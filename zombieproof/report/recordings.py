"""The recordings that ship: each is judged, and the judgement is compared with what is known of the recording.

What is known stands in its about.yaml, which replay never sees: the verdict, where a violation is, what is stable.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Finding, Gap, Report


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that was judged. `differences` says what is not as known."""

    name: str
    title: str
    report: Report
    differences: tuple[str, ...]


def folders(root: Path) -> list[Path]:
    """The recordings below a folder, by name."""
    return sorted(about.parent for about in root.glob("*/about.yaml"))


def judge(folder: Path) -> Recording:
    """Judge a recording and compare.

    Raises:
        ValueError: its about.yaml does not say which verdict is expected.
    """
    about = yaml.safe_load((folder / "about.yaml").read_text(encoding="utf-8"))
    if not isinstance(about, dict) or "verdict" not in about.get("expected", {}):
        raise ValueError(f"{folder / 'about.yaml'}: lacks expected: verdict: (conforms, violates or damaged)")
    report = replay([folder])
    return Recording(folder.name, str(about.get("title", "")), report, tuple(differences(about, report)))


def differences(about: Mapping[str, Any], report: Report) -> Iterator[str]:
    """What a report does not say as its recording is known to be."""
    expected = about["expected"]
    if report.verdict.value != expected["verdict"]:
        yield f"the verdict is {report.verdict.value}, and {expected['verdict']} is known to be right"
    place = _place(expected.get("where", {}))
    if expected["verdict"] == "violates" and not any(_is_at(finding, place) for finding in report.findings):
        yield f"no finding is at {', '.join(f'{key} {value}' for key, value in place.items())}"
    for gap in report.not_judged:
        # What is damaged is known to be; what is missing would make the verdict one about less than the recording.
        if expected["verdict"] != "damaged" or gap.gap is not Gap.UNREADABLE:
            yield f"{gap.name} is not judged: {gap.why}"
    partitions = about.get("facts", {}).get("partitions", {})
    for partition, facts in partitions.items():
        # A partition that never had a record leaves no log.
        known, found = facts.get("last_stable_offset"), report.lso.get(partition, 0)
        if expected["verdict"] != "damaged" and known is not None and found != known:
            yield f"the last stable offset of {partition} is {found}, and {known} is known to be right"


def _place(where: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("transactional_id", "producer_id", "partition", "offset")
    return {key: where[key] for key in keys if key in where}


def _is_at(finding: Finding, place: Mapping[str, Any]) -> bool:
    found = {
        "transactional_id": finding.transactional_id,
        "producer_id": finding.producer_id,
        "partition": f"{finding.topic}-{finding.partition}",
        "offset": finding.offset,
    }
    return all(found[key] == value for key, value in place.items())

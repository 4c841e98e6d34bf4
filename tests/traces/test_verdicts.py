"""Recordings of real clusters get the verdict that is written beside them, and what they hold is derived."""

import json
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from zombieproof.cli.judging import exit_code
from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Finding, Gap, Judgement, Report, TransactionOutcome

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.parent for path in (ROOT / "tests" / "recordings").glob("*/about.yaml"))
SHARED = sorted(path.parent for path in (ROOT.parent / "shared" / "traces").glob("*/about.yaml"))
RECORDINGS = SAMPLES + SHARED
LARGE = ("19-soak", "20-epoch-exhaustion")
ORACLES = ("about.yaml", "consumed.json", "consumed.json.xz", "consumed-before.json", "facts.json.xz")
"""What is kept from `replay`: what real consumers read, and what a recording is expected to show."""


def label(folder: Path) -> str:
    return f"{'sample' if folder in SAMPLES else 'shared'}:{folder.name}"


def about(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "about.yaml").read_text())
    assert isinstance(found, dict)
    return found


def each(folders: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("folder", folders, ids=label)


SMALL = [folder for folder in RECORDINGS if folder.name not in LARGE]
CONFORMING = [folder for folder in SMALL if about(folder)["expected"]["verdict"] == "conforms"]
CONSUMED = [folder for folder in RECORDINGS if list(folder.glob("consumed.json*"))]
KNOWN = [folder for folder in RECORDINGS if "transactions" in about(folder).get("facts", {})]
every_recording, every_small_recording = each(RECORDINGS), each(SMALL)


def evidence_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name not in ORACLES]


@pytest.fixture(scope="module")
def reports() -> dict[Path, Report]:
    return {}


@pytest.fixture
def report(folder: Path, reports: dict[Path, Report]) -> Report:
    if folder not in reports:
        reports[folder] = replay(evidence_in(folder))
    return reports[folder]


def location(finding: Finding) -> dict[str, object]:
    return {
        "partition": f"{finding.topic}-{finding.partition}",
        "offset": finding.offset,
        "producer_id": finding.producer_id,
        "epoch": finding.producer_epoch,
        "epoch_found": finding.producer_epoch,
        "transactional_id": finding.transactional_id,
    }


def is_at(finding: Finding, where: dict[str, Any]) -> bool:
    """Whether a finding is where the recording says, in every key that has a place in a finding."""
    found = location(finding)
    if "offsets" in where:
        first, last = map(int, where["offsets"].split("-"))
        if finding.offset is None or not first <= finding.offset <= last:
            return False
    return all(found[key] == wanted for key, wanted in where.items() if key in found)


def test_there_are_recordings() -> None:
    assert len(SAMPLES) >= 5, "tests/recordings is empty"
    assert not (ROOT.parent / "shared" / "traces").is_dir() or len(SHARED) >= 40, "../shared/traces has lost recordings"


@every_recording
def test_a_recording_gets_its_verdict(folder: Path, report: Report) -> None:
    assert report.verdict == about(folder)["expected"]["verdict"], report.findings


@every_recording
def test_a_violation_is_one_finding_in_its_place_and_nothing_else_is_found(folder: Path, report: Report) -> None:
    expected = about(folder)["expected"]
    if expected["verdict"] == "violates":
        assert [is_at(finding, expected["where"]) for finding in report.findings] == [True]
        assert report.findings[0].promise in IN_RECORDINGS
    else:
        assert report.findings == []


@every_recording
def test_damage_is_found_in_its_place_and_nowhere_else(folder: Path, report: Report) -> None:
    expected = about(folder)["expected"]
    if expected["verdict"] != "damaged":
        assert report.damage == []
        return
    where = expected["where"]
    position = where.get("position", where.get("valid_bytes"))
    assert [(place.file.endswith(where["file"]), place.position) for place in report.damage] == [(True, position)]


@every_recording
def test_no_recording_has_a_gap_but_where_it_is_damaged(folder: Path, report: Report) -> None:
    expected = about(folder)["expected"]["verdict"]
    gaps = {gap.gap for gap in report.not_judged}
    assert gaps == ({Gap.UNREADABLE} if expected == "damaged" else set())
    assert exit_code(report) == {"conforms": 0, "violates": 1, "damaged": 3}[expected]


@each(CONSUMED)
def test_a_consumer_sees_what_real_consumers_read(folder: Path, report: Report) -> None:
    plain = folder / "consumed.json"
    text = plain.read_bytes() if plain.exists() else lzma.decompress((folder / "consumed.json.xz").read_bytes())
    consumed = json.loads(text)
    for place, read in consumed["partitions"].items():
        if place not in report.committed:
            assert read["high_watermark"] == 0, f"{place} was not read"
            continue
        assert report.lso[place] == read["last_stable_offset"], place
        if "read_committed" in read:
            offsets = [one["offset"] if isinstance(one, dict) else one for one in read["read_committed"]]
            assert report.committed[place] == offsets, place
    groups = consumed.get("group_offsets") or {}
    for group, offsets in groups.items():
        assert report.group_offsets[group] == offsets


@every_recording
def test_committed_offsets_and_stable_offsets_are_the_known_facts(folder: Path, report: Report) -> None:
    for place, facts in (about(folder).get("facts", {}).get("partitions") or {}).items():
        if place not in report.committed:
            assert facts["high_watermark"] == 0, f"{place} was not read"
            continue
        assert report.lso[place] == facts["last_stable_offset"]
        if "committed_offsets" in facts:
            assert report.committed[place] == list(ranges(facts["committed_offsets"]))


def ranges(shown: list[str]) -> Iterator[int]:
    for one in shown:
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)


@each(KNOWN)
def test_the_derived_transactions_are_the_known_ones(folder: Path, report: Report) -> None:
    known = about(folder)["facts"]["transactions"]
    for transactional_id, transactions in known.items():
        derived = [txn for txn in report.transactions if txn.transactional_id == transactional_id]
        if isinstance(transactions, dict):
            outcomes = [txn.outcome for txn in derived]
            counted = (
                outcomes.count(TransactionOutcome.COMMIT),
                outcomes.count(TransactionOutcome.ABORT),
                outcomes.count(TransactionOutcome.OPEN),
            )
            assert counted == (transactions["commits"], transactions["aborts"], transactions["open"])
            continue
        decided = [txn for txn in transactions if "tombstone" not in txn]
        assert [(t.producer_id, t.outcome, t.partitions) for t in derived] == [
            (t["producer_id"], t["outcome"], t["partitions"]) for t in decided
        ]
        for mine, fact in zip(derived, decided, strict=True):
            assert mine.producer_epoch == fact.get("data_epoch", mine.producer_epoch)
    assert {txn.transactional_id for txn in report.transactions} - {None} <= set(known)


@every_small_recording
@pytest.mark.parametrize("part", ["segments", "dump"])
def test_one_form_of_the_logs_alone_gives_the_same_verdict(folder: Path, part: str, report: Report) -> None:
    alone = replay([folder / part])
    expected = about(folder)
    assert alone.verdict == expected.get("without_client_jsonl", expected["expected"]["verdict"])
    assert alone.not_judged == [] or alone.verdict is Judgement.DAMAGED
    for name in ("committed", "lso", "transactions", "group_offsets"):
        assert getattr(alone, name) == getattr(report, name)
    if "without_client_jsonl" not in expected:
        assert [location(finding) for finding in alone.findings] == [location(finding) for finding in report.findings]
        assert [finding.promise for finding in alone.findings] == [finding.promise for finding in report.findings]


def test_a_delayed_abort_shows_only_with_what_the_application_was_told() -> None:
    folder = next(folder for folder in SAMPLES if folder.name == "12-delayed-abort")
    told = folder / "client.jsonl"
    assert replay([path for path in evidence_in(folder) if path != told]).verdict is Judgement.CONFORMS
    assert replay(evidence_in(folder)).verdict is Judgement.VIOLATES


@each(CONFORMING)
def test_a_part_of_the_evidence_of_a_conforming_history_conforms(folder: Path) -> None:
    logs = [path for path in (folder / "segments").rglob("*") if path.is_file() and ".log" in path.name]
    coordinator = [path for path in logs if "__transaction_state" in str(path)]
    for part in (
        [path for path in logs if path not in coordinator],
        coordinator,
        *([path] for path in evidence_in(folder)),
    ):
        if part:
            found = replay(part)
            assert found.findings == [], part


@pytest.mark.parametrize("number", range(1, 3))
def test_data_partitions_alone_show_the_marker_that_was_forgotten(number: int) -> None:
    folder = next(folder for folder in SAMPLES if folder.name == "09-offline-partition-lost-commit")
    logs = [path for path in (folder / "segments").rglob("*.log*") if "__transaction_state" not in str(path)]
    found = replay(logs if number == 1 else [path for path in logs if path.parent.name == "e-0"])
    assert [finding.promise for finding in found.findings] == ["a_new_epoch_begins_behind_a_marker"]
    assert is_at(found.findings[0], {"partition": "e-0", "offset": 2, "producer_id": 1, "epoch": 1})


@pytest.mark.parametrize("folder", SAMPLES, ids=label)
def test_names_of_folders_and_the_description_beside_the_evidence_say_nothing(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "f3a9"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*ORACLES))
    lie = {"conforms": "violates"}.get(about(folder)["expected"]["verdict"], "conforms")
    (copy / "about.yaml").write_text(f'expected: {{verdict: "{lie}"}}\nwithout_client_jsonl: "{lie}"\n')
    before, after = replay([folder]), replay([copy])
    assert after.verdict == before.verdict == about(folder)["expected"]["verdict"]
    assert [location(finding) for finding in after.findings] == [location(finding) for finding in before.findings]
    paths = {"findings", "damage", "judged", "not_judged", "clients"}
    assert after.model_dump(exclude=paths) == before.model_dump(exclude=paths)
    assert [gap.name for gap in after.not_judged] == [gap.name for gap in before.not_judged]


def test_the_repair_of_a_hanging_transaction_is_told_and_it_violates_all_the_same() -> None:
    for folder in SHARED:
        if folder.name == "13-hanging-admin-abort":
            found = replay(evidence_in(folder))
            assert found.verdict is Judgement.VIOLATES
            assert "repaired" in found.findings[0].message
            assert "offset 7" in found.findings[0].message
            return
    pytest.skip("../shared/traces is not beside this clone: test_replay_promises makes such a history by hand")


def test_the_json_of_a_report_has_the_names_that_others_script_against() -> None:
    folder = next(folder for folder in SAMPLES if folder.name == "30-tampered-abort-marker-removed")
    found = json.loads(replay(evidence_in(folder)).model_dump_json())
    assert set(found) >= {"verdict", "findings", "damage", "transactions", "committed", "lso"}
    assert found["verdict"] == "violates"
    assert set(found["findings"][0]) == {
        "promise", "transactional_id", "producer_id", "producer_epoch", "topic", "partition", "offset", "message",
        "circumstances", "explanation",
    }  # fmt: skip
    assert found["findings"][0]["explanation"] is None, "finding and explaining are two steps"
    assert found["transactions"][0] == {
        "transactional_id": "orders-1",
        "producer_id": 0,
        "producer_epoch": 0,
        "outcome": "abort",
        "partitions": ["t-0", "t-1"],
    }
    assert found["committed"] == {"t-0": [3], "t-1": []}
    assert found["lso"] == {"t-0": 5, "t-1": 0}


def test_damage_says_file_position_and_unit() -> None:
    folder = next(folder for folder in SAMPLES if folder.name == "23-truncated-segment")
    found = json.loads(replay([folder / "segments"]).model_dump_json())
    assert found["verdict"] == "damaged"
    assert set(found["damage"][0]) == {"file", "position", "unit", "message"}

"""zombieproof replay: recordings, damage, and what is said of them."""

import io
import shutil
from pathlib import Path
from typing import Any

import pytest

from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen
from zombieproof.traces.replay import replay

KEYS = {"verdict", "findings", "damage", "transactions", "committed", "lso"}
FINDING_KEYS = {
    "promise",
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "topic",
    "partition",
    "offset",
    "message",
    "circumstances",
    "explanation",
}


@pytest.fixture
def recordings(repository_root: Path) -> Path:
    return repository_root / "tests" / "recordings"


def test_a_recording_that_conforms_is_exit_code_0(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "01-commit")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "conforms"
    assert "1 transaction: 1 committed" in lines
    assert lines[4].split() == ["t-0", "4", "3"]
    assert "Traceback" not in outcome.err


def test_json_has_the_keys_of_the_contract(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "09-offline-partition-lost-commit", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    assert set(outcome.json) >= KEYS
    assert outcome.json["verdict"] == "violates"
    [finding] = outcome.json["findings"]
    assert set(finding) == FINDING_KEYS
    assert (finding["transactional_id"], finding["topic"], finding["partition"], finding["offset"]) == (
        "orders-1",
        "e",
        0,
        2,
    )
    transaction = outcome.json["transactions"][0]
    assert set(transaction) == {"transactional_id", "producer_id", "producer_epoch", "outcome", "partitions"}
    assert outcome.json["lso"]["e-0"] == 5


def test_a_violation_is_located_and_explained(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "09-offline-partition-lost-commit")
    assert outcome.code == 1
    lines = [line.strip() for line in outcome.out.splitlines()]
    assert lines[0] == "violates with 1 finding"
    assert "every_listed_partition_has_its_marker" in lines
    assert any(line.startswith("orders-1, producer 1, epoch 1, e-0 offset 2: ") for line in lines)


def test_damaged_input_is_exit_code_3_with_file_and_position(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "23-truncated-segment")
    assert outcome.code == 3
    assert "t-0/00000000000000000000.log, byte 216: " in outcome.out
    found = run("replay", recordings / "23-truncated-segment", "--json").json
    assert (found["verdict"], found["damage"][0]["position"]) == ("damaged", 216)
    assert set(found["damage"][0]) >= {"file", "position", "message"}


def test_files_that_were_not_read_are_counted_by_reason(run: Any, recordings: Path) -> None:
    out = run("replay", recordings / "01-commit").out
    assert "not read: 3 files, leader epochs, which the batches carry too" in out


def test_an_empty_folder_is_damage_and_never_conforms(run: Any, tmp_path: Path) -> None:
    assert run("replay", tmp_path).code == 3


def test_any_mixture_of_paths_is_one_body_of_evidence(run: Any, recordings: Path, tmp_path: Path) -> None:
    whole = recordings / "30-tampered-abort-marker-removed"
    for number, folder in enumerate(sorted((whole / "segments").iterdir())):
        shutil.copytree(folder, tmp_path / str(number) / folder.name)
    found = run("replay", *sorted(tmp_path.iterdir()), "--json").json
    assert found["findings"] == run("replay", whole / "segments", "--json").json["findings"]
    assert found["verdict"] == "violates"


def test_more_findings_than_anybody_reads_are_counted(recordings: Path) -> None:
    report = replay([recordings / "09-offline-partition-lost-commit"])
    stream = io.StringIO()
    show_report(Screen(stream, plain=True), report.model_copy(update={"findings": report.findings * 50}))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "violates with 50 findings"
    assert lines.count("  every_listed_partition_has_its_marker") == 40
    assert "and 10 more; --json has them all" in lines


def test_rules_of_an_older_release_can_be_chosen(run: Any, recordings: Path) -> None:
    assert run("replay", "--rules", "newest", recordings / "07-tv0-commit").code == 0

"""zombieproof replay: recordings, damage, and what is said of them."""

import io
import os
import re
import shutil
import sys
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
    assert "not read: 2 files, a description of the recording (about.yaml, consumed.json)" in out


def test_an_empty_folder_is_damage_and_never_conforms(run: Any, tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    outcome = run("replay", tmp_path)
    assert (outcome.code, outcome.out.splitlines()[0]) == (3, "damaged: nothing could be judged")
    assert "kafka-dump-log" in outcome.out


def test_a_gap_is_named_first_and_is_exit_code_3(run: Any, recordings: Path) -> None:
    folder = recordings / "09-offline-partition-lost-commit"
    outcome = run("replay", folder / "segments/broker-1", folder / "server-1.log")
    assert outcome.code == 3
    lines = [line.strip() for line in outcome.out.splitlines()]
    assert lines[0] == "conforms as far as it could be judged"
    assert lines[2] == "not judged: e-0"
    assert any(line.startswith("fetch: ") and "broker 3" in line for line in lines)


def test_gaps_are_in_the_json_and_leave_the_verdict_as_it_is(run: Any, recordings: Path) -> None:
    broker = recordings / "09-offline-partition-lost-commit/segments/broker-1"
    outcome = run("replay", broker, "--json")
    assert (outcome.code, outcome.json["verdict"]) == (3, "conforms")
    [gap] = outcome.json["not_judged"]
    assert set(gap) == {"name", "gap", "first_offset", "last_offset", "why", "fetch", "accepted"}
    assert (gap["name"], gap["gap"], gap["accepted"]) == ("e-0", "missing", False)
    judged = outcome.json["judged"]
    files = {"files_read", "files_not_read", "lines"}
    assert set(judged) == {"partitions", "transactional_ids", "written_in", "compacted"} | files
    assert [each["partition"] for each in judged["partitions"]] == ["__transaction_state-1", "d-0"]


def test_gaps_are_accepted_by_name(run: Any, recordings: Path) -> None:
    broker = recordings / "09-offline-partition-lost-commit/segments/broker-1"
    outcome = run("replay", broker, "--allow-gaps", "e-0")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "conforms")
    assert "accepted without being judged: e-0" in outcome.out
    lone = recordings / "01-commit/segments/__transaction_state-1"
    assert run("replay", lone, "--allow-gaps", "t-0,t-1").code == 0
    assert run("replay", lone, "--allow-gaps", "t-0", "--allow-gaps", "t-1").code == 0
    assert run("replay", lone, "--allow-gaps", "t-0").code == 3


def test_a_gap_that_is_none_cannot_be_accepted(run: Any, recordings: Path) -> None:
    broker = recordings / "09-offline-partition-lost-commit/segments/broker-1"
    outcome = run("replay", broker, "--allow-gaps", "d-0")
    assert outcome.code == 2
    assert "--allow-gaps d-0: the input files have no gap of that name" in outcome.err
    assert "e-0" in outcome.err
    assert run("replay", recordings / "01-commit", "--allow-gaps", "e-0").code == 2


def test_accepted_gaps_do_not_hide_damage_or_violations(run: Any, recordings: Path, tmp_path: Path) -> None:
    shutil.copytree(recordings / "09-offline-partition-lost-commit/segments/broker-3", tmp_path / "broker-3")
    shutil.rmtree(tmp_path / "broker-3" / "d-0")
    assert run("replay", tmp_path, "--allow-gaps", "d-0").code == 1
    assert run("replay", recordings / "23-truncated-segment", "--allow-gaps", "*").code == 3


def test_several_clusters_are_the_first_thing_said(run: Any, recordings: Path) -> None:
    outcome = run("replay", recordings / "01-commit", recordings / "10-hanging")
    assert outcome.code == 3
    lines = outcome.out.splitlines()
    assert lines[0] == "damaged: this is evidence of several clusters"
    assert "call once for each cluster" in lines[2]


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


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_read_beside_files(run: Any, recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = recordings / "01-commit" / "dump"
    piped(monkeypatch, b"".join(b"> " + line for line in (dumps / "t-0.txt").read_bytes().splitlines(keepends=True)))
    outcome = run("replay", "-", dumps / "t-1.txt", dumps / "__transaction_state-1.txt")
    assert (outcome.code, outcome.err) == (0, "")
    assert "read as: " in outcome.out
    assert "quoted lines (>)" in outcome.out
    assert [line.split()[0] for line in outcome.out.splitlines() if line.startswith("t-")] == ["t-0", "t-1"]


def test_an_empty_standard_input_is_wrong_usage(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"")
    outcome = run("replay", "-")
    assert (outcome.code, outcome.out) == (2, "")
    assert "standard input is empty: pipe evidence into the command" in outcome.err


def test_a_terminal_is_told_how_to_end_what_is_pasted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"nothing of it")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    outcome = run("replay", "-")
    assert outcome.code == 3
    assert "reading standard input" in outcome.err
    assert "damaged: standard input, byte 0: nothing in it is evidence of transactions" in outcome.out


def test_an_archive_is_judged_as_its_folder_is(run: Any, recordings: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "bundle"), "gztar", recordings, "09-offline-partition-lost-commit")
    outcome = run("replay", archive)
    plain = run("replay", recordings / "09-offline-partition-lost-commit")
    assert outcome.code == plain.code == 1
    same = outcome.out.replace(f"{archive}/", f"{recordings}/").splitlines()
    without_order = [line for line in plain.out.splitlines() if not line.startswith("not read: ")]
    assert [line for line in same if not line.startswith("not read: ")] == without_order


HOSTILE_NAMES = [b"bad\xff\xfename-0.txt", b"esc\x1b[31m-0.txt", b"bell\x07\r-0.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("options", [[], ["--json"], ["--format", "junit"], ["--format", "markdown"], ["--open"]])
def test_names_of_files_are_told_escaped(run: Any, tmp_path: Path, name: bytes, options: list[str]) -> None:
    (tmp_path / os.fsdecode(name)).write_bytes(b"baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequ")
    outcome = run("replay", tmp_path, *options)
    assert outcome.code == 3
    assert "Traceback" not in outcome.err
    (outcome.out + outcome.err).encode()
    assert not set("\x1b\x07\r") & set(outcome.out + outcome.err)
    if "junit" not in options:  # where such characters are replaced
        assert re.search(r"bad\\+xff\\+xfename|esc\\+u001b|bell\\+u0007\\+(?:u000d|r-)", outcome.out)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_there_is_told_escaped(run: Any) -> None:
    outcome = run("replay", "no\x1b[2Jsuch")
    assert outcome.code in {2, 3}
    assert "\x1b" not in outcome.out + outcome.err
    assert r"no\u001b[2Jsuch" in outcome.out + outcome.err

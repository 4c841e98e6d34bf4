"""zombieproof conform: what it prints, and how it ends."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]
KEYS = {"sequences", "steps", "equal", "different", "damaged"}
DIFFERENCE_KEYS = {"file", "id", "step", "expected", "got", "decision"}


@pytest.fixture
def sample(repository_root: Path) -> list[Json]:
    with gzip.open(repository_root / "tests/answers/sample.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file][:12]


@pytest.fixture
def recording(sample: list[Json], tmp_path: Path) -> Path:
    return written(tmp_path / "answers.jsonl", sample)


def written(path: Path, sequences: list[Json]) -> Path:
    path.write_text("".join(json.dumps(sequence) + "\n" for sequence in sequences))
    return path


def tamper(sequence: Json) -> int:
    """Change the error of the last EndTxn; returned is its step, counted from 1."""
    step = max(i for i, step in enumerate(sequence["steps"]) if step["api"] == "EndTxn")
    sequence["steps"][step]["answer"]["error"] += 1
    return step + 1


def with_end(sample: list[Json]) -> int:
    return next(i for i, sequence in enumerate(sample) if any(step["api"] == "EndTxn" for step in sequence["steps"]))


def test_equal_answers_are_exit_code_0(run: Any, recording: Path, sample: list[Json]) -> None:
    outcome = run("conform", "--recording", recording)
    steps = sum(len(sequence["steps"]) for sequence in sample)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1] == f"12 of 12 sequences equal, {steps} answers compared"
    data = run("conform", "--recording", recording, "--json").json
    assert data == {"sequences": 12, "steps": steps, "equal": 12, "different": [], "damaged": []}


def test_a_difference_is_exit_code_1_and_is_explained(run: Any, sample: list[Json], tmp_path: Path) -> None:
    number = with_end(sample)
    step = tamper(sample[number])
    path = written(tmp_path / "tampered.jsonl", sample)
    outcome = run("conform", "--recording", path, "--json")
    assert outcome.code == 1
    assert set(outcome.json) == KEYS
    assert (outcome.json["sequences"], outcome.json["equal"]) == (12, 11)
    [found] = outcome.json["different"]
    assert set(found) == DIFFERENCE_KEYS
    assert (found["file"], found["id"], found["step"]) == (str(path), sample[number]["id"], step)
    assert found["expected"]["error"] == found["got"]["error"] + 1
    assert found["decision"].split()[0] == "end_txn"

    told = run("conform", "--recording", path).out
    asked = sample[number]["steps"][step - 1]
    assert f"{path}: {sample[number]['id']}, step {step}: EndTxn, version {asked['version']}" in told
    assert f"  request   {json.dumps(asked['request'])}" in told
    assert f"  expected  {json.dumps(found['expected'])}" in told
    assert f"  got       {json.dumps(found['got'])}" in told
    assert f"  decided   by end_txn, row {found['decision'].split()[1]} of the reference: " in told


def test_several_recordings_and_folders(run: Any, recording: Path, sample: list[Json], tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    packed = folder / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(recording.read_bytes()))
    for arguments in (
        ("--recording", recording, "--recording", packed),
        ("--recording", recording, packed),
        (recording, folder),
    ):
        data = run("conform", *arguments, "--json").json
        assert (data["sequences"], data["equal"]) == (2 * len(sample), 2 * len(sample))


def test_a_limit_is_kept(run: Any, recording: Path, sample: list[Json]) -> None:
    data = run("conform", "--recording", recording, "--limit", 3, "--json").json
    assert (data["sequences"], data["steps"]) == (3, sum(len(sequence["steps"]) for sequence in sample[:3]))
    assert run("conform", "--recording", recording, "--limit", 0).code == 2


def test_stdin_is_a_recording(run: Any, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(recording.read_bytes())))
    assert run("conform", "--recording", "-", "--json").json["equal"] == 12


def test_what_is_no_recording_is_exit_code_2(run: Any, tmp_path: Path) -> None:
    assert "nothing to replay" in run("conform").err
    assert run("conform", "--recording", tmp_path / "nowhere").code == 2


def with_step(sequence: Json, **changes: Any) -> str:
    copy = json.loads(json.dumps(sequence))
    copy["steps"][0].update(changes)
    return json.dumps(copy)


DAMAGE: dict[str, tuple[Callable[[Json], str], str]] = {
    "a line that is cut": (lambda one: json.dumps(one)[:-40], "invalid JSON: "),
    "no JSON": (lambda one: "{", "legal is a sequence, as one JSON object"),
    "a byte that is no text": (lambda one: '{"id": "\udcff"}', "invalid JSON: "),
    "another object": (lambda one: '{"id": 1}', "id: input should be a valid string"),
    "no object": (lambda one: "null", "input should be"),
    "an unknown step": (lambda one: with_step(one, api="Nope"), "step 1: "),
    "an unknown field": (lambda one: with_step(one, nope=1), "step 1, nope: there is no such field; legal are "),
    "a version that nobody described": (lambda one: with_step(one, version=99), "version 99 is not described here"),
    "an unknown setting": (
        lambda one: json.dumps(one | {"config": {"nope": 1}}),
        "config nope: there is no such setting here; legal are ",
    ),
    "an unknown release": (lambda one: json.dumps(one | {"kafka": "9.9"}), "kafka: "),
    "a producer that nobody has": (
        lambda one: with_step(
            one,
            api="EndTxn",
            version=3,
            request={"transactional_id": "x0", "pid": "p7", "epoch": 0, "committed": True},
        ),
        "step 1: p7 stands for no producer id",
    ),
}
"""Damage -> a line, made of a sequence that is whole, and what is said of it."""


@pytest.mark.parametrize("name", DAMAGE)
def test_a_line_that_is_not_understood_is_named_and_the_others_are_judged(
    run: Any, sample: list[Json], tmp_path: Path, name: str
) -> None:
    make, why = DAMAGE[name]
    lines = [json.dumps(sequence) for sequence in sample]
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join([*lines[:3], make(sample[3]), *lines[4:]]) + "\n", errors="surrogateescape")
    outcome = run("conform", "--recording", path)
    assert (outcome.code, outcome.err) == (3, "")
    said = " ".join(outcome.out.split())
    assert f"cannot be read: {path}, line 4: " in said
    assert why in said
    assert "11 of 11 sequences equal" in said
    assert said.endswith("answers compared; 1 line cannot be read")
    told = run("conform", "--recording", path, "--json")
    assert told.code == 3
    assert (told.json["sequences"], told.json["equal"]) == (11, 11)
    [found] = told.json["damaged"]
    assert (found["file"], found["line"]) == (str(path), 4)
    assert why in found["why"]


def test_a_difference_outranks_a_line_that_is_not_understood(run: Any, sample: list[Json], tmp_path: Path) -> None:
    tamper(sample[with_end(sample)])
    path = written(tmp_path / "both.jsonl", sample)
    path.write_text("{\n\n" + path.read_text())
    outcome = run("conform", "--recording", path, "--json")
    assert (outcome.code, outcome.json["equal"], outcome.json["damaged"][0]["line"]) == (1, 11, 1)
    assert "11 of 12 sequences equal" in run("conform", "--recording", path).out


def test_a_packed_recording_that_is_cut_or_damaged_is_judged_up_to_there(
    run: Any, recording: Path, tmp_path: Path
) -> None:
    whole = gzip.compress(recording.read_bytes(), mtime=0)
    path = tmp_path / "damaged.jsonl.gz"
    for data in (whole[: len(whole) * 9 // 10], whole[: len(whole) - 300] + b"\xff" * 200 + whole[-100:]):
        path.write_bytes(data)
        outcome = run("conform", "--recording", path, "--json")
        [found] = outcome.json["damaged"]
        assert (outcome.code, found["file"]) == (3, str(path))
        assert found["line"] == outcome.json["sequences"] + 1 > 1
        assert "cannot be read on: " in found["why"]
        assert f"cannot be read: {path}, line {found['line']}: " in " ".join(
            run("conform", "--recording", path).out.split()
        )


def test_a_recording_without_any_sequence_is_exit_code_3(run: Any, recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    for text in ("", "\n \n"):
        path.write_text(text)
        outcome = run("conform", "--recording", path, "--json")
        assert (outcome.code, outcome.json["sequences"]) == (3, 0)
        assert outcome.json["damaged"] == [
            {"file": str(path), "line": 0, "why": "is empty; a recording holds one sequence in each line"}
        ]
    assert run("conform", "--recording", path, recording).code == 3


def test_more_damage_than_anybody_reads_is_counted(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "rubbish.jsonl"
    path.write_text("{\n" * 23)
    out = run("conform", "--recording", path).out
    assert out.count("cannot be read: ") == 20
    assert "and 3 more; --json has them all" in out
    assert "23 lines cannot be read" in out


def test_who_has_no_right_is_refused_and_the_decision_is_named(run: Any, sample: list[Json], tmp_path: Path) -> None:
    users = [sequence | {"security": {"mechanism": "PLAIN", "super": [], "acls": []}} for sequence in sample]
    path = written(tmp_path / "users.jsonl", users)
    outcome = run("conform", "--recording", path, "--json")
    assert (outcome.code, outcome.json["equal"]) == (1, 0)
    assert {each["decision"] for each in outcome.json["different"]} == {"authorization"}
    known = [sequence | {"security": users[0]["security"] | {"super": ["ANONYMOUS"]}} for sequence in sample]
    assert run("conform", "--recording", written(path, known), "--json").json["equal"] == 12


def test_more_differences_than_anybody_reads_are_counted(run: Any, sample: list[Json], tmp_path: Path) -> None:
    tamper(sample[with_end(sample)])
    path = written(tmp_path / "many.jsonl", [sample[with_end(sample)]] * 23)
    outcome = run("conform", "--recording", path)
    assert outcome.out.count("  expected  ") == 20
    assert "and 3 more; --json has them all" in outcome.out
    assert len(run("conform", "--recording", path, "--json").json["different"]) == 23

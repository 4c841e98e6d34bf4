"""zombieproof replay: how a finding is told, as text, JSON, JUnit and Markdown, with values on request."""

import io
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.report.finding_text import clock_time, readable
from zombieproof.report.replay_junit import as_junit
from zombieproof.report.replay_markdown import as_markdown
from zombieproof.report.replay_text import show_report
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.explanation import Encoding, Moment

EXPLANATION = {"effect", "records", "moments", "causes", "remedies"}


@pytest.fixture
def lost(repository_root: Path) -> Path:
    return repository_root / "tests/recordings/09-offline-partition-lost-commit"


@pytest.fixture
def hanging(repository_root: Path) -> Path:
    return repository_root / "tests/recordings/10-hanging"


@pytest.fixture
def conforming(repository_root: Path) -> Path:
    return repository_root / "tests/recordings/01-commit"


def cases(xml: str) -> dict[str, ET.Element]:
    [suite] = ET.fromstring(xml)
    found = {case.get("name") or "": case for case in suite}
    assert suite.get("tests") == str(len(found))
    for outcome, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(outcome) == str(sum(case.find(tag) is not None for case in found.values()))
    return found


# ---------------------------------------------------------------- text


def test_a_finding_says_what_it_means_which_records_when_what_to_do_and_why(run: Any, lost: Path) -> None:
    outcome = run("replay", lost)
    assert outcome.code == 1
    lines = [line.strip() for line in outcome.out.splitlines()]
    heads = ["What it means", "Which records", "When (UTC, and the time of this machine)", "What to do",
             "Why it can have happened"]  # fmt: skip
    assert [line for line in lines if line in heads] == heads
    assert 'offset 2: key "k2"' in lines
    assert "zombieproof check leaderless_partition --without marker_waits_for_leader" in lines
    assert "See KAFKA-20734, docs/bugs.md B73." in lines


def test_values_are_shown_when_they_are_asked_for(run: Any, lost: Path) -> None:
    assert 'offset 2: key "k2", value "v2"' in run("replay", lost, "--values", "utf8").out
    assert 'offset 2: key "k2", value 0x7632' in run("replay", lost, "--values", "hex").out
    assert '"v2"' not in run("replay", lost, "--values", "none").out
    outcome = run("replay", lost, "--values", "base64")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'none', 'hex', 'utf8'" in outcome.err


def test_commands_of_a_remedy_stand_on_lines_of_their_own_and_are_never_wrapped(
    hanging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    evidence = collect([hanging])
    stream = io.StringIO()
    show_report(Screen(stream), explain(replay(evidence), evidence))
    wanted = "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 0 --start-offset 4"
    assert wanted in [line.strip() for line in stream.getvalue().splitlines()]


def test_causes_that_were_told_are_not_told_again(lost: Path) -> None:
    evidence = collect([lost])
    report = explain(replay(evidence), evidence)
    stream = io.StringIO()
    show_report(Screen(stream, plain=True), report.model_copy(update={"findings": report.findings * 3}))
    text = stream.getvalue()
    assert text.count("Why it can have happened\n") == 1
    assert text.count("As for finding 1.") == 2
    assert text.count("1. Send the record again") == 3
    assert text.count("2. KAFKA-20734 was open") == 1


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("order-17", Encoding.UTF8, '"order-17"'),
        ('a"b\\c', Encoding.UTF8, '"a\\"b\\\\c"'),
        ("a\n\x1b[31m\u202e", Encoding.UTF8, '"a\\n\\x1b[31m\\u202e"'),
        ("ff00", Encoding.HEX, "0xff00"),
        ("x" * 103, Encoding.UTF8, '"' + "x" * 100 + '"... (3 more characters)'),
    ],
)
def test_a_key_is_readable_and_never_speaks_to_the_terminal(text: str, encoding: Encoding, shown: str) -> None:
    assert readable(text, encoding) == shown


@pytest.mark.parametrize(
    ("utc", "local", "shown"),
    [
        ("2026-11-21T13:55:14.504Z", "2026-11-21T13:55:14.504+00:00", "2026-11-21 13:55:14.504Z"),
        ("2026-11-21T13:55:14.504Z", "2026-11-21T14:55:14.504+01:00", "2026-11-21 13:55:14.504Z = 14:55:14.504+01:00"),
        (
            "2026-11-21T23:55:14.504Z",
            "2026-11-22T00:55:14.504+01:00",
            "2026-11-21 23:55:14.504Z = 2026-11-22 00:55:14.504+01:00",
        ),
        ("", "", "7 ms, which no calendar has"),
    ],
)
def test_a_time_is_said_in_utc_and_where_it_differs_in_local_time(utc: str, local: str, shown: str) -> None:
    moment = Moment(what="", timestamp_ms=7, utc=utc, local=local, clock="", where="")
    assert clock_time(moment) == shown


# ---------------------------------------------------------------- json


def test_json_has_the_explanation_of_each_finding(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--format", "json", "--values", "hex")
    [finding] = outcome.json["findings"]
    assert outcome.json == run("replay", lost, "--json", "--values", "hex").json
    assert (finding["circumstances"]["shape"], finding["circumstances"]["harm"]) == ("the marker is missing", "lost")
    found = finding["explanation"]
    assert set(found) == EXPLANATION
    assert found["records"]["shown"] == [
        {
            "offset": 2,
            "timestamp_ms": 1795269314452,
            "key": "k2",
            "key_encoding": "utf8",
            "value": "7632",
            "value_encoding": "hex",
        }
    ]
    assert found["causes"][0]["rules"][0]["name"] == "marker_waits_for_leader"
    assert found["causes"][0]["shown_by"]["scenario"] == "leaderless_partition"


def test_two_formats_at_once_are_refused(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--json", "--format", "junit")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--json and --format junit: choose one format" in outcome.err
    assert run("replay", lost, "--format", "xml").code == 2


# ---------------------------------------------------------------- junit


def test_junit_has_a_case_for_each_promise(run: Any, lost: Path) -> None:
    outcome = run("replay", lost, "--format", "junit")
    assert (outcome.code, outcome.err) == (1, "")
    found = cases(outcome.out)
    judged = "everything_that_the_evidence_names_is_judged"
    assert list(found) == ["the_evidence_can_be_read", judged, *IN_RECORDINGS]
    broken = [name for name, case in found.items() if case.find("failure") is not None]
    assert broken == ["every_listed_partition_has_its_marker"]
    failure = found[broken[0]].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("orders-1, producer 1, epoch 1, e-0 offset 2: ")
    assert "What to do" in (failure.text or "")


def test_junit_skips_what_the_evidence_does_not_suffice_for(run: Any, lost: Path) -> None:
    found = cases(run("replay", lost / "segments", "--format", "junit").out)
    skipped = {name: case.find("skipped") for name, case in found.items() if case.find("skipped") is not None}
    reason = skipped["what_the_application_was_told_is_what_the_logs_say"]
    assert reason is not None
    assert reason.get("message") == "not judged: it needs what applications were told"
    assert "every_listed_partition_has_its_marker" not in skipped
    assert "sequences_follow_each_other" not in skipped


def test_junit_of_damage_is_an_error(run: Any, repository_root: Path) -> None:
    outcome = run("replay", repository_root / "tests/recordings/23-truncated-segment", "--format", "junit")
    assert outcome.code == 3
    error = cases(outcome.out)["the_evidence_can_be_read"].find("error")
    assert error is not None
    assert "t-0/00000000000000000000.log, byte 216: " in (error.get("message") or "")


def test_junit_of_a_conforming_recording_has_no_problem_but_skips(run: Any, conforming: Path) -> None:
    outcome = run("replay", conforming, "--format", "junit")
    assert outcome.code == 0
    assert not [case for case in cases(outcome.out).values() if case.find("failure") is not None]


def test_each_finding_is_a_failure_of_its_promise(lost: Path) -> None:
    evidence = collect([lost])
    report = explain(replay(evidence), evidence)
    text = as_junit(report.model_copy(update={"findings": report.findings * 2}), evidence)
    assert len(cases(text)["every_listed_partition_has_its_marker"].findall("failure")) == 2


# ---------------------------------------------------------------- markdown


def test_markdown_has_the_finding_the_commands_and_the_partitions(run: Any, hanging: Path) -> None:
    outcome = run("replay", hanging, "--format", "markdown")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "# zombieproof replay: violates with 1 finding"
    assert "## 1. `no_open_transaction_that_nobody_owns`" in lines
    assert "| t-0 | 4 | 0 |" in lines
    fence = lines.index("   ```console")
    assert lines[fence + 2].endswith("abort --topic t --partition 0 --start-offset 4")
    assert lines.count("   ```console") == lines.count("   ```")


def test_markdown_takes_no_meaning_from_what_it_reports(lost: Path) -> None:
    report = replay([lost])
    strange = report.findings[0].model_copy(update={"message": "a *b* `c` | <d> [e](f) __g__\nh"})
    text = as_markdown(report.model_copy(update={"findings": [strange]}))
    assert r"a \*b\* \`c\` \| \<d\> \[e\](f) \_\_g\_\_ h" in text


def test_markdown_of_what_conforms_and_of_damage(run: Any, conforming: Path, repository_root: Path) -> None:
    assert run("replay", conforming, "--format", "markdown").out.splitlines()[0] == "# zombieproof replay: conforms"
    text = run("replay", repository_root / "tests/recordings/23-truncated-segment", "--format", "markdown").out
    assert "## What could not be read" in text
    assert ", byte 216: " in text


# ---------------------------------------------------------------- counterexamples


def test_a_counterexample_that_is_run_again_has_all_formats(run: Any, tmp_path: Path) -> None:
    story = tmp_path / "story.jsonl"
    assert run("check", "late_produce", "--mutant", "no_verification", "-o", story).code == 1
    broken = "every_open_transaction_is_known_to_its_coordinator"
    found = cases(run("replay", story, "--format", "junit").out)
    assert list(found) == ["the_evidence_can_be_read", broken]
    assert found[broken].find("failure") is not None
    text = run("replay", story, "--format", "markdown").out
    assert f"## 1. `{broken}`" in text
    assert run("replay", story, "--format", "json").json["findings"][0]["explanation"] is None


def test_a_transactional_id_that_is_no_xml_and_no_markdown(run: Any, lost: Path, tmp_path: Path) -> None:
    shutil.copytree(lost, tmp_path / "copy")
    evidence = collect([tmp_path / "copy"])
    report = replay(evidence)
    strange = report.findings[0].model_copy(update={"transactional_id": "a\x00<b>*"})
    told = explain(report.model_copy(update={"findings": [strange]}), evidence)
    assert "a?<b>*" in (
        cases(as_junit(told, evidence))["every_listed_partition_has_its_marker"][0].get("message") or ""
    )
    assert "a\x00\\<b\\>\\*" in as_markdown(told)

"""The reader of checklists, the runner, what is on file, and the command."""

import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance import __main__ as command
from tests.conformance import runner, tables, written
from tests.conformance.cases import Case, Failed, MalformedCases, NotRunnable, read_cases
from tests.conformance.lexicon import words_of
from tests.conformance.phrases import Fields, by_version, check, error_of, partition_of, state_of
from tests.conformance.runner import Outcome, interpret, run_cases
from zombieproof.broker.coordinator.steps import InvalidTransition

FOLDER = Path(__file__).parent
SAMPLE = FOLDER / "sample.yaml"


def document(**changes: Any) -> dict[str, Any]:
    """A checklist of one case, with some parts replaced."""
    case = {
        "id": "TM-101",
        "suite": "S",
        "name": "bump",
        "baseline": "both",
        "given": {"state": "Empty", "epoch": 735},
        "when": "bump epoch with no expected epoch",
        "expect": {"epoch": 736, "last_epoch": -1},
    }
    changed: dict[str, Any] = {"format": 1, "suites": [{"suite": "S", "prefix": "TM", "note": ""}], "cases": [case]}
    for key, value in changes.items():
        if key in case:
            case[key] = value
        else:
            changed[key] = value
    return changed


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a checklist."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "cases.yaml"
        path.write_text(yaml.safe_dump(document(**changes)), "utf-8")
        return path

    return write


@pytest.fixture
def case(file: Callable[..., Path]) -> Case:
    """A case that is met."""
    return read_cases(file()).cases[0]


def test_a_checklist_is_read(case: Case) -> None:
    assert (case.id, case.suite, case.prefix, case.name, case.note) == ("TM-101", "S", "TM", "bump", "")
    assert case.given == {"state": "Empty", "epoch": 735}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": 2}, "format 2; legal is"),
        ({"cases": {}}, "`cases` is dict; legal is a list of mappings"),
        ({"cases": ["TM-1"]}, "`cases` is list; legal is a list of mappings"),
        ({"suites": None}, "`suites` is NoneType"),
        ({"suites": [{"suite": "S", "prefix": "TMX"}]}, "prefix 'TMX'; legal are a name and two capital letters"),
        ({"suites": [{"suite": "S", "prefix": "TM"}] * 2}, "stands twice"),
        ({"suite": "T"}, "is of suite 'T'; there are: S"),
        ({"id": " "}, "is misnamed; legal is any text on one line, in quotes"),
        ({"id": "two\nlines"}, "is misnamed"),
        ({"id": 7}, "is misnamed"),
        ({"baseline": "2025"}, "baseline '2025'; there are: both, 2024-10, 2026"),
        ({"cases": [{"id": "TM-1", "suite": "S"}]}, "case 'TM-1' has no 'name'; it needs id, suite, name"),
        ({"cases": [{**document()["cases"][0], "then": 1}]}, "has a field 'then'"),
        ({"cases": document()["cases"] * 2}, "TM-101 stands twice"),
    ],
)
def test_a_malformed_checklist_says_where_and_what_is_legal(
    file: Callable[..., Path], changes: dict[str, Any], says: str
) -> None:
    path = file(**changes)
    with pytest.raises(MalformedCases, match=re.escape(says)) as caught:
        read_cases(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"format: [", "it is no YAML"),
        (b"format: 1\nformat: 1\n", "'format' stands twice"),
        (b"\xff\xfe\x00", "it cannot be read|it is no YAML"),
        (b"- 1", "the head says format 'list'"),
        (b"!!python/object:os.system {}", "it is no YAML"),
    ],
)
def test_what_is_no_checklist_is_refused(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "cases.yaml"
    path.write_bytes(text)
    with pytest.raises(MalformedCases, match=says):
        read_cases(path)


def test_a_file_that_is_not_there_is_an_error_of_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: it cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["TC-101", "TM", "my case / 7", "a, b; c", "ünïcode ✓", "*", "null"])
def test_an_id_is_any_text(file: Callable[..., Path], capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert command.main([str(file(id=name)), "--only", name]) == 0
    assert command.main([str(file(id=name, expect={"epoch": 1})), "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["failed"] == [name]


def test_the_digest_is_that_of_given_when_expect_and_note(case: Case) -> None:
    assert replace(case, id="another", name="another").digest == case.digest
    parts = ("given", "when", "expect", "note")
    assert len({replace(case, **{part: "x"}).digest for part in parts} | {case.digest}) == 5
    assert replace(case, given={1: "a", "b": 2}).digest


def test_values_of_every_kind_that_yaml_knows_have_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    text = yaml.safe_dump(document()).replace("epoch: 736", "{epoch: 2024-01-01, 1: .nan, ~: !!binary aGk=}")
    path.write_text(text, "utf-8")
    assert command.main([str(path)]) in (0, 2)


def test_a_case_that_is_so_is_met(case: Case) -> None:
    assert interpret(case).outcome == Outcome.MET


def test_another_id_and_name_change_nothing(case: Case) -> None:
    assert interpret(replace(case, id="TM-999", name="other")).outcome == Outcome.MET


def test_a_note_that_nobody_has_read_is_not_dropped(case: Case) -> None:
    result = interpret(replace(case, note="and the moon is full"))
    assert result.outcome == Outcome.NOT_RUNNABLE
    assert "the note 'and the moon is full' is not understood" in result.reason
    on_file = next(iter(tables.notes()))
    assert interpret(replace(case, note=on_file)).outcome == Outcome.MET


def test_a_note_is_shown_by_a_test_that_exists_or_only_explains() -> None:
    for text in tables.notes().values():
        for name in re.findall(r"(tests/\S+\.py)::(\w+)", text):
            assert f"def {name[1]}(" in (FOLDER.parents[1] / name[0]).read_text("utf-8")
        assert text.startswith("explains ") or re.match(r"shown by tests/\S+\.py::\w+", text)


def test_a_wrong_number_fails(case: Case) -> None:
    result = interpret(replace(case, expect={"epoch": 737, "last_epoch": -1}))
    assert (result.outcome, result.reason) == (Outcome.FAILED, "entry epoch: expected 737, got 736")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"when": "bump epoch twice"}, "when: 'twice' is not understood, in 'bump epoch twice'"),
        ({"when": "bump epoch complete"}, "step 'bump epoch complete' is not understood"),
        ({"expect": {"epoch": 736, "colour": "red"}}, "'colour' is not understood"),
        ({"given": {"state": "Empty", "epoch": 735, "colour": "red"}}, "'colour' is not understood"),
        ({"given": {"state": "Half"}}, "given: 'Half' is not understood"),
        ({"given": {"state": "epoch"}}, "'epoch' is no state"),
        ({"expect": "now"}, "not a mapping"),
        ({"when": ["fence", "fence"]}, "2 steps, but 1 expectations"),
        ({"expect": {}}, "expect is {}: it says nothing"),
        ({"expect": None}, "expect is None: it says nothing"),
        ({"expect": {"epoch": None}}, "'epoch' is empty: it says nothing"),
        ({"expect": {"epoch": 7.5}}, "7.5 is not understood: it is neither a text nor a whole number"),
        ({"expect": {"epoch": "now"}}, "entry epoch: 'now' is not understood; it is compared with 736"),
        ({"expect": {"error": "NONE"}}, "'error' is not understood"),
        ({"given": {"state": "Empty", "epoch": "now"}}, "a value is not understood: ValueError"),
        ({"given": {"state": "Empty", "epoch": [7]}}, "a value is not understood: TypeError"),
    ],
)
def test_what_is_not_understood_is_not_runnable(case: Case, changes: dict[str, Any], says: str) -> None:
    result = interpret(replace(case, **changes))
    assert result.outcome == Outcome.NOT_RUNNABLE
    assert says in result.reason


def test_a_prefix_without_a_suite_is_not_runnable(case: Case) -> None:
    assert interpret(replace(case, prefix="QQ")).outcome == Outcome.NOT_RUNNABLE


def test_a_suite_that_stumbles_over_a_value_has_not_understood_it(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "suite_of", lambda _: lambda case: case.given["nothing"])
    result = interpret(case)
    assert result.outcome == Outcome.NOT_RUNNABLE
    assert result.reason.startswith("a value is not understood: KeyError: 'nothing', in test_framework.py: ")


@pytest.mark.parametrize("error", [InvalidTransition("no such row"), AssertionError("must not be")], ids=repr)
def test_an_error_of_what_is_tested_is_a_failure(case: Case, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(case: Case) -> None:
        raise error

    monkeypatch.setattr(runner, "suite_of", lambda _: fail)
    assert interpret(case).outcome == Outcome.FAILED
    assert interpret(case).reason.startswith(f"{type(error).__name__}: {error}")


# ---------------------------------------------------------------- what is on file


def test_a_case_is_not_applicable_only_with_the_text_that_is_on_file(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "not_applicable", lambda: {case.id: "left out"})
    monkeypatch.setattr(tables, "written_for", lambda: {case.id: case.digest})
    other = replace(case, expect={"epoch": 737})
    assert [result.outcome for result in run_cases([case])] == [Outcome.NOT_APPLICABLE]
    assert [result.outcome for result in run_cases([other])] == [Outcome.FAILED]


WRITTEN = """
    import pytest

    @pytest.mark.case("QQ-001")
    def test_passes():
        pass

    @pytest.mark.case("QQ-002")
    def test_fails():
        assert 1 == 2

    @pytest.mark.case("QQ-003")
    def test_skips():
        pytest.skip("no disk")

    @pytest.mark.case("QQ-004")
    @pytest.mark.parametrize("n", [1, 2])
    def test_fails_once(n):
        assert n == 1

    def test_of_no_case():
        assert False
"""


@pytest.fixture
def written_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written tests of cases QQ-001 to QQ-004."""
    folder = tmp_path / "written"
    folder.mkdir()
    (folder / "test_written.py").write_text(textwrap.dedent(WRITTEN), "utf-8")
    monkeypatch.setattr(written, "FOLDER", folder)


@pytest.mark.usefixtures("written_tests")
def test_written_tests_decide_what_no_suite_interprets(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [replace(case, prefix="QQ", id=f"QQ-00{number}") for number in range(1, 6)]
    monkeypatch.setattr(tables, "written_for", lambda: {one.id: one.digest for one in cases})
    results = run_cases(cases)
    assert [result.outcome.value for result in results] == ["met", "failed", "not_runnable", "failed", "not_runnable"]
    assert "assert 1 == 2" in results[1].reason
    assert "no disk" in results[2].reason


@pytest.mark.usefixtures("written_tests")
def test_a_written_test_does_not_count_for_another_text(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(case, prefix="QQ", id="QQ-001")
    monkeypatch.setattr(tables, "written_for", lambda: {one.id: one.digest})
    (result,) = run_cases([replace(one, when="another thing")])
    assert (result.outcome, result.reason) == (Outcome.NOT_RUNNABLE, "the written test is for another text")


@pytest.mark.usefixtures("written_tests")
def test_accept_puts_the_text_of_the_written_tests_on_file(
    file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "WRITTEN_FOR", tmp_path / "written_for.json")
    monkeypatch.setattr(tables, "not_applicable", dict)
    rows = [{**document()["cases"][0], "id": f"QQ-00{number}"} for number in range(1, 6)]
    path = file(suites=[{"suite": "S", "prefix": "QQ"}], cases=rows)
    assert command.main([str(path), "--accept"]) == 0
    assert capsys.readouterr().out == "4 cases are on file\n"
    digest = read_cases(path).cases[0].digest
    assert tables.written_for() == dict.fromkeys(["QQ-001", "QQ-002", "QQ-003", "QQ-004"], digest)
    path = file(suites=[{"suite": "S", "prefix": "QQ"}], cases=rows[:2])
    assert command.main([str(path), "--accept"]) == 2
    assert "names QQ-003, QQ-004, which no case" in capsys.readouterr().err


def test_a_written_test_that_cannot_be_read_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_written.py").write_text("import nothing_of_that_name", "utf-8")
    monkeypatch.setattr(written, "FOLDER", tmp_path)
    assert command.main([str(file(when="unknown"))]) == 2
    assert "nothing_of_that_name" in capsys.readouterr().err


def test_at_most_fifteen_cases_are_not_applicable_and_each_says_why() -> None:
    rows = tables.not_applicable()
    assert len(rows) <= 15
    assert all(re.fullmatch(r"[A-Z]{2}-\d{3}", name) and len(reason) > 20 for name, reason in rows.items())
    assert set(rows) <= set(tables.written_for()), "run `python -m tests.conformance FILE --accept`"


def test_a_case_that_waits_says_for_what() -> None:
    assert all(re.match(r"later: (durable|wire): .{10}", reason) for reason in tables.later().values())


# ---------------------------------------------------------------- the command


def test_the_json_report_has_numbers_by_prefix_and_the_ids_that_failed(
    file: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([str(file()), "--json"]) == 0
    met = {"met": 1, "failed": 0, "not_applicable": 0, "not_runnable": 0}
    assert json.loads(capsys.readouterr().out) == {"suites": {"TM": met}, "failed": []}
    assert command.main([str(file(expect={"epoch": 1})), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report == {"suites": {"TM": {**met, "met": 0, "failed": 1}}, "failed": ["TM-101"]}


def test_the_text_report_says_why(file: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([str(file(expect={"epoch": 1}))]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^TM +0 +1 +0 +0$", out, re.MULTILINE)
    assert "TM-101  bump: entry epoch: expected 1, got 736" in out


def test_only_some_cases_can_be_run(file: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    rows = [document()["cases"][0], {**document()["cases"][0], "id": "TM-102", "expect": {"epoch": 1}}]
    assert command.main([str(file(cases=rows)), "--only", "TM-101"]) == 0
    assert command.main([str(file(cases=rows)), "--only", "TM"]) == 1
    capsys.readouterr()
    assert command.main([str(file(cases=rows)), "--only", "TX"]) == 2
    assert "--only TX: no case has that id or prefix; prefixes here are TM" in capsys.readouterr().err


# ---------------------------------------------------------------- words


def test_fields_know_what_was_not_taken() -> None:
    fields = Fields({"a": 1, "b": 2}, "given")
    assert fields.take("a") == 1
    assert fields.take("c", 3) == 3
    with pytest.raises(NotRunnable, match="given: 'b' is not understood"):
        fields.done()
    assert "b" in fields
    assert dict(fields.items()) == {"b": 2}
    fields.done()


def test_a_number_is_no_boolean() -> None:
    check("x", 1, 1)
    with pytest.raises(Failed, match="x: expected True, got 1"):
        check("x", expected=True, got=1)
    with pytest.raises(Failed):
        check("x", [0, True], [0, 1])


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("one", 1),
        (1, "one"),
        ([1], 1),
        ({"a": 1}, [1]),
        (None, 1),
        ("nonsense", "NOT_COORDINATOR"),
        ("nonsense", "Empty"),
        ("nonsense", "kept"),
        ({"nonsense"}, {"NOT_COORDINATOR"}),
    ],
)
def test_what_can_never_come_was_not_understood(expected: object, got: object) -> None:
    with pytest.raises(NotRunnable, match="x: "):
        check("x", expected, got)


@pytest.mark.parametrize(
    ("expected", "got"),
    [("NONE", "NOT_COORDINATOR"), ("none", "Empty"), ("gone", "kept"), ("t1 partition1", "t1"), ({1}, {2}), (1, None)],
)
def test_what_could_come_and_does_not_is_a_failure(expected: object, got: object) -> None:
    with pytest.raises(Failed, match="x: expected "):
        check("x", expected, got)


def test_what_is_expected_may_not_be_empty() -> None:
    for nothing in (None, "", " "):
        with pytest.raises(NotRunnable, match="'a' is empty: it says nothing"):
            Fields({"a": nothing}, "expect").take("a")
        with pytest.raises(NotRunnable, match="'a' is empty: it says nothing"):
            Fields({"a": nothing}, "expect").items()
        assert Fields({"a": nothing}, "given txn").take("a") == nothing
    with pytest.raises(NotRunnable, match="log is empty: it says nothing"):
        Fields({}, "log")
    Fields({}, "given").done()
    Fields({}, "log", is_rest=True).done()


def test_what_holds_for_one_transaction_version() -> None:
    assert [by_version(told, 2, "epoch") for told in (7, {"tv0": 1, "tv2": 3})] == [7, 3]
    for told in ({"tv0": 1}, {"tv2": None}, {}, {"tv2": 1, "tv7": 1}):
        with pytest.raises(NotRunnable):
            by_version(told, 2, "epoch")


def test_a_suite_knows_the_words_of_its_source_and_not_those_of_its_messages() -> None:
    known = words_of("TM")
    assert {"bump", "rotate", "epoch", "IllegalStateException", "OUT", "SEQUENCE", "Empty"} <= known
    assert not {"colour", "answered", "refused"} & known
    assert "partition" in words_of("MK")


@pytest.mark.parametrize("unknown", ["NO_SUCH_ERROR", 7, None])
def test_an_unknown_name_is_not_runnable(unknown: object) -> None:
    for read in (error_of, state_of, partition_of):
        with pytest.raises(NotRunnable, match=repr(unknown)):
            read(unknown)
    assert (error_of("NONE"), state_of("Dead"), partition_of("a-b-1")) == (0, 6, ("a-b", 1))

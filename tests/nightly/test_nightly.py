"""make check-nightly: what it explores exists, what it finds is compared, and what it did not reach is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.nightly import __main__ as command
from tests.nightly import exploring, results
from tests.nightly.exploring import Means, of_these_sources
from tests.nightly.page import PAGE, page
from tests.nightly.results import Damaged, Found
from zombieproof.checker.checking import check
from zombieproof.checker.nightly import EXCHANGED, SCOPES, SHOWN_BY, Scope
from zombieproof.checker.scenarios import SCENARIOS

ONE, OTHER = Scope("late_produce", (("lost", 2),)), Scope("timeout", (("lost", 9),))
FOUND = Found(ONE.name, "holds", "", 600, 1_000, 19, 0.1, 200)


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Found | None]:
    """Two scopes, a place for results and page, and what exploring them finds."""
    (tmp_path / "docs").mkdir()
    found: dict[str, Found | None] = {ONE.name: FOUND, OTHER.name: None}
    place = tmp_path / "results.jsonl"
    monkeypatch.setattr(command, "SCOPES", (ONE, OTHER))
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "explorer", lambda *_: lambda scope, _: found[scope.name])
    monkeypatch.setattr(results.read, "__defaults__", (place,))
    monkeypatch.setattr(results.write, "__defaults__", (place,))
    return found


def test_every_scope_is_larger_than_what_the_default_set_explores() -> None:
    assert len(SCOPES) >= 100
    assert len({scope.name for scope in SCOPES}) == len(SCOPES)
    for scope in SCOPES:
        own = SCENARIOS[scope.scenario]
        bounds = own.own_bounds(dict(scope.bounds))
        given = [other for (name, _), other in EXCHANGED.items() if name == scope.scenario]
        given += [{name: 0 for name, value in scope.bounds if not value}]
        exchanged = {bound for other in given if other.items() <= dict(scope.bounds).items() for bound in other}
        assert all(bounds[name] >= value for name, value in own.bounds.items() if name not in exchanged), scope.name
        assert any(bounds[fault] > own.bounds.get(fault, 0) for fault in own.faults if fault in bounds), scope.name
        assert scope.judged().always, scope.name
        assert scope.judged().sometimes, scope.name


def test_what_is_exchanged_is_a_bound_of_a_scope() -> None:
    names = {(scope.scenario, name) for scope in SCOPES for name, _ in scope.bounds}
    assert {(scenario, name) for (scenario, _), bounds in EXCHANGED.items() for name in bounds} <= names
    assert set(SHOWN_BY) <= {name for bounds in EXCHANGED.values() for name, value in bounds.items() if not value}


def test_a_scope_without_a_fault_is_not_asked_for_what_only_that_shows() -> None:
    scenario = SCENARIOS["coordinator_failover"]
    for bounds in ({"failovers": 2, "deposed": 0}, {"failovers": 0, "deposed": 2}):
        asked = Scope(scenario.name, tuple(bounds.items())).judged().sometimes
        expected = {"a_stale_coordinator_still_answers"} if not bounds["deposed"] else set()
        assert set(scenario.sometimes) - set(asked) == expected


def test_all_transaction_versions_and_scopes_of_many_millions_are_there() -> None:
    versions = {SCENARIOS[scope.scenario].own_rules().transaction_version for scope in SCOPES}
    assert versions == {0, 1, 2}
    assert max(scope.states for scope in SCOPES) > 100_000_000


def test_the_page_is_what_was_found_and_every_result_is_of_a_scope(repository_root: Path) -> None:
    found = results.read()
    assert set(found) <= {scope.name for scope in SCOPES}
    assert (repository_root / PAGE).read_text(encoding="utf-8") == page(SCOPES, found)
    assert {one.verdict for one in found.values()} <= {"holds", "violated", "inconclusive"}
    for one in found.values():
        assert (one.verdict == "violated", one.verdict == "inconclusive") == (bool(one.promise), bool(one.lacks))


def test_what_is_cheap_is_found_again() -> None:
    known = results.read()
    cheap = exploring.in_order([scope for scope in SCOPES if scope.name in known], known)[:1]
    explore = exploring.explorer(Means(), known)
    assert cheap
    for scope in cheap:
        again = explore(scope, 600.0)
        assert again is not None
        assert again.facts == known[scope.name].facts


def test_what_was_not_reached_is_inconclusive_and_what_was_stands_on_the_page(
    night: dict[str, Found | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night
    assert command.main(["--seconds", "60"]) == 3
    assert f"not reached, inconclusive: {OTHER.name}\n" in capsys.readouterr().err
    text = (tmp_path / PAGE).read_text()
    assert "1 of 2 scopes, 600 states" in text
    assert "| `late_produce` | lost=2 | holds | 600 | 1,000 | 19 | 0.1 | 200 |" in text
    assert f"to come to their end.\n\n- `timeout` {OTHER.within}\n" in text
    assert "| 2 | 1 | 0 | 0 | 1 |\n" in text


def test_without_time_nothing_is_explored() -> None:
    def explore(scope: Scope, seconds: float) -> Any:
        raise AssertionError(scope.name, seconds)

    assert list(exploring.nightly([ONE, OTHER], explore, -1.0)) == [(ONE, None), (OTHER, None)]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"distinct": 601}, "holds, 601 states of 1,000, depth 19; before: holds, 600 states of 1,000, depth 19"),
        (
            {"verdict": "violated", "promise": "a", "steps": 5},
            "violated (a in 5 steps), 600 states of 1,000, depth 19; before: holds",
        ),
    ],
)
def test_what_is_not_as_it_was_fails(
    night: dict[str, Found | None], capsys: pytest.CaptureFixture[str], changed: dict[str, Any], says: str
) -> None:
    night[OTHER.name] = replace(FOUND, scope=OTHER.name)
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0
    night[ONE.name] = replace(FOUND, seconds=7.0, mib=9)
    assert command.main(["--check"]) == 0
    night[ONE.name] = replace(FOUND, **changed)
    assert command.main(["--check"]) == 1
    assert f"{ONE.name}: {says}" in capsys.readouterr().err


def test_what_breaks_when_it_is_explored_for_the_first_time_fails(
    night: dict[str, Found | None], capsys: pytest.CaptureFixture[str]
) -> None:
    night[ONE.name] = replace(FOUND, verdict="violated", promise="a")
    assert command.main([]) == 1
    assert "it is expected to hold" in capsys.readouterr().err


def test_what_is_known_to_break_is_named_with_its_story_and_fails_only_if_it_changes(
    night: dict[str, Found | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    doubted = Scope("coordinator_failover", (("crashes", 1),))
    new = Scope("coordinator_failover", (("lost", 3),))
    monkeypatch.setattr(command, "SCOPES", (doubted,))
    broken = replace(FOUND, scope=doubted.name, verdict="violated", promise="a_transaction_has_one_decision", steps=15)
    night[doubted.name] = broken
    assert command.main([]) == 0
    text = (tmp_path / PAGE).read_text()
    named = "`zombie_takeover` `a_decision_that_counts_as_failed_is_taken_again`"
    assert "## Broken\n\nNothing but what is known.\n" in text
    assert f"\n- `{doubted.scenario}` crashes=1: `{broken.promise}` in 15 steps, as in {named}\n" in text
    night[doubted.name] = replace(broken, steps=14)
    assert command.main([]) == 1
    assert "in 14 steps), 600 states of 1,000, depth 19; before: violated" in capsys.readouterr().err
    other = replace(broken, scope=new.name, promise="epochs_never_go_down")
    assert f"## Broken\n\n- `{new.scenario}` lost=3: `{other.promise}` in 15 steps\n" in page([new], {new.name: other})


def test_each_committed_result_that_is_broken_is_a_registered_story() -> None:
    found = results.read()
    broken = [(scope, found[scope.name].promise) for scope in SCOPES if scope.name in found]
    assert [f"{scope.name}: {promise}" for scope, promise in broken if promise and scope.story(promise) is None] == []


def test_a_page_that_says_something_else_is_not_accepted(night: dict[str, Found | None], tmp_path: Path) -> None:
    night[OTHER.name] = replace(FOUND, scope=OTHER.name)
    assert command.main([]) == 0
    (tmp_path / PAGE).write_text("changed")
    assert command.main(["--check"]) == 1


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    place = tmp_path / "results.jsonl"
    for line in ("{", '{"scope": "a"}', "[]"):
        place.write_text(line)
        with pytest.raises(Damaged, match=r"line 1: .*restore it"):
            results.read(place)


def test_a_scope_without_room_is_a_result_with_its_reason(
    night: dict[str, Found | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night[OTHER.name] = replace(FOUND, scope=OTHER.name, verdict="inconclusive", lacks="appends under way", seconds=0.4)
    assert command.main([]) == 0
    text = (tmp_path / PAGE).read_text()
    assert "1 of 2 scopes, 600 states" in text
    assert "| 2 | 1 | 0 | 1 | 0 |\n" in text
    section = text.partition("## No room\n")[2].partition("## Not known\n")[0]
    assert "| `timeout` | lost=9 | appends under way | 600 | 1,000 | 19 | 0.4 | 200 |\n" in section
    assert text.count(f"| `timeout` | {OTHER.within} |") == 1
    assert command.main(["--check"]) == 0
    night[OTHER.name] = replace(FOUND, scope=OTHER.name)
    assert command.main(["--check"]) == 1
    assert "before: inconclusive (no room for appends under way), 600 states" in capsys.readouterr().err


def test_a_scope_that_time_ends_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert exploring.explorer(Means(), {})(ONE, -1.0) is None
    assert capsys.readouterr().err == "  inconclusive: time is up\n"


def test_a_scope_that_exceeds_a_capacity_is_known_with_it() -> None:
    scope = Scope("forgotten_owner", (("expirations", 2),))
    one = exploring.explorer(Means(), {})(scope, 600.0)
    assert one is not None
    assert (one.verdict, one.promise, one.sources) == ("inconclusive", "", of_these_sources())
    assert one.lacks == "producer ids (2; 4 with --bounds more_producer_ids=1)"


@pytest.fixture
def explored(night: dict[str, Found | None], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the scopes that a run explores, of which all are found."""
    night[OTHER.name] = replace(FOUND, scope=OTHER.name)
    names: list[str] = []

    def explore(scope: Scope, _: float) -> Found | None:
        names.append(scope.name)
        found = night[scope.name]
        return found and replace(found, sources=of_these_sources())

    monkeypatch.setattr(command, "explorer", lambda *_: explore)
    return names


def test_only_what_is_missing_is_explored_when_that_is_asked_for(explored: list[str]) -> None:
    results.write({ONE.name: replace(FOUND, sources="older")}, [ONE.name])
    assert command.main(["--missing"]) == 0
    assert explored == [OTHER.name]
    assert command.main(["--missing"]) == 0
    assert explored == [OTHER.name]
    assert set(results.read()) == {ONE.name, OTHER.name}


def test_a_run_goes_on_where_one_of_the_same_sources_was_stopped(explored: list[str]) -> None:
    before = {
        ONE.name: replace(FOUND, sources=of_these_sources()),
        OTHER.name: replace(FOUND, scope=OTHER.name, sources="older"),
    }
    results.write(before, before)
    assert command.main([]) == 0
    assert explored == [OTHER.name]


def test_what_was_found_before_an_interrupt_stands(
    night: dict[str, Found | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def explore(scope: Scope, _: float) -> Found | None:
        if scope == OTHER:
            raise KeyboardInterrupt
        return night[scope.name]

    monkeypatch.setattr(command, "explorer", lambda *_: explore)
    assert command.main([]) == 130
    assert set(results.read()) == {ONE.name}
    assert "1 of 2 scopes" in (tmp_path / PAGE).read_text()


def test_progress_says_which_scope_and_how_much_time_is_left(
    night: dict[str, Found | None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert night
    assert command.main(["--seconds", "3660"]) == 3
    said = capsys.readouterr().err
    assert "2 of 2 scopes are to be explored\n" in said
    assert f"1 of 2, 1 h 00 min left: {ONE.name}\n" in said
    assert "holds, 600 states of 1,000, depth 19\n" in said


def test_time_is_said_in_its_largest_unit() -> None:
    assert [exploring.words_of_time(each) for each in (-1.0, 59.9, 60.0, 3599.0, 3900.0)] == [
        "0 s",
        "59 s",
        "1 min",
        "59 min",
        "1 h 05 min",
    ]


def test_what_does_not_fit_is_spilled_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, fits = [], [True]

    def checked(*given: Any, **others: Any) -> Any:
        made = check(*given, **others)
        asked.append(given[1].spill)
        if given[1].spill is None and not fits[0]:
            made = replace(made, result=replace(made.result, verdict="inconclusive", why="the memory limit is reached"))
        return made

    monkeypatch.setattr(exploring, "check", checked)
    in_memory = exploring.explorer(Means(), {})(ONE, 600.0)
    fits[0] = False
    spilled = exploring.explorer(Means(spill=tmp_path / "spill"), {})(ONE, 600.0)
    assert in_memory is not None
    assert spilled is not None
    assert in_memory.facts == spilled.facts
    assert "the memory limit is reached; once more, with what does not fit on disk\n" in capsys.readouterr().err
    assert asked == [None, None, tmp_path / "spill"]
    expected_to_be_large = {ONE.name: replace(FOUND, distinct=1 << 50)}
    assert exploring.explorer(Means(), expected_to_be_large)(ONE, 600.0) is not None
    assert len(asked) == len([None, None, "given", "temporary"])
    assert asked[-1] is not None
    assert not asked[-1].parent.exists()
    assert not (tmp_path / "spill").exists()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("no/folder", "No such file or directory; give a writable folder"),
        ("file", "not a folder; give a new or empty folder"),
        ("foreign", "the folder contains other files: notes.txt; give a new or empty folder"),
        ("left", "the folder has files of an interrupted exploration; remove them, or give another folder"),
    ],
)
def test_a_folder_that_cannot_take_what_does_not_fit_is_refused_before_anything_is_explored(
    explored: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, says: str
) -> None:
    (tmp_path / "file").write_text("")
    for folder, file in (("foreign", "notes.txt"), ("left", "run-000001")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text("kept")
    assert command.main(["--spill", str(tmp_path / place)]) == 2
    assert capsys.readouterr().err == f"--spill {tmp_path / place}: {says}\n"
    assert explored == []
    assert (tmp_path / "foreign" / "notes.txt").read_text() == (tmp_path / "left" / "run-000001").read_text() == "kept"


def test_a_folder_that_can_be_used_is_left_as_it_was(explored: list[str], tmp_path: Path) -> None:
    assert command.main(["--spill", str(tmp_path / "new")]) == 0
    assert explored
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    assert command.main(["--spill", str(tmp_path / "empty")]) == 0
    assert list((tmp_path / "empty").iterdir()) == []


def test_one_run_is_asked_for_the_cheap_or_for_the_missing() -> None:
    with pytest.raises(SystemExit):
        command.main(["--check", "--missing"])


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--seconds", "nan"], ["--workers", "0"], ["--memory-gib", "0"]])
def test_what_makes_no_sense_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(wrong)
    assert "give more than 0" in capsys.readouterr().err

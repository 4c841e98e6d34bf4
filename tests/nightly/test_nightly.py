"""make check-nightly: what it explores exists, what it finds is compared, and what it did not reach is said."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.nightly import __main__ as command
from tests.nightly import results
from tests.nightly.page import PAGE, page
from tests.nightly.results import Damaged, Found
from zombieproof.checker.nightly import SCOPES, Scope
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
        assert all(bounds[name] >= value for name, value in own.bounds.items()), scope.name
        assert bounds != dict(own.bounds), scope.name
        assert scope.judged().always, scope.name


def test_all_transaction_versions_and_scopes_of_many_millions_are_there() -> None:
    versions = {SCENARIOS[scope.scenario].own_rules().transaction_version for scope in SCOPES}
    assert versions == {0, 1, 2}
    assert max(scope.states for scope in SCOPES) > 100_000_000


def test_the_page_is_what_was_found_and_every_result_is_of_a_scope(repository_root: Path) -> None:
    found = results.read()
    assert set(found) <= {scope.name for scope in SCOPES}
    assert (repository_root / PAGE).read_text(encoding="utf-8") == page(SCOPES, found)
    assert {one.verdict for one in found.values()} <= {"holds", "violated"}


def test_what_is_cheap_is_found_again() -> None:
    known = results.read()
    cheap = command.in_order([scope for scope in SCOPES if scope.name in known], known)[:3]
    explore = command.explorer(1, None)
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
    assert f"a capacity of the model was exceeded.\n\n- `timeout` {OTHER.within}\n" in text


def test_without_time_nothing_is_explored() -> None:
    def explore(scope: Scope, seconds: float) -> Any:
        raise AssertionError(scope.name, seconds)

    assert list(command.nightly([ONE, OTHER], explore, -1.0)) == [(ONE, None), (OTHER, None)]


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


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--seconds", "nan"], ["--workers", "0"], ["--memory-gib", "0"]])
def test_what_makes_no_sense_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(wrong)
    assert "give more than 0" in capsys.readouterr().err

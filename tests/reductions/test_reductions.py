"""With each reduction verdicts are the same: small scenarios here, all in `make reductions`."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.reductions import __main__ as command
from tests.reductions.comparing import Found, Row, compared, faults_of
from tests.reductions.page import PAGE, line_of, page
from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios import SCENARIOS

SMALL = ("delayed_abort", "kip98_takeover", "idempotent_producer", "two_phase_commit", "spark_two_phase_sink")
ROW = Row("a", "", Found("holds", 9, "", 0), [Found("holds", 4, "", 0, ("symmetry",))] * 3)
MUTANT = Row("a", "b", Found("violated", 9, "p", 5), [Found("violated", 4, "p", 5, ("symmetry",))] * 3)


@pytest.mark.parametrize(
    "scenario",
    [
        # Each reduction of each model is compiled by itself, a minute for the transactions: CI has `make reductions`.
        pytest.param(
            SCENARIOS[name], id=name, marks=pytest.mark.deep if name != "two_phase_commit" else pytest.mark.slow
        )
        for name in SMALL
    ],
)
def test_a_small_scenario_and_its_mutants_say_the_same_in_each_way(scenario: Scenario) -> None:
    row = compared(scenario)
    rows = [row, *(compared(scenario, mutant) for mutant in scenario.mutants)]
    assert [fault for each in rows for fault in faults_of(each)] == []
    assert line_of(row) in (command.ROOT / PAGE).read_text(encoding="utf-8"), "write it again: make reductions"


def test_every_scenario_has_its_line() -> None:
    text = (command.ROOT / PAGE).read_text(encoding="utf-8")
    for scenario in SCENARIOS.values():
        assert f"| `{scenario.name}` | {scenario.distinct:,} |" in text, "write it again: make reductions"


@pytest.mark.parametrize(
    ("row", "found", "says"),
    [
        (ROW, Found("violated", 4, "p", 3, ("symmetry",)), "a, reduced by symmetry: violated p, and as it is holds"),
        (ROW, Found("holds", 10, "", 0, ("order",)), "10 states, and as it is 9"),
        (MUTANT, Found("holds", 4, "", 0, ("order",)), "a, b, reduced by symmetry: holds , and as it is violated p"),
        (MUTANT, Found("violated", 4, "q", 5, ("order",)), "violated q, and as it is violated p"),
        (MUTANT, Found("violated", 4, "p", 6, ("symmetry",)), "6 steps to p, and as it is 5"),
        (MUTANT, Found("violated", 4, "p", 4, ("order",)), "4 steps to p, fewer than the shortest way of 5"),
    ],
)
def test_what_a_reduction_must_not_change_is_told(row: Row, found: Found, says: str) -> None:
    told = list(faults_of(replace(row, reduced=[found, *row.reduced[1:]])))
    assert len(told) == 1
    assert says in told[0]
    assert list(faults_of(row)) == []


def test_longer_stories_are_told_on_the_page() -> None:
    longer = replace(MUTANT, reduced=[MUTANT.plain, Found("violated", 4, "p", 6, ("order",)), MUTANT.plain])
    assert list(faults_of(longer)) == []
    assert "| `b` | 5 | 6 |" in page([ROW, longer])
    assert "No story gets longer." in page([ROW, MUTANT])


def test_a_page_that_differs_is_not_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "explored", lambda most: iter([ROW]))
    assert command.main(["--check"]) == 1
    assert "+| `a` | 9 | 4 | 2.25 |" in capsys.readouterr().err


def test_a_part_of_the_page_is_compared_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    longer = replace(MUTANT, reduced=[MUTANT.plain, Found("violated", 4, "p", 6, ("order",)), MUTANT.plain])
    monkeypatch.setattr(command, "ROOT", tmp_path)
    (tmp_path / PAGE).parent.mkdir()
    (tmp_path / PAGE).write_text(page([replace(ROW, scenario="other"), ROW, longer]), encoding="utf-8")
    for rows, code in (([ROW, longer], 0), ([ROW, MUTANT], 0), ([replace(ROW, plain=Found("holds", 8, "", 0))], 1)):
        monkeypatch.setattr(command, "explored", lambda most, rows=rows: iter(rows))
        assert command.main(["--check", "--most", "9"]) == code
    assert "not in docs/reductions.md: | `a` | 8 |" in capsys.readouterr().err


def test_scenarios_with_more_states_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "compared", lambda scenario, mutant: Row(scenario.name, "", ROW.plain, ROW.reduced))
    names = {row.scenario for row in command.explored(1_000)}
    assert names == {scenario.name for scenario in SCENARIOS.values() if scenario.distinct <= 1_000}


def test_a_reduction_that_changes_a_verdict_fails_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = replace(ROW, reduced=[Found("violated", 4, "p", 3, ("symmetry",)), *ROW.reduced[1:]])
    monkeypatch.setattr(command, "explored", lambda most: iter([wrong]))
    before = (command.ROOT / PAGE).read_text(encoding="utf-8")
    assert command.main([]) == 1
    assert "as it is holds" in capsys.readouterr().err
    assert (command.ROOT / PAGE).read_text(encoding="utf-8") == before

"""Random applications under random faults: clients are never told what is not so; what is wrong is seen by them."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.soak import __main__ as program
from tests.soak.mutants import MUTANTS, Mutant
from tests.soak.rounds import Failed
from tests.soak.soak import Soak, Stuck
from tests.soak.weather import CALM, STORM, Weather, drawn
from zombieproof.model.rules import preset
from zombieproof.traces.history.anomalies import Anomaly
from zombieproof.traces.history.history_file import format_event, read_history
from zombieproof.traces.history.judge import RULES, judge

SHORT = 100
"""Transactions of a short round."""

QUICK = (1, 7)
SEEDS = range(1, 41)
"""Each seventh round has every fault."""

FIRST_ROUNDS = range(7, 7 + 5)
"""Within these a mutant is seen."""


@pytest.mark.share(2)
@pytest.mark.long(*(f"seed-{seed}-" for seed in SEEDS[21:]))
@pytest.mark.sample(*(f"seed-{seed}-" for seed in QUICK))
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed-{seed}-")
def test_no_client_is_told_what_is_not_so(seed: int) -> None:
    found = Soak(seed, SHORT).run()
    assert [(each.anomaly, each.message) for each in found.verdict.findings] == []
    assert found.verdict.counts.transactions >= SHORT
    assert found.verdict.counts.committed > SHORT / 3


def test_a_round_is_made_of_its_seed_alone() -> None:
    one, other, another = (Soak(seed, 20).run().history for seed in (7, 7, 14))
    assert [format_event(event) for event in one.events] == [format_event(event) for event in other.events]
    assert [format_event(event) for event in one.events] != [format_event(event) for event in another.events]


@pytest.mark.slow
def test_every_fault_of_a_storm_happens() -> None:
    found = Soak(7, 300).run()
    assert found.weather == STORM
    assert min(found.faults.values()) > 0, found.faults
    assert set(found.faults) == set(STORM.faults)
    assert found.verdict.counts.unknown > 0


def test_without_faults_every_outcome_is_known() -> None:
    found = Soak(1, SHORT, weather=CALM).run()
    assert found.verdict.is_clean
    assert sum(found.faults.values()) == 0
    # What is under way when everything ends has no outcome, and nothing else has none.
    assert found.verdict.counts.unknown <= 6


def test_faults_are_drawn_alone_and_together() -> None:
    weathers = {drawn(Random(seed)) for seed in range(50)}
    assert len(weathers) > 40
    assert {name for weather in weathers for name in weather.faults} == set(STORM.faults)


def test_applications_that_stand_still_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.soak.soak.TURNS", 300)
    with pytest.raises(Stuck, match=r"seed 1: \d+ of 30 transactions"):
        Soak(1, 30, weather=Weather(lost=1.0)).run()


@pytest.mark.sample("any_sequence", "forgets")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_what_is_wrong_is_seen_by_clients(mutant: Mutant) -> None:
    seen = set()
    for seed in FIRST_ROUNDS:
        soak = Soak(seed, SHORT, rules=mutant.rules, weather=mutant.weather, prepare=mutant.prepare)
        seen |= {finding.anomaly for finding in soak.run().verdict.findings}
        if mutant.shows in seen:
            return
    pytest.fail(f"{mutant.name}: {mutant.shows} is not among {sorted(seen)}")


@pytest.mark.slow
def test_what_the_mutant_of_another_release_is_put_into_is_right() -> None:
    """The others are put into the newest rules, under a storm: that is the test at the head."""
    [mutant] = [each for each in MUTANTS if each.release != "newest"]
    for seed in FIRST_ROUNDS:
        found = Soak(seed, SHORT, rules=preset(mutant.release), weather=mutant.weather).run()
        assert found.verdict.findings == []


def test_the_verdict_is_that_of_the_history_alone() -> None:
    found = Soak(2, 30).run()
    assert judge(found.history) == found.verdict
    assert len(RULES) == 17


def soaked(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.soak", "--in-a-round", "10", "--jobs", "1", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_the_program_says_what_it_found(tmp_path: Path, repository_root: Path) -> None:
    done = soaked(repository_root, "--rounds", "1", "--keep", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:4]] == ["messages", "disks", "together"]
    assert "transactions/s" in done.stdout
    assert done.stdout.endswith("no anomaly\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sample("arguments0", "arguments3")
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--transactions", "many"), "--transactions"),
        (("--transactions", "0"), "--transactions"),
        (("--kind", "clocks"), "choose from"),
        (("--keep", "nowhere/at/all"), "there is no such folder: make it, or name another"),
    ],
)
def test_wrong_usage_is_refused(arguments: tuple[str, ...], fault: str, repository_root: Path) -> None:
    done = soaked(repository_root, *arguments)
    assert done.returncode == 2
    assert fault in done.stderr


def test_an_anomaly_keeps_its_history_and_says_how_to_take_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [mutant] = [each for each in MUTANTS if each.shows is Anomaly.DIRTY_READ]
    found = Soak(7, SHORT, rules=mutant.rules).run()
    stuck = Failed("messages, seed 9: stands still", 1)
    monkeypatch.setattr(program, "rounds", lambda *_: iter([("messages", 7, found), ("disks", 9, stuck)]))
    monkeypatch.setattr(sys, "argv", ["tests.soak", "--keep", str(tmp_path), "--in-a-round", str(SHORT)])
    assert program.main() == 1
    said = capsys.readouterr().out
    assert f"again: python -m tests.soak --kind messages --seed 7 --rounds 1 --in-a-round {SHORT}" in said
    assert "stands still" in said
    assert f"kept as {tmp_path / 'soak-messages-7.jsonl'}" in said
    kept = read_history(tmp_path / "soak-messages-7.jsonl")
    assert judge(kept).findings
    assert len(judge(kept).findings) == len(found.verdict.findings)

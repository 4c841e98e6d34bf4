"""What the functions of the public API do: what the commands do, as values."""

import io
from pathlib import Path

import pytest

from zombieproof import (
    SCENARIOS,
    Cluster,
    EvidenceError,
    InitProducerId,
    InitProducerIdAnswer,
    Judgement,
    OwnFault,
    RecordingError,
    UnknownBound,
    UnknownMutant,
    UnknownRule,
    UnknownScenario,
    check,
    conform,
    preset,
    replay,
    save,
    scenario,
    tell,
)
from zombieproof.traces.trace_file import read_trace

MODEL = "examples/own_model.py"


@pytest.fixture
def lost(repository_root: Path) -> Path:
    return repository_root / "tests" / "recordings" / "09-offline-partition-lost-commit"


# ---------------------------------------------------------------- check


def test_a_scenario_is_checked_by_its_name() -> None:
    run = check("two_phase_commit", bounds={"n": 3})
    assert (run.name, run.verdict, run.broken, run.story) == ("two_phase_commit", "holds", None, None)
    assert run.distinct == 288


def test_a_scenario_of_a_file_is_checked_told_and_saved(repository_root: Path, tmp_path: Path) -> None:
    run = check(repository_root / MODEL, mutant="the_store_takes_every_write")
    assert run.verdict == "violated"
    assert run.broken is not None
    assert run.broken.name == "no_write_is_undone_by_an_older_one"
    out = io.StringIO()
    tell(run, out)
    assert "no_write_is_undone_by_an_older_one is broken: What the store accepts" in out.getvalue()
    assert "7. the write of" in out.getvalue()
    save(run, tmp_path / "story.jsonl")
    assert len(read_trace(tmp_path / "story.jsonl").steps) == 7


def test_a_run_without_a_counterexample_is_told_and_cannot_be_saved(repository_root: Path, tmp_path: Path) -> None:
    run = check(scenario(repository_root / MODEL))
    tell(run, out := io.StringIO())
    assert out.getvalue() == "lock_with_leases (own): holds, 143 distinct states\n"
    with pytest.raises(ValueError, match="lock_with_leases: there is no counterexample to write; its verdict is holds"):
        save(run, tmp_path / "story.jsonl")
    assert not (tmp_path / "story.jsonl").exists()


def test_what_does_not_exist_is_refused_with_what_does(repository_root: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownScenario, match=r"no scenario 'zombie_takeovr' .*; did you mean zombie_takeover"):
        check("zombie_takeovr")
    with pytest.raises(OwnFault, match="no such file"):
        check(tmp_path / "missing.py")
    with pytest.raises(UnknownRule, match=r"no preset of rules is named '3\.99'"):
        check("timeout", rules="3.99")
    with pytest.raises(UnknownMutant, match="no mutant 'none'"):
        check("timeout", mutant="none")
    with pytest.raises(UnknownBound, match="no bound 'loss'"):
        check("timeout", bounds={"loss": 1})
    two = tmp_path / "two.py"
    two.write_text((repository_root / MODEL).read_text() + "\nfrom dataclasses import replace\n"
                   "OTHER = replace(SCENARIO, name='another')\n")  # fmt: skip
    with pytest.raises(UnknownScenario, match=r"two.py defines several scenarios \(lock_with_leases, another\)"):
        scenario(two)
    assert scenario(f"{two}:another").name == "another"


def test_registered_scenarios_are_found_by_name() -> None:
    assert all(scenario(name) is found for name, found in SCENARIOS.items())


# ---------------------------------------------------------------- replay


def test_a_folder_is_judged(lost: Path) -> None:
    report = replay(lost)
    assert report.verdict is Judgement.VIOLATES
    assert report.findings[0].explanation is None
    assert replay(lost, explained=True).findings[0].explanation is not None


def test_a_recording_is_judged_by_the_rules_that_are_named(lost: Path) -> None:
    assert replay(lost, rules="4.3") == replay(lost, rules=preset("4.3"))
    with pytest.raises(UnknownRule):
        replay(lost, rules="4.33")


def test_topics_narrow_what_is_read(lost: Path) -> None:
    narrowed = replay(lost, topics=["nothing-*"]).narrowed
    assert narrowed is not None
    assert narrowed.left_out == ["d", "e"]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError):
        replay(tmp_path / "missing")
    with pytest.raises(EvidenceError):
        replay()


# ---------------------------------------------------------------- conform, and a cluster


def test_recorded_answers_are_compared(repository_root: Path) -> None:
    [tally] = conform(repository_root / "tests" / "answers" / "sample.jsonl.gz", limit=3)
    assert (tally.sequences, tally.equal, tally.damaged) == (3, 3, [])


def test_a_recording_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError):
        conform(tmp_path / "missing.jsonl")


def test_a_cluster_answers() -> None:
    cluster = Cluster(nodes=1, rules=preset("newest"), topics={"t": 1})
    answer = cluster.ask(InitProducerId(5, "shop", 60_000), cluster.coordinator_of("shop"))
    assert isinstance(answer, InitProducerIdAnswer)
    assert (answer.error, answer.producer_epoch) == (0, 0)

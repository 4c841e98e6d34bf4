"""A job finds what `check` finds, and what goes wrong in it is said in its result."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker import checking
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.farm.exploring import Limits, explore
from zombieproof.farm.found import Entry
from zombieproof.farm.jobs import Job

Jobs = Callable[..., list[Job]]

PLAN = (
    "{scenarios: [late_produce, delayed_commit], rules: [own, '3.9'], expect: anything}",
    "{scenarios: [late_produce, delayed_commit, spark_naive_sink], mutants: '*'}",
    "{scenarios: timeout, bounds: {lost: [0, 2]}}",
    "{scenarios: late_produce, without: kip360, with: transaction_version=0, expect: violated}",
)


def test_every_job_finds_what_check_finds(jobs: Jobs) -> None:
    entries = [Entry(job, explore(job, Limits())) for job in jobs(*PLAN)]
    assert {entry.found.verdict for entry in entries} == {"holds", "violated"}
    for job, found in [(entry.job, entry.found) for entry in entries]:
        checked = checking.check(SCENARIOS[job.scenario], job.request())
        result, violated = checked.result, checked.result.violated
        assert (found.verdict, found.distinct, found.generated, found.depth, dict(found.bounds)) == (
            result.verdict,
            result.distinct,
            result.generated,
            result.depth,
            checked.bounds,
        )
        assert found.promise == (violated.promise if violated else None)
        assert found.steps == (len(violated.actions or ()) if violated else None)
        assert found.cpu_seconds > 0
    assert {entry.outcome for entry in entries} == {"as expected"}, [entry.remark for entry in entries]


def test_a_mutant_that_breaks_in_another_number_of_steps_is_unexpected(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce, mutants: no_verification}")
    entry = Entry(replace(job, steps=job.steps + 1), explore(job, Limits()))
    assert (entry.outcome, entry.remark) == ("unexpected", f"expected: {job.promise} breaks in {job.steps + 1} steps")


def test_a_mutant_that_survives_is_unexpected(jobs: Jobs) -> None:
    (mutant,) = jobs("{scenarios: late_produce, mutants: no_verification}")
    (whole,) = jobs("{scenarios: late_produce}")
    assert Entry(mutant, explore(whole, Limits())).outcome == "unexpected"


def test_another_count_than_the_pinned_one_is_unexpected(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce}")
    found = explore(job, Limits())
    assert Entry(job, found).outcome == "as expected"
    other = Entry(job, found.model_copy(update={"distinct": 7}))
    assert (other.outcome, other.remark) == (
        "unexpected",
        f"{SCENARIOS['late_produce'].distinct:,} distinct states are pinned",
    )


def test_what_is_expected_to_hold_or_to_be_violated_is_held_against_what_is_found(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce}")
    found = explore(job, Limits())
    violated = Entry(replace(job, expected="violated"), found)
    assert (violated.outcome, violated.remark) == ("unexpected", "expected: violated")
    assert Entry(replace(job, expected="anything"), found).outcome == "as expected"
    broken = found.model_copy(update={"verdict": "violated", "promise": "p", "steps": 3})
    assert Entry(job, broken).outcome == "unexpected"


@pytest.mark.slow
def test_walks_of_a_seed_are_a_job_of_their_own_and_prove_nothing(jobs: Jobs) -> None:
    one, other = jobs("{scenarios: late_produce, seeds: 1..2, steps: 4000}")
    assert (one.expected, one.within, one.states) == ("unbroken", "seed 1", 4000)
    assert one.command == "zombieproof check late_produce --simulate 4000steps --seed 1"
    assert one.key != other.key
    entry = Entry(one, explore(one, Limits()))
    assert (entry.outcome, entry.found.verdict, entry.found.seed) == ("as expected", "inconclusive", 1)
    assert (entry.found.distinct, entry.found.generated) == (None, 4000)
    assert Entry(replace(one, expected="violated"), entry.found).outcome == "inconclusive"
    broken = entry.found.model_copy(update={"verdict": "violated", "promise": "p", "steps": 3})
    assert Entry(one, broken).outcome == "unexpected"


def test_walks_of_a_mutant_may_find_it(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce, mutants: no_verification, seeds: 1, steps: 500000}")
    entry = Entry(job, explore(job, Limits()))
    assert (job.expected, entry.outcome, entry.found.verdict) == ("anything", "as expected", "violated")


def test_a_limit_of_memory_makes_it_inconclusive(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce}")
    found = explore(job, Limits(memory_bytes=1 << 20))
    entry = Entry(job, found)
    assert (found.verdict, entry.outcome, found.memory_bytes) == ("inconclusive", "inconclusive", 1 << 20)
    assert "MiB" in entry.remark


def test_explorations_at_a_time_share_what_is_available() -> None:
    alone, half, eighth = (Limits(sharing=sharing).in_force() for sharing in (1, 2, 8))
    assert alone is None
    assert half is not None
    assert eighth is not None
    assert eighth < half
    assert Limits(memory_bytes=7, sharing=8).in_force() == 7


def test_an_exploration_of_other_sources_is_not_made(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce}")
    found = explore(replace(job, sources="of another release"), Limits())
    assert found.verdict == "error"
    assert "other sources" in str(found.why)


def test_what_raises_is_said_with_its_line_and_is_nobody_elses(jobs: Jobs, unruly: Path) -> None:
    (job,) = jobs(f"{{scenarios: '{unruly}'}}")
    assert explore(job, Limits()).verdict == "holds"
    (unruly.parent / "raises").touch()
    found = explore(job, Limits())
    assert (found.verdict, found.distinct) == ("error", None)
    assert found.why == f"{unruly}:12: RuntimeError: the setup is not ready"
    assert Entry(job, found).outcome == "failed"


def test_an_error_of_this_program_is_said_as_it_is(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs("{scenarios: late_produce}")

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(checking, "explore", fails)
    assert explore(job, Limits()).why == "ZeroDivisionError: of ours"


def test_a_counterexample_that_does_not_stand_is_not_believed(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs("{scenarios: late_produce, mutants: no_verification}")

    whole: Any = vars(checking)["explore"]

    def otherwise(*given: Any, **named: Any) -> Any:
        result = whole(*given, **named)
        wrong = replace(result.violated, actions=[*result.violated.actions[:-1], 10**6])
        return replace(result, violated=wrong)

    monkeypatch.setattr(checking, "explore", otherwise)
    found = explore(job, Limits())
    assert found.verdict == "error"
    assert str(found.why).startswith("ActionDisabled: ")


def test_an_interrupted_exploration_is_no_result(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = jobs("{scenarios: late_produce}")
    stopped = checking.check

    def interrupted(*given: Any, **named: Any) -> Any:
        checked = stopped(*given, **named)
        return replace(checked, result=replace(checked.result, interrupted=True))

    monkeypatch.setattr(checking, "check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        explore(job, Limits())

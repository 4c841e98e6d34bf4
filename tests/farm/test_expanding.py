"""A plan becomes explorations: every combination, each once, with what is expected of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.farm.jobs import Job
from zombieproof.farm.plan import PlanFault

Jobs = Callable[..., list[Job]]


def told(jobs: list[Job]) -> list[str]:
    return [job.command.removeprefix("zombieproof check ") for job in jobs]


def test_a_group_is_a_product(jobs: Jobs) -> None:
    found = jobs("{scenarios: [timeout], rules: [own, '3.9'], bounds: {lost: 1..2, crashes: 0..1}}")
    assert told(found) == [
        "timeout",
        "timeout --bounds crashes=1",
        "timeout --bounds lost=2",
        "timeout --bounds lost=2,crashes=1",
        "timeout --rules 3.9",
        "timeout --rules 3.9 --bounds crashes=1",
        "timeout --rules 3.9 --bounds lost=2",
        "timeout --rules 3.9 --bounds lost=2,crashes=1",
    ]
    assert {job.expected for job in found} == {"holds"}


def test_what_comes_to_the_same_is_explored_once(jobs: Jobs) -> None:
    assert told(jobs("{scenarios: [timeout, 'time*'], rules: [own, newest], bounds: {lost: [1, 1]}}")) == ["timeout"]


def test_a_model_without_rules_is_explored_once_under_all_of_them(jobs: Jobs) -> None:
    found = jobs("{scenarios: two_phase_commit, rules: [own, '3.9', kip98], without: kip360}")
    assert [(job.command, job.words) for job in found] == [("zombieproof check two_phase_commit", "own")]


def test_a_bound_that_a_pattern_finds_no_use_for_is_another_scenarios(jobs: Jobs) -> None:
    assert told(jobs("{scenarios: ['two_*'], bounds: {lost: [1, 2]}}")) == [
        "two_transactions",
        "two_transactions --bounds lost=2",
        "two_idempotent_producers",
        "two_idempotent_producers --bounds lost=2",
        "two_phase_commit",
        "two_phase_commit_ends",
    ]


def test_each_mutant_is_expected_to_break_what_is_pinned(jobs: Jobs) -> None:
    found = jobs("{scenarios: late_produce, mutants: '*'}")
    pinned = {mutant.name: (mutant.breaks, mutant.steps) for mutant in SCENARIOS["late_produce"].mutants}
    assert {job.mutant: (job.promise, job.steps) for job in found} == pinned
    assert {job.expected for job in found} == {"breaks"}


def test_nothing_certain_is_expected_of_a_mutant_within_other_bounds(jobs: Jobs) -> None:
    found = jobs("{scenarios: late_produce, mutants: no_verification, bounds: {lost: [1, 2]}}")
    assert [job.expected for job in found] == ["breaks", "anything"]


def test_a_plan_can_say_what_is_expected(jobs: Jobs) -> None:
    found = jobs("{scenarios: late_produce, without: kip360, with: transaction_version=0, expect: violated}")
    assert [(job.expected, job.words) for job in found] == [
        ("violated", "newest with transaction_version=0 without kip360")
    ]


def test_a_reading_is_a_bound_of_the_job(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: two_phase_commit, rules: ['own', '3.9'], without: wait_for_all, expect: violated}")
    assert (job.bounds, job.on, job.off, job.expected) == ({"wait_for_all": 0}, (), (), "violated")
    assert job.command == "zombieproof check two_phase_commit --bounds wait_for_all=0"


def test_two_groups_may_not_expect_otherwise_of_the_same(jobs: Jobs) -> None:
    with pytest.raises(PlanFault, match=r"plan.yaml, line 3: expects violated for timeout, .* expects holds"):
        jobs("{scenarios: timeout}", "{scenarios: 'time*', expect: violated}")


def test_a_key_is_of_what_is_explored(jobs: Jobs) -> None:
    plan = (
        "{scenarios: ['*_produce', 'spark_t*'], rules: [own, '3.9'], bounds: {lost: [0, 1]}}",
        "{scenarios: 'l*', mutants: '*'}",
    )
    one, again = jobs(*plan), jobs(*plan)
    assert [job.key for job in one] == [job.key for job in again]
    assert len({job.key for job in one}) == len(one)
    assert len({job.command for job in one}) == len(one)


def test_scenarios_of_ones_own_are_found_by_their_file(
    jobs: Jobs, repository_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository_root)
    (job,) = jobs("{scenarios: examples/own_scenario.py}")
    assert job.file == str(repository_root / "examples/own_scenario.py")
    assert job.command == f"zombieproof check examples/own_scenario.py:{job.scenario}"


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("{scenarios: timeuot}", "no scenario is named 'timeuot'; did you mean timeout"),
        ("{scenarios: 'x*'}", "no scenario is named 'x*'"),
        ("{scenarios: none.py}", "none.py: no such file"),
        ("{scenarios: timeout, rules: 9.9}", "there is no preset of rules '9.9'"),
        ("{scenarios: timeout, bounds: {last: 1}}", "none of the scenarios has a bound 'last'; did you mean lost"),
        ("{scenarios: [timeout, two_phase_commit], bounds: {lost: 1}}", "two_phase_commit has no bound 'lost'"),
        ("{scenarios: timeout, bounds: {lost: 101}}", "timeout: timeout: lost=101 is out of range; give 0 to 100"),
        ("{scenarios: timeout, mutants: no_verification}", "none of the scenarios has a mutant 'no_verification'"),
        ("{scenarios: timeout, without: kip_360}", "timeout: no rule is named 'kip_360'"),
        ("{scenarios: timeout, with: transaction_version=9}", "timeout: transaction_version=9 cannot be: give 0 to 2"),
        (
            "{scenarios: timeout, bounds: {lost: 0..100, doubled: 0..100, crashes: 0..100}}",
            "1,030,301 explorations of timeout",
        ),
    ],
)
def test_what_does_not_exist_is_refused_with_the_line_of_its_group(jobs: Jobs, group: str, says: str) -> None:
    with pytest.raises(PlanFault) as fault:
        jobs("{scenarios: reader}", group)
    assert str(fault.value).startswith("plan.yaml, line 3: ")
    assert says in str(fault.value)


def test_a_file_with_a_mistake_is_told_with_its_line(jobs: Jobs, unruly: Path) -> None:
    (unruly.parent / "raises").touch()
    with pytest.raises(PlanFault, match=r"unruly.py:12: RuntimeError: the setup is not ready"):
        jobs(f"{{scenarios: '{unruly}'}}")

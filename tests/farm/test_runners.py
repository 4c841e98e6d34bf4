"""Processes find what this process finds, and one that dies takes nothing along but what it was at."""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.farm.test_store import facts
from zombieproof.farm.exploring import Limits
from zombieproof.farm.jobs import Job
from zombieproof.farm.runners import in_processes, in_this_process
from zombieproof.farm.running import run
from zombieproof.farm.tasks import tasks_of

Jobs = Callable[..., list[Job]]
PLAN = (
    "{scenarios: [late_produce, delayed_commit, spark_naive_sink, two_phase_commit]}",
    "{scenarios: late_produce, mutants: '*'}",
)


def children() -> list[int]:
    return [
        child.pid for child in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(child.cmdline())
    ]


@pytest.mark.slow
def test_processes_find_what_this_process_finds(jobs: Jobs) -> None:
    begun: list[str] = []
    planned = jobs(*PLAN)
    processes = in_processes(2, Limits(sharing=2), lambda job, _: begun.append(job.key))
    made = run(planned, processes)
    assert facts(made) == facts(run(planned, in_this_process(Limits())))
    assert sorted(begun) == sorted(job.key for job in planned)
    assert children() == []


@pytest.mark.slow
def test_a_process_that_dies_is_replaced_and_its_exploration_made_again(jobs: Jobs, unruly: Path) -> None:
    planned = jobs(f"{{scenarios: [late_produce, '{unruly}', delayed_commit]}}")
    (unruly.parent / "dies").touch()
    made = run(planned, in_processes(1, Limits()))
    assert [entry.outcome for entry in made.entries] == ["as expected"] * 3
    assert (unruly.parent / "died").exists()


@pytest.mark.slow
def test_an_exploration_under_which_processes_die_fails_alone(jobs: Jobs, unruly: Path) -> None:
    planned = jobs(f"{{scenarios: [late_produce, '{unruly}', delayed_commit]}}")
    (unruly.parent / "dies_always").touch()
    made = run(planned, in_processes(2, Limits()))
    assert [entry.outcome for entry in made.entries] == ["as expected", "failed", "as expected"]
    assert made.entries[1].found.why == "the process that explored it died, 2 times: it ended with exit code 9"


def test_a_killed_process_is_named_by_its_signal(jobs: Jobs) -> None:
    begun: list[str] = []

    def kill(job: Job, _: object) -> None:
        begun.append(job.key)
        for child in multiprocessing.active_children():  # one that has just begun is not yet to be known by its command
            child.kill()

    (job,) = jobs("{scenarios: spark_partition_sink}")
    made = run([job], in_processes(1, Limits(), kill))
    assert made.entries[0].outcome == "failed"
    assert "died, 2 times: SIGKILL; the system does that when memory runs out" in str(made.entries[0].found.why)
    assert len(begun) == 2


@pytest.mark.slow
def test_a_runner_that_is_closed_leaves_no_process(jobs: Jobs) -> None:
    results = in_processes(2, Limits())(tasks_of(jobs("{scenarios: [zombie_takeover, spark_partition_sink]}")))
    deadline = time.monotonic() + 60
    first = next(results)
    assert first.scenario == "spark_partition_sink"
    assert len(children()) == 2
    results.close()
    assert time.monotonic() < deadline
    assert children() == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_more_processes_than_tasks_do_no_harm(jobs: Jobs, count: int) -> None:
    planned = jobs("{scenarios: late_produce}")
    assert facts(run(planned, in_processes(count, Limits()))) == facts(run(planned, in_this_process(Limits())))

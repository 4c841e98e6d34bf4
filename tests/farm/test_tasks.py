"""Small jobs come together until a task is worth its while; every job is in one task."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from zombieproof.farm.jobs import Job
from zombieproof.farm.tasks import LEAST_SECONDS, seconds, tasks_of

JOB = Job(key="", sources="", scenario="s", model="m", words="newest")


@given(st.lists(st.tuples(st.integers(0, 2_000_000), st.sampled_from("abc")), max_size=60))
def test_every_job_is_in_one_task_and_no_task_is_too_short(drawn: list[tuple[int, str]]) -> None:
    jobs = [replace(JOB, key=str(n), states=states, model=model) for n, (states, model) in enumerate(drawn)]
    tasks = tasks_of(jobs)
    assert sorted(job.key for task in tasks for job in task) == sorted(job.key for job in jobs)
    lengths = [sum(map(seconds, task)) for task in tasks]
    assert lengths == sorted(lengths, reverse=True)
    if len(tasks) > 1:
        assert min(lengths) >= LEAST_SECONDS


def test_jobs_of_a_model_come_together() -> None:
    jobs = [replace(JOB, key=f"{model}{n:02}", model=model) for n in range(60) for model in "ab"]
    assert [{job.model for job in task} for task in tasks_of(jobs)] == [{"a"}, {"b"}]


def test_a_long_job_is_a_task_of_its_own() -> None:
    jobs = [replace(JOB, key=str(n), states=4_000_000 + n) for n in range(3)]
    assert [len(task) for task in tasks_of(jobs)] == [1, 1, 1]

"""A farm on Spark finds what this process finds, as a DataFrame; a task that dies or runs twice changes nothing."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.farm.expanding import jobs_of
from zombieproof.farm.exploring import Limits
from zombieproof.farm.found import SCHEMA, Found, row_of
from zombieproof.farm.jobs import Job
from zombieproof.farm.plan import parse_plan
from zombieproof.farm.runners import in_this_process
from zombieproof.farm.running import Harvest, run
from zombieproof.farm.store import Store
from zombieproof.farm.tasks import tasks_of
from zombieproof.pipeline import farm
from zombieproof.pipeline.own_session import NoSpark, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = {"seconds", "cpu_seconds", "compile_seconds", "peak_mib"}
PLAN = """
explorations:
- {scenarios: [late_produce, delayed_commit, spark_batch_sink], rules: [own, "3.9"], expect: anything}
- {scenarios: [late_produce, spark_naive_sink], mutants: "*"}
"""
UNRULY = """
import os
from dataclasses import replace
from pathlib import Path
from zombieproof import SCENARIOS


def setup(rules, bounds):
    if Path(__file__).with_name("dies").exists() and os.getpid() != {driver}:
        os._exit(9)
    return SCENARIOS["late_produce"].setup(rules, bounds)


UNRULY = replace(SCENARIOS["late_produce"], name="unruly", setup=setup, distinct=0)
"""


def planned() -> list[Job]:
    return jobs_of(parse_plan(PLAN, "plan.yaml"))


def facts(harvest: Harvest) -> list[dict[str, object]]:
    rows = map(row_of, harvest.entries)
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


def test_spark_finds_what_this_process_finds(spark: "SparkSession") -> None:
    begun: list[str] = []
    on_spark = farm.on_spark(spark, Limits(), lambda job, _: begun.append(job.key))
    made = run(planned(), on_spark)
    assert facts(made) == facts(run(planned(), in_this_process(Limits())))
    assert {entry.outcome for entry in made.entries} == {"as expected"}
    assert len(begun) == len(tasks_of(planned()))


def test_results_are_a_dataframe_with_the_schema_that_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    found = farm.results(spark, tmp_path / "plan.yaml", tmp_path / "kept")
    assert found.columns == [column.name for column in SCHEMA]
    assert [f"{name} {kind}" for name, kind in found.dtypes] == farm.columns().split(", ")
    whole = {job.key: row for job, row in zip(planned(), facts(run(planned(), in_this_process(Limits()))), strict=True)}
    for row in found.collect():
        said = {name: value for name, value in row.asDict().items() if name not in TIMES}
        assert said == whole[row["key"]]
    (holding,) = found.where("scenario = 'late_produce' and mutant is null and rules = 'newest'").collect()
    assert holding["distinct"] == SCENARIOS["late_produce"].distinct
    assert holding["bounds"]["lost"] == 1


def test_what_is_kept_is_not_explored_again_on_spark(spark: "SparkSession", tmp_path: Path) -> None:
    plan = parse_plan(PLAN, "plan.yaml")
    first = farm.results(spark, plan, tmp_path).collect()
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "results").iterdir()}
    assert farm.results(spark, plan, tmp_path).collect() == first
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "results").iterdir()} == files


def test_a_task_that_spark_gives_up_fails_alone(spark: "SparkSession", tmp_path: Path) -> None:
    file = tmp_path / "unruly.py"
    file.write_text(UNRULY.format(driver=os.getpid()))
    asked = f"explorations:\n- {{scenarios: '{file}'}}\n- {{scenarios: spark_batch_sink}}\n"
    jobs = jobs_of(parse_plan(asked, "plan.yaml"))
    (tmp_path / "dies").touch()
    alone = [replace(job, states=10**6) for job in jobs]  # each a task of its own
    made = run(alone, farm.on_spark(spark, Limits()), Store(tmp_path / "kept"))
    assert [entry.outcome for entry in made.entries] == ["failed", "as expected"]
    assert str(made.entries[0].found.why).startswith("Spark gave the task up: ")
    (tmp_path / "dies").unlink()
    again = run(alone, farm.on_spark(spark, Limits()), Store(tmp_path / "kept"))
    assert [(entry.outcome, entry.was_kept) for entry in again.entries] == [
        ("as expected", False),
        ("as expected", True),
    ]


def test_executors_with_other_sources_are_refused(spark: "SparkSession") -> None:
    jobs = [replace(job, sources="of another release") for job in planned()[:1]]
    made = run(jobs, farm.on_spark(spark, Limits()))
    assert "other sources" in str(made.entries[0].found.why)


def test_a_farm_that_is_closed_ends_its_tasks(spark: "SparkSession") -> None:
    jobs = jobs_of(parse_plan("explorations: [{scenarios: [late_produce, zombie_takeover, id_expiration]}]", "plan"))
    results = farm.on_spark(spark, Limits())(tasks_of(jobs))
    first: Found = next(results)
    results.close()
    assert first.verdict == "holds"
    tracker: Any = spark.sparkContext.statusTracker()
    assert not [stage for stage in tracker.getActiveStageIds() if tracker.getStageInfo(stage).numActiveTasks > 1]


def test_parquet_says_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    made = run(planned(), in_this_process(Limits()))
    farm.write_parquet(made.entries, tmp_path / "found.parquet")
    read = spark.read.parquet(str(tmp_path / "found.parquet"))
    assert read.dtypes == farm.frame(spark, made.entries).dtypes
    assert [row.asDict() for row in read.collect()] == [row_of(entry) for entry in made.entries]


def test_a_missing_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSpark, match=r"JAVA_HOME is .*, where there is no bin/java"):
        session("local[1]", "a farm")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSpark, match="Spark needs Java 17 or newer, and there is no java"):
        session("local[1]", "a farm")
    with pytest.raises(NoSpark, match="Spark Connect has none"):
        session("sc://somewhere", "a farm")

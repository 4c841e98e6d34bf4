"""Random plans under random faults: a share of `make spark-plans`, and a judge that notices what is wrong."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.plans.__main__ import wanted
from tests.spark.plans.brokers import Broker, ServedBroker
from tests.spark.plans.dying import Forgetful, Mortal
from tests.spark.plans.grammar import FAULTS, OUTPUTS, STRUCTURES, WRITES, case_of, one_case
from tests.spark.plans.judge import EXACT, REFUSED, UNCLEAR, WRONG, Verdict, difference, judged
from tests.spark.plans.page import AT_KAFKA, PAGE, SEEDS, is_as_it_should_be, load, page
from tests.spark.plans.programs import PROGRAMS
from tests.spark.plans.runs import carried_out
from zombieproof.pipeline.spark import starting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_CI = {"explode": 2}
"""Reported events, and the way to write (of `WRITES`) in which CI repeats them."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for all cases of a module."""
    made = ServedBroker(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


# ---------------------------------------------------------------- the judge


ROWS = Counter({"k=1": 1, "k=2": 2})
NO_REMEDY, REMEDY = "DeliveryError: something", "UnsuitablePlan: sink: this and that. Use mode batch"


@pytest.mark.parametrize(
    ("found", "hidden", "error", "result", "says"),
    [
        (ROWS, 0, None, EXACT, ""),
        (ROWS - Counter(["k=2"]), 0, None, WRONG, "output 0: 1 lost"),
        (ROWS + Counter(["k=1"]), 0, None, WRONG, "output 0: 1 duplicated"),
        (ROWS + Counter(["k=3"]), 0, None, WRONG, "output 0: 1 foreign"),
        (ROWS, 2, None, WRONG, "output 0: 2 hidden"),
        (ROWS - Counter(["k=2"]), 2, REMEDY, REFUSED, REMEDY),
        (ROWS + Counter(["k=1"]), 0, REMEDY, WRONG, f"output 0: 1 duplicated; and {REMEDY}"),
        (ROWS, 0, NO_REMEDY, UNCLEAR, NO_REMEDY),
    ],
)
def test_a_run_is_judged_by_its_output_and_its_error(
    found: Counter[str], hidden: int, error: str | None, result: str, says: str
) -> None:
    verdict = judged([difference(found, ROWS, hidden)], error)
    assert verdict == Verdict(result, says)
    assert is_as_it_should_be({0: verdict}) == (result in (EXACT, REFUSED))


def test_rows_that_are_lost_are_noticed_where_the_plan_is_not_checked(
    spark: "SparkSession", served: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "refuse_plan", lambda *_: None)
    monkeypatch.setattr(starting, "Started", lambda *_: ())  # else the rows of one run are compared
    case = one_case(1001, structure="two loads of one topic", outputs="foreachBatch")
    verdict = carried_out(case, spark, served.bootstrap, served.restart)
    assert verdict.result == WRONG
    assert "lost" in verdict.says


@pytest.mark.deep
def test_rows_that_are_duplicated_are_noticed(spark: "SparkSession", served: Broker) -> None:
    case = one_case(1002, fault="driver dies", point="after commit")
    verdict = carried_out(case, spark, served.bootstrap, served.restart, Forgetful)
    assert verdict.result == WRONG
    assert "duplicated" in verdict.says


# ---------------------------------------------------------------- cases


def test_a_case_follows_from_its_seed_and_every_kind_comes_up() -> None:
    cases = [case_of(seed) for seed in range(SEEDS)]
    assert cases == [case_of(seed) for seed in range(SEEDS)]
    pairs = {(case.structure, case.fault) for case in cases}
    assert pairs == {(structure, fault) for structure in STRUCTURES for fault in FAULTS}
    assert {(case.mode, case.by) for case in cases} == set(WRITES)
    assert {case.outputs for case in cases} == set(OUTPUTS)


@pytest.mark.parametrize("name", IN_CI)
def test_a_reported_event_is_exact_or_refused(name: str, spark: "SparkSession", served: Broker) -> None:
    case = PROGRAMS[name].cases(list(PROGRAMS).index(name))[IN_CI[name]]
    verdict = carried_out(case, spark, served.bootstrap, served.restart, Mortal)
    assert is_as_it_should_be({case.seed: verdict}), verdict


# ---------------------------------------------------------------- the page


def test_the_page_is_made_of_the_kept_results_and_has_every_kind() -> None:
    found, at_kafka = load(), load(AT_KAFKA)
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(found, at_kafka)
    assert is_as_it_should_be(found | at_kafka)
    assert set(found) == set(wanted())
    assert set(at_kafka) == set(wanted(at_kafka=True))
    kinds = [*STRUCTURES, *FAULTS, *OUTPUTS, *(program.says for program in PROGRAMS.values())]
    assert [kind for kind in kinds if f"| {kind} |" not in text] == []

"""The README's table of published faults of the Spark sink: each row is a mutant and the scenarios that hold."""

from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.spark_faults import SPARK_FAULTS, SparkFault, section
from zombieproof.report.verification import Found


@pytest.mark.parametrize("fault", SPARK_FAULTS, ids=lambda fault: fault.event)
def test_a_fault_has_a_mutant_that_loses_or_duplicates_rows(fault: SparkFault) -> None:
    mutant = SCENARIOS[fault.scenario].mutant(fault.mutant)
    assert mutant is not None
    assert mutant.breaks in ("what_is_done_is_in_the_output", "no_record_is_in_the_output_twice")
    assert fault.outcomes
    assert {each.scenario for each in fault.outcomes} <= set(SCENARIOS)


def test_the_table_says_what_was_found_and_what_was_not_explored() -> None:
    fault = SPARK_FAULTS[0]
    hunt = SimpleNamespace(
        scenario=SCENARIOS[fault.scenario],
        mutant=SCENARIOS[fault.scenario].mutant(fault.mutant),
        promise="what_is_done_is_in_the_output",
        steps=15,
    )
    runs: Any = [SimpleNamespace(name="spark_branches", verdict="inconclusive")]
    lines = section(Found(runs=runs, hunts=[hunt])).splitlines()[2:]  # type: ignore[list-item]  # what it reads of it
    assert len(lines) == len(SPARK_FAULTS)
    assert lines[0] == (
        "| `union` of branches of one `load()`, mode *partition* "
        "| `zombieproof check spark_refused_plans --mutant branches_in_mode_partition` "
        "| `what_is_done_is_in_the_output` | 15 "
        "| refused when the query starts (`spark_refused_plans` not explored); "
        "exact in mode *batch* (`spark_branches` inconclusive) |"
    )
    assert "not explored |" in lines[2]

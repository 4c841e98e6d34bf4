"""Kafka's own cases through the interpreters: the committed sample always, all of them where they are beside the clone.

Twin of each: the same case with one number, state or error in *expect* made wrong is not met.
"""

from itertools import islice
from pathlib import Path
from time import monotonic

import pytest

from tests.conformance.cases import Case, read_cases
from tests.conformance.mutation import mutants
from tests.conformance.runner import Outcome, has_suite, interpret

SAMPLE = Path(__file__).parent / "sample.yaml"
ALL = Path(__file__).parents[3] / "shared" / "conformance" / "kafka-cases.yaml"
FILE = ALL if ALL.is_file() else SAMPLE

LONG_S = 2
"""Of a case that runs for longer (65,000 epochs, every order of events) one wrong expectation is tried, not all."""

SAMPLED = read_cases(SAMPLE).cases
INTERPRETED = [case for case in read_cases(FILE).cases if has_suite(case.prefix)]


def named(case: Case) -> str:
    return f"{case.id}-{case.name}"


@pytest.mark.parametrize("case", SAMPLED, ids=named)
def test_the_sample_is_met(case: Case) -> None:
    result = interpret(case)
    assert result.outcome == Outcome.MET, result.reason


def test_the_sample_has_cases_of_every_interpreted_suite() -> None:
    assert {case.prefix for case in SAMPLED} == {case.prefix for case in INTERPRETED}


@pytest.mark.sample("TS-015")
@pytest.mark.parametrize("case", INTERPRETED, ids=named)
def test_no_interpreted_case_fails_and_none_is_met_when_its_expectation_is_wrong(case: Case) -> None:
    began = monotonic()
    result = interpret(case)
    is_long = monotonic() - began > LONG_S
    assert result.outcome != Outcome.FAILED, result.reason
    if result.outcome == Outcome.MET:
        wrong = islice(mutants(case), 1) if is_long else mutants(case)
        wrongly_met = [mutant.expect for mutant in wrong if interpret(mutant).outcome == Outcome.MET]
        assert wrongly_met == [], "these expectations are wrong, and count as met"

"""No suite decides about what it does not understand: every case, altered in every place (`alterations`).

The sample is altered in some places of each case; all cases in all places with ZOMBIEPROOF_ALTERATIONS=all.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from tests.conformance.alterations import UNKNOWN, Alteration, alterations
from tests.conformance.cases import Case, read_cases
from tests.conformance.runner import Outcome, has_suite, interpret

SAMPLE = Path(__file__).parent / "sample.yaml"
ALL = Path(__file__).parents[3] / "shared" / "conformance" / "kafka-cases.yaml"
IN_FULL = os.environ.get("ZOMBIEPROOF_ALTERATIONS") == "all"
CASES = [case for case in read_cases(ALL if ALL.is_file() else SAMPLE).cases if has_suite(case.prefix)]

OF_EACH_KIND = 2
"""How many alterations of each kind are tried of a case, unless all are."""

LONG_S = 0.2
"""A case that runs for longer (65,000 epochs, every order of events) is altered only by words, which end it at once."""


def chosen(case: Case, of_each_kind: int | None) -> list[Alteration]:
    """Some alterations of every kind, always the same ones; or all."""
    kinds: dict[str, list[Alteration]] = {}
    for one in alterations(case):
        kinds.setdefault(one.what, []).append(one)
    chance = Random(case.digest)
    few = (
        rows if of_each_kind is None else chance.sample(rows, min(of_each_kind, len(rows))) for rows in kinds.values()
    )
    return [one for rows in few for one in rows]


def wrongs(rows: Sequence[Alteration]) -> list[str]:
    """What is wrong with the outcomes."""
    found = []
    for one in rows:
        result = interpret(one.case)
        said = f"{one.what}: {one.case.given} / {one.case.when} / {one.case.expect}: {result.outcome}: {result.reason}"
        if result.outcome not in one.legal or one.names not in result.reason:
            found.append(said)
    return found


@pytest.mark.sample("TX-001", "TX-003", "MK-")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_a_suite_does_not_understand_decides_nothing(case: Case) -> None:
    began = monotonic()
    if interpret(case).outcome != Outcome.MET:
        return  # It is tested by what is written for it, which counts for this text only.
    is_long = monotonic() - began > LONG_S
    rows = chosen(case, None if IN_FULL and not is_long else OF_EACH_KIND)
    assert wrongs([one for one in rows if one.names == UNKNOWN] if is_long else rows) == []


def test_an_alteration_that_is_believed_would_be_seen() -> None:
    case = next(case for case in CASES if case.prefix == "TM")
    met = Alteration(case, "nothing", frozenset({Outcome.NOT_RUNNABLE}))
    unnamed = Alteration(case, "nothing", frozenset({Outcome.MET}), "a word")
    assert len(wrongs([met, unnamed, Alteration(case, "nothing", frozenset({Outcome.MET}))])) == 2


def test_every_kind_of_alteration_is_tried() -> None:
    kinds = {one.what for case in CASES for one in chosen(case, OF_EACH_KIND)}
    assert len(kinds) >= 15

"""A cluster that does one thing after the other has no anomaly; one fault in its history is always found."""

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.traces.history.injections import INJECTIONS, Injection
from tests.traces.history.simulation import simulated
from zombieproof.traces.history.events import Event, Fetched, FinalRead
from zombieproof.traces.history.history_file import history_of
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.verdict import HistoryVerdict


def verdict_of(events: list[Event]) -> HistoryVerdict:
    """`at` is made anew where events were moved."""
    made = [_placed(event, 10 * place) for place, event in enumerate(events)]
    return judge(history_of(made))


def _placed(event: Event, at: int) -> Event:
    if isinstance(event, Fetched | FinalRead):
        return replace(event, at=at, since=at - 1)
    return replace(event, at=at)


@given(seed=st.integers(0, 2**32), transactions=st.integers(1, 30))
def test_a_cluster_without_fault_has_no_anomaly(seed: int, transactions: int) -> None:
    verdict = verdict_of(simulated(seed, transactions))
    assert verdict.findings == []
    assert verdict.counts.transactions == transactions


@pytest.mark.sample("a_record_is_lost", "offsets_are_lost")
@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda each: each.__name__)
@given(seed=st.integers(0, 2**32), transactions=st.integers(4, 30))
def test_one_fault_is_always_found(injection: Injection, seed: int, transactions: int) -> None:
    events = injection(simulated(seed, transactions), random.Random(seed))
    assume(events is not None)
    assert events is not None
    assert INJECTIONS[injection] & {finding.anomaly for finding in verdict_of(events).findings}

"""The live system under random faults of its disk and its applications; and whoever loses something is found."""

import logging
from random import Random

import pytest

from tests.soak.live_mutants import LIVE_MUTANTS, LiveMutant
from tests.soak.live_soak import LiveSoak
from tests.soak.machine import CALM, STORM, DiskWeather, drawn
from tests.soak.soak import Stuck
from zombieproof.broker.partition.log import Damaged
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.history.events import Positioned
from zombieproof.traces.history.history_file import format_event
from zombieproof.traces.history.judge import judge

SHORT = 60
LONG = 200
"""Transactions of rounds in which a mutant is seen."""
QUICK = (1, 7)
SEEDS = range(1, 29)
"""Each seventh round has every fault."""
FIRST_ROUNDS = range(7, 7 + 8)
"""Within these a mutant is seen."""


@pytest.mark.share(2)
@pytest.mark.long(*(f"seed-{seed}-" for seed in SEEDS[14:]))
@pytest.mark.sample(*(f"seed-{seed}-" for seed in QUICK))
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed-{seed}-")
def test_no_client_is_told_what_is_not_so(seed: int) -> None:
    found = LiveSoak(seed, SHORT).run()
    assert [(each.anomaly, each.message) for each in found.verdict.findings] == []
    assert found.verdict.counts.transactions >= SHORT
    assert found.verdict.counts.committed > SHORT / 3


def test_a_round_is_made_of_its_seed_alone() -> None:
    one, other, another = (LiveSoak(seed, 30).run().history for seed in (7, 7, 14))
    assert [format_event(event) for event in one.events] == [format_event(event) for event in other.events]
    assert [format_event(event) for event in one.events] != [format_event(event) for event in another.events]


@pytest.mark.slow
def test_every_fault_of_a_storm_happens() -> None:
    one, other = (LiveSoak(seed, 300).run() for seed in (7, 14))
    assert one.weather == other.weather == STORM
    besides = {"rebalances", "started again", "cut in recovery", "members left", "members joined"}
    faults = one.faults + other.faults  # those that did not happen are left away
    assert set(faults) == set(STORM.faults) | besides
    assert one.verdict.counts.unknown > 0


def test_faults_are_drawn_alone_and_together() -> None:
    weathers = {drawn(Random(seed)) for seed in range(50)}
    assert len(weathers) > 40
    assert {name for weather in weathers for name in weather.faults} == set(STORM.faults)


def test_readers_of_every_mode_are_judged() -> None:
    found = LiveSoak(3, 30, weather=CALM).run()
    modes = {event.isolation for event in found.history.events if isinstance(event, Positioned)}
    assert modes == {isolation.name.lower() for isolation in Isolation}
    assert judge(found.history) == found.verdict
    assert found.verdict.is_clean


def test_applications_that_stand_still_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.soak.live_soak.TURNS", 300)
    with pytest.raises(Stuck, match=r"seed 1: \d+ of 30 transactions"):
        LiveSoak(1, 30, weather=DiskWeather(lost=1.0)).run()


class EndsAtDamage(logging.Logger):
    """A logger that ends a run at the first damaged log, where a broker takes its partition offline."""

    def handle(self, record: logging.LogRecord) -> None:
        if "damaged at" in record.getMessage():
            raise Damaged(record.getMessage())


@pytest.mark.share(2)
@pytest.mark.long("nobody_waits_for_pending_offsets")
@pytest.mark.sample("a_write_that_fails")
@pytest.mark.parametrize("mutant", LIVE_MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_what_is_wrong_is_seen_by_clients(mutant: LiveMutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.patch(monkeypatch)
    monkeypatch.setattr("zombieproof.broker.cluster.cluster.LOGGER", EndsAtDamage("ends at damage"))
    seen: set[str | type[Exception]] = set()
    for seed in FIRST_ROUNDS:
        try:
            found = LiveSoak(seed, LONG, rules=mutant.rules, weather=mutant.weather).run()
            seen |= {finding.anomaly for finding in found.verdict.findings}
        except (Damaged, Stuck) as error:
            seen.add(type(error))
        if mutant.shows in seen:
            return
    pytest.fail(f"{mutant.name}: {mutant.shows} is not among {seen}")


@pytest.mark.deep
@pytest.mark.parametrize("weather", sorted({mutant.weather for mutant in LIVE_MUTANTS}, key=repr), ids=str)
@pytest.mark.parametrize("seed", FIRST_ROUNDS[:2])
def test_what_mutants_are_put_into_is_right(seed: int, weather: DiskWeather) -> None:
    assert LiveSoak(seed, LONG, weather=weather).run().verdict.findings == []

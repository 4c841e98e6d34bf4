"""Kafka's own client does the same at brokers of every transaction version, of an older release, and at three."""

import pytest

from tests.real_clients.java import BROKERS, JAVA
from tests.real_clients.scenarios import SCENARIOS, Stage


@pytest.mark.deep
@pytest.mark.parametrize("client", JAVA, indirect=True)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("brokers", [each for each in BROKERS if each != "tv2"])
def test_it_does_so_at_brokers_of_each_kind(stage: Stage, brokers: str, scenario: str) -> None:
    stage.options = BROKERS[brokers]
    SCENARIOS[scenario](stage)

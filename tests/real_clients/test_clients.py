"""Clients that others have written do at `zombieproof serve` what they do at Kafka."""

import pytest

from tests.real_clients.install import INSTALLERS
from tests.real_clients.scenarios import SCENARIOS, Stage


@pytest.mark.sample("zombies")
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", INSTALLERS, indirect=True)
def test_a_client_does_what_it_does_at_kafka(stage: Stage, scenario: str) -> None:
    SCENARIOS[scenario](stage)

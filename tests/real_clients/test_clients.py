"""Clients that others have written do at `zombieproof serve` what they do at Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.real_clients.scenarios")

from tests.real_clients.install import INSTALLERS, how_to, is_ready  # noqa: E402  # what asserts is told of first
from tests.real_clients.scenarios import SCENARIOS, Stage  # noqa: E402


@pytest.fixture(params=INSTALLERS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    if not is_ready(request.param):
        pytest.skip(how_to(request.param))
    made = Stage(request.param, tmp_path)
    with made.ends:
        yield made


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_client_does_what_it_does_at_kafka(stage: Stage, scenario: str) -> None:
    SCENARIOS[scenario](stage)

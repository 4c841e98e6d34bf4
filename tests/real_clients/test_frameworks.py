"""Spring Kafka, Kafka Connect and Flink copy each record exactly once at `zombieproof serve`, whatever is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_clients.frameworks import FRAMEWORKS, OBSERVER, SCENARIOS, faults
from tests.real_clients.install import how_to, is_ready
from tests.real_clients.scenarios import Stage


@pytest.fixture
def stage(framework: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    row = request.node.callspec.params["scenario"]
    request.node.user_properties += [("row", row), ("client", framework)]
    for name in (FRAMEWORKS[framework].installed, OBSERVER):
        if not is_ready(name):
            pytest.skip(how_to(name))
    made = Stage(OBSERVER, tmp_path)
    with made.ends:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_record_is_copied_once(stage: Stage, framework: str, scenario: str) -> None:
    SCENARIOS[scenario](FRAMEWORKS[framework](stage))


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (["1", "2"], ""),
        (["2", "1"], ""),
        (["1"], "1 not copied: 2"),
        (["1", "2", "2"], "1 copied more than once: 2"),
        (["1", "2", "aborted"], "1 not in the input: aborted"),
        (["1", "1", "3"], "1 not copied: 2; 1 copied more than once: 1; 1 not in the input: 3"),
    ],
)
def test_what_is_wrong_with_an_output_is_named(found: list[str], wrong: str) -> None:
    assert faults(["1", "2"], found) == wrong

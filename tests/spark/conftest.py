"""A session of Spark for each process, a broker for each test. All tests are marked `spark`: `make spark` runs them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.sessions import end, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Nothing here is imported where Spark was not asked for: it may not be there."""
    return None if "spark" in config.getoption("markexpr") else True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Whatever lies here runs on Spark."""
    item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """The session: one for all tests of the process, with the settings of `sessions`; no test stops it."""
    begun = session(tmp_path_factory.mktemp("spark"))
    yield begun
    end(begun)


@pytest.fixture(autouse=True)
def _no_query_runs_on(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves running ends with it."""
    yield
    if "spark" in request.fixturenames:
        for query in request.getfixturevalue("spark").streams.active:
            query.stop()


@pytest.fixture
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[TestedBrokers | RealKafka]":
    """A broker of ours on a socket of loopback, judged when the test is over; with `--real-kafka` a node of Kafka.

    `tests.pipeline.topics` fills it.
    """
    from tests.pipeline.real import broker_for  # noqa: PLC0415  # needs a client

    yield from broker_for(request, tmp_path_factory.mktemp("kafka"))

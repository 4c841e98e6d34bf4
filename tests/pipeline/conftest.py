"""What the tests of the pipeline share: rows, and what is in the output.

With `--real-kafka` a node of Apache Kafka stands where brokers of ours do otherwise, a new one for each test (`make
pipeline-kafka`); what only brokers of ours can do, a plan of faults, is skipped then.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.pipeline.outages import Outage
    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers
    from zombieproof.pipeline.sink import Delivering, Row


@pytest.fixture
def rows() -> "list[Row]":
    """Twenty rows of two partitions, with gaps between their offsets, of which none is like another."""
    from zombieproof.pipeline.sink import Row, Source  # noqa: PLC0415  # needs a client

    return [
        Row("output", b"%d" % number, b"key", headers=(("h", b"1"),), source=Source("input", number % 2, 3 * number))
        for number in range(20)
    ]


@pytest.fixture
def empty_brokers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[TestedBrokers | RealKafka]":
    """A broker without topics: ours, or, if that was asked for, Kafka's."""
    from tests.pipeline.real import broker_for  # noqa: PLC0415  # needs a client

    yield from broker_for(request, tmp_path_factory.mktemp("kafka"))


@pytest.fixture
def brokers(empty_brokers: "TestedBrokers | RealKafka") -> "TestedBrokers | RealKafka":
    """A broker with an input and an output."""
    empty_brokers.topics(input=2, output=2)
    return empty_brokers


@pytest.fixture
def given(brokers: "TestedBrokers | RealKafka") -> dict[str, Any]:
    """The arguments of a delivery, but for its rows."""
    return {"settings": {"bootstrap.servers": brokers.bootstrap}, "group": "copier", "transactional_id": "copier-0"}


@pytest.fixture
def output(brokers: "TestedBrokers | RealKafka") -> "Callable[[], Counter[bytes | None]]":
    """What readers of committed records find, how often."""
    return lambda: Counter(each.value for each in brokers.records("output"))


@pytest.fixture
def begun(given: dict[str, Any]) -> "Iterator[Callable[..., Delivering]]":
    """Deliveries that stop at a state: `begun(rows, "COMMITTING")`; they are let go of in the end."""
    from zombieproof.pipeline.sink import Delivering  # noqa: PLC0415  # needs a client

    made: list[Delivering] = []

    def begin(some: "list[Row]", state: str, **changed: Any) -> Delivering:
        made.append(Delivering(some, **{**given, **changed}))
        while made[-1].state.name != state:
            assert not made[-1].is_over, f"{made[-1].state.name} instead of {state}"
            made[-1].step()
        return made[-1]

    yield begin
    for each in made:
        each.close()


@pytest.fixture
def outage(brokers: "TestedBrokers", request: pytest.FixtureRequest) -> "Iterator[Outage]":
    """The means to stop the brokers for a while."""
    from tests.pipeline.outages import Outage  # noqa: PLC0415  # needs the extra `wire`

    if request.config.getoption("real_kafka"):
        pytest.skip("a real Kafka is not stopped here; brokers of this project are, without --real-kafka")
    made = Outage(brokers)
    yield made
    if not brokers.is_running:
        made.start()

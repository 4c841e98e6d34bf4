"""What the tests of the pipeline share: rows, and what is in the output."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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
def brokers(txn_broker: "TestedBrokers") -> "TestedBrokers":
    """A broker with an input and an output."""
    txn_broker.topics(input=2, output=2)
    return txn_broker


@pytest.fixture
def given(brokers: "TestedBrokers") -> dict[str, Any]:
    """The arguments of a delivery, but for its rows."""
    return {"settings": {"bootstrap.servers": brokers.bootstrap}, "group": "copier", "transactional_id": "copier-0"}


@pytest.fixture
def output(brokers: "TestedBrokers") -> "Callable[[], Counter[bytes | None]]":
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

"""A producer that every test of a step begins with."""

import pytest

from tests.statemachines.producer.stand import Stand


@pytest.fixture
def stand() -> Stand:
    return Stand()

"""Histories as people write them: see `play`."""

from collections.abc import Callable

import pytest

from tests.traces.history.play import tell
from zombieproof.traces.history.history_file import History


@pytest.fixture
def told() -> Callable[[str], History]:
    """The history that lines (or parts between semicolons) say."""
    return tell

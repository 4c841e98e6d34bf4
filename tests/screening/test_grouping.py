"""What is found without sorting is what sorting finds: of ids that lie close, far apart, and at the ends of numbers."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zombieproof.screening.outcomes import (
    ABORTED,
    COMMITTED,
    NO_EPOCH,
    OPEN,
    epochs,
    keys,
    marker_epochs,
    outcomes,
)
from zombieproof.screening.spilling import distinct
from zombieproof.screening.summaries import grouped

IDS = st.one_of(st.integers(-1, 20), st.integers(1000, 1010), st.integers(-(1 << 63), (1 << 63) - 1))
KEYS = st.one_of(st.integers(0, 40), st.integers(0, (1 << 34) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
LOGS = st.lists(st.lists(st.tuples(IDS, KEYS), max_size=20), max_size=4)


@given(LOGS)
@example([[(0, 0)]])
@example([[(1 << 28, (1 << 34) - 1), (0, 5)], [(0, 5)]])
@example([[(1 << 29, (1 << 34) - 1), (0, 5)], [(0, 5)]])
@example([[((1 << 63) - 1, 1), (-(1 << 63), 1)]])
def test_each_row_once_and_in_order(logs: list[list[tuple[int, int]]]) -> None:
    found = distinct([np.array(log, dtype=np.int64).reshape(-1, 2) for log in logs])
    assert [tuple(row) for row in found.tolist()] == sorted({row for log in logs for row in log})


@given(st.lists(IDS, min_size=1, max_size=40))
@example([7])
@example([(1 << 63) - 1, -(1 << 63)])
def test_ids_are_grouped_as_sorting_groups_them(ids: list[int]) -> None:
    given_ids = np.array(ids, dtype=np.int64)
    different, which = grouped(given_ids)
    assert different.tolist() == sorted(set(ids))
    assert different[which].tolist() == ids


@pytest.mark.parametrize("epoch", [0, 1, 32767, NO_EPOCH])
@pytest.mark.parametrize("marker_epoch", [0, 1, 32767, NO_EPOCH])
@pytest.mark.parametrize("outcome", [ABORTED, COMMITTED, OPEN])
def test_a_key_holds_what_it_was_made_of(epoch: int, marker_epoch: int, outcome: int) -> None:
    key = keys(*(np.array([each], dtype=np.int64) for each in (epoch, marker_epoch, outcome)))
    assert (epochs(key)[0], marker_epochs(key)[0], outcomes(key)[0]) == (epoch, marker_epoch, outcome)

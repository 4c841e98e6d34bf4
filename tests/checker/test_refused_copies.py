"""A late copy is dropped only if it is refused for good, also where what is durable counts as failed."""

import pytest

from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenarios import SCENARIOS

ONE = SCENARIOS["one_transaction"]


@pytest.mark.parametrize("fault", ["ends_given_up", "crashes", "doubled"])
def test_a_copy_that_the_coordinator_may_still_take_is_kept(fault: str) -> None:
    """EndTxn is durable and counts as failed: what is sent again is of the epoch that the coordinator goes on from."""
    faults = dict.fromkeys((name for name in ONE.faults if name in ONE.bounds), 0)
    judged = [name for name in (*ONE.always, *ONE.at_rest) if name != "a_transaction_has_one_decision"]
    verdicts = []
    for keep in (0, 1):
        bounds = ONE.own_bounds({**faults, "unknown_appends": 1, fault: 1, "keep_refused_copies": keep})
        result = explore(ONE.model(bounds), ONE.setup(ONE.own_rules(), bounds), promises=judged)
        verdicts.append((result.verdict, result.violated))
    assert verdicts == [("holds", None)] * 2

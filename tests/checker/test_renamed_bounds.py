"""A bound that has another name now: who gives the old one is told."""

from typing import Any

import pytest

from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.scenario import RENAMED, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_the_old_name_of_a_bound_is_answered_with_the_new_one(old: str, new: str) -> None:
    scenario = SCENARIOS["delayed_commit"]
    assert new in scenario.bounds
    with pytest.raises(UnknownBound, match=f"there is no bound '{old}'; it is called {new} now"):
        scenario.own_bounds({old: 1})
    given: dict[str, Any] = {old: 1}
    with pytest.raises(UnknownBound, match=f"{old} is called {new} now"):
        transaction_scenario("mine", "A story.", (((Op.SEND_0, Op.COMMIT),),), sometimes=(), **given)

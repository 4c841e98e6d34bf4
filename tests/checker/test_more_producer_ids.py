"""Room for more producer ids, where the largest epoch is small: what was inconclusive holds, all else is the same."""

import pytest

from tests.bridge.paths import walk
from zombieproof.bridge.live import Arrival, run_live
from zombieproof.checker.engine.explore import explore
from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.action_kinds import (
    ACTIONS,
    ACTIONS_AT_ONCE,
    AT_PRODUCERS,
    Action,
    partition_of,
    producer_of,
)
from zombieproof.checker.transactions.capacities import MORE_PRODUCER_IDS, PARTITIONS, PRODUCER_IDS
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, initial_state
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Trail

FULL = f"producer ids ({PRODUCER_IDS}; {MORE_PRODUCER_IDS} with --bounds more_producer_ids=1)"


@pytest.mark.parametrize(
    ("name", "reached", "distinct"),
    [("rotation_failover", 7_567, 7_670), ("resumed_commit", 9_733, 9_886), ("epoch_exhaustion", 170_396, 255_582)],
)
def test_what_ran_out_of_producer_ids_holds_where_there_are_more(name: str, reached: int, distinct: int) -> None:
    scenario = SCENARIOS[name]
    for more, count, verdict in ((0, reached, "inconclusive"), (1, distinct, "holds")):
        bounds = scenario.own_bounds({"epoch_max": 2, "more_producer_ids": more})
        setup = scenario.setup(scenario.own_rules(), bounds)
        result = explore(scenario.model(bounds), setup, promises=(*scenario.kept, *scenario.sometimes))
        assert (result.verdict, result.distinct) == (verdict, count)
        assert list(result.bound_hits) == ([] if more else [FULL])


@pytest.mark.parametrize("name", ["exhausted_fence", "last_epoch", "rotation_failover"])
def test_more_room_changes_nothing_where_two_are_enough(name: str) -> None:
    scenario = SCENARIOS[name]
    bounds = scenario.own_bounds({"more_producer_ids": 1})
    assert scenario.model(bounds) is BETWEEN_BROKERS
    setup = scenario.setup(scenario.own_rules(), bounds)
    assert explore(BETWEEN_BROKERS, setup, promises=scenario.kept).distinct == scenario.distinct


def test_every_partition_and_producer_id_has_an_action_and_those_of_more_ids_come_behind_what_travels() -> None:
    for kind in AT_PRODUCERS:
        pairs = [(partition_of(i), producer_of(i)) for each, i in ACTIONS if each == kind]
        assert sorted(pairs) == [(p, pid) for p in range(PARTITIONS) for pid in range(MORE_PRODUCER_IDS)]
        first = [(partition_of(i), producer_of(i)) for each, i in ACTIONS[:ACTIONS_AT_ONCE] if each == kind]
        assert first == [(p, pid) for p in range(PARTITIONS) for pid in range(PRODUCER_IDS)]
    count = len(AT_PRODUCERS) * PARTITIONS * (MORE_PRODUCER_IDS - PRODUCER_IDS)
    end = next(i for i, (kind, _) in enumerate(ACTIONS) if kind == Action.DELETE_GROUP)
    assert {kind for kind, _ in ACTIONS[end - count : end]} == {*AT_PRODUCERS}


def test_a_leader_forgets_the_last_of_the_producers() -> None:
    scenario = SCENARIOS["rotation_failover"]
    bounds = scenario.own_bounds({"more_producer_ids": 1, "forgotten": 1})
    setup = scenario.setup(scenario.own_rules(), bounds)
    assert isinstance(setup, Setup)
    state = initial_state(setup)
    last = MORE_PRODUCER_IDS - 1
    state.partitions[1].entries[last].known = True
    (action,) = [
        a
        for a, (kind, i) in enumerate(ACTIONS)
        if kind == Action.FORGET_PRODUCER and (partition_of(i), producer_of(i)) == (1, last)
    ]
    assert BETWEEN_BROKERS.worth_trying is not None
    assert BETWEEN_BROKERS.worth_trying(state, setup, action // 64) >> action % 64 & 1
    assert BETWEEN_BROKERS.describe(state, action, setup) == f"the leader of p1 forgets the silent producer {last}"
    assert BETWEEN_BROKERS.step(state, action, setup, Trail())
    assert (state.partitions[1].entries[last].known, state.budget.forgotten) == (False, 0)


@pytest.mark.slow
def test_a_random_path_with_more_producer_ids_arrives_on_the_live_system() -> None:
    scenario = SCENARIOS["rotation_failover"]
    bounds = scenario.own_bounds({"epoch_max": 2, "more_producer_ids": 1})
    setup = scenario.setup(scenario.own_rules(), bounds)
    assert isinstance(setup, Setup)
    ids = set()
    for seed in range(6):
        path = walk(BETWEEN_BROKERS, setup, seed)
        run = run_live(BETWEEN_BROKERS, setup, path, scenario.always)
        assert (run.arrival, run.why, len(run.steps)) == (Arrival.ARRIVES, "", len(path))
        state, trail = initial_state(setup), Trail()
        for action in path:
            assert BETWEEN_BROKERS.step(state, action, setup, trail)
            BETWEEN_BROKERS.normalise(state, setup)
            trail = Trail()
        ids.add(int(state.next_producer_id))
    assert max(ids) > PRODUCER_IDS, "no path needed more ids than there always are"


def test_more_producer_ids_are_there_or_not() -> None:
    with pytest.raises(UnknownBound, match="more_producer_ids=2 is neither off nor on"):
        SCENARIOS["rotation_failover"].own_bounds({"more_producer_ids": 2})

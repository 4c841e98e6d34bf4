"""What a client without transactional id does that forgets a partition, interpreted."""

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.actions import step
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.network import normalise
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, ProducerState

RULE = "forgotten_partition_changes_identity"
FORGET = (Action.FORGET_PARTITION, 0)
SEND, DELIVER = (Action.STEP, 0), (Action.DELIVER, 0)


def begun(rules: Rules, **bounds: int) -> tuple[State, Setup]:
    """The client has its identity, and nothing is sent."""
    scenario = SCENARIOS["forgotten_partition"]
    setup = scenario.setup(rules, scenario.own_bounds(bounds))
    assert isinstance(setup, Setup)
    state = initial_state(setup)
    take(state, setup, SEND)
    return state, setup


def may(state: State, setup: Setup, kind: Action, i: int) -> bool:
    if not step(state, ACTIONS.index((int(kind), i)), setup, Trail()):
        return False
    normalise(state, setup)
    return True


def take(state: State, setup: Setup, *actions: tuple[Action, int]) -> None:
    for kind, i in actions:
        assert may(state, setup, kind, i), kind


def sent(state: State) -> list[tuple[int, int, int]]:
    """(producer id, epoch, sequence) of each batch in flight."""
    return [(each.producer_id, each.producer_epoch, each.value) for each in state.messages if each.live]


def test_behind_what_is_acknowledged_the_partition_begins_under_a_raised_epoch() -> None:
    state, setup = begun(Rules())
    take(state, setup, SEND, DELIVER, FORGET, SEND)
    assert sent(state) == [(0, 1, 0)]
    take(state, setup, DELIVER)
    assert [(one.producer_epoch, one.value) for one in state.partitions[0].log[:2]] == [(0, 0), (1, 0)]


def test_what_is_in_flight_keeps_its_sequence_and_nothing_new_leaves_behind_it() -> None:
    state, setup = begun(Rules())
    take(state, setup, SEND, FORGET)
    assert sent(state) == [(0, 0, 0)]
    assert not may(state, setup, *SEND), "the partition is not drained"
    take(state, setup, DELIVER, SEND)
    assert sent(state) == [(0, 1, 0)]


def test_without_the_rule_a_new_batch_is_taken_for_the_first_one() -> None:
    state, setup = begun(with_switches(Rules(), off=[RULE]))
    take(state, setup, SEND, DELIVER, FORGET, SEND)
    assert sent(state) == [(0, 0, 0)]
    take(state, setup, DELIVER)
    assert state.partitions[0].end == 1
    assert [facts.acked for facts in state.ghost.labels[:2]] == [1, 1]


def test_behind_the_last_epoch_another_producer_id_is_asked_for() -> None:
    rules = Rules()
    rules.epoch_max = 1
    state, setup = begun(rules, epoch_max=1)
    take(state, setup, SEND, DELIVER, FORGET, SEND, DELIVER, FORGET, SEND)
    assert sent(state) == [(1, 0, 0)]


def test_before_kip_360_the_producer_id_is_given_up() -> None:
    state, setup = begun(preset("2.4"))
    take(state, setup, SEND, DELIVER, FORGET)
    client = state.clients[0]
    assert (client.state, client.producer_id) == (ProducerState.UNINITIALIZED, NONE)
    take(state, setup, SEND, SEND)
    assert sent(state) == [(1, 0, 0)]


@pytest.mark.parametrize("i", [1, OFFSETS, OFFSETS + 1])
def test_nothing_is_forgotten_that_was_not_known(i: int) -> None:
    """The client has sent nothing to p1, and there is no other client."""
    state, setup = begun(Rules())
    take(state, setup, SEND)
    assert not may(state, setup, Action.FORGET_PARTITION, i)


def test_a_partition_is_forgotten_as_often_as_the_budget_says() -> None:
    state, setup = begun(Rules(), forgotten_partitions=1)
    take(state, setup, SEND, FORGET, DELIVER, SEND)
    assert not may(state, setup, *FORGET)

"""The runtime machine follows the table."""

from collections.abc import Iterator
from enum import IntEnum

import pytest

from zombieproof.model.vocabulary import CoordinatorEvent, TransactionState
from zombieproof.statemachines.kernel import ILLEGAL, IllegalTransition, Machine
from zombieproof.statemachines.registry import MACHINES
from zombieproof.statemachines.runtime import LiveMachine


def questions() -> Iterator[tuple[Machine, IntEnum, IntEnum]]:
    """Every machine in every state with every event."""
    for machine in MACHINES.values():
        for state in machine.states:
            for event in machine.events:
                yield machine, state, event


@pytest.mark.parametrize(
    ("machine", "state", "event"), list(questions()), ids=lambda part: getattr(part, "name", str(part))
)
def test_the_runtime_agrees_with_the_table(machine: Machine, state: IntEnum, event: IntEnum) -> None:
    live = LiveMachine(machine, "somebody", state)
    expected = machine.table[state][event]
    if expected == ILLEGAL:
        with pytest.raises(IllegalTransition) as from_runtime:
            live.fire(event)
        with pytest.raises(IllegalTransition) as from_table:
            machine.target(state, event, "somebody")
        assert str(from_runtime.value) == str(from_table.value)
        assert live.state == state.name
    else:
        assert live.fire(event) == expected == machine.target(state, event)
        assert live.state == machine.states(expected).name


def test_a_machine_begins_in_the_tables_initial_state() -> None:
    for machine in MACHINES.values():
        assert LiveMachine(machine, "somebody").state == machine.initial.name


def test_two_machines_of_one_table_do_not_touch() -> None:
    coordinator = MACHINES["coordinator"]
    one, other = LiveMachine(coordinator, "orders-1"), LiveMachine(coordinator, "orders-2")
    one.fire(CoordinatorEvent.ADD_PARTITION)
    assert (one.state, other.state) == ("ONGOING", "EMPTY")


def test_a_refused_event_names_the_subject() -> None:
    live = LiveMachine(MACHINES["coordinator"], "orders-1", TransactionState.PREPARE_COMMIT)
    expected = "coordinator 'orders-1': ADD_PARTITION is illegal in PREPARE_COMMIT; legal here: MARKERS_WRITTEN"
    with pytest.raises(IllegalTransition, match=f"^{expected}$"):
        live.fire(CoordinatorEvent.ADD_PARTITION)

"""The tables of the protocol against the edges of the reference (§2.3, §4.2, §5.1)."""

from enum import IntEnum

import pytest

from zombieproof.model.vocabulary import ConsumerState, PartitionState, PendingOffsetsState
from zombieproof.model.vocabulary import ProducerState as P
from zombieproof.model.vocabulary import TransactionState as C
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.registry import MACHINES


def edges(machine: Machine) -> dict[IntEnum, set[IntEnum]]:
    """Target -> the states it is reached from."""
    found: dict[IntEnum, set[IntEnum]] = {}
    for row in machine.rows:
        found.setdefault(row.target, set()).add(row.state)
    return found


def test_the_coordinators_edges() -> None:
    idle = {C.EMPTY, C.COMPLETE_COMMIT, C.COMPLETE_ABORT}
    assert edges(MACHINES["coordinator"]) == {
        C.EMPTY: idle,
        C.ONGOING: {C.ONGOING} | idle,
        C.PREPARE_COMMIT: {C.ONGOING},
        C.PREPARE_ABORT: {C.ONGOING, C.PREPARE_EPOCH_FENCE} | idle,
        C.COMPLETE_COMMIT: {C.PREPARE_COMMIT},
        C.COMPLETE_ABORT: {C.PREPARE_ABORT},
        C.DEAD: idle,
        C.PREPARE_EPOCH_FENCE: {C.ONGOING},
    }


def test_the_producers_edges() -> None:
    """§5.1 lets any state become FATAL_ERROR; that it stays there is written down as "terminal"."""
    assert edges(MACHINES["producer"]) == {
        P.UNINITIALIZED: {P.READY, P.ABORTABLE_ERROR},
        P.INITIALIZING: {P.UNINITIALIZED, P.COMMITTING_TRANSACTION, P.ABORTING_TRANSACTION},
        P.READY: {P.INITIALIZING, P.COMMITTING_TRANSACTION, P.ABORTING_TRANSACTION},
        P.IN_TRANSACTION: {P.READY},
        P.PREPARED_TRANSACTION: {P.IN_TRANSACTION, P.INITIALIZING},
        P.COMMITTING_TRANSACTION: {P.IN_TRANSACTION, P.PREPARED_TRANSACTION},
        P.ABORTING_TRANSACTION: {P.IN_TRANSACTION, P.PREPARED_TRANSACTION, P.ABORTABLE_ERROR},
        P.ABORTABLE_ERROR: {P.IN_TRANSACTION, P.COMMITTING_TRANSACTION, P.ABORTABLE_ERROR, P.INITIALIZING},
        P.FATAL_ERROR: set(P) - {P.FATAL_ERROR},
    }


def test_a_leader_knows_of_nothing_before_the_first_batch_and_after_the_last_is_forgotten() -> None:
    leader = edges(MACHINES["partition_leader"])
    assert leader[PartitionState.NO_ENTRY] == {PartitionState.IDLE, PartitionState.VERIFYING}
    assert leader[PartitionState.IN_TRANSACTION] == set(PartitionState)


def test_waiting_offsets_and_consumers_come_to_rest() -> None:
    assert edges(MACHINES["group_coordinator"])[PendingOffsetsState.NO_PENDING_OFFSETS] == set(PendingOffsetsState)
    assert edges(MACHINES["consumer"])[ConsumerState.DELIVERING] == set(ConsumerState)


@pytest.mark.parametrize("machine", list(MACHINES.values()), ids=lambda machine: machine.name)
def test_a_row_says_why(machine: Machine) -> None:
    assert all(row.why and row.why == row.why.strip() and not row.why.endswith(".") for row in machine.rows)


@pytest.mark.parametrize("machine", list(MACHINES.values()), ids=lambda machine: machine.name)
def test_every_event_but_nothing_has_a_row(machine: Machine) -> None:
    assert {row.event for row in machine.rows} == {event for event in machine.events if event != 0}


def test_machines_are_registered_by_their_names() -> None:
    assert {name: machine.name for name, machine in MACHINES.items()} == {name: name for name in MACHINES}
    assert set(MACHINES) == {"coordinator", "producer", "partition_leader", "group_coordinator", "consumer"}

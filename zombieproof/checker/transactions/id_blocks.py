"""Blocks of producer ids (`Bounds.id_blocks`): a coordinator node has its own, and asks the controller for the next.

A node's request is handled by the controller, and the answer travels: it arrives, or is lost, or a late copy of it
stays behind, which arrives when the node waits for another one. A node that crashed knows of no block and asks anew.
Where the controller may change (`Budget.controller_changes`) its record of the next block becomes durable in a step of
its own, and the answer waits for that; its successor goes by the record, and whoever waits for an answer asks again.
Ids are named by their first use: `State.given` says which id each of the state's few numbers stands for.
"""

from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Allocation, State
from zombieproof.checker.transactions.vocabulary import Overflow
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines import producer_ids

LATER_MS = 100
"""When a block is asked for: no failure is too fresh for it. Answers come at time 0."""


def peek(state: State, node: int) -> int:
    """The producer id that a node hands out next, or NONE."""
    number = producer_ids.peek(state.blocks[node])
    return NONE if number == NONE else _name_of(state, number)


def _name_of(state: State, number: int) -> int:
    for name in range(state.next_producer_id):
        if state.given[name] == number:
            return int(name)
    return int(state.next_producer_id) if state.next_producer_id < len(state.group.pending) else NONE


def claim(state: State, node: int) -> None:
    """A node hands an id out, or has none and asks for a block."""
    number = producer_ids.claim(state.blocks[node], LATER_MS)
    send(state, node)
    if number == NONE:
        return
    name = _name_of(state, number)
    if name == NONE:
        state.overflow = Overflow.PRODUCER_IDS
    elif name == state.next_producer_id:
        state.given[name] = number
        state.next_producer_id += 1


def send(state: State, node: int) -> None:
    """A node's request for a block sets out, if there is to be one."""
    blocks = state.blocks[node]
    if blocks.sends:
        blocks.sends = False
        state.allocations[node].asked = True


def start(state: State, node: int) -> None:
    """A broker starts: it knows of no block, and asks for one; what was under way to it is nobody's."""
    blocks = state.blocks[node]
    producer_ids.forget(blocks)
    _forget(state.allocations[node])
    producer_ids.prefetch(blocks, LATER_MS)
    send(state, node)


def _forget(allocation: Allocation) -> None:
    allocation.asked = False
    allocation.first = NONE
    allocation.late = NONE
    allocation.held = False


def may_change(state: State, setup: Setup) -> bool:
    """Whether another controller may take over in this scenario: then records of blocks take their time."""
    return len(state.recorded) > 0 and setup.budget.controller_changes > 0


def allocate(state: State, setup: Setup, node: int, lost: bool) -> bool:
    """The controller hands a block out; with `lost` its answer does not arrive, and the block is nobody's."""
    if not state.allocations[node].asked:
        return False
    allocated = producer_ids.allocate(int(state.next_block), int(setup.bounds.id_blocks))
    state.next_block += setup.bounds.id_blocks
    state.allocations[node].asked = False
    if lost:
        state.budget.lost -= 1
        producer_ids.lost(state.blocks[node])
    else:
        state.allocations[node].first = allocated.first
        state.allocations[node].held = may_change(state, setup) and producer_ids.waits_for_record(setup.rules)
    return True


def record(state: State) -> bool:
    """The controller's log has what it hands out; what waits for that is answered."""
    if state.recorded[0] == state.next_block:
        return False
    state.recorded[0] = state.next_block
    for allocation in state.allocations:
        allocation.held = False
    return True


def change_controller(state: State) -> bool:
    """The controller is gone before its log has what it hands out; its successor knows what the log says."""
    if state.recorded[0] == state.next_block:
        return False
    state.budget.controller_changes -= 1
    state.next_block = state.recorded[0]
    for node in range(len(state.allocations)):
        allocation = state.allocations[node]
        if allocation.held:
            allocation.held = False
            allocation.first = NONE
            producer_ids.lost(state.blocks[node])
    return True


def arrive(state: State, setup: Setup, node: int) -> bool:
    """The controller's answer arrives."""
    if state.allocations[node].first == NONE or state.allocations[node].held:
        return False
    _answered(state, setup, node, int(state.allocations[node].first))
    state.allocations[node].first = NONE
    return True


def double(state: State, node: int) -> bool:
    """A late copy of the controller's answer stays behind."""
    allocation = state.allocations[node]
    if allocation.first == NONE or allocation.held or allocation.late != NONE:
        return False
    state.budget.doubled -= 1
    allocation.late = allocation.first
    return True


def arrive_late(state: State, setup: Setup, node: int) -> bool:
    """A late copy arrives and is taken for the answer that the node waits for."""
    if state.allocations[node].late == NONE:
        return False
    if not state.blocks[node].is_asked_for or state.blocks[node].next_size > 0:
        return False
    _answered(state, setup, node, int(state.allocations[node].late))
    state.allocations[node].late = NONE
    return True


def _answered(state: State, setup: Setup, node: int, first: int) -> None:
    size = int(setup.bounds.id_blocks)
    producer_ids.answered(state.blocks[node], int(Error.NONE), first, size, 0, setup.rules)

"""Blocks of producer ids (`Bounds.id_blocks`): a coordinator node has its own, and asks the controller for the next.

A node's request is handled by the controller, and the answer travels: it arrives, or is lost, or a late copy of it
stays behind, which arrives when the node waits for another one. A node that crashed knows of no block and asks anew.
Ids are named by their first use: `World.given` says which id each of the world's few numbers stands for.
"""

from zombieproof.checker.transactions.world import PRODUCER_IDS, Allocation, Overflow, Setup, World
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines import producer_ids

LATER_MS = 100
"""When a block is asked for: no failure is too fresh for it. Answers come at time 0."""


def peek(world: World, node: int) -> int:
    """The producer id that a node hands out next, or NONE."""
    number = producer_ids.peek(world.blocks[node])
    return NONE if number == NONE else _name_of(world, number)


def _name_of(world: World, number: int) -> int:
    for name in range(world.next_producer_id):
        if world.given[name] == number:
            return int(name)
    return int(world.next_producer_id) if world.next_producer_id < PRODUCER_IDS else NONE


def claim(world: World, node: int) -> None:
    """A node hands an id out, or has none and asks for a block."""
    number = producer_ids.claim(world.blocks[node], LATER_MS)
    send(world, node)
    if number == NONE:
        return
    name = _name_of(world, number)
    if name == NONE:
        world.overflow = Overflow.PRODUCER_IDS
    elif name == world.next_producer_id:
        world.given[name] = number
        world.next_producer_id += 1


def send(world: World, node: int) -> None:
    """A node's request for a block sets out, if there is to be one."""
    blocks = world.blocks[node]
    if blocks.sends == 1:
        blocks.sends = 0
        world.allocations[node].asked = 1


def start(world: World, node: int) -> None:
    """A broker starts: it knows of no block, and asks for one; what was under way to it is nobody's."""
    blocks = world.blocks[node]
    producer_ids.forget(blocks)
    _forget(world.allocations[node])
    producer_ids.prefetch(blocks, LATER_MS)
    send(world, node)


def _forget(allocation: Allocation) -> None:
    allocation.asked = 0
    allocation.first = NONE
    allocation.late = NONE


def allocate(world: World, setup: Setup, node: int, lost: int) -> bool:
    """The controller hands a block out; with `lost` 1 its answer does not arrive, and the block is nobody's."""
    if node >= len(world.blocks) or world.allocations[node].asked == 0 or (lost == 1 and world.budget.lost == 0):
        return False
    allocated = producer_ids.allocate(int(world.next_block), int(setup.bounds.id_blocks))
    world.next_block += setup.bounds.id_blocks
    world.allocations[node].asked = 0
    if lost == 1:
        world.budget.lost -= 1
        producer_ids.lost(world.blocks[node])
    else:
        world.allocations[node].first = allocated.first
    return True


def arrive(world: World, setup: Setup, node: int) -> bool:
    """The controller's answer arrives."""
    if node >= len(world.blocks) or world.allocations[node].first == NONE:
        return False
    _answered(world, setup, node, int(world.allocations[node].first))
    world.allocations[node].first = NONE
    return True


def double(world: World, node: int) -> bool:
    """A late copy of the controller's answer stays behind."""
    if node >= len(world.blocks) or world.budget.doubled == 0:
        return False
    allocation = world.allocations[node]
    if allocation.first == NONE or allocation.late != NONE:
        return False
    world.budget.doubled -= 1
    allocation.late = allocation.first
    return True


def arrive_late(world: World, setup: Setup, node: int) -> bool:
    """A late copy arrives and is taken for the answer that the node waits for."""
    if node >= len(world.blocks) or world.allocations[node].late == NONE:
        return False
    if world.blocks[node].is_asked_for == 0 or world.blocks[node].next_size > 0:
        return False
    _answered(world, setup, node, int(world.allocations[node].late))
    world.allocations[node].late = NONE
    return True


def _answered(world: World, setup: Setup, node: int, first: int) -> None:
    size = int(setup.bounds.id_blocks)
    producer_ids.answered(world.blocks[node], int(Error.NONE), first, size, 0, setup.rules)

"""Moving machines: the only place of the checker where a state changes, and it asks the table."""

from zombieproof.checker.world import DECISIONS, MOVES, MachineIndex, Trail, World
from zombieproof.model.vocabulary import NOTHING
from zombieproof.statemachines.consumer import CONSUMER
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.group_coordinator import GROUP_COORDINATOR
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.statemachines.producer import PRODUCER

COORDINATOR_TABLE = COORDINATOR.table
PRODUCER_TABLE = PRODUCER.table
PARTITION_LEADER_TABLE = PARTITION_LEADER.table
GROUP_COORDINATOR_TABLE = GROUP_COORDINATOR.table
CONSUMER_TABLE = CONSUMER.table


def successor(machine: int, state: int, event: int) -> int:
    """What the machine's table says, or ILLEGAL."""
    if machine == MachineIndex.COORDINATOR:
        return COORDINATOR_TABLE[state][event]
    if machine == MachineIndex.PRODUCER:
        return PRODUCER_TABLE[state][event]
    if machine == MachineIndex.PARTITION_LEADER:
        return PARTITION_LEADER_TABLE[state][event]
    if machine == MachineIndex.GROUP_COORDINATOR:
        return GROUP_COORDINATOR_TABLE[state][event]
    return CONSUMER_TABLE[state][event]


def move(world: World, trail: Trail, machine: int, subject: int, state: int, event: int) -> int:
    """The state after `event`. A move that the table does not have is remembered as a broken promise."""
    if event == NOTHING:
        return int(state)
    target = successor(machine, state, event)
    if target == ILLEGAL:
        world.ghost.illegal = machine + 1
        return int(state)
    if trail.count < MOVES:
        taken = trail.moves[trail.count]
        taken.machine = machine
        taken.subject = subject
        taken.state = state
        taken.event = event
        taken.target = target
        trail.count += 1
    return int(target)


def note(trail: Trail, decision: int, guard: int, error: int) -> None:
    """Remember which guard of which decision answered."""
    if trail.decision_count < DECISIONS:
        noted = trail.decisions[trail.decision_count]
        noted.decision = decision
        noted.guard = guard
        noted.error = error
        trail.decision_count += 1


def note_answer(trail: Trail, error: int) -> None:
    """Remember the answer that sets out."""
    trail.answered = 1
    trail.error = error

"""What a step notes beside records and effects: which decision answered by which row, and which machine moved.

Theory of operation: a driver clears a `Notes`, sets its `subject` (the driver's own number of what the step is about),
and calls a step. The step asks decisions and moves machines, and each of both is noted here, in order. The driver then
does with the notes what it likes: coverage and stories in the checker, a journal in a broker, nothing at all.

A move that the table does not have is noted as well (`illegal`), and so is a durable record that may not follow what
is in memory (`contradicts`): the checker breaks a promise by it, a broker raises.
"""

from dataclasses import dataclass
from enum import IntEnum

from zombieproof.model.fields import array, integer
from zombieproof.model.vocabulary import NOTHING
from zombieproof.statemachines.classic_group.table import CLASSIC_GROUP
from zombieproof.statemachines.connection.table import CONNECTION
from zombieproof.statemachines.consumer.table import CONSUMER
from zombieproof.statemachines.consumer_group_member.table import CONSUMER_GROUP_MEMBER
from zombieproof.statemachines.coordinator.table import COORDINATOR
from zombieproof.statemachines.delivery.table import DELIVERY
from zombieproof.statemachines.group_coordinator.table import GROUP_COORDINATOR
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.statemachines.micro_batch_reader.table import MICRO_BATCH_READER
from zombieproof.statemachines.partition_leader.table import PARTITION_LEADER
from zombieproof.statemachines.producer.table import PRODUCER
from zombieproof.statemachines.proposal2014 import tables as proposal2014

MOVES = 16
DECISIONS = 8

COORDINATOR_TABLE = COORDINATOR.table
PRODUCER_TABLE = PRODUCER.table
PARTITION_LEADER_TABLE = PARTITION_LEADER.table
GROUP_COORDINATOR_TABLE = GROUP_COORDINATOR.table
CONSUMER_TABLE = CONSUMER.table
CLASSIC_GROUP_TABLE = CLASSIC_GROUP.table
CONSUMER_GROUP_MEMBER_TABLE = CONSUMER_GROUP_MEMBER.table
CONNECTION_TABLE = CONNECTION.table
DELIVERY_TABLE = DELIVERY.table
MICRO_BATCH_READER_TABLE = MICRO_BATCH_READER.table
PROPOSAL2014_COORDINATOR_TABLE = proposal2014.COORDINATOR.table
PROPOSAL2014_JOURNAL_TABLE = proposal2014.JOURNAL.table
PROPOSAL2014_PRODUCER_TABLE = proposal2014.PRODUCER.table
PROPOSAL2014_LEADER_TABLE = proposal2014.LEADER.table
PROPOSAL2014_OFFSETS_TABLE = proposal2014.OFFSETS.table


class MachineIndex(IntEnum):
    """Which machine a move belongs to, in the order of ``registry.ALL_MACHINES``."""

    COORDINATOR = 0
    PRODUCER = 1
    PARTITION_LEADER = 2
    GROUP_COORDINATOR = 3
    CONSUMER = 4
    CLASSIC_GROUP = 5
    CONSUMER_GROUP_MEMBER = 6
    CONNECTION = 7
    DELIVERY = 8
    MICRO_BATCH_READER = 9
    PROPOSAL2014_COORDINATOR = 10
    PROPOSAL2014_JOURNAL = 11
    PROPOSAL2014_PRODUCER = 12
    PROPOSAL2014_LEADER = 13
    PROPOSAL2014_OFFSETS = 14


class Decision(IntEnum):
    """Who decided."""

    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS = 2
    ADD_OFFSETS = 3
    VERIFY_PARTITIONS = 4
    END_TXN = 5
    TIMEOUT = 6
    PRODUCE = 7
    VERIFICATION = 8
    MARKER = 9
    TXN_OFFSET_COMMIT = 10
    OFFSET_FETCH = 11
    EXPIRATION = 12
    FETCH = 20
    OFFSET_COMMIT = 21
    LOOKUP = 31
    LOG_APPEND = 32
    MARKER_DELIVERY = 33
    KEEP_PREPARED = 34
    DESCRIBE_TRANSACTIONS = 35
    LIST_TRANSACTIONS = 36
    FIND_COORDINATOR = 41
    JOIN_GROUP = 42
    SYNC_GROUP = 43
    HEARTBEAT = 44
    LEAVE_GROUP = 45
    CONSUMER_GROUP_HEARTBEAT = 46
    OFFSET_DELETE = 47
    DELETE_GROUPS = 48
    AUTHORIZATION = 49
    AUTHENTICATION = 50


@dataclass(slots=True)
class Move:
    """One move of one machine."""

    machine: int = 0
    subject: int = 0
    state: int = 0
    event: int = 0
    target: int = 0


@dataclass(slots=True)
class NotedDecision:
    """One decision: who, by which row of its ladder, with which error."""

    decision: int = 0
    row: int = integer(0, width="u1")
    error: int = 0


@dataclass(slots=True)
class Notes:
    """The first `count` of `moves` and the first `decision_count` of `decisions` are those of the step.

    `illegal` is 1 + the index of a machine whose table has no row for a move that was wanted (the last such, with its
    state and event), `contradicts` after a durable record that may not follow what is in memory.
    """

    subject: int = 0
    count: int = 0
    moves: list[Move] = array(Move, MOVES)
    decision_count: int = 0
    decisions: list[NotedDecision] = array(NotedDecision, DECISIONS)
    illegal: int = 0
    illegal_state: int = 0
    illegal_event: int = 0
    contradicts: bool = False


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
    if machine == MachineIndex.CLASSIC_GROUP:
        return CLASSIC_GROUP_TABLE[state][event]
    if machine == MachineIndex.CONSUMER_GROUP_MEMBER:
        return CONSUMER_GROUP_MEMBER_TABLE[state][event]
    if machine == MachineIndex.CONNECTION:
        return CONNECTION_TABLE[state][event]
    if machine == MachineIndex.DELIVERY:
        return DELIVERY_TABLE[state][event]
    if machine == MachineIndex.MICRO_BATCH_READER:
        return MICRO_BATCH_READER_TABLE[state][event]
    if machine >= MachineIndex.PROPOSAL2014_COORDINATOR:
        return successor_of_2014(machine, state, event)
    return CONSUMER_TABLE[state][event]


def successor_of_2014(machine: int, state: int, event: int) -> int:
    """The same for the machines of the 2014 proposal."""
    if machine == MachineIndex.PROPOSAL2014_COORDINATOR:
        return PROPOSAL2014_COORDINATOR_TABLE[state][event]
    if machine == MachineIndex.PROPOSAL2014_JOURNAL:
        return PROPOSAL2014_JOURNAL_TABLE[state][event]
    if machine == MachineIndex.PROPOSAL2014_PRODUCER:
        return PROPOSAL2014_PRODUCER_TABLE[state][event]
    if machine == MachineIndex.PROPOSAL2014_LEADER:
        return PROPOSAL2014_LEADER_TABLE[state][event]
    return PROPOSAL2014_OFFSETS_TABLE[state][event]


def move(notes: Notes, machine: int, state: int, event: int) -> int:
    """The state after `event`: the only place where a state changes, and it asks the table.

    With event NOTHING, or a move that the table does not have, it is `state`.
    """
    if event == NOTHING:
        return int(state)
    target = successor(machine, state, event)
    if target == ILLEGAL:
        notes.illegal = machine + 1
        notes.illegal_state = state
        notes.illegal_event = event
        return int(state)
    if notes.count < MOVES:
        taken = notes.moves[notes.count]
        taken.machine = machine
        taken.subject = notes.subject
        taken.state = state
        taken.event = event
        taken.target = target
        notes.count += 1
    return int(target)


def note(notes: Notes, decision: int, row: int, error: int) -> None:
    """Note which row of which decision answered."""
    if notes.decision_count < DECISIONS:
        noted = notes.decisions[notes.decision_count]
        noted.decision = decision
        noted.row = row
        noted.error = error
        notes.decision_count += 1


def clear(notes: Notes, subject: int) -> None:
    """Forget what was noted; what follows is about `subject`."""
    notes.subject = subject
    notes.count = 0
    notes.decision_count = 0
    notes.illegal = 0
    notes.illegal_state = 0
    notes.illegal_event = 0
    notes.contradicts = False

"""Who has to act: the processes of the transaction model, and each message under way, so that it arrives some time.

A message is known by what it is about, not by its place in the bag: from whom it is, of which kind, for which
partition, and whether somebody waits for its answer. Of those that one client has under way on one connection, one
after the other arrives. An answer of a broker is the same message on its way back. Faults are nobody's task.
"""

from zombieproof.checker.transactions.action_kinds import ACTIONS, AT_APPENDS, Action
from zombieproof.checker.transactions.capacities import APPENDS, CLIENTS, IDS, NODES, OFFSETS, PARTITIONS, READERS
from zombieproof.checker.transactions.network import speaks_to_coordinator
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.vocabulary import Kind

FIRST_READER = 1 + CLIENTS
FIRST_NODE = FIRST_READER + READERS
FIRST_PARTITION = FIRST_NODE + NODES
FIRST_REQUEST = FIRST_PARTITION + PARTITIONS
FIRST_BATCH = FIRST_REQUEST + 2 * CLIENTS
FIRST_MARKER = FIRST_BATCH + 2 * CLIENTS * PARTITIONS
FIRST_APPEND = FIRST_MARKER + 2 * IDS * PARTITIONS * NODES
FIRST_BLOCK = FIRST_APPEND + APPENDS
ADMINISTRATOR = FIRST_BLOCK + NODES
FIRST_REPLICA = ADMINISTRATOR + 1
CONTROLLER = FIRST_REPLICA + PARTITIONS
LAST = CONTROLLER
"""Tasks are numbered in this order. `Message.client` of a marker is the index of its transactional id."""


def tasks(state: State, action: int, setup: Setup) -> int:
    """Return who acts: a client, a reader, a node, a partition that elects, a message, an append, a block's way.

    Or the administrator, who looks after what hangs some time; the replicas that follow a leader; the controller.
    """
    kind, i = ACTIONS[action][0], ACTIONS[action][1]
    if kind in (Action.STEP, Action.ABORT_INSTEAD):
        return 1 + i
    if kind in (Action.READ_ONE, Action.READ_ALL, Action.BEGIN_FETCH):
        return FIRST_READER + i
    if kind == Action.RESIGN:
        return FIRST_NODE + i
    if kind == Action.ELECT:
        return FIRST_PARTITION + i
    if kind in (Action.DELIVER, Action.ANSWER_COMMIT):
        return of_message(state.messages[i])
    if kind == Action.ABORT_BY_HAND:
        return ADMINISTRATOR
    if kind == Action.REPLICATE:
        return FIRST_REPLICA + i
    if kind == Action.REPLICATE_OFFSETS:
        return FIRST_REPLICA + OFFSETS
    if kind == Action.RECORD_BLOCK:
        return CONTROLLER
    if kind in AT_APPENDS:
        return FIRST_APPEND + i
    return FIRST_BLOCK + i


def of_message(message: Message) -> int:
    """Return the task of a message under way."""
    waits = 1 if message.live else 0
    if message.kind == Kind.MARKER:
        place = (message.client * PARTITIONS + message.partition) * NODES + message.node
        return int(FIRST_MARKER + 2 * place + waits)
    if speaks_to_coordinator(message.kind):
        return int(FIRST_REQUEST + 2 * message.client + waits)
    return int(FIRST_BATCH + 2 * (message.client * PARTITIONS + message.partition) + waits)

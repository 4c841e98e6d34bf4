"""The network: an unordered bag of messages; and the normal form of a state.

A message may be delivered at any time after it was sent. A client waits for one answer of a coordinator at a time and
resends until it gets one, so:

- *lost*: the request has its effect, the answer does not arrive, the client asks again. A request that is lost before
  it has an effect and is sent again is the same state as one that is late, so nothing else has to be lost.
- *doubled*: a late copy of a request stays in flight beside the one that is waited for.
- *late*: the client gives a batch up and goes on while the batch is still in flight.

Batches that wait for an answer share a connection with their leader and arrive in order; late copies arrive whenever.

Reductions, each with a switch that turns it off and a test that verdicts stay the same:

- answers are handled in the step that answers (`Bounds.answers_travel` puts them in the bag instead): until the answer
  arrives its receiver only waits, and what can happen to it meanwhile (crash, loss) happens to the request as well;
- late copies that are refused for good are dropped (``late_copies``; `Bounds.keep_refused_copies` keeps them).
"""

from zombieproof.checker.transactions import epochs, replicas
from zombieproof.checker.transactions.capacities import MESSAGES, PARTITIONS
from zombieproof.checker.transactions.late_copies import is_refused_for_good
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.vocabulary import Kind, Overflow
from zombieproof.model.fields import exchange, precedes
from zombieproof.model.vocabulary import NONE


def empty(message: Message) -> None:
    """Free a slot."""
    message.kind = Kind.EMPTY
    message.live = False
    message.answered = False
    message.client = 0
    message.node = 0
    message.stage = 0
    message.producer_id = NONE
    message.producer_epoch = NONE
    message.partition = 0
    message.value = 0
    message.detail = 0
    message.error = 0
    message.label = 0
    message.guard = 0


def copy(source: Message, target: Message) -> None:
    """Copy every field."""
    target.kind = source.kind
    target.live = source.live
    target.answered = source.answered
    target.client = source.client
    target.node = source.node
    target.stage = source.stage
    target.producer_id = source.producer_id
    target.producer_epoch = source.producer_epoch
    target.partition = source.partition
    target.value = source.value
    target.detail = source.detail
    target.error = source.error
    target.label = source.label
    target.guard = source.guard


def free_slot(state: State) -> int:
    """The first free slot; with none left the last one is sacrificed and the state is marked as overflown."""
    for i in range(MESSAGES):
        if state.messages[i].kind == Kind.EMPTY:
            return i
    state.overflow = Overflow.MESSAGE_SLOTS
    empty(state.messages[MESSAGES - 1])
    return MESSAGES - 1


def send_request(state: State, kind: int, c: int, partition: int, value: int, detail: int, label: int) -> None:
    """Client `c` sends a request under its present producer id and epoch, to the coordinator it knows."""
    client = state.clients[c]
    message = state.messages[free_slot(state)]
    empty(message)
    message.kind = kind
    message.live = True
    message.client = c
    message.node = client.node if speaks_to_coordinator(kind) else 0
    message.producer_id = client.producer_id
    message.producer_epoch = client.producer_epoch
    message.partition = partition
    message.value = value
    message.detail = detail
    message.label = label


def ask_again(message: Message) -> None:
    """The client sends the request once more."""
    message.answered = False
    message.error = 0


def speaks_to_coordinator(kind: int) -> bool:
    """Whether a request goes to a transaction coordinator."""
    return kind in (Kind.INIT_PRODUCER_ID, Kind.ADD_PARTITIONS, Kind.ADD_OFFSETS, Kind.END_TXN)


def waits_for_coordinator(state: State, c: int) -> bool:
    """Whether client `c` waits for an answer to a transactional request (one at a time)."""
    for i in range(MESSAGES):
        message = state.messages[i]
        if message.live and message.client == c and _is_transactional_request(message.kind):
            return True
    return False


def _is_transactional_request(kind: int) -> bool:
    return speaks_to_coordinator(kind) or kind == Kind.TXN_OFFSET_COMMIT


def batches_in_flight(state: State, c: int) -> int:
    """How many unacknowledged batches client `c` has."""
    count = 0
    for i in range(MESSAGES):
        message = state.messages[i]
        if message.live and message.kind == Kind.PRODUCE and message.client == c:
            count += 1
    return count


def hang_up(state: State, c: int) -> None:
    """Client `c` is gone: what it sent stays on its way, what was meant for it is not."""
    for i in range(MESSAGES):
        message = state.messages[i]
        if message.live and message.kind != Kind.MARKER and message.client == c:
            if message.answered:
                empty(message)
            else:
                message.live = False
                if message.kind == Kind.PRODUCE:
                    message.detail = 0


def hang_up_node(state: State, node: int) -> None:
    """A coordinator node is gone: its markers stay on their way, their answers reach nobody."""
    for i in range(MESSAGES):
        message = state.messages[i]
        if message.kind == Kind.MARKER and message.node == node:
            message.live = False


def token(state: State) -> int:
    """A verification guard that no message in flight carries."""
    used = 0
    for i in range(MESSAGES):
        if state.messages[i].guard > 0:
            used |= 1 << state.messages[i].guard
    for p in range(PARTITIONS):
        for entry in state.partitions[p].entries:
            if entry.guard > 0:
                used |= 1 << entry.guard
    fresh = 1
    while (used >> fresh) & 1 == 1:
        fresh += 1
    return fresh


def normalise(state: State, setup: Setup) -> None:
    """The normal form: late copies that are refused for good are dropped, epochs are low, messages in one order."""
    if len(state.replicas) > 0:
        for i in range(MESSAGES):
            if replicas.is_waiting(state.messages[i]) and not state.messages[i].live:
                empty(state.messages[i])
    if setup.bounds.keep_refused_copies == 0:
        for i in range(MESSAGES):
            if is_refused_for_good(state, setup, state.messages[i]):
                empty(state.messages[i])
    epochs.lower(state, setup)
    _sort(state)


def _sort(state: State) -> None:
    """Insertion sort by content, free slots last (the bag has no order)."""
    i = 1
    while i < MESSAGES:
        j = i if state.messages[i].kind != Kind.EMPTY else 0
        while j > 0 and _stands_before(state.messages[j], state.messages[j - 1]):
            exchange(state.messages[j], state.messages[j - 1])
            j -= 1
        i += 1


def _stands_before(message: Message, other: Message) -> bool:
    """Whether a message, of no free slot, stands before what another slot has."""
    return other.kind == Kind.EMPTY or precedes(message, other)

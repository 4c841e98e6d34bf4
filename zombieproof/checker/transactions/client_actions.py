"""What a client does: run its program, and make something of each answer.

An application is honest: it asks for one thing after another, commits only when every batch was acknowledged, aborts
when only abort is left, and stops for good when it is fenced. A *zombie* is nothing special: it is an instance that
goes on while a newer one has the same transactional id.
"""

from zombieproof.checker.transactions import client_batches, group_appends, network, replicas
from zombieproof.checker.transactions.capacities import LINES, OFFSETS, OPS, PARTITIONS, TXNS
from zombieproof.checker.transactions.client_batches import host_of
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.model.vocabulary import NONE, ApiKey, PendingOffsetsState, ProducerState
from zombieproof.statemachines.group_coordinator.offsets import Asked, is_read
from zombieproof.statemachines.producer import calls, requests
from zombieproof.statemachines.producer.effects import Joins, Turn, clear
from zombieproof.statemachines.producer.records import Joining, Pending, Request

COMMIT, ABORT = 1, 2

WAITING = (
    ProducerState.INITIALIZING,
    ProducerState.PREPARED_TRANSACTION,
    ProducerState.COMMITTING_TRANSACTION,
    ProducerState.ABORTING_TRANSACTION,
)
"""The states of a producer in which its application waits: an answer takes it out of them."""


def label_of(state: State, c: int) -> int:
    """The label of what client `c` is working on."""
    return 1 + c * TXNS + int(state.clients[c].txn)


def may_go_on(setup: Setup, client: Client, c: int) -> bool:
    """Whether client `c` has anything to do itself but wait for what it has asked for."""
    if client.state == ProducerState.FATAL_ERROR and setup.bounds.restarts == 0:
        return False
    return client.txn < setup.bounds.transactions[c] and client.state not in WAITING


def step(state: State, setup: Setup, trail: Trail, c: int, abort_instead: bool) -> bool:
    """Client `c` takes its next step; with `abort_instead` it aborts where its program says COMMIT."""
    client = state.clients[c]
    if not may_go_on(setup, client, c):
        return False
    if client.state == ProducerState.UNINITIALIZED:
        return not abort_instead and _start(state, setup, trail, c)
    if client.state == ProducerState.FATAL_ERROR:
        return not abort_instead and restart(state, c)
    op = next_op(setup, client, c)
    if abort_instead and (op != Op.COMMIT or setup.bounds.may_abort == 0):
        return False
    if client.state == ProducerState.ABORTABLE_ERROR:
        return not abort_instead and _end(state, setup, trail, c, ABORT)
    if op == Op.FETCH:
        return _fetch_position(state, setup, trail, c)
    if op in (Op.SEND_0, Op.SEND_1):
        return _send(state, setup, trail, c, 0 if op == Op.SEND_0 else 1)
    if op == Op.OFFSETS:
        return _send_offsets(state, setup, trail, c)
    if op == Op.STORE:
        return _store_identity(state, c)
    if op in (Op.COMMIT, Op.ABORT):
        return _end(state, setup, trail, c, ABORT if op == Op.ABORT or abort_instead else COMMIT)
    return False


def next_op(setup: Setup, client: Client, c: int) -> int:
    """The next line of the client's program, STOP behind its end."""
    if client.op >= OPS or client.txn >= TXNS:
        return int(Op.STOP)
    return int(setup.programs[c * TXNS + client.txn].ops[client.op])


def _start(state: State, setup: Setup, trail: Trail, c: int) -> bool:
    """A new instance asks for its producer id and epoch."""
    client = state.clients[c]
    if network.waits_for_coordinator(state, c):
        return False
    if setup.bounds.grouped == 1 and state.group.owner != c:
        return False
    client.alive = True
    client.node = state.coordinator
    clear(trail.producer)
    trail.subject = c
    if setup.bounds.transactional_id[c] < 0:
        client_batches.keep_identity(state, setup, trail, c)
        return True
    if client.prepared_id != NONE:
        calls.resume_transaction(client, host_of(setup, c), trail)
        return True
    calls.init_transactions(client, Pending.NOTHING, host_of(setup, c), setup.rules, trail.producer, trail)
    network.send_request(state, Kind.INIT_PRODUCER_ID, c, 0, 0, 0, 0)
    return True


def _begin(state: State, setup: Setup, trail: Trail, c: int) -> None:
    """BeginTransaction is local: it is folded into the first request of the transaction."""
    client = state.clients[c]
    clear(trail.producer)
    trail.subject = c
    if client.state == ProducerState.READY and setup.bounds.transactional_id[c] >= 0:
        calls.begin_transaction(client, Pending.NOTHING, host_of(setup, c), trail.producer, trail)


def _fetch_position(state: State, setup: Setup, trail: Trail, c: int) -> bool:
    """The owner of the input partition learns its position: what is committed, or what it remembers."""
    client = state.clients[c]
    if state.group.owner != c or client.state != ProducerState.READY:
        return False
    if setup.bounds.keeps_position == 1 and client.generation != NONE:
        client.position += 1 if _was_told_of_commit(state, c) else 0
    elif not _reads_committed_offset(state, setup, trail, client):
        return False
    client.op += 1
    if client.position >= setup.bounds.inputs:
        client.txn = setup.bounds.transactions[c]
        client.op = 0
        return True
    state.ghost.labels[label_of(state, c) - 1].input = client.position
    return True


def _reads_committed_offset(state: State, setup: Setup, trail: Trail, client: Client) -> bool:
    """Whether the group tells its committed offset; the answer's way is folded, it changes nothing."""
    pending = 0
    for pid in range(len(state.group.pending)):
        waiting = state.group.pending[pid]
        is_seen = group_appends.is_seen(state, setup, int(waiting.record_offset))
        if waiting.state == PendingOffsetsState.PENDING and is_seen:
            pending += 1
    if not replicas.is_everywhere(state, setup, OFFSETS):
        return False
    if not is_read(Asked(True, setup.rules.kip447_stable == 1, pending, True), setup.rules, trail).is_shown:
        return False
    client.generation = state.group.generation
    client.position = state.group.committed.offset
    return True


def _was_told_of_commit(state: State, c: int) -> bool:
    """Whether the application was told that its transaction before is committed: all it knows of it."""
    before = label_of(state, c) - 2
    return bool(state.clients[c].txn > 0 and state.ghost.labels[before].result == COMMIT)


def _send(state: State, setup: Setup, trail: Trail, c: int, p: int) -> bool:
    client = state.clients[c]
    if network.waits_for_coordinator(state, c) or network.batches_in_flight(state, c) >= setup.bounds.in_flight:
        return False
    if not client_batches.may_leave(state, setup, trail, c, p):
        return False
    _begin(state, setup, trail, c)
    joining = Joining.JOINED if (client.added >> p) & 1 == 1 else Joining.OUTSIDE
    calls.send(client, joining, Pending.NOTHING, host_of(setup, c), trail.producer)
    if trail.producer.joins == Joins.HAVE_TO_ASK:
        network.send_request(state, Kind.ADD_PARTITIONS, c, p, 0, 0, label_of(state, c))
    else:
        if trail.producer.joins == Joins.JOIN:
            client.added |= 1 << p
        send_batch(state, setup, trail, c, p)
    client.op += 1
    if setup.bounds.transactional_id[c] < 0:
        client.txn += 1
        client.op = 0
    return True


def send_batch(state: State, setup: Setup, trail: Trail, c: int, p: int) -> None:
    """The batch goes to its leader under the next sequence."""
    sequence, place = client_batches.number(state, setup, trail, c, p), client_batches.place_behind(state, c, p)
    network.send_request(state, Kind.PRODUCE, c, p, sequence, place, label_of(state, c))


def _send_offsets(state: State, setup: Setup, trail: Trail, c: int) -> bool:
    client = state.clients[c]
    if network.waits_for_coordinator(state, c):
        return False
    _begin(state, setup, trail, c)
    calls.send_offsets(client, 1, False, Pending.NOTHING, host_of(setup, c), trail.producer)
    if trail.producer.sends == ApiKey.TXN_OFFSET_COMMIT:
        send_offset_commit(state, c)
    else:
        network.send_request(state, Kind.ADD_OFFSETS, c, OFFSETS, 0, 0, label_of(state, c))
    client.op += 1
    return True


def send_offset_commit(state: State, c: int) -> None:
    """The next input position goes to the group coordinator."""
    client = state.clients[c]
    next_position = client.position + 1
    network.send_request(
        state, Kind.TXN_OFFSET_COMMIT, c, OFFSETS, next_position, client.generation, label_of(state, c)
    )


def _store_identity(state: State, c: int) -> bool:
    """All is flushed: who decides outside is told producer id and epoch, and decides to commit (KIP-939, Flink)."""
    client = state.clients[c]
    if network.waits_for_coordinator(state, c) or network.batches_in_flight(state, c) > 0:
        return False
    if client.state != ProducerState.IN_TRANSACTION:
        return False
    client.prepared_id = client.producer_id
    client.prepared_epoch = client.producer_epoch
    state.ghost.labels[label_of(state, c) - 1].asked = COMMIT
    client.op += 1
    return True


def _end(state: State, setup: Setup, trail: Trail, c: int, outcome: int) -> bool:
    """CommitTransaction or abortTransaction: EndTxn goes out when no batch is incomplete (reference §5.3)."""
    client = state.clients[c]
    if network.waits_for_coordinator(state, c) or network.batches_in_flight(state, c) > 0:
        return False
    _begin(state, setup, trail, c)
    state.ghost.labels[label_of(state, c) - 1].asked = outcome
    clear(trail.producer)
    if outcome == COMMIT:
        calls.commit_transaction(client, Pending.NOTHING, host_of(setup, c), setup.rules, trail.producer, trail)
    else:
        calls.abort_transaction(client, Pending.NOTHING, host_of(setup, c), setup.rules, trail.producer, trail)
    committed = bool(trail.producer.committed)
    ends = Request(int(ApiKey.END_TXN), int(trail.producer.transaction_version), committed)
    clear(trail.producer)
    requests.take_turn(client, ends, False, False, trail.producer, trail)
    if trail.producer.turn == Turn.LEAVES:
        network.send_request(state, Kind.END_TXN, c, 0, 0, int(committed), label_of(state, c))
    elif trail.producer.ends:
        is_over(state, c, outcome)
        client.added = 0
        raise_epoch(state, setup, trail, c)
    return True


def is_over(state: State, c: int, outcome: int) -> None:
    """The application is told the outcome, and goes on with its next transaction."""
    client = state.clients[c]
    state.ghost.labels[label_of(state, c) - 1].result = outcome
    client.txn += 1
    client.op = 0


def raise_epoch(state: State, setup: Setup, trail: Trail, c: int) -> None:
    """EndTxn has its answer, or needs none: the InitProducerId that waits behind it has its turn."""
    client = state.clients[c]
    if not client.raises:
        return
    clear(trail.producer)
    trail.subject = c
    waiting = Request(int(ApiKey.INIT_PRODUCER_ID), setup.rules.transaction_version, False, True)
    requests.take_turn(client, waiting, False, False, trail.producer, trail)
    if trail.producer.turn == Turn.LEAVES:
        network.send_request(state, Kind.INIT_PRODUCER_ID, c, 0, 0, 1, 0)


def crash(state: State, c: int) -> bool:
    """The process of client `c` is gone; a new instance of the same application may start with the next transaction."""
    client = state.clients[c]
    if not client.alive or client.state == ProducerState.FATAL_ERROR:
        return False
    if state.budget.resumptions > 0 and client.prepared_id != NONE:
        state.budget.resumptions -= 1
    elif state.budget.crashes > 0:
        state.budget.crashes -= 1
    else:
        return False
    # Behind its lines stands who was not told how its transaction ended, which may be over.
    begin_anew(state, c, calls.has_transaction(client) or client.op >= LINES, False)
    return True


def restart(state: State, c: int) -> bool:
    """A new instance takes the place of client `c`, and knows nothing; it begins its transaction from the start."""
    begin_anew(state, c, False, False)
    return True


def begin_anew(state: State, c: int, had_transaction: bool, keeps_position: bool) -> None:
    """Producer `c` is gone, whatever it waited for, and a new instance may start.

    It begins with the next transaction, or, where the identity of this one is stored outside, behind that line.
    `keeps_position`: the process stays, and with it what it knows of its input and its group.
    """
    client = state.clients[c]
    network.hang_up(state, c)
    stored_id, stored_epoch = int(client.prepared_id), int(client.prepared_epoch)
    client.op = int(client.op) % LINES
    if stored_id == NONE:
        client.txn += 1 if had_transaction else 0
        client.op = 0
    calls.forget(client)
    client.prepared_id = stored_id
    client.prepared_epoch = stored_epoch
    client.alive = False
    client.node = 0
    client.added = 0
    if not keeps_position:
        client.generation = NONE
        client.position = 0
    for p in range(PARTITIONS):
        client.sequences[p] = 0

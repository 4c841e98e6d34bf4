"""Where a client's next step meets nothing that others do: it waits for nobody, and nobody can reach it before.

A client that has no request on its way acts by itself alone: what others do changes neither what it may do next nor
what comes of it, and what it sends changes nothing before it is delivered. So its next step may as well come first. Not
where the step reads what others write: a new instance asks the present coordinator, a member of a group reads what is
committed, an idempotent producer takes the next producer id.

Everything else meets: two messages at one leader or one coordinator, an answer and the client that waits for it.
"""

from typing import Final

from zombieproof.checker.engine.orders import Order
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.asked_again import has_timed_out
from zombieproof.checker.transactions.capacities import CLIENTS, OPS, TXNS
from zombieproof.checker.transactions.client_actions import next_op
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, State
from zombieproof.checker.transactions.vocabulary import Kind, Op
from zombieproof.model.vocabulary import ProducerState


def is_alone(state: State, setup: Setup, c: int) -> bool:
    """Whether client `c` can go on, and its next step meets nothing that may happen before."""
    if c >= setup.bounds.clients or setup.bounds.transactional_id[c] < 0:
        return False
    return _can_go_on(state, setup, state.clients[c], c) and not _waits(state, c)


def _can_go_on(state: State, setup: Setup, client: Client, c: int) -> bool:
    if client.txn >= setup.bounds.transactions[c]:
        return False
    if client.state == ProducerState.UNINITIALIZED:
        moves = state.budget.failovers > 0 or state.budget.deposed > 0 or state.budget.hard_appends > 0
        return not moves and setup.bounds.grouped == 0
    op = next_op(setup, client, c)
    if op == Op.OFFSETS and state.budget.recreations > 0:
        return False
    if client.state in (ProducerState.READY, ProducerState.IN_TRANSACTION):
        return op not in (Op.FETCH, Op.STOP)
    return client.state == ProducerState.ABORTABLE_ERROR and not has_timed_out(client)


def _waits(state: State, c: int) -> bool:
    for message in state.messages:
        if message.live and message.kind not in (Kind.EMPTY, Kind.MARKER) and message.client == c:
            return True
    return False


def measure(state: State, setup: Setup) -> int:
    """How much clients may still do until each waits for somebody: crashes, lines of programs, first requests."""
    left = _MORE_THAN_ALL_LINES * state.budget.crashes
    for c in range(setup.bounds.clients):
        client = state.clients[c]
        left += 0 if _waits(state, c) else 1
        for txn in range(client.txn, setup.bounds.transactions[c]):
            done = client.op if txn == client.txn else 0
            left += 1 + sum(op != Op.STOP for op in setup.programs[c * TXNS + txn].ops[done:])
    return left


_MORE_THAN_ALL_LINES: Final = CLIENTS * (1 + TXNS * (1 + OPS))
_ALONE: Final = (Action.STEP, Action.ABORT_INSTEAD, Action.CRASH)

ORDER: Final = Order(
    "clients",
    tuple(tuple(a for a, (kind, i) in enumerate(ACTIONS) if kind in _ALONE and i == c) for c in range(CLIENTS)),
    is_alone,
    measure,
    seen_by=frozenset({"a_fence_aborts_what_a_crash_left_open"}),
)

"""An application whose commit or abort has timed out, and what it calls then.

``commitTransaction`` and ``abortTransaction`` wait for at most `max.block.ms`. A TimeoutException says that no answer
came, and nothing of the outcome: the producer goes on asking, and its application hears no more of it. It may make the
same call again, and then waits for the same result, or has it at once. It may be tempted to abort what it could not
commit: the producer refuses that, since the commit may be taking effect, and the application can only start anew.

The program's position tells which call is open (`Client.op`): behind its lines come those of a commit that timed out,
of an abort that did, and of an abort that was given the result of a commit, which only a mutant's producer does.
Source: reference §5.2, *pending*; ``TransactionManager.handleCachedTransactionRequestResult``; KAFKA-7763, KAFKA-13412.
"""

from zombieproof.checker.transactions import client_actions
from zombieproof.checker.transactions.capacities import LINES
from zombieproof.checker.transactions.client_batches import host_of
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Client, State, Trail
from zombieproof.model.vocabulary import Outcome
from zombieproof.statemachines.producer import calls
from zombieproof.statemachines.producer.effects import Refusal, clear
from zombieproof.statemachines.producer.records import Pending

NO_CALL, COMMIT, ABORT, ABORT_FOR_COMMIT = 0, 1, 2, 3
"""Which call is open: none that timed out; a commit, or an abort, that did; an abort that has a commit's result."""


def open_call(client: Client) -> int:
    """Which call of its application the client has to be asked for again."""
    return int(client.op) // LINES


def has_timed_out(client: Client) -> bool:
    """Whether the application has stopped waiting for the end of its transaction, and has not called again."""
    call = open_call(client)
    return call in (COMMIT, ABORT)


def may_call(client: Client) -> bool:
    """Whether the application still has to hear how the call that timed out ended; a dead producer tells nothing."""
    return has_timed_out(client) and not calls.is_at_its_end(client)


def times_out(state: State, c: int) -> bool:
    """Whether the application of client `c`, which waits for an end, can hear that its time is over."""
    return bool(state.budget.ends_timed_out > 0 and open_call(state.clients[c]) == NO_CALL)


def time_out(state: State, c: int, committed: bool) -> None:
    """The application waits no longer for the commit or abort that is under way; its producer goes on."""
    state.budget.ends_timed_out -= 1
    state.clients[c].op += LINES * (COMMIT if committed else ABORT)


def _wait_again(client: Client) -> None:
    client.op = int(client.op) % LINES


def call_again(state: State, setup: Setup, trail: Trail, c: int, abort_instead: bool) -> bool:
    """The application makes the call that timed out again, or, with `abort_instead`, aborts behind a commit."""
    client = state.clients[c]
    aborts = open_call(client) == ABORT
    if abort_instead and aborts:
        return False
    clear(trail.producer)
    trail.subject = c
    pending = Pending.ANOTHER if abort_instead else Pending.THE_SAME
    if aborts or abort_instead:
        calls.abort_transaction(client, pending, host_of(setup, c), setup.rules, trail.producer, trail)
    else:
        calls.commit_transaction(client, pending, host_of(setup, c), setup.rules, trail.producer, trail)
    if trail.producer.resumes:
        _resume(state, c, aborts, abort_instead)
    elif trail.producer.refusal == Refusal.AFTER_ERROR:
        _wait_again(client)
    else:
        _start_anew(state, setup, trail, c, abort_instead)
    return True


def _resume(state: State, c: int, aborts: bool, abort_instead: bool) -> None:
    """The call has the result of the one before it: it is there already, or is waited for."""
    client = state.clients[c]
    _wait_again(client)
    if calls.is_in_error(client):
        return
    if not calls.is_completing(client):
        client_actions.is_over(state, c, ABORT if aborts or abort_instead else COMMIT)
    elif abort_instead:
        client.op += LINES * ABORT_FOR_COMMIT


def _start_anew(state: State, setup: Setup, trail: Trail, c: int, abort_instead: bool) -> None:
    """The call is refused: the application closes its producer, and takes a new one.

    An error from the same call is taken for the failure of what was called. An abort that is refused says nothing of
    the commit before it: the application has lost its thread, and its process ends.
    """
    if not abort_instead:
        state.ghost.labels[client_actions.label_of(state, c) - 1].result = Outcome.ABORT
    clear(trail.producer)
    calls.close_by_force(state.clients[c], trail.producer, trail)
    client_actions.begin_anew(state, c, True, not abort_instead and setup.bounds.keeps_position == 1)


def hear(state: State, c: int, outcome: int) -> None:
    """The transaction has ended: the application is told, if it waits; by an answer to the call that it waits for."""
    client = state.clients[c]
    if has_timed_out(client):
        return
    told = ABORT if open_call(client) == ABORT_FOR_COMMIT else outcome
    client_actions.is_over(state, c, told)

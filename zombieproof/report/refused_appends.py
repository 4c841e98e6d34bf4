"""What an append to the transaction log leaves behind that failed: a transition that nobody is at work on."""

from collections.abc import Iterator

from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.narration import id_name
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Phase
from zombieproof.model.vocabulary import NONE, Error, TransactionState


def left_behind(before: State, after: State, kind: int, number: int) -> Iterator[str]:
    """What there is, line by line, when a coordinator was told that an append failed."""
    append = before.appends[number]
    if kind != Action.TELL_APPEND or append.phase != Phase.ANSWERED or append.error == Error.NONE:
        return
    k, target = append.subject, TransactionState(append.pending.target.state)
    node = after.nodes[append.node]
    txn, name = node.cache[k], id_name(append.subject)
    if not node.believes or not txn.known:
        return
    if before.nodes[append.node].cache[k].state != txn.state:
        yield f"{name} is {target.name} in memory, and not in the log"
    elif txn.pending_state != NONE and node.driving[k] == 0:
        yield f"{name} is still to become {TransactionState(txn.pending_state).name}, and nobody is at work on it"
    elif txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT) and node.driving[k] == 0:
        yield f"{name} stays {TransactionState(txn.state).name}, and nobody completes it"

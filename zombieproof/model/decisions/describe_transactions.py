"""DescribeTransactions (API key 65, version 0): what the coordinator holds under some transactional ids.

Behaviour: each id gets its own row, with its own error. What is pending is not shown.
Source: reference §2.16; KIP-664; ``TransactionCoordinator.handleDescribeTransactions``.
"""

from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.vocabulary import Error, Row, TransactionState


def decide_describe_transactions(txn: Transaction, id_is_empty: bool, lookup_error: int) -> Verdict:
    """Judge one id; `lookup_error` is what ``decide_lookup`` says of it."""
    if id_is_empty:
        return refuse(Error.INVALID_REQUEST, Row.EMPTY_ID)
    if lookup_error != Error.NONE:
        return refuse(lookup_error, Row.L1 if lookup_error == Error.COORDINATOR_LOAD_IN_PROGRESS else Row.L2)
    if not txn.known or txn.state == TransactionState.DEAD:
        return refuse(Error.TRANSACTIONAL_ID_NOT_FOUND, Row.NOT_KNOWN)
    return agree(Row.NO_ROW, txn.producer_id, txn.producer_epoch)

"""What a coordinator tells of its transactions: DescribeTransactions and ListTransactions (KIP-664).

Source: reference §2.16.
"""

from zombieproof.model.decisions.describe_transactions import decide_describe_transactions
from zombieproof.model.decisions.list_transactions import STATE_NAMES, decide_list_transactions, is_listed
from zombieproof.model.records import Transaction
from zombieproof.statemachines.coordinator.appends import look_up
from zombieproof.statemachines.coordinator.records import Office
from zombieproof.statemachines.notes import Decision, Notes, note


def describe(txn: Transaction, id_is_empty: bool, office: Office, notes: Notes) -> int:
    """The error of one id's row; without one the row shows the transaction, and nothing of what is pending."""
    lookup_error = 0 if id_is_empty else look_up(office, notes)
    verdict = decide_describe_transactions(txn, id_is_empty, lookup_error)
    note(notes, Decision.DESCRIBE_TRANSACTIONS, verdict.row, verdict.error)
    return int(verdict.error)


def begin_list(is_loading: bool, is_pattern_valid: bool, notes: Notes) -> int:
    """The error of ListTransactions as a whole."""
    verdict = decide_list_transactions(is_loading, is_pattern_valid)
    note(notes, Decision.LIST_TRANSACTIONS, verdict.row, verdict.error)
    return int(verdict.error)


def shows(txn: Transaction, now_ms: int, duration_ms: int, passes_filters: bool) -> bool:
    """Whether a transaction is in the list; `passes_filters`: its state, producer id and id are among those wanted."""
    return is_listed(txn, now_ms, duration_ms, passes_filters)


__all__ = ["STATE_NAMES", "begin_list", "describe", "shows"]

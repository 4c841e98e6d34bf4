"""The step of OffsetFetch, and what a marker is told where nobody answers for its partition (reference §4.2, §4.5)."""

from zombieproof.model.decisions.offset_fetch import decide_offset_fetch
from zombieproof.model.decisions.txn_offset_commit import answer_to_marker
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Guard
from zombieproof.statemachines.notes import Decision, Notes, note


def fetch_offset(topic_exists: int, require_stable: int, pending_transactions: int, rules: Rules, notes: Notes) -> int:
    """The error of one partition; `topic_exists` 0: it was named by an id of no topic."""
    if topic_exists == 0:
        return int(Error.UNKNOWN_TOPIC_ID)
    error = decide_offset_fetch(require_stable, pending_transactions, rules)
    note(notes, Decision.OFFSET_FETCH, Guard.NO_GUARD, error)
    return error


def error_of_marker(lookup_error: int) -> int:
    """NONE, or what a transaction coordinator is told of a partition that is not answered for here."""
    return answer_to_marker(lookup_error)

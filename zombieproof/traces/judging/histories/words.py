"""Words that messages about transactions share."""

from zombieproof.traces.judging.histories.partition_history import Ending
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction


def identity(txn: RecordedTransaction) -> str:
    """Producer id and epoch of a transaction."""
    epoch = "an unknown epoch" if txn.data_epoch is None else f"epoch {txn.data_epoch}"
    return f"producer id {txn.producer_id}, {epoch}"


def word(txn: RecordedTransaction) -> str:
    """What the markers of a transaction say."""
    return txn.outcome.value.upper()


def kind(ending: Ending) -> str:
    """What a marker says."""
    return "control" if ending.commits is None else "COMMIT" if ending.commits else "ABORT"


def span(first: int, last: int) -> str:
    """One offset or a range of them."""
    return f"offset {first}" if first == last else f"offsets {first} to {last}"

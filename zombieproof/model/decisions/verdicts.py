"""How a decision says what it decided: one function for each kind of verdict."""

from zombieproof.model.records import AppendVerdict, Verdict
from zombieproof.model.vocabulary import NONE, NOTHING, Error, Row


def refuse(error: int, row: int) -> Verdict:
    """Nothing changes; the answer is `error`."""
    return Verdict(int(error), int(row), NOTHING, NONE, NONE, NONE, NONE, 0, 0, NONE)


def agree(row: int, producer_id: int = NONE, producer_epoch: int = NONE) -> Verdict:
    """Nothing changes; the answer is NONE with this producer id and epoch."""
    return Verdict(int(Error.NONE), int(row), NOTHING, int(producer_id), int(producer_epoch), NONE, NONE, 0, 0, NONE)


def transit(
    row: int,
    event: int,
    producer_id: int,
    producer_epoch: int,
    last_producer_epoch: int,
    next_producer_id: int,
    partitions: int,
    client_transaction_version: int,
) -> Verdict:
    """`event` happens; the fields are those of the record to be made durable.

    The next producer epoch is NONE: where a two-phase participant has one, the decision replaces it (KIP-939).
    """
    return Verdict(
        int(Error.NONE),
        int(row),
        int(event),
        int(producer_id),
        int(producer_epoch),
        int(last_producer_epoch),
        int(next_producer_id),
        int(partitions),
        int(client_transaction_version),
        NONE,
    )


def append_refused(error: int, row: int) -> AppendVerdict:
    """Nothing is appended; the answer is `error`."""
    return AppendVerdict(int(error), int(row), NOTHING, NONE)


def append_duplicate(offset: int) -> AppendVerdict:
    """Nothing is appended; the answer is success with the last offset of the batch that is in the log."""
    return AppendVerdict(int(Error.NONE), int(Row.A1), NOTHING, int(offset))


def append_accepted(row: int, event: int) -> AppendVerdict:
    """The batch is appended and `event` happens to its producer id."""
    return AppendVerdict(int(Error.NONE), int(row), int(event), NONE)

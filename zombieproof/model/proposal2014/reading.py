"""Deciding at a consumer that buffers: what it holds back, hands over and drops; where it begins again.

Behaviour: records of a transaction are held back until its control record, which stays out of sight. So a consumer
hands over in the order of commits, and remembers two offsets: that of the first record that it holds back, and its own.
Source: reference §10.8; read_committed of the KIP-98 text, which is built on it (``decisions.consume``).
"""

from typing import NamedTuple

from zombieproof.model.vocabulary import ConsumerEvent


class Handling(NamedTuple):
    """The event of the consumer's machine, and what becomes of the record or of what is held back; one at most."""

    event: int
    delivers: bool
    holds: bool
    delivers_held: bool
    drops_held: bool


def decide_buffered(control: bool, committed: bool, transactional: bool) -> Handling:
    """Handle one record or control record of a transaction, or a plain one."""
    if control:
        if committed:
            return Handling(int(ConsumerEvent.COMMIT_MARKER), False, False, True, False)
        return Handling(int(ConsumerEvent.ABORT_MARKER), False, False, False, True)
    if transactional:
        return Handling(int(ConsumerEvent.TRANSACTIONAL_DATA), False, True, False, False)
    return Handling(int(ConsumerEvent.PLAIN_DATA), True, False, False, False)


def was_handed_over(decided_at: int, position: int) -> bool:
    """Whether a consumer that begins again has handed this over before: `position` is the second offset.

    `decided_at` is the offset of a plain record, or of the control record of a transaction.
    """
    return decided_at < position

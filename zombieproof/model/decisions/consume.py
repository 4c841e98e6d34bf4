"""The consumer's filter (client action): what a reader makes of the batches it fetched.

Behaviour: read_uncommitted hides control batches only. read_committed at the broker: the fetch ends at the last stable
offset and names aborted transactions; the consumer skips them. Buffering in the client (KIP-98's text, not Kafka's
way): everything up to the high watermark, transactional batches held back until their marker.
Source: reference §6; ``CompletedFetch.java``.
"""

from enum import IntEnum
from typing import NamedTuple

from zombieproof.model.vocabulary import ConsumerEvent, ConsumerState, Isolation


class Delivery(IntEnum):
    """What the application gets."""

    NOTHING = 0
    THIS_BATCH = 1
    HELD_BACK = 2
    DROP_HELD_BACK = 3


class ReadVerdict(NamedTuple):
    """The event of the consumer's machine for the batch's producer id, and what the application gets."""

    event: int
    delivery: int


def decide_read(
    isolation: int, state: int, control: bool, committed: bool, transactional: bool, aborted_begins: bool
) -> ReadVerdict:
    """Judge one batch of a producer id whose machine is in `state`.

    `aborted_begins`: the broker's list says that an aborted transaction of this producer begins at or before
    the batch's last offset (and was not met before); the event then is ABORTED_TRANSACTION_BEGINS, and the same batch
    is judged again without.
    """
    if aborted_begins and isolation == Isolation.READ_COMMITTED and state == ConsumerState.DELIVERING:
        return ReadVerdict(int(ConsumerEvent.ABORTED_TRANSACTION_BEGINS), int(Delivery.NOTHING))
    if control:
        return _read_marker(isolation, state, committed)
    if isolation == Isolation.READ_UNCOMMITTED or not transactional:
        return _deliver(state)
    if isolation == Isolation.READ_COMMITTED:
        if state == ConsumerState.SKIPPING:
            return ReadVerdict(int(ConsumerEvent.TRANSACTIONAL_DATA), int(Delivery.NOTHING))
        return _deliver(state)
    return ReadVerdict(int(ConsumerEvent.TRANSACTIONAL_DATA), int(Delivery.NOTHING))


def _deliver(state: int) -> ReadVerdict:
    # Data outside of the producer's own transaction, which a damaged log may have in the middle of one, ends nothing.
    event = ConsumerEvent.PLAIN_DATA if state == ConsumerState.DELIVERING else ConsumerEvent.NOTHING
    return ReadVerdict(int(event), int(Delivery.THIS_BATCH))


def _read_marker(isolation: int, state: int, committed: bool) -> ReadVerdict:
    if isolation == Isolation.READ_UNCOMMITTED:
        return ReadVerdict(int(ConsumerEvent.NOTHING), int(Delivery.NOTHING))
    if isolation == Isolation.READ_COMMITTED:
        if committed:
            # Kafka's consumer ignores commit markers: they never end an aborted transaction.
            event = ConsumerEvent.COMMIT_MARKER if state == ConsumerState.DELIVERING else ConsumerEvent.NOTHING
            return ReadVerdict(int(event), int(Delivery.NOTHING))
        return ReadVerdict(int(ConsumerEvent.ABORT_MARKER), int(Delivery.NOTHING))
    if committed:
        return ReadVerdict(int(ConsumerEvent.COMMIT_MARKER), int(Delivery.HELD_BACK))
    return ReadVerdict(int(ConsumerEvent.ABORT_MARKER), int(Delivery.DROP_HELD_BACK))

"""Producer ids in blocks: the controller's step, and those of a broker that uses its own block (KIP-730).

Theory of operation: a broker has one block in use and asks for the next one in time. Who needs an id where there is
none is refused and asks again later. Ids of blocks that nobody has any more are skipped for ever. The controller moves
on when it is asked, and answers when its log says so (`waits_for_record`): one that takes over goes by the log.
Source: reference §2.16; ``RPCProducerIdManager``, ``ProducerIdControlManager``.
"""

from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.model.decisions.allocate_producer_ids import (
    BLOCK_SIZE,
    RETRY_BACKOFF_MS,
    accepts_block,
    asks_for_next_block,
    decide_allocation,
    is_block,
    may_ask_for_block,
    waits_for_record,
)
from zombieproof.model.fields import integer
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error

__all__ = [
    "BLOCK_SIZE",
    "Allocated",
    "ProducerIdBlocks",
    "allocate",
    "answered",
    "claim",
    "forget",
    "lost",
    "peek",
    "prefetch",
    "waits_for_record",
]


@dataclass(slots=True)
class ProducerIdBlocks:
    """The block in use (`size` ids from `first`, of which `used` are gone) and the one that is at hand, if any.

    `is_asked_for`: from a request to the first use of what it brought. `sends`: a request is to be sent now.
    """

    first: int = integer(0, width="i8")
    size: int = integer(0, width="i8")
    used: int = integer(0, width="i8")
    next_first: int = integer(NONE, width="i8")
    next_size: int = integer(0, width="i8")
    is_asked_for: bool = False
    not_before_ms: int = integer(0, width="i8")
    sends: bool = False


class Allocated(NamedTuple):
    """What the controller answers: an error, or the first id of the block that it hands out."""

    error: int
    first: int


def allocate(next_id: int, size: int) -> Allocated:
    """The controller hands out the block behind all that it has handed out; refused, the ids are used up."""
    error = decide_allocation(next_id, size).error
    return Allocated(error, next_id if error == Error.NONE else NONE)


def peek(blocks: ProducerIdBlocks) -> int:
    """The id that `claim` gives out now, or NONE."""
    if blocks.used < blocks.size:
        return int(blocks.first + blocks.used)
    return int(blocks.next_first) if blocks.next_size > 0 else NONE


def claim(blocks: ProducerIdBlocks, now_ms: int) -> int:
    """An id that nobody has; NONE while there is none, and then one is asked for."""
    if blocks.used == blocks.size:
        if blocks.next_size == 0:
            prefetch(blocks, now_ms)
            return NONE
        blocks.first = blocks.next_first
        blocks.size = blocks.next_size
        blocks.used = 0
        blocks.next_first = NONE
        blocks.next_size = 0
        blocks.is_asked_for = False
    claimed = int(blocks.first + blocks.used)
    blocks.used += 1
    if asks_for_next_block(claimed, blocks.first, blocks.size):
        prefetch(blocks, now_ms)
    return claimed


def prefetch(blocks: ProducerIdBlocks, now_ms: int) -> None:
    """A block is wanted: it is asked for, unless it is already, or a failure is too fresh."""
    at_hand = blocks.next_size > 0
    if may_ask_for_block(blocks.is_asked_for, at_hand, now_ms, blocks.not_before_ms):
        blocks.is_asked_for = True
        blocks.sends = True
        blocks.not_before_ms = 0


def answered(blocks: ProducerIdBlocks, error: int, first: int, size: int, now_ms: int, rules: Rules) -> None:
    """The controller answered: a good block is at hand; after anything else it is asked again a while later."""
    last = blocks.first + blocks.size - 1
    if error == Error.NONE and is_block(first, size) and accepts_block(first, last, rules):
        blocks.next_first = first
        blocks.next_size = size
        return
    blocks.not_before_ms = now_ms + RETRY_BACKOFF_MS
    blocks.is_asked_for = False


def lost(blocks: ProducerIdBlocks) -> None:
    """The controller did not answer: it may be asked again at once."""
    blocks.is_asked_for = False


def forget(blocks: ProducerIdBlocks) -> None:
    """The broker is gone: nobody has the rest of its blocks any more."""
    blocks.first = 0
    blocks.size = 0
    blocks.used = 0
    blocks.next_first = NONE
    blocks.next_size = 0
    blocks.is_asked_for = False
    blocks.not_before_ms = 0
    blocks.sends = False

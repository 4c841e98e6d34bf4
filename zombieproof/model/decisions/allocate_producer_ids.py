"""AllocateProducerIds (API key 67, version 0): a broker gets its next block of producer ids from the controller.

Behaviour: ids are handed out from one block; the next one is asked for before it is used up, once: an answer that is no
good is asked for again only after a while. A block that does not lie above the last one would hand ids out twice, so
the broker refuses it and goes on asking.
Source: reference §2.16; KIP-730; ``RPCProducerIdManager``, ``ProducerIdControlManager``.
"""

from zombieproof.model.decisions.verdicts import agree, refuse
from zombieproof.model.records import Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, Row

PRODUCER_ID_MAX = 9223372036854775807
BLOCK_SIZE = 1000
PREFETCH_PERCENT = 90
RETRY_BACKOFF_MS = 50


def decide_allocation(first_id: int, size: int) -> Verdict:
    """Whether the controller can hand out a block; refused, the 63 bits of producer ids are used up."""
    if not is_block(first_id, size):
        return refuse(Error.UNKNOWN_SERVER_ERROR, Row.NO_ROW)
    return agree(Row.NO_ROW)


def is_block(first_id: int, size: int) -> bool:
    """Whether a block holds an id and nothing but producer ids."""
    return first_id >= 0 and size > 0 and first_id <= PRODUCER_ID_MAX - (size - 1)


def waits_for_record(rules: Rules) -> bool:
    """Whether the controller's answer waits until its log has the record that says which block is the next.

    A controller that takes over reads that record: it would hand out again what its predecessor has only answered.
    """
    return rules.block_recorded_first == 1


def accepts_block(first_id: int, last_id_of_current: int, rules: Rules) -> bool:
    """Whether a block that begins with `first_id` may follow one that ends with `last_id_of_current` (-1: none yet)."""
    return rules.pid_block_order == 0 or first_id > last_id_of_current


def asks_for_next_block(claimed: int, first_id: int, size: int) -> bool:
    """Whether the id that was just claimed is the one at which the next block is asked for."""
    return claimed == first_id + size * PREFETCH_PERCENT // 100


def may_ask_for_block(is_asked_for: bool, is_at_hand: bool, now_ms: int, not_before_ms: int) -> bool:
    """Whether to ask the controller: not while a request or a block is there, nor right after a failure."""
    return not is_asked_for and not is_at_hand and now_ms >= not_before_ms

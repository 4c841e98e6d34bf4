"""AllocateProducerIds (API key 67, version 0): a broker gets its next block of producer ids from the controller.

Behaviour: ids are handed out from one block; the next one is asked for before it is used up. A block that does not lie
above the last one would hand ids out twice, so the broker refuses it and goes on asking.
Source: reference §2.16; KIP-730; ``RPCProducerIdManager``.
"""

from zombieproof.model.rules import Rules


def accepts_block(first_id: int, last_id_of_current: int, rules: Rules) -> bool:
    """Whether a block that begins with `first_id` may follow one that ends with `last_id_of_current` (-1: none yet)."""
    return rules.pid_block_order == 0 or first_id > last_id_of_current

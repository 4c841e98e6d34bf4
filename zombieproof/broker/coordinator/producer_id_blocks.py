"""Producer ids in blocks: a controller hands them out, each broker uses its own (KIP-730).

Who needs an id where there is none is refused, and asks again later: nobody waits. Ids of blocks that a broker no
longer has, when it is started anew, are skipped for ever.
Source: reference §2.16; ``RPCProducerIdManager``, ``ProducerIdControlManager``.
"""

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.messages.controller import AllocateProducerIdsAnswer, ProducerIdBlock
from zombieproof.model.decisions.allocate_producer_ids import (
    BLOCK_SIZE,
    RETRY_BACKOFF_MS,
    accepts_block,
    asks_for_next_block,
    decide_allocation,
    is_block,
    may_ask_for_block,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error

NO_BLOCK = ProducerIdBlock(0, 0)


class ProducerIdController:
    """The side of the controller: consecutive blocks, each handed out once. It is in the metadata log of the cluster.

    Args:
        next_id: the first id that was never handed out.
        block_size: how many ids a block has.
    """

    def __init__(self, next_id: int = 0, block_size: int = BLOCK_SIZE) -> None:
        self._next_id = next_id
        self._block_size = block_size

    def allocate(self) -> AllocateProducerIdsAnswer:
        """The next block; UNKNOWN_SERVER_ERROR when the ids are used up."""
        verdict = decide_allocation(self._next_id, self._block_size)
        if verdict.error != Error.NONE:
            return AllocateProducerIdsAnswer(verdict.error)
        block = ProducerIdBlock(self._next_id, self._block_size)
        self._next_id += self._block_size
        return AllocateProducerIdsAnswer(0, *block)


class ProducerIdManager(ProducerIds):
    """The side of a broker: one block in use, the next one asked for in time.

    Whoever drives it sends an AllocateProducerIds when `wants_block` says so, and hands in what comes back.
    """

    def __init__(self, rules: Rules, clock: Clock) -> None:
        super().__init__()
        self._rules, self._clock = rules, clock
        self._current = NO_BLOCK
        self._used = 0
        self._at_hand: ProducerIdBlock | None = None
        self._is_asked_for = False
        self._is_to_be_sent = False
        self._not_before_ms = 0

    def peek(self) -> int | None:
        """The producer id that `next` would hand out now."""
        if self._used < self._current.size:
            return self._current.first + self._used
        return None if self._at_hand is None else self._at_hand.first

    def next(self) -> int | None:
        """A producer id that nobody has; None while there is none (COORDINATOR_LOAD_IN_PROGRESS)."""
        if self._used == self._current.size and not self._begin_next():
            self._ask()
            return None
        claimed = self._current.first + self._used
        self._used += 1
        if asks_for_next_block(claimed, *self._current):
            self._ask()
        return claimed

    def prefetch(self) -> None:
        """Ask for the first block before an id is needed (a broker that starts)."""
        self._ask()

    def wants_block(self) -> bool:
        """Whether an AllocateProducerIds is to be sent now; said once for each request."""
        wanted, self._is_to_be_sent = self._is_to_be_sent, False
        return wanted

    def answered(self, answer: AllocateProducerIdsAnswer | None) -> None:
        """The controller answered; None: it did not, and may be asked again at once."""
        if answer is not None and answer.error == Error.NONE and self._is_good(answer.block):
            self._at_hand = answer.block
            return
        if answer is not None:
            self._not_before_ms = self._clock.now_ms() + RETRY_BACKOFF_MS
        self._is_asked_for = False

    def _is_good(self, block: ProducerIdBlock) -> bool:
        last = self._current.first + self._current.size - 1
        return is_block(*block) and accepts_block(block.first, last, self._rules)

    def _begin_next(self) -> bool:
        if self._at_hand is None:
            return False
        self._current, self._used, self._at_hand = self._at_hand, 0, None
        self._is_asked_for = False
        return True

    def _ask(self) -> None:
        asked, at_hand = int(self._is_asked_for), int(self._at_hand is not None)
        if may_ask_for_block(asked, at_hand, self._clock.now_ms(), self._not_before_ms):
            self._is_asked_for = self._is_to_be_sent = True
            self._not_before_ms = 0

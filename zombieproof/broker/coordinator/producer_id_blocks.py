"""Producer ids in blocks: a controller hands them out, each broker uses its own (KIP-730).

Drivers of ``zombieproof.statemachines.producer_ids``.
"""

from collections.abc import Callable

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.messages.controller import AllocateProducerIdsAnswer
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines import producer_ids as steps
from zombieproof.statemachines.producer_ids import BLOCK_SIZE, ProducerIdBlocks


def _in_memory(next_id: int) -> None:
    """Nothing outlives the process."""


class ProducerIdController:
    """The side of the controller: consecutive blocks, each handed out once. It is in the metadata log of the cluster.

    Args:
        next_id: the first id that was never handed out.
        block_size: how many ids a block has.

    `keep` is called with the next `next_id` before a block is handed out: whoever makes that durable returns then.
    """

    def __init__(self, next_id: int = 0, block_size: int = BLOCK_SIZE) -> None:
        self.next_id = next_id
        self._block_size = block_size
        self.keep: Callable[[int], None] = _in_memory

    @property
    def blocks(self) -> tuple[int, int]:
        """The first id that was never handed out, and how many ids a block has."""
        return self.next_id, self._block_size

    def allocate(self) -> AllocateProducerIdsAnswer:
        """The next block; UNKNOWN_SERVER_ERROR when the ids are used up, KAFKA_STORAGE_ERROR when it cannot be kept."""
        allocated = steps.allocate(self.next_id, self._block_size)
        if allocated.error != Error.NONE:
            return AllocateProducerIdsAnswer(allocated.error)
        try:
            self.keep(self.next_id + self._block_size)
        except OSError:
            return AllocateProducerIdsAnswer(int(Error.KAFKA_STORAGE_ERROR))
        self.next_id += self._block_size
        return AllocateProducerIdsAnswer(0, allocated.first, self._block_size)


class ProducerIdManager(ProducerIds):
    """The side of a broker: one block in use, the next one asked for in time.

    Whoever drives it sends an AllocateProducerIds when `wants_block` says so, and hands in what comes back.
    """

    def __init__(self, rules: Rules, clock: Clock) -> None:
        super().__init__()
        self._rules, self._clock = rules, clock
        self._blocks = ProducerIdBlocks()

    def peek(self) -> int | None:
        """The producer id that `next` would hand out now."""
        found = steps.peek(self._blocks)
        return None if found == NONE else found

    def next(self) -> int | None:
        """A producer id that nobody has; None while there is none (COORDINATOR_LOAD_IN_PROGRESS)."""
        claimed = steps.claim(self._blocks, self._clock.now_ms())
        return None if claimed == NONE else claimed

    def prefetch(self) -> None:
        """Ask for the first block before an id is needed (a broker that starts)."""
        steps.prefetch(self._blocks, self._clock.now_ms())

    def wants_block(self) -> bool:
        """Whether an AllocateProducerIds is to be sent now; said once for each request."""
        wanted, self._blocks.sends = self._blocks.sends, False
        return wanted

    def answered(self, answer: AllocateProducerIdsAnswer | None) -> None:
        """The controller answered; None: it did not."""
        if answer is None:
            steps.lost(self._blocks)
        else:
            now_ms = self._clock.now_ms()
            steps.answered(self._blocks, answer.error, answer.first, answer.count, now_ms, self._rules)

"""A live producer that takes part in the turns of a stage: calls wait in turns, or yield what they wait for."""

from collections.abc import Callable

from tests.live.producer import LiveProducer
from tests.live.stage import Stage, Waits
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import SenderSettings

MAX_BLOCK_MS = 60_000


class StagedProducer(LiveProducer):
    """A producer on a stage. `max_block_ms`: how long a call waits for its outcome before it raises TimeoutError."""

    def __init__(
        self,
        stage: Stage,
        transactional_id: str | None,
        *,
        max_block_ms: int = MAX_BLOCK_MS,
        transaction_timeout_ms: int = 60_000,
        settings: SenderSettings | None = None,
    ) -> None:
        super().__init__(
            stage.cluster,
            transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            settings=settings,
            rules=stage.client_rules,
        )
        self.stage, self.max_block_ms = stage, max_block_ms
        stage.clients.append(self)

    def run(self, is_over: Callable[[], bool]) -> bool:
        """Take turns until `is_over`, or until nobody would wait any longer."""
        return self.stage.run(is_over, self.max_block_ms)

    def finished(self, result: PendingResult) -> Waits[None]:
        """Wait for a call, as an application.

        Raises:
            ProducerFailure: it failed.
        """
        yield lambda: result.is_completed
        result.acknowledge()

    def close(self) -> Waits[None]:
        """Finish what is under way, and leave the stage."""
        self.sender.close()
        yield lambda: self.sender.is_closed
        self.stage.clients.remove(self)

    def close_now(self) -> None:
        """Finish what is under way, and leave the stage; wait for that."""
        self.stage.do(self.close())

    def vanish(self) -> None:
        """The process is killed."""
        self.stage.clients.remove(self)

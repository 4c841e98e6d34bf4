"""The state of a producer, the failure that explains it, and the call that nobody has waited for.

Theory of operation: only the table PRODUCER moves the state. A move that it does not have is the application's mistake
if a public call asked for it (nothing changes), and a mistake of ours if an answer did: then the producer is poisoned.
Source: reference §5.1, §5.2; ``TransactionManager.java``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from zombieproof.clients.errors import Failure, IllegalState, InErrorState, ProducerFailure, ProducerFenced
from zombieproof.clients.results import PendingResult
from zombieproof.model.decisions.producer_client import event_of_reaction, has_ongoing_transaction
from zombieproof.model.vocabulary import NOTHING, ProducerEvent, ProducerState, Reaction
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.producer import PRODUCER
from zombieproof.statemachines.runtime import LiveMachine


class Lifecycle:
    """The machine PRODUCER of one instance, with `last_error` while it is in an error state."""

    def __init__(self, subject: str) -> None:
        self._machine = LiveMachine(PRODUCER, subject)
        self._pending: PendingResult | None = None
        self._serves_an_answer = False
        self.last_error: Failure | None = None

    @property
    def state(self) -> ProducerState:
        """Where the machine stands."""
        return ProducerState[self._machine.state]

    @property
    def has_error(self) -> bool:
        """Whether only abort is left, or nothing."""
        return self.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)

    @property
    def has_ongoing_transaction(self) -> bool:
        """Whether a transaction is open or being ended."""
        return has_ongoing_transaction(self.state)

    def move(self, event: int) -> None:
        """Let `event` happen.

        Raises:
            IllegalState: the table has no such move. The state is unchanged, or FATAL_ERROR if an answer asked for it.
        """
        try:
            self._machine.fire(event)
        except IllegalTransition as illegal:
            failure = IllegalState(str(illegal))
            if self._serves_an_answer and self.state != ProducerState.FATAL_ERROR:
                self._machine.fire(ProducerEvent.FATAL_FAILURE)
                self._settle_fatally(failure)
            raise failure from illegal
        self.last_error = None

    def fail(self, reaction: int, failure: Failure) -> None:
        """Let a failure happen, if it is one in the present state (`event_of_reaction`)."""
        event = event_of_reaction(self.state, reaction)
        if event == NOTHING:
            return
        self.move(event)
        self.last_error = failure
        if reaction == Reaction.FATAL:
            self._settle_fatally(failure)

    def _settle_fatally(self, failure: Failure) -> None:
        self.last_error = failure
        self.fail_pending(failure)

    def fail_pending(self, failure: Failure) -> None:
        """The call that is under way fails."""
        if self._pending is not None:
            self._pending.fail(failure)

    @contextmanager
    def serving_an_answer(self) -> Iterator[None]:
        """What happens inside was asked for by no public call: an illegal move poisons, and is told by the state."""
        outer, self._serves_an_answer = self._serves_an_answer, True
        try:
            yield
        except IllegalState:
            if outer or self.state != ProducerState.FATAL_ERROR:
                raise
        finally:
            self._serves_an_answer = outer

    def refuse_after_error(self) -> None:
        """The guard of every call that needs a healthy producer.

        Raises:
            ProducerFenced, IllegalState: what ended the producer, as it is.
            InErrorState: another failure.
        """
        if not self.has_error or self.last_error is None:
            return
        if isinstance(self.last_error, ProducerFenced):
            raise ProducerFenced
        if isinstance(self.last_error, IllegalState):
            raise IllegalState(str(self.last_error))
        assert isinstance(self.last_error, ProducerFailure)
        raise InErrorState(self.last_error)

    def refuse_while_pending(self, operation: str) -> None:
        """The guard of every call that begins nothing of its own.

        Raises:
            IllegalState: an earlier call was not waited for.
        """
        pending = self._unacknowledged()
        if pending is not None:
            raise IllegalState(
                f"{operation} is refused: {pending.operation} timed out, and its outcome is not known; "
                f"call {pending.operation} again"
            )

    def begin(self, operation: str, start: Callable[[], PendingResult]) -> PendingResult:
        """A call that takes a while: begin it, or go on waiting for the same one.

        Raises:
            IllegalState: another call was not waited for; or what `start` raises.
        """
        pending = self._unacknowledged()
        if pending is not None and pending.operation == operation:
            return pending
        self.refuse_while_pending(operation)
        result = start()
        result.operation = operation
        self._pending = result
        return result

    def _unacknowledged(self) -> PendingResult | None:
        if self._pending is not None and self._pending.is_acknowledged:
            self._pending = None
        return self._pending

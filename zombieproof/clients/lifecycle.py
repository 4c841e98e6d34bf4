"""The state of a producer, the failure that explains it, and the call that nobody has waited for.

Theory of operation: the steps of ``statemachines.producer`` move the record and note each move; here the running
machine of the table PRODUCER follows what was noted, so that a step that moved otherwise than the table is found at
once. A move that the table does not have is the application's mistake if a public call asked for it (nothing changes),
and a mistake of ours if an answer did: then the producer is poisoned. The machine says what would have been legal.
Source: reference §5.1, §5.2; ``TransactionManager.java``.
"""

import contextlib

from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.errors import Failure, IllegalState, InErrorState, ProducerFailure, ProducerFenced
from zombieproof.clients.results import PendingResult
from zombieproof.model.vocabulary import NOTHING, ProducerEvent, ProducerState
from zombieproof.statemachines import notes
from zombieproof.statemachines.kernel import IllegalTransition
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.producer import PRODUCER, calls, effects
from zombieproof.statemachines.producer.effects import ProducerEffects, Refusal
from zombieproof.statemachines.producer.records import Pending, Producer
from zombieproof.statemachines.runtime import LiveMachine


class Lifecycle:
    """The record and machine of one instance, what its last step wants and noted, and `last_error` in an error state.

    `steps` counts them: as long as it stands still, a call that was allowed is allowed again.

    One record of effects and one of notes serve every step: `clear` goes before each, `follow` behind it.
    """

    def __init__(self, subject: str, journal: Journal | None = None) -> None:
        self.subject, self.journal = subject, journal or Journal()
        self._machine = LiveMachine(PRODUCER, subject)
        self._pending: PendingResult | None = None
        self.producer, self.effects, self.notes = Producer(), ProducerEffects(), Notes()
        self.last_error: Failure | None = None
        self.steps = 0

    @property
    def state(self) -> ProducerState:
        """Where the machine stands."""
        return ProducerState[self._machine.state]

    @property
    def has_error(self) -> bool:
        """Whether only abort is left, or nothing."""
        return calls.is_in_error(self.producer)

    @property
    def is_at_its_end(self) -> bool:
        """Whether nothing is left but to close the producer."""
        return calls.is_at_its_end(self.producer)

    @property
    def has_ongoing_transaction(self) -> bool:
        """Whether a transaction is open or being ended."""
        return calls.has_transaction(self.producer)

    # ------------------------------------------------------------ steps

    def clear(self) -> None:
        """A step begins."""
        self.steps += 1
        effects.clear(self.effects)
        notes.clear(self.notes, 0)

    def follow(self, failure: Failure | None) -> None:
        """The machine takes the moves of the step; `failure` is what the step was about, if it was about one.

        Raises:
            IllegalTransition: the step moved as the table does not.
        """
        if self.effects.illegal != NOTHING:
            failure = IllegalState(self._say_what_is_legal())
        with contextlib.suppress(IllegalTransition):  # what it means for the producer is among the effects
            self.journal.take(self.subject, self.notes)
        for noted in self.notes.moves[: self.notes.count]:
            self._machine.fire(noted.event)
            self.last_error = failure if noted.event == ProducerEvent.FATAL_FAILURE else None
            if noted.event == ProducerEvent.FATAL_FAILURE and failure is not None:
                self.fail_pending(failure)
        assert self.state == self.producer.state, "what moves the record is noted"
        if self.effects.fails:
            self.last_error = failure

    def _say_what_is_legal(self) -> str:
        try:
            self._machine.fire(self.effects.illegal)
        except IllegalTransition as illegal:
            return str(illegal)
        raise AssertionError(f"the step refused {ProducerEvent(self.effects.illegal).name}, and the table has it")

    # ------------------------------------------------------------ calls

    def pending(self, operation: str) -> Pending:
        """How `operation` stands to the call that nobody has waited for."""
        waiting = self.unacknowledged
        if waiting is None:
            return Pending.NOTHING
        return Pending.THE_SAME if waiting.operation == operation else Pending.ANOTHER

    @property
    def unacknowledged(self) -> PendingResult | None:
        """The call that nobody has waited for."""
        if self._pending is not None and self._pending.is_acknowledged:
            self._pending = None
        return self._pending

    def await_call(self, result: PendingResult) -> None:
        """A call is under way; until it is waited for, no other begins."""
        self._pending = result

    def fail_pending(self, failure: Failure) -> None:
        """The call that is under way fails."""
        if self._pending is not None:
            self._pending.fail(failure)

    def raise_refusal(self, operation: str, subject: str = "") -> None:
        """What the application gets for a call that the step refused; nothing if it did not.

        Raises:
            ProducerFenced, IllegalState: what ended the producer, as it is; or why the call is not allowed now.
            InErrorState: another failure ended the transaction or the producer.
            ProducerFailure: the producer takes no part in two-phase commit.
        """
        refusal, state = self.effects.refusal, self.state.name
        if refusal == Refusal.ALLOWED:
            return
        if refusal == Refusal.AFTER_ERROR:
            self._raise_last_error()
        if refusal == Refusal.NOT_TWO_PHASE:
            error = calls.PREPARE_REFUSED
            raise ProducerFailure(error, f"prepareTransaction needs two-phase commit and a transaction: {state}")
        if refusal == Refusal.ILLEGAL:
            raise IllegalState(self._say_what_is_legal())
        waiting = self._pending.operation if self._pending is not None else ""
        raise IllegalState(
            {
                Refusal.NOT_TRANSACTIONAL: f"{operation} needs a transactional id; this producer has none",
                Refusal.ANOTHER_IS_PENDING: f"{operation} is refused: {waiting} timed out, and its outcome is not "
                f"known; call {waiting} again",
                Refusal.NOT_IN_TRANSACTION: f"{subject} cannot be sent in {state}: call initTransactions once, and "
                "beginTransaction before each transaction",
                Refusal.NO_MEMBER: f"{subject} without a member says nothing",
                Refusal.NOTHING_PREPARED: f"completeTransaction in {state}: nothing is prepared",
            }[Refusal(refusal)]
        )

    def _raise_last_error(self) -> None:
        if isinstance(self.last_error, ProducerFenced):
            raise ProducerFenced
        if isinstance(self.last_error, IllegalState):
            raise IllegalState(str(self.last_error))
        assert self.last_error is not None, "an error state has its reason"
        raise InErrorState(self.last_error)

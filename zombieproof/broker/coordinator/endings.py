"""Transactions are ended: by their client, by a producer that takes the id over, or because they are open for too long.

Theory of operation: the last two first *fence* the owner, in memory, and then run the server's own EndTxn; in between a
client may take the fence over. Whoever ended a transaction is answered when the decision is durable; then its
completion is started.

Source: reference §2.10, §2.11, §2.13; ``TransactionCoordinator.endTransaction``, ``abortTimedOutTransactions``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.coordinator.completions import Completions
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.broker.coordinator.store import Outcome, TransactionStore
from zombieproof.broker.coordinator.waiting import (
    Decide,
    EndedBy,
    EndedByClient,
    EndedByInit,
    EndedByTimeout,
    IdRequest,
    ServerEnd,
)
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerIdAnswer
from zombieproof.model.decisions import transition
from zombieproof.model.decisions.end_txn import (
    FIRST_VERSION_OF_TV2,
    decide_after_append,
    decide_end_txn,
    decide_end_txn_front_door,
)
from zombieproof.model.decisions.transaction_timeout import decide_timeout, is_timed_out
from zombieproof.model.decisions.verdicts import refuse
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    ApiKey,
    CoordinatorEvent,
    Error,
    Guard,
    TransactionState,
    TransactionVersion,
)
from zombieproof.statemachines.coordinator import COORDINATOR


@dataclass(slots=True)
class Endings:
    """Everything that ends transactions at one coordinator."""

    rules: Rules
    clock: Clock
    journal: Journal
    producer_ids: ProducerIds
    store: TransactionStore
    completions: Completions

    def end_by_client(self, request: EndTxn, ticket: int) -> list[Effect]:
        """Answer EndTxn."""
        asked = IdRequest(request.version, request.producer_id, request.producer_epoch, int(request.committed))
        return self._end(request.transactional_id, asked, 1, EndedByClient(ticket, request.version))

    def fence(self, name: str, transaction: Transaction, verdict: Verdict, ended_by: EndedBy) -> ServerEnd:
        """The owner is fenced from now on, in memory; the abort that makes it durable is the server's to do."""
        transaction.pending_state = self.journal.move(COORDINATOR, name, transaction.state, verdict.event)
        return ServerEnd(name, transaction.producer_id, verdict.producer_epoch, ended_by)

    def end_by_server(self, end: ServerEnd) -> list[Effect]:
        """Abort a transaction whose owner was fenced: the second half of I12 and X5."""
        is_tv2 = self.rules.transaction_version == TransactionVersion.TV2
        version = FIRST_VERSION_OF_TV2 if is_tv2 else FIRST_VERSION_OF_TV2 - 1
        asked = IdRequest(version, end.producer_id, end.producer_epoch)
        return self._end(end.transactional_id, asked, 0, end.ended_by)

    def abort_timed_out(self) -> list[Effect]:
        """One sweep (X1 to X5): candidates first, then one after the other; an internal error ends the sweep."""
        now_ms, effects = self.clock.now_ms(), list[Effect]()
        candidates = [
            (name, transaction.producer_id)
            for name, transaction in self.store.transactions()
            if is_timed_out(transaction, now_ms)
        ]
        for name, producer_id in candidates:
            verdict, end = self.fence_timed_out(name, producer_id)
            if verdict.error != Error.NONE:
                break
            if end is not None:
                effects += self.end_by_server(end)
        return effects

    def fence_timed_out(self, name: str, producer_id: int) -> tuple[Verdict, ServerEnd | None]:
        """Look at a candidate of the sweep again: fenced, it has to be ended by the server."""
        transaction = self.store.lookup(name).transaction or Transaction()
        verdict = self._note("transaction_timeout", decide_timeout(transaction, producer_id, self.rules), name)
        if verdict.event != CoordinatorEvent.FENCE:
            return verdict, None
        return verdict, self.fence(name, transaction, verdict, EndedByTimeout())

    def decided(self, append: Append, decide: Decide, outcome: Outcome) -> list[Effect]:
        """The decision has its outcome: look again, answer, and send the markers (F1 to F5)."""
        found = self.store.lookup(append.transactional_id)
        same = int(found.coordinator_epoch == append.coordinator_epoch)
        transaction, prepared = found.transaction or Transaction(), outcome.target.state
        verdict = decide_after_append(transaction, decide.request, prepared, outcome.error, found.error, same)
        self._note("end_txn", verdict, append.transactional_id)
        effects = _answered(decide.ended_by, verdict)
        if verdict.error == Error.NONE:
            effects += self.completions.start(append.transactional_id)
        return effects

    def _end(self, name: str | None, request: IdRequest, from_client: int, ended_by: EndedBy) -> list[Effect]:
        front = decide_end_txn_front_door(int(bool(name)), request.version)
        if front.error != Error.NONE or not name:
            return _answered(ended_by, self._note("end_txn", front, name))
        found = self.store.lookup(name)
        if found.error != Error.NONE:
            return _answered(ended_by, refuse(found.error, Guard.NO_GUARD))
        transaction = found.transaction or Transaction()
        fences = transaction.pending_state == TransactionState.PREPARE_EPOCH_FENCE

        def decide(fresh: int) -> Verdict:
            return decide_end_txn(transaction, request, self.rules, from_client, fresh)

        verdict = self._note("end_txn", with_producer_id(self.producer_ids, decide), name)
        if verdict.event == CoordinatorEvent.NOTHING:
            if fences and from_client == 0:
                transaction.pending_state = NONE
            return _answered(ended_by, verdict)
        if fences and transition.fence_counts_at_once(request.version, self.rules):
            transition.fence_in_memory(transaction, request.producer_epoch)
        error, appends = self.store.append(name, found, verdict, Decide(request, fences, ended_by))
        return _answered(ended_by, refuse(error, Guard.NO_GUARD)) if error else [*appends]

    def _note(self, decision: str, verdict: Verdict, subject: str | None) -> Verdict:
        self.journal.decided(decision, verdict.guard, verdict.error, subject or "")
        return verdict


def with_producer_id(producer_ids: ProducerIds, decide: Callable[[int], Verdict]) -> Verdict:
    """What is decided, with a fresh producer id if it takes one: allocated only then."""
    verdict = decide(NONE)
    if verdict.error == Error.COORDINATOR_LOAD_IN_PROGRESS:
        fresh = producer_ids.next()
        return verdict if fresh is None else decide(fresh)
    return verdict


def init_refused(ticket: int, version: int, error: int) -> Reply:
    """InitProducerId of `version` is refused."""
    return Reply(ticket, InitProducerIdAnswer(error_on_the_wire(ApiKey.INIT_PRODUCER_ID, version, error)))


def _answered(ended_by: EndedBy, verdict: Verdict) -> list[Effect]:
    """The answer to whoever ended the transaction. InitProducerId has to be asked again when the abort is decided."""
    if isinstance(ended_by, EndedByInit):
        error = verdict.error if verdict.error != Error.NONE else Error.CONCURRENT_TRANSACTIONS
        return [init_refused(ended_by.ticket, ended_by.version, error)]
    if isinstance(ended_by, EndedByClient):
        error = error_on_the_wire(ApiKey.END_TXN, ended_by.version, verdict.error)
        return [Reply(ended_by.ticket, EndTxnAnswer(error, verdict.producer_id, verdict.producer_epoch))]
    return []

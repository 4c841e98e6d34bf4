"""The transaction coordinator of one broker: every request of producers, and what it does by itself.

Theory of operation: a driver of the machine's steps (``zombieproof.statemachines.coordinator``). An operation looks its
id up, runs a step and carries out what that wants: answers and appends are handed to the host, markers to the channel.
What follows an append is in its ``PendingTransition``; only who waits (``waiting``) is kept here.

Source: reference §2; ``TransactionCoordinator.scala``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.completions import Completions
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.joins import Joins
from zombieproof.broker.coordinator.listings import TransactionListings
from zombieproof.broker.coordinator.markers import MarkerChannel, MarkerRequest
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.broker.coordinator.steps import Steps
from zombieproof.broker.coordinator.store import TransactionStore
from zombieproof.broker.coordinator.waiting import Completing, Requester, ServerEnd, Waiter
from zombieproof.formats.batches import Batch
from zombieproof.messages.partitions import WriteTxnMarkersAnswer
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionRequest,
)
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import TransactionState
from zombieproof.statemachines.coordinator import appends, ends, fences, init_producer_id, loading, outcomes
from zombieproof.statemachines.coordinator.effects import CoordinatorEffects
from zombieproof.statemachines.coordinator.records import (
    IdRequest,
    InitRequest,
    Office,
    Operation,
    PendingTransition,
)
from zombieproof.statemachines.notes import Notes

OutcomeStep = Callable[[Transaction, PendingTransition, int, Office, Rules, CoordinatorEffects, Notes], None]
"""``outcomes.append_answered`` or ``append_ended``."""


class TransactionCoordinator:
    """The coordinator of one broker, for the partitions of ``__transaction_state`` that it leads."""

    def __init__(
        self,
        rules: Rules,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        numbers: PartitionNumbers,
        producer_ids: ProducerIds,
        metadata: Metadata,
    ) -> None:
        self._settings = settings
        self._store = TransactionStore(rules, numbers, metadata)
        self._steps = Steps(rules, clock, journal, producer_ids, self._store)
        self.channel = MarkerChannel(rules, journal)
        self._completions = Completions(self._steps, numbers, metadata, self.channel)
        self._joins = Joins(self._steps, numbers, metadata)
        self._listings = TransactionListings(self._steps, numbers)

    @property
    def open_transactions(self) -> int:
        """How many ids have a transaction that nobody has decided."""
        return sum(transaction.state == TransactionState.ONGOING for _, transaction in self._store.transactions())

    # ---------------------------------------------------------------- which ids are here

    def begin_loading(self, partition: int, coordinator_epoch: int) -> None:
        """An election (Z1): what is queued for the partition is dropped, and it answers that it is loading."""
        self._completions.remove(partition)
        self._store.begin_loading(partition, coordinator_epoch)

    def finish_loading(self, partition: int, coordinator_epoch: int, batches: Iterable[Batch]) -> list[Effect]:
        """The partition's log was read (Z3 to Z6): its ids are here, and decided transactions go on."""
        effects: list[Effect] = []
        for transactional_id in self._store.finish_loading(partition, coordinator_epoch, batches):
            effects += self._completions.start(transactional_id)
        return effects

    def load(self, partition: int, coordinator_epoch: int, batches: Iterable[Batch]) -> list[Effect]:
        """An election and its load, with nothing in between."""
        self.begin_loading(partition, coordinator_epoch)
        return self.finish_loading(partition, coordinator_epoch, batches)

    def resign(self, partition: int, coordinator_epoch: int | None) -> list[Effect]:
        """Another broker leads the partition (Z7); appends that are in flight are still answered by `appended`."""
        self._store.remove(partition, coordinator_epoch)
        self._completions.remove(partition)
        return []

    def entries(self, partition: int) -> Mapping[str, Transaction]:
        """What is held of the ids of a partition, as it stands in memory."""
        loaded = self._store.partitions.get(partition)
        return loaded.transactions if loaded else {}

    def coordinator_epoch(self, partition: int) -> int | None:
        """The coordinator epoch of a partition; None if it is not here."""
        loaded = self._store.partitions.get(partition)
        return loaded.coordinator_epoch if loaded else None

    def mentioned_partitions(self) -> Iterator[int]:
        """The masks of partitions that are in memory here: of transactions, and of records on their way."""
        return self._store.mentioned_partitions()

    def is_driving(self, transactional_id: str) -> bool:
        """Whether this coordinator is at work on the end of a decided transaction."""
        return self._completions.drives(transactional_id)

    # ---------------------------------------------------------------- requests

    def handle(self, request: TransactionRequest, ticket: int) -> list[Effect]:
        """Answer a request, now or with the outcome of an append. Partitions of Add* are known to exist."""
        if isinstance(request, InitProducerId):
            return self._init_producer_id(request, ticket)
        if isinstance(request, AddPartitionsToTxn):
            return self._joins.add_partitions(request, ticket)
        if isinstance(request, AddOffsetsToTxn):
            return self._joins.add_offsets(request, ticket)
        if isinstance(request, EndTxn):
            return self._end_txn(request, ticket)
        if isinstance(request, DescribeTransactions):
            return [Reply(ticket, self._listings.describe(request))]
        return [Reply(ticket, self._listings.list(request))]

    def _init_producer_id(self, request: InitProducerId, ticket: int) -> list[Effect]:
        steps, name, pending = self._steps, request.transactional_id, PendingTransition()
        asked = InitRequest(
            version=request.version,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            timeout_ms=request.timeout_ms,
            has_id=name is not None,
            id_is_empty=name == "",
            enable_2pc=request.enable_2pc,
            keep_prepared=request.keep_prepared,
            two_phase_commit_enabled=self._settings.transaction_two_phase_commit_enable,
            max_timeout_ms=self._settings.transaction_max_timeout_ms,
        )
        transaction, office = steps.begin(name or "")
        init_producer_id.init_producer_id(transaction, pending, asked, office, steps.rules, steps.effects, steps.notes)
        return self._carry_out(name or "", transaction, pending, Requester(ticket))

    def _end_txn(self, request: EndTxn, ticket: int) -> list[Effect]:
        steps, name, pending = self._steps, request.transactional_id or "", PendingTransition()
        asked = IdRequest(
            request.version,
            request.producer_id,
            request.producer_epoch,
            request.committed,
            has_id=bool(name),
        )
        transaction, office = steps.begin(name)
        ends.end_txn(transaction, pending, asked, office, steps.rules, steps.effects, steps.notes)
        return self._carry_out(name, transaction, pending, Requester(ticket))

    def _carry_out(
        self, name: str, transaction: Transaction, pending: PendingTransition, waiter: Waiter
    ) -> list[Effect]:
        """What the step about id `name` wants done."""
        self._steps.end(name, transaction)
        wanted = self._steps.effects
        if wanted.owes_end:
            return self.end_by_server(ServerEnd(name, pending, waiter))
        if wanted.owes_look:
            return self._look_again(name, pending, waiter)
        effects: list[Effect] = [*self._steps.append(name, pending, waiter)]
        if isinstance(waiter, Completing):
            if wanted.retries:
                self._completions.try_again(waiter)
        elif wanted.replies and waiter is not None:
            effects += self._answers(pending, waiter)
        if wanted.sends_markers:
            effects += self._completions.start(name)
        return effects

    def _look_again(self, name: str, pending: PendingTransition, waiter: Waiter) -> list[Effect]:
        """A decision is durable and in memory: look again, and go on (F2 to F5)."""
        transaction, office = self._steps.begin(name)
        ends.look_again(transaction, pending, office, self._steps.effects, self._steps.notes)
        return self._carry_out(name, transaction, pending, waiter)

    def _answers(self, pending: PendingTransition, requester: Requester) -> list[Effect]:
        """The answer of the last step, as the request knows it that `pending` is about."""
        effects = self._steps.effects
        match pending.operation:
            case Operation.JOIN:
                return self._joins.joined(requester)
            case Operation.JOIN_OFFSETS:
                return [Reply(requester.ticket, AddOffsetsToTxnAnswer(effects.error))]
            case Operation.END_BY_CLIENT:
                return [
                    Reply(requester.ticket, EndTxnAnswer(effects.error, effects.producer_id, effects.producer_epoch))
                ]
            case _:
                ongoing = effects.ongoing_producer_id, effects.ongoing_producer_epoch
                granted = InitProducerIdAnswer(effects.error, effects.producer_id, effects.producer_epoch, *ongoing)
                return [Reply(requester.ticket, granted)]

    # ---------------------------------------------------------------- appends and markers

    def may_append(self, append: Append) -> int:
        """Why an append may not be made now, or NONE (G1 to G4): for a host that makes it some time later."""
        steps, name = self._steps, append.transactional_id
        transaction, office = steps.begin(name)
        error = appends.may_append(transaction, self._store.pending(append), office, steps.rules, steps.notes)
        steps.end(name, transaction)
        return error

    def appends_in_flight(self, partition: int) -> list[Append]:
        """The appends to a partition that wait for their outcome."""
        return self._store.in_flight(partition)

    def appended(self, append: Append, error: int) -> list[Effect]:
        """The outcome of an `Append`; `error` is the log's."""
        return self._ended(append, error, outcomes.append_answered)

    def append_ended(self, append: Append, error: int) -> list[Effect]:
        """The outcome of an `Append`; `error` is what its operation is told (``may_append``, ``error_of_append``)."""
        return self._ended(append, error, outcomes.append_ended)

    def _ended(self, append: Append, error: int, step: OutcomeStep) -> list[Effect]:
        waiting = self._store.take(append)
        if waiting is None:
            return []
        steps, name = self._steps, append.transactional_id
        transaction, office = steps.begin(name)
        step(transaction, waiting.pending, error, office, steps.rules, steps.effects, steps.notes)
        return self._carry_out(name, transaction, waiting.pending, waiting.waiter)

    def markers_to_send(self) -> tuple[list[MarkerRequest], list[Effect]]:
        """The marker requests to send now, and what follows without them (completions, tried again ones too)."""
        requests, found = self._completions.to_send()
        return requests, [*found]

    @property
    def has_markers_to_write(self) -> bool:
        """Whether a decided transaction is not complete: markers, or the append behind them, may be tried again."""
        return self._completions.has_work

    def markers_answered(self, number: int, answer: WriteTxnMarkersAnswer | None) -> list[Effect]:
        """A leader answered marker request `number`; None: the connection was lost."""
        return [*self._completions.answered(number, answer)]

    # ---------------------------------------------------------------- what the coordinator does by itself

    def abort_timed_out_transactions(self) -> list[Effect]:
        """One sweep (X1 to X5): candidates first, then one after the other, until the step ends the pass."""
        now_ms, effects = self._steps.clock.now_ms(), list[Effect]()
        held = self._store.transactions()
        candidates = [(name, each.producer_id) for name, each in held if fences.is_candidate(each, now_ms)]
        for name, producer_id in candidates:
            end = self.fence_timed_out(name, producer_id)
            if self._steps.effects.ends_pass:
                break
            if end is not None:
                effects += self.end_by_server(end)
        return effects

    def fence_timed_out(self, name: str, producer_id: int) -> ServerEnd | None:
        """Look at a candidate of the sweep again (X1 to X5): fenced, it has to be ended by the server."""
        steps, pending = self._steps, PendingTransition()
        transaction, _ = steps.begin(name)
        fences.time_out(transaction, pending, producer_id, steps.rules, steps.effects, steps.notes)
        steps.end(name, transaction)
        return ServerEnd(name, pending, None) if steps.effects.owes_end else None

    def end_by_server(self, end: ServerEnd) -> list[Effect]:
        """Abort a transaction whose owner was fenced: the second half of I12 and X5."""
        steps, name = self._steps, end.transactional_id
        transaction, office = steps.begin(name)
        ends.end_by_server(transaction, end.pending, office, steps.rules, steps.effects, steps.notes)
        return self._carry_out(name, transaction, end.pending, end.waiter)

    def remove_expired_ids(self) -> list[Effect]:
        """One sweep: forget the ids that nobody used for too long (Y1, Y2)."""
        steps, effects = self._steps, list[Effect]()
        unused_for_ms = self._settings.transactional_id_expiration_ms
        for name in [name for name, _ in self._store.transactions()]:
            pending = PendingTransition()
            transaction, office = steps.begin(name)
            loading.expire(transaction, pending, unused_for_ms, office, steps.rules, steps.effects, steps.notes)
            effects += self._carry_out(name, transaction, pending, None)
        return effects

"""The transaction coordinator of one broker: every request of producers, and what it does by itself.

Theory of operation: an operation looks its id up, lets a decision judge it, and where something has to change hands the
verdict to the store, which prepares it and gives out an `Append`. What the operation does when the append has its
outcome is data (``waiting``). Fences are two operations, as in Kafka: `fence` and the EndTxn of the server.

Source: reference §2; ``TransactionCoordinator.scala``.
"""

from collections.abc import Iterable, Iterator, Mapping

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.completions import Completions
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.endings import Endings, init_refused, with_producer_id
from zombieproof.broker.coordinator.joins import Joins
from zombieproof.broker.coordinator.listings import TransactionListings
from zombieproof.broker.coordinator.markers import MarkerChannel, MarkerRequest
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.broker.coordinator.store import Found, Outcome, TransactionStore
from zombieproof.broker.coordinator.waiting import (
    Complete,
    Decide,
    EndedByInit,
    Expire,
    Grant,
    Join,
    JoinOffsets,
    ServerEnd,
)
from zombieproof.formats.batches import Batch
from zombieproof.messages.partitions import WriteTxnMarkersAnswer
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionRequest,
)
from zombieproof.model.decisions.init_producer_id import (
    TIMEOUT_MS_OF_TWO_PHASE_COMMIT,
    decide_init_front_door,
    decide_init_producer_id,
)
from zombieproof.model.decisions.keep_prepared import decide_keep_front_door, decide_keep_prepared, granted
from zombieproof.model.decisions.log_append import error_of_append
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import (
    NONE,
    CoordinatorEvent,
    Error,
    Guard,
)


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
        self._rules, self._settings, self._clock, self._journal = rules, settings, clock, journal
        self._numbers, self._producer_ids, self._metadata = numbers, producer_ids, metadata
        self._store = TransactionStore(rules, clock, journal, numbers, metadata)
        self.channel = MarkerChannel(rules, journal)
        self._completions = Completions(rules, clock, journal, numbers, metadata, self._store, self.channel)
        self._endings = Endings(rules, clock, journal, producer_ids, self._store, self._completions)
        self._joins = Joins(rules, journal, numbers, metadata, self._store)
        self._listings = TransactionListings(clock, journal, numbers, self._store)

    # ---------------------------------------------------------------- which ids are here

    def begin_loading(self, partition: int, coordinator_epoch: int) -> None:
        """An election (Z1): what is queued for the partition is dropped, and it answers that it is loading."""
        self._completions.remove(partition)
        self._store.begin_loading(partition, coordinator_epoch)

    def finish_loading(self, partition: int, coordinator_epoch: int, batches: Iterable[Batch]) -> list[Effect]:
        """The partition's log was read (Z3 to Z6): its ids are here, and decided transactions go on."""
        effects: list[Effect] = []
        for transactional_id in self._store.finish_loading(partition, coordinator_epoch, batches):
            if self._rules.reload_drives_markers == 1:
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
            return self._endings.end_by_client(request, ticket)
        if isinstance(request, DescribeTransactions):
            return [Reply(ticket, self._listings.describe(request))]
        return [Reply(ticket, self._listings.list(request))]

    def _note(self, decision: str, verdict: Verdict, subject: str | None) -> Verdict:
        self._journal.decided(decision, verdict.guard, verdict.error, subject or "")
        return verdict

    # ---------------------------------------------------------------- InitProducerId

    def _init_producer_id(self, request: InitProducerId, ticket: int) -> list[Effect]:
        name = request.transactional_id
        front = decide_init_front_door(
            int(name is not None),
            int(name == ""),
            int(request.enable_2pc),
            int(self._settings.transaction_two_phase_commit_enable),
            int(request.keep_prepared),
            request.timeout_ms,
            self._settings.transaction_max_timeout_ms,
            int((request.producer_id == NONE) != (request.producer_epoch == NONE)),
            self._rules.kip939,
        )
        if front.guard == Guard.NO_GUARD and request.keep_prepared:
            front = decide_keep_front_door(int(request.producer_id != NONE))
        if front.guard != Guard.NO_GUARD or name is None:
            self._note("init_producer_id", front, name)
            if front.guard == Guard.I1:
                return [self._granted_without_id(ticket)]
            return [init_refused(ticket, request.version, front.error)]
        found = self._store.lookup(name)
        if found.error != Error.NONE:
            return [init_refused(ticket, request.version, found.error)]
        return self._take_id(name, found, request, ticket)

    def _granted_without_id(self, ticket: int) -> Reply:
        fresh = self._producer_ids.next()
        if fresh is None:
            return Reply(ticket, InitProducerIdAnswer(Error.COORDINATOR_LOAD_IN_PROGRESS))
        return Reply(ticket, InitProducerIdAnswer(0, fresh, 0))

    def _take_id(self, name: str, found: Found, request: InitProducerId, ticket: int) -> list[Effect]:
        transaction = found.transaction or (Transaction() if request.keep_prepared else self._fresh(name, found))

        def decide(fresh: int) -> Verdict:
            if request.keep_prepared:
                return decide_keep_prepared(transaction, self._rules, fresh)
            return decide_init_producer_id(transaction, request, self._rules, fresh)

        verdict = with_producer_id(self._producer_ids, decide) if transaction.known == 1 else decide(NONE)
        self._note("keep_prepared" if request.keep_prepared else "init_producer_id", verdict, name)
        if verdict.event == CoordinatorEvent.FENCE:
            return self._endings.end_by_server(
                self._endings.fence(name, transaction, verdict, EndedByInit(ticket, request.version))
            )
        if verdict.event == CoordinatorEvent.NOTHING:
            return [init_refused(ticket, request.version, verdict.error)]
        timeout_ms = TIMEOUT_MS_OF_TWO_PHASE_COMMIT if request.enable_2pc else request.timeout_ms
        found = found._replace(transaction=transaction)
        error, appends = self._store.append(name, found, verdict, Grant(ticket, request.version), timeout_ms)
        return [init_refused(ticket, request.version, error)] if error else [*appends]

    def _fresh(self, name: str, found: Found) -> Transaction:
        """Metadata of an id that was not known, held before anything is logged (I7); unknown still without an id."""
        fresh = self._producer_ids.next()
        if fresh is None:
            return Transaction()
        transaction = Transaction(known=1, producer_id=fresh)
        self._store.insert(found, name, transaction)
        return transaction

    # ---------------------------------------------------------------- appends and markers

    def may_append(self, append: Append) -> int:
        """Why an append may not be made now, or NONE (G1 to G4): for a host that makes it some time later."""
        return self._store.may_append(append)

    def appends_in_flight(self, partition: int) -> list[Append]:
        """The appends to a partition that wait for their outcome."""
        return self._store.in_flight(partition)

    def appended(self, append: Append, error: int) -> list[Effect]:
        """The outcome of an `Append`; `error` is the log's."""
        return self.append_ended(append, error_of_append(error))

    def append_ended(self, append: Append, error: int) -> list[Effect]:
        """The outcome of an `Append`; `error` is what its operation is told (``error_of_append``)."""
        outcome = self._store.appended(append, error)
        if outcome is None:
            return []
        purpose = outcome.purpose
        if isinstance(purpose, Grant):
            return [_granted(purpose, outcome)]
        if isinstance(purpose, Join):
            return self._joins.joined(purpose, outcome.error)
        if isinstance(purpose, JoinOffsets):
            return self._joins.offsets_joined(purpose, outcome.error)
        if isinstance(purpose, Decide):
            return self._endings.decided(append, purpose, outcome)
        if isinstance(purpose, Complete):
            self._completions.appended(purpose, outcome.aftermath)
        return []

    def markers_to_send(self) -> tuple[list[MarkerRequest], list[Effect]]:
        """The marker requests to send now, and what follows without them (completions, tried again ones too)."""
        requests, appends = self._completions.to_send()
        return requests, [*appends]

    def markers_answered(self, number: int, answer: WriteTxnMarkersAnswer | None) -> list[Effect]:
        """A leader answered marker request `number`; None: the connection was lost."""
        return [*self._completions.answered(number, answer)]

    # ---------------------------------------------------------------- what the coordinator does by itself

    def abort_timed_out_transactions(self) -> list[Effect]:
        """One sweep: fence and abort what is open for longer than its timeout (X1 to X5)."""
        return self._endings.abort_timed_out()

    def fence_timed_out(self, name: str, producer_id: int) -> tuple[Verdict, ServerEnd | None]:
        """Look at a candidate of the sweep again (X1 to X5): fenced, it has to be ended by the server."""
        return self._endings.fence_timed_out(name, producer_id)

    def end_by_server(self, end: ServerEnd) -> list[Effect]:
        """Abort a transaction whose owner was fenced: the second half of I12 and X5."""
        return self._endings.end_by_server(end)

    def remove_expired_ids(self) -> list[Effect]:
        """One sweep: forget the ids that nobody used for too long (Y1, Y2)."""
        now_ms, effects = self._clock.now_ms(), list[Effect]()
        for name, transaction in self._store.transactions():
            unused_for_ms = self._settings.transactional_id_expiration_ms
            verdict = decide_expiration(transaction, now_ms, unused_for_ms, self._rules)
            if verdict.event == CoordinatorEvent.NOTHING:
                continue
            self._note("transactional_id_expiration", verdict, name)
            _, appends = self._store.append(name, self._store.lookup(name), verdict, Expire())
            effects += appends
        return effects


def _granted(grant: Grant, outcome: Outcome) -> Reply:
    if outcome.error != Error.NONE:
        return init_refused(grant.ticket, grant.version, outcome.error)
    return Reply(grant.ticket, InitProducerIdAnswer(0, *granted(outcome.target)))

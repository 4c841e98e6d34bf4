"""What goes on in a producer between the calls of its application: requests, and what their answers mean.

Theory of operation: `next_request` hands out one request at a time, and `handle_answer` or `handle_disconnect` takes it
back. What it means is said by a step of ``statemachines.producer``; what the step wants is carried out here, in the
order of `ProducerEffects`. No clock, no thread, no socket. Without a transactional id there are only producer ids to
obtain and sequences to keep.
Source: reference §5; ``TransactionManager.java``, ``Sender.java``; KIP-98, KIP-360, KIP-447, KIP-890, KIP-1050.
"""

from collections.abc import Mapping
from dataclasses import replace

from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.batches import ProducerBatch
from zombieproof.clients.brokers import Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer, errors_of, read
from zombieproof.clients.coordinator_requests import CoordinatorRequests
from zombieproof.clients.errors import (
    Failure,
    InitialisationRefused,
    OutcomeUnknown,
    UnsupportedVersion,
    failure_of_answer,
)
from zombieproof.clients.joined_partitions import JoinedPartitions
from zombieproof.clients.lifecycle import Lifecycle
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sequences import Sequences
from zombieproof.clients.transactional_requests import (
    GROUP,
    TRANSACTION,
    GroupMetadata,
    OutgoingRequest,
    PreparedTransaction,
    TransactionalRequest,
)
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.transactions import AddPartitionsToTxn, InitProducerId, TransactionToAdd
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerState
from zombieproof.statemachines.producer import answers, batches, failures, requests
from zombieproof.statemachines.producer.effects import Joins, Settlement, Turn
from zombieproof.statemachines.producer.records import ProducerHost

FOREVER_MS = 2147483647
"""The transaction timeout in the InitProducerId of a producer without transactional id."""


class ProducerCore:
    """One producer instance, without the calls of its application (`TransactionManager`).

    Args:
        transactional_id: None makes it an idempotent producer without transactions.
        transaction_timeout_ms: how long the coordinator lets a transaction stay open.
        retry_backoff_ms: how long a refused request waits before it is sent again.
        brokers: what is known of the cluster.
        two_phase_commit: an outer commit decides about prepared transactions, which never time out (KIP-939).
        rules: the rules in force; those of the client (KIP-360, KIP-1050, ...) count here.
        journal: where its moves go, such as the trace of a live run (`LiveTrace.of_client`); nowhere by default.
    """

    def __init__(
        self,
        transactional_id: str | None,
        *,
        transaction_timeout_ms: int = 60_000,
        retry_backoff_ms: int = 100,
        brokers: Brokers | None = None,
        two_phase_commit: bool = False,
        rules: Rules | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms, self.two_phase_commit = transaction_timeout_ms, two_phase_commit
        self.brokers = brokers or Brokers()
        self.requests = CoordinatorRequests(transactional_id, self.brokers, retry_backoff_ms)
        self._rules = rules or Rules()
        self._rules_without_raised_epochs = replace(self._rules, kip360=0)
        self.lifecycle = Lifecycle(transactional_id or "", journal)
        self.producer, self.effects, self.notes = self.lifecycle.producer, self.lifecycle.effects, self.lifecycle.notes
        self.sequences = Sequences(self.producer, self.effects, self._rules)
        self.partitions = JoinedPartitions()

    # ------------------------------------------------------------ what it is

    @property
    def is_transactional(self) -> bool:
        """Whether it has a transactional id."""
        return self.transactional_id is not None

    @property
    def state(self) -> ProducerState:
        """The state of the machine PRODUCER."""
        return self.lifecycle.state

    @property
    def transaction_version(self) -> int:
        """The transaction version that the open (or next) transaction follows."""
        return self.producer.transaction_version

    @property
    def prepared(self) -> PreparedTransaction | None:
        """The transaction that an outer commit decides about."""
        producer = self.producer
        if producer.prepared_id == NONE:
            return None
        return PreparedTransaction(producer.prepared_id, producer.prepared_epoch)

    @property
    def host(self) -> ProducerHost:
        """What steps are told besides the records."""
        return ProducerHost(
            transactional=self.is_transactional,
            cluster_version=self.brokers.transaction_version,
            joined=len(self.partitions.added),
            retry_backoff_ms=self.requests.retry_backoff_ms,
            two_phase_commit=self.two_phase_commit,
        )

    @property
    def can_raise_epoch(self) -> bool:
        """Whether an abortable error leaves a way to go on with a clean epoch (KIP-360)."""
        return requests.can_raise_epoch(self.producer, self.host)

    @property
    def rules(self) -> Rules:
        """The rules as far as the coordinator can follow them."""
        return self._rules if self.can_raise_epoch else self._rules_without_raised_epochs

    @property
    def has_pending_offset_commits(self) -> bool:
        """Whether a TxnOffsetCommit waits, or is under way."""
        return any(request.unsettled for request in self.requests.all)

    # ------------------------------------------------------------ what is queued

    def enqueue(self, request: TransactionalRequest, transaction_version: int | None = None) -> None:
        """A request waits for its turn; it follows the transaction version of now if none is given."""
        request.transaction_version = self.transaction_version if transaction_version is None else transaction_version
        self.requests.queue.put(request)

    def ask_for_producer_id(self, result: PendingResult, *, raises_epoch: bool, keep_prepared: bool = False) -> None:
        """Queue the InitProducerId that settles `result`; `raises_epoch`: it presents the identity that it raises."""
        timeout_ms = self.transaction_timeout_ms if self.is_transactional else FOREVER_MS
        expected = self.sequences.identity if raises_epoch else (NONE, NONE)
        body = InitProducerId(NONE, self.transactional_id, timeout_ms, *expected, self.two_phase_commit, keep_prepared)
        coordinator = TRANSACTION if self.is_transactional else None
        self.enqueue(TransactionalRequest(body, result, coordinator, raises_epoch=raises_epoch))

    def commit_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata, result: PendingResult) -> None:
        """Queue the TxnOffsetCommit that settles `result`."""
        body = TxnOffsetCommit(
            NONE,
            self.transactional_id,
            group.group,
            self.producer.producer_id,
            self.producer.producer_epoch,
            offsets,
            group.generation,
            group.member,
            group.instance,
        )
        unsettled = {offset.partition for offset in offsets}
        request = TransactionalRequest(body, result, GROUP, group=group, unsettled=unsettled)
        self.enqueue(request, self.effects.transaction_version)

    def _queue_new_partitions(self) -> None:
        joining = self.partitions.ask_for_new()
        if joining:
            added = TransactionToAdd(self.transactional_id, *self.sequences.identity, joining)
            self.enqueue(
                TransactionalRequest(AddPartitionsToTxn(NONE, (added,)), PendingResult("addPartitionsToTransaction"))
            )

    # ------------------------------------------------------------ requests

    def next_request(self, now_ms: int, has_incomplete_batches: bool = False) -> OutgoingRequest | None:
        """The request that leaves now, if there is one; until it is answered there is no other.

        Args:
            now_ms: the time.
            has_incomplete_batches: whether records have no outcome yet; EndTxn waits for them.
        """
        if self.requests.in_flight is not None:
            return None
        self.settle()
        return self.next_of_queue(now_ms, has_incomplete_batches)

    def next_of_queue(self, now_ms: int, has_incomplete_batches: bool) -> OutgoingRequest | None:
        """As `next_request`, where everything is settled and nothing under way."""
        self._queue_new_partitions()
        while (request := self.requests.queue.first) is not None:
            self.lifecycle.clear()
            too_early = now_ms < request.not_before_ms
            incomplete = has_incomplete_batches
            requests.take_turn(self.producer, request.view, incomplete, too_early, self.effects, self.notes)
            if self.effects.turn == Turn.WAITS:
                return None
            self.requests.queue.remove(request)
            if self.effects.turn == Turn.FAILS_UNSENT:
                request.result.fail(self._reason())
            elif self.effects.turn == Turn.IS_SKIPPED:
                self.carry_out(None, request)
            elif (outgoing := self._send(request, now_ms)) is not None:
                return outgoing
        return None

    def settle(self) -> None:
        """What follows from earlier answers before anything is sent: an end, a new start, a new identity."""
        for partition in self.sequences.unresolved:
            self.lifecycle.clear()
            known = self.sequences.of(partition)
            in_flight = len(known.in_flight)
            batches.resolve(self.producer, known, in_flight, self.host, self.rules, self.effects, self.notes)
            unknown = OutcomeUnknown(partition)
            unknown.__cause__ = self.lifecycle.last_error
            self.carry_out(unknown)
        self.lifecycle.clear()
        starts_over = isinstance(self.lifecycle.last_error, InitialisationRefused)
        wants_bump = self.sequences.wants_bump
        requests.settle(self.producer, starts_over, wants_bump, self.host, self._rules, self.effects, self.notes)
        self.carry_out()

    def _send(self, request: TransactionalRequest, now_ms: int) -> OutgoingRequest | None:
        destination = self.requests.destination(request)
        requests.address(self.producer, request.view, destination, self.host, self.effects, self.notes)
        if self.effects.version != NONE:
            return self.requests.send(request, self.effects.version, now_ms)
        newest = destination.newest
        unsupported = f"{request.api.name}: the broker's newest version is {newest}, which is too old"
        self.carry_out(UnsupportedVersion(unsupported), request, now_ms)
        return None

    def handle_answer(self, request: OutgoingRequest, answer: CoordinatorAnswer, now_ms: int) -> None:
        """The answer to `request`. One that comes after its request was given up is ignored."""
        queued = self.requests.land(request)
        if queued is None:
            return
        seen, errors = read(queued.api, answer, self.rules), errors_of(answer)
        self.lifecycle.journal.caused("answer", api=queued.api.name, number=request.number)
        queued.unsettled -= {partition for partition, error in errors.items() if error == Error.NONE}
        self.lifecycle.clear()
        still_open, rules = len(queued.unsettled), self.rules
        answers.handle(self.producer, queued.view, seen, still_open, self.host, rules, self.effects, self.notes)
        if isinstance(answer, CoordinatorFound) and self.effects.settles == Settlement.SUCCEEDS:
            assert isinstance(queued.body, FindCoordinator)
            self.brokers.coordinators[queued.body.key_type] = answer.node
        failure = None
        if self.effects.settles == Settlement.FAILS:
            starts_over = self.effects.starts_over
            failure = failure_of_answer(queued.api, seen.error, queued.body, errors, starts_over=starts_over)
        self.carry_out(failure, queued, now_ms, errors)

    def handle_disconnect(self, request: OutgoingRequest, now_ms: int) -> None:
        """No answer to `request` will come, or it could not be sent: its coordinator is looked up first."""
        queued = self.requests.land(request)
        if queued is not None:
            self.lifecycle.clear()
            answers.lose(queued.view, self.host, self.effects)
            self.carry_out(None, queued, now_ms)

    def handle_unsupported(self, request: OutgoingRequest) -> None:
        """The broker does not know `request` in its version."""
        queued = self.requests.land(request)
        if queued is not None:
            self.lifecycle.clear()
            answers.refuse_version(self.producer, queued.view, self.effects, self.notes)
            self.carry_out(UnsupportedVersion(f"the broker refused {queued.api.name}"), queued)

    def fail(self, reaction: int, api: int, failure: Failure) -> None:
        """A failure that ends the transaction or the producer; `api` names what was asked, NONE if nothing was."""
        self.lifecycle.clear()
        failures.fail(self.producer, reaction, api, self.effects, self.notes)
        self.carry_out(failure)

    # ------------------------------------------------------------ what steps want

    def carry_out(
        self,
        failure: Failure | None = None,
        request: TransactionalRequest | None = None,
        now_ms: int = 0,
        errors: Mapping[TopicPartition, int] | None = None,
        batch: ProducerBatch | None = None,
    ) -> None:
        """Do what the last step wants.

        Args:
            failure: what it was about, if it was about a failure.
            request: the request that was answered, lost, or had its turn.
            now_ms: the time; a request that is repeated waits from now on.
            errors: of the partitions in the answer.
            batch: the batch that it was about.
        """
        effects = self.effects
        self.lifecycle.follow(failure)
        if effects.gives_up:
            self.requests.drop(self._reason())
        self.sequences.carry_out(batch)
        if effects.joins != Joins.NOTHING and errors is not None:
            self.partitions.settle(errors, are_added=effects.joins == Joins.JOIN)
        if effects.ends:
            self.partitions.clear()
        if request is not None:
            self._carry_out_for(request, failure, now_ms)
        elif effects.sends_init:
            self.ask_for_producer_id(PendingResult("initProducerId"), raises_epoch=False)

    def _carry_out_for(self, request: TransactionalRequest, failure: Failure | None, now_ms: int) -> None:
        effects = self.effects
        if effects.looks_up:
            self.requests.look_up(request)
        if effects.repeats:
            self.requests.repeat(request, now_ms, effects.wait_ms)
        if effects.settles == Settlement.SUCCEEDS:
            request.result.succeed()
        elif effects.settles == Settlement.FAILS and failure is not None:
            request.result.fail(failure)
        if effects.sends == ApiKey.TXN_OFFSET_COMMIT:
            assert request.group is not None, "AddOffsetsToTxn knows whose offsets they are"
            self.commit_offsets(request.offsets, request.group, request.result)
        if effects.sends_init:
            self.ask_for_producer_id(request.result, raises_epoch=effects.raises_epoch)

    def _reason(self) -> Failure:
        reason = self.lifecycle.last_error
        assert reason is not None, "an error state has its reason"
        return reason

"""What goes on in a producer between the calls of its application: requests, and what their answers mean.

Theory of operation: `next_request` hands out one request at a time, and `handle_answer` or `handle_disconnect` takes it
back. Nothing else happens: no clock, no thread, no socket. Without a transactional id there are only producer ids to
obtain and sequences to keep.
Source: reference §5; ``TransactionManager.java``, ``Sender.java``; KIP-98, KIP-360, KIP-447, KIP-890, KIP-1050.
"""

from dataclasses import replace

from zombieproof.clients import coordinator_answers
from zombieproof.clients.brokers import Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.coordinator_requests import CoordinatorRequests
from zombieproof.clients.errors import (
    Failure,
    InitialisationRefused,
    OutcomeUnknown,
    ProducerFailure,
    UnsupportedVersion,
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
from zombieproof.messages.groups import OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionToAdd,
)
from zombieproof.model.decisions.producer_batches import resolve_sequences
from zombieproof.model.decisions.producer_client import (
    end_is_needed,
    event_of_initialisation,
    is_dropped_in,
    must_bump_after_end,
    retry_backoff_ms,
    wants_raised_epoch,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerEvent, ProducerState, Reaction

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
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms, self.two_phase_commit = transaction_timeout_ms, two_phase_commit
        self.brokers = brokers or Brokers()
        self.requests = CoordinatorRequests(transactional_id, self.brokers, retry_backoff_ms)
        self._rules = rules or Rules()
        self._rules_without_raised_epochs = replace(self._rules, kip360=0)
        self.lifecycle = Lifecycle(transactional_id or "")
        self.sequences = Sequences(self._rules)
        self.transaction_version = 0
        self.transaction_started = False
        self.prepared: PreparedTransaction | None = None
        self.bump_wanted = False
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
    def uses_v2(self) -> bool:
        """Whether the open (or next) transaction follows transaction version 2."""
        return self.transaction_version >= 2

    @property
    def can_raise_epoch(self) -> bool:
        """Whether an abortable error leaves a way to go on with a clean epoch (KIP-360)."""
        return not self.is_transactional or self.uses_v2 or self.brokers.coordinator_raises_epochs

    @property
    def rules(self) -> Rules:
        """The rules as far as the coordinator can follow them."""
        return self._rules if self.can_raise_epoch else self._rules_without_raised_epochs

    @property
    def is_completing(self) -> bool:
        """Whether the transaction is being ended."""
        return self.state in (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)

    @property
    def has_pending_offset_commits(self) -> bool:
        """Whether a TxnOffsetCommit waits, or is under way."""
        return any(request.unsettled for request in self.requests.all)

    def may_send_to(self, partition: TopicPartition) -> bool:
        """Whether batches of `partition` may leave: in a transaction, only once it has joined (§5.3)."""
        if self.state == ProducerState.FATAL_ERROR:
            return False
        return not self.is_transactional or partition in self.partitions.added

    # ------------------------------------------------------------ what is queued

    def enqueue(self, request: TransactionalRequest) -> None:
        """A request waits for its turn; it will follow the transaction version of now."""
        request.transaction_version = self.transaction_version
        self.requests.queue.put(request)

    def ask_for_producer_id(
        self, result: PendingResult, *, raises_epoch: bool = False, keep_prepared: bool = False
    ) -> PendingResult:
        """Queue the InitProducerId that settles `result`; `raises_epoch`: it presents the identity that it raises."""
        timeout_ms = self.transaction_timeout_ms if self.is_transactional else FOREVER_MS
        expected = self.sequences.identity if raises_epoch else (NONE, NONE)
        body = InitProducerId(NONE, self.transactional_id, timeout_ms, *expected, self.two_phase_commit, keep_prepared)
        coordinator = TRANSACTION if self.is_transactional else None
        self.enqueue(TransactionalRequest(body, result, coordinator, raises_epoch=raises_epoch))
        return result

    def commit_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata, result: PendingResult) -> None:
        """Queue the TxnOffsetCommit that settles `result`."""
        body = TxnOffsetCommit(
            NONE,
            self.transactional_id,
            group.group,
            self.sequences.producer_id,
            self.sequences.producer_epoch,
            offsets,
            group.generation,
            group.member,
            group.instance,
        )
        unsettled = {offset.partition for offset in offsets}
        self.enqueue(TransactionalRequest(body, result, GROUP, group=group, unsettled=unsettled))

    def queue_new_partitions(self) -> None:
        """Queue AddPartitionsToTxn, if there is anything to add."""
        joining = self.partitions.ask_for_new()
        if joining:
            added = TransactionToAdd(self.transactional_id, *self.sequences.identity, joining)
            self.enqueue(
                TransactionalRequest(AddPartitionsToTxn(NONE, (added,)), PendingResult("addPartitionsToTransaction"))
            )

    def learn_transaction_version(self) -> None:
        """Never within a transaction: only around one is it looked up which version counts."""
        self.transaction_version = self.brokers.transaction_version

    # ------------------------------------------------------------ requests

    def next_request(self, now_ms: int, has_incomplete_batches: bool = False) -> OutgoingRequest | None:
        """The request that leaves now, if there is one; until it is answered there is no other.

        Args:
            now_ms: the time.
            has_incomplete_batches: whether records have no outcome yet; EndTxn waits for them.
        """
        if self.requests.in_flight is not None:
            return None
        outgoing = None
        with self.lifecycle.serving_an_answer():
            self.settle()
            outgoing = self._next(now_ms, has_incomplete_batches)
        return outgoing  # noqa: RET504 -- an answer that poisons the producer ends the block above early

    def settle(self) -> None:
        """What follows from earlier answers before anything is sent: a new start, a new identity."""
        with self.lifecycle.serving_an_answer():
            if self.state == ProducerState.FATAL_ERROR:
                self.requests.drop(self._reason())
                return
            self._resolve_sequences()
            if isinstance(self.lifecycle.last_error, InitialisationRefused):
                self.lifecycle.move(ProducerEvent.RESET)
            elif not self.is_transactional:
                self._keep_identity()

    def _next(self, now_ms: int, has_incomplete_batches: bool) -> OutgoingRequest | None:
        self.queue_new_partitions()
        while (request := self.requests.queue.first) is not None:
            ends = request.api == ApiKey.END_TXN
            if (ends and has_incomplete_batches) or now_ms < request.not_before_ms:
                return None
            self.requests.queue.remove(request)
            if is_dropped_in(self.state, request.api):
                request.result.fail(self._reason())
            elif ends and not end_is_needed(int(self.transaction_started)):
                self.finish_transaction(request)
            elif (outgoing := self._send(request, now_ms)) is not None:
                return outgoing
        return None

    def _send(self, request: TransactionalRequest, now_ms: int) -> OutgoingRequest | None:
        try:
            return self.requests.send(request, now_ms)
        except UnsupportedVersion as unsupported:
            self.fail_request(request, Reaction.FATAL, unsupported)
            return None

    def handle_answer(self, request: OutgoingRequest, answer: CoordinatorAnswer, now_ms: int) -> None:
        """The answer to `request`. One that comes after its request was given up is not heard."""
        queued = self.requests.land(request)
        if queued is not None:
            with self.lifecycle.serving_an_answer():
                coordinator_answers.hear(self, queued, answer, now_ms)

    def handle_disconnect(self, request: OutgoingRequest, now_ms: int) -> None:
        """No answer to `request` will come, or it could not be sent: its coordinator is looked up first."""
        queued = self.requests.land(request)
        if queued is not None:
            if queued.coordinator is not None:
                self.requests.look_up(queued)
            self.retry(queued, Error.NETWORK_EXCEPTION, now_ms)

    def handle_unsupported(self, request: OutgoingRequest) -> None:
        """The broker does not know `request` in its version."""
        queued = self.requests.land(request)
        if queued is not None:
            self.fail_request(queued, Reaction.FATAL, UnsupportedVersion(f"the broker refused {queued.api.name}"))

    # ------------------------------------------------------------ what answers lead to

    def retry(self, request: TransactionalRequest, error: int, now_ms: int) -> None:
        """`request` is repeated after a while."""
        is_empty = int(not self.partitions.added)
        wait_ms = retry_backoff_ms(request.api, error, is_empty, self.requests.retry_backoff_ms)
        self.requests.repeat(request, now_ms, wait_ms)

    def fail_request(self, request: TransactionalRequest, reaction: int, failure: ProducerFailure) -> None:
        """`request` failed, and the transaction or the producer with it."""
        request.result.fail(failure)
        self.fail(reaction, request.api, failure)

    def fail(self, reaction: int, api: int, failure: Failure) -> None:
        """A failure that ends the transaction or the producer; `api` names what was asked, NONE if nothing was."""
        if wants_raised_epoch(reaction, api, self.state, self.transaction_version):
            self.bump_wanted = True
        with self.lifecycle.serving_an_answer():
            self.lifecycle.fail(reaction, failure)
        if self.state == ProducerState.FATAL_ERROR:
            self.requests.drop(self._reason())

    def finish_transaction(self, request: TransactionalRequest) -> None:
        """The transaction that `request` (EndTxn) ends is over; its call is, too, unless the epoch is raised first."""
        bumps = must_bump_after_end(int(self.bump_wanted), request.transaction_version)
        self.lifecycle.move(ProducerEvent.BUMP_EPOCH if bumps else ProducerEvent.END_ACKNOWLEDGED)
        self.bump_wanted = self.transaction_started = False
        self.prepared = None
        self.partitions.clear()
        if bumps and not any(waiting.raises_epoch for waiting in self.requests.queue):
            self.ask_for_producer_id(request.result, raises_epoch=True)
        else:
            request.result.succeed()

    def adopt(self, request: TransactionalRequest, answer: InitProducerIdAnswer) -> None:
        """InitProducerId, `request`, was granted."""
        assert isinstance(request.body, InitProducerId), "only InitProducerId grants an identity"
        if request.raises_epoch:
            self.sequences.reset()
        self.sequences.adopt(answer.producer_id, answer.producer_epoch)
        event = event_of_initialisation(int(request.body.keep_prepared), answer.ongoing_producer_id)
        if event == ProducerEvent.PREPARE:
            self.prepared = PreparedTransaction(answer.ongoing_producer_id, answer.ongoing_producer_epoch)
            self.transaction_started = True
        self.lifecycle.move(event)
        request.result.succeed()
        if not request.raises_epoch:
            self.learn_transaction_version()

    def forget_identity(self) -> None:
        """The producer id is given up, and every sequence with it (before KIP-360); once for each reason."""
        if not self.sequences.has_producer_id:
            return
        self.sequences.producer_id = self.sequences.producer_epoch = NONE
        self.sequences.reset()
        self.lifecycle.move(ProducerEvent.RESET)

    def _keep_identity(self) -> None:
        if self.sequences.bump_locally():
            self.lifecycle.move(ProducerEvent.RESET)
        if self.state != ProducerState.INITIALIZING and not self.sequences.has_producer_id:
            self.lifecycle.move(ProducerEvent.INIT_TRANSACTIONS)
            self.ask_for_producer_id(PendingResult("initProducerId"))

    def _resolve_sequences(self) -> None:
        sequences = self.sequences
        for partition in list(sequences.unresolved):
            known = sequences.of(partition)
            is_next = sequences.is_next(partition, known.next_sequence)
            reaction = resolve_sequences(len(known.in_flight), int(is_next), int(self.is_transactional), self.rules)
            if reaction == Reaction.RETRY:
                continue
            sequences.unresolved.pop(partition, None)
            if reaction == Reaction.BUMP_LOCALLY:
                sequences.want_local_bump(partition)
            elif reaction == Reaction.FORGET_PRODUCER_ID:
                self.forget_identity()
            elif reaction != Reaction.DONE:
                unknown = OutcomeUnknown(partition)
                unknown.__cause__ = self.lifecycle.last_error
                self.fail(reaction, NONE, unknown)

    def _reason(self) -> Failure:
        reason = self.lifecycle.last_error
        assert reason is not None, "an error state has its reason"
        return reason

"""The transactional side of a producer: what its application may call.

Theory of operation: a call moves the machine PRODUCER and queues requests, which `ProducerCore` hands out. A call that
takes a while returns a `PendingResult`; a caller that does not wait for it must make the same call again.
Source: reference §5.2; ``TransactionManager.java``, ``KafkaProducer.java``; KIP-98, KIP-447, KIP-890, KIP-939.
"""

from zombieproof.clients.errors import IllegalState, ProducerClosed, ProducerFailure
from zombieproof.clients.producer_core import ProducerCore
from zombieproof.clients.results import PendingResult
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction, TransactionalRequest
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.messages.transactions import AddOffsetsToTxn, EndTxn
from zombieproof.model.decisions.producer_client import (
    bumps_on_upgrade,
    decide_prepare,
    event_of_completion,
    must_bump_after_end,
)
from zombieproof.model.vocabulary import NONE, Error, ProducerEvent, ProducerState, Reaction


class TransactionManager(ProducerCore):
    """One producer instance, as its application sees it."""

    def init_transactions(self, *, keep_prepared: bool = False) -> PendingResult:
        """Ask for a producer id and epoch; whoever had the transactional id before is fenced.

        Its transaction is aborted, unless it is prepared and `keep_prepared` says to keep it (KIP-939).

        Raises:
            IllegalState, ProducerFailure: not now (`Lifecycle`).
        """
        self._require_transactional("initTransactions")

        def start() -> PendingResult:
            self.lifecycle.refuse_after_error()
            self.lifecycle.move(ProducerEvent.INIT_TRANSACTIONS)
            return self.ask_for_producer_id(PendingResult("initTransactions"), keep_prepared=keep_prepared)

        return self.lifecycle.begin("initTransactions", start)

    def begin_transaction(self) -> None:
        """Begin a transaction; nobody is asked.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self._require_transactional("beginTransaction")
        self.lifecycle.refuse_while_pending("beginTransaction")
        self.lifecycle.refuse_after_error()
        self.lifecycle.move(ProducerEvent.BEGIN)

    def add_partition(self, partition: TopicPartition) -> None:
        """A record for `partition` is about to be sent: in a transaction the partition has to join it.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self.lifecycle.refuse_after_error()
        self.lifecycle.refuse_while_pending("send")
        if not self.is_transactional:
            return
        if self.state != ProducerState.IN_TRANSACTION:
            raise IllegalState(
                f"a record for {partition[0]}-{partition[1]} cannot be sent in {self.state.name}: "
                "call initTransactions once, and beginTransaction before each transaction"
            )
        if self.uses_v2:
            self.partitions.added.add(partition)
            self.transaction_started = True
        else:
            self.partitions.register(partition)

    def send_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata) -> PendingResult:
        """Commit a consumer's offsets with the transaction.

        Raises:
            IllegalState, ProducerFailure: not now; or `group` has a generation and no member.
        """
        self._require_transactional("sendOffsetsToTransaction")
        if group.generation > 0 and group.member == "":
            raise IllegalState(f"group {group.group}: generation {group.generation} without a member says nothing")
        self.lifecycle.refuse_while_pending("sendOffsetsToTransaction")
        self.lifecycle.refuse_after_error()
        if self.state != ProducerState.IN_TRANSACTION:
            raise IllegalState(f"offsets cannot be sent in {self.state.name}: call beginTransaction first")
        result = PendingResult("sendOffsetsToTransaction")
        if not offsets:
            result.succeed()
        elif self.uses_v2:
            self.transaction_started = True
            self.commit_offsets(offsets, group, result)
        else:
            body = AddOffsetsToTxn(NONE, self.transactional_id, *self.sequences.identity, group.group)
            self.enqueue(TransactionalRequest(body, result, offsets=offsets, group=group))
        return result

    def begin_commit(self) -> PendingResult:
        """Commit: EndTxn leaves when no batch is incomplete.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self._require_transactional("commitTransaction")

        def start() -> PendingResult:
            self.lifecycle.refuse_after_error()
            self.lifecycle.move(ProducerEvent.COMMIT)
            return self._end(committed=True)

        return self.lifecycle.begin("commitTransaction", start)

    def begin_abort(self) -> PendingResult:
        """Abort; the way out of an abortable error.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        self._require_transactional("abortTransaction")

        def start() -> PendingResult:
            if self.state != ProducerState.ABORTABLE_ERROR:
                self.lifecycle.refuse_after_error()
            self.lifecycle.move(ProducerEvent.ABORT)
            self.partitions.new.clear()
            return self._end(committed=False)

        return self.lifecycle.begin("abortTransaction", start)

    def prepare_transaction(self) -> PreparedTransaction:
        """Leave the decision to an outer commit, which is told what is returned. Flush first (KIP-939).

        Raises:
            IllegalState, ProducerFailure: not now; or the producer takes no part in two-phase commit.
        """
        self._require_transactional("prepareTransaction")
        self.lifecycle.refuse_while_pending("prepareTransaction")
        self.lifecycle.refuse_after_error()
        error = decide_prepare(int(self.two_phase_commit), self.state)
        if error != Error.NONE:
            raise ProducerFailure(
                error, f"prepareTransaction needs two-phase commit and a transaction: {self.state.name}"
            )
        self.lifecycle.move(ProducerEvent.PREPARE)
        self.prepared = PreparedTransaction(*self.sequences.identity)
        return self.prepared

    def complete_transaction(self, told: PreparedTransaction) -> PendingResult:
        """End what is prepared: commit if the outer commit tells of this transaction, abort if it does not (KIP-939).

        Raises:
            IllegalState: nothing is prepared.
        """
        if self.prepared is None or self.state != ProducerState.PREPARED_TRANSACTION:
            raise IllegalState(f"completeTransaction in {self.state.name}: nothing is prepared")
        event = event_of_completion(*self.prepared, *told)
        return self.begin_commit() if event == ProducerEvent.COMMIT else self.begin_abort()

    def close_by_force(self) -> None:
        """Everything that waits fails."""
        if self.requests.in_flight is not None:
            self.requests.in_flight[1].result.fail(ProducerClosed())
            self.requests.in_flight = None
        self.lifecycle.fail_pending(ProducerClosed())
        self.fail(Reaction.FATAL, NONE, ProducerClosed())

    def _require_transactional(self, operation: str) -> None:
        if not self.is_transactional:
            raise IllegalState(f"{operation} needs a transactional id; this producer has none")

    def _end(self, *, committed: bool) -> PendingResult:
        self.queue_new_partitions()
        body = EndTxn(NONE, self.transactional_id, *self.sequences.identity, committed)
        result = PendingResult("endTransaction")
        ended_version = self.transaction_version
        self.enqueue(TransactionalRequest(body, result))
        self.learn_transaction_version()
        if bumps_on_upgrade(int(ended_version >= 2), int(self.uses_v2), self._rules):
            self.bump_wanted = True
        if must_bump_after_end(int(self.bump_wanted), ended_version):
            return self.ask_for_producer_id(PendingResult("initTransactions"), raises_epoch=True)
        return result

"""The transactional side of a producer: what its application may call.

Theory of operation: a call is a step (``statemachines.producer.calls``) that refuses it, or moves the producer and says
which requests follow; `ProducerCore` hands them out. A call that takes a while returns a `PendingResult`; a caller that
does not wait for it must make the same call again.
Source: reference §5.2; ``TransactionManager.java``, ``KafkaProducer.java``; KIP-98, KIP-447, KIP-890, KIP-939.
"""

from zombieproof.clients.errors import ProducerClosed
from zombieproof.clients.producer_core import ProducerCore
from zombieproof.clients.results import PendingResult
from zombieproof.clients.transactional_requests import GroupMetadata, PreparedTransaction, TransactionalRequest
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetToCommit
from zombieproof.messages.transactions import AddOffsetsToTxn, EndTxn
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.statemachines.producer import calls
from zombieproof.statemachines.producer.effects import Joins, Settlement
from zombieproof.statemachines.producer.records import Pending


class TransactionManager(ProducerCore):
    """One producer instance, as its application sees it.

    `_let_in` are the partitions of which the step `send` said since `_steps` that records may be sent there. No other
    step was taken since, so it would say so again.
    """

    _let_in: frozenset[TopicPartition] = frozenset()
    _steps = 0

    def init_transactions(self, *, keep_prepared: bool = False) -> PendingResult:
        """Ask for a producer id and epoch; whoever had the transactional id before is fenced.

        Its transaction is aborted, unless it is prepared and `keep_prepared` says to keep it (KIP-939).

        Raises:
            IllegalState, ProducerFailure: not now (`Lifecycle`).
        """
        pending = self._called("initTransactions")
        calls.init_transactions(self.producer, pending, self.host, self._rules, self.effects, self.notes)
        return self._under_way("initTransactions", keep_prepared=keep_prepared)

    def begin_transaction(self) -> None:
        """Begin a transaction; nobody is asked.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        pending = self._called("beginTransaction")
        calls.begin_transaction(self.producer, pending, self.host, self.effects, self.notes)
        self.lifecycle.raise_refusal("beginTransaction")
        self.carry_out()

    def add_partition(self, partition: TopicPartition) -> None:
        """A record for `partition` is about to be sent: in a transaction the partition has to join it.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        if self._steps != self.lifecycle.steps:
            self._let_in = frozenset()
        elif partition in self._let_in:
            return
        pending, standing = self._called("send"), self.partitions.standing(partition)
        calls.send(self.producer, standing, pending, self.host, self.effects)
        self.lifecycle.raise_refusal("send", f"a record for {partition[0]}-{partition[1]}")
        if self.effects.joins == Joins.JOIN:
            self.partitions.added.add(partition)
        elif self.effects.joins == Joins.HAVE_TO_ASK:
            self.partitions.new.append(partition)
        self._let_in, self._steps = self._let_in | {partition}, self.lifecycle.steps

    def send_offsets(self, offsets: tuple[OffsetToCommit, ...], group: GroupMetadata) -> PendingResult:
        """Commit a consumer's offsets with the transaction.

        Raises:
            IllegalState, ProducerFailure: not now; or `group` has a generation and no member.
        """
        pending, alone = self._called("sendOffsetsToTransaction"), group.generation > 0 and group.member == ""
        calls.send_offsets(self.producer, len(offsets), alone, pending, self.host, self.effects)
        about = f"group {group.group}: generation {group.generation}" if alone else "offsets"
        self.lifecycle.raise_refusal("sendOffsetsToTransaction", about)
        result = PendingResult("sendOffsetsToTransaction")
        if self.effects.settles == Settlement.SUCCEEDS:
            result.succeed()
        elif self.effects.sends == ApiKey.TXN_OFFSET_COMMIT:
            self.commit_offsets(offsets, group, result)
        else:
            body = AddOffsetsToTxn(NONE, self.transactional_id, *self.sequences.identity, group.group)
            request = TransactionalRequest(body, result, offsets=offsets, group=group)
            self.enqueue(request, self.effects.transaction_version)
        return result

    def begin_commit(self) -> PendingResult:
        """Commit: EndTxn leaves when no batch is incomplete.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        pending = self._called("commitTransaction")
        calls.commit_transaction(self.producer, pending, self.host, self._rules, self.effects, self.notes)
        return self._under_way("commitTransaction")

    def begin_abort(self) -> PendingResult:
        """Abort; the way out of an abortable error.

        Raises:
            IllegalState, ProducerFailure: not now.
        """
        pending = self._called("abortTransaction")
        calls.abort_transaction(self.producer, pending, self.host, self._rules, self.effects, self.notes)
        return self._under_way("abortTransaction")

    def prepare_transaction(self) -> PreparedTransaction:
        """Leave the decision to an outer commit, which is told what is returned. Flush first (KIP-939).

        Raises:
            IllegalState, ProducerFailure: not now; or the producer takes no part in two-phase commit.
        """
        pending = self._called("prepareTransaction")
        calls.prepare_transaction(self.producer, pending, self.host, self.effects, self.notes)
        self.lifecycle.raise_refusal("prepareTransaction")
        self.carry_out()
        return PreparedTransaction(self.producer.prepared_id, self.producer.prepared_epoch)

    def complete_transaction(self, transaction: PreparedTransaction) -> PendingResult:
        """End what is prepared: commit if the outer commit tells of this transaction, abort if it does not (KIP-939).

        Raises:
            IllegalState: nothing is prepared.
        """
        pending = self._called("completeTransaction")
        calls.complete_transaction(
            self.producer, *transaction, pending, self.host, self._rules, self.effects, self.notes
        )
        return self._under_way("commitTransaction" if self.effects.committed else "abortTransaction")

    def close_by_force(self) -> None:
        """Everything that waits fails."""
        closed = ProducerClosed()
        if self.requests.in_flight is not None:
            self.requests.in_flight[1].result.fail(closed)
            self.requests.in_flight = None
        self.lifecycle.fail_pending(closed)
        self.lifecycle.clear()
        calls.close_by_force(self.producer, self.effects, self.notes)
        self.carry_out(closed)

    def _called(self, operation: str) -> Pending:
        """A call begins: whether another is to be waited for."""
        self.lifecycle.journal.caused("call", call=operation)
        self.lifecycle.clear()
        return self.lifecycle.pending(operation)

    def _under_way(self, operation: str, *, keep_prepared: bool = False) -> PendingResult:
        """The result of a call that takes a while, whose requests are queued: the last of them settles it."""
        self.lifecycle.raise_refusal(operation)
        if self.effects.resumes and self.lifecycle.unacknowledged is not None:
            return self.lifecycle.unacknowledged
        effects, result = self.effects, PendingResult(operation)
        self.lifecycle.follow(None)
        if effects.drops_new:
            self.partitions.new.clear()
        if effects.sends == ApiKey.END_TXN:
            body = EndTxn(NONE, self.transactional_id, *self.sequences.identity, effects.committed)
            settled = PendingResult("endTransaction") if effects.sends_init else result
            self.enqueue(TransactionalRequest(body, settled), effects.transaction_version)
        if effects.sends_init:
            self.ask_for_producer_id(result, raises_epoch=effects.raises_epoch, keep_prepared=keep_prepared)
        self.lifecycle.await_call(result)
        return result

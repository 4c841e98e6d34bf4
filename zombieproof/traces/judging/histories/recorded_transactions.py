"""The transactions of a transactional id, put together from its records in ``__transaction_state``."""

from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState, TransactionVersion
from zombieproof.traces.evidence import TransactionLogValue
from zombieproof.traces.verdict.report import TransactionOutcome

S = TransactionState
PREPARED = {S.PREPARE_COMMIT: TransactionOutcome.COMMIT, S.PREPARE_ABORT: TransactionOutcome.ABORT}
COMPLETED = {S.COMPLETE_COMMIT: TransactionOutcome.COMMIT, S.COMPLETE_ABORT: TransactionOutcome.ABORT}


@dataclass(slots=True)
class RecordedTransaction:
    """One transaction of a transactional id, as far as the coordinator's log tells. None: it does not.

    `partitions` are all that any of its records list. `data_version` is the transaction version under which partitions
    joined, `version` the one under which it was decided. Offsets are those of its records in ``__transaction_state``.
    `acknowledged_ms` is when its last record was written: every marker had been acknowledged by then.
    `is_doubtful`: records are missing before its decision, so that it may be two transactions that look like one.
    """

    transactional_id: str
    producer_id: int
    data_epoch: int | None
    marker_epoch: int | None = None
    outcome: TransactionOutcome = TransactionOutcome.OPEN
    partitions: frozenset[TopicPartition] | None = None
    data_version: int = 0
    version: int = 0
    opened_ms: int | None = None
    prepared_ms: int | None = None
    completed_ms: int | None = None
    acknowledged_ms: int | None = None
    opened_at: int | None = None
    prepared_at: int | None = None
    completed_at: int | None = None
    is_doubtful: bool = False

    @property
    def completed(self) -> bool:
        """Whether the coordinator says that every marker is written."""
        return self.completed_at is not None

    @property
    def decided(self) -> bool:
        """Whether commit or abort is durable."""
        return self.outcome in (TransactionOutcome.COMMIT, TransactionOutcome.ABORT)

    @property
    def joined_ms(self) -> int | None:
        """When its first partition joined; where that is not known, when it was decided."""
        return self.prepared_ms if self.opened_ms is None else self.opened_ms

    @property
    def position(self) -> int:
        """Where in the coordinator's log it begins."""
        return next(at for at in (self.opened_at, self.prepared_at, self.completed_at) if at is not None)


@dataclass(slots=True)
class Transactions:
    """Follows the records of one id. `current` is the transaction that is open, or was ended by the last record."""

    transactional_id: str
    found: list[RecordedTransaction] = field(default_factory=list)
    current: RecordedTransaction | None = None

    def follow(
        self, offset: int, value: TransactionLogValue | None, before: TransactionLogValue | None, written_ms: int = NONE
    ) -> None:
        """Take in a record (None: a tombstone); `before` is the one before it, None when that is not known.

        `written_ms` is the time of the record, -1 where the source does not show it.
        """
        if value is None or value.state == S.EMPTY:
            self.current = None
        elif value.state == S.ONGOING:
            self._ongoing(offset, value)
        elif value.state in PREPARED:
            self._prepared(offset, value, before)
        elif value.state in COMPLETED:
            self._completed(offset, value, before, written_ms)

    def _ongoing(self, offset: int, value: TransactionLogValue) -> None:
        txn = self.current
        if txn is None or txn.decided:
            txn = self._begin(value.producer_id, value.producer_epoch)
        if txn.opened_at is None:
            txn.opened_at, txn.opened_ms = offset, value.last_update_ms
        txn.data_version = value.client_transaction_version or 0
        txn.partitions = (txn.partitions or frozenset()) | value.partitions

    def _prepared(self, offset: int, value: TransactionLogValue, before: TransactionLogValue | None) -> None:
        txn = self.current
        if txn is None or txn.completed:
            # Without an Ongoing record the epoch of the data is the one that was granted before.
            txn = self._begin(value.producer_id, None if before is None else before.producer_epoch)
        if txn.prepared_at is None:
            txn.prepared_at, txn.prepared_ms = offset, value.last_update_ms
        txn.outcome, txn.marker_epoch = PREPARED[value.state], value.producer_epoch
        txn.version = value.client_transaction_version or 0
        txn.partitions = (txn.partitions or frozenset()) | value.partitions

    def _completed(
        self, offset: int, value: TransactionLogValue, before: TransactionLogValue | None, written_ms: int
    ) -> None:
        txn = self.current
        if txn is not None and txn.completed and before is not None and before.state == value.state:
            return
        if txn is None or txn.completed:
            txn = self._begin(value.producer_id, None)
        if not txn.decided:
            txn.outcome = COMPLETED[value.state]
            # Under version 2 every end raises the epoch: 0 is that of the next producer id (reference §9.4).
            rotated = value.producer_epoch == 0 and value.client_transaction_version == TransactionVersion.TV2
            txn.marker_epoch = None if rotated else value.producer_epoch
        txn.completed_at, txn.completed_ms = offset, value.last_update_ms
        txn.acknowledged_ms = None if written_ms == NONE else written_ms

    def _begin(self, producer_id: int, data_epoch: int | None) -> RecordedTransaction:
        self.current = RecordedTransaction(self.transactional_id, producer_id, data_epoch)
        self.found.append(self.current)
        return self.current

    def interrupt(self, value: TransactionLogValue | None) -> None:
        """Records are missing before `value`: what was open is given up unless the record can be its own."""
        if self.current is None:
            return
        if self._goes_on(self.current, value):
            self.current.is_doubtful = not self.current.decided
            return
        if not self.current.decided:
            self.current.outcome = TransactionOutcome.UNKNOWN
        self.current = None

    @staticmethod
    def _goes_on(txn: RecordedTransaction, value: TransactionLogValue | None) -> bool:
        if value is None or value.producer_id != txn.producer_id or value.state == S.EMPTY:
            return False
        if not txn.decided:
            raised = 0 if value.state == S.ONGOING else 1
            return txn.data_epoch is not None and value.producer_epoch <= txn.data_epoch + raised
        return COMPLETED.get(value.state) is txn.outcome and value.producer_epoch == txn.marker_epoch

"""One transactional id at one coordinator: an entry is put into its memory, requests are asked, appends have outcomes.

The entry is loaded from a log and then set as the case says, what lives in memory only too. The append of a completion
waits until the markers are said to be written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.conformance.cases import NotRunnable
from tests.conformance.phrases import Fields, error_of, partition_of, state_of
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.cluster.metadata import Metadata, PartitionMetadata
from zombieproof.broker.cluster.partition_numbers import PartitionNumbers
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.producer_ids import ProducerIds
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.partitions import MarkerToWrite, MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.messages.transactions import TransactionAnswer, TransactionRequest
from zombieproof.model.records import Transaction
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, TransactionState

TRANSACTIONAL_ID = "known"
PARTITION = 0
"""Where the id lives: the transaction log has one partition here."""

PRODUCER_ID, PRODUCER_EPOCH, TIMEOUT_MS = 10, 1, 1
COMPLETED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
AGE_MS = 500
"""How long ago an entry was begun and changed, unless it is open: that has begun now."""


class ListedProducerIds(ProducerIds):
    """Producer ids as a case lists them, or consecutive ones above all that it may name."""

    def __init__(self, listed: Sequence[int] | None) -> None:
        super().__init__(first=1000)
        self.handed_out: list[int] = []
        self._listed = None if listed is None else list(listed)

    def peek(self) -> int | None:
        """The next id; None where the list of the case is used up."""
        if self._listed is None:
            return super().peek()
        return self._listed[0] if self._listed else None

    def next(self) -> int | None:
        """The next id, handed out."""
        listed = [super().next()] if self._listed is None else self._listed
        fresh = listed.pop(0) if listed else None
        if fresh is not None:
            self.handed_out.append(fresh)
        return fresh


@dataclass(slots=True)
class Told:
    """What came of one step: the answer (None: none yet), and what was appended to the log meanwhile."""

    answer: TransactionAnswer | None
    log: list[TransactionValue | None]
    markers: list[MarkerToWrite] = field(default_factory=list)


class Scenario:
    """A coordinator that holds at most one entry.

    Args:
        rules: the rules in force.
        producer_ids: the ids that can be allocated, in their order; None: as many as are needed.
        outcomes: of the appends, as the operations are told, in their order; those behind succeed.
        two_phase_commit: whether the broker lets clients take part in a two-phase commit.
    """

    def __init__(
        self,
        rules: Rules,
        producer_ids: Sequence[int] | None = None,
        outcomes: Iterable[object] = (),
        two_phase_commit: bool = False,
    ) -> None:
        self.rules = rules
        self.clock, self.journal, self.numbers = ManualClock(), KeptJournal(), PartitionNumbers()
        self.producer_ids = ListedProducerIds(producer_ids)
        self.metadata = Metadata()
        self.metadata.create(TRANSACTION_STATE, [(0,)])
        self.metadata.create(CONSUMER_OFFSETS, [(0,)])
        settings = Settings(transaction_two_phase_commit_enable=two_phase_commit)
        self.coordinator = TransactionCoordinator(
            rules, settings, self.clock, self.journal, self.numbers, self.producer_ids, self.metadata
        )
        self.two_phase_commit = two_phase_commit
        self._outcomes = [error_of(name) for name in outcomes]
        self._log: list[TransactionValue | None] = []
        self._held: list[Append] = []
        self._answer: TransactionAnswer | None = None
        self._tickets = 0

    # ---------------------------------------------------------------- what is given

    def own(self, coordinator_epoch: int = 0) -> None:
        """The coordinator owns the id's partition, and knows no id."""
        self._carry_out(self.coordinator.load(PARTITION, coordinator_epoch, []))

    def hold(self, record: Transaction) -> None:
        """The coordinator knows the id, as `record` says it."""
        value = TransactionValue(1, NONE, NONE, 0, NONE, 1, TransactionState.EMPTY, frozenset(), 0, NONE, 0)
        batch = Batch(records=(Record(TRANSACTIONAL_ID, value),))
        self._carry_out(self.coordinator.load(PARTITION, self.coordinator.coordinator_epoch(PARTITION) or 0, [batch]))
        held = self.coordinator.entries(PARTITION)[TRANSACTIONAL_ID]
        for name in Transaction.__dataclass_fields__:
            setattr(held, name, getattr(record, name))

    @property
    def entry(self) -> Transaction:
        """What is held of the id; unknown where nothing is."""
        return self.coordinator.entries(PARTITION).get(TRANSACTIONAL_ID, Transaction())

    def mask(self, names: Iterable[object]) -> int:
        """A set of partitions, each of which exists and has a leader from now on."""
        return self.numbers.mask(self.partitions(names))

    def partitions(self, names: Iterable[object]) -> list[TopicPartition]:
        """The partitions that a case names; each exists and has a leader from now on."""
        named = [partition_of(name) for name in names]
        for partition in named:
            self.metadata.partitions.setdefault(partition, PartitionMetadata((0,), (0,), 0))
        return named

    # ---------------------------------------------------------------- steps

    def ask(self, request: TransactionRequest) -> Told:
        """Ask a request and carry out what follows."""
        self._tickets += 1
        return self._step(self.coordinator.handle(request, self._tickets))

    def carry_out(self, effects: list[Effect]) -> Told:
        """Carry out what the coordinator does by itself."""
        return self._step(effects)

    def write_markers(self) -> Told:
        """Every marker is written, and completions that wait are appended."""
        self._begin()
        markers: list[MarkerToWrite] = []
        held, self._held = self._held, []
        self._carry_out([*held], completes=True)
        while True:
            requests, effects = self.coordinator.markers_to_send()
            self._carry_out(effects, completes=True)
            if not requests:
                return Told(self._answer, self._log, markers)
            for request in requests:
                markers += request.request.markers
                answer = WriteTxnMarkersAnswer(
                    tuple(
                        MarkerWritten(marker.producer_id, dict.fromkeys(marker.partitions, 0))
                        for marker in request.request.markers
                    )
                )
                self._carry_out(self.coordinator.markers_answered(request.number, answer), completes=True)

    def _step(self, effects: list[Effect]) -> Told:
        self._begin()
        self._carry_out(effects)
        return Told(self._answer, self._log)

    def _begin(self) -> None:
        self._answer, self._log = None, []

    def _carry_out(self, effects: Iterable[Effect], completes: bool = False) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self._answer = effect.answer
            elif effect.value is not None and effect.value.state in COMPLETED and not completes:
                self._held.append(effect)
            else:
                self._log.append(effect.value)
                outcome = self._outcomes.pop(0) if self._outcomes else int(Error.NONE)
                self._carry_out(self.coordinator.append_ended(effect, outcome), completes)


def entry_of(scenario: Scenario, given: Any, version: int) -> Transaction:
    """The entry that a case describes; what it leaves out is as the suite says."""
    fields = Fields(given, "given txn")
    state = state_of(fields.take("state", "Empty"))
    now_ms = scenario.clock.now_ms()
    pending = fields.take("pending")
    record = Transaction(
        known=True,
        state=state,
        pending_state=NONE if pending is None else state_of(pending),
        producer_id=_number(fields, "pid", PRODUCER_ID),
        previous_producer_id=_number(fields, "prev_pid", PRODUCER_ID),
        next_producer_id=_number(fields, "next_pid", NONE),
        producer_epoch=_number(fields, "epoch", PRODUCER_EPOCH),
        last_producer_epoch=_number(fields, "last_epoch", 0),
        partitions=scenario.mask(fields.take("partitions", [])),
        timeout_ms=_number(fields, "timeout_ms", TIMEOUT_MS),
        start_ms=_start_ms(state, now_ms),
        last_update_ms=now_ms - AGE_MS,
        client_transaction_version=version,
        next_producer_epoch=_number(fields, "next_epoch", NONE),
    )
    fields.take("tv")
    if fields.take("expired", False):
        record = replace(record, start_ms=now_ms - record.timeout_ms - AGE_MS)
    fields.done()
    return record


def _start_ms(state: TransactionState, now_ms: int) -> int:
    if state == TransactionState.EMPTY:
        return NONE
    return now_ms if state == TransactionState.ONGOING else now_ms - AGE_MS


def _number(fields: Fields, key: str, default: int) -> int:
    value = fields.take(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotRunnable(f"txn: {key} is {value!r}, not a number")
    return value

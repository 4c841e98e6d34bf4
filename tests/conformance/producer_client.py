"""A producer and whoever delivers its requests, so that the cases of TransactionManagerTest read as they are written.

Requests go by the short names of the checklist: FC, IO, APT, AOT, TOC, ET, Produce. Answers are given one by one.
"""

from collections.abc import Callable, Mapping

import pytest

from zombieproof.clients.batches import ProducerBatch, SentRecord
from zombieproof.clients.brokers import NEWEST_VERSIONS, Brokers
from zombieproof.clients.coordinator_answers import CoordinatorAnswer
from zombieproof.clients.errors import ProducerFailure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import Sender, SenderSettings
from zombieproof.clients.transaction_manager import TransactionManager
from zombieproof.clients.transactional_requests import TRANSACTION, GroupMetadata, OutgoingRequest
from zombieproof.formats.batches import Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import CoordinatorFound, OffsetsCommitted, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce, ProduceAnswer, Produced
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionAdded,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, ProducerState, Reaction

PID, EPOCH = 13131, 1
TP0, TP1 = ("test", 0), ("test", 1)
COORDINATOR, GROUP_COORDINATOR, LEADER = 1, 2, 3
GROUP = GroupMetadata("myConsumerGroup")
MEMBER = GroupMetadata("myConsumerGroup", generation=5, member="member", instance="instance")
OFFSETS = (OffsetToCommit(TP0, 1, ""), OffsetToCommit(TP1, 1, ""))

SHORT = {
    ApiKey.FIND_COORDINATOR: "FC",
    ApiKey.INIT_PRODUCER_ID: "IO",
    ApiKey.ADD_PARTITIONS_TO_TXN: "APT",
    ApiKey.ADD_OFFSETS_TO_TXN: "AOT",
    ApiKey.TXN_OFFSET_COMMIT: "TOC",
    ApiKey.END_TXN: "ET",
    ApiKey.PRODUCE: "Produce",
}

Errors = Error | Mapping[TopicPartition, Error]


def versions(**newest: int) -> dict[ApiKey, int]:
    """The newest versions of a broker that differs from the newest one in these."""
    return {**NEWEST_VERSIONS, **{ApiKey[name]: version for name, version in newest.items()}}


class Producer:
    """A `Sender` with a clock, a list of what left, and the requests that wait for an answer."""

    def __init__(
        self,
        transactional_id: str | None = "foobar",
        *,
        transaction_version: int = 1,
        rules: Rules | None = None,
        broker_versions: Mapping[ApiKey, int] = NEWEST_VERSIONS,
        settings: SenderSettings | None = None,
        two_phase_commit: bool = False,
    ) -> None:
        self.brokers = Brokers(broker_versions)
        self.brokers.learn_features(transaction_version, features_epoch=1)
        self.manager = TransactionManager(
            transactional_id, brokers=self.brokers, rules=rules, two_phase_commit=two_phase_commit
        )
        self.sender = Sender(self.manager, settings or SenderSettings(batch_records=1))
        self.sender.set_leaders({TP0: LEADER, TP1: LEADER})
        self.now_ms = 1_000
        self.left: list[str] = []
        self.out: dict[str, list[OutgoingRequest]] = {}
        self.last_left: OutgoingRequest | None = None

    # -------------------------------------------------------- delivery

    def sends(self) -> str | None:
        """The short name of the request that leaves now."""
        request = self.sender.next_request(self.now_ms)
        if request is None:
            return None
        name = SHORT[request.api]
        self.left.append(name)
        self.out.setdefault(name, []).append(request)
        self.last_left = request
        return name

    def wait(self, ms: int) -> None:
        self.now_ms += ms

    def leave(self, *names: str) -> None:
        """Exactly these leave next, one after the other; a repeated request may wait for its back-off first."""
        for name in names:
            sent = self.sends()
            if sent is None:
                self.wait(self.sender.settings.retry_backoff_ms)
                sent = self.sends()
            assert sent == name

    def request(self, name: str) -> OutgoingRequest:
        """The oldest request of this name that waits for its answer."""
        return self.out[name][0]

    def answer(self, name: str, error: Errors = Error.NONE, **fields: int) -> None:
        """The oldest outstanding request of this name is answered; `fields` as in the answer."""
        request = self.out[name].pop(0)
        self.sender.handle_answer(request, _answer(request, error, fields), self.now_ms)

    def exchange(self, name: str, error: Errors = Error.NONE, **fields: int) -> None:
        """A request of this name leaves next, and is answered."""
        self.leave(name)
        self.answer(name, error, **fields)

    def disconnect(self, name: str) -> None:
        """The connection closes before the oldest outstanding request of this name is answered."""
        self.sender.handle_disconnect(self.out[name].pop(0), self.now_ms)

    # -------------------------------------------------------- what is asked for

    def initialised(self) -> "Producer":
        """InitTransactions, waited for."""
        result = self.manager.init_transactions()
        self.exchange("FC")
        self.exchange("IO")
        result.acknowledge()
        assert self.state == ProducerState.READY
        self.left.clear()
        return self

    def in_transaction(self) -> "Producer":
        self.initialised().manager.begin_transaction()
        return self

    def with_partition(self, partition: TopicPartition = TP0) -> "Producer":
        """In a transaction that `partition` has joined; nothing was sent to it."""
        if self.state != ProducerState.IN_TRANSACTION:
            self.in_transaction()
        self.manager.add_partition(partition)
        self.exchange("APT")
        self.left.clear()
        return self

    def with_begun_transaction(self, partition: TopicPartition = TP0) -> "Producer":
        """The next transaction, joined by `partition`."""
        self.manager.begin_transaction()
        return self.with_partition(partition)

    def idempotent(self, producer_epoch: int = EPOCH) -> "Producer":
        """Without a transactional id, with a producer id."""
        self.exchange("IO", producer_epoch=producer_epoch)
        self.left.clear()
        return self

    def send(self, partition: TopicPartition = TP0) -> SentRecord:
        return self.sender.send(partition, Record(b"key", b"value"), self.now_ms)

    def send_now(self, partition: TopicPartition = TP0) -> SentRecord:
        """A record that leaves at once, in a batch of its own."""
        sent = self.send(partition)
        self.leave("Produce")
        return sent

    def send_offsets(self, group: GroupMetadata = GROUP) -> PendingResult:
        return self.manager.send_offsets(OFFSETS, group)

    def fatal(self, error: Error = Error.UNKNOWN_SERVER_ERROR) -> ProducerFailure:
        failure = ProducerFailure(error, "made by the test")
        self.manager.fail(Reaction.FATAL, NONE, failure)
        return failure

    def abortable(self, error: Error = Error.UNKNOWN_SERVER_ERROR) -> ProducerFailure:
        failure = ProducerFailure(error, "made by the test")
        self.manager.fail(Reaction.ABORTABLE, NONE, failure)
        return failure

    # -------------------------------------------------------- what is seen

    @property
    def state(self) -> int:
        return self.manager.state

    def coordinator(self) -> int | None:
        """The node that is believed to coordinate the transactional id."""
        return self.brokers.coordinators[TRANSACTION]

    @property
    def error(self) -> Error | None:
        """The code of the failure that explains an error state."""
        failure = self.manager.lifecycle.last_error
        return failure.error if isinstance(failure, ProducerFailure) else None

    @property
    def identity(self) -> tuple[int, int]:
        return self.manager.sequences.identity

    def is_ongoing(self) -> bool:
        """Whether the producer has a transaction that is not over."""
        return self.manager.lifecycle.has_ongoing_transaction

    def uses_v2(self) -> bool:
        return self.manager.transaction_version >= 2

    def can_raise_epoch(self) -> bool:
        return self.manager.can_raise_epoch

    def may_send_to(self, partition: TopicPartition) -> bool:
        """Whether a new batch of `partition` may leave."""
        manager, batch = self.manager, ProducerBatch(partition, self.manager.is_transactional, self.now_ms)
        return manager.sequences.may_leave(batch, manager.partitions.standing(partition), manager.host)

    def has_pending_offset_commits(self) -> bool:
        return self.manager.has_pending_offset_commits

    def next_sequence(self, partition: TopicPartition = TP0) -> int:
        """The sequence that the next new batch of `partition` gets."""
        sequences = self.manager.sequences
        known = sequences.of(partition)
        restarts = (known.producer_id, known.producer_epoch) != sequences.identity and not known.in_flight
        return 0 if restarts else known.next_sequence

    def in_flight(self, partition: TopicPartition = TP0) -> list[ProducerBatch]:
        return self.manager.sequences.of(partition).in_flight

    def calls(self) -> dict[str, Callable[[], object]]:
        """Every transactional call."""
        return {
            "init": self.manager.init_transactions,
            "begin": self.manager.begin_transaction,
            "send": self.send,
            "send offsets": self.send_offsets,
            "commit": self.manager.begin_commit,
            "abort": self.manager.begin_abort,
        }

    def every_call_raises(self, error: Error) -> None:
        for name, call in self.calls().items():
            with pytest.raises(ProducerFailure) as raised:
                call()
            assert raised.value.error == error, name
        assert self.sends() is None


def failed_with(result: PendingResult | SentRecord) -> Error | None:
    """The error code with which a call or record failed; None if it did not."""
    return result.error.error if isinstance(result.error, ProducerFailure) else None


def _answer(request: OutgoingRequest, error: Errors, fields: Mapping[str, int]) -> ProduceAnswer | CoordinatorAnswer:
    body = request.body
    if isinstance(body, Produce):
        rows = _each(body.partitions, error)
        usual = {"base_offset": 0, "log_start_offset": 0} | dict(fields)
        return ProduceAnswer({p: Produced(e, usual["base_offset"], usual["log_start_offset"]) for p, e in rows.items()})
    if isinstance(body, AddPartitionsToTxn):
        named = body.transactions[0]
        rows = _each(dict.fromkeys(named.partitions), error)
        return AddPartitionsToTxnAnswer(0, (TransactionAdded(named.transactional_id, rows),))
    if isinstance(body, TxnOffsetCommit):
        return OffsetsCommitted.of(_each({o.partition: None for o in body.offsets}, error))
    assert isinstance(error, Error), "this answer has one error"
    granted = error == Error.NONE
    if isinstance(body, InitProducerId):
        usual = {"producer_id": PID, "producer_epoch": EPOCH} | dict(fields)
        return InitProducerIdAnswer(error, **usual) if granted else InitProducerIdAnswer(error)
    if isinstance(body, EndTxn):
        return EndTxnAnswer(error, **fields)
    if request.api == ApiKey.ADD_OFFSETS_TO_TXN:
        return AddOffsetsToTxnAnswer(error)
    key_type = getattr(body, "key_type", NONE)
    return CoordinatorFound(error, fields.get("node", COORDINATOR if key_type == 1 else GROUP_COORDINATOR))


def _each(partitions: Mapping[TopicPartition, object], error: Errors) -> dict[TopicPartition, int]:
    if isinstance(error, Error):
        return dict.fromkeys(partitions, int(error))
    assert set(error) == set(partitions), f"the request names {sorted(partitions)}"
    return {partition: int(error[partition]) for partition in error}

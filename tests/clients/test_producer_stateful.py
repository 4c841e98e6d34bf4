"""Any calls, any answers: what no order of them may break."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.conformance.producer_client import SHORT, TP0, TP1, Producer, versions
from zombieproof.clients.batches import SentRecord
from zombieproof.clients.errors import IllegalState, ProducerFailure
from zombieproof.clients.results import PendingResult
from zombieproof.clients.sender import SenderSettings
from zombieproof.messages.partitions import Produce
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import Error, ProducerState

ERRORS = (
    Error.NONE,
    Error.NOT_COORDINATOR,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.REQUEST_TIMED_OUT,
    Error.CONCURRENT_TRANSACTIONS,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.UNKNOWN_PRODUCER_ID,
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_TXN_STATE,
    Error.TOPIC_AUTHORIZATION_FAILED,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Error.TRANSACTION_ABORTABLE,
    Error.MESSAGE_TOO_LARGE,
    Error.DUPLICATE_SEQUENCE_NUMBER,
)

PATIENCE = 100
"""Answers after which a producer whose every request succeeds must have nothing left to do."""


class AnyProducer(RuleBasedStateMachine):
    """One producer, an application that does what it likes, and brokers that answer what they like."""

    @initialize(
        transactional_id=st.sampled_from(["foobar", None]),
        transaction_version=st.sampled_from([1, 2]),
        release=st.sampled_from(["newest", "3.9", "2.4"]),
        init_version=st.sampled_from([1, 5]),
    )
    def begin(self, transactional_id: str | None, transaction_version: int, release: str, init_version: int) -> None:
        self.producer = Producer(
            transactional_id,
            transaction_version=transaction_version if release == "newest" else 1,
            rules=preset(release),
            broker_versions=versions(INIT_PRODUCER_ID=init_version),
            settings=SenderSettings(delivery_timeout_ms=2_000, request_timeout_ms=1_000, batch_records=2),
        )
        self.results: list[PendingResult] = []
        self.records: list[SentRecord] = []
        self.granted = 0

    @rule(name=st.sampled_from(["init", "begin", "send", "send offsets", "commit", "abort"]))
    def call(self, name: str) -> None:
        before = self.producer.state
        try:
            made = self.producer.calls()[name]()
        except (IllegalState, ProducerFailure):
            assert self.producer.state == before, "a refused call changes nothing"
        else:
            if isinstance(made, PendingResult):
                self.results.append(made)
            elif isinstance(made, SentRecord):
                self.records.append(made)

    @rule(partition=st.sampled_from([TP0, TP1]))
    def send(self, partition: tuple[str, int]) -> None:
        try:
            self.records.append(self.producer.send(partition))
        except (IllegalState, ProducerFailure):
            return

    @rule()
    def see_results(self) -> None:
        for result in self.results:
            if result.is_completed:
                try:
                    result.acknowledge()
                except (IllegalState, ProducerFailure):
                    continue

    @rule()
    def deliver(self) -> None:
        self.producer.sends()

    def under_way(self) -> list[str]:
        return [name for name, requests in self.producer.out.items() if requests]

    def reply(self, name: str, error: Error) -> None:
        fields = {}
        granted = error == Error.NONE
        if granted and (name == "IO" or (name == "ET" and self.producer.uses_v2())):
            self.granted += 1
            fields = {"producer_id": 1, "producer_epoch": self.granted}
        self.producer.answer(name, error, **fields)

    @precondition(lambda self: self.under_way())
    @rule(data=st.data(), error=st.sampled_from(ERRORS))
    def answer(self, data: st.DataObject, error: Error) -> None:
        if error == Error.TRANSACTION_ABORTABLE and not self.producer.manager.is_transactional:
            error = Error.NONE  # nobody says so without a transaction
        self.reply(data.draw(st.sampled_from(self.under_way())), error)

    @precondition(lambda self: self.under_way())
    @rule(data=st.data())
    def disconnect(self, data: st.DataObject) -> None:
        self.producer.disconnect(data.draw(st.sampled_from(self.under_way())))

    @rule(ms=st.sampled_from([20, 100, 1_000, 3_000]))
    def wait(self, ms: int) -> None:
        self.producer.wait(ms)

    @invariant()
    def an_error_state_has_its_reason_and_no_other_state_has_one(self) -> None:
        lifecycle = self.producer.manager.lifecycle
        assert lifecycle.has_error == (lifecycle.last_error is not None)

    @invariant()
    def no_answer_poisons_the_producer(self) -> None:
        assert not isinstance(self.producer.manager.lifecycle.last_error, IllegalState)

    @invariant()
    def batches_of_one_identity_follow_each_other(self) -> None:
        for partition in (TP0, TP1):
            known = self.producer.manager.sequences.of(partition)
            for one, other in zip(known.in_flight, known.in_flight[1:], strict=False):
                assert one.base_sequence + len(one.records) <= other.base_sequence
            if known.in_flight:
                last = known.in_flight[-1]
                assert last.base_sequence + len(last.records) <= known.next_sequence

    @invariant()
    def nothing_is_sent_without_an_identity(self) -> None:
        for request in self.producer.out.get("Produce", []):
            assert isinstance(request.body, Produce)
            for batches in request.body.partitions.values():
                assert min(batches[0].batch.producer_id, batches[0].batch.base_sequence) >= 0

    def teardown(self) -> None:
        """Left alone with brokers that only say yes, everything that was begun comes to an end."""
        producer = self.producer
        for _ in range(PATIENCE):
            for name in self.under_way():
                self.reply(name, Error.NONE)
            if producer.sends() is None and not self.under_way():
                producer.wait(100)
        assert all(result.is_completed for result in self.results), producer.left
        assert all(record.is_done for record in self.records) or self.waits_for_a_partition(), producer.left
        assert producer.state != ProducerState.INITIALIZING
        assert set(producer.left) <= set(SHORT.values())

    def waits_for_a_partition(self) -> bool:
        """Without a transactional id nothing starts over by itself once its producer id is refused."""
        return not self.producer.manager.sequences.has_producer_id


AnyProducer.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestAnyProducer = AnyProducer.TestCase

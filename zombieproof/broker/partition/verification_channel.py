"""How the leaders of a broker ask transaction coordinators: AddPartitionsToTxn among brokers (KIP-890).

Behaviour: questions wait by coordinator node, one for each transactional id: a later one takes the place of an earlier
one, which is told so. All that wait for a node go out in one request; the next goes out when that is answered. The mode
that counts for the answers of a request is that of the question that waited first, as in Kafka.
Source: reference §3.4 (steps 3 to 5); ``AddPartitionsToTxnManager.java``.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnAnswer, TransactionToAdd
from zombieproof.model.decisions.verification import (
    ChannelFailure,
    answer_of_broker_channel,
    answer_of_coordinator,
    answer_of_failed_channel,
    decide_queue,
    version_of_verification,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Guard, Mode

DECISION = "verification"


@dataclass(frozen=True, slots=True)
class Question:
    """Whether partitions are in a transaction (mode ADD: let them be); `ticket` is the asker's own."""

    ticket: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    mode: Mode


class Verified(NamedTuple):
    """The answer to a question: an error for each partition, translated for the leader; NONE where it may append."""

    ticket: int
    errors: dict[TopicPartition, int]


class VerificationRequest(NamedTuple):
    """A request to send to a coordinator node now; it is `answered` by its lane, of which a node has one."""

    node: int
    request: AddPartitionsToTxn
    lane: int


@dataclass(slots=True)
class VerificationChannel:
    """The questions of one broker, as plain data; the keys are coordinator nodes and transactional ids."""

    rules: Rules
    journal: Journal = field(repr=False, compare=False)
    waiting: dict[int, dict[str, Question]] = field(default_factory=dict)
    in_flight: dict[int, dict[str, Question]] = field(default_factory=dict)
    modes: dict[int, Mode] = field(default_factory=dict)
    modes_in_flight: dict[int, Mode] = field(default_factory=dict)

    def ask(self, node: int | None, question: Question) -> list[Verified]:
        """Let a question wait for coordinator `node` (None: there is none); who is answered by that at once."""
        if node is None:
            return [self._same(question, Error.COORDINATOR_NOT_AVAILABLE)]
        queue = self.waiting.setdefault(node, {})
        if not queue:
            self.modes[node] = question.mode
        waits = queue.get(question.transactional_id)
        verdict = decide_queue(NONE if waits is None else waits.producer_epoch, question.producer_epoch)
        if verdict.error_of_incoming != Error.NONE:
            return [self._same(question, verdict.error_of_incoming)]
        queue.pop(question.transactional_id, None)
        queue[question.transactional_id] = question
        return [] if waits is None else [self._same(waits, verdict.error_of_queued)]

    def drain(self) -> list[VerificationRequest]:
        """The requests to send now: one to each node that has none under way."""
        requests = []
        for node in [node for node in self.waiting if node not in self.in_flight]:
            questions = self.waiting.pop(node)
            self.in_flight[node] = questions
            self.modes_in_flight[node] = self.modes.pop(node)
            transactions = tuple(_as_transaction(question) for question in questions.values())
            requests.append(
                VerificationRequest(node, AddPartitionsToTxn(version_of_verification(self.rules), transactions), node)
            )
        return requests

    def answered(self, lane: int, answer: AddPartitionsToTxnAnswer | ChannelFailure) -> list[Verified]:
        """The request under way in a lane was answered, or never will be. Without such a request nothing happens."""
        questions = self.in_flight.pop(lane, {})
        mode = self.modes_in_flight.pop(lane, Mode.DEFAULT)
        if isinstance(answer, ChannelFailure):
            return [self._same(question, answer_of_failed_channel(answer)) for question in questions.values()]
        if answer.error != Error.NONE:
            return [self._same(question, answer_of_broker_channel(answer.error)) for question in questions.values()]
        verified = []
        for transaction in answer.transactions:
            question = questions.get(transaction.transactional_id or "")
            if question is not None:
                told = {tp: answer_of_coordinator(error, mode) for tp, error in transaction.errors.items()}
                verified.append(self._tell(question, {**dict.fromkeys(question.partitions, 0), **told}))
        return verified

    def _same(self, question: Question, error: int) -> Verified:
        return self._tell(question, dict.fromkeys(question.partitions, int(error)))

    def _tell(self, question: Question, errors: dict[TopicPartition, int]) -> Verified:
        for partition, error in errors.items():
            self.journal.decided(DECISION, Guard.NO_GUARD, error, f"{question.transactional_id} {partition}")
        return Verified(question.ticket, errors)


def _as_transaction(question: Question) -> TransactionToAdd:
    return TransactionToAdd(
        question.transactional_id,
        question.producer_id,
        question.producer_epoch,
        question.partitions,
        verify_only=question.mode != Mode.ADD,
    )

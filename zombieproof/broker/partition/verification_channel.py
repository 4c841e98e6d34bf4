"""How the leaders of a broker ask transaction coordinators: AddPartitionsToTxn among brokers (KIP-890).

Behaviour: questions wait by coordinator node, one for each transactional id: a later one takes the place of an earlier
one, which is told so. All that wait for a node go out in one request; the next goes out when that is answered. The mode
that counts for the answers of a request is that of the question that waited first, as in Kafka.
Source: reference §3.4 (steps 3 to 5); ``AddPartitionsToTxnManager.java``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnAnswer, TransactionToAdd
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Mode
from zombieproof.statemachines.partition_leader import questions
from zombieproof.statemachines.partition_leader.questions import ChannelFailure, Incoming, Lane, Returned


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
    lanes: dict[int, Lane] = field(default_factory=dict)
    waiting: dict[int, dict[str, Question]] = field(default_factory=dict)
    in_flight: dict[int, dict[str, Question]] = field(default_factory=dict)

    def ask(self, node: int | None, question: Question) -> list[Verified]:
        """Let a question wait for coordinator `node` (None: there is none); who is answered by that at once."""
        key = NONE if node is None else node
        queue, lane = self.waiting.get(key, {}), self.lanes.get(key) or Lane()
        waits = queue.get(question.transactional_id)
        queued_epoch = NONE if waits is None else waits.producer_epoch
        incoming = Incoming(queued_epoch, question.producer_epoch, question.mode)
        verdict = questions.asks(lane, node is not None, incoming)
        if verdict.error_of_incoming != Error.NONE:
            return [self._same(question, verdict.error_of_incoming)]
        self.lanes[key], self.waiting[key] = lane, queue
        queue.pop(question.transactional_id, None)
        queue[question.transactional_id] = question
        return [] if waits is None else [self._same(waits, verdict.error_of_queued)]

    def drain(self) -> list[VerificationRequest]:
        """The requests to send now: one to each node that has none under way."""
        requests = []
        for node, lane in self.lanes.items():
            if lane.sends:
                questions.goes_out(lane)
                asked = self.in_flight[node] = self.waiting.pop(node)
                transactions = tuple(_as_transaction(question) for question in asked.values())
                requests.append(
                    VerificationRequest(node, AddPartitionsToTxn(questions.version_of(self.rules), transactions), node)
                )
        return requests

    def answered(self, lane: int, answer: AddPartitionsToTxnAnswer | ChannelFailure) -> list[Verified]:
        """The request under way in a lane was answered, or never will be. Without such a request nothing happens."""
        asked = self.in_flight.pop(lane, None)
        if asked is None:
            return []
        mode = questions.ends(self.lanes[lane], self.rules)
        if lane not in self.waiting:
            del self.lanes[lane]
        if isinstance(answer, ChannelFailure):
            return [self._verified(question, Returned(answer, Error.NONE), {}, mode) for question in asked.values()]
        returned = Returned(NONE, answer.error)
        if answer.error != Error.NONE:
            return [self._verified(question, returned, {}, mode) for question in asked.values()]
        answered = ((asked.get(each.transactional_id or ""), each.errors) for each in answer.transactions)
        return [
            self._verified(question, returned, errors, mode) for question, errors in answered if question is not None
        ]

    def _verified(
        self, question: Question, returned: Returned, errors: Mapping[TopicPartition, int], mode: int
    ) -> Verified:
        """The word on each partition; one of which an answer says nothing may be written to."""
        answers = {}
        for partition in question.partitions:
            answers[partition] = questions.word(returned, errors.get(partition, 0), mode, self.journal.begin())
            self.journal.take(f"{question.transactional_id} {partition}")
        return Verified(question.ticket, answers)

    def _same(self, question: Question, error: int) -> Verified:
        """A question that was refused, or gave its place to another: the same word on each partition."""
        answers = {}
        for partition in question.partitions:
            answers[partition] = questions.answered(error, self.journal.begin())
            self.journal.take(f"{question.transactional_id} {partition}")
        return Verified(question.ticket, answers)


def _as_transaction(question: Question) -> TransactionToAdd:
    return TransactionToAdd(
        question.transactional_id,
        question.producer_id,
        question.producer_epoch,
        question.partitions,
        verify_only=questions.only_verifies(question.mode),
    )

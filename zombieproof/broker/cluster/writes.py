"""Writes of clients that may have to wait for the word of a transaction's coordinator: Produce and TxnOffsetCommit.

Theory of operation: a write that has to ask waits under its ticket, and its question goes into the channel to the
coordinator's node, which sends one request at a time. A question that is replaced, refused, answered or lost ends the
wait, but for one whose answer says that the transaction before is still being completed: that is asked again when the
coordinator here has written something of the id, and after `add_partitions_to_txn_retry_backoff_ms` in any case. What
the write then appends is answered when it is durable.
Source: reference §3.2 to §3.4; ``KafkaApis.handleProduceRequest``, ``AddPartitionsToTxnManager.java``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zombieproof.broker.cluster.desk import Desk
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.cluster.operations import (
    AskAgain,
    InProgress,
    Need,
    QuestionsUnderWay,
    WriteUnderWay,
    needs_of_produce,
)
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition.produce import PartitionsToVerify
from zombieproof.broker.partition.verification_channel import Question, VerificationChannel, Verified
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import ProduceAnswer
from zombieproof.messages.transactions import AddPartitionsToTxnAnswer
from zombieproof.statemachines.partition_leader.questions import ChannelFailure


@dataclass(slots=True)
class Writes:
    """The writes of one broker."""

    desk: Desk
    metadata: Metadata
    channel: VerificationChannel

    def start(self, number: int, work: InProgress) -> None:
        """Begin a write: ask the transaction's coordinator, or go through at once."""
        self._ask(number, work, self._question(work), self.desk.clock.now_ms())

    def ask_again(self, waited: AskAgain) -> None:
        """The time of a question has come once more."""
        question = next(iter(waited.work.ask_again(self.desk.partitions.replica)), None)
        self._ask(waited.number, waited.work, question, waited.since_ms)

    def _ask(self, number: int, work: InProgress, question: PartitionsToVerify | None, since_ms: int) -> None:
        if question is None or question.transactional_id is None:
            self._finish(number, work)
            return
        name = question.transactional_id
        leader = self.metadata.leader_of(self.metadata.transaction_partition(name))
        ticket = self.desk.waits.add(WriteUnderWay(number, work, since_ms), (), FOR_EVER)
        asked = Question(ticket, name, *question[1:])
        self._tell(self.channel.ask(leader.node, asked))
        self._send()

    def handle_answer(self, operation: QuestionsUnderWay, answer: Answer | None) -> None:
        """A coordinator's node has answered, or never will: so do those who have asked; then the next may."""
        word = answer if isinstance(answer, AddPartitionsToTxnAnswer) else ChannelFailure.DISCONNECTED
        self._tell(self.channel.answered(operation.sent.lane, word))
        self._send()

    def _question(self, work: InProgress) -> PartitionsToVerify | None:
        if isinstance(work, OffsetCommitInProgress):
            return work.start()
        return next(iter(work.start(self.desk.partitions.replica, self.metadata.exists)), None)

    def _send(self) -> None:
        for sent in self.channel.drain():
            self.desk.ask(sent.node, sent.request, QuestionsUnderWay(sent))

    def _tell(self, verified: Iterable[Verified]) -> None:
        for ticket, errors in verified:
            write = self.desk.waits.remove(ticket)
            if isinstance(write, WriteUnderWay) and not self._waits_again(write, errors):
                write.work.handle_verification(errors)
                self._finish(write.number, write.work)

    def _waits_again(self, write: WriteUnderWay, errors: Mapping[TopicPartition, int]) -> bool:
        """Whether the write will ask again, when there may be another answer."""
        work, now_ms = write.work, self.desk.clock.now_ms()
        if isinstance(work, OffsetCommitInProgress) or not work.asks_again(errors, now_ms - write.since_ms):
            return False
        keys = () if work.request.transactional_id is None else (work.request.transactional_id,)
        again = AskAgain(write.number, work, write.since_ms)
        self.desk.waits.add(again, keys, now_ms + self.desk.settings.add_partitions_to_txn_retry_backoff_ms)
        return True

    def _finish(self, number: int, work: InProgress) -> None:
        if isinstance(work, OffsetCommitInProgress):
            self.answer_for_groups(number, (work.request.group,), work.finish())
            return
        answer = work.finish(self.desk.partitions.replica)
        if not isinstance(answer, ProduceAnswer):
            self.desk.answer(number, answer)
            return
        least = self.desk.settings.min_insync_replicas
        self.desk.answer_when_durable(
            number, answer, needs_of_produce(work.request, answer, least, self.desk.partitions)
        )

    def answer_for_groups(self, number: int, groups: Iterable[str], answer: Answer) -> None:
        """What a group coordinator says depends on everything that it has written."""
        places = {self.metadata.group_partition(group): None for group in groups}
        replicas = {partition: self.desk.partitions.replicas.get(partition) for partition in places}
        needs = tuple(
            Need(partition, replica.log.end_offset)
            for partition, replica in replicas.items()
            if replica is not None and replica.leads
        )
        self.desk.answer_when_durable(number, answer, needs)

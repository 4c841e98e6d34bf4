"""A leader's question to a coordinator, through the channel between them."""

from collections.abc import Mapping

from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.group.offsets_commit import OffsetCommitInProgress
from zombieproof.broker.partition.produce import PartitionsToVerify
from zombieproof.broker.partition.verification_channel import Question, VerificationChannel
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import AddPartitionsToTxnAnswer, TransactionAdded
from zombieproof.model.rules import Rules
from zombieproof.statemachines.partition_leader.questions import ChannelFailure

Word = int | Mapping[TopicPartition, int] | AddPartitionsToTxnAnswer | ChannelFailure
"""What a coordinator says of all partitions, or of each; or another answer, or why there is none."""


def told(question: PartitionsToVerify, word: Word = 0) -> dict[TopicPartition, int]:
    """What the leader hears when the coordinator says `word`."""
    assert question.transactional_id is not None
    channel = VerificationChannel(Rules(), Journal())
    assert channel.ask(1, Question(0, question.transactional_id, *question[1:])) == []
    (sent,) = channel.drain()
    if not isinstance(word, AddPartitionsToTxnAnswer | ChannelFailure):
        errors = {of: word if isinstance(word, int) else word.get(of, 0) for of in question.partitions}
        word = AddPartitionsToTxnAnswer(0, (TransactionAdded(question.transactional_id, errors),))
    (verified,) = channel.answered(sent.lane, word)
    return verified.errors


def was_asked(work: OffsetCommitInProgress, word: Word = 0) -> bool:
    """Begin a commit; if the coordinator is asked, it says `word`."""
    question = work.start()
    if question is not None:
        work.handle_verification(told(question, word))
    return question is not None

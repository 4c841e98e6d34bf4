"""What the answer of a coordinator says, as a step reads it: the errors of many partitions weighed, and come to one.

Source: reference §5.5; the handlers in ``TransactionManager.java``.
"""

from collections.abc import Mapping

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import CoordinatorFound, OffsetsCommitted
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
)
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.producer.answers import weigh
from zombieproof.statemachines.producer.records import Answer

CoordinatorAnswer = (
    CoordinatorFound
    | InitProducerIdAnswer
    | AddPartitionsToTxnAnswer
    | AddOffsetsToTxnAnswer
    | OffsetsCommitted
    | EndTxnAnswer
)


def errors_of(answer: CoordinatorAnswer) -> Mapping[TopicPartition, int]:
    """The errors of the partitions that an answer names."""
    if isinstance(answer, AddPartitionsToTxnAnswer):
        return {p: e for added in answer.transactions for p, e in added.errors.items()}
    return answer.errors if isinstance(answer, OffsetsCommitted) else {}


def read(api: ApiKey, answer: CoordinatorAnswer, rules: Rules) -> Answer:
    """The answer to a request of this kind.

    Raises:
        TypeError: it is the answer to another kind of request.
    """
    match api, answer:
        case (ApiKey.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnAnswer()) | (
            ApiKey.TXN_OFFSET_COMMIT,
            OffsetsCommitted(),
        ):
            total = int(Error.NONE)
            for error in errors_of(answer).values():
                total = weigh(api, total, error, rules)
            return Answer(total)
        case ApiKey.INIT_PRODUCER_ID, InitProducerIdAnswer():
            granted = (answer.producer_id, answer.producer_epoch)
            return Answer(answer.error, *granted, answer.ongoing_producer_id, answer.ongoing_producer_epoch)
        case ApiKey.END_TXN, EndTxnAnswer():
            return Answer(answer.error, answer.producer_id, answer.producer_epoch)
        case (ApiKey.FIND_COORDINATOR, CoordinatorFound()) | (ApiKey.ADD_OFFSETS_TO_TXN, AddOffsetsToTxnAnswer()):
            assert not isinstance(answer, OffsetsCommitted | AddPartitionsToTxnAnswer), "they are above"
            return Answer(answer.error)
        case _:
            raise TypeError(f"{type(answer).__name__} is no answer to {api.name}")

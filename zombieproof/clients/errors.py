"""What a producer tells its application: one class for each kind of failure that calls for another reaction.

Source: reference §5.2, §5.5; clients ``org.apache.kafka.common.errors``; KIP-1050.
"""

from collections.abc import Mapping

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.error_advice import NOT_FOR_THE_NEXT_EITHER, next_step
from zombieproof.messages.groups import FindCoordinator, TxnOffsetCommit
from zombieproof.model.vocabulary import ApiKey, Error


class IllegalState(RuntimeError):
    """A call that is not allowed now: the message says what is, and why. Nothing was changed."""


class ProducerFailure(Exception):
    """A failure with the error code that a broker gave or that describes it best."""

    def __init__(self, error: int, message: str = "") -> None:
        self.error, self.message = Error(error), message
        super().__init__(f"{self.error.name}: {message}" if message else self.error.name)


class AbortableError(ProducerFailure):
    """The transaction can only be aborted, and then the producer can go on. `__cause__` is what happened."""


class FatalError(ProducerFailure):
    """The producer is at its end, and is to be closed. `__cause__` is what happened, if that is another error."""


class ApplicationRecoverable(FatalError):
    """This producer is at its end, and a new one can go on: the application starts again from what is committed."""


class InvalidConfiguration(FatalError):
    """This producer is at its end, and so would be the next one: rights, settings or releases have to be changed."""


class ProducerFenced(ApplicationRecoverable):
    """A newer instance took the transactional id, or its transaction timed out: close this producer."""

    def __init__(self, message: str = "a newer producer has the transactional id; close this one") -> None:
        super().__init__(Error.PRODUCER_FENCED, message)


class TopicAuthorizationFailed(ProducerFailure):
    """The producer may not write to `topics`."""

    def __init__(self, topics: frozenset[str]) -> None:
        self.topics = topics
        super().__init__(Error.TOPIC_AUTHORIZATION_FAILED, f"no right to write to {', '.join(sorted(topics))}")


class GroupAuthorizationFailed(ProducerFailure):
    """The producer may not commit offsets of `group`."""

    def __init__(self, group: str) -> None:
        self.group = group
        super().__init__(Error.GROUP_AUTHORIZATION_FAILED, f"no right to commit offsets of group {group}")


class CommitFailed(ProducerFailure):
    """The consumer whose offsets were committed is no longer a member of its group, or of another generation."""


class UnsupportedVersion(ProducerFailure):
    """The broker does not know the request, or not in a version that can say what is to be said."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.UNSUPPORTED_VERSION, message)


class TransactionAbortable(ProducerFailure):
    """The transaction cannot go on and can be aborted; `__cause__` is what happened to a batch, if that was it."""

    def __init__(self, message: str = "the transaction can only be aborted") -> None:
        super().__init__(Error.TRANSACTION_ABORTABLE, message)


class TransactionAborted(ProducerFailure):
    """A record was not sent because its transaction was aborted first."""

    def __init__(self) -> None:
        super().__init__(Error.UNKNOWN_SERVER_ERROR, "the transaction was aborted before the record was sent")


class DeliveryTimedOut(ProducerFailure):
    """A record was not acknowledged within its delivery time; whether it was stored is not known if it was sent."""

    def __init__(self, partition: TopicPartition, waited_ms: int) -> None:
        topic, number = partition
        super().__init__(Error.REQUEST_TIMED_OUT, f"{topic}-{number}: not acknowledged within {waited_ms} ms")


class InitialisationRefused(ProducerFailure):
    """The producer has no right to its transactional id, or to be one: it may try again once it has."""


class OutcomeUnknown(ProducerFailure):
    """Records were sent, not acknowledged, and cannot be sent again: nobody knows whether they are stored."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(Error.UNKNOWN_SERVER_ERROR, f"{partition[0]}-{partition[1]}: not known what was stored")


class ProducerClosed(ProducerFailure):
    """The producer was closed before the work was done."""

    def __init__(self) -> None:
        super().__init__(Error.UNKNOWN_SERVER_ERROR, "the producer was closed by force")


class InErrorState(ProducerFailure):
    """A transactional call after a failure; `__cause__` is that failure, and `error` its code."""

    def __init__(self, cause: ProducerFailure) -> None:
        super().__init__(cause.error, f"the producer is in an error state: {cause}")
        self.__cause__ = cause


class CallTimedOut(ProducerFailure):
    """A call was not over in time. It goes on, and nobody knows yet how it ends."""

    def __init__(self, operation: str, waited_ms: int) -> None:
        self.operation = operation
        super().__init__(
            Error.REQUEST_TIMED_OUT,
            f"{operation} was not over within max.block.ms {waited_ms}; whether it took effect is not known: call "
            f"{operation} again, which goes on waiting, or close the producer",
        )


class TopicUnknown(ProducerFailure):
    """Nobody has told of the topic of a record in time: it was not sent."""

    def __init__(self, topic: str, waited_ms: int) -> None:
        super().__init__(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} was not found within max.block.ms {waited_ms}: create it"
        )


class BufferExhausted(ProducerFailure):
    """There was no room for a record in time: it was not sent."""

    def __init__(self, size: int, waited_ms: int) -> None:
        super().__init__(
            Error.REQUEST_TIMED_OUT,
            f"no room for a record of {size} bytes in buffer.memory within max.block.ms {waited_ms}: send more slowly, "
            "or raise buffer.memory",
        )


class RecordTooLarge(ProducerFailure):
    """A record is larger than a request may be: it was not sent."""

    def __init__(self, size: int, setting: str, limit: int) -> None:
        super().__init__(
            Error.MESSAGE_TOO_LARGE, f"a record of {size} bytes is larger than {setting} {limit}: make it smaller"
        )


Failure = ProducerFailure | IllegalState


def as_told(failure: Failure, *, is_fatal: bool) -> Failure:
    """The failure as an application gets it, which is told what to do next.

    `is_fatal`: the producer is at its end; otherwise only the transaction is.
    """
    if isinstance(failure, IllegalState | FatalError | AbortableError | InitialisationRefused):
        return failure
    if isinstance(failure, InErrorState) and isinstance(failure.__cause__, FatalError | AbortableError):
        return failure.__cause__
    cause = failure.__cause__ if isinstance(failure, InErrorState) else failure
    what = cause.message if isinstance(cause, ProducerFailure) else ""
    told: ProducerFailure
    told_to = f"{what}; {next_step(failure.error, is_fatal=is_fatal)}"
    if not is_fatal:
        told = AbortableError(failure.error, told_to)
    elif failure.error in NOT_FOR_THE_NEXT_EITHER:
        told = InvalidConfiguration(failure.error, told_to)
    else:
        told = ApplicationRecoverable(failure.error, told_to)
    told.__cause__ = cause
    return told


def failure_of_answer(
    api: int, error: int, body: object, errors: Mapping[TopicPartition, int], *, starts_over: bool
) -> ProducerFailure:
    """The failure that `error` in a coordinator's answer is; `errors` are those of its partitions, if it has any.

    `starts_over`: an initialisation that was refused for lack of rights.
    """
    if error in (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED):
        return ProducerFenced()
    if error == Error.TRANSACTION_ABORTABLE:
        return TransactionAbortable()
    if starts_over:
        return InitialisationRefused(error, "ask for the right, and initialise again")
    if error == Error.UNSUPPORTED_VERSION:
        return UnsupportedVersion(f"the broker refused {ApiKey(api).name}")
    if error == Error.TOPIC_AUTHORIZATION_FAILED and api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return TopicAuthorizationFailed(frozenset(p[0] for p, e in errors.items() if e == error))
    if error == Error.GROUP_AUTHORIZATION_FAILED:
        group = body.key if isinstance(body, FindCoordinator) else getattr(body, "group", "")
        return GroupAuthorizationFailed(group)
    membership = (
        Error.UNKNOWN_MEMBER_ID,
        Error.ILLEGAL_GENERATION,
        Error.GROUP_ID_NOT_FOUND,
        Error.STALE_MEMBER_EPOCH,
    )
    if isinstance(body, TxnOffsetCommit) and error in membership:
        return CommitFailed(error, f"group {body.group} has gone on without this consumer")
    return ProducerFailure(error, f"in answer to {ApiKey(api).name}")


def failure_of_batch(error: int, partition: TopicPartition) -> ProducerFailure:
    """The failure that `error` in the answer to a batch is."""
    topic, number = partition
    if error == Error.TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationFailed(frozenset({topic}))
    if error == Error.PRODUCER_FENCED:
        return ProducerFenced()
    if error == Error.TRANSACTION_ABORTABLE:
        return TransactionAbortable()
    return ProducerFailure(error, f"in answer to Produce for {topic}-{number}")

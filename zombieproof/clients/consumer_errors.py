"""What a consumer tells its application: one class for each kind of failure that calls for another reaction.

Source: clients ``org.apache.kafka.clients.consumer``, ``org.apache.kafka.common.errors``; KIP-447, KIP-1050.
"""

from collections.abc import Iterable

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import Error


class ConsumerFailure(Exception):
    """A failure with the error code that a broker gave, or that describes it best; `todo`: what to do next."""

    todo = "close the consumer"

    def __init__(self, error: int, message: str) -> None:
        self.error = Error(error)
        super().__init__(f"{self.error.name}: {message}; {self.todo}")


class CommitRefused(ConsumerFailure):
    """The consumer is no longer a member of its group, or not in this generation: others read what it read."""

    todo = "nothing was committed: poll to join again, and take what was read since the last commit for not processed"


class RebalanceUnderWay(ConsumerFailure):
    """The group rebalances: offsets are committed when that is over."""

    todo = "poll until the rebalance is over, then commit what is still assigned"


class FencedInstance(ConsumerFailure):
    """Another consumer has this group.instance.id now."""

    todo = "close this consumer: the other one has its place"


class GroupRefused(ConsumerFailure):
    """The group does not take the consumer: its right, name, session time-out or assignors are none."""

    todo = "nothing was changed: repair that, and begin with another consumer"


class TimedOut(ConsumerFailure):
    """No broker has answered for so long; whether it was done is not known."""

    todo = "call again, or give it more time (default.api.timeout.ms)"

    def __init__(self, what: str, timeout_ms: int) -> None:
        super().__init__(Error.REQUEST_TIMED_OUT, f"{what} was not over within {timeout_ms} ms")


class NoOffset(ConsumerFailure):
    """Partitions have no committed offset, or one that is not there, and auto.offset.reset is none."""

    todo = "seek, or set auto.offset.reset to earliest or latest"

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = frozenset(partitions)
        names = ", ".join(f"{topic}-{number}" for topic, number in sorted(self.partitions))
        super().__init__(Error.OFFSET_OUT_OF_RANGE, f"{names}: there is no offset to begin at")


class ReadRefused(ConsumerFailure):
    """A leader does not let the consumer read a partition."""

    todo = "nothing was read: repair that, and poll again"

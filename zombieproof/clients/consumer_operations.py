"""What a call of a consumer is while it is under way, and what an application gives and is told.

Theory of operation: a call is a generator that yields what it waits for (`Wait`), and what of the application is to be
called (`Call`); whoever drives it waits and calls in its own way.
Source: ``ConsumerRebalanceListener.java``.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from zombieproof.clients.errors import IllegalState
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition

T = TypeVar("T")

Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]


class Wait(NamedTuple):
    """What a call waits for, and how long at most (ms)."""

    is_over: Callable[[], bool]
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Call:
    """Something of the application that is to be called, and to be awaited where it has to be."""

    action: Callable[[], object]


Operation = Generator[Wait | Call, bool, T]
"""A call that is under way; it is sent whether what it waits for has come."""


class RebalanceListener(Protocol):
    """What an application does when partitions come and go. It may commit in each of the first two."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> object:
        """These are read now besides."""
        ...

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> object:
        """These are read no more; nobody else reads them yet."""
        ...

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> object:
        """These may be read by somebody else already: nothing can be committed for them."""
        ...


def as_offset(at: int | OffsetAndMetadata) -> OffsetAndMetadata:
    """An offset, with metadata or without.

    Raises:
        IllegalState: it is below 0.
    """
    found = at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at)
    if found.offset < 0:
        raise IllegalState(f"offset {found.offset} is none: offsets begin at 0")
    return found

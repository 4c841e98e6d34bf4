"""What a consumer and its membership of a group say to each other, whichever protocol the group speaks.

Theory of operation: a membership works in the background; it never calls the application. `wants_preparation` says that
the application has to give partitions back before the member joins (again): `begin` goes on. What was assigned is in
`news` until `taken`. `is_lost` says that what the member had is somebody else's, or may be: the application is told,
then `begin` begins anew.
"""

from collections.abc import Iterable
from typing import Protocol

from zombieproof.clients.tasks import Task
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.formats.topics import TopicPartition


class Membership(Protocol):
    """A member of a group."""

    is_lost: bool
    news: tuple[TopicPartition, ...] | None

    @property
    def wants_preparation(self) -> bool:
        """Whether it is to join, and nothing is under way."""
        ...

    @property
    def keeps_partitions(self) -> bool:
        """Whether a member keeps what it has while it joins again (KIP-429, KIP-848)."""
        ...

    @property
    def metadata(self) -> GroupMetadata:
        """Who the member is, as a commit says it."""
        ...

    def subscribe(self, topics: Iterable[str]) -> None:
        """It reads these topics from the next generation on."""
        ...

    def is_polled(self) -> None:
        """The application waits for records: it lives."""
        ...

    def look(self) -> None:
        """The application has asked for records.

        Raises:
            ConsumerFailure: the group does not take the member, or another one has its instance.
        """
        ...

    def begin(self, owned: Iterable[TopicPartition]) -> None:
        """Join; `owned` is what the member keeps meanwhile."""
        ...

    def taken(self, partitions: Iterable[TopicPartition], *, gave_back: bool) -> None:
        """The application has `partitions` now; `gave_back`: it had some that it has not any more."""
        ...

    def forget(self) -> None:
        """It is no member any more, for all that it knows: what it had is lost."""
        ...

    def stop(self) -> None:
        """Nothing goes on in the background."""
        ...

    def leave(self) -> Task[None] | None:
        """The others are told that it goes, where that is the way (the task does it); nothing else goes on."""
        ...

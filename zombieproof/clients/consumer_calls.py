"""The calls of a consumer that wait for nothing: the same for the synchronous one and the one for asyncio."""

from collections.abc import Iterable, Mapping
from typing import Any

from zombieproof.clients.consumer_operations import RebalanceListener, as_offset
from zombieproof.clients.consumer_runtime import ConsumerRuntime
from zombieproof.clients.settings import ConsumerSettings
from zombieproof.clients.transactional_requests import GroupMetadata
from zombieproof.clients.transport import Transport
from zombieproof.clients.values import OffsetAndMetadata
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import EARLIEST, LATEST


class ConsumerCalls:
    """A consumer, without the calls that wait."""

    def __init__(
        self, transport: Transport, settings: ConsumerSettings | Mapping[str, Any] | None = None, /, **named: Any
    ) -> None:
        self.transport, self.settings = transport, settings_of(settings, named)
        self.runtime = ConsumerRuntime(self.settings, transport)

    def subscribe(self, topics: Iterable[str] | str, listener: RebalanceListener | None = None) -> None:
        """Read of these topics what the group assigns; `listener` hears what comes and goes, in `poll` and `close`.

        Raises:
            IllegalState: there is no group, or partitions are assigned by hand.
        """
        self.runtime.subscribe(topics, listener)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, and no others, whoever else reads them.

        Raises:
            IllegalState: the group assigns, or there is no such partition.
        """
        self.runtime.assign(partitions)

    def subscription(self) -> frozenset[str]:
        """The topics that are subscribed to."""
        return self.runtime.subscription

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return frozenset(self.runtime.fetcher.readers)

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on at an offset.

        Raises:
            IllegalState: the partition is not assigned, or the offset is below 0.
        """
        self.runtime.reader(partition).begin_at(as_offset(offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on at the first record; of all that are assigned where none is named."""
        for partition in partitions or self.assignment():
            self.runtime.reader(partition).forget_position(EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last record; of all that are assigned where none is named."""
        for partition in partitions or self.assignment():
            self.runtime.reader(partition).forget_position(LATEST)

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where each partition goes on, as `commit` and ``send_offsets_to_transaction`` want it."""
        return self.runtime.positions()

    def pause(self, *partitions: TopicPartition) -> None:
        """`poll` hands out nothing of these until they are resumed; they stay assigned."""
        for partition in partitions:
            self.runtime.reader(partition).is_paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """`poll` hands out records of these again."""
        for partition in partitions:
            self.runtime.reader(partition).is_paused = False

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return frozenset(tp for tp, reader in self.runtime.fetcher.readers.items() if reader.is_paused)

    def group_metadata(self) -> GroupMetadata:
        """Who this consumer is to its group: for ``send_offsets_to_transaction``.

        Raises:
            IllegalState: there is no group.
        """
        return self.runtime.group_metadata

    def crash(self) -> None:
        """Stop as if the process had died: nothing is committed, nobody is told, and time shows it to the brokers."""
        self.runtime.stop()


def settings_of(settings: ConsumerSettings | Mapping[str, Any] | None, named: Mapping[str, Any]) -> ConsumerSettings:
    """The settings as they were given: whole, or by their names.

    Raises:
        SettingsError: one does not exist, or does not go together with another.
    """
    if isinstance(settings, ConsumerSettings):
        chosen = {name: getattr(settings, name) for name in settings.model_fields_set}
        return ConsumerSettings(**{**chosen, **named}) if named else settings
    return ConsumerSettings(settings, **named)

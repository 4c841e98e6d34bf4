"""The coordinator of the marker suite: t1 and t2, in two partitions of the transaction log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.conformance.host import CoordinatorHost, batch, value
from zombieproof.broker.coordinator.effects import Append, Effect
from zombieproof.broker.coordinator.markers import (
    MarkerChannel,
    MarkerRequest,
)
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.model.vocabulary import Error, TransactionState

ENTRIES = {"t1": ("partition1", "partition2"), "t2": ("partition1",)}
"""The entries of the suite: name -> the partitions of the transaction; the producer id is the position."""

NAMES = tuple(ENTRIES)
BROKERS = {"broker1": 1, "broker2": 2}
TOPICS = ("partition1", "partition2")


@dataclass(slots=True)
class Host(CoordinatorHost):
    """A coordinator with its markers, and what has come of it."""

    places: Mapping[str, int] = field(default_factory=lambda: {name: number for number, name in enumerate(NAMES)})
    outcomes: list[int] = field(default_factory=list)
    appends: list[Append] = field(default_factory=list)

    @property
    def channel(self) -> MarkerChannel:
        return self.coordinator.channel

    def load(self, name: str, coordinator_epoch: int = 0) -> None:
        """An election that loads the log partition of an entry: its markers are added."""
        self.carry_out(self.coordinator.load(NAMES.index(name), coordinator_epoch, [record_of(name)]))

    def drain(self) -> list[MarkerRequest]:
        """The requests that are to be sent now."""
        requests, effects = self.coordinator.markers_to_send()
        self.carry_out(effects)
        return requests

    def answer(self, request: MarkerRequest, errors: dict[TopicPartition, int] | None) -> None:
        """A reply to every marker of a request; None: the connection is lost."""
        markers = None
        if errors is not None:
            markers = tuple(
                MarkerWritten(marker.producer_id, {one: errors.get(one, 0) for one in marker.partitions})
                for marker in request.request.markers
            )
        self.reply(request, None if markers is None else WriteTxnMarkersAnswer(markers))

    def reply(self, request: MarkerRequest, answer: WriteTxnMarkersAnswer | None) -> None:
        """A reply as it is."""
        self.carry_out(self.coordinator.markers_answered(request.number, answer))

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Every append gets the next outcome of the case; success when there are none left."""
        for effect in effects:
            if isinstance(effect, Append):
                self.appends.append(effect)
                outcome = self.outcomes.pop(0) if self.outcomes else int(Error.NONE)
                self.carry_out(self.coordinator.append_ended(effect, outcome))

    def queued(self, broker: int) -> str:
        """What waits for a broker, as ``t1 partition1, t2 partition1``; ``nothing`` if there is none."""
        rows = [(one.transaction.producer_id, one.partitions) for one in self.channel.queues.get(broker, [])]
        return described(rows)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits, and nothing is under way."""
        return not any(self.channel.queues.values()) and not self.channel.unknown_leader and not self.channel.in_flight


def described(rows: Iterable[tuple[int, Iterable[TopicPartition]]]) -> str:
    """Markers in words: entry and partitions of each."""
    words = [f"{NAMES[producer_id]} {topic}" for producer_id, partitions in rows for topic, _ in partitions]
    return ", ".join(words) or "nothing"


def record_of(name: str) -> Batch:
    """The log of the partition of an entry: one record in PrepareCommit."""
    partitions = [(topic, 0) for topic in ENTRIES[name]]
    return batch(0, name, value(NAMES.index(name), TransactionState.PREPARE_COMMIT, partitions))

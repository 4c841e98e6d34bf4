"""What can be wrong with the system under soak: rules that are off, and drivers that do not do as they are told."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.soak.soak import Soak
from tests.soak.weather import STORM, Weather
from zombieproof.broker.cluster.network import CLIENT, Message
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.messages.groups import OffsetFetchAnswer
from zombieproof.messages.partitions import (
    MarkerWritten,
    ProduceAnswer,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import Error
from zombieproof.traces.history.anomalies import Anomaly

Tampering = Callable[[Soak, Message], bool]


@dataclass(frozen=True)
class Mutant:
    """What is wrong, and the anomaly by which clients see it, among others, within the first rounds."""

    name: str
    shows: Anomaly
    off: tuple[str, ...] = ()
    tampering: Tampering | None = None
    weather: Weather = STORM
    release: str = "newest"

    @property
    def rules(self) -> Rules:
        """Those that are left."""
        return with_switches(preset(self.release), off=self.off)

    def prepare(self, soak: Soak) -> None:
        """Put what is wrong into a round."""
        tampering = self.tampering
        if tampering is not None:
            soak.stage.tamper = lambda message: tampering(soak, message)  # type: ignore[method-assign]  # what it is for


def _instead(soak: Soak, message: Message, changed: Message) -> bool:
    soak.stage.cluster.network.in_flight.remove(message)
    soak.stage.cluster.network.arrive(changed)
    return True


def a_marker_is_acknowledged_and_not_written(soak: Soak, message: Message) -> bool:
    """One request in ten, of those for partitions with data: who waits for offsets would wait for ever."""
    body = message.body
    if not isinstance(body, WriteTxnMarkers) or soak.chance.random() > 0.1:
        return False
    if any(topic == CONSUMER_OFFSETS for each in body.markers for topic, _ in each.partitions):
        return False
    written = tuple(
        MarkerWritten(each.producer_id, dict.fromkeys(each.partitions, int(Error.NONE))) for each in body.markers
    )
    soak.stage.cluster.network.in_flight.remove(message)
    soak.stage.cluster.network.answer(message.number, message.receiver, message.sender, WriteTxnMarkersAnswer(written))
    return True


def a_batch_is_acknowledged_at_another_offset(soak: Soak, message: Message) -> bool:
    """One answer in fifty."""
    body = message.body
    if not isinstance(body, ProduceAnswer) or message.receiver != CLIENT or soak.chance.random() > 0.02:
        return False
    moved = {
        tp: replace(row, base_offset=row.base_offset + 1) if row.error == Error.NONE else row
        for tp, row in body.partitions.items()
    }
    return _instead(soak, message, replace(message, body=replace(body, partitions=moved)))


def the_group_forgets_its_offsets(soak: Soak, message: Message) -> bool:
    """One answer in ten."""
    body = message.body
    if not isinstance(body, OffsetFetchAnswer) or message.receiver != CLIENT or soak.chance.random() > 0.1:
        return False
    rows = {tp: replace(row, offset=-1) for tp, row in body.partitions.items()}
    return _instead(soak, message, replace(message, body=replace(body, partitions=rows)))


ZOMBIES = Weather(zombie_ms=60, crash_ms=200)
"""Zombies alone."""

MUTANTS = (
    Mutant("a leader accepts any sequence", Anomaly.REORDERED_WRITES, off=("sequence_check",)),
    Mutant("a leader recognises no batch", Anomaly.DUPLICATE, off=("duplicate_check", "sequence_check")),
    Mutant("a transaction is complete without its markers", Anomaly.LOST_WRITE, off=("markers_before_completion",)),
    Mutant("readers do not stop at what is open", Anomaly.DIRTY_READ, off=("stable_bound",)),
    Mutant("readers do not skip what is aborted", Anomaly.ABORTED_READ, off=("aborted_list",)),
    Mutant("readers skip for ever", Anomaly.LOST_WRITE, off=("skipping_ends",)),
    Mutant("a zombie ends the transaction of its successor", Anomaly.HANGING_TRANSACTION, off=("strict_end",)),
    Mutant(
        "a marker is acknowledged and not written",
        Anomaly.HANGING_TRANSACTION,
        tampering=a_marker_is_acknowledged_and_not_written,
    ),
    Mutant(
        "a batch is acknowledged at another offset",
        Anomaly.MOVED_WRITE,
        tampering=a_batch_is_acknowledged_at_another_offset,
    ),
    Mutant("a group forgets its offsets", Anomaly.LOST_OFFSET, tampering=the_group_forgets_its_offsets),
    Mutant("what a forgetful group makes", Anomaly.INPUT_PROCESSED_TWICE, tampering=the_group_forgets_its_offsets),
    Mutant(
        "a successor gets the epoch of its predecessor",
        Anomaly.ZOMBIE_WRITE,
        off=("init_raises_epoch",),
        weather=ZOMBIES,
        release="3.9",
    ),
)

"""What can be wrong with the live system: stores that lose, readers that forget, groups that let everybody commit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.soak.machine import CALM, STORM, DiskWeather, Machine
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.partition.snapshots import encode
from zombieproof.broker.store.fault_disk import Fate
from zombieproof.broker.store.segment import Segment
from zombieproof.broker.store.segment_log import SegmentLog
from zombieproof.clients.pending_transactions import HeldTransaction
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.traces.history.anomalies import Anomaly

Patch = Callable[[pytest.MonkeyPatch], None]


def nothing(_: pytest.MonkeyPatch) -> None:
    """All code is as it is."""


@dataclass(frozen=True)
class LiveMutant:
    """What is wrong, under which faults, and the anomaly, or the refusal to start, by which it is seen."""

    name: str
    shows: Anomaly | type[Exception]
    weather: DiskWeather = STORM
    off: tuple[str, ...] = ()
    patch: Patch = nothing

    @property
    def rules(self) -> Rules:
        """Those that are left."""
        return with_switches(preset("newest"), off=self.off)


def answered_before_the_sync(patch: pytest.MonkeyPatch) -> None:
    """What was written counts as durable."""
    patch.setattr(SegmentLog, "durable_offset", property(lambda log: log.end_offset))


def a_failed_write_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    """What the disk did not take, or took in part, is taken for written."""
    append = Segment.append

    def careless(segment: Segment, data: bytes, last_offset: int, max_timestamp_ms: int) -> None:
        try:
            append(segment, data, last_offset, max_timestamp_ms)
        except OSError:
            segment._note(len(data), last_offset, max_timestamp_ms)

    patch.setattr(Segment, "append", careless)


def a_torn_tail_stays(patch: pytest.MonkeyPatch) -> None:
    """What is torn is passed over, and not cut: what comes next lies behind it."""

    def keep(segment: Segment) -> bool:
        segment.size = segment._disk.size(segment.path(".log"))
        return False

    patch.setattr(Segment, "cut_file", keep)


def the_log_is_not_read_again(patch: pytest.MonkeyPatch) -> None:
    """Producers and open transactions are those of the last snapshot."""
    patch.setattr(Replica, "_fold_log", lambda *_: [])


def snapshots_hold_nobody(patch: pytest.MonkeyPatch) -> None:
    """Whoever starts after a clean stop knows no producer, and no open transaction."""
    patch.setattr("zombieproof.broker.partition.producer_states.encode", lambda _: encode(()))


def a_lie_and_then_no_power(patch: pytest.MonkeyPatch) -> None:
    """The one loss that nobody can prevent: it shows that syncs do lie here, and that this would be seen."""
    off = Machine._off
    patch.setattr(Machine, "_off", lambda machine, fate: off(machine, Fate.DROPPED if machine.lies else fate))


def spilled_batches_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What a buffering reader moves to its file is not there when it is wanted."""

    def forget(held: HeldTransaction, _: Path | None) -> None:
        held.batches.clear()
        held.size = 0

    patch.setattr(HeldTransaction, "spill", forget)


def aborted_ones_are_handed_out(patch: pytest.MonkeyPatch) -> None:
    """A buffering reader takes every marker for a commit."""
    consume = FetchFilter._consume

    def careless(reader: FetchFilter, batch: object) -> object:
        marker = getattr(batch, "marker", None)
        if marker is not None:
            batch = replace(batch, marker=replace(marker, committed=True))  # type: ignore[type-var]  # it is a batch
        return consume(reader, batch)  # type: ignore[arg-type]  # it is a batch

    patch.setattr(FetchFilter, "_consume", careless)


SILENT = DiskWeather(crash_ms=3_000, zombie_ms=700)
"""Members that fall silent, for good or for a while."""

LIVE_MUTANTS = (
    LiveMutant(
        "a store answers before its sync", Anomaly.LOST_WRITE, DiskWeather(power_ms=100), patch=answered_before_the_sync
    ),
    LiveMutant(
        "a write that fails is not noticed", Damaged, DiskWeather(eio_ms=100), patch=a_failed_write_is_not_noticed
    ),
    LiveMutant("a torn tail stays", Damaged, DiskWeather(torn_ms=150), patch=a_torn_tail_stays),
    LiveMutant("a full disk is not noticed", Damaged, DiskWeather(enospc_ms=100), patch=a_failed_write_is_not_noticed),
    LiveMutant(
        "the log is not read again", Anomaly.DIRTY_READ, DiskWeather(killed_ms=200), patch=the_log_is_not_read_again
    ),
    LiveMutant("snapshots hold nobody", Anomaly.DIRTY_READ, DiskWeather(restart_ms=200), patch=snapshots_hold_nobody),
    LiveMutant(
        "a sync lies and the power goes", Anomaly.LOST_WRITE, DiskWeather(lie_ms=150), patch=a_lie_and_then_no_power
    ),
    LiveMutant("an old generation commits offsets", Anomaly.INPUT_PROCESSED_TWICE, SILENT, off=("kip447_fence",)),
    LiveMutant(
        "nobody waits for pending offsets",
        Anomaly.INPUT_PROCESSED_TWICE,
        replace(SILENT, late=0.2),
        off=("kip447_stable",),
    ),
    LiveMutant("a reader forgets its spill file", Anomaly.LOST_WRITE, CALM, patch=spilled_batches_are_forgotten),
    LiveMutant("a buffering reader takes every marker", Anomaly.ABORTED_READ, CALM, patch=aborted_ones_are_handed_out),
)

"""What cases expect of the producer state of a partition, by the word or key with which they say it."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.conformance.cases import Failed, NotRunnable
from tests.conformance.phrases import check, error_name, matched
from tests.conformance.producer_world import World
from zombieproof.model.decisions.produce import first_sequence, newest_sequence
from zombieproof.model.vocabulary import NONE, Error


def number_of(value: Any) -> Any:
    """The value with Kafka's -1 for "none"."""
    return NONE if value == "none" else value


def _ok(world: World, note: str) -> None:
    check("error", "NONE", error_name(world.error))


def _same_guard(world: World, note: str) -> None:
    if len(world.guards) < 2 or len(set(world.guards)) != 1 or world.guards[0] == 0:
        raise Failed(f"expected the same guard each time, got {world.guards}")


def _no_guard(world: World, note: str) -> None:
    check("guard", 0, world.guard)


def _kept(world: World, note: str) -> None:
    if world.guard == 0:
        raise Failed("the guard is gone")
    if note:
        matched("looking it up does not refresh it", note, "note")
        world.verify(0, 0)
        check("guard", world.guards[0], world.guard)


def _no_entry(world: World, note: str) -> None:
    if world.entry is not None and world.entry.known:
        raise Failed("there is an entry")


WORDS: Mapping[str, Callable[[World, str], None]] = {
    "ok": _ok,
    "same guard both times": _same_guard,
    "no guard": _no_guard,
    "gone": _no_guard,
    "kept": _kept,
    "no entry": _no_entry,
}


def _oldest(world: World, of: str) -> int:
    """First sequence or offset of the oldest batch that is remembered."""
    entry = world.entry
    if entry is None or entry.batch_count == 0:
        return NONE
    oldest = entry.batches[0]
    return first_sequence(oldest, world.rules) if of == "sequence" else oldest.last_offset - oldest.offset_delta


def _last_offset(world: World) -> int:
    entry = world.entry
    return NONE if entry is None or entry.batch_count == 0 else entry.batches[entry.batch_count - 1].last_offset


def _of_entry(name: str) -> Callable[[World, Any], Any]:
    return lambda world, wanted: NONE if world.entry is None else getattr(world.entry, name)


def _files(world: World, wanted: Any) -> Any:
    offsets = list(world.store.offsets())
    if any(not world.store.read(offset) for offset in offsets):
        raise Failed("a snapshot is empty")
    return offsets if isinstance(wanted, list) else len(offsets)


def _entry_is(world: World, wanted: Any) -> str:
    return "kept" if world.entry is not None and world.entry.known else "gone"


def _guard_is(world: World, wanted: Any) -> str:
    return "kept" if world.guard != 0 and world.guard == world.guards[-1] else "gone"


def _bad_file(world: World, wanted: Any) -> str:
    if not world.damaged:
        raise NotRunnable("no snapshot was damaged")
    return "kept" if set(world.damaged) & set(world.store.offsets()) else "deleted"


def _completed(world: World, wanted: Any) -> list[dict[str, Any]]:
    rows = world.completed
    return [{"first": row.first_offset, "last": row.last_offset, "aborted": row.is_aborted} for row in rows]


def _note(world: World, wanted: Any) -> Any:
    matched(r"duplicate marker is written and completes nothing \(KAFKA-19999\)", wanted, "note")
    check("completed", [], world.completed)
    return wanted


def _lowest(world: World, wanted: Any) -> int:
    if len(set(world.guards)) != 1:
        raise Failed(f"the guard did not stay the same: {world.guards}")
    return NONE if world.entry is None else world.entry.lowest_sequence


def _epoch(world: World, wanted: Any) -> int:
    """Of the verification while there is nothing else, of the producer else."""
    if world.entry is None:
        return NONE
    return world.entry.producer_epoch if world.entry.known else world.entry.guard_epoch


READERS: Mapping[str, Callable[[World, Any], Any]] = {
    "ok": lambda world, wanted: world.error == Error.NONE,
    "epoch": _epoch,
    "coordinator_epoch": _of_entry("coordinator_epoch"),
    "txn_first_offset": _of_entry("txn_first_offset"),
    "first_seq": lambda world, wanted: _oldest(world, "sequence"),
    "last_seq": lambda world, wanted: NONE if world.entry is None else newest_sequence(world.entry),
    "first_offset": lambda world, wanted: _oldest(world, "offset"),
    "last_offset": lambda world, wanted: _last_offset(world),
    "offsets": lambda world, wanted: [_oldest(world, "offset"), _last_offset(world)],
    "map_end_offset": lambda world, wanted: world.states.map_end_offset,
    "state_from": lambda world, wanted: world.states.map_end_offset,
    "entries": lambda world, wanted: len(world.states),
    "entry": _entry_is,
    "guard": _guard_is,
    "seq": _lowest,
    "undecided": lambda world, wanted: world.states.first_undecided_offset,
    "unstable": lambda world, wanted: world.first_unstable_offset,
    "first_unstable_after": lambda world, wanted: world.states.first_undecided_offset,
    "late": lambda world, wanted: world.states.has_late_transaction(),
    "files": _files,
    "latest": lambda world, wanted: NONE if world.states.snapshots.newest is None else world.states.snapshots.newest,
    "result": lambda world, wanted: world.result,
    "bad_file": _bad_file,
    "completed": _completed,
    "started": lambda world, wanted: world.started,
    "note": _note,
}

"""What a checkpoint holds of a search, at the end of a level, and how a search is made of it again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.checkpoint import Checkpoints
from zombieproof.checker.engine.origins import read
from zombieproof.checker.engine.places import REGIONS
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.storage import Block

_COUNTERS: Final = ("distinct", "generated", "depth")


def keep(search: Search, checkpoints: Checkpoints, spent: tuple[float, float]) -> None:
    """Make a checkpoint between two levels; `spent` are seconds and CPU seconds of the exploration so far.

    Raises:
        CheckpointFault: it cannot be written.
    """
    last = len(search.levels.blocks) - 1
    data = {
        **{name: getattr(search, name) for name in _COUNTERS},
        "spent": spent,
        "bounds": search.bounds.tolist(),
        "active": search.active.tolist(),
        "witnesses": sorted(search.witnesses.items()),
        "levels": [search.levels.count(level) for level in range(last + 1)],
        "slots": search.table.slots.shape[1],
    }
    once = {f"levels-{level:06}": _origins(search, level) for level in range(last + 1)}
    anew = {
        f"table-{last:06}": iter([search.table.used, search.table.slots]),
        f"states-{last:06}": _states(search.levels.blocks[last]),
        f"coverage-{last:06}": iter([np.ascontiguousarray(search.coverage)]),
    }
    checkpoints.write(data, once, anew)


def _origins(search: Search, level: int) -> Iterator[Any]:
    """Where the states of a level come from."""
    for block in search.levels.blocks[level]:
        yield from block.origins.pieces()


def _states(blocks: list[Block]) -> Iterator[Any]:
    """The states of a level: for each block the sizes of units and bytes, and both."""
    for block in blocks:
        yield np.array([block.units.nbytes, block.packed.nbytes], np.int64)
        yield block.units
        yield block.packed


def take_up(search: Search, checkpoints: Checkpoints) -> tuple[float, float]:
    """Make a search, which has begun, what it was at a checkpoint; returns the seconds and CPU seconds until then.

    Raises:
        FolderRefused: a file is missing or damaged.
        OutOfMemory: there is less memory than it takes.
    """
    data = checkpoints.data
    for name in _COUNTERS:
        setattr(search, name, data[name])
    search.bounds[:], search.active[:] = data["bounds"], data["active"]
    search.witnesses = {promise: list(path) for promise, path in data["witnesses"]}
    last = len(data["levels"]) - 1
    _take_table(search, checkpoints, f"table-{last:06}", data["slots"])
    coverage = checkpoints.array(f"coverage-{last:06}", np.int64)
    search.restart(coverage)
    for level in range(last + 1):
        blocks = list(_expanded(checkpoints.array(f"levels-{level:06}", np.uint8), search.engine.model.actions))
        search.levels.blocks.append(blocks)
    _fill(search.levels.blocks[-1], checkpoints.array(f"states-{last:06}", np.uint8))
    seconds, cpu_seconds = data["spent"]
    return seconds, cpu_seconds


def _take_table(search: Search, checkpoints: Checkpoints, name: str, slots: int) -> None:
    search.memory.check(REGIONS * slots * 8, "the table of a checkpoint")
    whole = checkpoints.array(name, np.uint64)
    search.table.take(whole[:REGIONS].astype(np.int64), whole[REGIONS:].reshape(REGIONS, slots))


def _expanded(content: Any, actions: int) -> Iterator[Block]:
    base = 0
    for origins in read(content, actions):
        yield Block(base, origins.count, origins)
        base += origins.count


def _fill(blocks: list[Block], content: Any) -> None:
    """Give the blocks of the level that waits to be expanded their states."""
    place = 0
    for block in blocks:
        units, packed = map(int, content[place : place + 16].view(np.int64))
        place += 16
        block.units = content[place : place + units].view(np.int64).reshape(-1, 2).copy()  # aligned
        block.packed = content[place + units :][:packed]
        place += units + packed

"""An exploration that notes where each state leads in which something is owed: the graph that `fairness` judges.

What owes nothing is no part of any behaviour that owes for ever: it is not noted, whatever leads there.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from zombieproof.checker.engine import places as k
from zombieproof.checker.engine import public
from zombieproof.checker.engine.batches import Place
from zombieproof.checker.engine.compiled import Engine
from zombieproof.checker.engine.hosts import ModelFault
from zombieproof.checker.engine.internals import native
from zombieproof.checker.engine.model import MOST_TASKS, Malformed
from zombieproof.checker.engine.search import Search
from zombieproof.checker.engine.storage import Block, Memory

MOST_LEADS_TO: Final = 16
_ROWS_AT_ONCE: Final = 1 << 13  # candidates for which there is room in a call of a phase
_CALLS: Final = 64  # for the notes of which there is room in a chunk


class Nodes(NamedTuple):
    """States that owe something, in the order in which they were found.

    For each its fingerprint, a bit for each task that can act, a bit for each promise that it owes, an action that
    changes nothing (or `NO_ACTION`), its index in its level, and how many steps lead away from it.
    """

    prints: Any
    enabled: Any
    owed: Any
    idle: Any
    indexes: Any
    degrees: Any


class Edges(NamedTuple):
    """Steps that lead away from nodes, each node's together: fingerprint behind it, action, and who acts (or 0)."""

    prints: Any
    actions: Any
    tasks: Any


@dataclass(slots=True)
class Chunk:
    """Room for notes, which are written one behind the other by `note`: so many nodes and steps are there."""

    nodes: Nodes
    edges: Edges
    tally: Any
    note: native.Call | public.Call
    count: int = 0
    steps: int = 0

    def noted(self) -> tuple[Nodes, Edges]:
        """What is there."""
        return Nodes(*(part[: self.count] for part in self.nodes)), Edges(*(part[: self.steps] for part in self.edges))


class RecordingSearch(Search):
    """A search that also notes what is owed. `owing` are names of *leads to* promises; their bits are in that order.

    Raises:
        Malformed: there are more than `MOST_LEADS_TO` of them.
    """

    def __init__(
        self,
        engine: Engine,
        setup: object,
        judged: Collection[str],
        memory: Memory,
        max_states: int | None,
        owing: Collection[str],
    ) -> None:
        super().__init__(engine, setup, judged, memory, max_states)
        if len(owing) > MOST_LEADS_TO:
            name = engine.model.name
            raise Malformed(f"{name}: {len(owing)} promises of the kind leads_to; give up to {MOST_LEADS_TO}")
        self.owing = [i for i, promise in enumerate(engine.model.promises) if promise.name in owing]
        self.chunks: list[Chunk] = []
        self.nodes_of_levels: list[int] = []

    def _place(self, size: int, recent: Any = None) -> Place:
        """Where it works: with room for many units, because each call of a phase and each note takes as long as one."""
        size = max(size, _ROWS_AT_ONCE * self.engine.state.padded.itemsize)
        return replace(super()._place(size, recent), parents=self.shelf.scratch(size // 4))

    def _explored(self, block: Block, first: int, last: int, executor: ThreadPoolExecutor | None, threads: int) -> None:
        """Take parents through the phases, and note them between the first two, by one thread: all notes in order."""
        del executor, threads
        place = self._places[0]
        while first < last and not self.stopped:
            there = self._unpacked(block, first, last, place)
            first, rows, parent = int(there[k.UNIT]), int(there[k.LAST]), 0
            while parent < rows and not self.stopped:
                tally = self._tally()
                tally[k.PARENT], tally[k.LAST], tally[k.BASE] = parent, rows, there[k.BASE]
                self._call(k.EXPAND, block, tally, place)
                self.look_at(place, tally)
                parent = int(tally[k.PARENT])
                while self._call(k.DEDUPLICATE, block, tally) == k.TABLE_FULL:
                    self.make_room()
                self._gather(block, tally)

    def _gather(self, block: Block, tally: Any) -> None:
        self._roomy(int(tally[k.FRESH]))
        tally[k.FILL], tally[k.BYTES] = self._fill, self._bytes
        answer = self._call(k.GATHER, block, tally)
        self._fill, self._bytes = int(tally[k.FILL]), int(tally[k.BYTES])
        if answer == k.STOPPED:
            self._places[0].tally = tally
            self._stop(block, self._places[0])
        else:
            tally[k.GENERATED] += tally[k.FOUND]
        self._merge(tally)

    def look_at(self, place: Place, tally: Any) -> None:
        """Note the parents that a call of `expand` has taken. Raises ModelFault for a task that cannot be."""
        chunk = self._chunk(place)
        noting = chunk.tally
        noting[:] = tally
        noting[k.FILL], noting[k.BYTES] = chunk.count, chunk.steps
        noting[k.ACTIVE : k.ACTIVE + k.MAX_PROMISES] = 0
        noting[[k.ACTIVE + promise for promise in self.owing]] = k.LEADS_TO
        if chunk.note() == k.STOPPED:
            name = self.engine.model.name
            raise ModelFault(f"{name}: tasks gives {noting[k.RESULT]}; give 1 to {MOST_TASKS}, or 0 for nobody")
        self.nodes_of_levels += [0] * (len(self.levels.blocks) - 1 - len(self.nodes_of_levels))
        self.nodes_of_levels[-1] += int(noting[k.FILL]) - chunk.count
        chunk.count, chunk.steps = int(noting[k.FILL]), int(noting[k.BYTES])

    def _chunk(self, place: Place) -> Chunk:
        """Where there is room for what is noted of candidates at most."""
        rows, steps = len(place.parents.words), len(place.out.prints)
        last = self.chunks[-1] if self.chunks else None
        if last and len(last.nodes.prints) - last.count >= rows and len(last.edges.prints) - last.steps >= steps:
            return last
        nodes, edges, tally = _nodes(_CALLS * rows), _edges(_CALLS * steps), self._tally()
        note = self.engine.note.prepared(place.parents, place.out, nodes, edges, place.around, tally)
        self.chunks.append(Chunk(nodes, edges, tally, note))
        return self.chunks[-1]

    def level(self, executor: ThreadPoolExecutor | None, workers: int, after_batch: Any) -> None:
        """Expand the last level into the next, within the limit of memory; see `Search.level`."""

        def within_limits(left: int) -> None:
            self.memory.check(0, "what is noted of the graph")
            after_batch(left)

        super().level(executor, workers, within_limits)


def _nodes(count: int) -> Nodes:
    kinds = (np.uint64, np.uint64, np.uint16, np.int32, np.uint32, np.uint32)
    return Nodes(*(np.empty(count, kind) for kind in kinds))


def _edges(count: int) -> Edges:
    return Edges(np.empty(count, np.uint64), np.empty(count, np.uint16), np.empty(count, np.uint8))

"""What a model leads to: whether something may be owed for ever although all who can act do.

A *leads to* promise says what is owed in a state: it does not hold there. It is broken by a behaviour that comes to a
state where something is owed, stays for ever in such states, and is fair. *Weakly fair* means: no task can act in
every state from some point on and yet never acts. (Tasks are the processes of a model and its messages under way;
faults are nobody's task.) A step that changes nothing is no step: it neither makes its task one that can act nor is it
an act, as in TLA+ (Lamport, "The Temporal Logic of Actions", 1994). Where no task can act, a behaviour may stay as it
is: what is owed at rest is owed for ever, and is found here too.

A behaviour that is infinite on a finite graph goes through some set of states again and again, which is strongly
connected. In the graph of the states that owe, it lies in one maximal strongly connected component. Whether there is a
fair behaviour in a component is asked of the component as a whole: it is fair if each task has a state of it in which
it cannot act, or a step inside that is its own. Then a round through all of its states and steps is fair. If one task
has neither, it can act in each state and acts on no step of any part of the component: no behaviour in there is fair.
So smaller sets need not be tried; for weak fairness (unlike for Streett's conditions of strong fairness) one pass over
the maximal components decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from zombieproof.checker.engine.places import NO_ACTION
from zombieproof.checker.engine.recording import MOST_LEADS_TO, Edges, Nodes, RecordingSearch

_MOST_PLACES: Final = 1 << 18
_BYTES_OF_A_NODE: Final = 43
_BYTES_OF_A_STEP: Final = 7
_BYTES_OF_A_PRINT: Final = 8
_BYTES_OF_A_SLOT: Final = 4
_BYTES_OF_ITS_COMPONENT: Final = 64
_ANYTHING: Final = (1 << MOST_LEADS_TO) - 1


@dataclass(frozen=True, slots=True)
class Debt:
    """Something that is owed for ever: `actions` lead there, and from step `repeats_from` on they repeat.

    Where nothing repeats, `repeats_from` is the number of actions: then the last state is one where nobody has to act.
    """

    promise: str
    actions: list[int]
    repeats_from: int


class Graph(NamedTuple):
    """The graph of the states that owe something.

    Of node n the steps from `starts[n]` to `starts[n + 1]` lead away, to `targets` (-1: nothing is owed there). `alone`
    is 1 for nodes that are known to be part of no round.
    """

    prints: Any
    enabled: Any
    owed: Any
    idle: Any
    levels: Any
    indexes: Any
    starts: Any
    targets: Any
    actions: Any
    tasks: Any
    alone: Any


class _Work(NamedTuple):
    order: Any
    low: Any
    cursor: Any
    stack: Any
    path: Any


class _Found(NamedTuple):
    numbers: Any
    always: Any
    acting: Any


def debts(search: RecordingSearch) -> list[Debt]:
    """Return for each broken *leads to* promise the nearest behaviour that breaks it, the nearest of all first.

    What is found is so even if the exploration has not come to its end: each state that was noted was expanded.

    Raises:
        OutOfMemory: the graph does not fit into the limit.
    """
    if not any(search.nodes_of_levels):
        return []  # in no state is anything owed
    graph = graph_of(search)
    if len(search.owing) > 1:
        # In the states that owe one thing, nothing is part of a round that is part of none in those that owe anything.
        numbers = _components(search, graph, _ANYTHING).numbers
        graph.alone[np.bincount(numbers)[numbers] == 1] = 1
    found = []
    for bit, promise in enumerate(search.owing):
        entry, numbers = _nearest(search, graph, 1 << bit)
        if entry >= 0:
            prefix = search.levels.path(int(graph.levels[entry]), int(graph.indexes[entry]))
            actions = _round(graph, numbers, entry)
            found.append(Debt(search.engine.model.promises[promise].name, prefix + actions, len(prefix)))
    return sorted(found, key=lambda debt: debt.repeats_from)


def graph_of(search: RecordingSearch) -> Graph:
    """Put together what was noted, and find the node behind each step, where some step leads back. Raises OutOfMemory.

    Every round has a step back, to a node that was found before (no step leads from a node to itself). Where there is
    none, all nodes are alone, and the graph is without its steps.
    """
    count, steps = sum(chunk.count for chunk in search.chunks), sum(chunk.steps for chunk in search.chunks)
    size = 1 << max(4, int(1.5 * count).bit_length())
    what = f"a graph of {count:,} states and {steps:,} steps"
    search.memory.check(_BYTES_OF_A_NODE * count + _BYTES_OF_A_PRINT * size, what)
    levels = np.repeat(np.arange(len(search.nodes_of_levels), dtype=np.uint32), search.nodes_of_levels)
    noted = [chunk.noted() for chunk in search.chunks if chunk.count]
    search.chunks = []
    nodes = Nodes(*map(np.concatenate, zip(*(its for its, _ in noted), strict=True)))
    graph = Graph(nodes.prints, nodes.enabled, nodes.owed, nodes.idle, levels, nodes.indexes, *_no_steps(count))
    if not _leads_back(search, nodes.prints, noted, size):
        return graph
    search.memory.check(_BYTES_OF_A_STEP * steps + _BYTES_OF_A_SLOT * size, what)
    actions, tasks = (np.concatenate([getattr(edges, name) for _, edges in noted]) for name in ("actions", "tasks"))
    np.cumsum(nodes.degrees, out=graph.starts[1:])
    slots, targets, span = np.full((1, size), -1, np.int32), np.empty(steps, np.int32), np.array([count, 0])
    prints, first = nodes.prints.reshape(1, -1), 0
    for its, edges in noted:
        behind = first + len(its.prints)
        here = targets[graph.starts[first] : graph.starts[behind]]
        search.engine.link(prints, slots, first, its.degrees, edges.prints, here, span)
        first = behind
    graph.alone[span[0] : span[1]] = 0
    return graph._replace(targets=targets, actions=actions, tasks=tasks)


def _no_steps(count: int) -> tuple[Any, ...]:
    """Return of so many nodes their starts, targets, actions and tasks, and that each is alone."""
    nothing = (np.empty(0, kind) for kind in (np.int32, np.uint16, np.uint8))
    return np.zeros(count + 1, np.int64), *nothing, np.ones(count, np.uint8)


def _leads_back(search: RecordingSearch, prints: Any, noted: list[tuple[Nodes, Edges]], size: int) -> bool:
    """Whether a step leads back; `size` slots hold what is asked for that."""
    prints, met, first = prints.reshape(1, -1), search.memory.pages((1, size), np.uint64), 0
    for its, edges in noted:
        if search.engine.first_back(prints, met, first, its.degrees, edges.prints) >= 0:
            return True
        first += len(its.prints)
    return False


def _nearest(search: RecordingSearch, graph: Graph, bit: int) -> tuple[int, Any]:
    """Return the first node of a fair component of the nodes that owe `bit`, or -1, and the component of each node."""
    found = _components(search, graph, bit)
    is_fair = (found.always & ~found.acting) == 0
    places = np.flatnonzero((found.numbers >= 0) & np.append(is_fair, False)[found.numbers])
    return (int(places[0]) if len(places) else -1), found.numbers


def _components(search: RecordingSearch, graph: Graph, bits: int) -> _Found:
    """Return the maximal strongly connected components of the nodes that owe some of `bits`. Raises OutOfMemory."""
    count = len(graph.owed)
    search.memory.check(count * _BYTES_OF_ITS_COMPONENT, f"the components of {count:,} states")
    work = _Work(
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count + 1, np.int32),
    )
    found = _Found(np.full(count, -1, np.int32), np.zeros(count, np.uint64), np.zeros(count, np.uint64))
    components = search.engine.components(graph, bits, work, found)
    return _Found(found.numbers, found.always[:components], found.acting[:components])


def _round(graph: Graph, numbers: Any, entry: int) -> list[int]:
    """Return the actions of a fair way from a node of a fair component back to it; none where nobody has to act there.

    Only tasks that can act at the entry matter: to others it is fair to be there. The way is a shortest one, unless the
    component is so large that it is put together of shortest parts.
    """
    wanted = int(graph.enabled[entry])
    if not wanted:
        idle = int(graph.idle[entry])
        return [] if idle == NO_ACTION else [idle]
    inside = _Inside(graph, numbers, wanted)
    whole = inside.way((entry, 0), lambda node, met: node == entry and met == wanted, _MOST_PLACES)
    if whole is not None:
        return whole[0]
    actions: list[int] = []
    place = (entry, 0)
    while place != (entry, wanted):
        before = place[1]
        way = inside.way(place, lambda node, met: met != before if before != wanted else node == entry)  # noqa: B023  # called at once
        assert way is not None  # the component is strongly connected, and fair
        actions += way[0]
        place = way[1]
    return actions


class _Inside:
    """The steps inside a component, and to which of the tasks `wanted` they and the states behind them are fair."""

    def __init__(self, graph: Graph, numbers: Any, wanted: int) -> None:
        self.graph, self.numbers, self.wanted = graph, numbers, wanted

    def steps(self, node: int) -> Iterator[tuple[int, int, int]]:
        """Yield of each step inside that leads away from a node its action, where it leads, and the tasks it meets."""
        graph = self.graph
        for step in range(int(graph.starts[node]), int(graph.starts[node + 1])):
            target = int(graph.targets[step])
            if target >= 0 and self.numbers[target] == self.numbers[node]:
                met = 1 << int(graph.tasks[step]) | ~int(graph.enabled[target])
                yield int(graph.actions[step]), target, met & self.wanted

    def way(
        self, start: tuple[int, int], is_end: Callable[[int, int], bool], most: int | None = None
    ) -> tuple[list[int], tuple[int, int]] | None:
        """Return a shortest way from a place, a node and the tasks met so far, to one that is an end, and that place.

        None if there is none, or if more than `most` places are met before.
        """
        came: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
        waiting = deque([start])
        while waiting:
            place = waiting.popleft()
            for action, target, more in self.steps(place[0]):
                behind = (target, place[1] | more)
                if behind in came:
                    continue
                came[behind] = place, action
                if is_end(*behind):
                    return _back(came, start, behind), behind
                waiting.append(behind)
            if most is not None and len(came) > most:
                return None
        return None


def _back(came: dict[tuple[int, int], tuple[tuple[int, int], int]], start: Any, end: Any) -> list[int]:
    """Return the actions from the start to the end; the start may be met again on the way."""
    actions = []
    place = end
    while True:
        place, action = came[place]
        actions.append(action)
        if place == start:
            return actions[::-1]

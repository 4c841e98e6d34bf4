"""The loops that look at the graph of states, compiled with a model by the first who asks what it leads to.

`note` writes down, for states that have just been expanded and owe something, what they owe and where they lead; `link`
finds the states behind the fingerprints; `components` finds where a behaviour may stay for ever. As in `kernels`, names
of the model are bound by the engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zombieproof.checker.engine.fingerprints import fingerprint
from zombieproof.checker.engine.kernels import FAULTS, PROMISES, bound_hit, judge
from zombieproof.checker.engine.model import MOST_TASKS
from zombieproof.checker.engine.places import (
    ACTIVE,
    BASE,
    DONE,
    FIRST,
    FOUND,
    LEADS_TO,
    NO_ACTION,
    PARENT,
    RESULT,
    STOPPED,
)

_ONE = np.uint64(1)
_ALL = np.uint64((1 << 64) - 1)


def tasks(state: Any, action: int, setup: Any) -> int:
    """Return who acts, or 0."""
    raise NotImplementedError


def owed_in(state: Any, setup: Any, tally: Any) -> int:
    """Return a bit for each *leads to* promise that is judged and does not hold: something is owed."""
    bits = 0
    bit = 1
    for promise in range(PROMISES):
        if tally[ACTIVE + promise] == LEADS_TO:
            if not judge(state, setup, promise):
                bits |= bit
            bit *= 2
    return bits


def note(parents: Any, out: Any, nodes: Any, edges: Any, around: Any, tally: Any) -> int:
    """Note what a call of `expand` took that owes something, and where it leads; the counts go to FOUND and RESULT.

    A step that changes nothing is no step: it is neither noted as one nor does it make its task one that can act. The
    first such action that is no fault is kept beside the state. Ends with STOPPED at a task out of range, in RESULT.
    `tally` is a copy of what `expand` left.
    """
    setup = around.setup[0]
    found = tally[FOUND]
    candidate = 0
    noted = 0
    edge = 0
    for parent in range(tally[FIRST], tally[PARENT]):
        index = tally[BASE] + parent
        first = candidate
        while candidate < found and out.parents[candidate] == index:
            candidate += 1
        if bound_hit(parents.records[parent], setup) != 0:
            continue
        owed = owed_in(parents.records[parent], setup, tally)
        if owed == 0:
            continue
        own = fingerprint(parents.words, parent)
        enabled = np.uint64(0)
        idle: Any = NO_ACTION
        before = edge
        for successor in range(first, candidate):
            action: Any = np.int64(out.actions[successor])
            if out.prints[successor] == own:
                if idle == NO_ACTION and FAULTS[action] == 0:
                    idle = action
                continue
            task = 0 if FAULTS[action] == 1 else tasks(parents.records[parent], action, setup)
            if task < 0 or task > MOST_TASKS:
                tally[RESULT] = task
                return STOPPED
            if task > 0:
                enabled |= _ONE << np.uint64(task)
            edges.prints[edge] = out.prints[successor]
            edges.actions[edge] = action
            edges.tasks[edge] = task
            edge += 1
        nodes.prints[noted] = own
        nodes.enabled[noted] = enabled
        nodes.owed[noted] = owed
        nodes.idle[noted] = idle
        nodes.indexes[noted] = index
        nodes.degrees[noted] = edge - before
        noted += 1
    tally[FOUND] = noted
    tally[RESULT] = edge
    return DONE


def link(prints: Any, wanted: Any, slots: Any, targets: Any) -> int:
    """Write into `targets` which of the nodes has each wanted fingerprint, or -1.

    `slots` is a table of -1, a power of two of them, more than there are nodes.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for node in range(prints.shape[0]):
        slot = prints[node] & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = node
    for edge in range(wanted.shape[0]):
        slot = wanted[edge] & mask
        while slots[slot] >= 0 and prints[slots[slot]] != wanted[edge]:
            slot = (slot + _ONE) & mask
        targets[edge] = slots[slot]
    return DONE


def components(graph: Any, bit: int, work: Any, found: Any) -> int:
    """Number the maximal strongly connected components of the nodes that owe `bit`, and return how many there are.

    Tarjan's algorithm (1972), without recursion. `found` gets the number of each node (-1 where nothing is owed), and
    for each component the tasks that are enabled in all of its states and those that act inside.
    """
    count = 0
    clock = 0
    top = 0
    for root in range(graph.owed.shape[0]):
        if graph.owed[root] & bit == 0 or work.order[root] != 0:
            continue
        depth = 0
        work.path[0] = root
        while depth >= 0:
            node = np.int64(work.path[depth])
            if work.order[node] == 0:
                clock += 1
                work.order[node] = clock
                work.low[node] = clock
                work.cursor[node] = graph.starts[node]
                work.stack[top] = node
                top += 1
            if work.cursor[node] < graph.starts[node + 1]:
                target = np.int64(graph.targets[work.cursor[node]])
                work.cursor[node] += 1
                if target < 0 or graph.owed[target] & bit == 0:
                    continue
                if work.order[target] == 0:
                    depth += 1
                    work.path[depth] = target
                elif found.numbers[target] < 0:
                    work.low[node] = min(work.low[node], work.order[target])
                continue
            depth -= 1
            if depth >= 0:
                above = np.int64(work.path[depth])
                work.low[above] = min(work.low[above], work.low[node])
            if work.low[node] == work.order[node]:
                member: Any = -1
                while member != node:
                    top -= 1
                    member = np.int64(work.stack[top])
                    found.numbers[member] = count
                count += 1
    sum_up(graph, found)
    return count


def sum_up(graph: Any, found: Any) -> None:
    """Find, of each component, which tasks are enabled in all of its states, and which act inside."""
    found.always[:] = _ALL
    found.acting[:] = np.uint64(0)
    for node in range(graph.owed.shape[0]):
        component = found.numbers[node]
        if component < 0:
            continue
        found.always[component] &= graph.enabled[node]
        for edge in range(graph.starts[node], graph.starts[node + 1]):
            target = graph.targets[edge]
            if target >= 0 and found.numbers[target] == component:
                found.acting[component] |= _ONE << np.uint64(graph.tasks[edge])

"""The loops that look at the graph of states, compiled with a model by the first who asks what it leads to.

`note` writes down, for states that have just been expanded and owe something, what they owe and where they lead;
`first_back` finds whether there may be rounds, `link` the states behind the fingerprints, and `components` where a
behaviour may stay for ever. As in `kernels`, names
of the model are bound by the engine.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from zombieproof.checker.engine.fingerprints import FEW_WORDS, WORDS, fingerprint, scattered
from zombieproof.checker.engine.intrinsics import prefetch
from zombieproof.checker.engine.kernels import FAULTS, PROMISE_PARTS, PROMISES, bound_hit, holding
from zombieproof.checker.engine.looking_up import AHEAD, FULL_BUCKET, NEAR, home_of, place_in, sought
from zombieproof.checker.engine.model import MOST_TASKS
from zombieproof.checker.engine.places import (
    ACTIVE,
    BASE,
    BYTES,
    DONE,
    FILL,
    FIRST,
    FOUND,
    JUDGED,
    LEADS_TO,
    NO_ACTION,
    PARENT,
    RESULT,
    STOPPED,
)

LEFT: Final = (1 << 31) - 1
"""The order of a node that no step has to ask about any more."""
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64((1 << 64) - 1)


def tasks(state: Any, action: int, setup: Any) -> int:
    """Return who acts, or 0."""
    raise NotImplementedError


def list_leading(tally: Any) -> None:
    """Note as bits the *leads to* promises that are judged."""
    for part in range(PROMISE_PARTS):
        tally[JUDGED + part] = 0
    for promise in range(PROMISES):
        if tally[ACTIVE + promise] == LEADS_TO:
            tally[JUDGED + promise // 64] |= 1 << promise % 64


def owed_in(state: Any, setup: Any, tally: Any) -> int:
    """Return a bit for each of these promises, in their order, that does not hold: something is owed."""
    bits = 0
    bit = 1
    for part in range(PROMISE_PARTS):
        left = np.uint64(tally[JUDGED + part])
        if left == 0:
            continue
        held = holding(state, setup, part, left)
        while left != 0:
            if held & left & (~left + _ONE) == 0:
                bits |= bit
            bit *= 2
            left &= left - _ONE
    return bits


def print_of(parents: Any, parent: Any) -> Any:
    """Return the fingerprint of a parent; one of few words has no weight (`fingerprints.moved`)."""
    if WORDS <= FEW_WORDS:
        return fingerprint(parents.words, parent)
    return scattered(parents.weights[parent, 1])


def note(parents: Any, out: Any, nodes: Any, edges: Any, around: Any, tally: Any) -> int:
    """Note what a call of `expand` took that owes something, and where it leads, behind what FILL and BYTES count.

    A step that changes nothing is no step: it is neither noted as one nor does it make its task one that can act. The
    first such action that is no fault is kept beside the state. Ends with STOPPED at a task out of range, in RESULT.
    `tally` is a copy of what `expand` left.
    """
    list_leading(tally)
    setup = around.setup[0]
    found = tally[FOUND]
    candidate = 0
    noted = tally[FILL]
    edge = tally[BYTES]
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
        own = print_of(parents, parent)
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
    tally[FILL] = noted
    tally[BYTES] = edge
    return DONE


def first_back(prints: Any, met: Any, first: Any, degrees: Any, wanted: Any) -> Any:
    """Return the first of some nodes from which a step leads back, to a node that was found before; -1 if none does.

    They are of `degrees`, from the node `first` on, and `wanted` are the fingerprints behind their steps. `met` is a
    table of fingerprints like that of all states, of one region, in which a third of the slots stays free: it holds the
    nodes before them, and gets them. Until a step back is found nobody has to know which node is behind a step,
    and that is most of what linking takes.
    """
    width = np.uint64(met.shape[1])
    nodes = degrees.shape[0]
    edges = wanted.shape[0]
    edge = 0
    for place in range(nodes):
        if place + NEAR < nodes:
            prefetch(met, _NONE, home_of(prints[0, first + place + NEAR], width))
        own = prints[0, first + place]
        bucket, seen = sought(met, _NONE, width, own)
        met[0, place_in(bucket, seen)] = own
        behind = edge + np.int64(degrees[place])
        while edge < behind:
            if edge + AHEAD < edges:
                prefetch(met, _NONE, home_of(wanted[edge + AHEAD], width))
            bucket, seen = sought(met, _NONE, width, wanted[edge])
            if seen & FULL_BUCKET != 0:
                return first + place
            edge += 1
    return -1


def link(prints: Any, slots: Any, first: Any, degrees: Any, wanted: Any, targets: Any, span: Any) -> int:
    """Write into `targets` which of the nodes has each fingerprint of `wanted`, or -1, and find where rounds may be.

    `wanted` are the steps of some nodes, of `degrees`, from the node `first` on. `slots` is a table of -1, a power of
    two of them, more than there are nodes; the call for node 0 fills it. It and `prints`, of all nodes, have one row:
    little of them is in the caches of the processor, and what is needed soon is asked for.

    Every round has a step back, to a node that was found before (no step leads from a node to itself): one leads to the
    first of its nodes, and one leads away from the last. So all rounds lie in `span`, from the first node to which a
    step back leads to the last from which one does; it begins empty.
    """
    mask = np.uint64(slots.shape[1] - 1)
    if first == 0:
        nodes = prints.shape[1]
        for node in range(nodes):
            if node + AHEAD < nodes:
                prefetch(slots, _NONE, prints[0, node + AHEAD] & mask)
            slot = prints[0, node] & mask
            while slots[0, slot] >= 0:
                slot = (slot + _ONE) & mask
            slots[0, slot] = node
    edges = wanted.shape[0]
    edge = 0
    for place in range(degrees.shape[0]):
        node = first + place
        behind = edge + np.int64(degrees[place])
        while edge < behind:
            if edge + AHEAD < edges:
                prefetch(slots, _NONE, wanted[edge + AHEAD] & mask)
            if edge + NEAR < edges:
                near = slots[0, wanted[edge + NEAR] & mask]
                if near >= 0:
                    prefetch(prints, _NONE, np.uint64(near))
            slot = wanted[edge] & mask
            while slots[0, slot] >= 0 and prints[0, slots[0, slot]] != wanted[edge]:
                slot = (slot + _ONE) & mask
            target = np.int64(slots[0, slot])
            targets[edge] = target
            if 0 <= target < node:
                span[0] = min(span[0], target)
                span[1] = node + 1
            edge += 1
    return DONE


def components(graph: Any, bits: int, work: Any, found: Any) -> int:
    """Number the maximal strongly connected components of the nodes that owe some of `bits`, and return how many.

    Tarjan's algorithm (1972), without recursion. `found` gets the number of each node (-1 where nothing is owed), and
    for each component the tasks that are enabled in all of its states and those that act inside. The order of a node
    tells all that a step to it asks: 0 before it is met, `LEFT` when its component is known or where nothing is owed.
    A node that is `alone` is a component of its own, as is known before.
    """
    count = 0
    clock = 0
    top = 0
    for one in range(graph.owed.shape[0]):
        if graph.owed[one] & bits == 0:
            work.order[one] = LEFT
        elif graph.alone[one] == 1:
            work.order[one] = LEFT
            found.numbers[one] = count
            found.always[count] = graph.enabled[one]
            count += 1
    for root in range(graph.owed.shape[0]):
        if work.order[root] != 0:
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
                if target < 0:
                    continue
                order = work.order[target]
                if order == 0:
                    depth += 1
                    work.path[depth] = target
                elif order < work.low[node]:
                    work.low[node] = order
                continue
            depth -= 1
            low = work.low[node]
            if depth >= 0:
                above = np.int64(work.path[depth])
                work.low[above] = min(work.low[above], low)
            if low == work.order[node]:
                top = close(graph, work, found, node, top, count)
                count += 1
    return count


def close(graph: Any, work: Any, found: Any, node: Any, top: Any, number: Any) -> Any:
    """Give the nodes on the stack from this one on their number, and sum up their tasks; returns the new top.

    No step leads from a state to itself: in a component of one nobody acts.
    """
    first: Any = top - 1
    while work.stack[first] != node:
        first -= 1
    always = _ALL
    acting = np.uint64(0)
    for place in range(first, top):
        member = np.int64(work.stack[place])
        found.numbers[member] = number
        work.order[member] = LEFT
        always &= graph.enabled[member]
    if top - first > 1:
        for place in range(first, top):
            member = np.int64(work.stack[place])
            for edge in range(graph.starts[member], graph.starts[member + 1]):
                target = graph.targets[edge]
                if target >= 0 and found.numbers[target] == number:
                    acting |= _ONE << np.uint64(graph.tasks[edge])
    found.always[number] = always
    found.acting[number] = acting
    return first

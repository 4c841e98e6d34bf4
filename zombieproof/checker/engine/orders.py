"""Partial order: where what one part does next meets nothing that others do, only that is explored, and others wait.

A model declares *clusters* of actions, disjoint (all that one client may do by itself; what is left to one resource
manager), and `is_ready(state, setup, cluster)`, which says that the actions of a cluster alone are enough in a state:
an *ample set*. Of the first cluster that is ready the enabled actions are taken and no others; where none is ready all
are. What has to be true of each cluster C that is ready in a reachable state s:

C0  Not empty: an action of C that is no fault is enabled in s. (Where that is not so all actions are taken.)
C1  Independent: let b be an enabled action of s that is not in C, and t its successor. Then C is ready in t too; its
    actions that are no faults and are enabled in s are so in t, and no action of C is enabled in t that is not in s;
    and where an action a of C leads from t, there some action, a fault only if b is one, leads from where a leads from
    s. By induction that is so of all that happens before the first action of C, however much that is.
C2  Invisible, as far as verdicts need it: let b break an *always* promise, or make a *sometimes* promise true, that was
    not so in s. Then no action of C that is no fault mends it in t, or takes it back. A promise for which that is not
    so is named in `Order.seen_by`: where it is judged the order is not used. (Usually an ample set has to be invisible
    altogether, which more than verdicts about states would need.)
C3  Nobody waits for ever: each enabled action of C takes a *measure* down, an integer that is never negative.

Why that is sound. Let a path of n actions lead from s to a state u, the first on it in which an *always* promise is
broken or a *sometimes* promise holds, and let C be taken as the ample set of s. Either the path has an action of C: by
C1 the first one can be moved to the front, the path is as long and ends in u, and behind its first action n - 1 are
left. Or it has none: then by C1 an action a of C as in C0 is enabled all along, and n actions lead from the successor
of s by a to the successor of u by a, which is as good by C2. The second cannot go on for ever (C3): so n comes down in
the end, and a state as bad, or as good, is reached. A state that is *at rest* has no action enabled that is not a
fault, so the path to it has an action of each cluster that is ready on the way, by C0 and C1: those states are all
kept. A state in which a capacity was reached is treated as one in which a promise is broken that nothing mends.

C3 takes the place of the cycle condition. Usually an action of an ample set has to lead to a state that is new, or
still to be expanded; in a breadth-first search by several threads that depends on who is first. A measure depends on
the state alone, so the same states are reached by any number of workers, and nothing is looked up.

Lengths: a path may get longer by actions of ready clusters, so a counterexample that is found need not be a shortest
one of the model itself. With symmetry: C is chosen of the representative; the same argument holds for orbits, where the
measure does not tell members apart.

All four are tested in every reachable state of small scopes (`tests/checker/ordering.py` does it for any model).

Source: Peled, "All from one, one for all" (1993); Clarke, Grumberg, Minea, Peled, "State space reduction using partial
order techniques" (1999), for C0 to C3; Bosnacki and Holzmann, "Improving Spin's partial-order reduction for
breadth-first search" (2005), for the cycle condition; Emerson, Jha, Peled, "Combining partial order and symmetry
reductions" (1997).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

NO_CLUSTER: Final = -1
"""The cluster of an action that is in none."""


def never_ready(state: Any, setup: Any, cluster: int) -> bool:
    """Return False: for models without clusters."""
    return False


def no_measure(state: Any, setup: Any) -> int:
    """Return 0: for models without clusters."""
    return 0


@dataclass(frozen=True, eq=False)
class Order:
    """What a model declares about the order of its actions.

    Attributes:
        name: whose actions they are, as in "clients".
        clusters: the actions of each cluster, by number.
        is_ready: `is_ready(state, setup, cluster) -> bool`: whether a cluster is an ample set in a state; compiled.
        measure: `measure(state, setup) -> int`: what each action of a cluster that is ready takes down; interpreted.
        seen_by: names of promises that an action of a cluster may mend or take back.
    """

    name: str
    clusters: tuple[tuple[int, ...], ...]
    is_ready: Callable[..., bool]
    measure: Callable[..., int]
    seen_by: frozenset[str] = frozenset()

    def cluster_of(self, actions: int) -> tuple[int, ...]:
        """For each action the number of its cluster, or NO_CLUSTER."""
        found = [NO_CLUSTER] * actions
        for number, cluster in enumerate(self.clusters):
            for action in cluster:
                found[action] = number
        return tuple(found)


NO_ORDER: Final = Order("", (), never_ready, no_measure)
"""For models that declare nothing: every action is taken in every state."""

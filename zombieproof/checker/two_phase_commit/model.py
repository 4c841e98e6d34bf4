"""Two-phase commit with N resource managers: a second model of the engine, and the graph on which peers were measured.

One transaction manager, N resource managers, a set of messages that only grows (so loss and doubling change nothing).
Source: Gray and Lamport, "Consensus on Transaction Commit" (2006), section 3 and appendix A.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, make_dataclass
from enum import IntEnum
from typing import Any, Final

from zombieproof.checker.engine.model import Model, Promise
from zombieproof.checker.engine.orders import Order
from zombieproof.checker.engine.sorts import Sort
from zombieproof.model.fields import array

MOST_MANAGERS: Final = 20


class ResourceManager(IntEnum):
    """What a resource manager is doing."""

    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class TransactionManager(IntEnum):
    """What the transaction manager has decided."""

    INIT = 0
    COMMITTED = 1
    ABORTED = 2


class Do(IntEnum):
    """What may happen to a resource manager: actions 2 and up, five for each."""

    RECEIVE_PREPARED = 0
    PREPARE = 1
    CHOOSE_TO_ABORT = 2
    RECEIVE_COMMIT = 3
    RECEIVE_ABORT = 4


COMMIT: Final = 0
ABORT: Final = 1
FIRST_OF_MANAGERS: Final = 2


@dataclass(slots=True)
class Rules:
    """What the transaction manager does; each 0 is a mutant.

    `wait_for_all`: it commits only when every manager is prepared. `gives_up`: it may abort, and need not wait for who
    will never be prepared.
    """

    wait_for_all: int = 1
    gives_up: int = 1


@dataclass(slots=True)
class Nothing:
    """A trail without moves: this model has no machines of ours."""

    unused: int = 0


def step(state: Any, action: int, rules: Rules, trail: Any) -> bool:
    """Take one action of the transaction manager or of a resource manager."""
    if action < FIRST_OF_MANAGERS:
        return decide(state, action, rules)
    return of_manager(state, (action - FIRST_OF_MANAGERS) // len(Do), (action - FIRST_OF_MANAGERS) % len(Do))


def decide(state: Any, action: int, rules: Rules) -> bool:
    """The transaction manager commits or aborts."""
    if state.manager != TransactionManager.INIT or (action == ABORT and rules.gives_up == 0):
        return False
    if action == ABORT:
        state.manager = TransactionManager.ABORTED
        state.abort_sent = 1
        return True
    if rules.wait_for_all == 1:
        for i in range(len(state.prepared)):
            if state.prepared[i] == 0:
                return False
    state.manager = TransactionManager.COMMITTED
    state.commit_sent = 1
    return True


def of_manager(state: Any, i: int, what: int) -> bool:
    """Resource manager `i` goes on, or the transaction manager handles its message."""
    if what == Do.RECEIVE_PREPARED:
        if state.manager != TransactionManager.INIT or state.prepared_sent[i] == 0:
            return False
        state.prepared[i] = 1
    elif what == Do.PREPARE:
        if state.resources[i] != ResourceManager.WORKING:
            return False
        state.resources[i] = ResourceManager.PREPARED
        state.prepared_sent[i] = 1
    elif what == Do.CHOOSE_TO_ABORT:
        if state.resources[i] != ResourceManager.WORKING:
            return False
        state.resources[i] = ResourceManager.ABORTED
    elif what == Do.RECEIVE_COMMIT:
        if state.commit_sent == 0:
            return False
        state.resources[i] = ResourceManager.COMMITTED
    else:
        if state.abort_sent == 0:
            return False
        state.resources[i] = ResourceManager.ABORTED
    return True


def worth_trying(state: Any, rules: Rules, part: int) -> int:
    """The actions for which the messages and states are there, as bits (see `Model.worth_trying`)."""
    open_to_all = state.manager == TransactionManager.INIT
    bits = 0
    if open_to_all and part == 0:
        bits = 1 << COMMIT | 1 << ABORT
    told = state.commit_sent << Do.RECEIVE_COMMIT | state.abort_sent << Do.RECEIVE_ABORT
    place = FIRST_OF_MANAGERS - 64 * part
    for i in range(len(state.resources)):
        own = told
        if open_to_all and state.prepared_sent[i] == 1:
            own |= 1 << Do.RECEIVE_PREPARED
        if state.resources[i] == ResourceManager.WORKING:
            own |= 1 << Do.PREPARE | 1 << Do.CHOOSE_TO_ABORT
        if 0 <= place < 64:
            bits |= own << place
        elif -len(Do) < place < 0:
            bits |= own >> -place
        place += len(Do)
    return bits


def nobody_commits_what_another_aborted(state: Any, rules: Rules) -> bool:
    """No resource manager has committed while another has aborted."""
    committed = False
    aborted = False
    for i in range(len(state.resources)):
        committed = committed or state.resources[i] == ResourceManager.COMMITTED
        aborted = aborted or state.resources[i] == ResourceManager.ABORTED
    return not (committed and aborted)


def everybody_commits(state: Any, rules: Rules) -> bool:
    """Every resource manager has committed."""
    for i in range(len(state.resources)):
        if state.resources[i] != ResourceManager.COMMITTED:
            return False
    return True


def everybody_aborts(state: Any, rules: Rules) -> bool:
    """Every resource manager has aborted."""
    for i in range(len(state.resources)):
        if state.resources[i] != ResourceManager.ABORTED:
            return False
    return True


def everybody_ends(state: Any, rules: Rules) -> bool:
    """Every resource manager has committed or aborted: nobody holds its locks."""
    for i in range(len(state.resources)):
        if state.resources[i] in (ResourceManager.WORKING, ResourceManager.PREPARED):
            return False
    return True


def tasks(state: Any, action: int, rules: Rules) -> int:
    """Who acts: 1 is the transaction manager, which also takes what the others have sent; then the others."""
    if action < FIRST_OF_MANAGERS or (action - FIRST_OF_MANAGERS) % len(Do) == Do.RECEIVE_PREPARED:
        return 1
    return 2 + (action - FIRST_OF_MANAGERS) // len(Do)


PROMISES: Final = (
    Promise(
        "nobody_commits_what_another_aborted",
        "always",
        nobody_commits_what_another_aborted,
        "No resource manager commits while another aborts.",
        "Gray and Lamport 2006, TCConsistent",
    ),
    Promise("everybody_commits", "sometimes", everybody_commits, "All resource managers commit."),
    Promise("everybody_aborts", "sometimes", everybody_aborts, "All resource managers abort."),
    Promise(
        "everybody_ends",
        "leads_to",
        everybody_ends,
        "Every resource manager commits or aborts in the end.",
        "Gray and Lamport 2006, section 2 (Non-Blocking)",
    ),
)


def is_alone(state: Any, rules: Rules, i: int) -> bool:
    """Whether nobody but resource manager `i` itself matters to what is left to it: the decision is made, it is not."""
    decided = state.manager != TransactionManager.INIT
    return decided and state.resources[i] in (ResourceManager.WORKING, ResourceManager.PREPARED)


def measure(state: Any, rules: Rules) -> int:
    """How many steps are left to resource managers."""
    left = 0
    for resource in state.resources:
        left += 2 if resource == ResourceManager.WORKING else 1 if resource == ResourceManager.PREPARED else 0
    return left


_OF_MANAGERS: Final = (Do.PREPARE, Do.CHOOSE_TO_ABORT, Do.RECEIVE_COMMIT, Do.RECEIVE_ABORT)


@functools.cache
def two_phase_commit(managers: int) -> Model:
    """Return the model with `managers` resource managers, 1 to 20; raises ValueError for another number."""
    if not 1 <= managers <= MOST_MANAGERS:
        raise ValueError(f"two_phase_commit: n={managers}; give 1 to {MOST_MANAGERS} resource managers")
    state = make_dataclass(
        f"State{managers}",
        [
            ("resources", list[int], array(int, managers)),
            ("manager", int, 0),
            ("prepared", list[int], array(int, managers)),
            ("prepared_sent", list[int], array(int, managers)),
            ("commit_sent", int, 0),
            ("abort_sent", int, 0),
        ],
        slots=True,
    )
    own = tuple(tuple(FIRST_OF_MANAGERS + len(Do) * i + do for do in _OF_MANAGERS) for i in range(managers))
    return Model(
        name=f"two_phase_commit n={managers}",
        state=state,
        setup=Rules,
        trail=Nothing,
        actions=FIRST_OF_MANAGERS + len(Do) * managers,
        step=step,
        worth_trying=worth_trying,
        tasks=tasks,
        describe=describe,
        initial=lambda rules: state(),
        promises=PROMISES,
        order=lambda rules: Order("resource managers", own, is_alone, measure),
        sorts=lambda rules: (
            Sort(
                "resource managers",
                managers,
                arrays={(state, "resources"): 1, (state, "prepared"): 1, (state, "prepared_sent"): 1},
            ),
        ),
        names=action_name,
    )


def action_name(action: int) -> tuple[str, int]:
    """Return what happens, and to which resource manager: to none, 0, where the transaction manager decides."""
    if action < FIRST_OF_MANAGERS:
        return "abort" if action == ABORT else "commit", 0
    i, what = divmod(action - FIRST_OF_MANAGERS, len(Do))
    return Do(what).name.lower(), i


def describe(state: Any, action: int, rules: Rules) -> str:
    """Return the action in words."""
    if action < FIRST_OF_MANAGERS:
        return f"the transaction manager decides to {'abort' if action == ABORT else 'commit'}"
    i, what = divmod(action - FIRST_OF_MANAGERS, len(Do))
    return {
        Do.RECEIVE_PREPARED: f"the transaction manager learns that resource manager {i} is prepared",
        Do.PREPARE: f"resource manager {i} prepares",
        Do.CHOOSE_TO_ABORT: f"resource manager {i} chooses to abort",
        Do.RECEIVE_COMMIT: f"resource manager {i} receives commit, and commits{_but(state, ResourceManager.ABORTED)}",
        Do.RECEIVE_ABORT: f"resource manager {i} receives abort, and aborts{_but(state, ResourceManager.COMMITTED)}",
    }[Do(what)]


def _but(state: Any, chosen: ResourceManager) -> str:
    """Who has done the opposite."""
    others = [str(i) for i, resource in enumerate(state.resources) if resource == chosen]
    return f", although {' and '.join(others)} {chosen.name.lower()}" if others else ""

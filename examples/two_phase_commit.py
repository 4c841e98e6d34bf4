"""Two-phase commit as your own model, in under 150 lines; CONTRIBUTING.md explains its parts.

    zombieproof check examples/two_phase_commit.py --bounds n=5 --without wait_for_all

Source: Gray and Lamport, "Consensus on Transaction Commit" (2006), section 3.
"""

from dataclasses import dataclass
from enum import IntEnum

from zombieproof import ILLEGAL, Machine, Model, Mutant, Promise, Scenario, T, array


class S(IntEnum):
    """State of a resource manager."""

    WORKING, PREPARED, COMMITTED, ABORTED = range(4)


class E(IntEnum):
    """Events of a resource manager. NOTHING: its vote arrives. COMMIT, ABORT: it receives the decision of that name."""

    NOTHING, PREPARE, REFUSE, COMMIT, ABORT = range(5)


ROWS = (
    T(S.WORKING, E.PREPARE, S.PREPARED, "it votes, and will follow any decision"),
    T(S.WORKING, E.REFUSE, S.ABORTED, "it may abort before it has voted"),
    T(S.WORKING, E.ABORT, S.ABORTED, "the decision did not wait for its vote"),
    T(S.PREPARED, E.COMMIT, S.COMMITTED, "all resource managers have voted"),
    T(S.PREPARED, E.ABORT, S.ABORTED, "the transaction manager gave up"),
)
MACHINE = Machine("resource_manager", S, E, S.WORKING, ROWS, terminal=frozenset({S.COMMITTED, S.ABORTED}))


@dataclass(slots=True)
class State:
    """The whole state. Votes and the decision stay in flight: they may arrive late or never. Arrays have length n."""

    managers: list[int] = array(int, 1)
    sent: list[int] = array(int, 1)
    heard: list[int] = array(int, 1)
    decision: int = E.NOTHING


@dataclass(slots=True)
class Setup:
    """Switches of the transaction manager: it waits for all votes before it commits; it may abort."""

    wait_for_all: int = 1
    gives_up: int = 1


def step(state: State, action: int, setup: Setup, trail: Setup) -> bool:
    """Take an action: 0 decides to commit, 1 to abort, then five per resource manager. Return False if not enabled."""
    if action < 2:
        return decide(state, E.COMMIT + action, setup)
    i = (action - 2) // len(E)
    event = (action - 2) % len(E)
    if event == E.NOTHING and state.decision == E.NOTHING and state.heard[i] < state.sent[i]:
        state.heard[i] = 1
        return True
    target = MACHINE.table[state.managers[i]][event]
    if target == ILLEGAL or (event >= E.COMMIT and event != state.decision):
        return False
    state.managers[i] = target
    if event == E.PREPARE:
        state.sent[i] = 1
    return True


def decide(state: State, decision: int, setup: Setup) -> bool:
    """Let the transaction manager decide, once."""
    if state.decision != E.NOTHING or (decision == E.ABORT and setup.gives_up == 0):
        return False
    if decision == E.COMMIT and setup.wait_for_all == 1 and count(state.heard, 1) < len(state.heard):
        return False
    state.decision = decision
    return True


def count(values: list[int], wanted: int) -> int:
    """Count the values that equal `wanted`."""
    found = 0
    for value in values:
        found += value == wanted
    return found


def all_do_the_same(state: State) -> bool:
    """No resource manager commits while another aborts."""
    return count(state.managers, S.COMMITTED) == 0 or count(state.managers, S.ABORTED) == 0


def all_commit(state: State) -> bool:
    """All resource managers commit."""
    return count(state.managers, S.COMMITTED) == len(state.managers)


def all_end(state: State) -> bool:
    """No resource manager holds its locks forever."""
    return count(state.managers, S.COMMITTED) + count(state.managers, S.ABORTED) == len(state.managers)


def describe(state: State, action: int, setup: Setup) -> str:
    """Describe an action in words. Never compiled, so strings are legal here."""
    if action < 2:
        return f"the transaction manager decides to {('commit', 'abort')[action]}"
    i, event = divmod(action - 2, len(E))
    what = ("has its vote counted", "prepares and votes", "aborts on its own", "receives COMMIT", "receives ABORT")
    return f"resource manager {i} {what[event]}"


def two_phase_commit(n: int) -> Model:
    """Return the model with n resource managers: 1 to 12, because liveness checking allows at most 63 tasks."""
    return Model(
        name=f"two_phase_commit_in_one_file n={n}",
        state=State,
        setup=Setup,
        trail=Setup,  # side results of a step: none here, so any record will do
        actions=2 + len(E) * n,
        step=step,
        describe=describe,
        initial=lambda setup: State([0] * n, [0] * n, [0] * n),
        promises=(
            Promise("all_do_the_same", "always", all_do_the_same, "No resource manager commits while another aborts."),
            Promise("all_commit", "sometimes", all_commit, "All resource managers commit."),
            Promise("all_end", "leads_to", all_end, "No resource manager holds its locks forever."),
        ),
        sizes={(State, "managers"): n, (State, "sent"): n, (State, "heard"): n},
    )


SCENARIO = Scenario(
    name="two_phase_commit_in_one_file",
    story="One transaction manager and n resource managers agree whether to commit.",
    model=lambda bounds: two_phase_commit(bounds["n"]),
    setup=lambda rules, bounds: Setup(bounds["wait_for_all"], bounds["gives_up"]),
    bounds={"n": 4, "wait_for_all": 1, "gives_up": 1},
    readings=("wait_for_all", "gives_up"),
    always=("all_do_the_same",),
    sometimes=("all_commit",),
    leads_to=("all_end",),
    distinct=1_568,
    mutants=(
        Mutant("it_does_not_wait", breaks="all_do_the_same", steps=4, bounds={"wait_for_all": 0}),
        Mutant("it_never_gives_up", breaks="all_end", steps=5, bounds={"gives_up": 0}),
    ),
)

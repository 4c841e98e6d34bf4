"""Commits of offsets where they are appended first, replicated later, and answered last."""

import pytest

from zombieproof.checker.scenario import UnknownBound
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.transactions import actions, network
from zombieproof.checker.transactions.action_kinds import ACTIONS, Action
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.client_actions import next_op
from zombieproof.checker.transactions.model import initial_state
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Op, Stage
from zombieproof.model.rules import with_switches
from zombieproof.model.vocabulary import NONE, Error, PendingOffsetsState

SCENARIO = SCENARIOS["offsets_under_way"]


def step(state: State, setup: Setup, kind: Action, i: int = 0) -> Trail | None:
    """What the step did; None if it is disabled."""
    trail = Trail()
    taken = actions.step(state, ACTIONS.index((int(kind), i)), setup, trail)
    network.normalise(state, setup)
    return trail if taken else None


def take(state: State, setup: Setup, kind: Action, i: int = 0) -> Trail:
    trail = step(state, setup, kind, i)
    assert trail is not None, f"{kind.name} {i} is disabled"
    return trail


def slot(state: State, kind: Kind) -> int:
    (found,) = (i for i, message in enumerate(state.messages) if message.kind == kind)
    return found


def verified(off: tuple[str, ...] = ()) -> tuple[State, Setup]:
    """A's record is written; its commit of offset 1 is verified, and comes back to the leader."""
    setup = SCENARIO.setup(with_switches(SCENARIO.own_rules(), off=off), SCENARIO.bounds)
    assert isinstance(setup, Setup)
    state = initial_state(setup)
    take(state, setup, Action.STEP)
    take(state, setup, Action.DELIVER)
    while next_op(setup, state.clients[0], 0) != Op.COMMIT:
        take(state, setup, Action.STEP)
    for kind, times in ((Kind.PRODUCE, 3), (Kind.TXN_OFFSET_COMMIT, 2)):
        for _ in range(times):
            take(state, setup, Action.DELIVER, slot(state, kind))
    assert state.messages[slot(state, Kind.TXN_OFFSET_COMMIT)].stage == Stage.BACK_TO_LEADER
    return state, setup


def appended(off: tuple[str, ...] = ()) -> tuple[State, Setup]:
    """The commit is in the log, and its replicas do not have it."""
    state, setup = verified(off)
    take(state, setup, Action.DELIVER, slot(state, Kind.TXN_OFFSET_COMMIT))
    assert (state.partitions[OFFSETS].end, state.replicated[0]) == (1, 0)
    return state, setup


def acknowledged(state: State) -> bool:
    return bool((state.ghost.labels[0].acked >> OFFSETS) & 1)


def test_a_commit_is_in_memory_with_its_append_and_answered_when_replicas_have_it() -> None:
    state, setup = appended()
    commit = slot(state, Kind.TXN_OFFSET_COMMIT)
    assert (state.messages[commit].stage, acknowledged(state)) == (Stage.APPENDING, False)
    assert (state.group.pending[0].state, state.group.pending[0].offset) == (PendingOffsetsState.PENDING, 1)
    assert step(state, setup, Action.DELIVER, commit) is None
    assert step(state, setup, Action.ANSWER_COMMIT, commit) is None
    take(state, setup, Action.REPLICATE_OFFSETS)
    assert step(state, setup, Action.REPLICATE_OFFSETS) is None
    assert not acknowledged(state)
    take(state, setup, Action.ANSWER_COMMIT, commit)
    assert acknowledged(state)


def test_a_commit_that_fails_leaves_nothing_and_is_sent_again() -> None:
    state, setup = verified()
    trail = take(state, setup, Action.FAIL_COMMIT, slot(state, Kind.TXN_OFFSET_COMMIT))
    assert (trail.error, state.budget.failed_commits) == (Error.COORDINATOR_NOT_AVAILABLE, 0)
    assert (state.partitions[OFFSETS].end, state.group.pending[0].record_offset) == (0, NONE)
    assert state.messages[slot(state, Kind.TXN_OFFSET_COMMIT)].stage == Stage.TO_LEADER


def test_without_the_rule_memory_keeps_what_failed() -> None:
    state, setup = verified(("failed_commit_leaves_nothing",))
    take(state, setup, Action.FAIL_COMMIT, slot(state, Kind.TXN_OFFSET_COMMIT))
    assert (state.partitions[OFFSETS].end, state.group.pending[0].offset) == (0, 1)


def test_nothing_fails_before_it_comes_to_the_log() -> None:
    state, setup = verified()
    commit = slot(state, Kind.TXN_OFFSET_COMMIT)
    state.messages[commit].stage = Stage.TO_LEADER
    assert step(state, setup, Action.FAIL_COMMIT, commit) is None, "it is to be verified first"


def test_a_commit_that_is_waited_for_too_long_is_in_the_log_and_sent_again() -> None:
    state, setup = appended()
    trail = take(state, setup, Action.DOUBT_COMMIT, slot(state, Kind.TXN_OFFSET_COMMIT))
    assert (trail.error, acknowledged(state)) == (Error.COORDINATOR_NOT_AVAILABLE, False)
    assert (state.partitions[OFFSETS].end, state.group.pending[0].offset) == (1, 1)
    assert state.messages[slot(state, Kind.TXN_OFFSET_COMMIT)].stage == Stage.TO_LEADER


@pytest.mark.parametrize(
    ("change", "end", "pending"),
    [((Action.CUT_OFFSETS, 0), 0, NONE), ((Action.CHANGE_LEADER, OFFSETS), 1, 1)],
)
def test_another_leader_has_the_commit_or_has_not_and_its_client_asks_again(
    change: tuple[Action, int], end: int, pending: int
) -> None:
    state, setup = appended()
    take(state, setup, *change)
    assert (state.partitions[OFFSETS].end, state.replicated[0], state.group.pending[0].offset) == (end, end, pending)
    assert state.messages[slot(state, Kind.TXN_OFFSET_COMMIT)].stage == Stage.TO_LEADER


def test_what_replicas_have_is_not_cut() -> None:
    state, setup = appended()
    take(state, setup, Action.REPLICATE_OFFSETS)
    assert step(state, setup, Action.CUT_OFFSETS) is None


def test_without_the_rule_an_answered_commit_can_be_lost() -> None:
    state, setup = appended(("commit_waits_for_replicas",))
    assert acknowledged(state)
    take(state, setup, Action.CUT_OFFSETS)
    assert state.partitions[OFFSETS].end == 0


@pytest.mark.parametrize(("off", "replicated"), [((), 1), (("generation_is_recorded_first",), 0)])
def test_who_hears_of_a_generation_sees_what_was_committed_before(off: tuple[str, ...], replicated: int) -> None:
    state, setup = appended(off)
    take(state, setup, Action.REBALANCE)
    assert state.replicated[0] == replicated
    take(state, setup, Action.STEP, 1)
    take(state, setup, Action.DELIVER, slot(state, Kind.INIT_PRODUCER_ID))
    reads = step(state, setup, Action.STEP, 1)
    assert (reads is None) == (replicated == 1), "an offset waits, so that B has to"


def test_an_aborting_marker_may_come_before_the_answer() -> None:
    state, setup = appended()
    setup.budget.timeouts = state.budget.timeouts = 1
    take(state, setup, Action.TIME_OUT)
    (marker,) = (i for i, m in enumerate(state.messages) if m.kind == Kind.MARKER and m.partition == OFFSETS)
    take(state, setup, Action.DELIVER, marker)
    assert (state.group.pending[0].record_offset, state.replicated[0]) == (NONE, 2)
    take(state, setup, Action.ANSWER_COMMIT, slot(state, Kind.TXN_OFFSET_COMMIT))
    assert acknowledged(state)


def test_failing_commits_are_refused_where_commits_are_answered_at_once() -> None:
    with pytest.raises(UnknownBound, match="failed_commits=1 changes nothing where a commit of offsets is answered"):
        SCENARIOS["timeout"].own_bounds({"failed_commits": 1})


def test_commits_under_way_and_waiting_questions_are_refused_together() -> None:
    with pytest.raises(UnknownBound, match="group_appends and verification_queue are not explored together"):
        SCENARIO.own_bounds({"verification_queue": 1})

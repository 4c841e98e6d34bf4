"""What has to be there for an action of a kind at all: a message, a fault left in the budget, a part that travels.

`step` asks here first, and so does the engine, before it takes the trouble to try: of eighty actions most cannot be.
"""

from zombieproof.checker.transactions import client_actions, replicas
from zombieproof.checker.transactions.action_kinds import (
    AT_APPENDS,
    AT_BLOCKS,
    AT_CONTROLLER,
    AT_GROUP,
    AT_MESSAGES,
    BITS,
    DELIVERIES,
    DOUBLINGS,
    GIVINGS_UP,
    HARD,
    KINDS_ON_REPLICAS,
    PROGRAM_STEPS,
    WAITED_FOR,
    Action,
)
from zombieproof.checker.transactions.capacities import CLIENTS, MESSAGES, PARTITIONS
from zombieproof.checker.transactions.id_blocks import may_change
from zombieproof.checker.transactions.network import speaks_to_coordinator
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Kind

TO_COORDINATOR = sum(1 << kind for kind in Kind if speaks_to_coordinator(kind))
"""The kinds of requests to the transaction coordinator, as bits."""

TO_LEADERS = (1 << Kind.PRODUCE) | (1 << Kind.TXN_OFFSET_COMMIT)
"""The kinds of requests to leaders of partitions."""


def has_cause(state: State, kind: int, setup: Setup) -> bool:
    """Whether an action of this kind can be enabled at all; of most faults, whether one is left in the budget."""
    budget = state.budget
    if kind == Action.LOSE_ANSWER:
        return budget.lost > 0
    if kind == Action.DOUBLE:
        return _kinds_doubled(state) != 0
    if kind == Action.GIVE_UP:
        return _kinds_given_up(state) != 0
    if kind == Action.UNKNOWN_APPEND:
        return budget.unknown_appends > 0 and setup.bounds.appends_travel == 0
    if kind == Action.ABORT_INSTEAD:
        return setup.bounds.may_abort == 1
    if kind in (Action.READ_ONE, Action.READ_ALL):
        return setup.bounds.readers > 0
    if kind == Action.RESIGN:
        return state.nodes[1 - state.coordinator].believes
    if kind == Action.ELECT:
        return _is_leaderless(state)
    if kind >= Action.REPLICATE:
        return _has_cause_of_a_part(state, kind, setup)
    if Action.REFUSE <= kind <= Action.MISLEAD:
        return _is_switched_on(state, kind, setup)
    if kind >= Action.REPLICATE_OFFSETS:
        return len(state.replicated) > 0 and setup.bounds.group_appends == 1 and _is_left_of_offsets(state, kind)
    if kind in AT_CONTROLLER:
        may = kind == Action.RECORD_BLOCK or budget.controller_changes > 0
        return len(state.recorded) > 0 and may and may_change(state, setup)
    if kind >= Action.MAKE_APPEND:
        return len(state.appends) > 0 and _has_cause_between_brokers(state, kind)
    if kind >= Action.CRASH:
        return _is_left(state, kind, setup)
    return True


def _has_cause_of_a_part(state: State, kind: int, setup: Setup) -> bool:
    """The kinds that came last: what an administrator deletes, and what only happens on replicas."""
    if kind in AT_GROUP:
        left = state.budget.group_deletions if kind == Action.DELETE_GROUP else state.budget.recreations
        return len(state.outdated) > 0 and left > 0
    return len(state.replicas) > 0 and _has_cause_on_replicas(state, kind, setup)


def _is_leaderless(state: State) -> bool:
    for p in range(PARTITIONS):
        if not state.partitions[p].leader:
            return True
    return False


def _is_left(state: State, kind: int, setup: Setup) -> bool:
    """Whether one of the faults from CRASH to FORGET_GUARD is left in the budget."""
    budget = state.budget
    if kind == Action.CRASH:
        return budget.crashes > 0 or budget.resumptions > 0
    if kind == Action.TIME_OUT:
        return budget.timeouts > 0
    if kind == Action.FAIL_OVER:
        return budget.failovers > 0
    if kind == Action.DEPOSE:
        return budget.deposed > 0
    if kind == Action.CHANGE_LEADER:
        return budget.leader_changes > 0
    if kind == Action.LOSE_LEADER:
        return budget.leaderless > 0
    if kind == Action.REBALANCE:
        return budget.rebalances > 0 and setup.bounds.grouped == 1
    if kind == Action.EXPIRE:
        return budget.expirations > 0
    return budget.forgotten > 0


def _is_switched_on(state: State, kind: int, setup: Setup) -> bool:
    """Whether something is left of a part that few scenarios have."""
    budget = state.budget
    if kind == Action.REFUSE:
        return budget.refused > 0
    if kind == Action.COMMIT_PLAINLY:
        return budget.plain_commits > 0 and setup.bounds.grouped == 1
    if kind == Action.ABORT_BY_HAND:
        return budget.aborts_by_hand > 0
    return budget.stale_lookups > 0


def _is_left_of_offsets(state: State, kind: int) -> bool:
    """Whether a commit of offsets may fail yet, or its log lose what replicas do not have."""
    if kind == Action.CUT_OFFSETS:
        return state.budget.leader_changes > 0
    return kind in (Action.REPLICATE_OFFSETS, Action.ANSWER_COMMIT) or state.budget.failed_commits > 0


def _may_come_from_outside(state: State) -> bool:
    """Whether something is left of what comes from outside of the protocol, which few scenarios have."""
    budget = state.budget
    return bool(budget.plain_commits > 0 or budget.aborts_by_hand > 0 or budget.stale_lookups > 0)


def _has_cause_between_brokers(state: State, kind: int) -> bool:
    budget = state.budget
    if kind == Action.FAIL_APPEND:
        return len(state.appends) > 0 and budget.failed_appends > 0
    if kind == Action.DOUBT_APPEND:
        return len(state.appends) > 0 and budget.unknown_appends > 0
    if kind in HARD:
        return len(state.appends) > 0 and budget.hard_appends > 0
    if kind in AT_APPENDS:
        return len(state.appends) > 0
    if kind == Action.DISCONNECT:
        return len(state.lanes) > 0 and budget.lost > 0
    if kind == Action.LOSE_BLOCK:
        return len(state.blocks) > 0 and budget.lost > 0
    if kind == Action.DOUBLE_BLOCK:
        return len(state.blocks) > 0 and budget.doubled > 0
    return kind in AT_BLOCKS and len(state.blocks) > 0


def _has_cause_on_replicas(state: State, kind: int, setup: Setup) -> bool:
    budget = state.budget
    if kind == Action.REPLICATE:
        return len(state.replicas) > 0
    if kind == Action.TRUNCATE:
        return len(state.replicas) > 0 and budget.truncations > 0
    if kind == Action.BEGIN_FETCH:
        return len(state.fetches) > 0 and setup.bounds.reads_in_steps == 1
    if kind == Action.FORGET_PARTITION:
        return len(state.replicas) > 0 and budget.forgotten_partitions > 0
    if kind == Action.CLEAN:
        return len(state.remains) > 0 and budget.compactions > 0
    if kind == Action.CLOSE_SEGMENT:
        return len(state.remains) > 0 and budget.snapshots > 0
    return len(state.remains) > 0 and budget.retentions > 0


def worth_trying(state: State, setup: Setup, part: int) -> int:
    """Of the actions from 64 * `part` on those that have a cause, as bits: what is left out is disabled.

    In the normal form the slots of messages that are free come last.
    """
    found = _at_messages(state, setup, part) | _faults(state, setup, part)
    found |= _if(has_cause(state, Action.READ_ONE, setup), Action.READ_ONE, part)
    found |= _if(has_cause(state, Action.READ_ALL, setup), Action.READ_ALL, part)
    found |= _if(has_cause(state, Action.RESIGN, setup), Action.RESIGN, part)
    found |= _if(has_cause(state, Action.ELECT, setup), Action.ELECT, part)
    if len(state.appends) > 0:
        for kind in range(Action.MAKE_APPEND, Action.GIVE_LATE_BLOCK + 1):
            found |= _if(has_cause(state, kind, setup), kind, part)
        for kind in range(Action.REJECT_APPEND, Action.CUT_OFFSETS + 1):
            found |= _if(has_cause(state, kind, setup), kind, part)
        for kind in AT_GROUP:
            found |= _if(has_cause(state, kind, setup), kind, part)
    if _may_come_from_outside(state):
        for kind in range(Action.COMMIT_PLAINLY, Action.MISLEAD + 1):
            found |= _if(has_cause(state, kind, setup), kind, part)
    if len(state.replicas) > 0:
        for kind in KINDS_ON_REPLICAS:
            found |= _if(has_cause(state, kind, setup), kind, part)
    return found | _steps(state, setup, part)


def _steps(state: State, setup: Setup, part: int) -> int:
    """What the clients may do that do not have to wait."""
    steps = BITS[part][Action.STEP] | _if(has_cause(state, Action.ABORT_INSTEAD, setup), Action.ABORT_INSTEAD, part)
    if steps == 0:
        return 0
    found = 0
    for c in range(CLIENTS):
        if setup.budget.ends_timed_out > 0 or client_actions.may_go_on(setup, state.clients[c], c):
            found |= steps & PROGRAM_STEPS[part][c]
    return found


def _at_messages(state: State, setup: Setup, part: int) -> int:
    """What can happen to each message: it arrives; some faults only where somebody waits for the answer."""
    if AT_MESSAGES[part] == 0 and state.budget.refused == 0:
        return 0
    faults = _if(has_cause(state, Action.LOSE_ANSWER, setup), Action.LOSE_ANSWER, part)
    faults |= _if(has_cause(state, Action.UNKNOWN_APPEND, setup), Action.UNKNOWN_APPEND, part)
    faults |= _if(has_cause(state, Action.REFUSE, setup), Action.REFUSE, part)
    doubled, given_up = _kinds_doubled(state), _kinds_given_up(state)
    found = 0
    i = 0
    while i < MESSAGES and state.messages[i].kind != Kind.EMPTY:
        message = state.messages[i]
        found |= DELIVERIES[part][i]
        if message.live or (len(state.replicas) > 0 and replicas.is_waiting(message)):
            found |= faults & WAITED_FOR[part][i]
            if (doubled >> message.kind) & 1 == 1 and not message.answered and message.guard == 0:
                found |= DOUBLINGS[part][i]
            if (given_up >> message.kind) & 1 == 1:
                found |= GIVINGS_UP[part][i]
        i += 1
    return found


def _kinds_doubled(state: State) -> int:
    """The kinds of messages of which one may be doubled yet, as bits."""
    budget = state.budget
    requests = TO_COORDINATOR if budget.doubled > 0 else 0
    batches = TO_LEADERS if budget.doubled_batches > 0 else 0
    return requests | batches | (1 << Kind.MARKER if budget.doubled_markers > 0 else 0)


def _kinds_given_up(state: State) -> int:
    """The kinds of messages of which one may be given up yet, as bits."""
    budget = state.budget
    ends = budget.ends_given_up > 0 or budget.ends_timed_out > 0
    return (1 << Kind.PRODUCE if budget.late > 0 else 0) | (1 << Kind.END_TXN if ends else 0)


def _faults(state: State, setup: Setup, part: int) -> int:
    """Kind by kind and not in a loop, so that what is compiled asks for each only what counts."""
    found = _if(has_cause(state, Action.CRASH, setup), Action.CRASH, part)
    found |= _if(has_cause(state, Action.TIME_OUT, setup), Action.TIME_OUT, part)
    found |= _if(has_cause(state, Action.FAIL_OVER, setup), Action.FAIL_OVER, part)
    found |= _if(has_cause(state, Action.DEPOSE, setup), Action.DEPOSE, part)
    found |= _if(has_cause(state, Action.CHANGE_LEADER, setup), Action.CHANGE_LEADER, part)
    found |= _if(has_cause(state, Action.LOSE_LEADER, setup), Action.LOSE_LEADER, part)
    found |= _if(has_cause(state, Action.REBALANCE, setup), Action.REBALANCE, part)
    found |= _if(has_cause(state, Action.EXPIRE, setup), Action.EXPIRE, part)
    found |= _if(has_cause(state, Action.FORGET_PRODUCER, setup), Action.FORGET_PRODUCER, part)
    return found | _if(has_cause(state, Action.FORGET_GUARD, setup), Action.FORGET_GUARD, part)


def _if(cause: bool, kind: int, part: int) -> int:
    return BITS[part][kind] if cause else 0

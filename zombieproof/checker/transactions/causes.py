"""What has to be there for an action of a kind at all: a message, a fault left in the budget, a part that travels.

`step` asks here first, and so does the engine, before it takes the trouble to try: of eighty actions most cannot be.
"""

from zombieproof.checker.transactions.action_kinds import (
    ACTIONS,
    ACTIONS_AT_ONCE,
    AT_APPENDS,
    AT_BLOCKS,
    NEXT_KIND,
    Action,
)
from zombieproof.checker.transactions.state import Kind, Setup, State

_NUMBER = len(ACTIONS)


def has_cause(state: State, kind: int, setup: Setup) -> bool:
    """Whether an action of this kind can be enabled at all; of most faults, whether one is left in the budget."""
    budget = state.budget
    if kind == Action.LOSE_ANSWER:
        return budget.lost > 0
    if kind == Action.DOUBLE:
        return budget.doubled > 0 or budget.doubled_batches > 0 or budget.doubled_markers > 0
    if kind == Action.GIVE_UP:
        return budget.late > 0 or budget.ends_given_up > 0
    if kind == Action.UNKNOWN_APPEND:
        return budget.unknown_appends > 0 and setup.bounds.appends_travel == 0
    if kind == Action.ABORT_INSTEAD:
        return setup.bounds.may_abort == 1
    if kind in (Action.READ_ONE, Action.READ_ALL):
        return setup.bounds.readers > 0
    if kind >= Action.REFUSE:
        return _is_switched_on(state, kind, setup)
    if kind >= Action.MAKE_APPEND:
        return _has_cause_between_brokers(state, kind)
    if kind >= Action.CRASH:
        return _is_left(state, kind, setup)
    return True


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


def _has_none_of_them(state: State) -> bool:
    budget = state.budget
    nobody = budget.refused == 0 and budget.plain_commits == 0
    return bool(nobody and budget.aborts_by_hand == 0 and budget.stale_lookups == 0)


def _has_cause_between_brokers(state: State, kind: int) -> bool:
    budget = state.budget
    if kind == Action.FAIL_APPEND:
        return len(state.appends) > 0 and budget.failed_appends > 0
    if kind == Action.DOUBT_APPEND:
        return len(state.appends) > 0 and budget.unknown_appends > 0
    if kind in AT_APPENDS:
        return len(state.appends) > 0
    if kind == Action.DISCONNECT:
        return len(state.lanes) > 0 and budget.lost > 0
    if kind == Action.LOSE_BLOCK:
        return len(state.blocks) > 0 and budget.lost > 0
    if kind == Action.DOUBLE_BLOCK:
        return len(state.blocks) > 0 and budget.doubled > 0
    return kind in AT_BLOCKS and len(state.blocks) > 0


def next_action(state: State, action: int, setup: Setup) -> int:
    """The first number from `action` on that is worth a try: all that are passed over are disabled.

    In the normal form the slots of messages that are free come last.
    """
    while action < _NUMBER:
        kind, i = ACTIONS[action][0], ACTIONS[action][1]
        if kind == Action.REFUSE and _has_none_of_them(state):
            action = ACTIONS_AT_ONCE
            continue
        at_message = Action.DELIVER <= kind <= Action.UNKNOWN_APPEND or kind == Action.REFUSE
        if has_cause(state, kind, setup) and not (at_message and state.messages[i].kind == Kind.EMPTY):
            return action
        action = NEXT_KIND[action]
    return action

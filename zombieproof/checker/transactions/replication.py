"""What happens where a log is longer than what is replicated of it: it is replicated, answers go out, elections cut it.

Requests that wait are at their leader, behind the log. They are answered when the high watermark has passed them, or
when their leader has lost its office: their senders try again (``DelayedProduce``). A request whose sender waits no
longer leaves nothing behind but its record.
"""

from zombieproof.checker.transactions import (
    client_answers,
    marker_actions,
    partition_actions,
    replicas,
    replies,
)
from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.capacities import MESSAGES
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.statemachines.group_coordinator import commits
from zombieproof.statemachines.group_coordinator.effects import clear
from zombieproof.statemachines.partition_leader import acknowledging, forgetting


def act(state: State, setup: Setup, trail: Trail, kind: int, p: int) -> bool:
    """The other replicas of a partition get a record, or an election takes all away that they lack."""
    if kind == Action.REPLICATE:
        return replicas.replicate(state, p)
    return _elect_behind(state, setup, trail, p)


def act_on_waiting(state: State, setup: Setup, trail: Trail, kind: int, i: int) -> bool:
    """The answer to a request that is in the log goes out, or gets lost, or nobody waits for it any more."""
    message = state.messages[i]
    if kind == Action.GIVE_UP:
        return client_answers.give_up(state, setup, trail, i)
    if kind == Action.LOSE_ANSWER:
        state.budget.lost -= 1
        forget_answer(state, message)
        return True
    if kind != Action.DELIVER or not replicas.is_over(state, message):
        return False
    error = acknowledging.acknowledge(True, True, False, 1, 1, False)
    message.error = 0
    if message.kind == Kind.MARKER:
        marker_actions.acknowledge(state, setup, trail, message, error)
        return True
    message.stage = Stage.TO_LEADER
    replies.reply(state, setup, trail, i, error, False)
    return True


def forget_answer(state: State, message: Message) -> None:
    """Whoever waits hears nothing, and asks again; its record is in the log."""
    message.error = 0
    if message.kind == Kind.MARKER:
        return
    message.stage = Stage.TO_LEADER
    replies.restore_request(state, message)


def lose_leader(state: State, setup: Setup, trail: Trail, p: int) -> None:
    """The leader of a partition is gone: what waits for other replicas is answered so, what it knew is lost."""
    for i in range(MESSAGES if len(state.replicas) > 0 else 0):
        message = state.messages[i]
        if message.kind == Kind.EMPTY or message.partition != p:
            continue
        if message.kind == Kind.PRODUCE and message.live:
            # So is what is under way behind it: a client sends all of that again in the order of sequences.
            message.detail = 0
        if replicas.is_waiting(message):
            _turn_away(state, setup, trail, i, acknowledging.acknowledge(False, False, False, 1, 1, False))
    partition_actions.lose_leader(state, p)


def _turn_away(state: State, setup: Setup, trail: Trail, i: int, error: int) -> None:
    """Who waits is told that its leader has lost its office; nothing overtakes that, so it does not travel."""
    message = state.messages[i]
    message.error = 0
    if message.kind == Kind.MARKER:
        marker_actions.acknowledge(state, setup, trail, message, error)
        return
    message.stage = Stage.TO_LEADER
    if message.kind == Kind.TXN_OFFSET_COMMIT:
        clear(trail.group)
        commits.log_answers(error, setup.rules, trail.group)
        error = int(trail.group.error)
    if message.live:
        client_answers.handle(state, setup, trail, i, error)


def _elect_behind(state: State, setup: Setup, trail: Trail, p: int) -> bool:
    """A replica in sync that lacks all above the high watermark is elected, and the others follow it."""
    partition = state.partitions[p]
    if replicas.high_watermark(state, p) >= partition.end:
        return False
    state.budget.truncations -= 1
    if partition.leader:
        lose_leader(state, setup, trail, p)
    replicas.cut(state, p)
    if forgetting.reloads_when_cut(setup.rules):
        partition_actions.elect_leader(state, setup, trail, p)
    else:
        partition.leader = True
        marker_actions.drive_waiting_markers(state, setup, trail)
    return True

"""What is told of logs that are longer than what is replicated of them: who waits, who is answered, what is lost."""

from collections.abc import Iterator
from dataclasses import replace

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.narration import leader_name, message_name, partition_name
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.report.states import record_words
from zombieproof.statemachines.partition_leader.forgetting import reloads_when_cut

LEADERS_CHANGE = (Action.ELECT, Action.CHANGE_LEADER, Action.LOSE_LEADER, Action.TRUNCATE)
"""What takes its office from a leader, or gives it to one."""


def begins_to_wait(after: State, message: Message) -> bool:
    """Whether what `message` was before a step waits for other replicas behind it."""
    of = (message.kind, message.client, message.partition, message.label)
    return any(
        replicas.is_waiting(each) and (each.kind, each.client, each.partition, each.label) == of
        for each in after.messages
    )


def lost(before: State, after: State, setup: Setup, p: int) -> Iterator[str]:
    """The records that an election took away, and who does not know that."""
    old, new = before.partitions[p], after.partitions[p]
    for offset in range(new.end, old.end):
        yield f"{partition_name(p)} has lost what was at offset {offset}: {record_words(old.log[offset])}"
    if new.end < old.end and not reloads_when_cut(setup.rules):
        yield f"{leader_name(p)} goes on with what it knew"


def turned_away(before: State, setup: Setup, p: int) -> Iterator[str]:
    """Those that waited for a leader that lost its office."""
    for message in before.messages:
        if replicas.is_waiting(message) and message.partition == p:
            what = message_name(replace(message, stage=0), setup, to=False)
            yield f"{leader_name(p)} turns {what} away, and it is sent again"

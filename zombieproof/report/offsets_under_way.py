"""What came of a step at the log of a group's partition, where a commit is appended first and answered later."""

from collections.abc import Iterator
from dataclasses import replace

from zombieproof.checker.transactions.action_kinds import Action
from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.group_appends import is_waiting
from zombieproof.checker.transactions.narration import partition_name
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.vocabulary import Stage
from zombieproof.model.vocabulary import NONE
from zombieproof.report.states import record_words


def waits_for_replicas(after: State, message: Message) -> bool:
    """Whether a commit that was delivered is in the log now, and not answered."""
    return any(is_waiting(each) and each.client == message.client for each in after.messages)


def at_leader(message: Message) -> Message:
    """A commit as it was when it came to its leader."""
    return replace(message, stage=Stage.TO_LEADER, error=0)


def left_in_memory(before: State, after: State, kind: int) -> Iterator[str]:
    """What waits in memory behind an append that failed."""
    if kind != Action.FAIL_COMMIT:
        return
    for producer_id, pending in enumerate(after.group.pending):
        is_new = pending.record_offset != before.group.pending[producer_id].record_offset
        if is_new and pending.record_offset != NONE:
            yield f"offset {pending.offset} of producer {producer_id} waits in memory, and is not in the log"


def cut_off(before: State, after: State) -> Iterator[str]:
    """What the log of the group's partition has lost with its leader."""
    log = before.partitions[OFFSETS]
    for offset in range(after.partitions[OFFSETS].end, log.end):
        yield f"{partition_name(OFFSETS)} has lost offset {offset}: {record_words(log.log[offset])}"

"""Deciding at the leader of a partition: payload and control records.

Behaviour: payload of an older generation is refused, and so is payload of a TxId that is no valid pending transaction,
because an abort may overtake it. A control record is appended whenever the coordinator asks, and acknowledged.
Source: reference §10.5, §10.7.
"""

from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, LeaderState


def decide_payload(state: int, generation: int, newest: int, rules: Rules) -> int:
    """Answer payload of a TxId that a leader has in `state`; `newest` is the newest generation of its producerId."""
    if rules.leaders_fence == 1 and generation < newest:
        return int(Answer.STALE_GENERATION)
    if state == LeaderState.FINISHED and rules.leaders_refuse_finished == 1:
        return int(Answer.ABORTED)
    if state == LeaderState.UNKNOWN and rules.leaders_are_told == 1:
        return int(Answer.UNKNOWN_TRANSACTION)
    return int(Answer.DONE)

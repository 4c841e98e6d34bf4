"""Deciding at a producer: what it makes of an answer, or of none.

Behaviour: Begin, Commit and Abort are sent again until they are answered. Payload that was surely not appended is sent
again; where that is in doubt, or the transaction is not valid any more, the transaction is aborted, and its block is
done again under a new TxId. Who is fenced, or has a twin, is closed.
Source: reference §10.6, §10.7.
"""

from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import Answer, ProducerEvent, ProducerState


def decide_answer(state: int, answer: int, has_input: bool, rules: Rules) -> int:
    """The event of an instance that is in `state` and gets this answer; `has_input`: it knows what it is to copy."""
    if answer in (Answer.STALE_GENERATION, Answer.TWO_CONNECTIONS):
        return int(ProducerEvent.BE_REFUSED)
    if state == ProducerState.BEGINNING:
        if answer != Answer.DONE:
            return int(ProducerEvent.ASK_AGAIN)
        return int(ProducerEvent.TAKE_TX_ID_FOR_INPUT if has_input else ProducerEvent.TAKE_TX_ID)
    if state == ProducerState.IN_TRANSACTION:
        return _after_payload(answer, rules)
    if answer == Answer.NO_ANSWER:
        if state == ProducerState.COMMITTING and rules.commits_are_resent == 0:
            return int(ProducerEvent.HEAR_ABORTED)
        return int(ProducerEvent.ASK_AGAIN)
    if answer == Answer.COMMITTED:
        return int(ProducerEvent.HEAR_COMMITTED)
    return int(ProducerEvent.HEAR_ABORTED)


def _after_payload(answer: int, rules: Rules) -> int:
    if answer == Answer.DONE or (answer == Answer.NO_ANSWER and rules.commit_waits_for_payload == 0):
        return int(ProducerEvent.SEND)
    if answer == Answer.UNKNOWN_TRANSACTION or (answer == Answer.NO_ANSWER and rules.doubt_aborts == 0):
        return int(ProducerEvent.ASK_AGAIN)
    return int(ProducerEvent.ABORT)


def generation_of_start(stored: int) -> int:
    """The generation of an instance that starts and finds this one stored (-1: none; reference §10.7)."""
    return stored + 1


def chooses_next(chosen: int, rules: Rules) -> int:
    """Which of its transactions a producer begins, if it chooses TxIds."""
    return chosen + 1 if rules.coordinator_chooses_tx_ids == 0 else 0


def has_input(is_grouped: bool, rules: Rules) -> bool:
    """Whether a producer knows what it is to copy when it begins: no group keeps its offsets, or it asked before."""
    return not is_grouped or rules.offsets_are_fetched_behind_begin == 0


def may_fetch(pending: bool, rules: Rules) -> bool:
    """Whether the offsets of a group are told, while a transaction with offsets of it is pending or not."""
    return rules.fetch_waits == 0 or not pending

"""The claim of two modes: which of them may deliver, and how a delivery takes the group over from the other one.

A scenario with two modes has one partition. Its task has the first transactional id, drivers have the next ones, under
which they deliver in mode *batch* and claim in both modes; the last one is for the first claim of a group.
"""

from typing import Final

from zombieproof.checker.spark_sink import brokers
from zombieproof.checker.spark_sink.state import Modes, Setup, Sink, State, Work
from zombieproof.model.spark_sink.vocabulary import Reply
from zombieproof.statemachines.delivery import steps

ID_OF_TASK: Final = 0
ID_OF_DRIVERS: Final = 1
ID_OF_FIRST_CLAIM: Final = 3


def sink_of(setup: Setup, d: int) -> int:
    """Return how the rows of a driver get into the output."""
    if d == 0 or setup.modes == Modes.ONE:
        return int(setup.sink)
    return int(Sink.BATCH if setup.sink == Sink.PARTITION else Sink.PARTITION)


def mode_of(work: Work) -> int:
    """Return the mode of a delivery where there are two: tasks have an id of their own."""
    return int(Sink.PARTITION if work.transactional_id == ID_OF_TASK else Sink.BATCH)


def id_of(setup: Setup, mode: int) -> int:
    """Return the transactional id of the driver that has this mode."""
    if setup.modes == Modes.TWO_WITH_OWN_IDS and mode != setup.sink:
        return ID_OF_DRIVERS + 1
    return ID_OF_DRIVERS


def is_needed(state: State, setup: Setup, work: Work) -> bool:
    """Look at the newest claim; whether the other mode may still commit rows of the delivery."""
    claim, mode = state.group.claim, mode_of(work)
    work.seen_mode = int(claim.mode)
    work.seen = int(claim.generation)
    work.takes_tasks = claim.mode == mode and claim.is_in_group
    unfenced = 0
    if setup.fences_tasks == 1 and mode == Sink.BATCH and claim.has_tasks:
        newest = max(int(state.group.generations[0]), int(work.taken))
        if not steps.is_fenced(newest, int(work.seen)):
            unfenced = 1
    return bool(steps.is_to_be_claimed(bool(work.seen_mode == mode), bool(claim.is_in_group), unfenced))


def advance(state: State, setup: Setup, work: Work) -> int:
    """Do one step of a claim, and return its reply; `GOES_ON` as long as there is more to do."""
    claim = state.group.claim
    if work.takes_tasks:
        brokers.fence(state, ID_OF_TASK)
        work.taken = work.seen
        return int(Reply.DONE)
    transaction = state.transactions[holder_of(setup, work)]
    if work.holder_epoch == 0:
        work.holder_epoch = 1 + brokers.fence(state, holder_of(setup, work))
        return GOES_ON
    if not work.is_newest and claim.generation == work.seen:
        work.is_newest = True
        return GOES_ON
    is_fenced = work.holder_epoch != 1 + transaction.epoch
    if work.is_newest and not is_fenced:
        claim.mode = mode_of(work)
        claim.generation += 1
        claim.has_tasks = claim.has_tasks or claim.mode == Sink.PARTITION
        claim.is_in_group = True
    work.holder_epoch = 0
    work.is_newest = False
    return int(Reply.DONE)


GOES_ON: Final = -1


def holder_of(setup: Setup, work: Work) -> int:
    """The transactional id of the claim that was seen; before the first claim all drivers take the same."""
    if setup.claims_under_holder == 0 or (work.seen_mode == 0 and setup.shares_first_claim == 0):
        return id_of(setup, mode_of(work))
    return ID_OF_FIRST_CLAIM if work.seen_mode == 0 else id_of(setup, int(work.seen_mode))

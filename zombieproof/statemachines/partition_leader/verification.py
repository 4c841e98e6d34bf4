"""Before the first batch of a transaction: the coordinator is asked, and its word comes back (KIP-890).

Theory of operation: `arrives` hands out a guard and asks, or lets the batch go on; the coordinator's word is
translated where it sets out (`word_of_coordinator`, ``questions.word``), and judged where it arrives (`concludes`).
Whatever it says, the guard alone allows nothing: the log looks again (``batches.append``).
Source: reference §3.4; ``AddPartitionsToTxnManager.java``, ``UnifiedLog.maybeStartTransactionVerification``.
"""

from typing import NamedTuple

from zombieproof.model.decisions.verification import (
    SENTINEL,
    answer_of_coordinator,
    answer_to_produce,
    answer_to_txn_offset_commit,
    asks_again,
    decide_verification,
    evolve_verification,
    mode_of_produce,
    mode_of_txn_offset_commit,
)
from zombieproof.model.records import IncomingBatch, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error, PartitionEvent
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, answer

__all__ = [
    "NO_GUARD",
    "Arrival",
    "arrives",
    "asks_again",
    "concludes",
    "mode_of",
    "word_of_coordinator",
]

NO_GUARD = SENTINEL
"""The guard of a batch for which nobody was asked: it never verifies."""


class Arrival(NamedTuple):
    """What a host knows of a batch that arrives.

    `mode` is how its partition joins the transaction, `of_group` for offsets that a group coordinator commits, and
    `token` a number that is nobody's guard.
    """

    mode: int
    of_group: bool
    token: int


def mode_of(version: int, of_group: bool) -> int:
    """How Produce, or with `of_group` TxnOffsetCommit, of a version makes its partition part of the transaction."""
    return mode_of_txn_offset_commit(version) if of_group else mode_of_produce(version)


def arrives(
    entry: ProducerEntry, batch: IncomingBatch, arrival: Arrival, rules: Rules, effects: PartitionEffects, notes: Notes
) -> None:
    """A batch with a producer id reaches its leader: refused, asked about, or on its way to the log."""
    verdict = decide_verification(entry, batch, arrival.mode, rules)
    note(notes, Decision.VERIFICATION, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        _refuse(verdict.error, arrival, verdict.row, effects)
        return
    effects.row = verdict.row
    if verdict.event != PartitionEvent.VERIFY:
        effects.goes_on = True
        effects.guard = NO_GUARD
        return
    effects.takes_token = entry.guard == NO_GUARD
    state = move(notes, MachineIndex.PARTITION_LEADER, entry.state, verdict.event)
    effects.guard = evolve_verification(entry, batch, arrival.mode, arrival.token, state)
    effects.asks = True


def word_of_coordinator(error: int, mode: int) -> int:
    """What a coordinator's answer for one partition is to the leader that asked (step 5)."""
    return answer_of_coordinator(error, mode)


def concludes(error: int, guard: int, arrival: Arrival, effects: PartitionEffects) -> None:
    """The coordinator's word on a batch that waits with `guard` reaches the leader (steps 6 and 7)."""
    if error != Error.NONE:
        _refuse(error, arrival, 0, effects)
        return
    effects.goes_on = True
    effects.guard = guard


def _refuse(error: int, arrival: Arrival, row: int, effects: PartitionEffects) -> None:
    answered = answer_to_txn_offset_commit(error) if arrival.of_group else answer_to_produce(error, arrival.mode)
    answer(effects, answered, row)
    effects.cause = error

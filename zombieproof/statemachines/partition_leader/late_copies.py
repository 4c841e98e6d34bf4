"""Whether a late copy of a batch or marker can ever count again at the leader of its partition.

Theory of operation: nothing is known here of why a copy is refused. It is judged by the same decisions as in
``verification``, ``batches`` and ``markers``, against every entry that its leader can still come to have: of the
producer epoch known now or the next, with a transaction open or not, with or without its guard, and, where a leader may
forget, with nothing known at all. A copy that does nothing to any of them is refused for good, if no other batch of its
epoch can bring that epoch back. One of an epoch that is not below the known one is kept without asking.
"""

from typing import NamedTuple, cast

from zombieproof.model.decisions.produce import decide_append
from zombieproof.model.decisions.txn_offset_commit import decide_refused_append
from zombieproof.model.decisions.verification import decide_verification
from zombieproof.model.decisions.write_txn_markers import decide_marker
from zombieproof.model.records import IncomingBatch, IncomingMarker, PendingOffset, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, GroupEvent, Origin, PartitionEvent, PendingOffsetsState

KNOWING = 8
"""How many entries are tried that know the producer: of two epochs, with and without open transaction and guard."""

FUTURES = KNOWING + 2
"""And of those that know nothing, with and without the guard."""


class CachedBatch(NamedTuple):
    """A remembered batch."""

    last_sequence: int
    offset_delta: int
    last_offset: int


class PossibleEntry(NamedTuple):
    """What a leader may come to know of a producer id: the fields of ``ProducerEntry``."""

    known: bool
    state: int
    producer_epoch: int
    coordinator_epoch: int
    txn_first_offset: int
    guard: int
    guard_epoch: int
    lowest_sequence: int
    supports_epoch_bump: bool
    batch_count: int
    batches: tuple[CachedBatch, CachedBatch]


class PossibleBatch(NamedTuple):
    """Any batch with which a producer begins an epoch."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    transactional: bool


class PossiblePending(NamedTuple):
    """An offset that may wait where a commit was to go: the fields of ``PendingOffset``."""

    state: int
    offset: int
    record_offset: int


class Copy(NamedTuple):
    """How a late copy stands.

    `is_verified`: it waits for the coordinator's word with `guard`, and comes to the log when that is good. `mode` is
    how its partition joins, `of_group` for offsets. `known_epoch` is the producer epoch that its leader knows, NONE:
    none; `forgets` if leaders may forget producers.
    """

    is_verified: bool
    guard: int
    mode: int
    of_group: bool
    known_epoch: int
    forgets: bool


def possible_entry(number: int, known_epoch: int, epoch: int, sequence: int, guard: int) -> PossibleEntry:
    """An entry to which a copy of this epoch, base sequence and guard may come.

    What it remembers is the batch before: of its own epoch the copy is the next in sequence.
    """
    known = number < KNOWING
    has_guard, is_open = number % 2 == 1, number // 2 % 2 == 1
    token = 0
    if has_guard:
        token = guard if guard != 0 else 1
    before = CachedBatch(sequence - 1 if sequence > 0 else NONE, 0, 0)
    return PossibleEntry(
        known,
        0,
        known_epoch + number // 4 if known else NONE,
        NONE,
        0 if is_open and known else NONE,
        token,
        epoch if token != 0 else NONE,
        sequence if token != 0 else NONE,
        False,
        known,
        (before, before),
    )


def batch_can_count(batch: IncomingBatch, copy: Copy, rules: Rules) -> bool:
    """Whether a late copy of a batch may still be asked about, be appended, or take along an offset that waits."""
    if batch.producer_epoch >= copy.known_epoch:
        return True
    for number in range(FUTURES if copy.forgets else KNOWING):
        possible = possible_entry(number, copy.known_epoch, batch.producer_epoch, batch.base_sequence, copy.guard)
        if _batch_counts(cast("ProducerEntry", possible), batch, copy, rules):
            return True
    return _epoch_comes_back(batch.producer_epoch, copy.known_epoch, rules)


def _epoch_comes_back(epoch: int, known_epoch: int, rules: Rules) -> bool:
    """Whether a batch of an epoch below the one that is known can be appended, and make it the known one again."""
    for number in range(1, KNOWING, 2):
        entry = cast("ProducerEntry", possible_entry(number, known_epoch, epoch, 0, 1))
        for transactional in range(2):
            begins = PossibleBatch(0, epoch, 0, 0, transactional == 1)
            if decide_append(entry, begins, 1, Origin.CLIENT, rules).event != PartitionEvent.NOTHING:
                return True
    return False


def _batch_counts(entry: ProducerEntry, batch: IncomingBatch, copy: Copy, rules: Rules) -> bool:
    guard = copy.guard
    if not copy.is_verified:
        asked = decide_verification(entry, batch, copy.mode, rules)
        if asked.error != Error.NONE:
            return False
        if asked.event != PartitionEvent.NOTHING:
            return True
        guard = 0
    origin = Origin.COORDINATOR if copy.of_group else Origin.CLIENT
    verdict = decide_append(entry, batch, guard, origin, rules)
    if verdict.event != PartitionEvent.NOTHING:
        return True
    if not copy.of_group or verdict.error == Error.NONE:
        return False
    waits = PossiblePending(int(PendingOffsetsState.PENDING), 0, 0)
    return decide_refused_append(cast("PendingOffset", waits), rules) != GroupEvent.NOTHING


def marker_can_count(marker: IncomingMarker, known_epoch: int, forgets: bool, rules: Rules) -> bool:
    """Whether a late copy of a marker may still be written."""
    if marker.producer_epoch >= known_epoch:
        return True
    for number in range(FUTURES if forgets else KNOWING):
        possible = possible_entry(number, known_epoch, marker.producer_epoch, 0, 0)
        verdict = decide_marker(cast("ProducerEntry", possible), marker, Origin.COORDINATOR, rules)
        if verdict.event != PartitionEvent.NOTHING:
            return True
    return _epoch_comes_back(marker.producer_epoch, known_epoch, rules)

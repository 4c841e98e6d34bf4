"""The faults that a partition's log shows by itself, each told once."""

from collections.abc import Callable

from zombieproof.traces.evidence import LoggedBatch
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.partition_history import PartitionHistory
from zombieproof.traces.log_life import CLOCKS_APART_MS
from zombieproof.traces.verdict.circumstances import Circumstances, Shape
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named

SHAPES = {
    "each_sequence_is_appended_once": Shape.SEQUENCE_REPEATED,
    "sequences_follow_each_other": Shape.SEQUENCE_GAP,
    "no_plain_data_inside_a_transaction": Shape.DATA_PLAIN,
    "no_open_transaction_that_nobody_owns": Shape.DATA_UNKNOWN,
    "a_new_epoch_begins_behind_a_marker": Shape.MARKER_MISSING,
    "coordinator_epochs_never_go_down": Shape.MARKER_DEPOSED,
    "epochs_never_go_down": Shape.DATA_FENCED,
}


class PartitionFaults:
    """Adds to the faults of a history."""

    def __init__(self, history: PartitionHistory, facts: CoordinatorFacts) -> None:
        self._history, self._facts = history, facts
        self._known: dict[tuple[str, int, int], Fault] = {}

    def report(self, promise: str, batch: LoggedBatch, message: Callable[[], str]) -> Fault:
        """Report a fault of a producer's epoch once; what follows of the same kind is counted."""
        key = (promise, batch.producer_id, batch.producer_epoch)
        known = self._known.get(key)
        if known is not None:
            known.repeated += 1
            known.last_offset = batch.base_offset
            known.circumstances.add_span(batch.base_offset, batch.last_offset)
            return known
        owner = self._facts.owners.get(batch.producer_id)
        rests_on = owner if promise == "no_open_transaction_that_nobody_owns" else None
        certain_after = batch.max_timestamp_ms + (0 if batch.is_control else CLOCKS_APART_MS)
        fault = self._known[key] = Fault(
            promise,
            f"at offset {batch.base_offset} of {named(self._history.place)}: {message()}",
            owner.transactional_id if owner is not None else None,
            batch.producer_id,
            batch.producer_epoch,
            self._history.place,
            batch.base_offset,
            open_end=rests_on.open_end(certain_after) if rests_on is not None else None,
            circumstances=_circumstances(promise, batch),
        )
        self._history.faults.append(fault)
        return fault


def _circumstances(promise: str, batch: LoggedBatch) -> Circumstances:
    shape = SHAPES[promise]
    if shape is Shape.DATA_FENCED and batch.is_control:
        shape = Shape.MARKER_FENCED
    data_epoch = None if batch.is_control else batch.producer_epoch
    return Circumstances(shape, spans=[(batch.base_offset, batch.last_offset)], data_epoch=data_epoch)

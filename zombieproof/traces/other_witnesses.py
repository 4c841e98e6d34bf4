"""What else was written down of the same events: other copies of a partition, and the coordinator's DEBUG log."""

from collections.abc import Sequence

from zombieproof.model.vocabulary import TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.traces.coordinator_history import IdHistory
from zombieproof.traces.evidence import Batch, CoordinatorLine, Evidence, PartitionLog, Phase, TransitTarget
from zombieproof.traces.verdict import Fault, named

EDGES = frozenset((row.state, row.target) for row in COORDINATOR.rows)


def judge_replicas(evidence: Evidence) -> list[Fault]:
    """Copies of a partition must agree wherever they hold a batch of the same offset and leader epoch.

    A leader epoch has one leader, which gives each offset once. What a copy holds of another leader epoch may be a tail
    that was never replicated, and compaction goes its own way on each broker.
    """
    found = []
    for place, log in evidence.partition_logs().items():
        for other in evidence.replicas(*place)[1:]:
            if log.compacted or other.compacted:
                continue
            fault = _disagreement(log, other)
            if fault is not None:
                found.append(fault)
    return found


def _disagreement(log: PartitionLog, other: PartitionLog) -> Fault | None:
    known = {batch.base_offset: batch for batch in log.batches}
    for batch in other.batches:
        same = known.get(batch.base_offset)
        if same is None or same.partition_leader_epoch != batch.partition_leader_epoch or _agree(same, batch):
            continue
        place, offset = log.topic_partition, batch.base_offset
        message = f"at offset {offset} of {named(place)} the copies in {log.files[0]} and {other.files[0]} differ"
        message += f" in a batch of the same leader epoch {batch.partition_leader_epoch}"
        transactional = batch.producer_id >= 0
        return Fault(
            "replicas_agree",
            message,
            None,
            batch.producer_id if transactional else None,
            batch.producer_epoch if transactional else None,
            place,
            offset,
        )
    return None


def _agree(one: Batch, other: Batch) -> bool:
    if one.marker is not None and other.marker is not None and one.marker != other.marker:
        return False
    return _header(one) == _header(other) and (None in (one.crc, other.crc) or one.crc == other.crc)


def _header(batch: Batch) -> tuple[int, int, int, int, bool, bool]:
    return (
        batch.last_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
    )


def judge_coordinator_lines(
    lines: Sequence[CoordinatorLine], evidence: Evidence, histories: Sequence[IdHistory]
) -> list[Fault]:
    """Transitions that a coordinator reported: each a row of the table, and each completed one in its log."""
    found = []
    written = {
        (r.transactional_id, r.value.state, r.value.producer_id, r.value.producer_epoch, r.value.last_update_ms)
        for r in evidence.transaction_states
        if r.value is not None
    }
    # Compaction, damage and a log that was copied earlier than the DEBUG log leave records out.
    whole = {h.transactional_id: h for h in histories if not h.doubts and not h.is_cut}
    latest = max((r.value.last_update_ms for r in evidence.transaction_states if r.value is not None), default=-1)
    for line in lines:
        if (line.from_state, line.to_state) not in EDGES:
            found.append(_illegal(line))
        target = line.target
        if line.phase is not Phase.COMPLETE or target is None or target.last_update_ms > latest:
            continue
        identity = (line.transactional_id, line.to_state, target.producer_id, target.producer_epoch)
        if line.transactional_id in whole and (*identity, target.last_update_ms) not in written:
            found.append(_unwritten(line, target))
    return found


def _illegal(line: CoordinatorLine) -> Fault:
    legal = ", ".join(sorted({row.target.name for row in COORDINATOR.rows if row.state == line.from_state}))
    moved = f"{line.transactional_id!r} went from {line.from_state.name} to {line.to_state.name}"
    message = (
        f"{line.file}, line {line.line}: {moved}; from {TransactionState(line.from_state).name} only {legal} is legal"
    )
    target = line.target
    return Fault(
        "states_follow_the_table",
        message,
        line.transactional_id,
        target.producer_id if target else None,
        target.producer_epoch if target else None,
    )


def _unwritten(line: CoordinatorLine, target: TransitTarget) -> Fault:
    done = f"{line.transactional_id!r} to {line.to_state.name} (producer id {target.producer_id}, epoch "
    message = (
        f"{line.file}, line {line.line}: the coordinator completed the transition of {done}{target.producer_epoch}), "
    )
    message += "which is not in its log; a transition is completed when its record is durable"
    return Fault(
        "the_coordinator_wrote_what_it_did", message, line.transactional_id, target.producer_id, target.producer_epoch
    )

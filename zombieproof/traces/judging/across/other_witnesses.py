"""What else was written down of the same events: other copies, DEBUG logs of brokers and clients."""

from enum import IntEnum

from zombieproof.model.vocabulary import ProducerState
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.producer import PRODUCER
from zombieproof.traces.evidence import (
    ClientFact,
    ClientLine,
    CoordinatorLine,
    LoggedBatch,
    PartitionLog,
    Phase,
    TransitTarget,
)
from zombieproof.traces.judging.folded import Folded
from zombieproof.traces.judging.found import Found
from zombieproof.traces.readers.files import UNKNOWN_PARTITION
from zombieproof.traces.verdict.circumstances import Circumstances, Harm, Shape
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named
from zombieproof.traces.watching import Watch


def judge_replicas(folded: Folded, watch: Watch) -> list[Found]:
    """Copies of a partition must agree wherever they hold a batch of the same offset and leader epoch.

    A leader epoch has one leader, which gives each offset once. What a copy holds of another leader epoch may be a tail
    that was never replicated, and compaction goes its own way on each broker. Logs whose partition is unknown are not
    known to be copies.
    """
    found = []
    for _, (log, *others) in sorted(folded.evidence.copies().items()):
        if log.partition == UNKNOWN_PARTITION:
            continue
        for other in others:
            if log.compacted or other.compacted or log.is_guessed or other.is_guessed:
                continue
            fault = _disagreement(log, other)
            if fault is not None:
                found.append(Found(fault))
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
            circumstances=Circumstances(Shape.COPIES_DIFFER, Harm.UNKNOWN, [(batch.base_offset, batch.last_offset)]),
        )
    return None


def _agree(one: LoggedBatch, other: LoggedBatch) -> bool:
    if one.marker is not None and other.marker is not None and one.marker != other.marker:
        return False
    return _header(one) == _header(other) and (None in (one.crc, other.crc) or one.crc == other.crc)


def _header(batch: LoggedBatch) -> tuple[int, int, int, int, bool, bool]:
    return (
        batch.last_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
    )


def judge_coordinator_lines(folded: Folded, watch: Watch) -> list[Found]:
    """Transitions that a coordinator reported: each a row of the table, and each completed one in its log."""
    found, evidence = [], folded.evidence
    written = {
        (r.transactional_id, r.value.state, r.value.producer_id, r.value.producer_epoch, r.value.last_update_ms)
        for r in evidence.transaction_states
        if r.value is not None
    }
    # Compaction, damage and a log that was copied earlier than the DEBUG log leave records out.
    whole = {h.transactional_id: h for h in folded.histories if not h.doubts and not h.is_cut}
    latest = max((r.value.last_update_ms for r in evidence.transaction_states if r.value is not None), default=-1)
    for line in evidence.coordinator_lines:
        if not _is_legal(COORDINATOR, line.from_state, line.to_state):
            subject = f"transactional id {line.transactional_id!r}"
            message = _illegal(COORDINATOR, line, subject, line.from_state, line.to_state)
            circumstances = _circumstances_of(line, Shape.COORDINATOR_LINE, line.from_state.name, line.to_state.name)
            found.append(
                Found(Fault("states_follow_the_table", message, line.transactional_id, circumstances=circumstances))
            )
        target = line.target
        if line.phase is not Phase.COMPLETE or target is None or target.last_update_ms > latest:
            continue
        identity = (line.transactional_id, line.to_state, target.producer_id, target.producer_epoch)
        if line.transactional_id in whole and (*identity, target.last_update_ms) not in written:
            found.append(Found(_unwritten(line, target)))
    return found


def judge_client_lines(folded: Folded, watch: Watch) -> list[Found]:
    """Moves that a producer client reported must be rows of its table.

    Machines of clients other than Java's are not judged (kafkajs calls some of its states by the same names), words
    that are not of the table's states are passed over, and so is a client that says that it stays where it is.
    """
    found = []
    for line in folded.evidence.client_lines:
        if not line.is_java:
            continue
        known = {line.before, line.after} <= ProducerState.__members__.keys()
        if line.fact is not ClientFact.STATE or not known or line.before == line.after:
            continue
        before, after = ProducerState[line.before], ProducerState[line.after]
        if not _is_legal(PRODUCER, before, after):
            message = _illegal(PRODUCER, line, f"client {line.client!r}", before, after)
            circumstances = _circumstances_of(line, Shape.CLIENT_LINE, before.name, after.name)
            found.append(
                Found(Fault("states_follow_the_table", message, line.transactional_id, circumstances=circumstances))
            )
    return found


def _circumstances_of(line: CoordinatorLine | ClientLine, shape: Shape, before: str, after: str) -> Circumstances:
    return Circumstances(
        shape, moved_from=before, moved_to=after, file=line.file, line=line.line, timestamp_ms=line.timestamp_ms
    )


def _is_legal(machine: Machine, before: IntEnum, after: IntEnum) -> bool:
    return any((row.state, row.target) == (before, after) for row in machine.rows)


def _illegal(
    machine: Machine, line: CoordinatorLine | ClientLine, subject: str, before: IntEnum, after: IntEnum
) -> str:
    legal = ", ".join(sorted({row.target.name for row in machine.rows if row.state == before})) or "nothing"
    moved = f"{subject} went from {before.name} to {after.name}"
    return f"{line.file}, line {line.line}: {moved}; the table of the {machine.name} allows {legal} there"


def _unwritten(line: CoordinatorLine, target: TransitTarget) -> Fault:
    done = f"{line.transactional_id!r} to {line.to_state.name} (producer id {target.producer_id}, epoch "
    message = (
        f"{line.file}, line {line.line}: the coordinator completed the transition of {done}{target.producer_epoch}), "
    )
    message += "which is not in its log; a transition is completed when its record is durable"
    circumstances = _circumstances_of(line, Shape.LINE_WITHOUT_RECORD, line.from_state.name, line.to_state.name)
    return Fault(
        "the_coordinator_wrote_what_it_did",
        message,
        line.transactional_id,
        target.producer_id,
        target.producer_epoch,
        circumstances=circumstances,
    )

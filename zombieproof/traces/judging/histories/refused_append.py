"""What it means that a log holds a batch which a leader would have refused: the promise that is broken, and why."""

from zombieproof.model.decisions.produce import newest_sequence
from zombieproof.model.records import AppendVerdict, ProducerEntry
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, Row
from zombieproof.traces.evidence import LoggedBatch, PartitionLog
from zombieproof.traces.verdict.circumstances import Circumstances


def promise_of_data(entry: ProducerEntry, batch: LoggedBatch, verdict: AppendVerdict, rules: Rules) -> str:
    """The promise that a data batch breaks which a leader that knows `entry` refuses, or answers without appending."""
    if verdict.error == Error.NONE:
        return "each_sequence_is_appended_once"
    if verdict.error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
        behind = _is_behind(entry, batch, rules)
        return "each_sequence_is_appended_once" if behind else "sequences_follow_each_other"
    return "no_plain_data_inside_a_transaction" if verdict.row == Row.A6 else "epochs_never_go_down"


def why_data_is_refused(
    log: PartitionLog, entry: ProducerEntry, batch: LoggedBatch, verdict: AppendVerdict, rules: Rules
) -> str:
    """The same in words."""
    if verdict.error == Error.NONE:
        return repeated(batch, verdict.duplicate_of)
    if verdict.error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
        if _is_behind(entry, batch, rules):
            return repeated(batch, _appended_at(log, batch))
        return _gap(entry, batch, verdict, rules)
    if verdict.row == Row.A6:
        opened = f"while its transaction from offset {entry.txn_first_offset} on is open"
        return f"plain data of producer id {batch.producer_id} {opened}; a leader refuses it {_refusal(verdict)}"
    after = f"behind epoch {entry.producer_epoch} of the same producer id"
    fenced = f"data of epoch {batch.producer_epoch} {after}: a fenced producer wrote it"
    return f"{fenced}; a leader refuses it {_refusal(verdict)}"


def note_sequences(
    found: Circumstances,
    log: PartitionLog,
    entry: ProducerEntry,
    batch: LoggedBatch,
    verdict: AppendVerdict,
    rules: Rules,
) -> None:
    """Write down which sequence was next, or where the refused one stands already; the first time tells."""
    if found.found_sequence is not None or verdict.error not in (Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER):
        return
    found.found_sequence = batch.base_sequence
    if verdict.error == Error.NONE:
        found.repeats_offset = verdict.duplicate_of
    elif _is_behind(entry, batch, rules):
        found.repeats_offset = _appended_at(log, batch)
    else:
        found.expected_sequence = _expected(entry, batch, rules)


def promise_of_marker(verdict: AppendVerdict) -> str:
    """The promise that a marker breaks which a leader refuses."""
    deposed = verdict.error == Error.TRANSACTION_COORDINATOR_FENCED
    return "coordinator_epochs_never_go_down" if deposed else "epochs_never_go_down"


def why_marker_is_refused(entry: ProducerEntry, batch: LoggedBatch, verdict: AppendVerdict) -> str:
    """The same in words."""
    marker = batch.marker
    kind = "control" if marker is None else "COMMIT" if marker.commit else "ABORT"
    if marker is not None and verdict.error == Error.TRANSACTION_COORDINATOR_FENCED:
        older = f"of coordinator epoch {marker.coordinator_epoch} behind one of {entry.coordinator_epoch}"
        return f"the {kind} marker {older} comes from a deposed coordinator; a leader refuses it {_refusal(verdict)}"
    older = f"has epoch {batch.producer_epoch} behind data or markers of epoch {entry.producer_epoch}"
    return f"the {kind} marker {older}; a leader refuses it {_refusal(verdict)}"


def repeated(batch: LoggedBatch, offset: int) -> str:
    """What is wrong about a batch whose sequences are in the log already, at `offset` (NONE: not known where)."""
    before = f"at offset {offset}" if offset != NONE else "further up"
    again = f"{_sequences(batch)} is appended, and is in the log already, {before}"
    return f"{again}; a leader appends each sequence once, and answers a repetition with the first offset"


def _refusal(verdict: AppendVerdict) -> str:
    return f"({Error(verdict.error).name}, row {Row(verdict.row).name})"


def _is_behind(entry: ProducerEntry, batch: LoggedBatch, rules: Rules) -> bool:
    """Whether the batch's sequences lie behind the newest one, so that they were appended before (they wrap)."""
    newest = newest_sequence(entry)
    if batch.producer_epoch != entry.producer_epoch or newest == NONE:
        return False
    cycle = rules.sequence_max + 1
    return (newest - batch.base_sequence) % cycle < cycle // 2


def _appended_at(log: PartitionLog, batch: LoggedBatch) -> int:
    """The offset of the newest earlier record with the first sequence of `batch`, or NONE."""
    for earlier in reversed(log.batches):
        if earlier.base_offset >= batch.base_offset or earlier.is_control:
            continue
        same = (earlier.producer_id, earlier.producer_epoch) == (batch.producer_id, batch.producer_epoch)
        if same and earlier.base_sequence <= batch.base_sequence <= earlier.last_sequence:
            return earlier.base_offset + batch.base_sequence - earlier.base_sequence
    return NONE


def _gap(entry: ProducerEntry, batch: LoggedBatch, verdict: AppendVerdict, rules: Rules) -> str:
    expected = _expected(entry, batch, rules)
    lost = f"{_sequences(batch)} follows where {expected} was next: what should stand between is lost"
    return f"{lost}, and a leader refuses the batch {_refusal(verdict)}"


def _expected(entry: ProducerEntry, batch: LoggedBatch, rules: Rules) -> int:
    newest = newest_sequence(entry)
    continues = batch.producer_epoch == entry.producer_epoch and newest != NONE
    return int((newest + 1) % (rules.sequence_max + 1)) if continues else 0


def _sequences(batch: LoggedBatch) -> str:
    producer = f"of producer id {batch.producer_id}, epoch {batch.producer_epoch},"
    if batch.base_sequence == batch.last_sequence:
        return f"sequence {batch.base_sequence} {producer}"
    return f"sequences {batch.base_sequence} to {batch.last_sequence} {producer}"

"""The step of the log cleaner of a partition whose messages all have one key.

Source: reference §10.9.
"""

from zombieproof.model.proposal2014.leading import may_be_cleaned, may_control_be_cleaned, supersedes
from zombieproof.model.proposal2014.records import Log
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import RecordKind
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.proposal2014.leader import ends_at, is_pending, watermark


def clean(log: Log, rules: Rules) -> bool:
    """Remove what is superseded, then the control records that nobody needs: returns whether there was any."""
    bound = watermark(log)
    removed = 0
    for offset in range(log.end):
        is_superseded = _is_superseded(log, offset, bound, rules)
        if is_message(log, offset) and may_be_cleaned(is_pending(log, offset), offset >= bound, is_superseded, rules):
            removed = removed | (1 << offset)
    _remove(log, removed)
    controls = 0
    for offset in range(log.end):
        record = log.records[offset]
        is_control = record.kind > RecordKind.PAYLOAD and not record.is_cleaned
        if is_control and may_control_be_cleaned(_messages(log, int(record.transaction)), offset >= bound, rules):
            controls = controls | (1 << offset)
    _remove(log, controls)
    return removed | controls != 0


def _remove(log: Log, offsets: int) -> None:
    for offset in range(log.end):
        if (offsets >> offset) & 1 == 1:
            log.records[offset].is_cleaned = True


def is_message(log: Log, offset: int) -> bool:
    """Whether there is a message, plain or of a transaction."""
    record = log.records[offset]
    return record.kind in (RecordKind.PLAIN, RecordKind.PAYLOAD) and not record.is_cleaned


def is_committed(log: Log, offset: int) -> bool:
    """Whether a message is plain, or its TxId is committed."""
    record = log.records[offset]
    if record.kind == RecordKind.PLAIN:
        return True
    end = ends_at(log, offset)
    return record.kind == RecordKind.PAYLOAD and end != NONE and log.records[end].kind == RecordKind.CONTROL_COMMITTED


def _is_superseded(log: Log, offset: int, bound: int, rules: Rules) -> bool:
    if not is_committed(log, offset):
        return True
    for behind in range(offset + 1, log.end):
        if is_message(log, behind) and supersedes(is_committed(log, behind), behind >= bound, rules):
            return True
    return False


def _messages(log: Log, t: int) -> int:
    """How many messages of a TxId are left."""
    left = 0
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind == RecordKind.PAYLOAD and record.transaction == t and not record.is_cleaned:
            left += 1
    return left

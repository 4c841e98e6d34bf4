"""What is so in a state of the 2014 proposal: what its promises, and what tells that they are tested, have in common.

A TxId is committed where PREPARE_COMMIT is in the journal.
"""

from zombieproof.checker.proposal2014.state import Setup, State
from zombieproof.model.proposal2014.records import PARTITIONS, Journal, Log
from zombieproof.model.proposal2014.vocabulary import ProducerState, RecordKind, TransactionEvent
from zombieproof.model.vocabulary import NONE


def is_recorded(journal: Journal, t: int, event: int) -> bool:
    """Whether a record is in the journal."""
    for offset in range(journal.end):
        record = journal.records[offset]
        if record.transaction == t and record.event == event:
            return True
    return False


def is_decided(journal: Journal, t: int) -> bool:
    """Whether a TxId is committed."""
    return is_recorded(journal, t, int(TransactionEvent.PREPARE_COMMIT))


def begun_at(journal: Journal, t: int) -> int:
    """The offset of a BEGIN."""
    for offset in range(journal.end):
        record = journal.records[offset]
        if record.transaction == t and record.event == TransactionEvent.BEGIN:
            return offset
    return NONE


def has_control(log: Log, t: int, kind: int) -> bool:
    """Whether a partition has, or had, a control record of a TxId."""
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind == kind and record.transaction == t:
            return True
    return False


def is_ended_everywhere(state: State, t: int, kind: int) -> bool:
    """Whether every partition that BEGIN lists has a control record of a TxId."""
    for p in range(PARTITIONS):
        if (state.journal.begun[t].partitions >> p) & 1 == 1 and not has_control(state.logs[p], t, kind):
            return False
    return True


def is_unfinished(state: State, t: int) -> bool:
    """Whether a TxId lacks a control record somewhere."""
    committed = is_ended_everywhere(state, t, int(RecordKind.CONTROL_COMMITTED))
    return not committed and not is_ended_everywhere(state, t, int(RecordKind.CONTROL_ABORTED))


def messages_in_time(log: Log, t: int) -> int:
    """How many messages of a TxId are before its first control record."""
    found = 0
    for offset in range(log.end):
        record = log.records[offset]
        if record.transaction == t and record.kind > RecordKind.PAYLOAD:
            return found
        if record.transaction == t and record.kind == RecordKind.PAYLOAD:
            found += 1
    return found


def blocks_of(log: Log, t: int) -> int:
    """The blocks of input that messages of a TxId are of (bits)."""
    blocks = 0
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind == RecordKind.PAYLOAD and record.transaction == t:
            blocks = blocks | (1 << record.block)
    return blocks


def is_for_good(state: State, log: Log, offset: int) -> bool:
    """Whether a message, cleaned away or not, is plain or committed."""
    record = log.records[offset]
    if record.kind == RecordKind.PLAIN:
        return True
    return record.kind == RecordKind.PAYLOAD and is_decided(state.journal, int(record.transaction))


def everybody_is_closed(state: State, setup: Setup) -> bool:
    """All instances are closed, and may not be started again."""
    for i in range(setup.instances):
        instance = state.instances[i]
        if instance.state != ProducerState.CLOSED or instance.starts < setup.starts:
            return False
    return True

"""The steps of a consumer of one partition: it reads record by record, buffers, delivers in commit order, restarts.

What becomes of a record is the machine of the live consumer (`zombieproof.statemachines.consumer`), one for each TxId;
from where it goes on behind a restart is decided where the live consumer decides it
(`zombieproof.model.proposal2014.reading`).
Source: reference §10.8.
"""

from zombieproof.model.proposal2014.reading import is_second_control, isolation_of
from zombieproof.model.proposal2014.records import LOG, TRANSACTIONS, Log, Reader, Record
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import RecordKind
from zombieproof.model.vocabulary import NONE, ConsumerState
from zombieproof.statemachines.consumer.reading import ConsumerEffects, judge
from zombieproof.statemachines.notes import Notes
from zombieproof.statemachines.proposal2014.checkpoints import delivered_up_to, reaches, starts_at, was_delivered


def may_read(reader: Reader, log: Log) -> bool:
    """Whether there is something to read."""
    return reader.position < log.end


def read_one(reader: Reader, log: Log, is_committed: bool, rules: Rules, effects: ConsumerEffects, notes: Notes) -> int:
    """Read the next record, or hand over the next one of what was held back: the offset that is delivered, or NONE.

    `is_committed`: whether it reads committed messages only.
    """
    if reader.is_delivering:
        return _deliver(reader, log, rules)
    offset = int(reader.position)
    record = log.records[offset]
    if record.is_cleaned or _is_passed_over(reader, record, rules):
        _pass(reader)
        return NONE
    t = int(record.transaction)
    notes.subject = t
    isolation = isolation_of(is_committed, rules)
    control = record.kind > RecordKind.PAYLOAD
    committed = record.kind == RecordKind.CONTROL_COMMITTED
    transactional = record.kind != RecordKind.PLAIN
    reader.states[t] = judge(int(reader.states[t]), isolation, control, committed, transactional, True, effects, notes)
    if control:
        reader.finished = reader.finished | (1 << t)
    if effects.delivers_held and not was_delivered(offset, int(reader.delivered_to)):
        reader.partly = delivered_up_to(offset, int(reader.delivered_to), int(reader.partly))
        reader.is_delivering = True
        return _deliver(reader, log, rules)
    if effects.holds:
        reader.held[t] = reader.held[t] | (1 << offset)
    elif control:
        _let_go(reader, t, rules)
    delivered = NONE
    if effects.delivers and not was_delivered(offset, int(reader.delivered_to)):
        delivered = offset
    _pass(reader)
    return delivered


def checkpoint(reader: Reader, rules: Rules) -> None:
    """Store where to go on from, together with what the application made of what it was given."""
    reader.saved_start = starts_at(int(reader.position), _first_held(reader), rules)
    reader.saved_to = reader.delivered_to
    reader.saved_partly = reader.partly if rules.deliveries_are_counted == 1 else NONE


def restart(reader: Reader) -> None:
    """Buffers are dropped, and read again from the checkpoint on."""
    reader.position = reader.saved_start
    for t in range(TRANSACTIONS):
        reader.states[t] = int(ConsumerState.DELIVERING)
        reader.held[t] = 0
    reader.finished = 0
    reader.is_delivering = False
    reader.delivered_to = reader.saved_to
    reader.partly = reader.saved_partly


def _is_passed_over(reader: Reader, record: Record, rules: Rules) -> bool:
    is_finished = (reader.finished >> record.transaction) & 1 == 1
    return record.kind > RecordKind.PAYLOAD and is_second_control(is_finished, rules)


def _deliver(reader: Reader, log: Log, rules: Rules) -> int:
    """Hand over the next record of the transaction whose control record is at the position; NONE: none is left."""
    t = int(log.records[reader.position].transaction)
    found = NONE
    more = False
    for offset in range(LOG):
        if (reader.held[t] >> offset) & 1 == 1 and offset > reader.partly:
            if found == NONE:
                found = offset
            else:
                more = True
    if found != NONE:
        reader.partly = found
    if not more:
        _let_go(reader, t, rules)
        reader.is_delivering = False
        _pass(reader)
    return found


def _let_go(reader: Reader, t: int, rules: Rules) -> None:
    if rules.second_controls_are_ignored == 1:
        reader.held[t] = 0


def _pass(reader: Reader) -> None:
    """On to the next record."""
    reader.position += 1
    reached = reaches(int(reader.position), NONE, int(reader.delivered_to), int(reader.partly))
    reader.delivered_to = reached.delivered_to
    reader.partly = reached.partly


def _first_held(reader: Reader) -> int:
    for offset in range(LOG):
        for t in range(TRANSACTIONS):
            if (reader.held[t] >> offset) & 1 == 1:
                return offset
    return NONE

"""The steps of the leader of a partition: payload, control records, what the coordinator tells, a new leader.

The leader of the offsets partition keeps the offsets of a consumer group as well: they are those of the transaction
that the last control record is of (G-LAST-COMMIT), and unsettled while another one is pending.
Source: reference §10.3, §10.5, §10.7.
"""

from zombieproof.model.proposal2014.leading import decide_control, decide_payload, decide_settled, names_the_last
from zombieproof.model.proposal2014.reading import is_second_control
from zombieproof.model.proposal2014.records import OFFSETS, PRODUCERS, TRANSACTIONS, Leader, Log, Request
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    LeaderEvent,
    LeaderState,
    OffsetsEvent,
    OffsetsState,
    RecordKind,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.notes import MachineIndex, Notes, move
from zombieproof.statemachines.proposal2014 import connections


def append_payload(leader: Leader, log: Log, request: Request, rules: Rules, notes: Notes) -> int:
    """Answer payload, or input offsets: DONE where it is appended. Room in the log is the host's care."""
    known = leader.known[request.producer]
    t = int(request.transaction)
    pending = leader.pending[t]
    answer = decide_payload(int(pending.state), known, int(request.instance), int(request.generation), rules)
    if answer == Answer.TWO_CONNECTIONS:
        known.closed = True
    if answer != Answer.DONE:
        return answer
    connections.connect(known, int(request.instance), int(request.generation))
    pending.producer = request.producer
    record = log.records[log.end]
    record.kind = int(RecordKind.PAYLOAD)
    record.transaction = t
    record.block = request.block
    record.number = request.number
    log.end += 1
    _move(leader, t, int(LeaderEvent.APPEND_PAYLOAD), notes)
    if request.partition == OFFSETS:
        _move_offsets(leader, int(OffsetsEvent.COMMIT_OFFSETS), notes)
    return answer


def append_control(leader: Leader, log: Log, p: int, t: int, commits: bool, rules: Rules, notes: Notes) -> None:
    """Append a control record of a TxId to partition `p`. Room in the log is the host's care."""
    record = log.records[log.end]
    record.kind = int(RecordKind.CONTROL_COMMITTED if commits else RecordKind.CONTROL_ABORTED)
    record.transaction = t
    log.end += 1
    _move(leader, t, decide_control(rules), notes)
    if p == OFFSETS:
        _move_offsets(leader, decide_settled(int(leader.offsets), has_open(log)), notes)
    if rules.generations_are_kept == 0:
        _forget_generation(leader, int(leader.pending[t].producer))


def be_told(leader: Leader, t: int, producer: int, generation: int, notes: Notes) -> None:
    """The coordinator says that a TxId has begun, and of which generation of its producerId it is."""
    leader.pending[t].producer = producer
    _move(leader, t, int(LeaderEvent.BE_TOLD), notes)
    connections.hear_of(leader.known[producer], generation)


def take_over(leader: Leader, log: Log, p: int, rules: Rules, notes: Notes) -> None:
    """A new leader of partition `p`: records say of which TxId they are, and nothing of generations."""
    leader.offsets = int(OffsetsState.SETTLED)
    for t in range(TRANSACTIONS):
        if leader.pending[t].state != LeaderState.UNKNOWN:
            _move(leader, t, int(LeaderEvent.FORGET), notes)
        leader.pending[t].producer = NONE
    for producer in range(PRODUCERS):
        connections.forget(leader.known[producer])
    if rules.new_leaders_read_their_logs == 0:
        return
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind == RecordKind.PAYLOAD:
            _move(leader, int(record.transaction), int(LeaderEvent.APPEND_PAYLOAD), notes)
        elif record.kind != RecordKind.PLAIN:
            _move(leader, int(record.transaction), decide_control(rules), notes)
    if p == OFFSETS and watermark(log) < log.end:
        _move_offsets(leader, int(OffsetsEvent.COMMIT_OFFSETS), notes)


def watermark(log: Log) -> int:
    """The transactional high watermark: the offset of the first message of a pending transaction, or the end."""
    for offset in range(log.end):
        if is_pending(log, offset):
            return offset
    return int(log.end)


def is_pending(log: Log, offset: int) -> bool:
    """Whether a record is a message of a TxId that no control record behind it ends."""
    record = log.records[offset]
    if record.kind != RecordKind.PAYLOAD or record.is_cleaned:
        return False
    return ends_at(log, offset) == NONE


def has_open(log: Log) -> bool:
    """Whether there is a message of a TxId that had no control record behind it, one cleaned away since included."""
    for offset in range(log.end):
        record = log.records[offset]
        is_message = record.kind == RecordKind.PAYLOAD and not record.is_cleaned
        if is_message and _last_control(log, int(record.transaction)) < offset:
            return True
    return False


def _last_control(log: Log, t: int) -> int:
    last = NONE
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind > RecordKind.PAYLOAD and record.transaction == t:
            last = offset
    return last


def ends_at(log: Log, offset: int) -> int:
    """The offset of the first control record behind a message that ends its TxId; NONE: there is none."""
    t = log.records[offset].transaction
    for behind in range(offset + 1, log.end):
        record = log.records[behind]
        if record.kind > RecordKind.PAYLOAD and record.transaction == t and not record.is_cleaned:
            return behind
    return NONE


def has_ended(log: Log, t: int) -> bool:
    """Whether a control record of a TxId is there."""
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind > RecordKind.PAYLOAD and record.transaction == t and not record.is_cleaned:
            return True
    return False


def committed_position(log: Log, first: int, past: int, rules: Rules) -> int:
    """The block at which a group goes on that has the input from `first` to before `past`.

    It lies behind that of the transaction which G-LAST-COMMIT names; where there is none, it is `first`.
    """
    position = first
    met = 0
    for offset in range(log.end):
        record = log.records[offset]
        if record.kind > RecordKind.PAYLOAD and not record.is_cleaned:
            is_finished = (met >> record.transaction) & 1 == 1
            met = met | (1 << record.transaction)
            if record.kind == RecordKind.CONTROL_COMMITTED and not is_second_control(is_finished, rules):
                its = _position_in(log, int(record.transaction), first, past)
                if names_the_last(its > first, rules):
                    position = its
    return position


def _position_in(log: Log, t: int, first: int, past: int) -> int:
    """The block behind those of a group that a TxId has; `first`: it has none."""
    position = first
    for offset in range(log.end):
        record = log.records[offset]
        is_its = record.kind == RecordKind.PAYLOAD and record.transaction == t and not record.is_cleaned
        if is_its and first <= record.block < past:
            position = int(record.block) + 1
    return position


def _forget_generation(leader: Leader, producer: int) -> None:
    """Without a pending transaction a generation is not remembered."""
    for t in range(TRANSACTIONS):
        if leader.pending[t].state == LeaderState.PENDING and leader.pending[t].producer == producer:
            return
    if producer != NONE:
        connections.forget(leader.known[producer])


def _move(leader: Leader, t: int, event: int, notes: Notes) -> None:
    notes.subject = t
    leader.pending[t].state = move(notes, MachineIndex.PROPOSAL2014_LEADER, int(leader.pending[t].state), event)


def _move_offsets(leader: Leader, event: int, notes: Notes) -> None:
    notes.subject = 0
    leader.offsets = move(notes, MachineIndex.PROPOSAL2014_OFFSETS, int(leader.offsets), event)

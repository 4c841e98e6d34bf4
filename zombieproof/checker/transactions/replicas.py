"""How far each log is replicated, where a scenario asks for it: the high watermark, and what lies above it.

Without `Bounds.replicated` a record is at every replica as soon as it is in the log: where there is room for
high watermarks all the same, they are as far as a log can be. With it the replicas get it one
record after the other, and until then whoever waits for all of them is not answered (`Stage.REPLICATING`). What is read
is bounded by what is replicated, and a transaction that ended is not stable before its marker is (reference §3.6).

What lies above the high watermark an election can take away. A new leader whose log ends in between is as if that had
been replicated just before.
"""

from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, LogEntry
from zombieproof.statemachines.partition_leader import acknowledging, markers, offsets


def start_of(state: State, p: int) -> int:
    """Where the log of a partition begins."""
    return int(state.remains[p].start) if len(state.remains) > 0 else 0


def high_watermark(state: State, p: int) -> int:
    """Up to where a partition's log is replicated."""
    if len(state.replicas) == 0:
        return int(state.partitions[p].end)
    return min(int(state.replicas[p].high_watermark), int(state.partitions[p].end))


def replicate(state: State, p: int) -> bool:
    """The other replicas of a partition in sync have its leader's next record."""
    if not state.partitions[p].leader or high_watermark(state, p) >= state.partitions[p].end:
        return False
    state.replicas[p].high_watermark += 1
    return True


# ---------------------------------------------------------------- who waits


def is_waiting(message: Message) -> bool:
    """Whether a message is in a log, and its answer waits for the other replicas."""
    if message.kind == Kind.MARKER:
        return bool(message.error > 0)
    return bool(message.stage == Stage.REPLICATING)


def waits(state: State, setup: Setup, message: Message, offset: int) -> bool:
    """What a message asked for is in the log at `offset`: whether its answer has to wait from now on."""
    p = int(message.partition)
    if acknowledging.is_durable_everywhere(high_watermark(state, p), offset + 1, setup.rules):
        return False
    if message.kind != Kind.MARKER:
        message.stage = Stage.REPLICATING
    message.error = offset + 1
    return True


def is_over(state: State, message: Message) -> bool:
    """Whether what a message waited for has come."""
    return bool(high_watermark(state, int(message.partition)) >= message.error)


def is_everywhere(state: State, setup: Setup, p: int) -> bool:
    """Whether who asks now, and waits for everything that was asked before, is answered."""
    return acknowledging.is_durable_everywhere(high_watermark(state, p), int(state.partitions[p].end), setup.rules)


# ---------------------------------------------------------------- what is read


def reach(state: State, p: int, rules: Rules) -> offsets.Reach:
    """What there is of a partition's log for a reader."""
    return offsets.reach_of(start_of(state, p), high_watermark(state, p), int(state.partitions[p].end), rules)


def stable(state: State, p: int, rules: Rules) -> offsets.Readable:
    """How far a partition is stable."""
    undecided = offsets.first_undecided(state.partitions[p].entries)
    return offsets.readable(undecided, first_unsettled(state, p, rules), reach(state, p, rules))


def first_unsettled(state: State, p: int, rules: Rules) -> int:
    """Where the earliest transaction begins that has ended and whose marker still holds it back, or NONE."""
    first, partition = NONE, state.partitions[p]
    for offset in range(high_watermark(state, p), partition.end):
        record = partition.log[offset]
        if record.kind not in (LogEntry.COMMIT, LogEntry.ABORT):
            continue
        begin = markers.ended_from(_open_since(state, p, int(record.producer_id), offset), offset, rules)
        settled = offsets.is_settled(offset, high_watermark(state, p), rules)
        if begin != NONE and not settled and (first == NONE or begin < first):
            first = begin
    return first


def _open_since(state: State, p: int, producer_id: int, before: int) -> int:
    """Where the transaction of a producer id began that is open just before an offset, or NONE."""
    begin, log = NONE, state.partitions[p].log
    for offset in range(before):
        if log[offset].producer_id != producer_id:
            continue
        if log[offset].kind in (LogEntry.COMMIT, LogEntry.ABORT):
            begin = NONE
        elif begin == NONE and log[offset].kind in (LogEntry.DATA, LogEntry.OFFSET):
            begin = offset
    return begin


# ---------------------------------------------------------------- what is lost


def cut(state: State, p: int) -> None:
    """A partition's log ends at the high watermark: what lay above it is in no log any more."""
    partition = state.partitions[p]
    for offset in range(high_watermark(state, p), partition.end):
        record = partition.log[offset]
        record.kind = 0
        record.producer_id = 0
        record.producer_epoch = 0
        record.value = 0
        record.label = 0
    partition.end = high_watermark(state, p)
    state.replicas[p].is_cut = True


def settled_epoch(state: State, p: int, producer_id: int) -> int:
    """The producer epoch that a leader knows at least, whatever an election takes away; NONE: none."""
    epoch = NONE
    for offset in range(high_watermark(state, p)):
        record = state.partitions[p].log[offset]
        if record.producer_id == producer_id and record.kind != LogEntry.PLAIN_OFFSET:
            epoch = int(record.producer_epoch)
    return epoch

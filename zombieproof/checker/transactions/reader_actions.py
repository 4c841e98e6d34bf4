"""What a consumer of partition 0 does: fetch, filter, deliver.

Reader 0 is Kafka's read_committed consumer (the broker bounds the fetch and lists aborted transactions), reader 1 holds
transactional batches back itself. A fetch returns either the next batch or everything there is; what the first reader
knows of aborted producers lasts for one fetch (reference §6).
"""

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.state import LOG, PRODUCER_IDS, Partition, Setup, State, Trail
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ConsumerState, Isolation, LogEntry
from zombieproof.statemachines.consumer import reading
from zombieproof.statemachines.partition_leader import markers, offsets


def fetch(state: State, setup: Setup, trail: Trail, r: int, everything: bool) -> bool:
    """Reader `r` fetches and consumes one batch, or everything up to its bound."""
    if r >= setup.bounds.readers:
        return False
    reader = state.readers[r]
    isolation = Isolation.READ_COMMITTED if r == 0 else Isolation.READ_COMMITTED_BUFFERING
    reach = replicas.reach(state, 0, setup.rules)
    stable = replicas.stable(state, 0, setup.rules)
    bound = int(offsets.bound_of(isolation, stable, reach, setup.rules))
    if reader.position >= bound:
        return False
    if not everything:
        if bound == reader.position + 1:
            return False
        bound = reader.position + 1
    first = int(reader.position)
    for offset in range(first, bound):
        _consume(state, setup, trail, r, isolation, first, bound, offset)
    if not reading.keeps_states(isolation):
        for pid in range(PRODUCER_IDS):
            reader.states[pid] = ConsumerState.DELIVERING
    reader.position = bound
    return True


def _consume(
    state: State, setup: Setup, trail: Trail, r: int, isolation: int, first: int, bound: int, offset: int
) -> None:
    reader, partition = state.readers[r], state.partitions[0]
    record = partition.log[offset]
    pid = int(record.producer_id)
    control = record.kind in (LogEntry.COMMIT, LogEntry.ABORT)
    met = reading.Met(control, record.kind == LogEntry.COMMIT, record.kind != LogEntry.PLAIN)
    trail.subject = r
    if isolation == Isolation.READ_COMMITTED and _aborted_begins(partition, pid, first, bound, offset, setup.rules):
        reader.states[pid] = reading.aborted_begins(reader.states[pid], isolation, trail)
    reader.states[pid] = reading.read(reader.states[pid], isolation, met, setup.rules, trail.consumer, trail)
    if trail.consumer.delivers:
        reader.delivered |= 1 << offset
    if trail.consumer.holds:
        reader.held |= 1 << offset
    if trail.consumer.delivers_held or trail.consumer.drops_held:
        held = _held_of(partition, int(reader.held), pid)
        reader.held = reader.held & ~held
        if trail.consumer.delivers_held:
            reader.delivered |= held


def _held_of(partition: Partition, held: int, pid: int) -> int:
    mask = 0
    for offset in range(LOG):
        if (held >> offset) & 1 == 1 and partition.log[offset].producer_id == pid:
            mask |= 1 << offset
    return mask


def _aborted_begins(partition: Partition, pid: int, first: int, bound: int, offset: int, rules: Rules) -> bool:
    """Whether the fetch's list names an aborted transaction of `pid` that begins at or before `offset`.

    The list is what the broker's index of aborted transactions holds for the fetched range. An entry whose marker lies
    before `offset` was met and left behind already.
    """
    begin = NONE
    for i in range(partition.end):
        record = partition.log[i]
        if record.producer_id != pid:
            continue
        if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
            committed = record.kind == LogEntry.COMMIT
            ended = markers.ended(markers.ended_from(begin, i, rules), i, committed, NONE)
            listed = ended.is_listed and offsets.listing(ended.first_offset, i, i + 1, first, bound).is_listed
            if listed and offset <= i and reading.is_due(ended.first_offset, pid, offset, rules):
                return True
            begin = NONE
        elif record.kind == LogEntry.DATA and begin == NONE:
            begin = i
    return False

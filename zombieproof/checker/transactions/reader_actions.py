"""What a consumer of partition 0 does: fetch, filter, deliver.

Reader 0 is Kafka's read_committed consumer (the broker bounds the fetch and lists aborted transactions), reader 1 holds
transactional batches back itself. A fetch returns either the next batch or everything there is; what the first reader
knows of aborted producers lasts for one fetch (reference §6). Where fetches are read in steps (`Bounds.reads_in_steps`)
a fetch has its bound from one moment, and its data and its list from a later one; anything happens in between.
"""

from zombieproof.checker.transactions import cleaning_actions, replicas
from zombieproof.checker.transactions.capacities import LOG
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import FetchUnderWay, Partition, State, Trail
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ConsumerState, Isolation, LogEntry
from zombieproof.statemachines.consumer import reading
from zombieproof.statemachines.partition_leader import markers, offsets


def fetch(state: State, setup: Setup, trail: Trail, r: int, everything: bool) -> bool:
    """Reader `r` fetches and consumes one batch, or everything up to its bound."""
    if r >= setup.bounds.readers:
        return False
    listed, bound = _listed_now(state), NONE
    if setup.bounds.reads_in_steps == 1:
        if not state.fetches[r].under_way:
            return False
        bound = int(state.fetches[r].bound)
        if bound == NONE:
            listed = int(state.fetches[r].listed)
    if bound == NONE:
        bound = _bound_now(state, setup, r)
    bound = min(bound, int(state.partitions[0].end))
    first = max(int(state.readers[r].position), replicas.start_of(state, 0))
    if first >= bound:
        return False
    if not everything:
        if bound == first + 1:
            return False
        bound = first + 1
    _read(state, setup, trail, r, bound, listed)
    if setup.bounds.reads_in_steps == 1:
        _end(state.fetches[r])
    return True


def begin_fetch(state: State, setup: Setup, r: int) -> bool:
    """The first moment of a fetch of reader `r`: its bound, or the list where the rules have it the other way round."""
    if setup.bounds.reads_in_steps == 0 or r >= setup.bounds.readers or state.fetches[r].under_way:
        return False
    under_way, position = state.fetches[r], int(state.readers[r].position)
    if offsets.takes_bound_first(setup.rules):
        bound = _bound_now(state, setup, r)
        if position >= bound:
            return False
        under_way.bound = bound
    else:
        if position >= state.partitions[0].end:
            return False
        under_way.listed = _listed_now(state)
    under_way.under_way = True
    return True


def _end(under_way: FetchUnderWay) -> None:
    under_way.under_way = False
    under_way.bound = NONE
    under_way.listed = 0


def _isolation_of(r: int) -> int:
    return int(Isolation.READ_COMMITTED if r == 0 else Isolation.READ_COMMITTED_BUFFERING)


def _bound_now(state: State, setup: Setup, r: int) -> int:
    reach, stable = replicas.reach(state, 0, setup.rules), replicas.stable(state, 0, setup.rules)
    return int(offsets.bound_of(_isolation_of(r), stable, reach, setup.rules))


def _listed_now(state: State) -> int:
    """A mask of the markers of the index of aborted transactions."""
    partition, mask = state.partitions[0], 0
    for offset in range(partition.end):
        if partition.log[offset].kind == LogEntry.ABORT:
            mask |= 1 << offset
    return mask & ~cleaning_actions.unlisted(state, 0)


def _read(state: State, setup: Setup, trail: Trail, r: int, bound: int, listed: int) -> None:
    """What lies below `bound`; of the aborted transactions those are listed whose markers the mask `listed` has."""
    reader, isolation = state.readers[r], _isolation_of(r)
    first = max(int(reader.position), replicas.start_of(state, 0))
    for offset in range(first, bound):
        if not cleaning_actions.is_gone(state, 0, offset):
            _consume(state, setup, trail, r, first, bound, offset, listed)
    if not reading.keeps_states(isolation):
        for pid in range(len(reader.states)):
            reader.states[pid] = ConsumerState.DELIVERING
    reader.position = bound


def _consume(
    state: State, setup: Setup, trail: Trail, r: int, first: int, bound: int, offset: int, listed: int
) -> None:
    reader, partition, isolation = state.readers[r], state.partitions[0], _isolation_of(r)
    record = partition.log[offset]
    pid = int(record.producer_id)
    control = record.kind in (LogEntry.COMMIT, LogEntry.ABORT)
    met = reading.Met(control, record.kind == LogEntry.COMMIT, record.kind != LogEntry.PLAIN)
    trail.subject = r
    if isolation == Isolation.READ_COMMITTED and _aborted_begins(
        partition, pid, first, bound, offset, listed, setup.rules
    ):
        reader.states[pid] = reading.aborted_begins(reader.states[pid], isolation, trail)
    if cleaning_actions.is_empty(state, 0, offset):
        return
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


def _aborted_begins(
    partition: Partition, pid: int, first: int, bound: int, offset: int, listed: int, rules: Rules
) -> bool:
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
            is_listed = ended.is_listed and (listed >> i) & 1 == 1
            touches = is_listed and offsets.listing(ended.first_offset, i, i + 1, first, bound).is_listed
            if touches and offset <= i and reading.is_due(ended.first_offset, pid, offset, rules):
                return True
            begin = NONE
        elif record.kind == LogEntry.DATA and begin == NONE:
            begin = i
    return False

"""What a consumer of partition 0 does: fetch, filter, deliver.

Reader 0 is Kafka's read_committed consumer (the broker bounds the fetch and lists aborted transactions), reader 1 holds
transactional batches back itself. A fetch returns either the next batch or everything there is; what the first reader
knows of aborted producers lasts for one fetch (reference §6).
"""

from zombieproof.checker.transactions.moves import move
from zombieproof.checker.transactions.world import LOG, PRODUCER_IDS, Partition, Setup, Trail, World
from zombieproof.model.decisions.consume import Delivery, decide_read
from zombieproof.model.decisions.fetch import (
    fetch_bound,
    first_unstable_offset,
    is_listed_as_aborted,
    last_stable_offset,
)
from zombieproof.model.vocabulary import ConsumerEvent, ConsumerState, Isolation, LogEntry
from zombieproof.statemachines.notes import MachineIndex


def fetch(world: World, setup: Setup, trail: Trail, r: int, everything: int) -> bool:
    """Reader `r` fetches and consumes one batch, or everything up to its bound."""
    if r >= setup.bounds.readers:
        return False
    partition = world.partitions[0]
    reader = world.readers[r]
    isolation = Isolation.READ_COMMITTED if r == 0 else Isolation.READ_COMMITTED_BUFFERING
    stable = last_stable_offset(partition.end, first_unstable_offset(partition.entries))
    bound = fetch_bound(isolation, partition.end, stable, setup.rules)
    if reader.position >= bound:
        return False
    if everything == 0:
        if bound == reader.position + 1:
            return False
        bound = reader.position + 1
    first = int(reader.position)
    for offset in range(first, bound):
        _consume(world, setup, trail, r, isolation, first, bound, offset)
    if isolation == Isolation.READ_COMMITTED:
        for pid in range(PRODUCER_IDS):
            reader.states[pid] = ConsumerState.DELIVERING
    reader.position = bound
    return True


def _consume(
    world: World, setup: Setup, trail: Trail, r: int, isolation: int, first: int, bound: int, offset: int
) -> None:
    reader = world.readers[r]
    record = world.partitions[0].log[offset]
    pid = int(record.producer_id)
    control = 1 if record.kind in (LogEntry.COMMIT, LogEntry.ABORT) else 0
    committed = 1 if record.kind == LogEntry.COMMIT else 0
    transactional = 0 if record.kind == LogEntry.PLAIN else 1
    begins = 0
    if isolation == Isolation.READ_COMMITTED and setup.rules.aborted_list == 1 and transactional == 1:
        begins = 1 if _aborted_begins(world.partitions[0], pid, first, bound, offset) else 0
    verdict = decide_read(isolation, reader.states[pid], control, committed, transactional, begins)
    if verdict.event == ConsumerEvent.ABORTED_TRANSACTION_BEGINS:
        reader.states[pid] = move(trail, MachineIndex.CONSUMER, r, reader.states[pid], verdict.event)
        verdict = decide_read(isolation, reader.states[pid], control, committed, transactional, 0)
    stays = verdict.event == ConsumerEvent.ABORT_MARKER and setup.rules.skipping_ends == 0
    if not stays:
        reader.states[pid] = move(trail, MachineIndex.CONSUMER, r, reader.states[pid], verdict.event)
    if verdict.delivery == Delivery.THIS_BATCH:
        reader.delivered |= 1 << offset
    elif verdict.delivery in (Delivery.HELD_BACK, Delivery.DROP_HELD_BACK):
        held = _held_of(world.partitions[0], int(reader.held), pid)
        reader.held = reader.held & ~held
        if verdict.delivery == Delivery.HELD_BACK:
            reader.delivered |= held
    elif isolation == Isolation.READ_COMMITTED_BUFFERING and control == 0:
        reader.held |= 1 << offset


def _held_of(partition: Partition, held: int, pid: int) -> int:
    mask = 0
    for offset in range(LOG):
        if (held >> offset) & 1 == 1 and partition.log[offset].producer_id == pid:
            mask |= 1 << offset
    return mask


def _aborted_begins(partition: Partition, pid: int, first: int, bound: int, offset: int) -> bool:
    """Whether the fetch's list names an aborted transaction of `pid` that begins at or before `offset`.

    The list is what the broker's index of aborted transactions holds for the fetched range. An entry whose marker lies
    before `offset` was met and left behind already.
    """
    begin = -1
    for i in range(partition.end):
        record = partition.log[i]
        if record.producer_id != pid:
            continue
        if record.kind in (LogEntry.COMMIT, LogEntry.ABORT):
            aborted = record.kind == LogEntry.ABORT and begin >= 0
            if aborted and begin <= offset <= i and is_listed_as_aborted(begin, i, first, bound):
                return True
            begin = -1
        elif record.kind == LogEntry.DATA and begin < 0:
            begin = i
    return False

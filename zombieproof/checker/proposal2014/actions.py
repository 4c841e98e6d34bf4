"""What happens in an action: a host of the steps of the 2014 proposal, and the faults around them."""

from zombieproof.checker.proposal2014 import requests
from zombieproof.checker.proposal2014.state import Setup, State, Trail
from zombieproof.model.proposal2014.records import LOG, PARTITIONS
from zombieproof.model.proposal2014.vocabulary import (
    Answer,
    ProducerState,
    RecordKind,
    RequestKind,
    TransactionState,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.proposal2014 import cleaner, coordinator, leader, producer, reader

NO_ROOM_IN_OUTPUT = 3


def go_on(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """An instance takes its next step, and is answered in it."""
    instance = state.instances[i]
    trail.subject = i
    at = requests.producer_of(setup, i)
    if requests.is_waiting(state, setup, i):
        requests.ask(state, setup, i, trail.request)
        requests.hear(state, setup, trail, i, requests.answer(state, setup, trail, trail.request))
    elif instance.state in (ProducerState.STOPPED, ProducerState.CLOSED):
        if i >= setup.instances or instance.starts >= setup.starts:
            return False
        producer.start(instance, int(state.stored[at]), trail)
    elif instance.state == ProducerState.STARTING:
        state.stored[at] = producer.get_ready(instance, int(state.stored[at]), setup.rules, trail)
    elif instance.state == ProducerState.READY:
        if not requests.may_begin(state, setup, i):
            return False
        producer.begin(instance, setup.rules, trail)
        if not requests.fetches(setup):
            instance.block = requests.next_block(state, setup, i)
    elif instance.state == ProducerState.FETCHING:
        return _fetch(state, setup, trail, i)
    else:
        producer.end(instance, True, trail)
    return True


def _fetch(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """An instance is told where its group is, and takes its input; where none is left, it ends its transaction."""
    if not requests.is_told(state, setup):
        return False
    block = requests.next_block(state, setup, i)
    if block == requests.past_of_group(setup, i):
        producer.end(state.instances[i], False, trail)
    else:
        producer.take_input(state.instances[i], trail)
        state.instances[i].block = block
    return True


def lose_answer(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """A request has its effect, and its answer does not come."""
    if state.budget.lost == 0 or not requests.is_waiting(state, setup, i):
        return False
    state.budget.lost -= 1
    requests.ask(state, setup, i, trail.request)
    requests.answer(state, setup, trail, trail.request)
    requests.hear(state, setup, trail, i, int(Answer.NO_ANSWER))
    return True


def be_late(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """A request is given up by who sent it, and is still under way."""
    if state.budget.late == 0 or not requests.is_waiting(state, setup, i):
        return False
    requests.ask(state, setup, i, trail.request)
    if not requests.keep_late(state, trail.request):
        return False
    state.budget.late -= 1
    requests.hear(state, setup, trail, i, int(Answer.NO_ANSWER))
    return True


def arrive(state: State, setup: Setup, trail: Trail, place: int) -> bool:
    """A late request has its effect."""
    late = state.late[place]
    if late.kind == RequestKind.NOTHING:
        return False
    requests.answer(state, setup, trail, late)
    requests.clear(late)
    return True


def abort(state: State, trail: Trail, i: int) -> bool:
    """An application does not want its transaction."""
    if state.budget.aborts == 0 or state.instances[i].state != ProducerState.IN_TRANSACTION:
        return False
    state.budget.aborts -= 1
    trail.subject = i
    producer.end(state.instances[i], False, trail)
    return True


def crash(state: State, setup: Setup, trail: Trail, i: int) -> bool:
    """A process dies."""
    if state.budget.crashes == 0 or state.instances[i].state == ProducerState.STOPPED:
        return False
    state.budget.crashes -= 1
    trail.subject = i
    producer.crash(state.instances[i], setup.grouped == 1, trail)
    return True


def tell(state: State, trail: Trail, place: int) -> bool:
    """A leader is told of a transaction."""
    t, p = place // PARTITIONS, place % PARTITIONS
    transaction = state.coordinator.transactions[t]
    if (transaction.to_tell >> p) & 1 == 0:
        return False
    transaction.to_tell = transaction.to_tell & ~(1 << p)
    leader.be_told(state.leaders[p], t, int(transaction.producer), int(transaction.generation), trail)
    return True


def control(state: State, setup: Setup, trail: Trail, place: int, is_lost: bool) -> bool:
    """A leader appends a control record; where its acknowledgement is lost it is asked again."""
    t, p = place // PARTITIONS, place % PARTITIONS
    transaction = state.coordinator.transactions[t]
    if (transaction.to_end >> p) & 1 == 0 or (is_lost and state.budget.lost == 0):
        return False
    log = state.logs[p]
    if log.end == LOG:
        state.full = requests.NO_RECORDS_LEFT
        return True
    commits = transaction.state in (TransactionState.PREPARED_COMMIT, TransactionState.COMMITTED)
    leader.append_control(state.leaders[p], log, p, t, commits, setup.rules, trail)
    if is_lost:
        state.budget.lost -= 1
    else:
        coordinator.acknowledged(state.coordinator, state.journal, t, p, setup.rules, trail)
    return True


def expire(state: State, setup: Setup, trail: Trail, t: int, is_early: bool) -> bool:
    """What has begun is aborted, because its time is over: some time where nobody is in it, or else as a fault."""
    if not coordinator.may_give_up(state.coordinator, t):
        return False
    if is_early == requests.is_left_alone(state, setup, t):
        return False
    if is_early:
        if state.budget.timeouts == 0:
            return False
        state.budget.timeouts -= 1
    coordinator.give_up(state.coordinator, state.journal, t, setup.rules, trail)
    return True


def fail_over(state: State, setup: Setup, trail: Trail) -> bool:
    """Another broker becomes the coordinator."""
    if state.budget.failovers == 0:
        return False
    state.budget.failovers -= 1
    coordinator.take_over(state.coordinator, state.journal, setup.rules, trail)
    return True


def change_leader(state: State, setup: Setup, trail: Trail, p: int) -> bool:
    """A partition has a new leader."""
    if state.budget.leader_changes == 0 or state.logs[p].end == 0:
        return False
    state.budget.leader_changes -= 1
    leader.take_over(state.leaders[p], state.logs[p], p, setup.rules, trail)
    if setup.rules.new_leaders_read_their_logs == 1:
        coordinator.tell_again(state.coordinator, p, setup.rules)
    return True


def checkpoint_watermark(state: State) -> bool:
    """The high watermark of the journal is stored."""
    if state.budget.watermark_checkpoints == 0 or state.journal.checkpoint == state.coordinator.high_watermark:
        return False
    state.budget.watermark_checkpoints -= 1
    state.journal.checkpoint = state.coordinator.high_watermark
    return True


def append_plain(state: State, setup: Setup, p: int) -> bool:
    """A producer without transactions appends a message."""
    log = state.logs[p]
    if state.budget.plain_messages == 0 or p >= setup.partitions:
        return False
    if log.end == LOG:
        state.full = requests.NO_RECORDS_LEFT
        return True
    state.budget.plain_messages -= 1
    log.records[log.end].kind = int(RecordKind.PLAIN)
    log.end += 1
    return True


def read(state: State, setup: Setup, trail: Trail, p: int) -> bool:
    """A reader takes its next step."""
    log = state.logs[p]
    if p >= setup.readers or not reader.may_read(state.readers[p], log):
        return False
    is_committed = setup.read_committed == 1
    offset = reader.read_one(state.readers[p], log, is_committed, setup.rules, trail.reading, trail)
    output = state.outputs[p]
    if offset != NONE:
        if output.count == LOG:
            state.full = NO_ROOM_IN_OUTPUT
            return True
        output.offsets[output.count] = offset
        output.count += 1
    return True


def checkpoint_reader(state: State, setup: Setup, p: int) -> bool:
    """An application stores what it made of what it was given, and its reader where to go on from."""
    output = state.outputs[p]
    if state.budget.reader_checkpoints == 0 or p >= setup.readers or state.readers[p].position == 0:
        return False
    state.budget.reader_checkpoints -= 1
    reader.checkpoint(state.readers[p], setup.rules)
    output.saved = output.count
    return True


def crash_reader(state: State, setup: Setup, p: int) -> bool:
    """A reader and its application restart from their checkpoint."""
    output = state.outputs[p]
    if state.budget.reader_crashes == 0 or p >= setup.readers or state.readers[p].position == 0:
        return False
    state.budget.reader_crashes -= 1
    reader.restart(state.readers[p])
    for k in range(output.saved, output.count):
        output.offsets[k] = 0
    output.count = output.saved
    return True


def clean(state: State, setup: Setup, p: int) -> bool:
    """The log cleaner goes over a partition."""
    if state.budget.cleanings == 0 or not cleaner.clean(state.logs[p], setup.rules):
        return False
    state.budget.cleanings -= 1
    return True

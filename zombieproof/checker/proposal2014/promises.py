"""What the 2014 proposal promises: its functional requirements, and what has to hold of journal, logs and readers.

A TxId is committed where PREPARE_COMMIT is in the journal. The order of commits in a partition is that of the first
control records there.
"""

from collections.abc import Callable
from typing import Final

from zombieproof.checker.engine.model import Kind, Promise
from zombieproof.checker.proposal2014.facts import (
    begun_at,
    blocks_of,
    everybody_is_closed,
    has_control,
    is_decided,
    is_ended_everywhere,
    is_for_good,
    is_recorded,
    is_unfinished,
    messages_in_time,
)
from zombieproof.checker.proposal2014.state import COMMITTED, Setup, State
from zombieproof.checker.proposal2014.witnesses import WITNESSES
from zombieproof.model.proposal2014.records import (
    DATA,
    OFFSETS,
    PARTITIONS,
    TRANSACTIONS,
    Log,
    Reader,
)
from zombieproof.model.proposal2014.vocabulary import (
    RecordKind,
    TransactionEvent,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.proposal2014.cleaner import is_committed
from zombieproof.statemachines.proposal2014.leader import committed_position, ends_at, watermark


def only_what_is_committed_is_delivered(state: State, setup: Setup) -> bool:
    """An application never gets a message of a transaction that is not committed."""
    for p in range(DATA):
        output = state.outputs[p]
        for k in range(output.count):
            record = state.logs[p].records[output.offsets[k]]
            if record.kind == RecordKind.PAYLOAD and not is_decided(state.journal, int(record.transaction)):
                return False
    return True


def a_transaction_is_delivered_in_one_piece(state: State, setup: Setup) -> bool:
    """No other message is delivered between two messages of one transaction."""
    for p in range(DATA):
        output = state.outputs[p]
        left = 0
        last = NONE
        for k in range(output.count):
            record = state.logs[p].records[output.offsets[k]]
            t = int(record.transaction) if record.kind == RecordKind.PAYLOAD else NONE
            if t != NONE and (left >> t) & 1 == 1:
                return False
            if last not in (NONE, t):
                left = left | (1 << last)
            last = t
    return True


def transactions_are_delivered_in_the_order_of_their_commits(state: State, setup: Setup) -> bool:
    """Transactions of a partition are delivered in the order of their control records."""
    for p in range(DATA):
        output = state.outputs[p]
        log = state.logs[p]
        last = NONE
        for k in range(output.count):
            offset = int(output.offsets[k])
            if log.records[offset].kind == RecordKind.PAYLOAD:
                end = ends_at(log, offset)
                if end != NONE and end < last:
                    return False
                last = max(last, end)
    return True


def transactions_of_a_producer_are_delivered_in_their_order(state: State, setup: Setup) -> bool:
    """Two transactions of one producer are delivered in the order in which they were committed."""
    for p in range(DATA):
        output = state.outputs[p]
        for k in range(1, output.count):
            earlier = state.logs[p].records[output.offsets[k - 1]]
            later = state.logs[p].records[output.offsets[k]]
            is_payload = earlier.kind == RecordKind.PAYLOAD and later.kind == RecordKind.PAYLOAD
            begun = state.journal.begun
            is_one = begun[earlier.transaction].producer == begun[later.transaction].producer
            if is_payload and is_one and later.transaction < earlier.transaction:
                return False
    return True


def nothing_is_delivered_twice(state: State, setup: Setup) -> bool:
    """An application that restarts from its checkpoint gets each message at most once."""
    for p in range(DATA):
        output = state.outputs[p]
        seen = 0
        for k in range(output.count):
            bit = 1 << output.offsets[k]
            if seen & bit != 0:
                return False
            seen = seen | bit
    return True


def nothing_is_passed_over(state: State, setup: Setup) -> bool:
    """Every committed message is delivered once the reader has passed its control record."""
    for p in range(setup.readers):
        if not _is_delivered_up_to(state, p, int(state.readers[p].position)):
            return False
    return True


def _is_delivered_up_to(state: State, p: int, position: int) -> bool:
    log = state.logs[p]
    given = 0
    for k in range(state.outputs[p].count):
        given = given | (1 << state.outputs[p].offsets[k])
    for offset in range(position):
        record = log.records[offset]
        if record.is_cleaned or record.kind not in (RecordKind.PLAIN, RecordKind.PAYLOAD):
            continue
        is_due = record.kind == RecordKind.PLAIN or ends_at(log, offset) < position
        if is_due and is_committed(log, offset) and (given >> offset) & 1 == 0:
            return False
    return True


def a_message_is_in_its_transaction_once(state: State, setup: Setup) -> bool:
    """No partition has the same message twice in one transaction."""
    for p in range(PARTITIONS):
        log = state.logs[p]
        for one in range(log.end):
            for other in range(one):
                if _is_same(log, one, other):
                    return False
    return True


def _is_same(log: Log, one: int, other: int) -> bool:
    a, b = log.records[one], log.records[other]
    is_payload = a.kind == RecordKind.PAYLOAD and b.kind == RecordKind.PAYLOAD
    return is_payload and a.transaction == b.transaction and a.block == b.block and a.number == b.number


def a_transaction_has_one_end(state: State, setup: Setup) -> bool:
    """No TxId is committed in one partition and aborted in another, or both in one."""
    for t in range(state.journal.count):
        committed = False
        aborted = False
        for p in range(PARTITIONS):
            committed = committed or has_control(state.logs[p], t, int(RecordKind.CONTROL_COMMITTED))
            aborted = aborted or has_control(state.logs[p], t, int(RecordKind.CONTROL_ABORTED))
        if committed and aborted:
            return False
    return True


def what_is_committed_is_committed_everywhere(state: State, setup: Setup) -> bool:
    """When COMMITTED is in the journal, each partition that BEGIN lists has the control record."""
    for t in range(state.journal.count):
        is_final = is_recorded(state.journal, t, int(TransactionEvent.COMMIT))
        if is_final and not is_ended_everywhere(state, t, int(RecordKind.CONTROL_COMMITTED)):
            return False
    return True


def a_committed_transaction_is_whole(state: State, setup: Setup) -> bool:
    """Each partition of a committed transaction has all messages of its block, before the control record."""
    for t in range(state.journal.count):
        if is_decided(state.journal, t):
            for p in range(setup.partitions):
                if messages_in_time(state.logs[p], t) < setup.records:
                    return False
            if setup.grouped == 1 and messages_in_time(state.logs[OFFSETS], t) < 1:
                return False
    return True


def the_high_watermark_is_not_past_what_is_unfinished(state: State, setup: Setup) -> bool:
    """The journal's high watermark and its checkpoint never pass the BEGIN of an unfinished transaction."""
    if state.journal.checkpoint > state.coordinator.high_watermark:
        return False
    for t in range(state.journal.count):
        if is_unfinished(state, t) and begun_at(state.journal, t) < state.coordinator.high_watermark:
            return False
    return True


def each_block_is_committed_once(state: State, setup: Setup) -> bool:
    """No block of input is in the output of two committed transactions."""
    done = 0
    for t in range(state.journal.count):
        if is_decided(state.journal, t):
            blocks = blocks_of(state.logs[0], t)
            if done & blocks != 0:
                return False
            done = done | blocks
    return True


def no_older_generation_appends_behind_a_newer_one(state: State, setup: Setup) -> bool:
    """No partition has a message of an older generation after one of a newer generation of the same producer."""
    return not state.is_outrun


def what_a_producer_hears_is_so(state: State, setup: Setup) -> bool:
    """A transaction whose producer got COMMITTED is committed in the journal; one that got ABORTED never is."""
    for t in range(TRANSACTIONS):
        if state.told[t] != 0:
            committed = is_decided(state.journal, t)
            if committed != (state.told[t] == COMMITTED):
                return False
    return True


def the_group_goes_on_behind_what_is_committed(state: State, setup: Setup) -> bool:
    """The offsets of a group never go back to before a block whose commit is complete."""
    if setup.grouped == 0:
        return True
    log = state.logs[OFFSETS]
    for group in range(setup.groups):
        first = group * setup.blocks
        past = first + setup.blocks
        furthest = first
        for offset in range(log.end):
            record = log.records[offset]
            final = is_recorded(state.journal, int(record.transaction), int(TransactionEvent.COMMIT))
            if record.kind == RecordKind.PAYLOAD and final and first <= record.block < past:
                furthest = max(furthest, record.block + 1)
        if committed_position(log, first, past, setup.rules) < furthest:
            return False
    return True


def cleaning_keeps_the_newest_message(state: State, setup: Setup) -> bool:
    """The cleaner never removes the last plain or committed message of a key."""
    for p in range(PARTITIONS):
        log = state.logs[p]
        for offset in range(log.end - 1, -1, -1):
            if is_for_good(state, log, offset):
                if log.records[offset].is_cleaned:
                    return False
                break
    return True


def cleaning_keeps_what_is_delivered_last(state: State, setup: Setup) -> bool:
    """The cleaner never removes the plain or committed message of a key that readers deliver last."""
    for p in range(DATA):
        log = state.logs[p]
        last = NONE
        at = NONE
        for offset in range(log.end):
            if is_for_good(state, log, offset):
                given = offset if log.records[offset].kind == RecordKind.PLAIN else _control_of(log, offset)
                if given >= at:
                    last = offset
                    at = given
        if last != NONE and log.records[last].is_cleaned:
            return False
    return True


def _control_of(log: Log, offset: int) -> int:
    """Where a message is delivered: the first control record behind it, cleaned away or not; the end: none yet."""
    t = log.records[offset].transaction
    for behind in range(offset + 1, log.end):
        record = log.records[behind]
        if record.transaction == t and record.kind > RecordKind.PAYLOAD:
            return behind
    return int(log.end)


def no_machine_leaves_its_table(state: State, setup: Setup) -> bool:
    """No state machine makes a transition that its table does not have."""
    return not state.is_stuck


def nothing_is_left_unfinished(state: State, setup: Setup) -> bool:
    """No transaction is open or ended in only some of its partitions, and no message waits for a control record."""
    for t in range(state.journal.count):
        if is_unfinished(state, t):
            return False
    for p in range(PARTITIONS):
        if watermark(state.logs[p]) < state.logs[p].end:
            return False
    return True


def readers_are_caught_up(state: State, setup: Setup) -> bool:
    """Every reader is at the end, holds nothing back, and has delivered all committed messages."""
    for p in range(setup.readers):
        reader = state.readers[p]
        end = int(state.logs[p].end)
        if reader.position < end or _is_holding(reader) or not _is_delivered_up_to(state, p, end):
            return False
    return True


def _is_holding(reader: Reader) -> bool:
    for t in range(TRANSACTIONS):
        if reader.held[t] != 0:
            return True
    return False


def all_input_is_copied(state: State, setup: Setup) -> bool:
    """Every block of input is in a committed transaction."""
    copied = 0
    for t in range(state.journal.count):
        if is_decided(state.journal, t):
            copied = copied | blocks_of(state.logs[0], t)
    own = setup.instances if setup.grouped == 0 else setup.groups
    return copied == (1 << (own * setup.blocks)) - 1


def somebody_is_left(state: State, setup: Setup) -> bool:
    """Of two instances that were not stopped, at least one is not closed."""
    return not everybody_is_closed(state, setup)


_SOURCE: Final = "Transactional Messaging in Kafka (2014); reference §10"


def _promise(kind: Kind, holds: Callable[[State, Setup], bool], name: str = "") -> Promise:
    return Promise(name or holds.__name__, kind, holds, (holds.__doc__ or "").strip(), _SOURCE)


PROMISES: Final = (
    _promise("always", only_what_is_committed_is_delivered),
    _promise("always", a_transaction_is_delivered_in_one_piece),
    _promise("always", transactions_are_delivered_in_the_order_of_their_commits),
    _promise("always", transactions_of_a_producer_are_delivered_in_their_order),
    _promise("always", nothing_is_delivered_twice),
    _promise("always", nothing_is_passed_over),
    _promise("always", a_message_is_in_its_transaction_once),
    _promise("always", a_transaction_has_one_end),
    _promise("always", what_is_committed_is_committed_everywhere),
    _promise("always", a_committed_transaction_is_whole),
    _promise("always", the_high_watermark_is_not_past_what_is_unfinished),
    _promise("always", each_block_is_committed_once),
    _promise("always", no_older_generation_appends_behind_a_newer_one),
    _promise("always", what_a_producer_hears_is_so),
    _promise("always", the_group_goes_on_behind_what_is_committed),
    _promise("always", cleaning_keeps_the_newest_message),
    _promise("always", cleaning_keeps_what_is_delivered_last),
    _promise("always", no_machine_leaves_its_table),
    _promise("always", somebody_is_left),
    _promise("at_rest", nothing_is_left_unfinished),
    _promise("at_rest", readers_are_caught_up),
    _promise("at_rest", all_input_is_copied),
    _promise("leads_to", nothing_is_left_unfinished, "every_transaction_ends"),
    _promise("leads_to", readers_are_caught_up, "readers_catch_up"),
    _promise("leads_to", all_input_is_copied, "all_input_is_copied_some_time"),
    _promise("sometimes", all_input_is_copied, "everything_is_copied"),
    *(_promise("sometimes", each) for each in WITNESSES),
)

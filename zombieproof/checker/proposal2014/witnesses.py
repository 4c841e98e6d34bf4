"""What a scenario of the 2014 proposal has to reach, so that it tests what it promises."""

from typing import Final

from zombieproof.checker.proposal2014.facts import (
    blocks_of,
    everybody_is_closed,
    has_control,
    is_ended_everywhere,
    is_for_good,
    messages_in_time,
)
from zombieproof.checker.proposal2014.requests import fetches, is_left_alone, next_block, past_of_group
from zombieproof.checker.proposal2014.state import ABORTED, INSTANCES, Setup, State
from zombieproof.model.proposal2014.records import (
    DATA,
    LOG,
    OFFSETS,
    PARTITIONS,
    TRANSACTIONS,
)
from zombieproof.model.proposal2014.vocabulary import (
    ProducerState,
    RecordKind,
    TransactionState,
)
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.proposal2014.leader import is_pending, watermark


def a_transaction_is_aborted(state: State, setup: Setup) -> bool:
    """A transaction is aborted in each of its partitions."""
    for t in range(state.journal.count):
        if is_ended_everywhere(state, t, int(RecordKind.CONTROL_ABORTED)):
            return True
    return False


def a_later_commit_is_delivered_first(state: State, setup: Setup) -> bool:
    """A reader is given a message with a higher offset before one with a lower: commits decide the order."""
    for p in range(DATA):
        output = state.outputs[p]
        for k in range(1, output.count):
            if output.offsets[k] < output.offsets[k - 1]:
                return True
    return False


def a_message_overtakes_an_open_transaction(state: State, setup: Setup) -> bool:
    """A reader is given a plain message behind the first message of a transaction that is still open."""
    for p in range(DATA):
        for k in range(state.outputs[p].count):
            if state.outputs[p].offsets[k] >= watermark(state.logs[p]):
                return True
    return False


def a_message_is_delivered_before_its_end(state: State, setup: Setup) -> bool:
    """A reader is given a message of a transaction that is still open."""
    for p in range(DATA):
        for k in range(state.outputs[p].count):
            if is_pending(state.logs[p], int(state.outputs[p].offsets[k])):
                return True
    return False


def two_transactions_of_a_producer_are_open(state: State, setup: Setup) -> bool:
    """Two transactions of one producerId have begun, and neither is ended."""
    open_of = 0
    for t in range(state.journal.count):
        transaction = state.coordinator.transactions[t]
        if transaction.state == TransactionState.BEGUN:
            if (open_of >> transaction.producer) & 1 == 1:
                return True
            open_of = open_of | (1 << transaction.producer)
    return False


def an_instance_is_closed(state: State, setup: Setup) -> bool:
    """An instance was refused: its generation is old, or another process has the same one."""
    for i in range(INSTANCES):
        if state.instances[i].state == ProducerState.CLOSED:
            return True
    return False


def two_instances_have_one_generation(state: State, setup: Setup) -> bool:
    """Two processes of one producerId run with the same generation."""
    one, other = state.instances[0], state.instances[1]
    if one.state <= ProducerState.STARTING or other.state <= ProducerState.STARTING or setup.own_ids == 1:
        return False
    return bool(one.generation == other.generation)


def a_control_record_is_doubled(state: State, setup: Setup) -> bool:
    """A partition has two control records of one TxId."""
    for p in range(PARTITIONS):
        log = state.logs[p]
        for one in range(log.end):
            if log.records[one].kind > RecordKind.PAYLOAD:
                for other in range(one):
                    is_control = log.records[other].kind > RecordKind.PAYLOAD
                    if is_control and log.records[other].transaction == log.records[one].transaction:
                        return True
    return False


def a_control_record_has_no_message(state: State, setup: Setup) -> bool:
    """A partition that BEGIN lists gets a control record, and no message before it."""
    for t in range(state.journal.count):
        for p in range(DATA):
            log = state.logs[p]
            if messages_in_time(log, t) == 0 and has_control(log, t, int(RecordKind.CONTROL_ABORTED)):
                return True
    return False


def a_block_is_copied_anew(state: State, setup: Setup) -> bool:
    """A block whose transaction was aborted is copied in a second one."""
    for t in range(state.journal.count):
        for earlier in range(t):
            if blocks_of(state.logs[0], t) & blocks_of(state.logs[0], earlier) != 0:
                return True
    return False


def the_offsets_of_the_group_are_not_told(state: State, setup: Setup) -> bool:
    """An instance has to wait for a transaction with offsets of its group that is pending."""
    if setup.grouped == 0 or state.leaders[OFFSETS].offsets == 0:
        return False
    asks = ProducerState.FETCHING if fetches(setup) else ProducerState.READY
    for i in range(setup.instances):
        if state.instances[i].state == asks and next_block(state, setup, i) < past_of_group(setup, i):
            return True
    return False


def a_begun_transaction_lingers(state: State, setup: Setup) -> bool:
    """A transaction has begun, and no instance knows of it: only a time-out can end it."""
    for t in range(state.journal.count):
        if is_left_alone(state, setup, t):
            return True
    return False


def a_reader_restarts_within_a_delivery(state: State, setup: Setup) -> bool:
    """A checkpoint was taken within the delivery of a transaction."""
    for p in range(DATA):
        if state.readers[p].saved_partly != NONE:
            return True
    return False


def a_new_coordinator_carries_on(state: State, setup: Setup) -> bool:
    """After a failover something is committed that was prepared before, and the checkpoint was not at the beginning."""
    if state.budget.failovers == setup.budget.failovers or state.journal.checkpoint == 0:
        return False
    for t in range(1, state.journal.count):
        if is_ended_everywhere(state, t, int(RecordKind.CONTROL_COMMITTED)):
            return True
    return False


def a_message_is_cleaned_away(state: State, setup: Setup) -> bool:
    """The log cleaner has removed a message of data that was committed."""
    for p in range(DATA):
        log = state.logs[p]
        for offset in range(LOG):
            if log.records[offset].is_cleaned and is_for_good(state, log, offset):
                return True
    return False


def a_producer_hears_that_it_failed(state: State, setup: Setup) -> bool:
    """A producer that wanted a commit, or an abort, heard that its transaction is aborted."""
    for t in range(TRANSACTIONS):
        if state.told[t] == ABORTED:
            return True
    return False


def plain_and_transactions_are_mixed(state: State, setup: Setup) -> bool:
    """A partition has a plain message between two messages of transactions, and all are delivered."""
    for p in range(DATA):
        log = state.logs[p]
        for offset in range(1, log.end - 1):
            before, behind = log.records[offset - 1].kind, log.records[offset + 1].kind
            is_between = before == RecordKind.PAYLOAD and behind == RecordKind.PAYLOAD
            is_mixed = is_between and log.records[offset].kind == RecordKind.PLAIN
            if is_mixed and state.readers[p].position == log.end and not is_pending(log, offset - 1):
                return True
    return False


WITNESSES: Final = (
    a_transaction_is_aborted,
    a_later_commit_is_delivered_first,
    a_message_overtakes_an_open_transaction,
    a_message_is_delivered_before_its_end,
    two_transactions_of_a_producer_are_open,
    an_instance_is_closed,
    two_instances_have_one_generation,
    everybody_is_closed,
    a_control_record_is_doubled,
    a_control_record_has_no_message,
    a_block_is_copied_anew,
    the_offsets_of_the_group_are_not_told,
    a_begun_transaction_lingers,
    a_reader_restarts_within_a_delivery,
    a_new_coordinator_carries_on,
    a_message_is_cleaned_away,
    a_producer_hears_that_it_failed,
    plain_and_transactions_are_mixed,
)

"""Epochs in their normal form, where instances that were fenced are started anew: what matters is their order.

Two instances that fence each other raise the epoch of their id each time. Counted from the lowest one that anything in
the state still names, the same happens again and again: without that, a behaviour that goes on for ever would be a
chain of ever new states. Only `Bounds.restarts` asks for it, and lowers nothing while the lowest epoch is 0: the first
epoch of an id is like no other to its coordinator, so 1 stays the lowest.
"""

from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import State
from zombieproof.checker.transactions.vocabulary import Kind
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE

LOWEST = 1
_NO_EPOCH = 127


def lower(state: State, setup: Setup) -> None:
    """Lower all epochs of producers by the same, so that the lowest one that is named is `LOWEST`, if it is higher."""
    if setup.bounds.restarts == 0:
        return
    by = _lowest(state) - LOWEST
    if 0 < by < _NO_EPOCH - LOWEST:
        lower_by(state, by)


def lower_by(state: State, by: int) -> None:
    """Lower all epochs of producers by the same."""
    for txn in state.durable:
        _lower_transaction(txn, by)
    for node in state.nodes:
        for txn in node.cache:
            _lower_transaction(txn, by)
    for client in state.clients:
        client.producer_epoch = lowered(client.producer_epoch, by)
    for message in state.messages:
        message.producer_epoch = lowered(message.producer_epoch, by)
    for partition in state.partitions:
        for entry in partition.entries:
            entry.producer_epoch = lowered(entry.producer_epoch, by)
            entry.guard_epoch = lowered(entry.guard_epoch, by)
        for offset in range(partition.end):
            partition.log[offset].producer_epoch = lowered(partition.log[offset].producer_epoch, by)


def lowered(epoch: int, by: int) -> int:
    """An epoch that is named, lowered; NONE stays."""
    return epoch - by if epoch != NONE else epoch


def lowered_between(before: State, after: State) -> int:
    """By how much epochs were lowered in a step: nobody's epoch goes down otherwise. Interpreted, for stories."""
    clients = zip(before.clients, after.clients, strict=True)
    ids = zip(before.durable, after.durable, strict=True)
    named = [(int(one.producer_epoch), int(two.producer_epoch)) for one, two in clients]
    named += [(int(one.producer_epoch), int(two.producer_epoch)) for one, two in ids]
    return max(0, *(one - two for one, two in named if NONE not in (one, two)), 0)


def _lower_transaction(txn: Transaction, by: int) -> None:
    txn.producer_epoch = lowered(txn.producer_epoch, by)
    txn.last_producer_epoch = lowered(txn.last_producer_epoch, by)
    txn.next_producer_epoch = lowered(txn.next_producer_epoch, by)


def _lower_of(one: int, epoch: int) -> int:
    return min(one, epoch) if epoch != NONE else one


def _lowest(state: State) -> int:
    """The lowest epoch that anything in a state names."""
    low = _NO_EPOCH
    for txn in state.durable:
        low = _lowest_of_transaction(txn, low)
    for node in state.nodes:
        for txn in node.cache:
            low = _lowest_of_transaction(txn, low)
    for client in state.clients:
        low = _lower_of(low, client.producer_epoch)
    for message in state.messages:
        if message.kind != Kind.EMPTY:
            low = _lower_of(low, message.producer_epoch)
    for partition in state.partitions:
        for entry in partition.entries:
            low = _lower_of(_lower_of(low, entry.producer_epoch), entry.guard_epoch)
        for offset in range(partition.end):
            low = _lower_of(low, partition.log[offset].producer_epoch)
    return low


def _lowest_of_transaction(txn: Transaction, low: int) -> int:
    return _lower_of(_lower_of(_lower_of(low, txn.producer_epoch), txn.last_producer_epoch), txn.next_producer_epoch)

"""InitProducerId 6 with KeepPreparedTxn: a participant of an outer two-phase commit goes on with an open transaction.

Behaviour: nothing is fenced. The transaction keeps its producer id and epoch at the leaders; the client that keeps it
is granted the *next* producer id and epoch, one higher each time. Only with these can it end the transaction, and it
can add nothing more to it. Markers carry the epoch behind that of the data, as ever; the transaction after it goes on
behind the granted pair. A transaction of such a client has no time-out (`transaction_timeout`).
Versions: 6 (unstable); no release has it whole: without `rules.kip939` row I4 refuses it (`init_producer_id`).
Source: reference §11.2 (kip939); KIP-939.
"""

from typing import NamedTuple

from zombieproof.model.decisions.init_producer_id import is_exhausted
from zombieproof.model.decisions.verdicts import agree, refuse, transit
from zombieproof.model.records import ProducerIdentity, Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Error, Row, TransactionState


class Grant(NamedTuple):
    """What InitProducerId 6 is answered: the pair to go on with, and that of the transaction that is kept (or -1)."""

    producer_id: int
    producer_epoch: int
    ongoing_producer_id: int
    ongoing_producer_epoch: int


def decide_keep_front_door(is_an_expectation: bool) -> Verdict:
    """Judge the request alone, behind I5: a client that names its producer id and epoch has nothing to take over."""
    if is_an_expectation:
        return refuse(Error.INVALID_REQUEST, Row.KEPT)
    return agree(Row.NO_ROW)


def decide_keep_prepared(txn: Transaction, rules: Rules, new_producer_id: int) -> Verdict:
    """Answer InitProducerId that keeps what is prepared (instead of I7 to I13): KEEP, or there is nothing to keep.

    `new_producer_id` is the next producer id if the granted epoch is exhausted; NONE: none could be allocated.
    """
    if not txn.known:
        return refuse(Error.INVALID_TXN_STATE, Row.NOT_KNOWN)
    if txn.pending_state != NONE:
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.I8)
    if txn.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        return refuse(Error.CONCURRENT_TRANSACTIONS, Row.I10)
    if txn.state != TransactionState.ONGOING:
        return refuse(Error.INVALID_TXN_STATE, Row.KEPT)
    used = owner_epoch(txn)
    rotates = is_exhausted(used, rules)
    if rotates and new_producer_id == NONE:
        return refuse(Error.COORDINATOR_LOAD_IN_PROGRESS, Row.KEPT)
    verdict = transit(
        Row.KEPT,
        CoordinatorEvent.KEEP,
        txn.producer_id,
        txn.producer_epoch,
        txn.last_producer_epoch,
        new_producer_id if rotates else owner_producer_id(txn),
        txn.partitions,
        txn.client_transaction_version,
    )
    return verdict._replace(next_producer_epoch=int(0 if rotates else used + 1))


def is_kept(txn: Transaction) -> bool:
    """Whether the transaction that is open, or being ended, was kept by a participant."""
    return txn.next_producer_epoch != NONE


def owner_producer_id(txn: Transaction) -> int:
    """The producer id that the owner of an open transaction goes by."""
    return int(txn.next_producer_id if is_kept(txn) else txn.producer_id)


def owner_epoch(txn: Transaction) -> int:
    """The epoch that the owner of an open transaction goes by."""
    return int(txn.next_producer_epoch if is_kept(txn) else txn.producer_epoch)


def names_owner_of_kept(txn: Transaction, request: ProducerIdentity) -> bool:
    """Whether a request comes from the participant that keeps the transaction."""
    same_id = request.producer_id == txn.next_producer_id
    return is_kept(txn) and same_id and request.producer_epoch == txn.next_producer_epoch


def has_ended_kept(txn: Transaction, request: ProducerIdentity) -> bool:
    """Whether a request that ended a kept transaction is what led to the prepared record `txn`."""
    raised = request.producer_id == txn.next_producer_id and request.producer_epoch + 1 == txn.next_producer_epoch
    rotated = request.producer_id == txn.previous_producer_id and txn.next_producer_epoch == 0
    return is_kept(txn) and (raised or rotated)


def granted(txn: Transaction) -> Grant:
    """The answer to InitProducerId once its record is durable."""
    if is_kept(txn):
        return Grant(owner_producer_id(txn), owner_epoch(txn), int(txn.producer_id), int(txn.producer_epoch))
    return Grant(int(txn.producer_id), int(txn.producer_epoch), NONE, NONE)

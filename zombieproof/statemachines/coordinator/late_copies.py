"""Whether a late copy of a request can ever count again at the coordinator of its transactional id.

Theory of operation: nothing is known here of why a copy is refused. It is judged by the same decisions as one that is
waited for, against every transaction that a coordinator can still come to hold behind the durable record: of the same
producer id and its epoch or the next (a coordinator loads no less than what is durable), in every state, with every
transition pending; or of another producer id. A copy that wants nothing appended by any of them is refused for good.
One of an epoch that is not below the durable one is kept without asking.
"""

from typing import NamedTuple, cast

from zombieproof.model.decisions.add_partitions_to_txn import decide_join
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.records import Transaction, TransactionRequest, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, TransactionState, TransactionVersion

OPEN_FIRST = (
    TransactionState.ONGOING,
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
)
PENDING = (NONE, TransactionState.PREPARE_EPOCH_FENCE, TransactionState.ONGOING)
DURABLE, NEXT, BEHIND, OTHER = 0, 1, 2, 3
"""Identities: the durable epoch, the next one; and another producer id, behind the request's or behind none."""

OTHER_PRODUCER = 100
"""A producer id that is not the request's."""


class PossibleTransaction(NamedTuple):
    """What a coordinator may come to hold of an id: the fields of ``Transaction``."""

    known: bool
    state: int
    pending_state: int
    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    partitions: int
    timeout_ms: int
    start_ms: int
    last_update_ms: int
    client_transaction_version: int
    failed_epoch_fence: bool
    next_producer_epoch: int


def possible_transaction(
    state: int, pending: int, identity: int, kept: bool, version: int, durable_epoch: int, producer_id: int
) -> PossibleTransaction:
    """One transaction to which a request of this producer id may come; `kept`: it is kept (KIP-939)."""
    same = identity in (DURABLE, NEXT)
    at = durable_epoch + identity if same else 0
    return PossibleTransaction(
        True,
        state,
        pending,
        producer_id if same else producer_id + OTHER_PRODUCER,
        producer_id if identity == BEHIND else NONE,
        producer_id if kept else NONE,
        at,
        NONE,
        0,
        0,
        NONE,
        NONE,
        version,
        False,
        at + 1 if kept else NONE,
    )


def request_can_count(request: TransactionRequest, ends: bool, durable_epoch: int, rules: Rules) -> bool:
    """Whether a late EndTxn (`ends`), or a request by which partitions join, may still move the transaction.

    `durable_epoch` is the producer epoch of the durable record, which has the producer id of the request.
    """
    if request.producer_epoch >= durable_epoch:
        return True
    for identity in range(OTHER + 1):
        # Nothing pends of an identity that is over; and the version of a record is that of its cluster, or older.
        pends = len(PENDING) if identity in (DURABLE, NEXT) else 1
        versions = 2 if identity == DURABLE else 1
        for state in OPEN_FIRST:
            for number in range(pends * versions * (1 + rules.kip939)):
                version = TransactionVersion.TV2 if number // pends % versions == 0 else TransactionVersion.TV0
                kept = number // (pends * versions) == 1
                possible = possible_transaction(
                    state, PENDING[number % pends], identity, kept, version, durable_epoch, request.producer_id
                )
                verdict = _judge(cast("Transaction", possible), request, ends, rules)
                if verdict.event != CoordinatorEvent.NOTHING:
                    return True
    return False


def _judge(txn: Transaction, request: TransactionRequest, ends: bool, rules: Rules) -> Verdict:
    """An end finds a producer id to go on with, if it needs one."""
    if ends:
        return decide_end_txn(txn, request, rules, True, txn.producer_id + OTHER_PRODUCER)
    return decide_join(txn, request, rules, TransactionVersion.TV0)

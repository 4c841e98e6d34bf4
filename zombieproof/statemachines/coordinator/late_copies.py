"""Whether a late copy of a request can ever count again at the coordinator of its transactional id.

Theory of operation: nothing is known here of why a copy is refused. It is judged by the same decisions as one that is
waited for, against every transaction that a coordinator can still come to hold behind the durable record: of the same
producer id and its epoch or a higher one (a coordinator loads no less than what is durable), or of another producer id;
in every state, with every transition pending. A copy that wants nothing appended by any of them is refused for good.
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
IDENTITIES = 5
"""The request's own epoch, the durable one, the next; and another producer id, behind this one or behind none."""

OTHER_PRODUCER = 100
"""A producer id that is not the request's."""


class PossibleTransaction(NamedTuple):
    """What a coordinator may come to hold of an id: the fields of ``Transaction``."""

    known: int
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
    failed_epoch_fence: int
    next_producer_epoch: int


def possible_transaction(
    state: int, pending: int, identity: int, kept: int, version: int, epoch: int, durable_epoch: int, producer_id: int
) -> PossibleTransaction:
    """One transaction to which a request of this producer id and epoch may come; `kept` 1: it is kept (KIP-939)."""
    same = identity < IDENTITIES - 2
    at = 0
    if same:
        at = max(durable_epoch, epoch) if identity == 0 else durable_epoch + identity - 1
    return PossibleTransaction(
        1,
        state,
        pending,
        producer_id if same else producer_id + OTHER_PRODUCER,
        producer_id if identity == IDENTITIES - 1 else NONE,
        producer_id if kept == 1 else NONE,
        at,
        epoch,
        0,
        0,
        NONE,
        NONE,
        version,
        0,
        at + 1 if kept == 1 else NONE,
    )


def request_can_count(request: TransactionRequest, ends: int, durable_epoch: int, rules: Rules) -> bool:
    """Whether a late EndTxn (`ends` 1), or a request by which partitions join, may still move the transaction.

    `durable_epoch` is the producer epoch of the durable record, which has the producer id of the request.
    """
    keeps = 2 if rules.kip939 == 1 else 1
    for identity in range(IDENTITIES):
        for state in OPEN_FIRST:
            for pending in PENDING:
                for variant in range(2 * keeps):
                    version = TransactionVersion.TV0 if variant % 2 == 0 else TransactionVersion.TV2
                    possible = possible_transaction(
                        state,
                        pending,
                        identity,
                        variant // 2,
                        version,
                        request.producer_epoch,
                        durable_epoch,
                        request.producer_id,
                    )
                    verdict = _judge(cast("Transaction", possible), request, ends, rules)
                    if verdict.event != CoordinatorEvent.NOTHING:
                        return True
    return False


def _judge(txn: Transaction, request: TransactionRequest, ends: int, rules: Rules) -> Verdict:
    """An end finds a producer id to go on with, if it needs one."""
    if ends == 1:
        return decide_end_txn(txn, request, rules, 1, txn.producer_id + OTHER_PRODUCER)
    return decide_join(txn, request, rules, TransactionVersion.TV0)

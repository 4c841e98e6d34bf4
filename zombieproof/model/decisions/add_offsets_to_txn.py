"""AddOffsetsToTxn (API key 25, versions 0-4): the offsets partition of a consumer group joins the transaction.

Behaviour: AddPartitionsToTxn for the one partition of ``__consumer_offsets`` that holds the group; always counted as an
operation of transaction version 0 (a TV2 client does not send it).
Versions: 2 may be answered with PRODUCER_FENCED; 4 with TRANSACTION_ABORTABLE.
Source: reference §2.8; ``KafkaApis.handleAddOffsetsToTxnRequest``.
"""

from zombieproof.model.decisions.add_partitions_to_txn import decide_join
from zombieproof.model.records import Transaction, TransactionRequest, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import TransactionVersion


def decide_add_offsets_to_txn(txn: Transaction, request: TransactionRequest, rules: Rules) -> Verdict:
    """Answer AddOffsetsToTxn; the request's `partitions` is the mask of the group's offsets partition."""
    return decide_join(txn, request, rules, TransactionVersion.TV0)

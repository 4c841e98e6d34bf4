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


def java_hash(text: str) -> int:
    """``String.hashCode`` of Java: 32 bit, over UTF-16 units."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(name: str, partitions: int) -> int:
    """The partition of ``__transaction_state`` or ``__consumer_offsets`` that owns an id or a group (reference §1)."""
    value = java_hash(name)
    return (0 if value == -(1 << 31) else abs(value)) % partitions

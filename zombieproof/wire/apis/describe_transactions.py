"""DescribeTransactions (65), version 0: what a coordinator knows of transactional ids.

An id without a transaction has a start of -1, which kio does not read: so the answer is read here.
Source: reference §2.16; KIP-664.
"""

from typing import Any

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.primitives import Fields
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.transactions import DescribeTransactionsAnswer, TransactionDescription
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages
from zombieproof.wire.faults import Malformed
from zombieproof.wire.names import Names


def read_answer(data: bytes, request: Any, names: Names) -> DescribeTransactionsAnswer:
    """The answer, from the fields behind its header.

    Raises:
        Malformed: it is none.
    """
    fields = Fields(data)
    try:
        fields.int32()
        rows = tuple([_row(fields) for _ in range(fields.count(compact=True) or 0)])
        fields.tags()
    except Undecodable as fault:
        raise Malformed(f"DescribeTransactionsResponse: {fault}") from fault
    return DescribeTransactionsAnswer(rows)


def _row(fields: Fields) -> TransactionDescription:
    error, name, state = fields.int16(), fields.string(compact=True), fields.string(compact=True)
    timeout_ms, start_ms, producer_id, epoch = fields.int32(), fields.int64(), fields.int64(), fields.int16()
    partitions = frozenset(_partitions(fields))
    fields.tags()
    return TransactionDescription(name, error, state, timeout_ms, start_ms, producer_id, epoch, partitions)


def _partitions(fields: Fields) -> list[TopicPartition]:
    found = []
    for _ in range(fields.count(compact=True) or 0):
        topic = fields.string(compact=True)
        found += [(topic, fields.int32()) for _ in range(fields.count(compact=True) or 0)]
        fields.tags()
    return found


DESCRIBE_TRANSACTIONS = api_of_messages(ApiKey.DESCRIBE_TRANSACTIONS, read_answer=read_answer)

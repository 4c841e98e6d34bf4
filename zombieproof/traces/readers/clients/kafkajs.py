"""Statements of kafkajs: JSON with a message and fields beside it (`keys`).

Source: ``eosManager``, ``transactionStateMachine.js``, ``connection.js``; 1.x and 2.x.
"""

from typing import Final

from zombieproof.traces.evidence import ClientFact as F
from zombieproof.traces.readers.clients.statement import Library, Statement, Table

K: Final = Library.KAFKAJS
_JS: Final = '{"level":"DEBUG","timestamp":"2026-11-30T17:15:21.913Z","logger":"kafkajs","message":"'
_REQUESTS: Final = "InitProducerId|AddPartitionsToTxn|AddOffsetsToTxn|TxnOffsetCommit|EndTxn"

STATEMENTS: Final = (
    Statement(
        K,
        "transition",
        "Transaction state transition ",
        r"(?P<before>[A-Z]+) --> (?P<after>[A-Z]+)",
        F.STATE,
        "{before}",
        "{after}",
        states=("UNINITIALIZED", "READY", "TRANSACTING", "COMMITTING", "ABORTING"),
        is_strict=True,
        line=_JS + '[Producer] Transaction state transition READY --> TRANSACTING"}',
    ),
    Statement(
        K,
        "identity",
        "Initialized producer id & epoch",
        "",
        F.IDENTITY,
        keys={"producerId": "id", "producerEpoch": "epoch"},
        line=_JS + '[Producer] Initialized producer id & epoch","producerId":"2","producerEpoch":2}',
    ),
    Statement(
        K,
        "retry",
        "There is an ongoing transaction on this transactionId, retrying",
        "",
        F.NOTE,
        after="asks again for a producer id: the last transaction of its id is still open",
        keys={"transactionalId?": "name"},
        line=_JS + '[Producer] There is an ongoing transaction on this transactionId, retrying","error":"The producer '
        'attempted to update a transaction while another concurrent operation on the same transaction was ongoing",'
        '"transactionalId":"kjs-1","retryCount":0,"retryTime":300}',
    ),
    Statement(
        K,
        "refused",
        "Response ",
        rf"(?P<what>{_REQUESTS})\(key: \d+, version: \d+\)",
        F.ERROR,
        "",
        "{what} is answered with: {reason}",
        keys={"error": "reason"},
        line=_JS + '[Connection] Response EndTxn(key: 26, version: 1)","broker":"127.0.0.1:9092","clientId":"shop",'
        '"error":"Producer attempted an operation with an old epoch. Either there is a newer producer with the same '
        'transactionalId, or the producer\'s transaction has been expired by the broker","correlationId":9}',
    ),
    Statement(
        K,
        "append refused",
        "Response ",
        r"Produce\(key: \d+, version: \d+\)",
        F.ERROR,
        "",
        "Produce is answered with: {reason}",
        keys={"error": "reason"},
        line=_JS + '[Connection] Response Produce(key: 0, version: 7)","broker":"127.0.0.1:9092","clientId":"shop",'
        '"error":"The broker received an out of order sequence number","correlationId":9}',
    ),
    Statement(
        K,
        "raised",
        "KafkaJSProtocolError: ",
        "(?P<reason>(?:Producer attempted|There is a newer producer|The producer attempted|The broker received an out "
        "of|Transactional Id authorization|The transaction timeout).*)",
        F.ERROR,
        "",
        "{reason}",
        line="KafkaJSProtocolError: The producer attempted a transactional operation in an invalid state",
    ),
    Statement(
        K,
        "nothing to end",
        "No partitions or offsets registered, not sending EndTxn",
        "",
        F.NOTE,
        after="ends an empty transaction without asking the coordinator",
        line=_JS + '[Producer] No partitions or offsets registered, not sending EndTxn"}',
    ),
)

TABLE: Final = Table(STATEMENTS)

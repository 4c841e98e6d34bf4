"""Statements of franz-go: a sentence, and fields beside it (`keys`).

Source: ``pkg/kgo`` (``txn.go``, ``producer.go``, ``sink.go``), 1.0 to 1.22.
"""

from typing import Final

from zombieproof.traces.evidence import ClientFact as F
from zombieproof.traces.readers.clients.statement import Library, Statement, Table

G: Final = Library.FRANZ_GO
_HEAD: Final = "2026-11-30 17:15:36.141 [INFO] "

STATEMENTS: Final = (
    Statement(
        G, "init", "initializing producer id", "", F.ASKED, after="init", line=f"{_HEAD}initializing producer id"
    ),
    Statement(
        G,
        "identity",
        "producer id initialization success",
        "",
        F.IDENTITY,
        keys={"id": "id", "epoch": "epoch"},
        line=f"{_HEAD}producer id initialization success; id: 4, epoch: 2",
    ),
    Statement(
        G,
        "identity not given",
        "producer id initialization ",
        "(?:failure|resulted in retryable error|errored).*",
        F.ERROR,
        "",
        "no producer id: {reason}",
        keys={"err": "reason"},
        line=f"{_HEAD}producer id initialization errored; err: PRODUCER_FENCED: There is a newer producer with the "
        "same transactionalId which fences the current one.",
    ),
    Statement(
        G,
        "begin",
        "beginning transaction",
        "",
        F.ASKED,
        after="begin",
        keys={"transactional_id": "name"},
        line=f"{_HEAD}beginning transaction; transactional_id: franz-1",
    ),
    Statement(
        G,
        "end",
        "ending transaction",
        "",
        F.ASKED,
        after="{commit}",
        keys={"transactional_id": "name", "commit": "commit", "producer_id": "id", "epoch": "epoch"},
        line=f"{_HEAD}ending transaction; transactional_id: franz-1, commit: true, producer_id: 4, epoch: 2",
    ),
    Statement(
        G,
        "ended",
        "end transaction response successfully received",
        "",
        F.TOLD,
        "ok",
        "{commit}",
        keys={"transactional_id": "name", "commit": "commit"},
        line=f"{_HEAD}end transaction response successfully received; transactional_id: franz-1, commit: true, "
        "producer_id: 4, epoch: 2",
    ),
    Statement(
        G,
        "next identity",
        "end transaction response successfully received",
        "",
        F.IDENTITY,
        keys={"transactional_id": "name", "new_id": "id", "new_epoch": "epoch"},
        releases="1.19 or later",
        line=f"{_HEAD}end transaction response successfully received; transactional_id: franz-1, commit: true, "
        "prior_id: 4, prior_epoch: 2, new_id: 4, new_epoch: 3",
    ),
    Statement(
        G,
        "append failed",
        "batch errored",
        "(?:,| with ).*",
        F.FAILED,
        "{topic}-{partition}",
        "{reason}",
        keys={
            "topic": "topic",
            "partition": "partition",
            "producer_id": "id",
            "producer_epoch": "epoch",
            "err": "reason",
        },
        line=f"{_HEAD}batch errored, failing the producer ID; broker: 1, topic: t, partition: 1, producer_id: 4, "
        "producer_epoch: 0, err: INVALID_PRODUCER_EPOCH: Producer attempted an operation with an old epoch.",
    ),
    Statement(
        G,
        "append failed otherwise",
        "batch in a produce request failed",
        "",
        F.FAILED,
        "{topic}-{partition}",
        "{reason}",
        keys={"topic": "topic", "partition": "partition", "err": "reason"},
        line=f"{_HEAD}batch in a produce request failed; broker: 1, topic: t, partition: 0, err: MESSAGE_TOO_LARGE: "
        "The request included a message larger than the max message size the server will accept., err_is_retryable: "
        "false, max_retries_reached: false",
    ),
    Statement(
        G,
        "producer failed",
        "producer ID failed due to a produce error",
        ".*",
        F.ERROR,
        "abortable",
        "{reason}",
        keys={"id": "id", "epoch": "epoch", "err": "reason"},
        line=f"{_HEAD}producer ID failed due to a produce error, next produce will reinitialize the producer epoch; "
        "id: 4, epoch: 3, err: INVALID_TXN_STATE: The producer attempted a transactional operation in an invalid "
        "state.",
    ),
    Statement(
        G,
        "cannot begin",
        "unable to begin transaction due to unrecoverable producer id error",
        "",
        F.ERROR,
        "fatal",
        "{reason}",
        keys={"err": "reason"},
        line=f"{_HEAD}unable to begin transaction due to unrecoverable producer id error; err: INVALID_TXN_STATE: The "
        "producer attempted a transactional operation in an invalid state.",
    ),
    Statement(
        G,
        "fatal error",
        "fatal InitProducerID error, failing all buffered records",
        "",
        F.ERROR,
        "fatal",
        "{reason}",
        keys={"err": "reason"},
        line="[ERROR] fatal InitProducerID error, failing all buffered records; broker: 1, err: "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED: The transactional id authorization failed.",
    ),
    Statement(
        G,
        "partitions refused",
        "fatal AddPartitionsToTxn error, failing all buffered records",
        ".*",
        F.ERROR,
        "abortable",
        "{reason}",
        keys={"err": "reason"},
        line="[ERROR] fatal AddPartitionsToTxn error, failing all buffered records (it is possible the client can "
        "recover after EndTransaction); broker: 1, err: INVALID_PRODUCER_EPOCH: Producer attempted an operation with "
        "an old epoch.",
    ),
    Statement(
        G,
        "offsets",
        "issuing AddOffsetsToTxn",
        "",
        F.ASKED,
        after="offsets of group {group}",
        keys={"txn": "name", "producerID": "id", "producerEpoch": "epoch", "group": "group"},
        line=f"{_HEAD}issuing AddOffsetsToTxn; txn: franz-1, producerID: 4, producerEpoch: 2, group: g",
    ),
    Statement(
        G,
        "session lost its partitions",
        "transact session in on_",
        "(?P<how>lost|revoke); aborting next commit.*",
        F.NOTE,
        after="will abort: its group took partitions away ({how})",
        line=f"{_HEAD}transact session in on_lost; aborting next commit if we are currently in a transaction",
    ),
    Statement(
        G,
        "aborts instead",
        "end transaction ",
        "(?P<why>with commit not attempted|returned TransactionAbortable|returned an unknown server error).*abort.*",
        F.NOTE,
        after="aborts instead of committing: end transaction {why}",
        line=f"{_HEAD}end transaction with commit not attempted; retrying as abort",
    ),
    Statement(
        G,
        "aborts by a new epoch",
        "aborting an unconfirmed transaction via producer id reload",
        ".*",
        F.NOTE,
        after="aborts by a new epoch, since it has no answer to the end of its transaction",
        keys={"transactional_id": "name", "id": "id", "epoch": "epoch"},
        releases="1.22 or later",
        line=f"{_HEAD}aborting an unconfirmed transaction via producer id reload; the epoch bump fence-aborted "
        "anything still ongoing; transactional_id: franz-1, id: 4, epoch: 3",
    ),
)

TABLE: Final = Table(STATEMENTS)

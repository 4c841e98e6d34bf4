"""Statements of Sarama, which writes everything into a sentence.

Source: ``transaction_manager.go``, ``async_producer.go``, 1.38 to 1.61.
"""

from typing import Final

from zombieproof.traces.evidence import ClientFact as F
from zombieproof.traces.readers.clients.statement import EPOCH, NUMBER, Library, Statement, Table

S: Final = Library.SARAMA
_ID: Final = r"\[(?P<name>[^\]]*)\] "
_STATE: Final = r"ProducerTxn\w+(?:\|ProducerTxn\w+)*"
_AT: Final = "[sarama] 2026/11/30 17:16:07 "

STATES: Final = tuple(
    f"ProducerTxn{kind}{state}"
    for kind in ("State", "Flag")
    for state in (
        "Uninitialized",
        "Initializing",
        "Ready",
        "InTransaction",
        "EndTransaction",
        "InError",
        "CommittingTransaction",
        "AbortingTransaction",
        "AbortableError",
        "FatalError",
    )
)
"""The parts of its states (``ProducerTxnStatusFlag``), which it joins with a bar."""

STATEMENTS: Final = (
    Statement(
        S,
        "transition",
        "txnmgr/transition ",
        rf"{_ID}transition from (?P<before>{_STATE}) to (?P<after>{_STATE})",
        F.STATE,
        "{before}",
        "{after}",
        states=STATES,
        is_strict=True,
        line=f"{_AT}txnmgr/transition [sarama-1] transition from ProducerTxnStateReady to "
        "ProducerTxnStateInTransaction",
    ),
    Statement(
        S,
        "first init",
        "txnmgr/init-producer-id ",
        _ID + "invoking InitProducerId for the first time.*",
        F.ASKED,
        after="init",
        line=f"{_AT}txnmgr/init-producer-id [sarama-1] invoking InitProducerId for the first time in order to acquire "
        "a producer ID",
    ),
    Statement(
        S,
        "init to bump",
        "txnmgr/init-producer-id ",
        rf"{_ID}invoking InitProducerId with current producer ID (?P<id>{NUMBER}) and epoch (?P<epoch>{EPOCH}) .*",
        F.ASKED,
        after="init (to bump the epoch)",
        line=f"{_AT}txnmgr/init-producer-id [sarama-1] invoking InitProducerId with current producer ID 6 and epoch 2 "
        "in order to bump the epoch",
    ),
    Statement(
        S,
        "identity",
        "txnmgr/init-producer-id ",
        rf"{_ID}obtained a ProducerId: (?P<id>{NUMBER}) and ProducerEpoch: (?P<epoch>{EPOCH})",
        F.IDENTITY,
        line=f"{_AT}txnmgr/init-producer-id [sarama-1] obtained a ProducerId: 6 and ProducerEpoch: 2",
    ),
    Statement(
        S,
        "identity answered",
        "txnmgr/init-producer-id ",
        rf"{_ID}successful init producer id .*ProducerID:(?P<id>{NUMBER}) ProducerEpoch:(?P<epoch>{EPOCH})\}}.*",
        F.IDENTITY,
        line=f"{_AT}txnmgr/init-producer-id [sarama-1] successful init producer id &{{ThrottleTime:0s Err:kafka "
        "server: Not an error, why are you printing me? Version:4 ProducerID:6 ProducerEpoch:2}",
    ),
    Statement(
        S,
        "retry",
        "txnmgr/",
        r"(?P<what>[a-z-]+) (?:\[(?P<name>[^\]]*)\] )?retrying after (?P<pause>\d+)ms\.\.\. "
        r"\((?P<left>\d+) attempts remaining\) \((?P<reason>.*)\)",
        F.NOTE,
        after="asks again after {pause} ms ({what}, {left} attempts left): {reason}",
        line=f"{_AT}txnmgr/init-producer-id [sarama-1] retrying after 100ms... (50 attempts remaining) (kafka server: "
        "The producer attempted to update a transaction while another concurrent operation on the same transaction was "
        "ongoing)",
    ),
    Statement(
        S,
        "success",
        "txnmgr/",
        r"(?:endtxn|add-partition-to-txn|add-offset-to-txn|txn-offset-commit) \[(?P<name>[^\]]*)\] successful .*",
        None,
        line=f"{_AT}txnmgr/endtxn [sarama-1] successful to end txn &{{Version:3 ThrottleTime:0s Err:kafka server: Not "
        "an error, why are you printing me?}",
    ),
    Statement(
        S,
        "commit",
        "producer/txnmgr ",
        _ID + "committing transaction",
        F.ASKED,
        after="commit",
        line=f"{_AT}producer/txnmgr [sarama-1] committing transaction",
    ),
    Statement(
        S,
        "abort",
        "producer/txnmgr ",
        _ID + "aborting transaction",
        F.ASKED,
        after="abort",
        line=f"{_AT}producer/txnmgr [sarama-1] aborting transaction",
    ),
    Statement(
        S,
        "committed",
        "producer/txnmgr ",
        _ID + "transaction committed",
        F.TOLD,
        "ok",
        "commit",
        line=f"{_AT}producer/txnmgr [sarama-1] transaction committed",
    ),
    Statement(
        S,
        "aborted",
        "producer/txnmgr ",
        _ID + "transaction aborted",
        F.TOLD,
        "ok",
        "abort",
        line=f"{_AT}producer/txnmgr [sarama-1] transaction aborted",
    ),
    Statement(
        S,
        "end failed",
        "producer/txnmgr unable to end transaction ",
        "(?P<reason>.*)",
        F.ERROR,
        "",
        "the transaction could not be ended: {reason}",
        line=f"{_AT}producer/txnmgr unable to end transaction transaction manager: invalid transition attempted",
    ),
    Statement(
        S,
        "raised",
        "kafka: Failed to produce message to topic ",
        r"(?P<topic>\S+): (?P<reason>kafka server: (?:Producer attempted|The producer attempted|The broker received an?"
        r" |The broker could not locate the producer).*|Unknown error.* = 90.*)",
        F.FAILED,
        "{topic}",
        "{reason}",
        line="2026/11/30 17:16:06 kafka: Failed to produce message to topic t: kafka server: Producer attempted an "
        "operation with an old epoch",
    ),
    Statement(
        S,
        "append failed",
        "producer/txnmanager rolling over epoch due to publish failure on ",
        r"(?P<topic>[^/]+)/(?P<partition>\d{1,10})",
        F.FAILED,
        "{topic}-{partition}",
        "the epoch is bumped",
        line=f"{_AT}producer/txnmanager rolling over epoch due to publish failure on t/0",
    ),
)

TABLE: Final = Table(STATEMENTS)

"""Statements of librdkafka, the client below the bindings for C++, Go, .NET, Python, Rust and Node.

The text begins after the thread (``[thrd:main]: ``) and the broker (``TxnCoordinator/1: ``), if there are any.
Source: ``rdkafka_txnmgr.c``, ``rdkafka_idempotence.c``, ``rdkafka_broker.c``, ``rdkafka.c``; 1.4 to 2.16.
"""

from typing import Final

from zombieproof.traces.evidence import ClientFact as F
from zombieproof.traces.readers.clients.statement import EPOCH, NUMBER, Library, Statement, Table

R: Final = Library.LIBRDKAFKA
_CALLS: Final = {"init_transactions": "init", "send_offsets_to_transaction": "offsets"}

STATES: Final = (
    "Init",
    "WaitPID",
    "ReadyNotAcked",
    "Ready",
    "InTransaction",
    "BeginCommit",
    "CommittingTransaction",
    "CommitNotAcked",
    "BeginAbort",
    "AbortingTransaction",
    "AbortedNotAcked",
    "AbortableError",
    "FatalError",
)
"""The states of its transactions (``rd_kafka_txn_state2str``)."""

TELLING: Final = frozenset({"TXNAPI", "TXNSTATE", "TXNERR", "FATAL"})
"""Facilities of which each line tells a fact."""


def _line(facility: str, text: str, level: int = 7, client: str = "rdkafka#producer-1", thread: str = "main") -> str:
    return f"%{level}|1796058996.818|{facility}|{client}| [thrd:{thread}]: {text}"


def call_named(name: str) -> str:
    """A transactional call in one word: init, begin, commit, abort, offsets."""
    return _CALLS.get(name, name.removesuffix("_transaction"))


STATEMENTS: Final = (
    Statement(
        R,
        "transition",
        "Transaction state change ",
        r"(?P<before>\w+) -> (?P<after>\w+)",
        F.STATE,
        "{before}",
        "{after}",
        states=STATES,
        is_strict=True,
        line=_line("TXNSTATE", "Transaction state change CommittingTransaction -> FatalError"),
    ),
    Statement(
        R,
        "identity",
        "Acquired ",
        rf"PID\{{Id:(?P<id>{NUMBER}),Epoch:(?P<epoch>{EPOCH})\}}.*",
        F.IDENTITY,
        line=_line("GETPID", "Acquired PID{Id:0,Epoch:2} (previous PID{Id:0,Epoch:1})"),
    ),
    Statement(
        R,
        "identity not given",
        "Failed to acquire ",
        r"(?:transactional|idempotence|idempotent) PID from broker \S+: (?P<reason>.*?)(?P<again>: retrying)?",
        F.ERROR,
        "",
        "no producer id: {reason}",
        line=_line(
            "GETPID",
            "Failed to acquire transactional PID from broker TxnCoordinator/1: Broker: Producer attempted to update a "
            "transaction while another concurrent operation on the same transaction was ongoing: retrying",
            4,
        ),
    ),
    Statement(
        R,
        "call",
        "Transactional API called: ",
        r"(?P<call>\w+)\b.*",
        F.ASKED,
        after="{call}",
        line=_line(
            "TXNAPI",
            "Transactional API called: commit_transaction (in txn state InTransaction, idemp state Assigned, "
            "API timeout 10000)",
            thread="app",
        ),
    ),
    Statement(
        R,
        "return",
        "Transactional API ",
        r"(?P<call>\w+) return(?: resumable)? at \w+:\d+: (?P<result>.+)",
        F.TOLD,
        "{result}",
        "{call}",
        line=_line(
            "TXNAPI",
            "Transactional API commit_transaction return at rd_kafka_commit_transaction:2585: Failed to end "
            "transaction: Local: This instance has been fenced by a newer instance",
            thread="app",
        ),
    ),
    Statement(
        R,
        "fatal error of a transaction",
        "Fatal transaction error: ",
        r"(?P<reason>.*)",
        F.ERROR,
        "fatal",
        "{reason}",
        line=_line(
            "TXNERR",
            "Fatal transaction error: Failed to end transaction: Local: This instance has been fenced by a newer "
            "instance (_FENCED)",
            1,
        ),
    ),
    Statement(
        R,
        "fatal error",
        "Fatal error: ",
        r"(?P<reason>.*)",
        F.ERROR,
        "fatal",
        "{reason}",
        line=_line(
            "FATAL",
            "Fatal error: Local: This instance has been fenced by a newer instance: Failed to end transaction: Local: "
            "This instance has been fenced by a newer instance",
            0,
        ),
    ),
    Statement(
        R,
        "abortable error",
        "Current transaction failed in state ",
        r"(?P<state>\w+): (?P<reason>.*)",
        F.ERROR,
        "abortable",
        "{reason}",
        releases="1.6 or later",
        line=_line(
            "TXNERR",
            "Current transaction failed in state InTransaction: Failed to end transaction: Broker: Producer attempted "
            "to use a producer id which is not currently assigned to its transactional id "
            "(INVALID_PRODUCER_ID_MAPPING, requires epoch bump)",
            3,
        ),
    ),
    Statement(
        R,
        "abortable error",
        "Current transaction failed: ",
        r"(?P<reason>.*)",
        F.ERROR,
        "abortable",
        "{reason}",
        releases="up to 1.5",
        line=_line("TXNERR", "Current transaction failed: Local: Timed out", 3),
    ),
    Statement(
        R,
        "later error",
        "Ignoring sub-sequent abortable transaction error: ",
        r"(?P<reason>.*): previous error \(\w+\) already raised",
        F.NOTE,
        after="meets another error, of which its application does not hear: {reason}",
        line=_line(
            "TXNERR",
            "Ignoring sub-sequent abortable transaction error: Local: Timed out (_TIMED_OUT): previous error "
            "(INVALID_PRODUCER_ID_MAPPING) already raised",
        ),
    ),
    Statement(
        R,
        "impossible transition",
        "BUG: Invalid transaction state transition attempted: ",
        r"(?P<before>\w+) -> (?P<after>\w+)",
        F.ERROR,
        "fatal",
        "it tried to go from {before} to {after}, which it must not",
        line=_line("TXNSTATE", "BUG: Invalid transaction state transition attempted: Ready -> BeginAbort", 2),
    ),
    Statement(
        R,
        "end refused",
        "EndTxn returned ",
        r"(?!NO_ERROR)(?P<code>\w+) in state (?P<state>\w+) \(may_retry=.*",
        F.ERROR,
        "",
        "EndTxn is answered with {code}",
        line=_line("ENDTXN", "EndTxn returned INVALID_TXN_STATE in state CommittingTransaction (may_retry=true)"),
    ),
    Statement(
        R,
        "partition refused",
        "Failed to add partition ",
        r'"(?P<topic>[^"]+)" \[(?P<partition>\d{1,10})\] to transaction: (?P<reason>.*)',
        F.FAILED,
        "{topic}-{partition}",
        "{reason}",
        line=_line(
            "ADDPARTS",
            'TxnCoordinator/1: Failed to add partition "t" [0] to transaction: Broker: Producer attempted an operation '
            "with an old epoch",
            3,
        ),
    ),
    Statement(
        R,
        "append failed",
        "",
        r"(?P<topic>[\w.-]+) \[(?P<partition>\d{1,10})\]: MessageSet with \d+ message\(s\) \(.*?\) encountered error: "
        r"(?P<reason>.*) \(actions .*",
        F.FAILED,
        "{topic}-{partition}",
        "{reason}",
        line=_line(
            "MSGSET",
            "127.0.0.1:9092/1: t [0]: MessageSet with 1 message(s) (MsgId 2, BaseSeq 1) encountered error: Broker: "
            "Producer attempted an operation with an old epoch (actions Permanent,MsgNotPersisted)",
        ),
    ),
    Statement(
        R,
        "request timed out",
        "Timed out ",
        r"(?P<what>Produce|InitProducerId|AddPartitionsToTxn|AddOffsetsToTxn|TxnOffsetCommit|EndTxn)Request "
        r"(?P<where>[\w -]+) \(after (?P<waited>\d{1,18})ms, timeout #\d+\).*",
        F.WAITED,
        after="{what} ({where})",
        line=_line(
            "REQTMOUT",
            "TxnCoordinator/1: Timed out EndTxnRequest in flight (after 60029ms, timeout #0)",
            5,
            thread="TxnCoordinator",
        ),
    ),
    Statement(
        R,
        "raised, fatal",
        "KafkaError{",
        r'(?:\w+,)*FATAL,(?:\w+,)*code=(?P<code>\w+),val=-?\d+,str="(?P<reason>.*?)"\}.*',
        F.ERROR,
        "fatal",
        "{code}: {reason}",
        line='KafkaError{FATAL,code=_FENCED,val=-144,str="Failed to end transaction: Local: This instance has been '
        'fenced by a newer instance"}',
    ),
    Statement(
        R,
        "raised, abortable",
        "KafkaError{",
        r'(?:\w+,)*TXN_REQUIRES_ABORT,(?:\w+,)*code=(?P<code>\w+),val=-?\d+,str="(?P<reason>.*?)"\}.*',
        F.ERROR,
        "abortable",
        "{code}: {reason}",
        line='KafkaError{TXN_REQUIRES_ABORT,code=_TIMED_OUT,val=-185,str="Local: Timed out"}',
    ),
    Statement(
        R,
        "limit",
        "  transaction.timeout.ms = ",
        r"(?P<limit>\d{1,10})",
        F.LIMIT,
        line=_line("CONF", "  transaction.timeout.ms = 60000", thread="app"),
    ),
)

TABLE: Final = Table(STATEMENTS)

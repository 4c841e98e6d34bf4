"""Statements of the Java producer and consumer, of Kafka Streams and of Kafka Connect.

The text begins after ``[Producer clientId=…, transactionalId=…]``, ``stream-thread […]`` or the task of a connector.
Source: ``TransactionManager.java``, ``Sender.java``, ``KafkaProducer.java``, ``NetworkClient.java``,
``ConsumerCoordinator.java``, ``StreamThread.java``, ``ExactlyOnceWorkerSourceTask.java``; 0.11.0 to 4.4.0.
"""

from typing import Final

from zombieproof.model.vocabulary import ProducerState
from zombieproof.traces.evidence import ClientFact as F
from zombieproof.traces.readers.clients.statement import EPOCH, NUMBER, Library, Statement, Table

J: Final = Library.JAVA
REQUESTS: Final = "PRODUCE|INIT_PRODUCER_ID|ADD_PARTITIONS_TO_TXN|ADD_OFFSETS_TO_TXN|TXN_OFFSET_COMMIT|END_TXN"

_MANAGER: Final = "(org.apache.kafka.clients.producer.internals.TransactionManager)"
_HEAD: Final = "[Producer clientId=producer-java-1, transactionalId=java-1]"


def _line(text: str, level: str = "INFO", logger: str = "producer.internals.TransactionManager") -> str:
    return f"[2026-11-30 17:16:22,501] {level} {_HEAD} {text} (org.apache.kafka.clients.{logger})"


PRODUCER: Final = (
    Statement(
        J,
        "transition",
        "Transition from state ",
        r"(?P<before>\w+) to (?:error state )?(?P<after>\w+).*",
        F.STATE,
        "{before}",
        "{after}",
        states=tuple(ProducerState.__members__),
        is_strict=True,
        line=_line("Transition from state READY to IN_TRANSACTION", "DEBUG"),
    ),
    Statement(
        J,
        "identity",
        "ProducerId set to ",
        rf"(?P<id>{NUMBER}) with epoch (?P<epoch>{EPOCH})\b.*",
        F.IDENTITY,
        is_strict=True,
        line=_line("ProducerId set to 7 with epoch 2"),
    ),
    Statement(
        J,
        "error",
        "Transiting to ",
        r"(?P<kind>fatal|abortable) error state due to (?P<reason>.*)",
        F.ERROR,
        "{kind}",
        "{reason}",
        is_strict=True,
        releases="2.7 or later",
        line=_line(
            "Transiting to fatal error state due to org.apache.kafka.common.errors.ProducerFencedException: There is a "
            "newer producer with the same transactionalId which fences the current one."
        ),
    ),
    Statement(
        J,
        "authorization",
        "Abortable authorization error: ",
        r"(?P<reason>.*?)\.? +Transition the producer state to \w+.*",
        F.ERROR,
        "abortable",
        "{reason}",
        releases="3.6 or later",
        line=_line(
            "Abortable authorization error: Transactional Id authorization failed..  "
            "Transition the producer state to ABORTABLE_ERROR"
        ),
    ),
    Statement(
        J,
        "first init",
        "Invoking InitProducerId for the first time in order to acquire a producer ID",
        ".*",
        F.ASKED,
        after="init",
        releases="2.5 or later",
        line=_line("Invoking InitProducerId for the first time in order to acquire a producer ID"),
    ),
    Statement(
        J,
        "init to bump",
        "Invoking InitProducerId with current producer ID and epoch ",
        rf"\D*(?P<id>{NUMBER}), epoch=(?P<epoch>{EPOCH})\b.*",
        F.ASKED,
        after="init (to bump the epoch)",
        releases="2.5 or later",
        line=_line(
            "Invoking InitProducerId with current producer ID and epoch ProducerIdAndEpoch(producerId=7, epoch=9) "
            "in order to bump the epoch"
        ),
    ),
    Statement(
        J,
        "init request",
        "Enqueuing transactional request ",
        r"\(?(?:InitProducerIdRequestData\(|type=InitProducerIdRequest).*transactionTimeoutMs=(?P<limit>\d{1,10})[,)].*",
        F.LIMIT,
        line=_line(
            "Enqueuing transactional request InitProducerIdRequestData(transactionalId='java-1', "
            "transactionTimeoutMs=3000, producerId=-1, producerEpoch=-1, enable2Pc=false, keepPreparedTxn=false)",
            "DEBUG",
        ),
    ),
    Statement(
        J,
        "commit request",
        "Enqueuing transactional request ",
        rf".*EndTxnRequest.*producerId=(?P<id>{NUMBER}), producerEpoch=(?P<epoch>{EPOCH}), "
        r"(?:committed=true|result=COMMIT)\b.*",
        F.ASKED,
        after="commit",
        line=_line(
            "Enqueuing transactional request EndTxnRequestData(transactionalId='java-1', producerId=7, "
            "producerEpoch=2, committed=true)",
            "DEBUG",
        ),
    ),
    Statement(
        J,
        "abort request",
        "Enqueuing transactional request ",
        rf".*EndTxnRequest.*producerId=(?P<id>{NUMBER}), producerEpoch=(?P<epoch>{EPOCH}), "
        r"(?:committed=false|result=ABORT)\b.*",
        F.ASKED,
        after="abort",
        line=_line(
            "Enqueuing transactional request (type=EndTxnRequest, transactionalId=java-1, producerId=7, "
            "producerEpoch=2, result=ABORT)",
            "DEBUG",
        ),
    ),
    Statement(
        J,
        "other requests",
        "Enqueuing transactional request ",
        r"(?!.*EndTxnRequest|\(?(?:type=)?InitProducerIdRequest).*",
        None,
        line=_line(
            "Enqueuing transactional request FindCoordinatorRequestData(key='java-1', keyType=1, coordinatorKeys=[])",
            "DEBUG",
        ),
    ),
    Statement(
        J,
        "coordinator",
        "Discovered ",
        r"transaction coordinator \S+ \(id: (?P<node>\d{1,10}) .*",
        F.NOTE,
        after="finds its transaction coordinator on broker {node}",
        releases="2.0 or later",
        line=_line("Discovered transaction coordinator 127.0.0.1:9092 (id: 1 rack: null isFenced: false)"),
    ),
    Statement(
        J,
        "aborts",
        "Aborting incomplete transaction",
        "(?: due to shutdown)?.*",
        F.ASKED,
        after="abort",
        releases="2.4 or later",
        line=_line("Aborting incomplete transaction", logger="producer.KafkaProducer"),
    ),
    Statement(
        J,
        "batches given up",
        "Aborting producer batches due to fatal error",
        ".*",
        F.NOTE,
        after="gives up its batches because of a fatal error",
        line=_line("Aborting producer batches due to fatal error", "ERROR", "producer.internals.Sender"),
    ),
    Statement(
        J,
        "append failed",
        "The broker returned ",
        rf"(?P<reason>.*) for topic-partition (?P<place>\S+) with producerId (?P<id>{NUMBER}), "
        rf"epoch (?P<epoch>{EPOCH}), and sequence number -?\d+.*",
        F.FAILED,
        "{place}",
        "{reason}",
        releases="2.5 or later",
        line=_line(
            "The broker returned org.apache.kafka.common.errors.OutOfOrderSequenceException: The broker received an "
            "out of order sequence number. for topic-partition t-0 with producerId 7, epoch 2, and sequence number 5",
            "ERROR",
        ),
    ),
    Statement(
        J,
        "append retried",
        "Got error produce response ",
        r"(?:in|with) correlation id \d+ on topic-partition (?P<place>[^\s,]+), (?P<how>(?:splitting and )?retrying) "
        r"\((?P<left>\d+) attempts? left\)\. Error: (?P<reason>.*)",
        F.FAILED,
        "{place}",
        "{reason} ({how}, {left} attempts left)",
        line=_line(
            "Got error produce response with correlation id 18 on topic-partition t-1, retrying (2147483646 attempts "
            "left). Error: REQUEST_TIMED_OUT. Error Message: Disconnected from node 1 due to timeout",
            "WARN",
            "producer.internals.Sender",
        ),
    ),
    Statement(
        J,
        "request timed out",
        "Cancelled in-flight ",
        rf"(?P<what>{REQUESTS}) request with correlation id \d+ due to node -?\d+ being disconnected \(elapsed time "
        r"since creation: \d+ms, elapsed time since send: (?P<waited>\d{1,18})ms, .*"
        r"request timeout: (?P<limit>\d{1,10})ms\).*",
        F.WAITED,
        after="{what}",
        releases="2.6 or later",
        line=_line(
            "Cancelled in-flight PRODUCE request with correlation id 18 due to node 1 being disconnected (elapsed time "
            "since creation: 2009ms, elapsed time since send: 2009ms, throttle time: 0ms, request timeout: 2000ms)",
            logger="NetworkClient",
        ),
    ),
)

CONSUMER: Final = (
    Statement(
        J,
        "offset commit",
        "Offset commit failed on partition ",
        r"(?P<place>\S+) at offset \d+: (?P<reason>.*)",
        F.FAILED,
        "{place}",
        "offset commit: {reason}",
        line="[2026-11-30 17:16:22,501] ERROR [Consumer clientId=c-1, groupId=g] Offset commit failed on partition t-0 "
        "at offset 5: The coordinator is not aware of this member. "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
    ),
    Statement(
        J,
        "instance fenced",
        "OffsetCommit failed with ",
        r".* due to group instance id (?P<instance>\S+) fenced.*",
        F.NOTE,
        after="cannot commit offsets: another member has its group.instance.id {instance}",
        releases="2.3 or later",
        line="[2026-11-30 17:16:22,501] INFO [Consumer clientId=c-1, groupId=g] OffsetCommit failed with "
        "Generation{generationId=4, memberId='c-1-7', protocol='range'} due to group instance id i-1 fenced "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
    ),
)

_THREAD: Final = "stream-thread [shop-StreamThread-1]"
_TASK: Final = "ExactlyOnceWorkerSourceTask{id=files-0}"

STREAMS: Final = (
    Statement(
        Library.STREAMS,
        "fenced",
        "Detected that the thread is being fenced",
        ".*",
        F.ERROR,
        "abortable",
        "the thread is fenced: it missed a rebalance, or another producer has its transactional id; its tasks are "
        "closed and it joins the group again",
        releases="2.6 or later",
        line=f"[2026-11-30 17:16:22,501] WARN {_THREAD} Detected that the thread is being fenced. This implies that "
        "this thread missed a rebalance and dropped out of the consumer group. Will close out all assigned tasks and "
        "rejoin the consumer group. (org.apache.kafka.streams.processor.internals.StreamThread)",
    ),
    Statement(
        Library.STREAMS,
        "task migrated",
        "Failed to ",
        r"(?:process|punctuate|commit) stream task (?P<task>\S+) since it got migrated to another thread already.*",
        F.ERROR,
        "abortable",
        "task {task} went to another thread",
        line=f"[2026-11-30 17:16:22,501] INFO {_THREAD} Failed to process stream task 0_1 since it got migrated to "
        "another thread already. Will trigger a new rebalance and close all tasks as zombies together. "
        "(org.apache.kafka.streams.processor.internals.TaskExecutor)",
    ),
    Statement(
        Library.STREAMS,
        "send failed",
        "Error encountered sending record to topic ",
        r"(?P<topic>\S+) for task (?P<task>\S+) due to:(?P<reason>.*)",
        F.FAILED,
        "{topic}",
        "task {task}",
        releases="2.5 or later",
        line="[2026-11-30 17:16:22,501] ERROR stream-thread [shop-StreamThread-1] task [0_1] Error encountered sending "
        "record to topic out for task 0_1 due to:",
    ),
)

CONNECT: Final = (
    Statement(
        Library.CONNECT,
        "commit failed",
        "Failed to commit producer transaction",
        ".*",
        F.ERROR,
        "",
        "the transaction of the task could not be committed",
        releases="3.3 or later",
        line=f"[2026-11-30 17:16:22,501] ERROR [files|task-0] {_TASK} Failed to commit producer transaction "
        "(org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask:316)",
    ),
    Statement(
        Library.CONNECT,
        "offsets failed",
        "Failed to flush offsets to storage",
        ".*",
        F.ERROR,
        "",
        "the offsets of the task could not be written in its transaction",
        releases="3.3 or later",
        line=f"[2026-11-30 17:16:22,501] ERROR [files|task-0] {_TASK} Failed to flush offsets to storage:  "
        "(org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask:299)",
    ),
    Statement(
        Library.CONNECT,
        "task killed",
        "Task threw an uncaught and unrecoverable exception",
        ".*",
        F.ERROR,
        "fatal",
        "the task is stopped until it is restarted by hand",
        line=f"[2026-11-30 17:16:22,501] ERROR [files|task-0] {_TASK} Task threw an uncaught and unrecoverable "
        "exception. Task is being killed and will not recover until manually restarted "
        "(org.apache.kafka.connect.runtime.WorkerTask:234)",
    ),
    Statement(
        Library.CONNECT,
        "connector aborts",
        "Aborting transaction for ",
        r"(?:batch|record on topic \S+) as requested by connector.*",
        F.ASKED,
        after="abort",
        releases="3.3 or later",
        line=f"[2026-11-30 17:16:22,501] INFO [files|task-0] {_TASK} Aborting transaction for batch as requested by "
        "connector (org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask:480)",
    ),
)

PRODUCER_TABLE: Final = Table(PRODUCER)
CONSUMER_TABLE: Final = Table(CONSUMER)
STREAMS_TABLE: Final = Table(STREAMS)
CONNECT_TABLE: Final = Table(CONNECT)

SETTINGS: Final = "ProducerConfig values:"
"""The head of the settings that a producer prints when it starts, one a line, indented."""

QUIET: Final = (
    "Begin adding ",
    "Discovered group coordinator ",
    "Ignoring ",
    "Incremented producer epoch",
    "No inflight batches remaining",
    "Not sending ",
    "ProducerId of partition ",
    "ProducerId: ",
    "Received TxnOffsetCommit response",
    "Resetting ",
    "Skipping transition to abortable error state",
    "Successfully added ",
    "Updating isTV2 ",
    "producerId: ",
)
"""What else a transaction manager says: it tells nothing that another line or a log does not tell better."""

"""What kind of evidence a file is: by Kafka's standard names first, else by its content."""

import re
from enum import Enum, auto

from zombieproof.formats.producer_snapshot import has_snapshot_form
from zombieproof.formats.segments import begins_with_batch
from zombieproof.traces.readers.client_calls import looks_like_calls
from zombieproof.traces.readers.clients.layouts import CLIENT_LOG_MARKS
from zombieproof.traces.readers.console_text import looks_like_console
from zombieproof.traces.readers.dump_text import STARTED, looks_like_dump
from zombieproof.traces.readers.files import SEGMENT_NAME, TOPIC_PARTITION, plain_name
from zombieproof.traces.readers.tool_tables import holds_tool_output

HEAD = 1 << 16
HEAD_LINES = 400

METADATA_TOPIC = "__cluster_metadata"
ABANDONED = re.compile(r"(?P<partition>.+)\.[0-9a-f]{32}-(?P<kind>delete|future|stray)")
WHY_ABANDONED = {
    "delete": "in a folder that the broker had renamed to delete it",
    "future": "in a folder to which the broker was moving a replica",
    "stray": "in a folder of a replica that the cluster no longer assigns to the broker",
}

EMPTY = "it is empty"
UNKNOWN_FORM = "words of evidence in a form that is not known"
NO_EVIDENCE_IN_IT = "nothing in it is evidence of transactions"
BROKER_LOG_MARK = re.compile(
    rb" transition from |TransactionManager"
    rb"|\[(?:Transaction ?Coordinator |Transaction (?:State|Marker) |ProducerStateManager |ProducerId Manager )"
    rb"|\[(?:Log|UnifiedLog|LogLoader|LocalLog) partition=|\[Group ?(?:Coordinator|Metadata ?Manager)[ \]]"
    rb"|\[Replica ?(?:Manager|Fetcher)[ T]|\(kafka\.(?:coordinator|log|server|cluster)\.|\(state\.change\.logger\)"
    rb"|\(org\.apache\.kafka\.(?:coordinator|storage|server)\."
)
WORDS_OF_EVIDENCE = re.compile(
    rb"baseOffset: \d|\boffset: \d+ (?:CreateTime|LogAppendTime|position)|producerEpoch|ProducerEpoch|producerId: \d"
    rb"|TransactionalId|transactional[._]?[Ii]d|TransactionMetadata|txnmgr|InitProducerId|Dumping \S*\d{20}\."
)
"""Words that only tools and clients of transactions print."""
LOG_MARK = re.compile(b"|".join((BROKER_LOG_MARK.pattern, *map(re.escape, CLIENT_LOG_MARKS))))
"""A text with one of them may be a log; whether it is one, its readers tell."""


class Kind(Enum):
    """What a file is read as."""

    SEGMENT = auto()
    SNAPSHOT = auto()
    TRANSACTION_INDEX = auto()
    CLEANER_CHECKPOINT = auto()
    LOG_START_CHECKPOINT = auto()
    RECOVERY_CHECKPOINT = auto()
    DUMP = auto()
    CONSOLE = auto()
    CALLS = auto()
    TOOL_OUTPUT = auto()
    TEXT_LOG = auto()
    DISK_IDENTITY = auto()
    TOPIC_IDENTITY = auto()
    LEADER_EPOCHS = auto()
    CLUSTER_METADATA = auto()
    CLUSTER_FILE = auto()


KINDS = {"log": Kind.SEGMENT, "snapshot": Kind.SNAPSHOT, "txnindex": Kind.TRANSACTION_INDEX}

NO_EVIDENCE = (
    (re.compile(r"\d{20}\.(?:index|timeindex)"), "an index that repeats the log"),
    (re.compile(r".+\.(?:deleted|cleaned|swap)"), "a file that the broker was about to delete or replace"),
    (re.compile(r"\d{20}-\d{10}\.(?:checkpoint|snapshot)|bootstrap\.checkpoint"), "the cluster's metadata"),
    (re.compile(r"replication-offset-checkpoint"), "a position of the broker's own"),
    (
        re.compile(r"quorum-state|\.lock|\.kafka_cleanshutdown"),
        "state of a disk",
    ),
    (re.compile(r"README.*|about\.yaml|consumed\.json"), "a description of the recording"),
)
BESIDE_LOGS = {
    "meta.properties": Kind.DISK_IDENTITY,
    "partition.metadata": Kind.TOPIC_IDENTITY,
    "leader-epoch-checkpoint": Kind.LEADER_EPOCHS,
    "cleaner-offset-checkpoint": Kind.CLEANER_CHECKPOINT,
    "log-start-offset-checkpoint": Kind.LOG_START_CHECKPOINT,
    "recovery-point-offset-checkpoint": Kind.RECOVERY_CHECKPOINT,
    "cluster.json": Kind.CLUSTER_FILE,
}


def by_name(file: str) -> Kind | str | None:
    """The kind that Kafka's own names tell, or a reason to ignore the file, or None: look into it."""
    folders = file.replace("\\", "/").split("/")[:-1]
    name = plain_name(file)
    for folder in folders:
        found = TOPIC_PARTITION.fullmatch(folder)
        if found and found["topic"] == METADATA_TOPIC:
            is_log = SEGMENT_NAME.fullmatch(name) and name.endswith(".log")
            return Kind.CLUSTER_METADATA if is_log else "of the cluster's metadata, of which only the log is read"
        if abandoned := ABANDONED.fullmatch(folder):
            return WHY_ABANDONED[abandoned["kind"]]
    for pattern, reason in NO_EVIDENCE:
        if pattern.fullmatch(name):
            return reason
    if found := SEGMENT_NAME.fullmatch(name):
        return KINDS[found["kind"]]
    return BESIDE_LOGS.get(name)


def begins_with_text(data: memoryview) -> bool:
    """Whether a file that has the name of a segment, snapshot or index is a text: those begin with a number."""
    return len(data) > 1 and data[0] > 0 and data[1] > 0


def by_content(data: memoryview) -> Kind | str:
    """The kind that the content tells, or why the file is no evidence."""
    if not len(data):
        return EMPTY
    if begins_with_batch(data):
        return Kind.SEGMENT
    if has_snapshot_form(data):
        return Kind.SNAPSHOT
    head = bytes(data[:HEAD])
    text = head.decode(errors="replace")
    lines = text.split("\n")[:HEAD_LINES]
    if any(map(looks_like_dump, lines)):
        return Kind.DUMP
    is_text = b"\0" not in head
    if is_text and any(mark.search(data) for mark in STARTED):
        return Kind.DUMP
    if any(looks_like_calls(line) for line in lines if line.startswith("{")):
        return Kind.CALLS
    if looks_like_console(text):
        return Kind.CONSOLE
    if not is_text:
        return "it is neither text nor a segment"
    if LOG_MARK.search(data):
        return Kind.TEXT_LOG
    return Kind.TOOL_OUTPUT if holds_tool_output(data) else _why_not(data)


def _why_not(data: memoryview) -> str:
    """Why a text is not read; lines with words of evidence, of which the form is not known, are counted."""
    numbers = [
        number for number, line in enumerate(bytes(data).split(b"\n"), 1) if WORDS_OF_EVIDENCE.search(line) is not None
    ]
    if not numbers:
        return NO_EVIDENCE_IN_IT
    lines = f"{len(numbers):,} line{'s' * (len(numbers) > 1)}"
    return f"{UNKNOWN_FORM} ({lines}, from line {numbers[0]} on)"

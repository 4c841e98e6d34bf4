"""Read brokers' logs: statements at any level, and which broker has which partition.

A line is used if its class and its words are those of a row of `broker_statements`. Other lines of these classes are
counted with the reason. Two kinds of lines show copies of partitions: those of a producer state manager, which only a
broker with a copy writes, and the answers to WriteTxnMarkers, which only the leader gives.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import BrokerLine, Hosted, LinesRead
from zombieproof.traces.readers.broker_statements import REFUSAL, TABLE
from zombieproof.traces.readers.files import TOPIC_PARTITION
from zombieproof.traces.readers.lines import Lines
from zombieproof.traces.readers.statement_forms import CUT_LOGGER, Message, Statement, fields_of_prefix
from zombieproof.traces.readers.timestamps import timestamp_ms

SELF = re.compile(
    r"\[(?:TransactionCoordinator id=|Transaction State Manager |Transaction Marker Channel Manager )(\d+)\]"
)
PRODUCER_STATE = re.compile(r"\[ProducerStateManager partition=(?P<place>[a-zA-Z0-9._-]+-\d{1,10})\]")
MANAGER = "ProducerStateManager partition="
SNAPSHOT_AT = re.compile(r"(?:Wrote producer snapshot at offset |SnapshotFile\(offset=)(?P<offset>\d{1,19})\b")
ANSWER = "Received WriteTxnMarker response "
ANSWER_FROM = re.compile(r" from node (?P<node>\d{1,10}) with correlation id")
ANSWERED_TOPIC = re.compile(r"name='(?P<topic>[a-zA-Z0-9._-]+)', partitions=\[(?P<partitions>[^\]]*)\]")
ANSWERED_PARTITION = re.compile(r"partitionIndex=(?P<partition>\d{1,10}), errorCode=0\)")

HEAD = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]? +)?"
    r"(?:\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\]? +)?",
    re.ASCII,
)
EXCEPTION = re.compile(r"(?:Caused by: )?(?=org\.apache\.kafka\.common\.errors\.)")
FAILED = "append_failed"

IDLE = "no statement about a transaction, a partition or a group"
UNKNOWN = "unknown words of a known class"
CUT = "possibly cut: the logger at the end is missing"


@dataclass(slots=True)
class BrokerLog:
    """The content of one log. `read` counts lines, those that another reader turns into evidence included."""

    read: LinesRead
    hosted: list[Hosted] = field(default_factory=list)
    lines: list[BrokerLine] = field(default_factory=list)


def read_broker_log(data: memoryview, file: str, transitions: Collection[int] = ()) -> BrokerLog:
    """Read the log of one broker; `transitions` are the numbers of lines that another reader has understood."""
    return _Reading(data, file, transitions).log


@dataclass(slots=True)
class _Understood:
    """A line that fits a row, and what it says if the row has a meaning; `is_whole` if it goes up to its logger."""

    row: Statement
    number: int
    line: BrokerLine | None
    is_whole: bool
    is_last: bool


class _Reading:
    """One pass over a log."""

    def __init__(self, data: memoryview, file: str, transitions: Collection[int]) -> None:
        self.log, self._file, self._transitions = BrokerLog(LinesRead(file)), file, transitions
        self._understood: list[_Understood] = []
        self._own: int | None = None
        self._has_loggers = False
        self._failed_ms: tuple[int, int | None] | None = None
        lines = Lines(data)
        for line in lines:
            is_last = lines.ends_open and lines.peek(0) is None
            self._take_hosted(line, lines.number, is_last=is_last)
            self._take(line, lines.number, is_last=is_last)
        self.log.hosted = [
            each if each.node_id is not None else Hosted(file, each.line, each.place, self._own, each.end_offset)
            for each in self.log.hosted
        ]
        self._keep_what_is_whole()

    def _take(self, line: str, number: int, *, is_last: bool) -> None:
        start = HEAD.match(line)
        message = TABLE.message(line, start.end() if start else 0)
        moment = None
        if message is None:
            message, moment = self._refusal(line, number)
        if message is None:
            return
        self._has_loggers |= message.is_whole and message.speaker is not REFUSAL
        if not message.is_whole and CUT_LOGGER.search(line):
            self.log.read.leave_out(CUT, number)
            return
        if message.is_whole and number in self._transitions:
            self.log.read.used += 1
            return
        found = TABLE.match(message)
        if found is None:
            self.log.read.leave_out(IDLE if message.is_idle else UNKNOWN, number)
            return
        row, match = found
        told = None
        if row.meaning:
            moment = timestamp_ms(line) if moment is None else moment
            fields = {**fields_of_prefix(message.prefix), **match.groupdict()}
            told = BrokerLine(self._file, number, moment, row.name, fields, row.meaning.format_map(_Said(fields)))
        if row.name == FAILED:
            self._failed_ms = (number, moment)
        self._understood.append(_Understood(row, number, told, message.is_whole, is_last))

    def _refusal(self, line: str, number: int) -> tuple[Message | None, int | None]:
        """The exception directly below an append that failed, and the time of that line."""
        if self._failed_ms is None or self._failed_ms[0] != number - 1:
            return None, None
        found = EXCEPTION.match(line)
        return (Message(REFUSAL, line[found.end() :].rstrip(), "", True), self._failed_ms[1]) if found else (None, None)

    def _keep_what_is_whole(self) -> None:
        """Keep the lines of which nothing can be missing.

        A line without its logger is cut where other lines have theirs. Where none has, one that looks whole when it is
        cut, since it ends in a field or a longer form begins like it, is kept if another line shows that this log is
        written without loggers.
        """
        is_bare = not self._has_loggers and not all(
            each.is_whole or TABLE.looks_whole_when_cut(each.row) for each in self._understood
        )
        for each in self._understood:
            if each.is_whole and not (each.is_last and each.row.source == REFUSAL.name):
                is_kept = True
            elif TABLE.looks_whole_when_cut(each.row):
                is_kept = is_bare and not each.is_last
            else:
                is_kept = not self._has_loggers
            if not is_kept:
                self.log.read.leave_out(CUT, each.number)
                continue
            self.log.read.used += 1
            if each.line is not None:
                self.log.lines.append(each.line)

    def _take_hosted(self, line: str, number: int, *, is_last: bool) -> None:
        if self._own is None and "[Transaction" in line and (name := SELF.search(line)):
            self._own = int(name[1])
        if ANSWER in line and (node := ANSWER_FROM.search(line)):
            self.log.hosted += (Hosted(self._file, number, place, int(node["node"])) for place in _answered(line))
        elif MANAGER in line and (state := PRODUCER_STATE.search(line)):
            place = _place(state["place"])
            offset = SNAPSHOT_AT.search(line)
            if place is not None and not is_last:
                end = int(offset["offset"]) if offset else NONE
                self.log.hosted.append(Hosted(self._file, number, place, None, end))


class _Said(dict[str, str]):
    """The fields of a line for its sentence; a field that the line does not have is named as unknown."""

    def __missing__(self, name: str) -> str:
        return "an unknown partition" if name == "place" else "?"


def _place(name: str) -> TopicPartition | None:
    found = TOPIC_PARTITION.fullmatch(name)
    return (found["topic"], int(found["partition"])) if found else None


def _answered(line: str) -> list[TopicPartition]:
    return [
        (topic["topic"], int(partition["partition"]))
        for topic in ANSWERED_TOPIC.finditer(line)
        for partition in ANSWERED_PARTITION.finditer(topic["partitions"])
    ]

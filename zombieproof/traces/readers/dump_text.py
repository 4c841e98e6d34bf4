"""The text that ``kafka-dump-log`` prints: data, transaction and offsets logs, snapshots, transaction indexes.

Lines of stderr may stand between those of stdout. Payloads may hold line feeds and text that looks like the tool's own
lines: the printed sizes tell where a record ends (a payload that the printing changed is followed as far as lines make
no sense on their own). Lost lines show as a jump of the position, or as a batch with fewer records than it counts.
Source: reference §9.1 to §9.3.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.formats.transaction_index import IndexEntry
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import (
    Damage,
    LoggedBatch,
    LoggedRecord,
    ProducerSnapshotEntry,
    TransactionStateRecord,
    Unit,
)
from zombieproof.traces.readers import dump_lines, internal_text
from zombieproof.traces.readers.dump_lines import RecordLine
from zombieproof.traces.readers.files import base_offset_of, place_of
from zombieproof.traces.readers.lines import Lines, Reached
from zombieproof.traces.readers.offsets_log import commit_record
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep

STRUCTURE = (
    "| offset: ",
    "offset: ",
    "baseOffset: ",
    "Dumping ",
    "Log starting offset: ",
    "Starting offset: ",
    "Found ",
)
OF_INTERNAL_TOPICS = {
    "transaction_metadata::": TRANSACTION_STATE,
    '{"type":"0","data":{"transactionalId":': TRANSACTION_STATE,
    "offset_commit::": CONSUMER_OFFSETS,
    '{"type":"1","data":{"group":': CONSUMER_OFFSETS,
}
"""How decoded keys begin: tells the topic where the path of the segment does not."""

FAILURES = ("Exception in thread", "Caused by: ", "org.apache.kafka.common.errors.CorruptRecord")
REPLACED = "\ufffd"
WITHOUT_RECORDS = "was dumped without its records"
"""A note about the dump of an internal topic, which tells nothing then."""


@dataclass(slots=True)
class DumpContent:
    """What one dump file shows: parts in the order of its ``Dumping`` lines.

    `damage` is of the dump itself (cut or lost lines); damage of a segment that the tool reports is in its content.
    """

    file: str
    segments: list[SegmentContent] = field(default_factory=list)
    snapshots: list[tuple[str, list[ProducerSnapshotEntry]]] = field(default_factory=list)
    indexes: list[tuple[str, list[IndexEntry]]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def looks_like_dump(line: str) -> bool:
    """Whether a line can only come from the tool."""
    return line.startswith(("Dumping ", "baseOffset: ", "| offset: ")) or (
        line.startswith("offset: ") and " position: " in line and " isvalid: " in line
    )


def read_dump(data: memoryview, file: str, keep: Keep = Keep.NEEDED, reached: Reached | None = None) -> DumpContent:
    """Read a whole dump. `file` is how it is named in batches and damage."""
    return _Reader(Lines(data, reached), file, keep).read()


@dataclass(slots=True)
class _Segment:
    """The segment that is being read. `batch` is the one whose records come next, at line `batch_line`.

    `is_short`: a line of its records was cut, and that is said already. `is_begun`: its log start was printed.
    """

    content: SegmentContent
    next_position: int = 0
    batch: LoggedBatch | None = None
    batch_line: int = 0
    shown: int = 0
    is_short: bool = False
    is_begun: bool = False
    shows_records: bool = False
    shows_payloads: bool = False
    is_old: bool = False


class _Reader:
    def __init__(self, lines: Lines, file: str, keep: Keep) -> None:
        self._lines = lines
        self._keep = keep
        self._out = DumpContent(file)
        self._segment: _Segment | None = None
        self._other: str | None = None

    def read(self) -> DumpContent:
        handlers: tuple[tuple[str, Callable[[str], None]], ...] = (
            ("| offset: ", self._record),
            ("baseOffset: ", self._batch),
            ("offset: ", self._old_record),
            ("Dumping ", self._begin),
            ("Log starting offset: ", self._start),
            ("Starting offset: ", self._start),
            ("Found ", self._trailing),
            ("producerId: ", self._snapshot),
            ("version: ", self._index),
        )
        for line in self._lines:
            handler = next((handle for prefix, handle in handlers if line.startswith(prefix)), self._noise)
            try:
                handler(line)
            except Undecodable as fault:
                self._cut(str(fault))
        self._end_segment()
        return self._out

    def _cut(self, message: str) -> None:
        """A line of the dump itself cannot be read."""
        self._out.damage.append(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        if self._segment:
            self._segment.content.torn_tail = True
            self._segment.next_position = NONE
            self._segment.is_short = True

    def _is_last_and_open(self) -> bool:
        """Whether the line taken last has no line feed: a number at its end may go on."""
        return self._lines.ends_open and self._lines.peek(0) is None

    def _begin(self, line: str) -> None:
        self._end_segment()
        path = line.removeprefix("Dumping ").strip()
        self._other = None
        if path.endswith(".log"):
            content = SegmentContent(path, place_of(path), self._out.file, Unit.LINE, base_offset_of(path))
            self._segment = _Segment(content)
            self._out.segments.append(content)
        elif path.endswith(".snapshot"):
            self._other = path
            self._out.snapshots.append((path, []))
        elif path.endswith(".txnindex"):
            self._other = path
            self._out.indexes.append((path, []))
        elif self._is_last_and_open():
            raise Undecodable("the last line is cut")

    def _open(self) -> _Segment:
        """The segment that a batch or record belongs to; a dump whose beginning is missing does not say which."""
        if self._segment is None:
            self._cut("batches come before the line 'Dumping …' that says whose they are: the beginning is missing")
            content = SegmentContent("", place_of(""), self._out.file, Unit.LINE, skipped=True)
            self._segment = _Segment(content, next_position=NONE)
            self._out.segments.append(content)
        return self._segment

    def _start(self, line: str) -> None:
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        value = line.rpartition(": ")[2].strip()
        if self._segment:
            self._segment.is_begun = True
        if self._segment and value.isdecimal() and len(value) < 20:
            self._segment.content.start_offset = int(value)

    def _batch(self, line: str) -> None:
        segment = self._open()
        self._end_batch()
        if self._is_last_and_open() and line.rpartition(": ")[2] not in dump_lines.BOOLEANS:
            raise Undecodable("the last line is cut")
        batch = dump_lines.batch_of(line, self._out.file)
        if segment.next_position not in (NONE, batch.position):
            self._cut(f"the batch at position {batch.position} follows byte {segment.next_position}: lines are missing")
        segment.next_position = batch.position + batch.size
        self._accept(batch)

    def _accept(self, batch: LoggedBatch) -> None:
        segment = self._open()
        segment.batch, segment.batch_line, segment.shown, segment.is_short = batch, self._lines.number, 0, False
        if batch.is_valid:
            segment.content.take(batch, self._lines.number)
            return
        segment.content.unsound.append(batch)
        message = f"the batch at offset {batch.base_offset}, byte {batch.position} of the segment, has a bad CRC"
        segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))

    def _record(self, line: str) -> None:
        segment = self._open()
        record = dump_lines.record_of(line)
        if segment.batch is None and segment.next_position == NONE:
            return
        if segment.batch is None or not segment.batch.base_offset <= record.offset <= segment.batch.last_offset:
            segment.shows_records = True
            self._end_batch()
            raise Undecodable(f"the record at offset {record.offset} is in no batch: the line of its batch is missing")
        self._show(record)

    def _old_record(self, line: str) -> None:
        if " isvalid: " not in line:
            return
        if " keysize: " not in line or " producerId: " not in line:
            segment = self._open()
            segment.content.old_format += 1
            segment.content.skipped = True
            segment.next_position = NONE
            return
        segment = self._open()
        segment.is_old = True
        record, single = dump_lines.old_record_of(line, self._out.file)
        batch = segment.batch
        if batch is None or batch.position != single.position or batch.last_offset >= record.offset:
            self._end_batch()
            self._accept(single)
        else:
            batch.last_offset, batch.last_sequence = single.last_offset, single.last_sequence
            batch.max_timestamp_ms = max(batch.max_timestamp_ms, single.max_timestamp_ms)
            batch.count += 1
        self._show(record)

    def _show(self, record: RecordLine) -> None:
        """Put a record into the batch that is being shown."""
        segment = self._open()
        batch = segment.batch
        assert batch is not None
        segment.shows_records = True
        segment.shown += 1
        if batch.is_control:
            marker = dump_lines.marker_of(record.rest)
            if marker is not None and self._is_last_and_open():
                raise Undecodable("the line of a marker is cut")
            batch.marker = marker
            if marker is None:
                # It is shown, and it is not a marker.
                batch.records = []
        elif self._topic_of(segment, record) in (TRANSACTION_STATE, CONSUMER_OFFSETS):
            self._internal(segment, batch, record)
        else:
            self._payload(segment, batch, record)

    def _topic_of(self, segment: _Segment, record: RecordLine) -> str:
        place = segment.content.place
        if not place.topic:
            key = record.rest.removeprefix("key: ")
            topic = next((topic for start, topic in OF_INTERNAL_TOPICS.items() if key.startswith(start)), "")
            segment.content.place = replace(place, topic=topic)
            return topic
        return place.topic

    def _internal(self, segment: _Segment, batch: LoggedBatch, record: RecordLine) -> None:
        if not record.rest.startswith("key: ") or not batch.is_valid:
            return
        place = segment.content.place
        body = record.rest.removeprefix("key: ")
        if self._is_last_and_open() and not body.endswith(("}", "<DELETE>")):
            raise Undecodable("the line of a record is cut")
        if body.startswith("Error at offset"):
            message = f"the tool could not decode a record: {body}"
            segment.content.damage.append(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        elif place.topic == TRANSACTION_STATE and (found := internal_text.transaction_record(body)):
            transactional_id, value = found
            state = TransactionStateRecord(
                transactional_id,
                place.partition,
                record.offset,
                record.timestamp_ms,
                value,
                self._out.file,
                record.offset,
            )
            segment.content.transaction_states.append(state)
        elif place.topic == CONSUMER_OFFSETS and (commit := internal_text.offset_record(body)):
            key, offset = commit
            segment.content.offset_commits.append(commit_record(batch, place.partition, record.offset, key, offset))

    def _payload(self, segment: _Segment, batch: LoggedBatch, record: RecordLine) -> None:
        body = self._whole_body(record)
        segment.shows_payloads |= bool(body)
        if record.value_size >= 0 and segment.shows_payloads and "payload: " not in body:
            raise Undecodable("the payload is missing: the line is cut")
        if self._keep is Keep.NEEDED and batch.is_dense and not segment.is_old:
            return
        if batch.records is None:
            batch.records = []
        key, value, shown = _split(body, record)
        batch.records.append(LoggedRecord(record.offset, record.timestamp_ms, record.sequence, key, value, shown))

    def _whole_body(self, record: RecordLine) -> str:
        """Key and payload with the lines that they run over."""
        body = record.rest
        wanted = _size_of(record)
        if not body or wanted is None or len(body.encode()) >= wanted:
            return body
        parts, size = [body], len(body.encode())
        while size < wanted and (line := self._lines.peek(len(parts) - 1)) is not None:
            parts.append(line)
            size += 1 + len(line.encode())
        if size == wanted and REPLACED not in body:
            for _ in parts[1:]:
                self._lines.take()
            return "\n".join(parts)
        if self._lines.peek(0) is None and self._lines.ends_open and not set("?" + REPLACED) & set(body):
            raise Undecodable(f"the last record has {len(body.encode())} bytes of {wanted}: the line is cut")
        while (line := self._lines.peek(0)) is not None and not line.startswith(STRUCTURE):
            self._lines.take()
        return body

    def _end_batch(self) -> None:
        """A dump that shows records shows all of a batch."""
        segment = self._segment
        if segment is None or segment.batch is None:
            return
        batch, segment.batch = segment.batch, None
        if segment.is_old and batch.is_dense and not batch.is_control and self._keep is Keep.NEEDED:
            batch.records = None
        if segment.shows_records and batch.is_valid and segment.shown < batch.count and not segment.is_short:
            segment.content.torn_tail = True
            message = f"{segment.shown} of the {batch.count} records at offset {batch.base_offset} are shown"
            self._out.damage.append(Damage(self._out.file, segment.batch_line, message, Unit.LINE))

    def _end_segment(self) -> None:
        self._end_batch()
        segment = self._segment
        if segment and not (segment.is_begun or segment.content.batches or segment.is_short or segment.is_old):
            message = f"nothing of {segment.content.segment} is shown, not even its log start: lines are missing"
            segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        if self._segment and not self._segment.shows_records:
            internal = self._segment.content.place.topic in (TRANSACTION_STATE, CONSUMER_OFFSETS)
            if internal and self._segment.content.batches:
                self._out.notes.append(f"{self._segment.content.segment} {WITHOUT_RECORDS}")
        self._segment = None

    def _trailing(self, line: str) -> None:
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        if self._segment and " invalid bytes at the end of " in line:
            name = self._segment.content.segment
            message = f"the tool found {line.split(' ')[1]} bytes at the end of {name} that are not a whole batch"
            self._segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))

    def _snapshot(self, line: str) -> None:
        if self._other and self._other.endswith(".snapshot"):
            if self._is_last_and_open():
                raise Undecodable("the last line is cut")
            self._out.snapshots[-1][1].append(dump_lines.snapshot_entry_of(line))

    def _index(self, line: str) -> None:
        if self._other and self._other.endswith(".txnindex"):
            if self._is_last_and_open():
                raise Undecodable("the last line is cut")
            self._out.indexes[-1][1].append(dump_lines.index_entry_of(line))

    def _noise(self, line: str) -> None:
        if self._segment and line.startswith(FAILURES):
            message = f"the tool gave up in {self._segment.content.segment}: {line}"
            self._segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        elif line and self._lines.ends_open and self._lines.peek(0) is None and _is_cut(line):
            raise Undecodable("the last line is cut")


def _is_cut(line: str) -> bool:
    """Whether a line can be the beginning of one of the tool's own lines."""
    return any(prefix.startswith(line) for prefix in (*STRUCTURE, "producerId: ", "version: "))


def _size_of(record: RecordLine) -> int | None:
    """Bytes that ``key: … payload: …`` should have; None when neither is printed."""
    if record.rest.startswith("key: ") and record.key_size >= 0:
        return len("key: ") + record.key_size + (len(" payload: ") + record.value_size if record.value_size >= 0 else 0)
    if record.rest.startswith("payload: ") and record.value_size >= 0:
        return len("payload: ") + record.value_size
    return None


def _split(body: str, record: RecordLine) -> tuple[bytes | None, bytes | None, bool]:
    """Key, value, and whether both are shown as they are in the log."""
    text = body.encode()
    if REPLACED in body or len(text) != _size_of(record):
        return None, None, record.key_size < 0 and record.value_size < 0
    if body.startswith("payload: "):
        return None, text[len("payload: ") :], True
    key, behind = text[5 : 5 + record.key_size], text[5 + record.key_size :]
    if record.value_size < 0:
        return key, None, True
    return (key, behind[10:], True) if behind.startswith(b" payload: ") else (None, None, False)

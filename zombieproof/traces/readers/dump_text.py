"""The text that ``kafka-dump-log`` prints: data, transaction and offsets logs, snapshots, transaction indexes.

Lines of stderr may stand between those of stdout. Payloads may hold line feeds and text that looks like the tool's own
lines: the printed sizes tell where a record ends (a payload that the printing changed is followed as far as lines make
no sense on their own). Lost lines show as a jump of the position, or as a batch with fewer records than it counts.
Source: reference §9.1 to §9.3.
"""

import re
from collections.abc import Callable

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Damage, LinesRead, LoggedBatch, LoggedRecord, Unit
from zombieproof.traces.readers import dump_body, dump_lines
from zombieproof.traces.readers.dump_body import STRUCTURE
from zombieproof.traces.readers.dump_content import (
    BATCH_CUT,
    CUT,
    NO_FILE,
    NO_OFFSET,
    OF_INDEX,
    OF_NO_LOG,
    OLD_FORMAT,
    UNKNOWN_TYPE,
    USED,
    WITHOUT_METADATA,
    WITHOUT_RECORDS,
    DumpContent,
    DumpedSegment,
)
from zombieproof.traces.readers.dump_lines import RecordLine
from zombieproof.traces.readers.dump_name import partition_named_by
from zombieproof.traces.readers.files import UNKNOWN_PARTITION, Place, base_offset_of, place_of, plain_name
from zombieproof.traces.readers.lines import PART, Lines, Reached
from zombieproof.traces.readers.printed import (
    COLOURED,
    ESCAPE,
    OTHER_BARS,
    OVERWRITTEN,
    as_printed,
    is_changed,
    with_bar,
)
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep
from zombieproof.traces.readers.timestamps import HEAD

NO_LOGS = (".index", ".timeindex", ".checkpoint")
"""Ends of the names of files that the tool prints too, and that hold no records of a partition."""

OF_THE_JVM = "Dumping heap to "
STARTED = (
    re.compile(
        rb"\n(?:Dumping [^\n]*\d{20}\.\w|baseOffset: \d+ lastOffset: |\| offset: \d+ "
        rb"|offset: \d+ position: \d+ [^\n]* isvalid: )"
    ),
    *(re.compile(end + rb"Dumping [^\n]*\d{20}\.(?:log|snapshot|txnindex)\n") for end in (rb"\)", rb"\}")),
)
"""Lines that only the tool prints, behind other lines; the first may be glued to the end of a log or an object."""
GLUED = re.compile(r"Dumping \S*\d{20}\.(?:log|snapshot|txnindex)$", re.ASCII)
"""The first line of a dump behind the last of another file, which had no line feed at its end."""
BELOW_A_PATH = (
    "Dumping ",
    "Log starting offset: ",
    "Starting offset: ",
    "baseOffset: ",
    "offset: ",
    "producerId: ",
    "version: ",
)
OF_A_LOG = re.compile(rf"\s*(?:{HEAD.pattern}|%\d\||\{{)", re.ASCII)
FRAMES = 16
"""How many lines below an exception are searched for the tool's own class."""
MAY_GO_ON = (CUT, BATCH_CUT, OLD_FORMAT, OF_NO_LOG)
"""Why a record is not used whose payload may run over lines."""
UNCERTAIN = "behind a record whose end cannot be told: it may be of its payload"


def looks_like_dump(line: str) -> bool:
    """Whether a line can only come from the tool."""
    return (line.startswith(("Dumping ", "baseOffset: ", "| offset: ")) and not line.startswith(OF_THE_JVM)) or (
        line.startswith("offset: ") and " position: " in line and " isvalid: " in line
    )


def read_dump(data: memoryview, file: str, keep: Keep = Keep.NEEDED, reached: Reached | None = None) -> DumpContent:
    """Read a whole dump. `file` is how it is named in batches and damage."""
    return _Reader(Lines(data, reached), file, keep).read()


class _Reader:
    def __init__(self, lines: Lines, file: str, keep: Keep) -> None:
        self._lines = lines
        self._keep = keep
        self._out = DumpContent(LinesRead(file))
        self._segment: DumpedSegment | None = None
        self._other: str | None = None
        self._named: set[str] = set()
        """Segments whose partition was taken from the name of the file: it names one partition only."""
        self._part, self._first_of_part = file, 0
        self._is_told = False
        """Whether the path of a segment of this part told its partition."""
        self._is_in_log = False
        self._glued = 0

    def read(self) -> DumpContent:
        handlers: tuple[tuple[str, Callable[[str], str | None]], ...] = (
            ("baseOffset: ", self._batch),
            ("offset: ", self._old_record),
            ("Dumping ", self._begin),
            ("Log starting offset: ", self._start),
            ("Starting offset: ", self._start),
            ("Found ", self._trailing),
            ("producerId: ", self._snapshot),
            ("version: ", self._index),
        )
        used, is_uncertain = 0, False
        for line in self._lines:
            number = self._lines.number
            if is_changed(line):
                line = self._as_printed(line)
            try:
                if line.startswith("| offset: "):
                    reason: str | None = self._record(line)  # most lines are
                else:
                    reason = next((handle for prefix, handle in handlers if line.startswith(prefix)), self._noise)(line)
            except Undecodable as fault:
                self._cut(str(fault))
                reason = CUT
            if reason:
                self._out.read.leave_out(reason, self._lines.number)
                is_uncertain = reason in MAY_GO_ON and number == self._lines.number and not self._passes_body(line)
            elif reason is not None:
                used, is_uncertain = used + 1, False
            else:
                is_uncertain = self._of_others(line, is_uncertain=is_uncertain)
        self._out.read.used, self._out.last_line = used + self._glued, self._lines.number
        self._end_segment()
        self._out.name_unshown()
        self._out.leave_out_mixed()
        return self._out

    def _as_printed(self, line: str) -> str:
        printed = as_printed(line)
        if printed != line:
            self._out.forms.add(COLOURED if ESCAPE in line else OVERWRITTEN)
        return printed

    def _passes_body(self, line: str) -> bool:
        """Pass over the lines that belong to a record that is not used; return whether its end is known."""
        try:
            if line.startswith("| offset: "):
                dump_body.whole_body(dump_lines.record_of(line), self._lines, self._count_uncertain)
            elif line.startswith("offset: "):
                record, _ = dump_lines.old_record_of(line, self._out.file)
                dump_body.whole_body(record, self._lines, self._count_uncertain)
        except Undecodable:
            return False
        return True

    def _count_uncertain(self, line: str) -> None:
        if OF_A_LOG.match(line):
            self._out.read.leave_out(UNCERTAIN, self._lines.number)

    def _of_others(self, line: str, *, is_uncertain: bool) -> bool:
        """Keep a line that is not the tool's for other readers; return whether the next may still be of a payload."""
        if (glued := GLUED.search(line)) and (self._lines.peek(0) or "").startswith(BELOW_A_PATH):
            self._begin(line[glued.start() :])
            self._glued += 1
            line = line[: glued.start()]
        part = PART.fullmatch(line) if line.startswith("==> ") else None
        if part is not None:
            self._end_segment()
            self._other, self._part, self._first_of_part = None, part["name"], len(self._out.segments)
            self._is_told = False
            self._named.clear()
        elif is_uncertain:
            self._count_uncertain(line)
            return True
        self._is_in_log = self._is_in_log or OF_A_LOG.match(line) is not None
        self._out.others[self._lines.number] = line
        return False

    def _cut(self, message: str) -> None:
        """A line of the dump itself cannot be read."""
        self._out.damage.append(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        if self._segment:
            self._segment.content.torn_tail = True
            self._segment.next_position = NONE
            self._segment.is_short = True
            if self._segment.is_old:
                # The next record may be of the same batch: it is shown apart, behind the place that cannot be read.
                self._end_batch()

    def _is_last_and_open(self) -> bool:
        """Whether the line taken last has no line feed: a number at its end may go on."""
        return self._lines.ends_open and self._lines.peek(0) is None

    # ---------------------------------------------------------------- segments

    def _begin(self, line: str) -> str:
        self._end_segment()
        self._is_in_log = False
        path = line.removeprefix("Dumping ").strip()
        self._other = None if path.endswith(".log") else path
        if path.endswith(".log"):
            self._begin_segment(path)
        elif path.endswith(".snapshot"):
            self._out.snapshots.append((path, []))
        elif path.endswith(".txnindex"):
            self._out.indexes.append((path, []))
        elif self._is_last_and_open() or not path.endswith(NO_LOGS):
            self._other = None
            # Of a path that is cut, a folder is that of the partition only if the name of a segment follows.
            self._begin_segment("", place_of(path if plain_name(path).startswith("00") else ""))
            raise Undecodable("the line is cut, or is of no file of a partition")
        return USED

    def _begin_segment(self, path: str, place: Place | None = None) -> DumpedSegment:
        """A segment whose partition its path tells, or the name of the file: that names one partition."""
        content = SegmentContent(path, place or place_of(path), self._out.file, Unit.LINE, base_offset_of(path))
        segment = self._segment = DumpedSegment(content, next_position=0 if path else NONE)
        self._out.segments.append(content)
        newest = max(self._first_of_part, len(self._out.segments) - 2)
        self._is_told |= any(each.place.is_known and not each.is_guessed for each in self._out.segments[newest:])
        named = None if self._is_told else partition_named_by(self._part)
        if named is not None and plain_name(path) not in self._named:
            self._named.add(plain_name(path))
            self._out.named.append(named)
            content.is_guessed, content.place = True, named.place
        return segment

    def _open(self, batch: LoggedBatch | None = None, *, repeats: bool = False) -> DumpedSegment:
        """The segment that a batch belongs to; without a line ``Dumping`` nothing tells its path.

        Positions only rise in a segment (`repeats`: each record has that of its batch): else the next one has begun, or
        the same lines are there twice.
        """
        segment = self._segment
        if segment is not None and batch is not None and batch.position + repeats <= segment.last_position:
            if segment.has_shown(batch):
                self._out.has_repeats = True
                raise Undecodable("the lines of this batch are there twice")
            self._cut(f"byte {batch.position} follows byte {segment.last_position}: the line 'Dumping …' is missing")
            self._out.goes_back(self._lines.number, is_part=batch.position > 0)
            self._end_segment()
            segment = None
        if segment is None:
            segment = self._begin_segment("")
            if batch is not None and batch.position:
                self._cut(f"the first batch shown is at byte {batch.position} of its segment: the beginning is missing")
            segment.next_position = NONE if batch is None else batch.position
        if batch is not None:
            segment.last_position = batch.position
        return segment

    def _start(self, line: str) -> str:
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        value = line.rpartition(": ")[2].strip()
        if not value.isdecimal() or len(value) >= 20:
            raise Undecodable("the line is cut")
        if self._other is not None:
            return OF_INDEX
        if self._segment is not None and (self._segment.is_begun or self._segment.content.batches):
            self._cut("the line 'Dumping …' is missing")
            self._out.goes_back(self._lines.number)
            self._end_segment()
        segment = self._segment or self._begin_segment("")
        segment.next_position = max(segment.next_position, 0)
        segment.is_begun = True
        segment.content.start_offset = int(value)
        return USED

    # ---------------------------------------------------------------- batches and records

    def _batch(self, line: str) -> str:
        if self._other is not None:
            return OF_NO_LOG
        self._end_batch()
        self._is_in_log = False
        if self._is_last_and_open() and line.rpartition(": ")[2] not in dump_lines.BOOLEANS:
            raise Undecodable("the last line is cut")
        batch = dump_lines.batch_of(line, self._out.file)
        segment = self._open(batch)
        if segment.next_position not in (NONE, batch.position):
            self._cut(f"the batch at position {batch.position} follows byte {segment.next_position}: lines are missing")
            self._out.has_jumps = True
            self._out.goes_on(batch, self._lines.number)
        elif segment.content.batches and batch.base_offset > segment.content.batches[-1].last_offset + 1:
            self._out.goes_on(batch, self._lines.number)
        segment.next_position = batch.position + batch.size
        self._accept(segment, batch)
        return USED

    def _accept(self, segment: DumpedSegment, batch: LoggedBatch) -> None:
        segment.batch, segment.batch_line, segment.shown, segment.is_short = batch, self._lines.number, 0, False
        segment.last_offset = NONE
        if batch.is_valid:
            segment.content.take(batch, self._lines.number)
            return
        segment.content.unsound.append(batch)
        message = f"the batch at offset {batch.base_offset}, byte {batch.position} of the segment, has a bad CRC"
        segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))

    def _record(self, line: str) -> str:
        if self._other is not None:
            return OF_NO_LOG
        segment = self._open()
        record = dump_lines.record_of(line)
        if segment.batch is None and segment.next_position == NONE and self._out.damage:
            dump_body.whole_body(record, self._lines, self._count_uncertain)
            return BATCH_CUT
        if segment.batch is None or not segment.batch.base_offset <= record.offset <= segment.batch.last_offset:
            segment.shows_records = True
            if segment.batch is not None and record.offset < segment.batch.base_offset:
                self._out.earlier_at = self._out.earlier_at or self._lines.number
            elif record.offset in self._out.short:
                self._out.goes_back(self._lines.number, is_part=True)
            self._end_batch()
            raise Undecodable(f"the record at offset {record.offset} is in no batch: the line of its batch is missing")
        if record.offset == segment.last_offset:
            raise Undecodable(f"the record at offset {record.offset} is there twice")
        return self._show(segment, segment.batch, record)

    def _old_record(self, line: str) -> str:
        if self._other is not None:
            return OF_INDEX
        if dump_lines.OLD_FORMAT.match(line):
            segment = self._open()
            segment.content.old_format += 1
            segment.content.skipped = True
            segment.next_position = NONE
            return OLD_FORMAT
        if self._segment is None and dump_lines.INDEX_ENTRY.fullmatch(line):
            return OF_INDEX
        self._open().is_old = True
        record, single = dump_lines.old_record_of(line, self._out.file)
        segment = self._open(single, repeats=True)
        segment.is_old = True
        batch = segment.batch
        if batch is None or batch.position != single.position or batch.last_offset >= record.offset:
            self._end_batch()
            self._accept(segment, single)
            batch = single
        else:
            batch.last_offset, batch.last_sequence = single.last_offset, single.last_sequence
            batch.max_timestamp_ms = max(batch.max_timestamp_ms, single.max_timestamp_ms)
            batch.count += 1
        return self._show(segment, batch, record)

    def _show(self, segment: DumpedSegment, batch: LoggedBatch, record: RecordLine) -> str:
        """Put a record into the batch that is being shown."""
        if segment.unshown is not None:
            self._out.goes_on(batch, self._lines.number)
        segment.shows_records, segment.last_offset = True, record.offset
        segment.shown += 1
        if batch.is_control:
            return self._control(segment, batch, record)
        if self._topic_of(segment, record) in dump_body.DECODERS:
            return self._internal(segment, batch, record)
        return self._payload(segment, batch, record)

    def _control(self, segment: DumpedSegment, batch: LoggedBatch, record: RecordLine) -> str:
        marker = dump_lines.marker_of(record.rest)
        if marker is None:
            # It is shown, and it is not a marker.
            batch.records = []
            return USED
        before = segment.epochs.get(batch.producer_id, NONE)
        is_prefix = before > marker.coordinator_epoch and str(before).startswith(str(marker.coordinator_epoch))
        if is_prefix or self._is_last_and_open():
            raise Undecodable("the line of a marker is cut")
        segment.epochs[batch.producer_id] = marker.coordinator_epoch
        batch.marker = marker
        return USED

    def _topic_of(self, segment: DumpedSegment, record: RecordLine) -> str:
        place = segment.content.place
        if place.topic and not segment.content.is_guessed:
            return place.topic
        topic = dump_body.topic_of_key(record.rest.removeprefix("key: "))
        if topic and topic != place.topic:
            segment.content.place = Place(topic, UNKNOWN_PARTITION, place.replica)
        return topic or place.topic

    def _internal(self, segment: DumpedSegment, batch: LoggedBatch, record: RecordLine) -> str:
        place = segment.content.place
        body = record.rest.removeprefix("key: ")
        if body == record.rest or not batch.is_valid:
            return USED
        why = dump_body.why_not_decoded(body, place.topic)
        if why:
            dump_body.whole_body(record, self._lines, self._count_uncertain)
            segment.note = segment.note or why
            return f"a record of {place.topic}, which {why} ({dump_body.DECODERS[place.topic]})"
        if self._is_last_and_open() and not body.endswith(("}", "<DELETE>")):
            raise Undecodable("the line of a record is cut")
        if body.startswith("Error at offset"):
            message = f"the tool could not decode a record with {dump_body.DECODERS[place.topic]}: {body}"
            segment.content.damage.append(Damage(self._out.file, self._lines.number, message, Unit.LINE))
            return USED
        if body.startswith(dump_body.UNKNOWN_TYPES):
            return UNKNOWN_TYPE
        self._out.damage += segment.take_decoded(batch, record, body, self._lines.number)
        return USED

    def _payload(self, segment: DumpedSegment, batch: LoggedBatch, record: RecordLine) -> str:
        body = dump_body.whole_body(record, self._lines, self._count_uncertain)
        segment.shows_payloads |= bool(body)
        if record.value_size >= 0 and segment.shows_payloads and "payload: " not in body:
            raise Undecodable("the payload is missing: the line is cut")
        if self._keep is Keep.NEEDED and batch.is_dense and not segment.is_old:
            return USED
        if batch.records is None:
            batch.records = []
        key, value, shown = dump_body.split(body, record)
        batch.records.append(LoggedRecord(record.offset, record.timestamp_ms, record.sequence, key, value, shown))
        return USED

    # ---------------------------------------------------------------- ends

    def _end_batch(self) -> None:
        if self._segment is not None:
            self._out.damage += self._segment.end_batch(self._keep)

    def _end_segment(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None:
            return
        if (last := segment.batch) is not None and segment.shown < last.count:
            self._out.short.update(range(last.base_offset, last.last_offset + 1))
        self._out.damage += segment.end_batch(self._keep)
        content = segment.content
        content.shows_records = segment.shows_records
        if content.batches:
            self._out.ends.add((segment.next_position, content.batches[-1].last_offset + 1))
        is_shown = segment.is_begun or content.batches or segment.is_old
        if not content.segment:
            segment.name_after_first_batch()
            if not is_shown:
                self._out.segments.remove(content)
        elif not (is_shown or segment.is_short):
            message = f"nothing of {content.segment} is shown, not even its log start: lines are missing"
            content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))
            self._out.has_jumps = True
        if content.place.topic in dump_body.DECODERS and content.batches and not segment.shows_records:
            segment.note = segment.note or WITHOUT_RECORDS
        self._out.end(segment)
        if segment.note:
            self._out.notes.append(f"{content.segment} {segment.note}")

    # ---------------------------------------------------------------- other lines

    def _trailing(self, line: str) -> str | None:
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        found = dump_lines.INVALID_BYTES.match(line)
        if found is None:
            if line == "Found " or line[6:7].isdecimal():
                raise Undecodable("the line is cut")
            return None
        if self._segment:
            name = self._segment.content.segment
            message = f"the tool found {found[1]} bytes at the end of {name} that are not a whole batch"
            self._segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))
        return USED

    def _snapshot(self, line: str) -> str:
        if not (self._other and self._other.endswith(".snapshot")):
            return NO_FILE
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        self._out.snapshots[-1][1].append(dump_lines.snapshot_entry_of(line))
        return USED

    def _index(self, line: str) -> str:
        if not (self._other and self._other.endswith(".txnindex")):
            return NO_FILE
        if self._is_last_and_open():
            raise Undecodable("the last line is cut")
        self._out.indexes[-1][1].append(dump_lines.index_entry_of(line))
        return USED

    def _is_of_the_tool(self, line: str) -> bool:
        """Whether an exception is the tool's: below a line of a log it is that program's, unless its frames tell."""
        if not self._is_in_log:
            return True
        frames = (self._lines.peek(index) or "" for index in range(FRAMES))
        return line.startswith("Exception in thread") and any("DumpLogSegments" in frame for frame in frames)

    def _noise(self, line: str) -> str | None:
        if self._segment and line.startswith(dump_lines.FAILURES) and self._is_of_the_tool(line):
            message = f"the tool gave up in {self._segment.content.segment}: {line}"
            self._segment.content.breaks(Damage(self._out.file, self._lines.number, message, Unit.LINE))
            return USED
        if (barred := with_bar(line)) is not None and not line.startswith("offset: "):
            self._out.forms.add(OTHER_BARS)
            return self._record(barred)
        if line and _is_cut(line):
            raise Undecodable("the last line is cut" if self._is_last_and_open() else "the line is cut")
        if self._segment and line.startswith("| ") and not is_row_of_markdown(line):
            self._segment.note = self._segment.note or WITHOUT_METADATA
            return NO_OFFSET
        return None


def is_row_of_markdown(line: str) -> bool:
    """Whether a line is a row of a table between bars, and no record that was dumped without its offset."""
    return line.rstrip().endswith("|") and not line.startswith(("| key: ", "| payload: "))


def _is_cut(line: str) -> bool:
    """Whether a line can be the beginning of one of the tool's own lines."""
    return any(prefix.startswith(line) for prefix in (*STRUCTURE, "producerId: ", "version: "))

"""What a text dump shows: its segments, snapshots and indexes, how much of it was understood, and what is not shown."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.formats.transaction_index import IndexEntry
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import (
    Damage,
    LinesRead,
    LoggedBatch,
    ProducerSnapshotEntry,
    TransactionStateRecord,
    Unit,
    UnusedLines,
)
from zombieproof.traces.readers import internal_text
from zombieproof.traces.readers.dump_body import NOT_DECODED, OTHER_DECODER
from zombieproof.traces.readers.dump_lines import RecordLine
from zombieproof.traces.readers.dump_name import NamedPlace
from zombieproof.traces.readers.files import Place
from zombieproof.traces.readers.offsets_log import commit_record
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep

WITHOUT_RECORDS = "was dumped without its records"
"""A note about the dump of an internal topic, which tells nothing then."""
WITHOUT_METADATA = "was dumped with --skip-record-metadata"
UNSHOWN = (WITHOUT_RECORDS, WITHOUT_METADATA, NOT_DECODED, OTHER_DECODER)
"""All notes about dumps that do not show their records."""

USED = ""
"""A line was used: else there is a reason why it was not."""
CUT = "cut or garbled; see the damaged places"
BATCH_CUT = "a record whose batch is cut"
NO_OFFSET = "a record without its offset (it was dumped with --skip-record-metadata)"
OLD_FORMAT = "of message format 0 or 1, which has no transactions"
NO_FILE = "after no line 'Dumping …' of a snapshot or index"
OF_NO_LOG = "of a file that is no log of a partition"
OF_INDEX = "an entry of an index, which repeats the log"
UNKNOWN_TYPE = "a record of a type that the tool did not know"
OF_MIXED = "of dumps whose lines are mixed"
MIXED = "the lines of several dumps are mixed, so that none tells its partition; dump each into a file of its own"


@dataclass(slots=True)
class DumpContent:
    """What one dump file shows: parts in the order of its ``Dumping`` lines.

    `damage` is of the dump itself (cut or lost lines); damage of a segment that the tool reports is in its content.
    `read` counts lines of the tool; lines that a payload runs over are part of the first. `named` are partitions that
    were taken from the name of the file, or of a part of it. `others` are lines that are not the tool's, by number.
    `forms` are what was taken off single lines.

    `went_back_at` is the line where another log began without a line ``Dumping``, `times_back` counts such lines;
    `has_jumps` tells that a log lacks lines, or goes on elsewhere. `ends` are the position and the offset behind each
    segment that is over, `short` the offsets of its last batch if records of that are not shown. `earlier_at` is the
    line of a record from before its batch, which is of another log unless some lines are there twice (`has_repeats`).
    `without_records` are segments that show no record, unless they are empty.
    """

    read: LinesRead
    segments: list[SegmentContent] = field(default_factory=list)
    snapshots: list[tuple[str, list[ProducerSnapshotEntry]]] = field(default_factory=list)
    indexes: list[tuple[str, list[IndexEntry]]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    named: list[NamedPlace] = field(default_factory=list)
    others: dict[int, str] = field(default_factory=dict)
    forms: set[str] = field(default_factory=set)
    last_line: int = 0
    went_back_at: int = 0
    times_back: int = 0
    has_jumps: bool = False
    ends: set[tuple[int, int]] = field(default_factory=set)
    short: set[int] = field(default_factory=set)
    earlier_at: int = 0
    has_repeats: bool = False
    showing: dict[Place, set[object]] = field(default_factory=dict)
    """By partition of segments that show their records, the identity of each batch in them."""
    without_records: list["DumpedSegment"] = field(default_factory=list)

    def end(self, segment: "DumpedSegment") -> None:
        """Take in whether a segment shows its records."""
        if segment.shows_records:
            self.showing.setdefault(segment.content.place, set()).update(map(_identity, segment.content.batches))
        elif segment.unshown is not None:
            self.without_records.append(segment)

    def name_unshown(self) -> None:
        """Name segments without records of a partition of which other segments show them.

        A segment may be dumped in both ways: then nothing is missing.
        """
        for segment in self.without_records:
            content = segment.content
            shown = self.showing.get(content.place) if content.place.is_known else None
            if shown is not None and not shown.issuperset(map(_identity, content.batches)):
                self.damage += segment.take_unshown()
                content.torn_tail = True

    def goes_back(self, line: int, *, is_part: bool = False) -> None:
        """Another log begins without its line ``Dumping``, or a part of one."""
        self.went_back_at = self.went_back_at or line
        self.times_back += 1
        self.has_jumps |= is_part

    def goes_on(self, batch: LoggedBatch, line: int) -> None:
        """A batch is amiss where it is: if it is the next of a segment that is over, lines are mixed."""
        if (batch.position, batch.base_offset) in self.ends:
            self.goes_back(line, is_part=True)

    def leave_out_mixed(self) -> None:
        """Leave out all logs if the lines of several dumps are mixed.

        One dump after the other goes back as well, but then each is whole: no line is amiss but those that begin
        another log, and none that has its line ``Dumping`` is without lines of its own.
        """
        is_amiss = len(self.damage) > self.times_back or any(_is_bare(each) for each in self.segments)
        mixed_at = self.went_back_at if self.has_jumps or is_amiss else 0 if self.has_repeats else self.earlier_at
        if mixed_at:
            self.damage.append(Damage(self.file, mixed_at, MIXED, Unit.LINE))
            self.read.unused[OF_MIXED] = UnusedLines(OF_MIXED, self.read.used, mixed_at)
            self.read.used = 0
            self.segments.clear()
            self.notes.clear()

    @property
    def file(self) -> str:
        """How it is named in batches and damage."""
        return self.read.file


def _is_bare(segment: SegmentContent) -> bool:
    """Whether nothing of a segment is shown but its name and its log start."""
    return not (segment.batches or segment.unsound or segment.old_format)


def _identity(batch: LoggedBatch) -> object:
    return batch.position, batch.base_offset, batch.crc, batch.producer_id, batch.base_sequence


@dataclass(slots=True)
class DumpedSegment:
    """The segment that is being read. `batch` is the one whose records come next, at line `batch_line`.

    `is_short`: a line of its records was cut, and that is said already. `is_begun`: its log start was printed.
    `last_position` is that of its newest batch, `last_offset` that of the record shown last. A number at the end of a
    line may be cut, so the newest ones are kept: `epochs` of coordinators by producer id, `last_records` of
    transactional ids. `unshown` are the first and the last batch without records, and the line of the first, while no
    record was shown.
    """

    content: SegmentContent
    next_position: int = 0
    last_position: int = NONE
    batch: LoggedBatch | None = None
    batch_line: int = 0
    shown: int = 0
    last_offset: int = NONE
    is_short: bool = False
    is_begun: bool = False
    shows_records: bool = False
    shows_payloads: bool = False
    is_old: bool = False
    note: str = ""
    unshown: tuple[LoggedBatch, LoggedBatch, int] | None = None
    epochs: dict[int, int] = field(default_factory=dict)
    last_records: dict[str, tuple[TransactionStateRecord, int]] = field(default_factory=dict)

    def end_batch(self, keep: Keep) -> list[Damage]:
        """End the batch whose records were read: a dump that shows records shows all of a batch.

        Whether it shows records, only the first of them tells, which may not be that of the first batch.
        """
        if self.batch is None:
            return []
        batch, self.batch = self.batch, None
        found = []
        if self.is_old and batch.is_dense and not batch.is_control and keep is Keep.NEEDED:
            batch.records = None
        if self.shows_records and self.unshown is not None:
            found += self.take_unshown()
            self.content.broken_at.add(batch.base_offset)
        if batch.is_valid and self.shown < batch.count and not self.is_short:
            if self.shows_records:
                self.content.torn_tail = True
                found.append(self._unshown(batch, self.batch_line, self.shown))
            else:
                first, _, line = self.unshown or (batch, batch, self.batch_line)
                self.unshown = first, batch, line
        return found

    def take_unshown(self) -> list[Damage]:
        """The damage that the batches at the beginning are which show no records, when others do."""
        if self.unshown is None:
            return []
        (first, last, line), self.unshown = self.unshown, None
        if first is last:
            return [self._unshown(first, line, 0)]
        message = f"no records at offsets {first.base_offset} to {last.last_offset} are shown"
        return [Damage(self.content.file, line, message, Unit.LINE)]

    def _unshown(self, batch: LoggedBatch, line: int, shown: int) -> Damage:
        message = f"{shown} of the {batch.count} records at offset {batch.base_offset} are shown"
        return Damage(self.content.file, line, message, Unit.LINE)

    def take_decoded(self, batch: LoggedBatch, record: RecordLine, body: str, line: int) -> list[Damage]:
        """Take a record of an internal topic that the tool has decoded; of groups only what they commit is kept.

        Return the damage of an earlier line if this one shows that it is cut.

        Raises:
            Undecodable: the line is cut or garbled.
        """
        content, place = self.content, self.content.place
        if place.topic == TRANSACTION_STATE and (found := internal_text.transaction_record(body)):
            name, value = found
            offset = record.offset
            state = TransactionStateRecord(
                name, place.partition, offset, record.timestamp_ms, value, content.file, order=offset
            )
            damage = self._check_timeout(state)
            content.transaction_states.append(state)
            self.last_records[name] = state, line
            return damage
        if place.topic == CONSUMER_OFFSETS and (commit := internal_text.offset_record(body)):
            key, committed = commit
            content.offset_commits.append(commit_record(batch, place.partition, record.offset, key, committed))
        return []

    def _check_timeout(self, state: TransactionStateRecord) -> list[Damage]:
        """The old text ends with the timeout, which only an initialised id changes: a shorter number is a cut one."""
        before, line = self.last_records.get(state.transactional_id, (None, 0))
        if before is None or before.value is None or state.value is None or state.value.state is TransactionState.EMPTY:
            return []
        earlier, later = str(before.value.timeout_ms), str(state.value.timeout_ms)
        if earlier == later or not (earlier.startswith(later) or later.startswith(earlier)):
            return []
        fault = f"the line of a record is cut: its timeout is {min(earlier, later)} ms beside {max(earlier, later)} ms"
        if later in earlier:
            raise Undecodable(fault)
        self.content.transaction_states.remove(before)
        return [Damage(self.content.file, line, fault, Unit.LINE)]

    def has_shown(self, batch: LoggedBatch) -> bool:
        """Whether a batch was shown before. Positions rise with the offsets of sound batches."""
        what = _identity(batch)
        sound = self.content.batches
        first = bisect_left(sound, batch.position, key=lambda each: each.position)
        behind = bisect_right(sound, batch.position, lo=first, key=lambda each: each.position)
        shown = (*sound[first:behind], *self.content.unsound)
        return any(what == _identity(other) for other in shown)

    def name_after_first_batch(self) -> None:
        """Name a segment without its line ``Dumping`` as Kafka does, so that two dumps of it are taken for one."""
        first = self.content.batches[0] if self.content.batches else None
        is_beginning = first is not None and first.position == 0
        self.content.segment = f"{first.base_offset:020}.log" if first and is_beginning else self.content.file

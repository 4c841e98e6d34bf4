"""The records that a finding is about, with keys and, on request, values.

Evidence of data partitions keeps no payloads: the batches that are needed are read again, from where they stood.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.traces.evidence import LoggedBatch, LoggedRecord, Source
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.explaining.scene.surroundings import LastFile, Log
from zombieproof.traces.readers.dump_text import read_dump
from zombieproof.traces.readers.files import is_table
from zombieproof.traces.readers.segments import Keep, read_header, read_payload
from zombieproof.traces.verdict.explanation import RECORDS_MAX, Encoding, Records, RecordShown, Values

NO_PAYLOAD = "the dump was made without --print-data-log"
CHANGED = "it has changed since"
TOO_MANY_FINDINGS = "keys are not shown: there are so many findings that records are read for the first of them only"


def records_of(scene: Scene, values: Values, *, reads: bool = True) -> Records | None:
    """The records of a finding; None when it is about none. Without `reads` they are only counted."""
    offsets = scene.offsets
    if scene.log is None or not offsets:
        return None
    if scene.finding.topic == CONSUMER_OFFSETS:
        return _offset_commits(scene)
    if not reads:
        return Records(count=len(offsets), offsets=list(ranges(offsets)), shown=[], unread=TOO_MANY_FINDINGS)
    wanted = set(offsets[:RECORDS_MAX])
    batches = [b for b in scene.data if not wanted.isdisjoint(range(b.base_offset, b.last_offset + 1))]
    reader = _Reader(scene.log, scene.around.files)
    shown = [_shown(record, values) for record in reader.read(batches) if record.offset in wanted]
    more = len(wanted) - len(shown)
    unread = f"keys of {more:,} of them are not shown: {reader.fault or NO_PAYLOAD}" if more else ""
    return Records(count=len(offsets), offsets=list(ranges(offsets)), shown=shown, unread=unread)


def _offset_commits(scene: Scene) -> Records:
    """In the offsets topic a record is the position of a group: said in words, not in bytes."""
    partition, offsets = scene.finding.partition, set(scene.offsets)
    shown = [
        RecordShown(
            offset=commit.log_offset,
            timestamp_ms=commit.timestamp_ms,
            key=f"group {commit.group}, {commit.topic}-{commit.partition}",
            key_encoding=Encoding.UTF8,
            value=None if commit.offset is None else f"offset {commit.offset}",
            value_encoding=None if commit.offset is None else Encoding.UTF8,
        )
        for commit in scene.evidence.offset_commits
        if commit.log_partition == partition and commit.log_offset in offsets
    ][:RECORDS_MAX]
    return Records(count=len(offsets), offsets=list(ranges(sorted(offsets))), shown=shown)


def ranges(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ascending offsets as ranges, first and last included."""
    first = last = None
    for offset in offsets:
        if last is not None and first is not None and offset > last + 1:
            yield first, last
            first = offset
        first = offset if first is None else first
        last = offset
    if first is not None and last is not None:
        yield first, last


class _Reader:
    """Reads records of batches again, each file once. `fault` says what could not be read, and why."""

    def __init__(self, log: Log, files: LastFile) -> None:
        self.log, self.files = log, files
        self.fault = ""

    def read(self, batches: Iterable[LoggedBatch]) -> Iterator[LoggedRecord]:
        """The records of batches whose payload the evidence shows."""
        for file, group in groupby(batches, key=lambda batch: batch.file):
            kept = list(group)
            try:
                records = list(self._of_file(file, kept))
            except OSError as fault:
                self._cannot(file, fault.strerror or str(fault))
                continue
            yield from (record for record in records if record.has_payload)

    def _cannot(self, file: str, why: str) -> None:
        self.fault = self.fault or f"{file} cannot be read again: {why}"

    def _of_file(self, file: str, batches: Sequence[LoggedBatch]) -> Iterator[LoggedRecord]:
        if all(batch.records is not None for batch in batches):
            yield from (record for batch in batches for record in batch.records or ())
            return
        if is_table(file):
            self._cannot(file, "it is packed; give the segments themselves to see records")
            return
        data = self.files.data(file)
        for batch in batches:
            try:
                yield from self._again(data, batch)
            except Undecodable as fault:
                self._cannot(file, str(fault))

    def _again(self, data: memoryview, batch: LoggedBatch) -> list[LoggedRecord]:
        if batch.records is not None:
            return batch.records
        if self.log.log.source is not Source.SEGMENT:
            return self._of_dump(data, batch)
        if batch.position + batch.size > len(data) or read_header(data, batch.position, batch.file) != batch:
            raise Undecodable(CHANGED)
        return read_payload(data, batch)

    def _of_dump(self, data: memoryview, batch: LoggedBatch) -> list[LoggedRecord]:
        """The records that a dump prints of a batch: the reader gets the lines of this batch alone."""
        begin = _line_of(batch).search(data)
        if begin is None:
            raise Undecodable(CHANGED)
        following = self.log.behind(batch.base_offset)
        end = None if following is None else _line_of(following).search(data, begin.end())
        lines = bytes(data[begin.start() : end.start() if end else len(data)])
        head = f"Dumping again-0/{batch.base_offset:020d}.log\n".encode()
        for segment in read_dump(memoryview(head + lines), batch.file, Keep.ALL).segments:
            for found in segment.batches:
                if found.base_offset == batch.base_offset:
                    return found.records or []
        return []


def _line_of(batch: LoggedBatch) -> re.Pattern[bytes]:
    """The line of a batch in a dump, in the dialects with and without lines of their own for batches."""
    if batch.crc is None:
        whose = (
            f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} sequence: {batch.base_sequence} "
        )
        line = f"^offset: {batch.base_offset} position: {batch.position} [^\n]* {whose}"
    else:
        line = f"^baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} [^\n]* crc: {batch.crc} "
    return re.compile(line.encode(), re.MULTILINE)


def _shown(record: LoggedRecord, values: Values) -> RecordShown:
    key, key_encoding = as_text(record.key)
    value: str | None = None
    value_encoding: Encoding | None = None
    if values is Values.UTF8:
        value, value_encoding = as_text(record.value)
    elif values is Values.HEX and record.value is not None:
        value, value_encoding = record.value.hex(), Encoding.HEX
    return RecordShown(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=key,
        key_encoding=key_encoding,
        value=value,
        value_encoding=value_encoding,
    )


def as_text(data: bytes | None) -> tuple[str | None, Encoding | None]:
    """Bytes as text where they are UTF-8, else in hex; None stays None."""
    if data is None:
        return None, None
    try:
        return data.decode(), Encoding.UTF8
    except UnicodeDecodeError:
        return data.hex(), Encoding.HEX

"""One body of evidence from any mixture of files and folders.

Each file is recognised by Kafka's standard names or by its content, read by its reader, and then everything is put
together: each log once, each snapshot entry once, and what could not be read, with file and place.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from zombieproof.formats import identity
from zombieproof.formats.checkpoints import read_leader_epochs, read_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.producer_snapshot import SnapshotEntry, read_snapshot
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.formats.transaction_index import ENTRY, IndexEntry, read_index
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import (
    AbortedTransaction,
    Damage,
    DiskIdentity,
    EpochStart,
    Evidence,
    EvidenceError,
    Ignored,
    LinesRead,
    Lost,
    PartitionLog,
    ProducerSnapshot,
    ProducerSnapshotEntry,
    Source,
    SyncedUpTo,
    TopicIdentity,
    TransactionStateRecord,
    UnusedLines,
)
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.readers import merge
from zombieproof.traces.readers.archives import STANDARD_INPUT, is_held, spool_standard_input
from zombieproof.traces.readers.beginnings import CHECKPOINT, look_for_beginnings
from zombieproof.traces.readers.beside import Share, shared_out
from zombieproof.traces.readers.broker_log import read_broker_log
from zombieproof.traces.readers.cleaning import explain_holes
from zombieproof.traces.readers.client_calls import read_calls
from zombieproof.traces.readers.client_log import read_client_log
from zombieproof.traces.readers.console_order import SORTED, in_order
from zombieproof.traces.readers.console_text import read_console
from zombieproof.traces.readers.coordinator_log import read_coordinator_log
from zombieproof.traces.readers.copies import compare_copies
from zombieproof.traces.readers.dialects import dialects_of_console, dialects_of_dump
from zombieproof.traces.readers.dump_text import read_dump
from zombieproof.traces.readers.ends import look_for_ends
from zombieproof.traces.readers.files import (
    BROKER_NAME,
    base_offset_of,
    is_table,
    of_source,
    opened,
    place_of,
    plain_name,
)
from zombieproof.traces.readers.folders import files_in, members_in
from zombieproof.traces.readers.forms import Plain, plain_parts
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.newest_first import TURNED_ROUND
from zombieproof.traces.readers.producer_states import compare_snapshots
from zombieproof.traces.readers.recognise import (
    METADATA_TOPIC,
    NO_EVIDENCE_IN_IT,
    UNKNOWN_FORM,
    Kind,
    begins_with_text,
    by_content,
    by_name,
)
from zombieproof.traces.readers.regions import (
    OF_UNKNOWN_FORM,
    batches_in_a_form,
    cut_at_dump,
    may_show_batches,
    parts_of_others,
)
from zombieproof.traces.readers.screen import Screening
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep, read_segment
from zombieproof.traces.readers.tool_tables import holds_tool_output, read_tool_output
from zombieproof.traces.readers.topic_lives import (
    add_calls,
    earlier_topics,
    read_cleanup_policies,
    read_present_topics,
    read_topic_lives,
    read_unreplicated,
)
from zombieproof.traces.watching import Meter, Stage, Watch

Item = TypeVar("Item")

INDEX = re.compile(r"(?P<offset>\d{20})\.(?:index|timeindex|txnindex)")


Tables = Callable[[Path, Keep, Reached], SegmentContent]
"""Reads a segment that `zombieproof pack` has made a table of, and raises `Undecodable` where it cannot.

It hears how many bytes of the file are done.
"""

OF_LINES = frozenset({Kind.CONSOLE, Kind.CALLS, Kind.TOOL_OUTPUT, Kind.TEXT_LOG})
"""Kinds that one text may hold together, line by line."""

OF_ONE_PARTITION = frozenset({Kind.SEGMENT, Kind.SNAPSHOT, Kind.TRANSACTION_INDEX})


def collect(
    paths: Iterable[str | os.PathLike[str]],
    keep: Keep = Keep.NEEDED,
    narrowing: Narrowing = EVERYTHING,
    watch: Watch | None = None,
    screen: Screening | None = None,
    tables: Tables | None = None,
) -> Evidence:
    """Read all files named, and all files in the folders and archives named; `-` is standard input.

    Files that cannot be read in full are in `Evidence.damage`, files that are no evidence in `Evidence.ignored`; a path
    under which nothing is evidence is damage too. `keep` says whether records of data partitions are kept, `narrowing`
    which topics are read at all; `watch` hears how far it is. Logs that `screen` clears are read by nobody else.
    `tables` reads packed segments, which are damage without it.

    Raises:
        EvidenceError: a path does not exist, none is given, or standard input is empty.
    """
    given = list(dict.fromkeys(map(Path, paths)))
    if not given:
        raise EvidenceError("no evidence is named: give segments, dumps, logs, or folders of them")
    missing = [str(path) for path in given if str(path) != DASH and not path.exists()]
    if missing:
        raise EvidenceError(f"{', '.join(missing)}: no such file or folder; name files or folders that exist")
    given = [_spooled() if str(path) == DASH else path for path in given]
    collector = _Collector(keep, narrowing, watch or Watch(), screen, tables)
    damage, ignored = collector.evidence.damage, collector.evidence.ignored
    found = [file for path in given for file in files_in(path, damage, narrowing)]
    files = [member for file in found for member in members_in(file, damage, ignored, narrowing)]
    # Brokers that run raise recovery points: the logs that are read after them reach as far.
    files.sort(key=lambda file: by_name(str(file)) is not Kind.RECOVERY_CHECKPOINT)
    if screen is not None:
        screen.looks_at([file for file in files if file.exists()])
    collector.add_all(files)
    for path in given:
        hopeless = path.is_dir() or path not in files or not collector.read_from
        if hopeless and not collector.has_met(path) and not any(place.file == str(path) for place in damage):
            unknown = (each for each in ignored if Path(each.file).is_relative_to(path))
            reasons = (each.reason for each in unknown if each.reason.startswith(UNKNOWN_FORM))
            damage.append(Damage(str(path), 0, next(reasons, NO_EVIDENCE_IN_IT)))
    return collector.finish()


DASH = "-"


def _spooled() -> Path:
    if not spool_standard_input():
        raise EvidenceError("standard input is empty: pipe evidence into the command, or name files and folders")
    return STANDARD_INPUT


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def snapshot_entry(stored: SnapshotEntry) -> ProducerSnapshotEntry:
    """What a snapshot says of a producer; of a batch that is not there it may say anything."""
    has_batch = stored.last_offset != NONE
    first = stored.current_txn_first_offset
    return ProducerSnapshotEntry(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        coordinator_epoch=stored.coordinator_epoch,
        current_txn_first_offset=None if first == NONE else first,
        last_timestamp_ms=stored.last_timestamp_ms,
        last_sequence=stored.last_sequence if has_batch else NONE,
        last_offset=stored.last_offset,
        offset_delta=stored.offset_delta if has_batch else 0,
    )


class _Collector:
    def __init__(
        self, keep: Keep, narrowing: Narrowing, watch: Watch, screen: Screening | None, tables: Tables | None
    ) -> None:
        self._keep, self._narrowing, self._watch = keep, narrowing, watch
        self._screen, self._tables = screen, tables
        self._reached: Reached = Meter(watch, 0).reached
        self.evidence = Evidence()
        self.read_from: set[Path] = set()
        self._left_out: set[Path] = set()
        self._source = ""
        self._is_alone = True
        self._not_understood: list[LinesRead] = []
        self._seen: set[Path] = set()
        self._order: dict[str, int] = {}
        self._contents: list[tuple[Source, str, SegmentContent]] = []
        self._snapshots: dict[Source, list[ProducerSnapshot]] = {source: [] for source in Source}
        self._aborted: dict[Source, list[AbortedTransaction]] = {source: [] for source in Source}
        self._console: list[TransactionStateRecord] = []
        self._indexes: dict[str, set[int]] = {}
        self._earlier: frozenset[str] = frozenset()
        self._checkpoints: list[tuple[Kind, Path, dict[TopicPartition, int]]] = []
        self._readers: dict[Kind, Callable[[memoryview, str], None]] = {
            Kind.SEGMENT: self._segment,
            Kind.SNAPSHOT: self._snapshot,
            Kind.TRANSACTION_INDEX: self._index,
            Kind.CLEANER_CHECKPOINT: lambda data, file: self._checkpoint(Kind.CLEANER_CHECKPOINT, data, file),
            Kind.LOG_START_CHECKPOINT: lambda data, file: self._checkpoint(Kind.LOG_START_CHECKPOINT, data, file),
            Kind.RECOVERY_CHECKPOINT: self._recovery_points,
            Kind.DUMP: self._dump,
            Kind.CONSOLE: self._console_text,
            Kind.CALLS: self._calls,
            Kind.TOOL_OUTPUT: self._tool_output,
            Kind.TEXT_LOG: self._text_log,
            Kind.DISK_IDENTITY: self._disk,
            Kind.TOPIC_IDENTITY: self._topic,
            Kind.LEADER_EPOCHS: self._leader_epochs,
            Kind.CLUSTER_METADATA: self._cluster_metadata,
            Kind.CLUSTER_FILE: self._cluster_file,
        }

    def has_met(self, path: Path) -> bool:
        """Whether something at or below the path was read, or left out on request."""
        real = path.resolve()
        return any(file.is_relative_to(real) for file in (*self.read_from, *self._left_out))

    def add_all(self, files: Sequence[Path]) -> None:
        """Read the files one after the other."""
        sizes = [_size(file) for file in files]
        self._watch.begins(Stage.READING, sum(sizes), [str(file) for file in files])
        for file, size in zip(files, sizes, strict=True):
            self._order.setdefault(str(file), len(self._order))
            self._watch.works_on(str(file))
            meter = Meter(self._watch, size)
            self._reached = meter.reached
            self.add(file, meter)
            meter.reached(meter.length)
            self._watch.has_read(str(file))

    def add(self, path: Path, meter: Meter) -> None:
        """Read one file, once."""
        file, real = str(path), path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        kind = by_name(file)
        self._note_name(file)
        if isinstance(kind, str):
            self.evidence.ignored.append(Ignored(file, kind))
        elif not path.is_file() and not is_held(path):
            self.evidence.ignored.append(Ignored(file, "it is no regular file"))
        elif not self._leaves_out(path, kind):
            if self._screen is not None and kind is Kind.SEGMENT and self._screen.takes(path, meter.reached):
                self.evidence.files.append(file)
                self.read_from.add(real)
                return
            for each in self._screen.gives_back(path) if self._screen is not None else ():
                self._read_again(each)
            try:
                self._read(path, kind, meter)
            except OSError as error:
                self.evidence.damage.append(Damage(file, 0, f"it cannot be read: {error.strerror or error}"))

    def _read_again(self, path: Path) -> None:
        """Read a segment that a screen had taken, and of which it knows nothing wrong."""
        reached, self._reached = self._reached, Meter(Watch(), 0).reached
        try:
            if is_table(str(path)):
                self._table(path)
            else:
                with opened(path) as content:
                    self._segment(content.data, str(path))
        except OSError as error:
            self.evidence.damage.append(Damage(str(path), 0, f"it cannot be read: {error.strerror or error}"))
        self._reached = reached

    def _leaves_out(self, path: Path, kind: Kind | str | None) -> bool:
        """Whether a file holds a part of a partition of a topic that was not asked for; then that is said."""
        topic = place_of(str(path)).topic
        if kind not in OF_ONE_PARTITION or not self._narrowing.leaves_out(topic):
            return False
        self._leave_out(str(path), topic)
        self._left_out.add(path.resolve())
        return True

    def _leave_out(self, file: str, topic: str) -> None:
        self.evidence.left_out.add(topic)
        reason = "of a topic that was not asked for" if topic else "no name says of which topic it is"
        self.evidence.ignored.append(Ignored(file, reason))

    def _read(self, path: Path, kind: Kind | None, meter: Meter) -> None:
        file = str(path)
        if kind is Kind.SEGMENT and is_table(file):
            self.evidence.files.append(file)
            self.read_from.add(path.resolve())
            self._table(path)
            return
        with opened(path) as content:
            meter.length = len(content.data)
            is_text = kind in OF_ONE_PARTITION and begins_with_text(content.data)
            parts = [Plain(content.data)] if kind and not is_text else plain_parts(content.data)
            if not kind:
                parts = [each for part in parts for each in self._regions(part, file)]
            kinds = [by_content(part.data) if is_text else kind or by_content(part.data) for part in parts]
            if is_text and Kind.DUMP not in kinds:
                parts, kinds = [Plain(content.data)], [kind or ""]
            if any(self._leaves_out(path, found) for found in kinds):
                return
            if content.fault is None and not any(isinstance(found, Kind) for found in kinds):
                self.evidence.ignored.append(Ignored(file, str(kinds[0])))
                return
            self.evidence.files.append(file)
            self.read_from.add(path.resolve())
            if content.fault is not None:
                self.evidence.damage.append(Damage(file, len(content.data), content.fault))
            before = len(self._contents)
            known = [(part, found) for part, found in zip(parts, kinds, strict=True) if isinstance(found, Kind)]
            self._not_understood.clear()
            for part, found in known:
                self._note_forms(part, file)
                meter.length = len(part.data)
                self._source = part.source
                self._read_part(found, part.data, file)
            self._leave_out_not_understood(file, is_all=len(self._not_understood) == len(known))
            if content.fault is not None and len(self._contents) > before:
                self._contents[-1][2].torn_tail = True

    def _read_part(self, kind: Kind, data: memoryview, file: str, *, is_alone: bool = True) -> None:
        shares = shared_out(data, kind) if kind in OF_LINES else [Share(kind, data)]
        self._is_alone = is_alone and len(shares) == 1
        for share in shares:
            self._readers[share.kind](share.data, of_source(file, self._source) if share.kind in OF_LINES else file)

    def _regions(self, part: Plain, file: str) -> list[Plain]:
        """A part, cut where a dump begins that has forms of its own; if they are not known, its batches are counted."""
        if not may_show_batches(part.data) or by_content(part.data) not in OF_LINES:
            return [part]
        regions = cut_at_dump(part)
        if len(regions) == 1 and (shown := batches_in_a_form(part.data)) != (0, 0):
            unused = {OF_UNKNOWN_FORM: UnusedLines(OF_UNKNOWN_FORM, *shown)}
            self.evidence.lines.append(LinesRead(file, 0, unused))
        return regions

    def _read_others(self, others: Mapping[int, str], file: str, *, ends_open: bool) -> bool:
        """Read the lines of a text that are not those of the dump in it; return whether they are evidence."""
        is_evidence = False
        for part in parts_of_others(others, ends_open=ends_open) if any(map(str.strip, others.values())) else ():
            kind = by_content(part.data)
            if isinstance(kind, Kind) and (kind in OF_LINES or (kind is Kind.DUMP and part.forms)):
                self._note_forms(part, file)
                self._read_part(kind, part.data, file, is_alone=False)
                is_evidence = True
        return is_evidence

    def _note_forms(self, part: Plain, file: str) -> None:
        for form in part.forms:
            files = self.evidence.dialects.setdefault(form, [])
            if file not in files:
                files.append(file)

    def _note_name(self, file: str) -> None:
        """An index is made together with its segment: its name tells that the log reached that offset."""
        found, place = INDEX.fullmatch(plain_name(file)), place_of(file)
        if found and place.is_known:
            key = (place.replica, (place.topic, place.partition))
            known = self.evidence.named_offsets.get(key, 0)
            self.evidence.named_offsets[key] = max(known, int(found["offset"]))
            self._indexes.setdefault(str(Path(file).parent), set()).add(int(found["offset"]))

    def _keep_of(self, file: str) -> Keep:
        """Which records of a segment are kept: all of coordinators' own topics."""
        return Keep.ALL if place_of(file).topic in (TRANSACTION_STATE, CONSUMER_OFFSETS) else self._keep

    def _segment(self, data: memoryview, file: str) -> None:
        self._take(read_segment(data, file, self._keep_of(file), self._reached), file)

    def _table(self, path: Path) -> None:
        file = str(path)
        try:
            if self._tables is None:
                raise Undecodable("it is a packed segment, and nothing that reads these was given")
            self._take(self._tables(path, self._keep_of(file), self._reached), file)
        except Undecodable as fault:
            self.evidence.damage.append(Damage(file, 0, str(fault)))

    def _take(self, content: SegmentContent, file: str) -> None:
        self.evidence.damage += content.damage
        if content.old_format:
            reason = f"{content.old_format} batches of message format 0 or 1, which know no transactions, are not read"
            self.evidence.ignored.append(Ignored(file, reason))
        self._contents.append((Source.SEGMENT, _above_the_broker(file), content))

    def _snapshot(self, data: memoryview, file: str) -> None:
        try:
            self._take_snapshot(Source.SEGMENT, file, file, map(snapshot_entry, read_snapshot(data)))
        except Undecodable as fault:
            self.evidence.damage.append(Damage(file, 0, str(fault)))

    def _take_snapshot(self, source: Source, segment: str, file: str, entries: Iterable[ProducerSnapshotEntry]) -> None:
        place = place_of(segment)
        snapshot = ProducerSnapshot(
            place.topic, place.partition, place.replica, base_offset_of(segment) or 0, tuple(entries), file
        )
        self._snapshots[source].append(snapshot)

    def _index(self, data: memoryview, file: str) -> None:
        entries, fault = read_index(data)
        if fault:
            self.evidence.damage.append(Damage(file, len(entries) * ENTRY.size, fault))
        self._take_index(Source.SEGMENT, file, file, entries)

    def _take_index(self, source: Source, segment: str, file: str, entries: Iterable[IndexEntry]) -> None:
        place = place_of(segment)
        self._aborted[source] += (
            AbortedTransaction(place.topic, place.partition, place.replica, *entry, file) for entry in entries
        )

    def _checkpoint(self, kind: Kind, data: memoryview, file: str) -> None:
        try:
            # Kafka makes the file when it starts, and writes to it later.
            self._checkpoints.append((kind, Path(file).parent, read_offsets(data) if data else {}))
        except Undecodable as fault:
            self.evidence.damage.append(Damage(file, 0, str(fault)))

    def _recovery_points(self, data: memoryview, file: str) -> None:
        try:
            points = read_offsets(data) if data else {}
        except Undecodable as fault:
            self.evidence.files.remove(file)
            self.evidence.ignored.append(Ignored(file, str(fault)))
            return
        self.evidence.synced += (SyncedUpTo(str(Path(file).parent), *each) for each in points.items())

    def _disk(self, data: memoryview, file: str) -> None:
        found = identity.read_properties(data)
        node = found.get("node.id", found.get("broker.id", ""))
        cluster = found.get("cluster.id") or None
        disk = DiskIdentity(str(Path(file).parent), cluster, int(node) if node.isdecimal() else None)
        self.evidence.disks.append(disk)

    def _topic(self, data: memoryview, file: str) -> None:
        place = place_of(file)
        try:
            if place.is_known:
                topic_id = identity.read_topic_id(data)
                found = TopicIdentity(str(Path(file).parent), place.topic, place.partition, topic_id)
                self.evidence.topic_identities.append(found)
        except Undecodable as fault:
            self.evidence.ignored.append(Ignored(file, str(fault)))

    def _leader_epochs(self, data: memoryview, file: str) -> None:
        try:
            epochs = read_leader_epochs(data)
        except Undecodable as fault:
            self.evidence.ignored.append(Ignored(file, str(fault)))
            return
        if epochs:
            first = min(offset for _, offset in epochs)
            self.evidence.epoch_starts.append(EpochStart(str(Path(file).parent), first))

    def _cluster_file(self, data: memoryview, file: str) -> None:
        try:
            self.evidence.present_topics = read_present_topics(data)
            self.evidence.cleanup_policies.update(read_cleanup_policies(data))
            self.evidence.unreplicated |= read_unreplicated(data)
        except Undecodable as fault:
            self.evidence.files.remove(file)
            self.evidence.ignored.append(Ignored(file, str(fault)))

    def _cluster_metadata(self, data: memoryview, file: str) -> None:
        fault = read_topic_lives(data, file, self.evidence.topic_lives, self.evidence.cleanup_policies)
        if fault:
            # No verdict rests on this log alone: what cannot be read of it is passed over, and that is reported.
            self.evidence.files.remove(file)
            self.evidence.ignored.append(Ignored(file, fault))

    def _dump(self, data: memoryview, file: str) -> None:
        dump = read_dump(data, file, self._keep, self._reached)
        evidence = self.evidence
        evidence.lines.append(dump.read)
        for named in dump.named:
            source = f"the partition of a dump from its name: {named.told}"
            evidence.dialects.setdefault(source, []).append(file)
        for dialect in (*dialects_of_dump(data), *sorted(dump.forms)):
            self.evidence.dialects.setdefault(dialect, []).append(file)
        self.evidence.damage += dump.damage
        self.evidence.ignored += (Ignored(file, note) for note in dump.notes)
        # Pods whose output is in one file are brokers of their own.
        folder = f"{Path(file).parent}/{self._source}" if self._source else str(Path(file).parent)
        for content in dump.segments:
            reason = by_name(content.segment)
            if self._narrowing.leaves_out(content.place.topic):
                self._leave_out(file, content.place.topic)
            elif isinstance(reason, str):
                self.evidence.ignored.append(Ignored(file, f"{content.segment}: {reason}"))
            elif reason is Kind.CLUSTER_METADATA or content.place.topic == METADATA_TOPIC:
                self.evidence.ignored.append(Ignored(file, f"{content.segment}: a dump of the cluster's metadata log"))
            else:
                self._contents.append((Source.DUMP, folder, content))
        for segment, producers in dump.snapshots:
            if not self._narrowing.leaves_out(place_of(segment).topic):
                self._take_snapshot(Source.DUMP, segment, file, producers)
        for segment, entries in dump.indexes:
            if not self._narrowing.leaves_out(place_of(segment).topic):
                self._take_index(Source.DUMP, segment, file, entries)
        ends_open = len(data) > 0 and data[len(data) - 1] != 0x0A and max(dump.others, default=0) == dump.last_line
        if not self._read_others(dump.others, file, ends_open=ends_open) and not dump.read.used:
            evidence.files.remove(file)
            evidence.ignored.append(Ignored(file, "no line of it can be understood"))

    def _tool_output(self, data: memoryview, file: str) -> None:
        self.evidence.reports.add(read_tool_output(data, file))

    def _tool_output_beside(self, data: memoryview, file: str) -> bool:
        """Read the output of tools in a file of another kind: people paste what several tools print into one."""
        if is_there := holds_tool_output(data):
            self._tool_output(data, file)
        return is_there

    def _console_text(self, data: memoryview, file: str) -> None:
        records, damage = read_console(data, file, self.evidence.reports)
        self._tool_output_beside(data, file)
        for dialect in dialects_of_console(data):
            self.evidence.dialects.setdefault(dialect, []).append(file)
        self._console += records
        self.evidence.damage += damage

    def _calls(self, data: memoryview, file: str) -> None:
        calls, outcomes, damage = read_calls(data, file, self._reached)
        self.evidence.client_calls += calls
        self.evidence.client_outcomes += outcomes
        self.evidence.damage += damage

    def _text_log(self, data: memoryview, file: str) -> None:
        reached, size = self._reached, len(data)
        transitions, torn = read_coordinator_log(data, file, lambda at: reached(at // 2))
        clients = read_client_log(data, file, lambda at: reached((size + at) // 2))
        log = read_broker_log(data, file, {each.line for each in transitions})
        self.evidence.hosted += log.hosted
        self.evidence.broker_lines += log.lines
        self.evidence.coordinator_lines += transitions
        self.evidence.client_lines += clients.lines
        self.evidence.damage += torn + clients.damage
        has_tables = self._tool_output_beside(data, file)
        read = log.read.with_those_of(clients.read)
        if not self._is_alone or read.used or log.hosted or transitions or torn or clients.damage or has_tables:
            self.evidence.lines += [read] * (read.used > 0 or read.unused != {})
        else:
            self._not_understood.append(read)

    def _leave_out_not_understood(self, file: str, *, is_all: bool) -> None:
        """Count a file of logs of which no line says anything among those that are not read; else its lines."""
        if not is_all:
            self.evidence.lines += (read for read in self._not_understood if read.unused)
        elif self._not_understood:
            unused = [each for read in self._not_understood for each in read.unused.values()]
            why = "; ".join(f"{each.count:,} x {each.reason}" for each in unused)
            reason = f"text of a log, and no line of it is understood ({why})" if why else NO_EVIDENCE_IN_IT
            self.evidence.files.remove(file)
            self.read_from.discard(Path(file).resolve())
            self.evidence.ignored.append(Ignored(file, reason))

    def finish(self) -> Evidence:
        """Put together what was read."""
        evidence = self.evidence
        self._set_aside(earlier_topics(evidence, self._latest_in))
        screened = self._screened()
        # What was read again stands where it would have stood.
        self._contents.sort(key=lambda content: self._order[content[2].file])
        given = [*screened, *merge.copies_of(self._contents)]
        for copy in given:
            self._apply_checkpoints(copy)
        copies = merge.without_repetitions(given, evidence.agreements)
        for copy in copies:
            self._note_lost_segments(copy.log)
            evidence.logs.append(copy.log)
            evidence.damage += copy.damage
            if copy.log.source is Source.DUMP:
                evidence.damage += (damage for segment in copy.segments for damage in segment.damage)
        self._internal(copies)
        known = {record.transactional_id for record in evidence.transaction_states}
        self._put_in_order([record for record in self._console if record.transactional_id not in known])
        evidence.snapshots += _distinct(self._snapshots, _snapshot_identity)
        evidence.aborted_transactions += _distinct(self._aborted, _aborted_identity)
        add_calls(evidence)
        compare_copies((copy.log for copy in given), evidence)
        explain_holes(evidence)
        look_for_beginnings(evidence)
        look_for_ends(evidence)
        compare_snapshots(evidence)
        return evidence

    def _put_in_order(self, printed: list[TransactionStateRecord]) -> None:
        """Add the records of console consumers, which show no offsets."""
        ordered = in_order(printed)
        self.evidence.transaction_states += ordered.records
        self.evidence.damage += ordered.damage
        for file in ordered.turned_files:
            self.evidence.dialects.setdefault(TURNED_ROUND, []).append(file)
        if ordered.sorted_files:
            self.evidence.dialects.setdefault(SORTED, []).extend(ordered.sorted_files)

    def _latest_in(self) -> dict[str, int]:
        """By folder, the time of the newest batch of the segments in it."""
        found: dict[str, int] = {}
        for source, _, content in self._contents:
            folder = str(Path(content.file).parent)
            for batch in content.batches if source is Source.SEGMENT else ():
                found[folder] = max(batch.max_timestamp_ms, found.get(folder, NONE))
        for log in () if self._screen is None else self._screen.cleared():
            if log.cleared is not None and log.cleared.latest_ms is not None:
                found[str(Path(log.files[0]).parent)] = log.cleared.latest_ms
        return found

    def _set_aside(self, earlier: Mapping[str, str]) -> None:
        """Leave out what was read in folders of topics that were deleted: `earlier` says of a folder why."""

        def is_kept(file: str) -> bool:
            return str(Path(file).parent) not in earlier

        if not earlier:
            return
        evidence = self.evidence
        self._earlier = frozenset(earlier)
        self._contents = [each for each in self._contents if is_kept(each[2].file)]
        for source in Source:
            self._snapshots[source] = [each for each in self._snapshots[source] if is_kept(each.file)]
            self._aborted[source] = [each for each in self._aborted[source] if is_kept(each.file)]
        for folder in earlier:
            place = place_of(f"{folder}/")
            evidence.named_offsets.pop((place.replica, (place.topic, place.partition)), None)
        evidence.topic_identities = [each for each in evidence.topic_identities if each.folder not in earlier]
        evidence.epoch_starts = [each for each in evidence.epoch_starts if each.folder not in earlier]
        evidence.damage = [each for each in evidence.damage if is_kept(each.file) and each.file not in earlier]
        evidence.ignored += (
            Ignored(file, earlier[str(Path(file).parent)]) for file in evidence.files if not is_kept(file)
        )
        evidence.files = [file for file in evidence.files if is_kept(file)]

    def _screened(self) -> list[merge.Copy]:
        """Logs that were cleared. They are compared with no others: where there are any, all are read."""
        every = [] if self._screen is None else self._screen.cleared()
        cleared = [log for log in every if str(Path(log.files[0]).parent) not in self._earlier]
        places = Counter(log.topic_partition for log in cleared)
        others = {(content.place.topic, content.place.partition) for _, _, content in self._contents}
        nameless = any(not content.place.is_known and content.batches for _, _, content in self._contents)
        alone = [
            log
            for log in cleared
            if places[log.topic_partition] == 1 and log.topic_partition not in others and not nameless
        ]
        kept = {id(log) for log in alone}
        for log in cleared:
            if id(log) not in kept:
                for file in log.files:
                    self._read_again(Path(file))
        return [merge.Copy(log, []) for log in alone]

    def _internal(self, copies: list[merge.Copy]) -> None:
        """Records of internal topics, from the first copy of each partition (from all where none is known)."""
        done: set[TopicPartition] = set()
        for copy in copies:
            if copy.log.topic_partition in done and copy.log.partition >= 0:
                continue
            done.add(copy.log.topic_partition)
            if copy.log.topic == TRANSACTION_STATE:
                states, damage = merge.transaction_states(copy)
                self.evidence.transaction_states += states
                self.evidence.damage += damage
            elif copy.log.topic == CONSUMER_OFFSETS:
                commits, damage = merge.offset_commits(copy)
                self.evidence.offset_commits += commits
                self.evidence.damage += damage

    def _note_lost_segments(self, log: PartitionLog) -> None:
        """A broker deletes an index with its segment: one that is left alone shows that the segment is lost.

        In a compacted topic the offsets alone do not show it.
        """
        files = [file for file in log.files if base_offset_of(file) is not None]
        bases = sorted(base_offset_of(file) or 0 for file in files)
        for folder in {str(Path(file).parent) for file in files}:
            for offset in sorted(self._indexes.get(folder, set()) - set(bases)):
                last = next((base - 1 for base in bases if base > offset), None)
                known = any(lost.first <= offset <= (lost.last or offset) for lost in log.lost)
                if last is not None and offset >= log.start_offset and not known:
                    why = f"the index {offset:020}.index is there without its segment"
                    log.lost.append(Lost(offset, last, why))

    def _apply_checkpoints(self, copy: merge.Copy) -> None:
        """What the broker wrote down beside the folder of the partition."""
        log: PartitionLog = copy.log
        segments = [segment.segment for segment in copy.segments]
        folders = {Path(segment).parent.parent for segment in (log.files if log.cleared else segments)}
        for kind, folder, offsets in self._checkpoints:
            if folder not in folders:
                continue
            if kind is Kind.CLEANER_CHECKPOINT:
                # A replica that fetches a log later has the gaps that another broker's cleaner left.
                if log.topic_partition in self.evidence.unreplicated:
                    log.cleaned_to = offsets.get(log.topic_partition, 0)
                log.cleaned = log.topic_partition in offsets
            elif offsets.get(log.topic_partition, NONE) >= log.start_offset:
                log.start_offset, log.begin_shown_by = offsets[log.topic_partition], CHECKPOINT


def _above_the_broker(file: str) -> str:
    """The folder above ``broker-N``: brokers of that name in two folders are two brokers. Empty for other files."""
    parts = file.replace("\\", "/").split("/")[:-2]
    at = next((at for at in range(len(parts) - 1, -1, -1) if BROKER_NAME.fullmatch(parts[at])), None)
    return "" if at is None else "/".join(parts[:at])


def _snapshot_identity(snapshot: ProducerSnapshot) -> object:
    entries = frozenset(snapshot.entries)
    return snapshot.topic, snapshot.partition, snapshot.offset, entries


def _aborted_identity(entry: AbortedTransaction) -> object:
    return (
        entry.topic,
        entry.partition,
        entry.producer_id,
        entry.first_offset,
        entry.last_offset,
        entry.last_stable_offset,
    )


def _distinct(found: dict[Source, list[Item]], identity: Callable[[Item], object]) -> list[Item]:
    """Each once; what a segment's neighbour says comes before what a dump says."""
    kept: dict[object, Item] = {}
    for source in Source:
        for item in found[source]:
            kept.setdefault(identity(item), item)
    return list(kept.values())

"""Opening a log: look at everything without writing a byte, then repair the effects of a crash.

Theory of operation: `look` compares the files of a log with the records of them (`known_logs`). A recorded
segment is known by its last batch and its indexes: its batches are not read. A segment that is not recorded (the last
one after a crash, one that an earlier version or Kafka wrote) is read batch by batch. A difference is a finding:
either the file can be rebuilt from the batches, or batches are missing, and the log is refused.
`settle` writes: it cuts the torn tail after the last sound batch, and rebuilds indexes and
checkpoints. Damage in batches that `look` did not read is found by whoever reads them.
Source: reference §7.3; ``LogLoader.java``.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from zombieproof.broker.store.aborted_files import AbortedFiles
from zombieproof.broker.store.findings import NOTHING, Finding, Repair, forgotten, refusal
from zombieproof.broker.store.known_logs import SNAPSHOT, SNAPSHOT_NAME, UNKNOWN, LogState, SegmentState
from zombieproof.broker.store.leader_epochs import LEADER_EPOCHS, LeaderEpochs
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import (
    LAST_OFFSET,
    LOG,
    SUFFIXES,
    TRANSACTION_INDEX,
    Highest,
    Segment,
    Stretch,
    base_of,
    file_name,
)
from zombieproof.broker.store.segment_indexes import INDEX, NO_ENTRIES, WrittenIndexes
from zombieproof.broker.store.swapping import SWAP, finish_swaps
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.producer_snapshot import has_snapshot_form
from zombieproof.model.vocabulary import NONE

BATCHES = "its batches say otherwise"
CHANGED = "it is not what was written"
LOGGER = logging.getLogger("zombieproof.broker")


class Recorded(NamedTuple):
    """The record of a log outside of its folder.

    Attributes:
        start_offset: the first offset that is served; None: unknown.
        synced_offset: everything below was on the disk.
        was_clean: the log was closed in order.
        state: the whole record, where there is one.
        source: the file that says so.
    """

    start_offset: int | None
    synced_offset: int
    was_clean: bool
    state: LogState | None = None
    source: str = "the recovery point"

    @property
    def claims_records(self) -> bool:
        """Whether the log held records."""
        return self.synced_offset > (self.start_offset or 0)

    def believes_snapshots(self, start: int, *, is_recorded: bool) -> bool:
        """Whether snapshots count that the record of the folder does not list.

        They do if the record is missing, or if the log was copied into the folder of an empty one. A log that starts at
        offset 0 needs none: its batches say the same.
        """
        was_recorded = self.state is None or self.state.sequence > 0
        return start > 0 and (self.synced_offset == 0 or (was_recorded and not is_recorded))


class LogLoader:
    """Opens one log: `look`, and if that finds nothing that is refused, `settle`."""

    def __init__(self, files: LogFiles, epochs: LeaderEpochs, aborted: AbortedFiles) -> None:
        self._files, self._epochs, self._aborted = files, epochs, aborted
        self._begin(Recorded(None, 0, was_clean=False))

    def _begin(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._found: list[Finding] = []
        self._scanned: dict[Segment, list[Stretch]] = {}
        self._doubtful: list[int] = []
        self._unsettled: list[Segment] = []
        self._void: list[str] = []
        self._recovers = self._had_index = self._writes_epochs = False

    def open(self, recorded: Recorded) -> None:
        """Read what is there.

        Raises:
            Damaged: batches are missing that had been synced, or cannot be read.
        """
        if self.has_swaps:
            self.finish_swaps()
        refused = [each for each in self.look(recorded) if each.is_refused]
        if refused:
            raise refusal(self._files.disk, refused)
        self.settle()

    # ---------------------------------------------------------------- swaps

    @property
    def has_swaps(self) -> bool:
        """Whether a crash has interrupted the cleaner at a point from which it continues."""
        return any(name.endswith(SWAP) for name in self._files.disk.listed(self._files.directory))

    def finish_swaps(self) -> None:
        """Continue from there.

        Raises:
            Damaged: a segment that is to take the place of others cannot be read.
        """
        self._files.states.read()
        finish_swaps(self._files, self._reach)

    def _reach(self, segment: Segment) -> int:
        """Where a segment ends that was synced whole and is not in the log yet."""
        _, fault = segment.scan(has_gaps=True)
        if fault is not None:
            raise self._files.damaged(segment, segment.size, fault)
        return segment.end_offset

    # ---------------------------------------------------------------- looking

    def look(self, recorded: Recorded, *, reads_all: bool = False) -> list[Finding]:
        """Read the state of the log, and return its faults; nothing is written. `reads_all`: every batch is read."""
        self._begin(recorded)
        files = self._files
        if recorded.state is None:
            files.states.read()
        else:
            files.states.read(recorded.state.sequence, recorded.state.topic_id)
        files.highest = Highest()
        if recorded.state is not None:
            recorded_highest = Highest(recorded.state.producer_id, recorded.state.coordinator_epoch)
            files.highest = files.highest.among(recorded_highest)
        if files.states.fault is not None:
            # In a compacted log, no batch shows that one before it is missing.
            hides_loss, source = files.config.is_compacted, "every batch is read instead"
            source += ", and the topic is compacted: missing batches would not show" if hides_loss else ""
            lost = files.lost(files.states.path, files.states.fault, source)
            remedy = "rebuild it from the batches"
            self._found.append(
                replace(lost, remedy=remedy, loses=NOTHING, repair=Repair.REBUILD, hides_loss=hides_loss)
            )
        names = files.disk.listed(files.directory)
        bases = sorted(base for name in names if (base := base_of(name)) is not None)
        self._find_missing(bases, names)
        files.held = [files.new_segment(base) for base in bases]
        if not bases:
            if recorded.claims_records and not self._found:
                self._lost(files.directory, "it has no .log file", f"records below offset {recorded.synced_offset}")
            return self._found
        for place, segment in enumerate(files.held):
            self._look_at(segment, is_last=place == len(bases) - 1)
        if strays := list(self._strays()):
            self._found = strays
            return self._found
        self._check_order()
        self._look_at_epochs()
        self._look_at_snapshots(names)
        if reads_all and not any(each.is_refused for each in self._found):
            self._read_all()
        return self._found

    def _read_all(self) -> None:
        """Find the damage that a reader would find."""
        for segment in self._files.held:
            try:
                for batch in segment.read(segment.base_offset, is_raw=True):
                    known = self._epochs.at(batch.base_offset)
                    if known not in (NONE, batch.leader_epoch):
                        position = segment.position_of(batch.base_offset)
                        raise Undecodable(f"leader epoch {batch.leader_epoch} where {known} is due", position)
            except Undecodable as fault:
                self._found.append(self._files.damage(segment, fault.position, str(fault)))

    def _lost(self, path: str, fault: str, was: str) -> None:
        source = f"{self._recorded.source} says that there were {was}"
        self._found.append(self._files.lost(path, fault, source))

    def _rebuilds(self, path: str, fault: str, source: str) -> None:
        self._found.append(Finding(path, fault, source, "rebuild it from the batches"))

    def _find_missing(self, bases: Sequence[int], names: Sequence[str]) -> None:
        """Segments that are recorded, or have left their indexes, and have no log."""
        files, there = self._files, set(bases)
        start = self._recorded.start_offset
        for base, known in sorted(files.states.state.segments.items()):
            if base not in there and known.next_offset > max(start or 0, base) and known.size:
                path = files.new_segment(base).path(LOG)
                fault = f"it is missing, with the offsets {base} to {known.end_offset - 1}"
                self._found.append(files.lost(path, fault, files.states.path))
        if files.states.is_there:
            return
        orphans = {int(name[:20]) for name in names if name[:20].isdecimal() and name.endswith(SUFFIXES[1:])} - there
        for base in sorted(orphans):
            if bases and (start or 0) <= base < bases[-1]:
                path = files.new_segment(base).path(LOG)
                self._found.append(files.lost(path, "it is missing", "its indexes are there"))

    def _look_at(self, segment: Segment, *, is_last: bool) -> None:
        files, known = self._files, self._files.states.state.segments.get(segment.base_offset)
        wrong = None if known is None else segment.contradicts(known, is_last=is_last)
        if known is not None:
            files.highest = files.highest.among(Highest(known.producer_id, known.coordinator_epoch))
        if wrong is not None:
            self._found.append(files.lost(segment.path(LOG), wrong, files.states.path))
            segment.scan(has_gaps=True)
            return
        is_whole = known is not None and files.disk.size(segment.path(LOG)) == known.size
        if is_last and not self._recorded.was_clean:
            self._look_at_tail(segment)
        elif known is not None and is_whole:
            self._look_at_known(segment, known, is_last=is_last)
        else:
            self._scan(segment, has_gaps=files.config.is_compacted)
            self._doubtful.append(segment.base_offset)
            state = self._recorded.state if self._recorded.was_clean else None
            if state is not None and segment.size and state.last_base == segment.base_offset < state.end_offset:
                self._compare_first(segment, state)

    def _look_at_known(self, segment: Segment, known: SegmentState, *, is_last: bool) -> None:
        """A segment of which the last batch is the one that is recorded: its indexes are, too, or are rebuilt."""
        changed = segment.changed_indexes(known)
        for suffix, recorded in zip(SUFFIXES[1:], known[-3:], strict=True):
            if suffix in changed and recorded != UNKNOWN:
                fault = CHANGED if segment.exists(suffix) else "it is missing"
                self._rebuilds(segment.path(suffix), fault, self._files.states.path)
        if TRANSACTION_INDEX in changed:
            self._doubtful.append(segment.base_offset)
        if not [suffix for suffix in changed if suffix != TRANSACTION_INDEX]:
            try:
                segment.load() if is_last else segment.load_sealed(known)
            except (Undecodable, OSError):
                pass
            else:
                return
        self._scan(segment, has_gaps=True)

    def _scan(self, segment: Segment, *, has_gaps: bool) -> None:
        """Know a segment that was synced whole by its batches."""
        self._scanned[segment], fault = segment.scan(has_gaps=has_gaps)
        self._files.highest = self._files.highest.among(segment.highest)
        if fault is not None:
            self._found.append(self._files.damage(segment, segment.size, fault))
        self._unsettled.append(segment)

    def _look_at_tail(self, segment: Segment) -> None:
        """Look at the last segment after a crash: bytes after the last sound batch were never acknowledged.

        Batches below the last synced entry of the index are left to readers.
        """
        files, synced, state = self._files, self._recorded.synced_offset, self._recorded.state
        self._recovers, self._had_index = True, segment.exists(INDEX)
        # Without records, only the batches show epochs, producers and aborted transactions.
        self._epochs.read()
        is_known = self._epochs.entries[: len(self._epochs_recorded)] == self._epochs_recorded and bool(self._epochs)
        known_below, written = 0, NO_ENTRIES
        if is_known and state is not None and state.last_base == segment.base_offset:
            known_below, written = synced, WrittenIndexes(*state[-4:])
        has_gaps = files.config.is_compacted
        self._scanned[segment], fault = segment.scan(has_gaps=has_gaps, known_below=known_below, written=written)
        files.highest = files.highest.among(segment.highest)
        # A base offset has no checksum: one that is damaged upwards hides how far the sound batches go.
        is_short = segment.end_offset < synced or (fault is not None and segment.holds_below(segment.size, synced))
        if is_short and self._recorded.claims_records:
            fault = fault or f"it ends at offset {segment.end_offset}"
            behind = segment.sound_batch_behind(segment.size)
            also = "" if behind is None else f"; a sound batch follows at byte {behind}"
            fault = f"damaged at byte {segment.size}: {fault}{also}"
            self._lost(segment.path(LOG), fault, f"records below offset {synced}, all on the disk")
        if segment.base_offset < synced:
            self._look_at_aborted(segment)
        if state is None or not state.last_base == segment.base_offset < synced or not segment.size:
            return
        if not self._compare_first(segment, state) or is_short or not state.synced_size:
            return
        if not segment.ends_at(state.synced_size, synced):
            # No checksum covers a base offset, and there may be no later batch that contradicts it.
            fault = f"the batch before byte {state.synced_size} does not end at offset {synced - 1}"
            self._found.append(files.lost(segment.path(LOG), fault, self._recorded.source))

    def _compare_first(self, segment: Segment, state: LogState) -> bool:
        """Compare the first batch of the segment that was the last one with the record of it."""
        is_same = state.first_checksum == segment.first_checksum
        if not is_same:
            fault = "its first batch is not the one that was there"
            self._found.append(self._files.lost(segment.path(LOG), fault, self._recorded.source))
        return is_same

    def _look_at_aborted(self, segment: Segment) -> None:
        """Compare the aborted transactions that the last segment lists below the synced end with the record."""
        synced, state = self._recorded.synced_offset, self._recorded.state
        listed = segment.read_aborted()[0]
        digest = self._aborted.digest_of([each for each in listed if each.last_offset < synced])
        if state is not None and digest == (state.aborted_count, state.aborted_checksum):
            return
        self._doubtful.append(segment.base_offset)
        if state is not None:
            path = segment.path(TRANSACTION_INDEX)
            fault = CHANGED if segment.exists(TRANSACTION_INDEX) else "it is missing"
            self._rebuilds(path, fault, self._recorded.source)

    def _look_at_snapshots(self, names: Sequence[str]) -> None:
        """Compare the snapshots of producers with the record of them.

        One that is not recorded is dropped: a crash came before its record, or it is another log's.
        """
        files, recorded = self._files, self._files.states.state.snapshots
        start = max(files.held[0].base_offset, self._recorded.start_offset or 0)
        takes_all = self._recorded.believes_snapshots(start, is_recorded=files.states.is_there)
        believed = files.states.snapshots_in_folder(takes_all=takes_all)
        for name in names:
            if SNAPSHOT_NAME.fullmatch(name) is None or int(name[:20]) in believed:
                continue
            self._void.append(f"{files.directory}/{name}")
            if int(name[:20]) in recorded:
                self._rebuilds(f"{files.directory}/{name}", CHANGED, files.states.path)
        end = files.end_offset
        if self._recorded.was_clean and end in recorded and file_name(end, SNAPSHOT) not in names:
            self._rebuilds(f"{files.directory}/{file_name(end, SNAPSHOT)}", "it is missing", files.states.path)
        files.states.snapshots = believed
        self._look_for_producers(names)

    def _look_for_producers(self, names: Sequence[str]) -> None:
        """Without a snapshot, nothing tells of the producers whose records were all deleted."""
        files = self._files
        start = max(files.held[0].base_offset, self._recorded.start_offset or 0)
        # Where the log starts, or before that, none counts.
        counts = range(start + 1, files.end_offset + 1)
        recorded = [offset for offset in files.states.state.snapshots if offset in counts]
        if start == 0 or not recorded:
            return
        paths = {f"{files.directory}/{name}": int(name[:20]) for name in names if SNAPSHOT_NAME.fullmatch(name)}
        there = (path for path, offset in paths.items() if offset in counts and path not in self._void)
        if any(has_snapshot_form(files.disk.read(path)) for path in there):
            return
        path = f"{files.directory}/{file_name(max(recorded), SNAPSHOT)}"
        self._found = [each for each in self._found if each.path != path]
        fault = f"{CHANGED if path in paths else 'it is missing'}, and with it the producers from before offset {start}"
        self._found.append(replace(files.lost(path, fault, files.states.path), loses=forgotten(start)))

    def _strays(self) -> Iterator[Finding]:
        """Segments that nothing records, and that do not begin where the one before them ends."""
        recorded, end = self._recorded, None
        bad = {each.path for each in self._found if each.is_refused}
        for segment in self._files.held:
            base, known = segment.base_offset, self._files.states.state.segments.get(segment.base_offset)
            is_known = known is not None or (recorded.state is not None and recorded.state.last_base == base)
            is_apart = end is not None and (base > max(end, recorded.synced_offset) or base < end)
            if base > LAST_OFFSET or (is_apart and not is_known):
                yield self._stray(segment, end)
            else:
                is_sound = segment.path(LOG) not in bad
                end = max(0 if known is None else known.next_offset, segment.end_offset) if is_sound else None

    def _stray(self, segment: Segment, end: int | None) -> Finding:
        files, path = self._files, segment.path(LOG)
        before = (
            f"the highest offset is {LAST_OFFSET}" if end is None else f"the segment before it ends at offset {end}"
        )
        fault = f"a segment that begins at offset {segment.base_offset}, and {before}"
        loses = f"the {files.disk.size(path)} bytes in it" if files.disk.size(path) else NOTHING
        legal = "a segment begins where the one before it ends"
        return replace(files.lost(path, fault, legal), remedy="move it away", loses=loses, repair=Repair.MOVE_AWAY)

    def _check_order(self) -> None:
        files, recorded = self._files, self._recorded
        if any(each.is_refused for each in self._found):
            return
        first, last, start = files.held[0], files.held[-1], recorded.start_offset
        if start is not None and first.base_offset > start and recorded.claims_records:
            self._lost(first.path(LOG), "no segment is before it", f"records from offset {start} on")
        for before, segment in pairwise(files.held):
            known = files.states.state.segments.get(before.base_offset)
            end = before.end_offset if known is None else known.next_offset
            has_gap = end < segment.base_offset and not (known is None and files.config.is_compacted)
            if has_gap or max(end, before.end_offset) > segment.base_offset:
                fault = f"it ends at offset {end}, the next one begins at {segment.base_offset}"
                self._found.append(files.damage(before, before.size, fault))
        if last.end_offset < recorded.synced_offset and recorded.claims_records and not self._recovers:
            self._lost(
                last.path(LOG), f"it ends at offset {last.end_offset}", f"records below offset {recorded.synced_offset}"
            )

    # ---------------------------------------------------------------- leader epochs

    @property
    def _epochs_recorded(self) -> tuple[tuple[int, int], ...]:
        return self._files.states.state.leader_epochs

    def _look_at_epochs(self) -> None:
        """Compare the checkpoint of leader epochs with the record or the batches."""
        files, recorded = self._files, self._epochs_recorded
        self._epochs.read()
        path, read = f"{files.directory}/{LEADER_EPOCHS}", self._epochs.entries
        unknown = [each for each in files.held if each.base_offset not in files.states.state.segments]
        is_whole = not unknown or (self._recovers and unknown == files.held[-1:])
        if files.states.is_there and is_whole and (recorded or not self._scanned):
            is_known = read == recorded or (self._recovers and read[: len(recorded)] == recorded)
            if is_known and read != recorded and self._contradicted(read) and self._is_in_order():
                is_known = False
                last = files.held[-1]
                self._scanned[last], _ = last.scan(has_gaps=files.config.is_compacted)
            base = list(read if is_known else recorded)
            if not read:
                base += self._newer_epochs(recorded)
        else:
            is_known, base = bool(read), list(read)
            if self._contradicted(base) and self._is_in_order():
                is_known, base = False, []
        if not is_known and (files.end_offset > files.held[0].base_offset or base):
            is_there = files.disk.exists(path)
            # A log that was never recorded may have none: Kafka's old ones have not, and a crash may come before it.
            was_there = recorded or (self._recorded.state is not None and self._recorded.claims_records)
            if is_there or was_there:
                self._rebuilds(path, CHANGED if is_there else "it is missing", BATCHES)
        self._epochs.know(base)
        self._writes_epochs = not is_known
        for segment, stretches in self._scanned.items():
            self._compare_epochs(segment, stretches)

    def _newer_epochs(self, recorded: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
        """The epochs that begin in the last segment after a crash: nothing is recorded of them yet."""
        newest = max((epoch for epoch, _ in recorded), default=NONE)
        for stretch in self._scanned.get(self._files.held[-1], []) if self._recovers else []:
            if stretch.leader_epoch > newest:
                newest = stretch.leader_epoch
                yield newest, stretch.first_offset

    def _stretches(self) -> list[Stretch]:
        return [each for stretches in self._scanned.values() for each in stretches]

    def _is_in_order(self) -> bool:
        return all(before.leader_epoch <= each.leader_epoch for before, each in pairwise(self._stretches()))

    def _contradicted(self, base: Iterable[tuple[int, int]]) -> bool:
        self._epochs.know(base)
        return any(self._wrong_in(segment) is not None for segment in self._scanned)

    def _wrong_in(self, segment: Segment) -> tuple[int, int] | None:
        """The first offset of a segment that was synced and has another leader epoch than is known, with its epoch."""
        synced = self._recorded.synced_offset if self._recovers and segment is self._files.held[-1] else 1 << 62
        for stretch in self._scanned[segment]:
            end = min(stretch.end_offset, synced)
            wrong = self._epochs.contradicts(stretch.leader_epoch, stretch.first_offset, end)
            if wrong is not None:
                return wrong, stretch.leader_epoch
        return None

    def _compare_epochs(self, segment: Segment, stretches: list[Stretch]) -> None:
        """Epochs that are known hold; those that begin in batches which were just read are new."""
        is_recorded = bool(self._epochs) and not self._writes_epochs
        wrong = self._wrong_in(segment) if is_recorded or self._epochs_recorded else None
        if wrong is not None:
            offset, epoch = wrong
            position, known = segment.position_of(offset), self._epochs.at(offset)
            self._found.append(self._files.damage(segment, position, f"leader epoch {epoch} where {known} is due"))
            return
        if self._recovers and segment is self._files.held[-1]:
            self._epochs.cut(segment.end_offset)
        for stretch in stretches:
            self._epochs.begins(stretch.leader_epoch, stretch.first_offset)

    # ---------------------------------------------------------------- settling

    def settle(self) -> None:
        """Write the changes that `look` has found necessary.

        Raises:
            StorageFailure: the disk has failed.
        """
        files, recorded = self._files, self._recorded
        start = recorded.start_offset
        with files.failing():
            finish_swaps(files, self._reach)
            for path in self._void:
                files.disk.remove(path)
            if files.held and start is not None and files.end_offset < start:
                # A crash came between the record and the new segment of a log that was to begin there.
                files.states.strike_off(0, 1 << 63)
                for segment in files.held:
                    files.remove(segment)
                files.held = []
            if not files.held:
                files.held = [files.empty_segment(start or 0)]
                files.start_offset = files.recovery_point = start or 0
                self._epochs.know([])
                return
            for segment in self._unsettled:
                files.touched |= dict.fromkeys(segment.write_indexes())
                files.names_changed = True
            if self._recovers:
                self._recover(files.held[-1])
            elif self._writes_epochs:
                self._epochs.write()
        first, closed_at = files.held[0].base_offset, recorded.synced_offset
        if recorded.was_clean and recorded.state is not None and files.end_offset > closed_at:
            LOGGER.warning(
                "%s: offsets %d to %d were added while it was closed: they are served",
                files.disk.name(files.directory),
                closed_at,
                files.end_offset - 1,
            )
        files.start_offset = min(max(first if start is None else start, first), files.end_offset)
        files.recovery_point = files.end_offset
        self._aborted.read(
            files.end_offset if not self._recovers else recorded.synced_offset, min(self._doubtful, default=None)
        )
        if self._recovers or self._writes_epochs or self._unsettled:
            files.flush()

    def _recover(self, segment: Segment) -> None:
        """Cut the torn tail, and index the batches before it."""
        files, path = self._files, segment.path(LOG)
        torn = files.disk.size(path) - segment.size if segment.exists(LOG) else 0
        if segment.cut_file():
            name, end = files.disk.name(path), segment.end_offset
            LOGGER.warning("%s: the last %d bytes, from offset %d on, are torn, and were cut", name, torn, end)
        files.touched[segment.path(LOG)] = None
        if segment.size or self._had_index:
            # The next start trusts the index on the disk: no entry of the tail may be left in it.
            files.touched |= dict.fromkeys(segment.write_indexes())
        files.names_changed = True
        self._epochs.write()

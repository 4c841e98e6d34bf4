"""What a log finds in its folder when it is opened: indexes that are believed, a torn tail that is cut, or damage.

Theory of operation: all segments but the last are sealed: they were synced, with their indexes, before the next one
began. So after a crash only the last has to be looked at, and of it what lies behind the last batch that was synced and
is in the index. What it holds behind its last sound batch is a torn tail and is cut, unless it is known to have been
synced: then it is damage, and nobody may take it for a tail that was never acknowledged. Damage in what is not looked
at is found by whoever reads it.
Source: reference §7.3; ``LogLoader.java``.
"""

from zombieproof.broker.store.aborted_files import AbortedFiles
from zombieproof.broker.store.leader_epochs import LeaderEpochs
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import LOG, Segment
from zombieproof.broker.store.segment_indexes import INDEX
from zombieproof.broker.store.swapping import finish_swaps
from zombieproof.formats.faults import Undecodable


class LogLoader:
    """Opens one log."""

    def __init__(self, files: LogFiles, epochs: LeaderEpochs, aborted: AbortedFiles) -> None:
        self._files, self._epochs, self._aborted = files, epochs, aborted

    def open(self, start_offset: int | None, synced_offset: int, *, was_clean: bool) -> None:
        """Read what is there.

        Args:
            start_offset: the first offset that is served, as a checkpoint says; None: that of the first segment.
            synced_offset: everything below was on the disk for certain.
            was_clean: the log was closed in order.

        Raises:
            Damaged: something below `synced_offset`, or in a sealed segment, cannot be read.
        """
        files = self._files
        finish_swaps(files, self._reach)
        names = files.disk.listed(files.directory)
        bases = sorted(int(name.removesuffix(LOG)) for name in names if name.endswith(LOG) and name[:20].isdecimal())
        if not bases:
            with files.failing():
                files.held = [files.empty_segment(start_offset or 0)]
            files.start_offset = files.recovery_point = start_offset or 0
            return
        files.held = [files.new_segment(base) for base in bases]
        files.start_offset = bases[0] if start_offset is None else start_offset
        self._epochs.read()
        for segment in files.held[:-1]:
            self._load(segment)
        last = files.held[-1]
        if was_clean:
            self._load(last)
        else:
            self._recover(last, synced_offset)
        self._check_order()
        files.start_offset = min(max(files.start_offset, bases[0]), files.end_offset)
        files.recovery_point = files.end_offset
        self._aborted.read(files.end_offset if was_clean else synced_offset)

    def _reach(self, segment: Segment) -> int:
        """Where a segment ends that was synced whole and is not in the log yet."""
        _, fault = segment.scan(has_gaps=True)
        if fault is not None:
            raise self._files.damaged(segment, segment.size, fault)
        return segment.end_offset

    def _load(self, segment: Segment) -> None:
        """A segment that was synced whole: by its indexes, or where they fail by its batches, all of them sound."""
        try:
            segment.load()
        except (Undecodable, OSError):
            _, fault = segment.scan(has_gaps=self._files.config.is_compacted)
            if fault is not None:
                raise self._files.damaged(segment, segment.size, fault) from None
            self._files.touched |= dict.fromkeys(segment.write_indexes())
            self._files.names_changed = True

    def _recover(self, segment: Segment, synced_offset: int) -> None:
        """The last segment after a crash: sound batches stay, what is behind them was never acknowledged.

        What lies below the last entry of the index that was synced is not looked at before somebody reads it.
        """
        files, had_index = self._files, segment.exists(INDEX)
        # Without the checkpoint of epochs only the batches tell where each begins.
        known_below = synced_offset if self._epochs else 0
        found, fault = segment.scan(has_gaps=files.config.is_compacted, known_below=known_below)
        if segment.end_offset < synced_offset:
            raise files.damaged(segment, segment.size, fault or f"it ends, and offset {synced_offset} was synced")
        ends = [each.first_offset for each in found[1:]] + [segment.end_offset]
        for stretch, end in zip(found, ends, strict=False):
            wrong = self._epochs.contradicts(stretch.leader_epoch, stretch.first_offset, min(end, synced_offset))
            if wrong is not None:
                position, known = segment.position_of(wrong)[0], self._epochs.at(wrong)
                raise files.damaged(segment, position, f"leader epoch {stretch.leader_epoch} where {known} is due")
        segment.cut_file()
        files.touched[segment.path(LOG)] = None
        if segment.size or had_index:
            # What an index on the disk says is believed by the next start: nothing of the tail may be left in it.
            files.touched |= dict.fromkeys(segment.write_indexes())
        files.names_changed = True
        self._epochs.cut(segment.end_offset)
        for stretch in found:
            self._epochs.begins(stretch.leader_epoch, stretch.first_offset)
        self._epochs.write()
        files.flush()

    def _check_order(self) -> None:
        for before, segment in zip(self._files.held, self._files.held[1:], strict=False):
            in_order = before.end_offset <= segment.base_offset
            if not in_order or (before.end_offset < segment.base_offset and not self._files.config.is_compacted):
                raise self._files.damaged(
                    before,
                    before.size,
                    f"it ends at offset {before.end_offset}, the next one begins at {segment.base_offset}",
                )

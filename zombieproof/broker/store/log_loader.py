"""What a log finds in its folder when it is opened: indexes that are believed, a torn tail that is cut, or damage.

Theory of operation: all segments but the last are sealed: they were synced, with their indexes, before the next one
began. So after a crash only the last has to be looked at. What it holds behind its last sound batch is a torn tail and
is cut, unless it is known to have been synced: then it is damage, and nobody may take it for a tail that was never
acknowledged.
Source: reference §7.3; ``LogLoader.java``.
"""

from zombieproof.broker.store.aborted_files import AbortedFiles
from zombieproof.broker.store.leader_epochs import LeaderEpochs
from zombieproof.broker.store.log_files import LogFiles
from zombieproof.broker.store.segment import LOG, Segment
from zombieproof.broker.store.swapping import finish_swaps
from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE


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
        self._aborted.read(was_clean=was_clean)

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
        """The last segment after a crash: sound batches stay, what is behind them was never acknowledged."""
        found, fault = segment.scan(has_gaps=self._files.config.is_compacted)
        if segment.end_offset < synced_offset:
            raise self._files.damaged(segment, segment.size, fault or f"it ends, and offset {synced_offset} was synced")
        for header in found:
            known = self._epochs.at(header.base_offset)
            if header.base_offset < synced_offset and known not in (NONE, header.leader_epoch):
                position = segment.position_of(header.base_offset)[0]
                raise self._files.damaged(segment, position, f"leader epoch {header.leader_epoch} where {known} is due")
        segment.cut_file()
        self._files.touched[segment.path(LOG)] = None
        self._files.names_changed = True
        self._epochs.cut(segment.end_offset)
        for header in found:
            self._epochs.begins(header.leader_epoch, header.base_offset)
        self._epochs.write()
        self._files.flush()

    def _check_order(self) -> None:
        for before, segment in zip(self._files.held, self._files.held[1:], strict=False):
            in_order = before.end_offset <= segment.base_offset
            if not in_order or (before.end_offset < segment.base_offset and not self._files.config.is_compacted):
                raise self._files.damaged(
                    before,
                    before.size,
                    f"it ends at offset {before.end_offset}, the next one begins at {segment.base_offset}",
                )

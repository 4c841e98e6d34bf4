"""How one segment takes the place of others, and how a log that is opened ends what a crash has interrupted.

Theory of operation: what is to come is written beside the log under names that end in ``.cleaned``, and synced. From
the moment at which its ``.log`` is called ``.swap`` and has all its indexes it counts: the old segments are renamed to
``.deleted``, and then it gets its own name. Whoever finds ``.cleaned`` files drops them, and with them each ``.swap``
at or behind them: the renaming was not done, and the old segments are all there. Whoever finds a ``.swap`` without them
goes on: old segments that begin where it reaches go, and it gets its name. All of that may be interrupted again.
Source: ``LocalLog.replaceSegments``, ``LogLoader.removeTempFilesAndCollectSwapFiles``, ``LogLoader.load``.
"""

from collections.abc import Callable, Sequence

from zombieproof.broker.store.log_files import DELETED, LogFiles
from zombieproof.broker.store.segment import LOG, SUFFIXES, Segment

CLEANED, SWAP = ".cleaned", ".swap"


def cleaned_segment(files: LogFiles, offset: int) -> Segment:
    """A segment that is to take the place of others, empty; what a pass before has left of one is gone."""
    segment = files.new_segment(offset)
    segment.mark = CLEANED
    for suffix in SUFFIXES:
        if segment.exists(suffix):
            files.disk.remove(segment.path(suffix))
    files.disk.write(segment.path(LOG), 0, b"")
    return segment


def swap_in(files: LogFiles, cleaned: Segment, old: Sequence[Segment]) -> None:
    """`cleaned` takes the place of `old`, and is on the disk when this returns."""
    sync_cleaned(files, cleaned)
    _rename(files, cleaned, SWAP)
    files.disk.sync_directory(files.directory)
    behind = files.held[files.held.index(old[-1]) + 1].base_offset
    files.states.strike_off(old[0].base_offset, behind, cleaned.state(behind, files.highest))
    for segment in old:
        files.delete(segment)
    _rename(files, cleaned, "")
    first = files.held.index(old[0])
    files.held[first : first + len(old)] = [cleaned]
    files.disk.sync_directory(files.directory)


def sync_cleaned(files: LogFiles, cleaned: Segment) -> None:
    """A cleaned segment is on the disk with its indexes, before its names say so."""
    for path in cleaned.write_indexes():
        files.disk.sync(path)


def _rename(files: LogFiles, segment: Segment, mark: str) -> None:
    """Its files get another mark behind their names, the log first: indexes without a log count for nothing."""
    paths = [segment.path(suffix) for suffix in SUFFIXES]
    segment.mark = mark
    for path, suffix in zip(paths, SUFFIXES, strict=True):
        files.disk.rename(path, segment.path(suffix))


def finish_swaps(files: LogFiles, reach: Callable[[Segment], int]) -> None:
    """End what a crash has interrupted, before anything of the log is read.

    Args:
        reach: gives the end offset of a segment that is to take the place of others.

    Raises:
        Damaged: `reach` does; nothing was removed then.
    """
    listed = files.disk.listed(files.directory)
    cleaned = [name for name in listed if name.endswith(CLEANED)]
    first_cleaned = min((_offset(name) for name in cleaned), default=None)
    swaps = [name for name in listed if name.endswith(SWAP)]
    void = [name for name in swaps if first_cleaned is not None and _offset(name) >= first_cleaned]
    left_over = [name for name in listed if name.endswith((DELETED, ".tmp"))]
    valid = [name for name in swaps if name not in void]
    # While one cannot be read, the old segments are kept: they may have been renamed already.
    ends = {offset: _end(files, offset, reach) for offset in map(_offset, valid) if f"{offset:020}{LOG}{SWAP}" in valid}
    # Those that count for nothing first: without the cleaned files beside them they would count.
    for name in (*void, *cleaned, *left_over):
        _remove(files, name)
    for offset, end in ends.items():
        files.states.strike_off(offset, end)
        _remove_replaced(files, offset, end)
    for name in sorted(valid, key=lambda each: not each.endswith(LOG + SWAP)):
        files.disk.rename(f"{files.directory}/{name}", f"{files.directory}/{name.removesuffix(SWAP)}")
        files.names_changed = True


def _end(files: LogFiles, offset: int, reach: Callable[[Segment], int]) -> int:
    """Below which offset a segment takes the place of others: an empty one, too, of that with its base offset."""
    segment = files.new_segment(offset)
    segment.mark = SWAP
    return max(reach(segment), offset + 1)


def _remove_replaced(files: LogFiles, first: int, end: int) -> None:
    """The files of segments that begin in the offsets of one that takes their place."""
    for name in files.disk.listed(files.directory):
        if name.endswith(SUFFIXES) and name[:20].isdecimal() and first <= _offset(name) < end:
            _remove(files, name)


def _remove(files: LogFiles, name: str) -> None:
    files.disk.remove(f"{files.directory}/{name}")
    files.names_changed = True


def _offset(name: str) -> int:
    """The offset that a file is named by."""
    return int(name.partition(".")[0])

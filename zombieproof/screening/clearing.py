"""From the bytes of segments to the summary of a log: what is clear of it is what `read_partition` finds nothing in."""

from collections.abc import Iterable
from pathlib import Path

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.rules import Rules
from zombieproof.screening.reading import CHUNK, read_columns
from zombieproof.screening.rules import Unclear
from zombieproof.screening.summaries import SegmentScreen, Summary, beginning, merge
from zombieproof.traces.readers.files import base_offset_of, opened


def screen_data(data: memoryview, file: str, topic: str, rows: int = CHUNK) -> Summary:
    """Screen the bytes of one segment; `file` is its name, which tells its first offset."""
    screen = SegmentScreen(base_offset_of(file), judges_sequences=topic != CONSUMER_OFFSETS)
    for chunk in read_columns(data, file, rows):
        if chunk.damage or chunk.old_format:
            screen.refuse(Unclear.NOT_BELIEVED)
        screen.take(chunk.columns)
    return screen.summary()


def screen_segment(path: Path, topic: str) -> Summary:
    """Screen one segment file.

    Raises:
        OSError: the file cannot be opened or mapped.
    """
    with opened(path) as content:
        summary = screen_data(content.data, str(path), topic)
        if content.fault is not None:
            summary.unclear = summary.unclear or Unclear.NOT_BELIEVED
        return summary


def whole(
    summaries: Iterable[Summary],
    *,
    start_offset: int | None = None,
    is_cleaned: bool = False,
    rules: Rules | None = None,
) -> Summary:
    """The summary of a log from those of all its segments, in their order. Nothing is cleared by other rules.

    `start_offset` is what the log start checkpoint says, `is_cleaned` whether a cleaner checkpoint names the partition.
    """
    merged: Summary | None = None
    for summary in summaries:
        if merged is None:
            start = max(summary.begin, start_offset or 0)
            merged = beginning(
                summary.begin, start_offset=start, is_cleaned=is_cleaned, judges_sequences=summary.judges_sequences
            )
        merged = merge(merged, summary)
    if merged is None:
        raise ValueError("a log has a segment at least, and none is given")
    if merged.is_clear and rules is not None and rules != Rules():
        merged.unclear = Unclear.OTHER_RULES
    return merged

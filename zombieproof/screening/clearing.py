"""From segments of one partition to what is cleared of it, and what the coordinator's log and other partitions add.

What is cleared is what `read_partition` finds nothing in, with the same runs and endings; judges that compare logs with
each other still have to look at those.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.screening.kernel import END_COMMITS, END_EPOCH, END_FIRST, END_MARKER_EPOCH, END_PRODUCER_ID, UNSEEN
from zombieproof.screening.reading import CHUNK, read_columns
from zombieproof.screening.rules import Unclear
from zombieproof.screening.summaries import Screen, Summary, beginning, merge
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.readers.files import base_offset_of, opened


def screen_data(data: memoryview, file: str, topic: str, rows: int = CHUNK) -> Summary:
    """Screen the bytes of one segment; `file` is its name, which tells its first offset."""
    screen = Screen(base_offset_of(file), judges_sequences=topic != CONSUMER_OFFSETS)
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


def beside_the_coordinator(summary: Summary, facts: CoordinatorFacts) -> Unclear:
    """Why a log that is cleared by itself is not, when it is read with what the coordinator's log tells.

    Data or markers of an epoch of which the coordinator knows no transaction; and markers that do not raise the epoch
    of their data, where transaction version 2 does (M2).
    """
    ends = summary.ends()
    has_data = ends[:, END_FIRST] != UNSEEN
    data = {tuple(pair) for pair in np.unique(ends[has_data][:, [END_PRODUCER_ID, END_EPOCH]], axis=0).tolist()}
    data |= {(producer_id, each.run_epoch) for producer_id, each in summary.open_runs().items()}
    markers = {tuple(pair) for pair in np.unique(ends[:, [END_PRODUCER_ID, END_MARKER_EPOCH]], axis=0).tolist()}
    same = ends[has_data & (ends[:, END_EPOCH] == ends[:, END_MARKER_EPOCH])]
    unraised = {tuple(pair) for pair in np.unique(same[:, [END_PRODUCER_ID, END_MARKER_EPOCH]], axis=0).tolist()}
    if any(facts.is_foreign_data(*pair) for pair in data) or any(facts.is_foreign_marker(*pair) for pair in markers):
        return Unclear.COORDINATOR
    if any(facts.markers.get(pair, 0) >= TransactionVersion.TV2 for pair in unraised):
        return Unclear.COORDINATOR
    return Unclear.CLEAR


def across_partitions(summaries: Mapping[str, Summary]) -> Unclear:
    """Whether markers one epoch above their data, which end one transaction each, say the same on every partition."""
    found = [
        ends[_ends_one_transaction(ends)][:, [END_PRODUCER_ID, END_MARKER_EPOCH, END_COMMITS]]
        for ends in _ends(summaries)
    ]
    if not found:
        return Unclear.CLEAR
    outcomes = np.unique(np.concatenate(found), axis=0)
    transactions = np.unique(outcomes[:, :2], axis=0)
    return Unclear.CLEAR if len(outcomes) == len(transactions) else Unclear.OUTCOMES_DIFFER


def _ends(summaries: Mapping[str, Summary]) -> Iterable[NDArray[np.int64]]:
    return (summary.ends() for summary in summaries.values())


def _ends_one_transaction(ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    raised: NDArray[np.bool_] = (ends[:, END_FIRST] != UNSEEN) & (ends[:, END_EPOCH] + 1 == ends[:, END_MARKER_EPOCH])
    return raised

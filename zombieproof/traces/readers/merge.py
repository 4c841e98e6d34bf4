"""From segments and dumps of segments to logs of partitions: each log once, the best copy first.

Copies of a partition (replicas, dumps beside segments) are compared batch by batch: one whose batches are all in a
better one says nothing new and is left out. Copies that differ stay.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.traces.evidence import (
    Damage,
    LoggedBatch,
    Lost,
    OffsetCommitRecord,
    PartitionLog,
    Source,
    TransactionStateRecord,
)
from zombieproof.traces.readers import offsets_log, transaction_log
from zombieproof.traces.readers.files import base_offset_of, plain_name
from zombieproof.traces.readers.segment_content import SegmentContent


@dataclass(slots=True)
class Copy:
    """One copy of a partition's log and the segments it is made of. `damage` was found while putting them together."""

    log: PartitionLog
    segments: list[SegmentContent]
    damage: list[Damage] = field(default_factory=list)


GroupKey = tuple[Source, str, str, int, str]


def copies_of(contents: Iterable[tuple[Source, str, SegmentContent]]) -> list[Copy]:
    """Put segments together that belong to one log. The string tells apart dumps that were made in different places.

    Where the partition is unknown, segments of one folder go together, and parts of one dump while their names differ.
    Every broker has its segments under the same path: two of one path that differ are of two copies.
    """
    groups: dict[GroupKey, dict[str, SegmentContent]] = {}
    chosen: dict[tuple[str, GroupKey], GroupKey] = {}
    seen: Counter[tuple[GroupKey, str]] = Counter()
    for source, origin, content in contents:
        name = plain_name(content.segment)
        key = first = _group_of(source, origin, content, name, seen)
        if content.place.is_known:
            key = _agreeing(content, name, chosen.get((content.file, first), first), groups)
            chosen[content.file, first] = key
        segments = groups.setdefault(key, {})
        known = segments.get(name)
        poorer, richer = (
            (known, content) if known is None or _richness(content) > _richness(known) else (content, known)
        )
        segments[name] = richer
        if poorer is not None:
            _complete(richer, poorer)
    return [
        _assembled(PartitionLog(topic, partition, replica, source), list(segments.values()))
        for (source, _, topic, partition, replica), segments in groups.items()
    ]


def _group_of(
    source: Source, origin: str, content: SegmentContent, name: str, seen: Counter[tuple[GroupKey, str]]
) -> GroupKey:
    """The log that a segment belongs to; `seen` counts those of one name that nothing else tells apart."""
    place = content.place
    if place.is_known:
        return source, origin, place.topic, place.partition, place.replica
    in_a_folder = source is Source.SEGMENT and base_offset_of(content.file) is not None
    home = place.replica if in_a_folder else content.file
    alike = (source, origin, place.topic, place.partition, home), name
    seen[alike] += 1
    replica = home if seen[alike] == 1 else f"{home} ({seen[alike]})"
    return source, origin, place.topic or f"unknown ({replica})", place.partition, replica


def _agreeing(
    content: SegmentContent, name: str, key: GroupKey, groups: dict[GroupKey, dict[str, SegmentContent]]
) -> GroupKey:
    """The key under which no segment of that name differs: `key`, or one of a further copy."""
    source, origin, topic, partition, replica = key
    number = 1
    while (known := groups.get(key, {}).get(name)) is not None and _differ(known, content):
        number += 1
        key = source, origin, topic, partition, f"{replica} ({number})"
    return key


def _differ(one: SegmentContent, other: SegmentContent) -> bool:
    """Whether two readings of a segment show different batches at an offset."""
    known = {batch.base_offset: batch for batch in one.batches}
    pairs = ((known.get(batch.base_offset), batch) for batch in other.batches)
    return any(mine is not None and _is_another(mine, theirs) for mine, theirs in pairs)


def _is_another(one: LoggedBatch, other: LoggedBatch) -> bool:
    if one.crc is not None and other.crc is not None:
        return one.crc != other.crc
    markers = one.marker is not None and other.marker is not None and one.marker != other.marker
    return markers or (one.producer_id, one.producer_epoch, one.base_sequence) != (
        other.producer_id,
        other.producer_epoch,
        other.base_sequence,
    )


def _complete(richer: SegmentContent, poorer: SegmentContent) -> None:
    """What one reading of a segment does not show (a dump without records) another may."""
    shown = {batch.base_offset: batch for batch in poorer.batches if batch.marker or batch.records is not None}
    for batch in richer.batches:
        other = shown.get(batch.base_offset)
        if other is not None and _same(batch, other):
            batch.marker = batch.marker or other.marker
            batch.records = other.records if batch.records is None else batch.records
    if richer.batches and poorer.batches and _same(richer.batches[-1], poorer.batches[-1]):
        richer.is_printed_twice |= poorer.is_printed_twice or richer.shows_records != poorer.shows_records
    if poorer.torn_tail and len(poorer.batches) == len(richer.batches):
        richer.torn_tail = True
    if len(poorer.transaction_states) > len(richer.transaction_states):
        richer.transaction_states = poorer.transaction_states
    if len(poorer.offset_commits) > len(richer.offset_commits):
        richer.offset_commits = poorer.offset_commits


def _richness(content: SegmentContent) -> tuple[int, int]:
    shown = sum(batch.marker is not None or batch.records is not None for batch in content.batches)
    return len(content.batches), shown + len(content.transaction_states) + len(content.offset_commits)


def _begin(content: SegmentContent) -> int:
    if content.start_offset is not None:
        return content.start_offset
    return content.batches[0].base_offset if content.batches else 0


def _assembled(log: PartitionLog, segments: list[SegmentContent]) -> Copy:
    segments.sort(key=_begin)
    copy = Copy(log, segments)
    broken: set[int] = set()
    between: set[int] = set()
    log.start_offset = log.end_offset = _begin(segments[0])
    before: SegmentContent | None = None
    is_open = was_cut = False
    joined: list[LoggedBatch] = []
    for segment in segments:
        batches = segment.batches
        if before is not None and _begin(segment) > log.end_offset:
            is_open = True
            was_cut = bool(before.torn_tail or before.skipped or before.old_format)
            if not was_cut:
                why = f"the next segment ({plain_name(segment.segment)}) begins at {_begin(segment)}"
                log.lost.append(Lost(log.end_offset, _begin(segment) - 1, why))
        if is_open and batches:
            (broken if was_cut else between).add(batches[0].base_offset)
            is_open = False
        before = segment
        if batches and joined and batches[0].base_offset < log.end_offset:
            message = f"offset {batches[0].base_offset} stands in the segment before too; only what follows is read"
            copy.damage.append(Damage(segment.file, 0, message, segment.unit))
            batches = [batch for batch in batches if batch.base_offset >= log.end_offset]
        if log.torn_tail and batches:
            broken.add(batches[0].base_offset)
        broken |= segment.broken_at
        joined += batches
        log.unsound += segment.unsound
        log.torn_tail = segment.torn_tail or (log.torn_tail and not batches)
        log.end_offset = max(log.end_offset, _begin(segment), batches[-1].last_offset + 1 if batches else 0)
        log.is_guessed |= segment.is_guessed
        if segment.file not in log.files:
            log.files.append(segment.file)
    log.is_printed_twice = segments[-1].is_printed_twice
    log.batches, log.damaged_at = joined, frozenset(broken | between)
    if between and _is_cleaned(log):
        # The cleaner takes records at the end of a segment as well: nothing tells that a segment is lost.
        log.damaged_at = frozenset(broken)
        log.lost.clear()
    return copy


def _is_cleaned(log: PartitionLog) -> bool:
    """Whether the log shows a cleaner by more than offsets that are missing between segments (`log.damaged_at`).

    A segment that is lost leaves the same hole, and nothing else.
    """
    missing_inside = any(not gap.damaged for gap in log.gaps())
    return missing_inside or any(batch.delete_horizon_ms is not None or not batch.is_dense for batch in log.batches)


def _same(one: LoggedBatch, other: LoggedBatch) -> bool:
    """Whether two readings show the same batch, in what both of them show."""
    if one.crc is not None and other.crc is not None and one.crc != other.crc:
        return False
    if one.marker is not None and other.marker is not None and one.marker != other.marker:
        return False
    return _identity(one) == _identity(other)


def _identity(batch: LoggedBatch) -> tuple[int, ...]:
    """What every reading of a batch shows of it."""
    return batch.base_offset, batch.last_offset, batch.producer_id, batch.producer_epoch, batch.base_sequence


def _contained(log: PartitionLog, better: PartitionLog) -> bool:
    if log.end_offset > better.end_offset and not log.batches:
        return False
    known = {batch.base_offset: batch for batch in better.batches}
    return all(batch.base_offset in known and _same(batch, known[batch.base_offset]) for batch in log.batches)


def _preference(copy: Copy) -> tuple[int, bool, int, str]:
    log = copy.log
    shown = sum(batch.marker is not None for batch in log.batches) + sum(map(_shown, copy.segments))
    return -log.end_offset, log.source is not Source.SEGMENT, -len(log.batches) - shown, log.replica


def _shown(content: SegmentContent) -> int:
    return len(content.transaction_states) + len(content.offset_commits)


def node_folder(log: PartitionLog) -> str:
    """The folder that holds what a node was left with: the one above the partition's, or that of a dump."""
    folder = Path(log.files[0]).parent if log.files else Path(log.replica)
    return str(folder.parent if log.source is Source.SEGMENT else folder)


class _Holders:
    """Copies by the batches that they hold: one that holds the first batch of another may hold all of it."""

    def __init__(self, copies: Iterable[Copy]) -> None:
        self._all: list[Copy] = []
        self._by_batch: dict[tuple[int, ...], list[Copy]] = {}
        for copy in copies:
            self.add(copy)

    def add(self, copy: Copy) -> None:
        self._all.append(copy)
        for batch in copy.log.batches:
            self._by_batch.setdefault(_identity(batch), []).append(copy)

    def of(self, log: PartitionLog) -> Iterator[Copy]:
        """The copies in which all batches of a log are."""
        likely = self._by_batch.get(_identity(log.batches[0]), ()) if log.batches else self._all
        return (copy for copy in likely if _contained(log, copy.log))


def without_repetitions(copies: list[Copy], agreements: set[frozenset[str]]) -> list[Copy]:
    """The copies to keep: by partition, the best first. Copies of unknown partitions are compared with all others.

    Folders of which one repeats the other are put into `agreements`.
    """
    by_partition: dict[tuple[str, int], list[Copy]] = {}
    for copy in copies:
        by_partition.setdefault(copy.log.topic_partition, []).append(copy)
    kept: list[Copy] = []
    others: _Holders | None = None
    for (_, partition), rivals in sorted(by_partition.items(), key=lambda item: (item[0][1] < 0, item[0])):
        if len(rivals) == 1 and partition >= 0:
            kept += rivals
            continue
        if partition < 0 and others is None:
            others = _Holders(kept)
        holders = others or _Holders(())
        for copy in sorted(rivals, key=_preference) if len(rivals) > 1 else rivals:
            better = next(holders.of(copy.log), None)
            if better is None:
                holders.add(copy)
                kept.append(copy)
            elif copy.log.batches:
                agreements.add(frozenset((node_folder(copy.log), node_folder(better.log))))
    return sorted(kept, key=lambda copy: copy.log.topic_partition)


def transaction_states(copy: Copy) -> tuple[list[TransactionStateRecord], list[Damage]]:
    """The records of a copy of ``__transaction_state``, by offset, and those that cannot be read."""
    assert copy.log.topic == TRANSACTION_STATE
    if copy.log.source is Source.DUMP:
        return [state for segment in copy.segments for state in segment.transaction_states], []
    found: list[TransactionStateRecord] = []
    damage: list[Damage] = []
    for batch in copy.log.batches:
        try:
            found += transaction_log.read_batch(batch, copy.log.partition)
        except Undecodable as fault:
            damage.append(Damage(batch.file, batch.position, str(fault)))
    return found, damage


def offset_commits(copy: Copy) -> tuple[list[OffsetCommitRecord], list[Damage]]:
    """The offset commits of a copy of ``__consumer_offsets``, by offset, and those that cannot be read."""
    assert copy.log.topic == CONSUMER_OFFSETS
    if copy.log.source is Source.DUMP:
        return [commit for segment in copy.segments for commit in segment.offset_commits], []
    found: list[OffsetCommitRecord] = []
    damage: list[Damage] = []
    for batch in copy.log.batches:
        try:
            found += offsets_log.read_batch(batch, copy.log.partition)
        except Undecodable as fault:
            damage.append(Damage(batch.file, batch.position, str(fault)))
    return found, damage

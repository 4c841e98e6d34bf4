"""The index of aborted transactions against the log: by the index alone, consumers know which records to skip.

A broker that starts without a producer snapshot folds the log from its start offset. DeleteRecords and retention move
that offset into transactions, so an entry may begin where the transaction began, or at the first batch at the start
offset of that time, and a transaction that lies wholly below it no longer holds the last stable offset of others back.
Source: reference §3.5, §6; ``UnifiedLog.rebuildProducerState``.
"""

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Holes, PartitionLog
from zombieproof.traces.judging.folded import Folded
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.visibility import AbortedSpan, AbortMarker, Visibility, abort_markers
from zombieproof.traces.verdict.circumstances import Circumstances, Harm, Shape
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named
from zombieproof.traces.watching import Watch


def judge_aborted_index(folded: Folded, watch: Watch) -> list[Found]:
    """Compare each index with the log.

    The index of a broker that was killed may end early, so nothing is missed after its last entry. The cleaner takes
    data and markers of compacted topics. Markers below the start offset concern no consumer, though the segment
    may still hold them and the index their entries. A file with damage may hold entries that were not read.
    """
    damaged = {place.file for place in folded.evidence.damage}
    torn = {(entry.topic, entry.partition) for entry in folded.evidence.aborted_transactions if entry.file in damaged}
    indexes: dict[TopicPartition, set[AbortedSpan]] = {}
    for entry in folded.evidence.aborted_transactions:
        span = AbortedSpan(entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset)
        indexes.setdefault((entry.topic, entry.partition), set()).add(span)
    found = []
    for place, entries in indexes.items():
        visibility = folded.seen.get(place)
        if visibility is None or not visibility.is_certain:
            continue
        lost = _lost_markers(entries, visibility.log)
        found += [Found(_lost_marker(place, span)) for span in sorted(lost)]
        if visibility.log.compacted or lost:
            continue
        lacks, invents = _compare(entries, visibility)
        if place not in torn:
            found += [Found(_misindexed(place, span, invents=False)) for span in sorted(lacks)]
        found += [Found(_misindexed(place, span, invents=True)) for span in sorted(invents)]
    return found


def _lost_markers(entries: set[AbortedSpan], log: PartitionLog) -> set[AbortedSpan]:
    """The entries whose marker is missing inside the log: the cleaner takes an entry with its marker."""
    missing = [] if log.holes is Holes.CLEANER else log.missing()
    return {span for span in entries if any(gap.first <= span.last_offset <= gap.last for gap in missing)}


def _lost_marker(place: TopicPartition, span: AbortedSpan) -> Fault:
    names = f"names an ABORT marker of producer id {span.producer_id} at offset {span.last_offset}"
    lacks = f"for data from offset {span.first_offset} on, which is missing from the log"
    return Fault(
        "the_aborted_index_is_what_the_log_says",
        f"the index of aborted transactions of {named(place)} {names} {lacks}",
        None,
        span.producer_id,
        None,
        place,
        span.last_offset,
        circumstances=Circumstances(Shape.MARKER_MISSING, Harm.VISIBLE, [(span.first_offset, span.last_offset)]),
    )


def _compare(entries: set[AbortedSpan], visibility: Visibility) -> tuple[set[AbortedSpan], set[AbortedSpan]]:
    """Return the entries that the index lacks, and its entries that contradict the log."""
    end, start = max(span.last_offset for span in entries), visibility.log.start_offset
    mine = {span for span in visibility.aborted if start <= span.last_offset <= end}
    theirs = {span for span in entries if span.last_offset >= start}
    if start == 0 or mine == theirs:
        return mine - theirs, theirs - mine
    markers = {marker.span.last_offset: marker for marker in abort_markers(visibility.log)}
    of = {entry: markers.get(entry.last_offset) for entry in theirs}
    right = {entry for entry, marker in of.items() if marker is not None and _may_stand_for(entry, marker, start)}
    known = {entry.last_offset for entry in right}
    wanted = {marker.span for marker in markers.values() if marker.span.first_offset != NONE}
    return {span for span in wanted if span.last_offset <= end and span.last_offset not in known}, theirs - right


def _may_stand_for(entry: AbortedSpan, marker: AbortMarker, start: int) -> bool:
    """Whether a broker that folds the log from any start offset up to `start` can write this entry for the marker."""
    span = marker.span
    if entry.producer_id != span.producer_id:
        return False
    has_data = span.first_offset != NONE
    first = min(start, span.first_offset) if has_data else start
    begins = marker.previous < entry.first_offset < first or (has_data and entry.first_offset == span.first_offset)
    stable = min(start, span.last_stable_offset)
    return begins and (entry.last_stable_offset < stable or entry.last_stable_offset == span.last_stable_offset)


def _misindexed(place: TopicPartition, span: AbortedSpan, *, invents: bool) -> Fault:
    fault = "has an entry of its own for" if invents else "has no entry for"
    what = (
        f"an aborted transaction of producer id {span.producer_id} at offsets {span.first_offset} to {span.last_offset}"
    )
    stable = f"(stable up to {span.last_stable_offset})"
    message = f"the index of aborted transactions of {named(place)} {fault} {what} {stable}, and the log says otherwise"
    shape = Shape.INDEX_INVENTS if invents else Shape.INDEX_LACKS
    harm = Harm.LOST if invents else Harm.VISIBLE
    return Fault(
        "the_aborted_index_is_what_the_log_says",
        message,
        None,
        span.producer_id,
        None,
        place,
        span.last_offset,
        circumstances=Circumstances(shape, harm, [(span.first_offset, span.last_offset)]),
    )

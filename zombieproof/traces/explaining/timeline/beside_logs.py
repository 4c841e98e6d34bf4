"""What lies beside a partition's log and says something of a subject: snapshots, the index of aborted transactions."""

from collections.abc import Iterable

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import ProducerSnapshot
from zombieproof.traces.explaining.timeline.entries import Entry, EntryKind, span
from zombieproof.traces.explaining.timeline.subject import Subject
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.verdict.report import named

BEFORE, AT, BEHIND = range(3)
"""Where something stands that is said of an offset: what is said before its batch, the batch, what is said of it."""


def of_snapshots(
    subject: Subject, examined: Examined, place: TopicPartition
) -> Iterable[tuple[tuple[int, int], Entry]]:
    """Snapshots of what a leader remembered, each with where it stands."""
    for snapshot in examined.evidence.snapshots:
        if (snapshot.topic, snapshot.partition) != place:
            continue
        text = _remembered(subject, snapshot, is_whole=subject.place == place)
        if text:
            entry = Entry(
                kind=EntryKind.SNAPSHOT,
                source=named(place),
                text=f"snapshot before this offset: {text}",
                file=snapshot.file,
                topic=place[0],
                partition=place[1],
                offset=snapshot.offset,
            )
            yield (snapshot.offset, BEFORE), entry


def _remembered(subject: Subject, snapshot: ProducerSnapshot, *, is_whole: bool) -> str:
    """What a leader remembered; of a whole partition only how many, and what was open."""
    if is_whole:
        producers = "1 producer" if len(snapshot.entries) == 1 else f"{len(snapshot.entries):,} producers"
        begun = [
            f"producer {entry.producer_id} from offset {entry.current_txn_first_offset}"
            for entry in snapshot.entries
            if entry.current_txn_first_offset is not None
        ]
        return f"{producers} known, " + (f"open: {', '.join(begun)}" if begun else "nothing open")
    notes = []
    for entry in snapshot.entries:
        if subject.is_producer(entry.producer_id, entry.producer_epoch):
            last = f", last sequence {entry.last_sequence}" if entry.last_sequence != NONE else ""
            first = entry.current_txn_first_offset
            begun_at = "nothing open" if first is None else f"open from offset {first}"
            notes.append(f"producer {entry.producer_id} epoch {entry.producer_epoch}{last}, {begun_at}")
    return "; ".join(notes)


def of_index(subject: Subject, examined: Examined, place: TopicPartition) -> Iterable[tuple[tuple[int, int], Entry]]:
    """Entries of the index, each with where it stands."""
    for aborted in examined.evidence.aborted_transactions:
        is_asked = subject.place == place or (subject.epoch is None and subject.is_producer(aborted.producer_id))
        if (aborted.topic, aborted.partition) == place and is_asked:
            where = span(aborted.first_offset, aborted.last_offset)
            entry = Entry(
                kind=EntryKind.ABORTED_INDEX,
                source=named(place),
                text=f"index of aborted transactions: producer {aborted.producer_id} at {where}",
                file=aborted.file,
                topic=place[0],
                partition=place[1],
                offset=aborted.last_offset,
                producer_id=aborted.producer_id,
            )
            yield (aborted.last_offset, BEHIND), entry

"""Markers against decisions: what the coordinator decided, and what lies on the partitions.

For each partition and producer id, markers are put beside the transactions that list the partition (`alignment`), and
what is left over on either side is a fault, unless the evidence that would explain it can be missing: cleaned away by
compaction or retention, in an unreadable place, or in a part of a log that was not given.
"""

from collections import Counter
from collections.abc import Iterator

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.judging.across.alignment import agrees
from zombieproof.traces.judging.across.matching import Match, listed_by_partition, match
from zombieproof.traces.judging.across.missing_markers import data_of, missing_marker, standing_of
from zombieproof.traces.judging.across.owners import open_data, strangers, unowned
from zombieproof.traces.judging.folded import Folded, Outside
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import of_marker, seen, settled
from zombieproof.traces.judging.histories.partition_history import Ending
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.words import identity, kind, span
from zombieproof.traces.log_life import Standing
from zombieproof.traces.readers.files import UNKNOWN_PARTITION
from zombieproof.traces.verdict.circumstances import Circumstances, Harm, Shape, harm_of_end
from zombieproof.traces.verdict.faults import Fault, OpenEnd
from zombieproof.traces.verdict.report import TransactionOutcome, named
from zombieproof.traces.watching import Watch


def judge_markers(folded: Folded, watch: Watch) -> list[Found]:
    """The faults that show only when the coordinator's log and those of partitions are put beside each other."""
    owners, listed = folded.facts.owners, listed_by_partition(folded.histories)
    found: list[Found] = []
    for partition in folded.partitions.values():
        here = listed.get(partition.place, {})
        if partition.place[1] == UNKNOWN_PARTITION or (partition.log.is_guessed and not here):
            # Nothing tells of which partition it is, or a name alone, which no transaction lists.
            continue
        for producer_id in sorted((partition.transactional_producers() | here.keys()) & owners.keys()):
            somewhere = listed.get(None, {}).get(producer_id, [])
            wanted = sorted(here.get(producer_id, []) + somewhere, key=lambda txn: txn.position)
            outside = folded.outside.setdefault(partition.place, Outside())
            found += _Judge(match(owners[producer_id], partition, producer_id, wanted), outside).found()
    return found


class _Judge:
    """What is left over of one producer id on one partition once markers and transactions were aligned."""

    def __init__(self, match: Match, outside: Outside) -> None:
        self.match, self.outside = match, outside
        self.history, self.log = match.history, match.partition.log
        self.unmatched = list(match.unmatched)
        self.data_epochs = Counter(txn.data_epoch for txn in match.listed)

    def found(self) -> Iterator[Found]:
        """All faults."""
        for ending, txn in self.match.contrary:
            if self._is_the_only_one(ending, txn):
                yield self._contrary(ending, txn)
        reported: set[int] = set()
        for missed in self.match.missed:
            wrong = next((ending for ending in self.unmatched if _is_for(ending, missed.txn)), None)
            if wrong is not None:
                self.unmatched.remove(wrong)
                yield self._wrong_epoch(wrong, missed.txn)
            else:
                # Under the old protocol an epoch has many transactions: which of them wrote the data is not told.
                is_alone = self.data_epochs[missed.txn.data_epoch] == 1
                standing, run = standing_of(self.match, missed, data_of(self.match, missed), is_alone=is_alone)
                if standing is Standing.EXPECTED:
                    reported.add(id(run))
                    yield from missing_marker(self.match, missed, run)
                else:
                    self._note(missed.txn, standing)
        for ending in self.unmatched:
            if self._is_unexplained(ending):
                yield self._undecided(ending)
        yield from strangers(self.match, self.unmatched, self.data_epochs)
        yield from open_data(self.match, reported)

    def _note(self, txn: RecordedTransaction, standing: Standing) -> None:
        """Note a transaction of which nothing may be in the present log of the partition."""
        noted = {Standing.EARLIER: self.outside.earlier, Standing.UNKNOWN: self.outside.unknown}.get(standing)
        if noted is not None:
            noted[txn.transactional_id, txn.position] = f"{txn.transactional_id!r} ({identity(txn)})"

    def _is_the_only_one(self, ending: Ending, txn: RecordedTransaction) -> bool:
        """Whether the marker can be of no other transaction: its epoch is (version 2), or nothing is missing."""
        same_epoch = sum(other.marker_epoch == ending.epoch for other in self.match.listed)
        if txn.version == TransactionVersion.TV2 and same_epoch == 1:
            return True
        return not self.log.damaged_at and self.history.is_whole(ending.producer_id, ending.epoch)

    def _contrary(self, ending: Ending, txn: RecordedTransaction) -> Found:
        place = self.match.place
        offsets = place[0] == CONSUMER_OFFSETS
        decided = f"{txn.transactional_id!r} ({identity(txn)}) was decided to {txn.outcome}"
        message = f"the marker at offset {ending.offset} of {named(place)} says {kind(ending)}, but {decided}"
        if ending.run is not None:
            what = "offsets of groups" if offsets else "records"
            effect = "count" if ending.commits else "are lost"
            where = span(ending.run.first_offset, ending.run.last_offset)
            message += f": its {what} at {where} {effect} all the same"
        promise = "committed_offsets_follow_their_transaction" if offsets else "same_outcome_on_every_partition"
        circumstances = of_marker(self.history, Shape.MARKER_CONTRARY, ending, txn)
        circumstances.harm = (
            harm_of_end(txn.outcome is TransactionOutcome.COMMIT, seen(ending)) if ending.run else Harm.NONE
        )
        return self._at(ending, promise, message, circumstances)

    def _wrong_epoch(self, ending: Ending, txn: RecordedTransaction) -> Found:
        """The marker is there, but under another epoch than was decided."""
        expected = f"the coordinator decided {txn.outcome} under epoch {txn.marker_epoch}"
        found = f"the {kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        message = f"{found} has epoch {ending.epoch}, but {expected}"
        circumstances = of_marker(self.history, Shape.MARKER_EPOCH, ending, txn)
        return self._at(ending, "marker_follows_a_decision", message, circumstances, says=expected)

    # ---- a marker without a transaction

    def _is_unexplained(self, ending: Ending) -> bool:
        """Whether nothing is missing that could explain a marker of no transaction."""
        epochs = {ending.epoch} if ending.run is None else {ending.epoch, ending.run.epoch}
        return all(self.history.is_whole(ending.producer_id, epoch) for epoch in epochs)

    def _undecided(self, ending: Ending) -> Found:
        run, history = ending.run, self.history
        open_end = history.open_end(ending.timestamp_ms)
        where = f"the {kind(ending)} marker at offset {ending.offset} of {named(self.match.place)}"
        waiting = [txn for txn in self.match.listed if run and txn.data_epoch == run.epoch and not txn.decided]
        if waiting:
            message = f"{where} ends {waiting[-1].transactional_id!r} ({identity(waiting[-1])}), "
            message += "which the coordinator has not decided"
            circumstances = of_marker(history, Shape.MARKER_EARLY, ending, waiting[-1])
            circumstances.harm = Harm.VISIBLE if ending.commits else Harm.DISCARDED
            return self._at(ending, "marker_follows_a_decision", message, circumstances, open_end=open_end)
        if run is not None and run.records:
            repaired = f"{where} ended it without a decision of the coordinator, as an administrator's abort does"
            return unowned(self.match, run, f"; {repaired}: this is repaired, nothing stays open", ending=ending)
        decided = [
            txn for txn in history.transactions if _identity_of_marker(txn) == (ending.producer_id, ending.epoch)
        ]
        if decided and not any(txn in self.match.listed for txn in decided):
            lists = ", ".join(sorted(named(place) for txn in decided for place in txn.partitions or ()))
            belongs = f"{where} belongs to {history.transactional_id!r} ({identity(decided[0])})"
            circumstances = of_marker(history, Shape.MARKER_UNLISTED, ending, decided[0])
            promise = "marker_only_where_the_transaction_was"
            if decided[0].version == TransactionVersion.TV2:
                # Each transaction has a different epoch, so no other decision can be missing.
                open_end = None
            return self._at(ending, promise, f"{belongs}, which lists only [{lists}]", circumstances, open_end=open_end)
        message = f"{where} follows no decision: {history.transactional_id!r} has none left for producer id "
        message += f"{ending.producer_id} under epoch {ending.epoch} that lists the partition"
        circumstances = of_marker(history, Shape.MARKER_UNDECIDED, ending)
        return self._at(ending, "marker_follows_a_decision", message, circumstances, open_end=open_end)

    def _at(
        self,
        ending: Ending,
        promise: str,
        message: str,
        circumstances: Circumstances,
        *,
        says: str = "",
        open_end: OpenEnd | None = None,
    ) -> Found:
        fault = Fault(
            promise,
            message,
            self.history.transactional_id,
            ending.producer_id,
            ending.epoch,
            self.match.place,
            ending.offset,
            open_end=open_end,
            circumstances=settled(circumstances, ending.run),
        )
        return Found(fault, () if ending.run is None else (ending.run,), ending, says)


def _is_for(ending: Ending, txn: RecordedTransaction) -> bool:
    """Whether a marker of a wrong epoch ends the data of a transaction."""
    return ending.run is not None and ending.run.epoch == txn.data_epoch and agrees(ending, txn)


def _identity_of_marker(txn: RecordedTransaction) -> tuple[int, int | None]:
    return (txn.producer_id, txn.marker_epoch)

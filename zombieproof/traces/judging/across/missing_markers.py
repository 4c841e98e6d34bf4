"""A transaction that is recorded as complete, without its marker on a partition that it lists."""

from collections.abc import Iterator

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.evidence import Holes
from zombieproof.traces.judging.across.matching import Match, Missed
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import of_missing_marker, settled
from zombieproof.traces.judging.histories.partition_history import Run, Stretch
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.words import identity, kind, span, word
from zombieproof.traces.log_life import CLOCKS_APART_MS, Standing, standing_by_sequence
from zombieproof.traces.verdict.faults import Fault, OpenEnd
from zombieproof.traces.verdict.report import TransactionOutcome, named


def data_of(match: Match, missed: Missed) -> Run | None:
    """The run that may hold data of a transaction without marker: it stands between the markers around it."""
    begin = missed.before.offset if missed.before else -1
    end = missed.after.offset if missed.after else match.partition.log.end_offset
    for run in match.runs:
        stretch = run.stretch_of(missed.txn.data_epoch) if missed.txn.data_epoch is not None else None
        if stretch is not None and stretch.records and begin < stretch.first_offset < end:
            return run
    return None


def missing_marker(match: Match, missed: Missed, run: Run | None) -> Iterator[Found]:
    """The fault about a marker that is expected and not there; `run` holds data of its transaction."""
    txn, place = missed.txn, named(match.place)
    lacks = f"{txn.transactional_id!r} ({identity(txn)}) is recorded as complete ({txn.outcome}) and lists {place}"
    wanted = f"the {word(txn)} marker with epoch {txn.marker_epoch} is missing there"
    stretch = run.stretch_of(txn.data_epoch) if run and txn.data_epoch is not None else None
    offset = (
        stretch.first_offset if stretch else missed.after.offset if missed.after else match.partition.log.end_offset
    )
    fault = Fault(
        "every_listed_partition_has_its_marker",
        f"{lacks}, but {wanted}",
        txn.transactional_id,
        txn.producer_id,
        txn.data_epoch,
        match.place,
        offset,
        circumstances=of_missing_marker(match.history, txn, run, stretch),
    )
    if not match.partition.log.end_shown_by and not _goes_on(missed, run):
        fault.open_end = OpenEnd(match.place, _all_acknowledged_by(match, txn))
    if run is None or stretch is None:
        yield Found(fault)
        return
    fault.message += f" behind its data at {span(stretch.first_offset, stretch.last_offset)}"
    fault.consequences += [*_joined(run, stretch), _what_became(run, txn)]
    fault.circumstances = settled(fault.circumstances, run)
    yield Found(fault, (run,))


def _goes_on(missed: Missed, run: Run | None) -> bool:
    """Whether the partition holds a newer epoch of the producer, before which the marker would have to be."""
    later = [each.epoch for each in (missed.after, run and run.ending) if each is not None]
    if missed.txn.marker_epoch is not None and any(epoch > missed.txn.marker_epoch for epoch in later):
        return True
    return run is not None and any(each.epoch > (missed.txn.data_epoch or 0) for each in run.stretches)


def _all_acknowledged_by(match: Match, txn: RecordedTransaction) -> int | None:
    """When the markers of an epoch were acknowledged: of equal ones nothing tells which is missing. None: not known."""
    equal = [each for each in match.listed if each.completed and each.marker_epoch == txn.marker_epoch]
    times = [each.acknowledged_ms for each in equal]
    return None if None in times else max((each for each in times if each is not None), default=None)


def standing_of(match: Match, missed: Missed, run: Run | None, *, is_alone: bool) -> tuple[Standing, Run | None]:
    """Whether the marker would be in the evidence if it had been written, and the run that holds data beside it.

    `run` is what `data_of` found. `is_alone`: the transaction is the only one with data of its epoch on the partition.
    """
    txn, partition = missed.txn, match.partition
    began, has_data = partition.began, run is not None and is_alone
    may_be_earlier = began.may_be_after(txn.completed_ms) and missed.before is None and not has_data
    if began.is_recorded and (may_be_earlier or began.is_after(txn.completed_ms)):
        return _by_times(match, txn), None
    if _may_be_unreadable(match, missed, run, is_alone=is_alone) or may_stand_before(match, missed):
        return Standing.HIDDEN, run
    spanning = _spanning_a_hole(match, txn)
    if spanning is not None:
        return Standing.EXPECTED, spanning
    cleaned = partition.is_compacted or partition.log.start_offset > 0
    if run is not None and not is_alone and missed.before is None and not cleaned:
        standing = _of_data_of_another(match, txn, run)
        if standing is not None:
            return standing, None
    if run is not None:
        is_there = is_alone or not cleaned or (missed.before is not None and not partition.is_compacted)
        return (Standing.EXPECTED if is_there else Standing.HIDDEN), run
    if partition.is_compacted:
        return Standing.HIDDEN, None
    if missed.before is not None:
        return Standing.EXPECTED, None
    if cleaned:
        return Standing.HIDDEN, None
    return _by_sequence(match, txn) or _by_times(match, txn), None


def may_stand_before(match: Match, missed: Missed) -> bool:
    """Whether the marker may stand before the first offset of the log: late data of the same epoch may come after it.

    Transaction version 2 raises the epoch with the marker, so that no data can come after it.
    """
    begins_later = match.partition.log.start_offset > 0
    return begins_later and missed.before is None and missed.txn.version != TransactionVersion.TV2


def _spanning_a_hole(match: Match, txn: RecordedTransaction) -> Run | None:
    """A run with data of the epoch before missing offsets of which no cleaner is known, and its marker not before them.

    A cleaner that takes a marker has taken its data before. So where data of the producer stands before the hole, and
    no marker between them, the marker that is missing was not taken by a cleaner.
    """
    log = match.partition.log
    if log.holes is not Holes.UNKNOWN or txn.data_epoch is None:
        return None
    for gap in log.missing():
        for run in match.runs:
            ends_after = run.ending is None or run.ending.offset > gap.last
            if run.stretch_of(txn.data_epoch) is not None and run.first_offset < gap.first and ends_after:
                return run
    return None


def _of_data_of_another(match: Match, txn: RecordedTransaction, run: Run) -> Standing | None:
    """Where a transaction stands if a run, the first of its epoch, holds data of another transaction only, else None.

    Under the old protocol an epoch has many transactions; which of them wrote data, sequences and times tell.
    """
    waiting = [each for each in match.listed if id(each) not in match.marked and each.data_epoch == txn.data_epoch]
    owner = match.owner_of(run) or (waiting[-1] if waiting else None)
    if owner is None or owner is txn or txn.data_epoch is None or txn.completed_ms is None:
        return None
    standing = _by_sequence(match, txn)
    if standing is not None:
        return standing
    later = run.first_ms - txn.completed_ms
    if later < 0 or (run.ending is not None and run.first_ms > run.ending.timestamp_ms):
        return None
    return _by_times(match, txn) if later > CLOCKS_APART_MS else Standing.UNKNOWN


def _by_times(match: Match, txn: RecordedTransaction) -> Standing:
    """Compare times: whether the log began after a transaction of which it holds neither data nor a marker."""
    return match.partition.began.standing(txn.joined_ms, txn.prepared_ms, txn.completed_ms)


def _by_sequence(match: Match, txn: RecordedTransaction) -> Standing | None:
    """Where a transaction stands if only sequences tell of an earlier log that its producer wrote to, else None."""
    decided_ms = txn.completed_ms if txn.prepared_ms is None else txn.prepared_ms
    if txn.data_epoch is None or decided_ms is None or match.partition.began.is_recorded:
        return None
    return standing_by_sequence(match.partition.log, txn.producer_id, txn.data_epoch, decided_ms)


def _may_be_unreadable(match: Match, missed: Missed, run: Run | None, *, is_alone: bool) -> bool:
    """Whether the marker may stand where the log is cut or damaged."""
    txn, log = missed.txn, match.partition.log
    begin = run.first_offset if run and is_alone else missed.before.offset if missed.before else -1
    end = missed.after.offset if missed.after else None
    if run is not None and txn.data_epoch is not None:
        # Behind data of a newer epoch the marker would come too late.
        newer = [stretch.first_offset for stretch in run.stretches if stretch.epoch > txn.data_epoch]
        end = min([*newer, *([] if end is None else [end])], default=None)
    if log.torn_tail and end is None:
        return True
    return any(begin < hole and (end is None or hole <= end) for hole in log.damaged_at)


def _joined(run: Run, stretch: Stretch) -> Iterator[str]:
    """What joined the data that was left open."""
    behind = run.stretches[run.stretches.index(stretch) + 1 :]
    newer = next((each for each in behind if each.epoch > stretch.epoch), None)
    if newer is not None:
        yield f"data of epoch {newer.epoch} at offset {newer.first_offset} joined what it left open"


def _what_became(run: Run, txn: RecordedTransaction) -> str:
    if run.ending is None:
        return f"the last stable offset stays at {run.first_offset} until somebody ends it"
    ending = run.ending
    marker = f"the {kind(ending)} marker of another transaction"
    other = f"{marker} at offset {ending.offset} (epoch {ending.epoch}) ended it"
    if ending.commits is None or ending.commits == (txn.outcome is TransactionOutcome.COMMIT):
        return f"{other}; until then it held the last stable offset back"
    if ending.commits:
        return f"{other}: its aborted data is visible to read_committed consumers"
    return f"{other}: its committed data is lost to read_committed consumers"

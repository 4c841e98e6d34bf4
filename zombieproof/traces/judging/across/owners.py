"""Transactional data that belongs to no transaction of its transactional id."""

from collections.abc import Collection, Iterator, Sequence

from zombieproof.model.vocabulary import TransactionVersion
from zombieproof.traces.judging.across.matching import Match, Missed, may_be_missed
from zombieproof.traces.judging.across.missing_markers import may_stand_before, missing_marker
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import of_stranger, settled
from zombieproof.traces.judging.histories.partition_history import Ending, Run, Stretch
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.words import kind, span, word
from zombieproof.traces.log_life import CLOCKS_APART_MS
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named


def open_data(match: Match, reported: Collection[int]) -> Iterator[Found]:
    """What is open at the end of the log must be what the coordinator has open, or is about to end.

    If every transaction that may own it is complete, a marker is lost, whichever of them it belongs to; `reported` are
    the runs (by identity) of which this is found already.
    """
    run = match.partition.open_run(match.producer_id)
    if run is None or not run.records or run.interrupted or match.history.is_cut:
        return
    log = match.partition.log
    if log.torn_tail and not match.history.is_whole(run.producer_id, run.epoch):
        return
    waiting = [txn for txn in match.listed if id(txn) not in match.marked]
    owners = [txn for txn in waiting if _may_own(txn, run, is_torn=log.torn_tail)]
    if not owners:
        stays = f"the last stable offset stays at {run.first_offset}"
        says = f"it leaves a transaction open that nobody will ever end: {stays}"
        yield unowned(match, run, f"; nobody will ever end it: {stays}", says=says)
    elif not log.torn_tail and id(run) not in reported and not any(map(may_be_missed, owners)):
        missed = Missed(owners[-1], None, None)
        if not may_stand_before(match, missed):
            yield from missing_marker(match, missed, run)
        elif log.end_shown_by:
            stays = f"nobody will ever end it: the last stable offset stays at {run.first_offset}"
            yield unowned(match, run, f"; {stays}", says=f"it leaves a transaction open, and {stays}")


def _may_own(txn: RecordedTransaction, run: Run, *, is_torn: bool) -> bool:
    """Whether a transaction without marker can be that of open data. One of which only the end is known is over."""
    over = txn.completed and txn.partitions is None and not is_torn
    return not over and txn.data_epoch in (None, run.epoch)


def strangers(match: Match, unmatched: Sequence[Ending], data_epochs: Collection[int | None]) -> Iterator[Found]:
    """Data that was ended by the marker of a transaction to which it does not belong.

    `unmatched` are markers of no transaction, `data_epochs` those of the transactions that list the partition.
    """
    odd = {id(ending.run) for ending in unmatched}
    for run in match.runs:
        if run.ending is None or run.interrupted or id(run) in odd:
            continue
        for stretch in run.stretches:
            owned = stretch.epoch in data_epochs or None in data_epochs
            if stretch.records and not owned and match.history.is_whole(run.producer_id, stretch.epoch):
                ended = f"{kind(run.ending)} marker of epoch {run.ending.epoch} at offset {run.ending.offset}"
                yield unowned(match, run, f"; the {ended} ended it", stretch)


def unowned(
    match: Match,
    run: Run,
    and_then: str,
    stretch: Stretch | None = None,
    *,
    ending: Ending | None = None,
    says: str = "",
) -> Found:
    """The fault about a run, or a stretch of it, that belongs to nobody; `and_then` is how its sentence ends.

    `ending` is the marker of no transaction that ended it, if the fault is about that too.
    """
    stretch = stretch or run.stretches[-1]
    data = f"data of producer id {run.producer_id}, epoch {stretch.epoch}"
    where = f"at {span(stretch.first_offset, stretch.last_offset)} of {named(match.place)}"
    nobody = f"belongs to no transaction of {match.history.transactional_id!r}"
    fault = Fault(
        "no_open_transaction_that_nobody_owns",
        f"{data}, {where} {nobody}: {_why(match, run, stretch)}{and_then}",
        match.history.transactional_id,
        run.producer_id,
        stretch.epoch,
        match.place,
        stretch.first_offset,
        open_end=None if _is_decided(match, stretch) else match.history.open_end(_recorded_by(run, stretch)),
        circumstances=settled(of_stranger(match.history, match.place, run, stretch), run),
    )
    return Found(fault, (run,), ending, says)


def _recorded_by(run: Run, stretch: Stretch) -> int:
    """The time by which the coordinator has recorded the transaction of some data, if there is one.

    It does when the data is sent, which the producer's clock tells, and before the data is ended.
    """
    sent_ms = stretch.first_ms + CLOCKS_APART_MS
    return sent_ms if run.ending is None else min(sent_ms, run.ending.timestamp_ms)


def _is_decided(match: Match, stretch: Stretch) -> bool:
    """Whether the one transaction that has the epoch of some data is decided: under version 2 each has its own."""
    wanted = match.producer_id, stretch.epoch
    return any(
        txn.decided and txn.version == TransactionVersion.TV2 and (txn.producer_id, txn.data_epoch) == wanted
        for txn in match.history.transactions
    )


def _why(match: Match, run: Run, stretch: Stretch) -> str:
    for txn in reversed(match.history.transactions):
        if (txn.producer_id, txn.data_epoch) != (run.producer_id, stretch.epoch):
            continue
        if txn.partitions is not None and match.place not in txn.partitions:
            lists = ", ".join(sorted(map(named, txn.partitions)))
            return f"the one of this epoch lists only [{lists}]"
        if txn.decided:
            had = f"the last one of this epoch had its {word(txn)} marker before it"
            return had if id(txn) in match.marked else f"{had}, or has none"
    return "the coordinator knows none of this epoch"

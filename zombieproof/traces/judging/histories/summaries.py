"""Transactions as a report lists them: what the coordinator's log tells, else what the partitions tell."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter

from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.spans import span_of_run, span_of_transaction
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.verdict.listed import ListedTransactions
from zombieproof.traces.verdict.report import TransactionOutcome, TransactionSummary, named


def summaries(
    histories: Iterable[IdHistory], partitions: Iterable[PartitionHistory], narrowing: Narrowing
) -> Sequence[TransactionSummary]:
    """What the coordinator's log tells, and of producers that it does not name what the partitions tell."""
    partitions = list(partitions)
    found: list[TransactionSummary] = []
    known: set[int] = set()
    for history in histories:
        known |= history.producer_ids
        found += (_summary(txn) for txn in history.transactions if _is_asked_for(txn, narrowing))
    # A window is about times of runs, which a screen does not keep: then all runs are looked at.
    cleared = [] if narrowing.has_window else [each for each in partitions if each.cleared is not None]
    runs: dict[Key, list[str]] = {}
    for partition in partitions:
        if cleared and partition.cleared is not None:
            continue
        for producer_id, here in partition.runs.items():
            for run in here if producer_id not in known else ():
                if narrowing.touches(span_of_run(run)):
                    key = producer_id, run.epoch, _outcome(run, partition)
                    runs.setdefault(key, []).append(named(partition.place))
    if cleared:
        return _with_cleared(found, sorted(runs.items()), cleared, known)
    found += _unowned(sorted(runs.items()))
    return found


Key = tuple[int, int, TransactionOutcome]
"""Producer id, epoch and outcome."""


def _unowned(runs: Iterable[tuple[Key, list[str]]]) -> Iterator[TransactionSummary]:
    for (producer_id, epoch, outcome), same in groupby(runs, key=itemgetter(0)):
        places = sorted({place for _, here in same for place in here})
        yield _made(None, producer_id, epoch, outcome, places)


def _with_cleared(
    told: list[TransactionSummary],
    runs: list[tuple[Key, list[str]]],
    cleared: Sequence[PartitionHistory],
    known: set[int],
) -> ListedTransactions[TransactionSummary]:
    """The same with what lies on cleared partitions, which is not held in memory."""
    logs = [each.cleared for each in cleared if each.cleared is not None]
    together = logs[0].together(logs[1:], known)
    names = [named(each.place) for each in cleared]

    def on_cleared() -> Iterator[tuple[Key, list[str]]]:
        for (producer_id, epoch, commits), here in together.outcomes():
            yield (producer_id, epoch, _OUTCOMES[commits]), [names[each] for each in here]

    def made() -> Iterator[TransactionSummary]:
        yield from told
        yield from _unowned(merge(runs, on_cleared(), key=itemgetter(0)))

    counts = None
    if not runs:
        counts = Counter(str(each.outcome) for each in told)
        counts.update({str(_OUTCOMES[commits]): count for commits, count in together.counts().items()})
    return ListedTransactions(made, counts)


_OUTCOMES = {None: TransactionOutcome.OPEN, True: TransactionOutcome.COMMIT, False: TransactionOutcome.ABORT}


def _is_asked_for(txn: RecordedTransaction, narrowing: Narrowing) -> bool:
    """Whether a transaction touches the window, and a topic that was asked for if it touches any."""
    is_elsewhere = bool(txn.partitions) and all(narrowing.leaves_out(topic) for topic, _ in txn.partitions or ())
    return not is_elsewhere and narrowing.touches(span_of_transaction(txn))


def _summary(txn: RecordedTransaction) -> TransactionSummary:
    places = sorted(map(named, txn.partitions or ()))
    return _made(txn.transactional_id, txn.producer_id, txn.data_epoch, txn.outcome, places)


def _made(
    transactional_id: str | None, producer_id: int, epoch: int | None, outcome: TransactionOutcome, places: list[str]
) -> TransactionSummary:
    return TransactionSummary(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        outcome=outcome,
        partitions=places,
    )


def _outcome(run: Run, partition: PartitionHistory) -> TransactionOutcome:
    """How a run ended. If the log is cut or unreadable after it, its marker may be there."""
    if run.ending is None:
        is_lost = run.interrupted or partition.log.torn_tail
        return TransactionOutcome.UNKNOWN if is_lost else TransactionOutcome.OPEN
    if run.ending.commits is None:
        return TransactionOutcome.UNKNOWN
    return TransactionOutcome.COMMIT if run.ending.commits else TransactionOutcome.ABORT

"""Transactions as a report lists them: what the coordinator's log tells, else what the partitions tell."""

from collections.abc import Iterable

from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.spans import span_of_run, span_of_transaction
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.verdict.report import TransactionOutcome, TransactionSummary, named


def summaries(
    histories: Iterable[IdHistory], partitions: Iterable[PartitionHistory], narrowing: Narrowing
) -> list[TransactionSummary]:
    """What the coordinator's log tells, and of producers that it does not name what the partitions tell."""
    found: list[TransactionSummary] = []
    known: set[int] = set()
    for history in histories:
        known |= history.producer_ids
        found += (_summary(txn) for txn in history.transactions if _is_asked_for(txn, narrowing))
    runs: dict[tuple[int, int, TransactionOutcome], list[str]] = {}
    for partition in partitions:
        for producer_id, here in partition.runs.items():
            for run in here if producer_id not in known else ():
                if narrowing.touches(span_of_run(run)):
                    runs.setdefault((producer_id, run.epoch, _outcome(run)), []).append(named(partition.place))
    for (producer_id, epoch, outcome), places in sorted(runs.items()):
        places = sorted(set(places))
        found.append(_made(None, producer_id, epoch, outcome, places))
    return found


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


def _outcome(run: Run) -> TransactionOutcome:
    if run.ending is None:
        return TransactionOutcome.OPEN
    if run.ending.commits is None:
        return TransactionOutcome.UNKNOWN
    return TransactionOutcome.COMMIT if run.ending.commits else TransactionOutcome.ABORT

"""Transactions: nothing of them before they are committed, all of them afterwards, and each of them ends."""

from collections.abc import Iterator

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import Event, Read
from zombieproof.traces.history.facts import Facts, Fate, Transaction, Write
from zombieproof.traces.history.rules.committed_offsets import CommittedOffsets


def committed_reads(facts: Facts) -> Iterator[tuple[Write, Read]]:
    """Each write with the first read of it under read_committed."""
    committed = {span.reader for span in facts.spans if span.is_committed}
    for write in facts.writes.values():
        read = next((read for read in write.reads if read.reader in committed), None)
        if read is not None:
            yield write, read


def nobody_reads_what_is_aborted(facts: Facts) -> Iterator[Found]:
    """What nobody asked to commit, what was refused, and what was told to be aborted is never read."""
    for write, read in committed_reads(facts):
        transaction = write.transaction
        if transaction is not None and transaction.fate is Fate.ABORTED:
            said = transaction.told or transaction.last_end or transaction.begin
            ended = "whose commit nobody had asked for" if transaction.commit is None else "which was not committed"
            message = f"{write.send.value} of {transaction.name}, {ended}, was read by {read.reader}"
            silent = transaction.begin.process if transaction.last_end is None else None
            yield Found(Anomaly.ABORTED_READ, message, (write.send, said, read), silent)


def nobody_reads_what_is_open(facts: Facts) -> Iterator[Found]:
    """Before its commit was asked for, nothing of a transaction is read, also if it is committed later."""
    for write, read in committed_reads(facts):
        transaction = write.transaction
        if transaction is not None and transaction.commit is not None and read.at < transaction.commit.at:
            message = f"{write.send.value} was read before the commit of {transaction.name} was asked for"
            yield Found(Anomaly.DIRTY_READ, message, (write.send, read, transaction.commit))


def a_transaction_is_there_as_a_whole(facts: Facts) -> Iterator[Found]:
    """Of one transaction all acknowledged records and offsets are there, or none of them."""
    absent: dict[Transaction, Event] = {}
    names: dict[Transaction, str] = {}
    for write, span, is_behind_end in facts.passed_over:
        transaction = write.transaction
        if transaction is None or not span.is_committed or transaction in absent:
            continue
        known_at = transaction.known_at
        if is_behind_end and (known_at is None or span.final is None or span.final.since <= known_at):
            continue
        absent[transaction] = span.passing(write.offset)
        names[transaction] = write.send.value
    offsets = CommittedOffsets(facts)
    for lost in offsets.lost():
        if lost.by.transaction is not None and lost.by.transaction not in absent:
            absent[lost.by.transaction] = lost.fetched
            names[lost.by.transaction] = f"its offset of {lost.partition}"
    present: dict[Transaction, Event] = {}
    for write, read in committed_reads(facts):
        if write.transaction is not None:
            present.setdefault(write.transaction, read)
    for commit, fetched in offsets.sole_origins():
        if commit.transaction is not None:
            present.setdefault(commit.transaction, fetched)
    for transaction, missing in absent.items():
        there = present.get(transaction)
        if there is not None and transaction.fate is not Fate.ABORTED:
            message = f"{transaction.name} is there in part: {names[transaction]} is not"
            yield Found(Anomaly.TORN_TRANSACTION, message, (transaction.begin, there, missing))


def no_transaction_is_open_for_ever(facts: Facts) -> Iterator[Found]:
    """When every time-out is over, a read_committed reader reaches the end of the log."""
    for span in facts.spans:
        final = span.final
        if final is not None and span.is_committed and span.end < final.end:
            message = f"{span.reader} is held back at {span.end} of {span.partition}, which ends at {final.end}"
            yield Found(Anomaly.HANGING_TRANSACTION, message, (final,))

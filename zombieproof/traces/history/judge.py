"""Judging a history: every rule looks at the folded facts, and none knows another one."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from zombieproof.traces.history.anomalies import SENTENCES, Found
from zombieproof.traces.history.events import Begin, CommitOffsets, Send
from zombieproof.traces.history.facts import Facts, Fate
from zombieproof.traces.history.fold import Impossible, fold
from zombieproof.traces.history.history_file import History, HistoryError, format_event
from zombieproof.traces.history.rules.of_instances import a_zombie_writes_nothing_that_counts, who_is_fenced_stays_so
from zombieproof.traces.history.rules.of_offsets import (
    a_committed_offset_is_told,
    a_told_offset_was_committed,
    no_input_is_processed_twice,
    offsets_do_not_run_ahead_of_output,
)
from zombieproof.traces.history.rules.of_readers import a_reader_goes_forward, readers_see_the_same
from zombieproof.traces.history.rules.of_transactions import (
    a_transaction_is_there_as_a_whole,
    no_transaction_is_open_for_ever,
    nobody_reads_what_is_aborted,
    nobody_reads_what_is_open,
)
from zombieproof.traces.history.rules.of_writes import (
    a_record_lies_where_it_was_acknowledged,
    no_acknowledged_record_is_lost,
    no_record_is_there_twice,
    nothing_is_read_that_nobody_wrote,
    records_lie_in_the_order_in_which_they_were_sent,
)
from zombieproof.traces.history.verdict import HistoryCounts, HistoryFinding, HistoryVerdict, Shown

Rule = Callable[[Facts], Iterator[Found]]

RULES: Final[tuple[Rule, ...]] = (
    no_acknowledged_record_is_lost,
    no_record_is_there_twice,
    a_record_lies_where_it_was_acknowledged,
    nothing_is_read_that_nobody_wrote,
    records_lie_in_the_order_in_which_they_were_sent,
    nobody_reads_what_is_aborted,
    nobody_reads_what_is_open,
    a_transaction_is_there_as_a_whole,
    no_transaction_is_open_for_ever,
    a_reader_goes_forward,
    readers_see_the_same,
    a_told_offset_was_committed,
    a_committed_offset_is_told,
    no_input_is_processed_twice,
    offsets_do_not_run_ahead_of_output,
    a_zombie_writes_nothing_that_counts,
    who_is_fenced_stays_so,
)


def judge(history: History, rules: Iterable[Rule] = RULES) -> HistoryVerdict:
    """What is wrong with a history.

    Raises:
        HistoryError: an event cannot follow those before; nothing can be said of such a history.
    """
    try:
        facts = fold(history.events)
    except Impossible as impossible:
        raise HistoryError(*history.place_of(impossible.event), impossible.why) from impossible
    found = [_told(history, each) for rule in rules for each in rule(facts)]
    files = [source.name for source in history.sources]
    return HistoryVerdict(files=files, counts=_counts(history, facts), findings=found)


def _told(history: History, found: Found) -> HistoryFinding:
    shown = []
    for event in sorted(found.events, key=lambda each: each.at):
        file, line = history.place_of(event)
        shown.append(Shown(file=file, line=line, at=event.at, event=format_event(event)))
    message = found.message
    if found.silent is not None and (ends := list(_ends_before(history, found, found.silent))):
        message += f", unless lines are missing at the end of {' or '.join(ends)}"
    return HistoryFinding(anomaly=found.anomaly, sentence=SENTENCES[found.anomaly], message=message, events=shown)


def _ends_before(history: History, found: Found, process: str) -> Iterator[str]:
    """Yield the files of a process that end before an anomaly shows: nothing tells whether one was cut at its end."""
    shown_at = max(event.at for event in found.events)
    for source in history.sources:
        writers = {event.process for event in source.events if isinstance(event, (Begin, Send, CommitOffsets))}
        is_of_process = process in writers if process else bool(writers)
        if is_of_process and source.events[-1].at < shown_at:
            yield f"{source.name}, which ends at {source.events[-1].at}"


def _counts(history: History, facts: Facts) -> HistoryCounts:
    fates = [transaction.fate for transaction in facts.transactions.values()]
    asked = {write.send.process for write in facts.writes.values()}
    begun = {transaction.begin.process for transaction in facts.transactions.values()}
    return HistoryCounts(
        events=len(history.events),
        processes=len(asked | begun | set(facts.instances)),
        transactions=len(fates),
        committed=fates.count(Fate.COMMITTED),
        aborted=fates.count(Fate.ABORTED),
        unknown=fates.count(Fate.UNKNOWN),
        writes=len(facts.writes),
        acknowledged=sum(write.is_acknowledged for write in facts.writes.values()),
        reads=sum(len(span.reads) for span in facts.spans),
        readers=len({span.reader for span in facts.spans}),
    )

"""What is open: on which partitions, since when, whose it is, who will end it, and what waits behind it.

A partition's leader holds a transaction open until its marker comes; the coordinator holds one open until all markers
are written. Both are told, because they can disagree: then nobody ends it (KIP-664).
Source: reference §2.13 (time-out), §3.6 (last stable offset), §9.5; KIP-664.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import Evidence, Holes, PartitionLog, TransactionLogValue, TransactionStateRecord
from zombieproof.traces.explaining.open.models import (
    EndedBy,
    HeldPartition,
    NotKnown,
    Open,
    OpenOnPartition,
    OpenTransaction,
)
from zombieproof.traces.explaining.open.stated import owner_by_tools, what_is_stated
from zombieproof.traces.judging.across.matching import listed_by_partition, match
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.gathering.statements import newest_ms
from zombieproof.traces.judging.histories.coordinator_facts import facts_of
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.spans import span_of_evidence
from zombieproof.traces.judging.histories.visibility import OpenTransaction as OpenInLog
from zombieproof.traces.judging.histories.visibility import Visibility
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.verdict.report import named

S = TransactionState
OPEN = (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
NO_LIMIT_MS = 2**31 - 1
"""The time-out of transactions that another system decides: the coordinator never ends them (KIP-939)."""


def what_is_open(examined: Examined, narrowing: Narrowing = EVERYTHING) -> Open:
    """Everything that is open at the end of the logs, and began before the end of the window if there is one."""
    _, as_of = span_of_evidence(examined.evidence)
    coordinators = _Coordinators(examined)
    held = (
        _held(examined, place, coordinators, as_of) for place, seen in examined.seen.items() if seen.open_transactions
    )
    begun = coordinators.open_transactions(as_of)
    stated = what_is_stated(examined, narrowing)
    return Open(
        verdict=examined.report.verdict,
        as_of_ms=newest_ms(examined.evidence) if as_of is None else as_of,
        partitions=[each for each in held if _began_inside(narrowing, (txn.since_ms for txn in each.transactions))],
        transactions=[
            each for each in begun if _began_inside(narrowing, [each.since_ms]) and not _is_elsewhere(each, narrowing)
        ],
        narrowed=examined.report.narrowed,
        not_judged=examined.report.not_judged,
        stated=stated.on_partitions,
        stated_transactions=stated.transactions,
        sources=stated.sources,
        unread=stated.unread,
        undecided=stated.undecided,
        damage=examined.report.damage,
        not_known=[
            NotKnown(place[0], place[1], seen.stable_at_least, seen.high_watermark, seen.unknown[0].why)
            for place, seen in examined.seen.items()
            if not seen.open_transactions and seen.unknown and not narrowing.leaves_out(place[0])
        ],
    )


def _began_inside(narrowing: Narrowing, times: Iterable[int | None]) -> bool:
    return any(narrowing.touches((time, None)) for time in times)


def _is_elsewhere(txn: OpenTransaction, narrowing: Narrowing) -> bool:
    listed = [*txn.pending, *txn.marked, *txn.unread]
    return bool(listed) and all(narrowing.leaves_out(place.rpartition("-")[0]) for place in listed)


# ---- partitions


def _held(examined: Examined, place: TopicPartition, coordinators: "_Coordinators", as_of: int | None) -> HeldPartition:
    seen, history = examined.seen[place], examined.partitions[place]
    found = [_on_partition(examined, history, seen, each, coordinators) for each in seen.open_transactions]
    since = found[0].since_ms
    return HeldPartition(
        topic=place[0],
        partition=place[1],
        last_stable_offset=seen.stable_at_least,
        end_offset=seen.high_watermark,
        waiting_records=_waiting(history, seen),
        held_ms=None if since is None or as_of is None else max(0, as_of - since),
        transactions=found,
        unknown=next((each.why for each in seen.unknown), ""),
    )


def _on_partition(
    examined: Examined, history: PartitionHistory, seen: Visibility, begun: OpenInLog, coordinators: "_Coordinators"
) -> OpenOnPartition:
    run = history.open_run(begun.producer_id)
    owner = coordinators.owners.get(begun.producer_id)
    value = coordinators.last_value(owner)
    is_certain = _is_certain(history.log, run, begun) if run is not None else seen.is_certain
    home = (TRANSACTION_STATE, owner.log_partition if owner else NONE)
    is_certain &= not examined.folded.open_ends.keys() & {history.place, home}
    ended_by, txn = coordinators.ended_by(owner, history, begun)
    if ended_by is EndedBy.NOBODY and not is_certain:
        ended_by = EndedBy.UNKNOWN
    return OpenOnPartition(
        producer_id=begun.producer_id,
        producer_epoch=begun.producer_epoch,
        first_offset=begun.first_offset,
        since_ms=_time_of(history.log, begun.first_offset),
        last_offset=run.last_offset if run else begun.first_offset,
        records=run.records if run else 0,
        transactional_id=owner.transactional_id if owner else None,
        state=value.state.name if value else None,
        due_ms=_due(value, txn) if ended_by is EndedBy.OWNER else None,
        ended_by=ended_by,
        decided=txn.outcome if txn is not None and ended_by is EndedBy.NOBODY else None,
        is_certain=is_certain,
        pending_offsets=_pending_offsets(examined.evidence, history.place, begun),
        tool_says="" if owner else owner_by_tools(examined, begun.producer_id),
        may_begin_before=begun.may_begin_before,
    )


def _is_certain(log: PartitionLog, run: Run, begun: OpenInLog) -> bool:
    """Whether nothing after the start of a transaction is missing or unreadable that may have been its marker."""
    if log.torn_tail or run.interrupted:
        return False
    return log.holes is Holes.CLEANER or all(gap.last < begun.first_offset for gap in log.missing())


def _time_of(log: PartitionLog, offset: int) -> int | None:
    """The time of the batch that begins at an offset; None where it is gone, or has none."""
    index = bisect_left(log.batches, offset, key=lambda batch: batch.base_offset)
    if index == len(log.batches) or log.batches[index].base_offset != offset:
        return None
    time = log.batches[index].max_timestamp_ms
    return time if time >= 0 else None


def _waiting(history: PartitionHistory, seen: Visibility) -> int:
    """Records behind the last stable offset that would be read if nothing were open."""
    begun = {each.producer_id: each.first_offset for each in reversed(seen.open_transactions)}
    batches = history.log.batches
    index = bisect_left(batches, seen.last_stable_offset, key=lambda batch: batch.last_offset)
    found = 0
    for batch in batches[index:]:
        if batch.is_control:
            continue
        if batch.is_transactional:
            run = history.run_at(batch.producer_id, batch.base_offset)
            is_open = batch.base_offset >= begun.get(batch.producer_id, batch.base_offset + 1)
            if is_open or run is None or run.ending is None or run.ending.commits is False:
                continue
        found += batch.count
    return found


def _pending_offsets(evidence: Evidence, place: TopicPartition, begun: OpenInLog) -> list[str]:
    """Offsets of groups that count as soon as the transaction is committed."""
    if place[0] != CONSUMER_OFFSETS:
        return []
    return [
        f"group {commit.group}: {commit.topic}-{commit.partition} to {commit.offset}"
        for commit in evidence.offset_commits
        if commit.log_partition == place[1]
        and commit.producer_id == begun.producer_id
        and commit.is_transactional
        and commit.log_offset >= begun.first_offset
    ]


# ---- coordinators


class _Coordinators:
    """What the coordinators' logs say at their end."""

    def __init__(self, examined: Examined) -> None:
        self.examined = examined
        self.owners: Mapping[int, IdHistory] = facts_of(examined.histories).owners
        self.listed = listed_by_partition(examined.histories)
        self.last: dict[tuple[int, str], TransactionStateRecord] = {
            (record.partition, record.transactional_id): record for record in examined.evidence.transaction_states
        }

    def last_value(self, history: IdHistory | None) -> TransactionLogValue | None:
        """What was recorded last of an id; None if it is forgotten."""
        if history is None:
            return None
        return self.last[history.log_partition, history.transactional_id].value

    def ended_by(
        self, owner: IdHistory | None, history: PartitionHistory, begun: OpenInLog
    ) -> tuple[EndedBy, RecordedTransaction | None]:
        """Who will end what is open on a partition, and the transaction it is one of."""
        if owner is None:
            return EndedBy.UNKNOWN, None
        mine = [txn for txn in owner.transactions if _may_be(txn, history.place, begun)]
        txn = mine[-1] if mine else None
        if txn is not None and txn.decided and self._is_marked(owner, history, txn):
            txn = None
        if txn is not None and not txn.completed:
            return (EndedBy.MARKER if txn.decided else EndedBy.OWNER), txn
        is_whole = not owner.is_cut and owner.is_whole(begun.producer_id, begun.producer_epoch)
        return (EndedBy.NOBODY if is_whole else EndedBy.UNKNOWN), txn

    def _is_marked(self, owner: IdHistory, history: PartitionHistory, txn: RecordedTransaction) -> bool:
        listed = self.listed.get(history.place, {}).get(txn.producer_id, [])
        return id(txn) in match(owner, history, txn.producer_id, listed).marked

    def open_transactions(self, as_of: int | None) -> Iterator[OpenTransaction]:
        """What is not complete, the longest open first."""
        found = [self._open(history, as_of) for history in self.examined.histories]
        yield from sorted(filter(None, found), key=lambda txn: (txn.since_ms or 0, txn.transactional_id))

    def _open(self, history: IdHistory, as_of: int | None) -> OpenTransaction | None:
        value = self.last_value(history)
        if value is None or value.state not in OPEN or not history.transactions:
            return None
        txn = history.transactions[-1]
        due = _due(value, txn)
        pending, marked, unread = self._markers(history, txn, value.partitions)
        return OpenTransaction(
            transactional_id=history.transactional_id,
            producer_id=value.producer_id,
            producer_epoch=value.producer_epoch,
            state=value.state.name,
            since_ms=txn.opened_ms if txn.opened_ms is not None else txn.prepared_ms,
            log_partition=history.log_partition,
            offset=txn.position,
            timeout_ms=value.timeout_ms,
            due_ms=due,
            is_overdue=due is not None and as_of is not None and due < as_of,
            pending=pending,
            marked=marked,
            unread=unread,
            is_certain=not history.is_cut,
        )

    def _markers(
        self, history: IdHistory, txn: RecordedTransaction, partitions: Iterable[TopicPartition]
    ) -> tuple[list[str], list[str], list[str]]:
        """Partitions that wait for the marker, that have it, and that are not in the evidence."""
        pending, marked, unread = [], [], []
        for place in sorted(partitions):
            partition = self.examined.partitions.get(place)
            if partition is None:
                unread.append(named(place))
            elif txn.decided and self._is_marked(history, partition, txn):
                marked.append(named(place))
            else:
                pending.append(named(place))
        return pending, marked, unread


def _may_be(txn: RecordedTransaction, place: TopicPartition, begun: OpenInLog) -> bool:
    is_listed = txn.partitions is None or place in txn.partitions
    return is_listed and txn.producer_id == begun.producer_id and txn.data_epoch in (None, begun.producer_epoch)


def _due(value: TransactionLogValue | None, txn: RecordedTransaction | None) -> int | None:
    """When the coordinator will abort it, or should have: the first look at it behind this time (reference §2.13)."""
    if value is None or value.state != S.ONGOING or value.timeout_ms >= NO_LIMIT_MS:
        return None
    start = value.start_ms if value.start_ms is not None and value.start_ms >= 0 else txn.opened_ms if txn else None
    return None if start is None else start + value.timeout_ms

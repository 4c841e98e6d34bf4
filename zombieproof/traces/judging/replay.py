"""Replay: whether a recorded history is one that the protocol allows, and if not, what broke which promise where.

Every transactional id and every partition is folded through machines and decisions (`coordinator_history`,
`partition_history`); then the promises that span logs are judged (`across_logs`), what applications were told
(`what_was_told`) and what else was written down (`other_witnesses`). Nothing is taken from names of files or folders.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.evidence import Evidence, PartitionLog
from zombieproof.traces.judging.across_logs import judge_across
from zombieproof.traces.judging.belonging import settle
from zombieproof.traces.judging.client_history import ApplicationTransaction, read_applications
from zombieproof.traces.judging.clusters import report_of_several, several_clusters
from zombieproof.traces.judging.coordinator_facts import facts_of
from zombieproof.traces.judging.coordinator_history import IdHistory, read_histories
from zombieproof.traces.judging.coverage import judged, nothing_judged
from zombieproof.traces.judging.gaps import not_judged
from zombieproof.traces.judging.group_history import read_groups
from zombieproof.traces.judging.narrowing import (
    EVERYTHING,
    Narrowing,
    span_of_fault,
    span_of_run,
    span_of_transaction,
)
from zombieproof.traces.judging.other_witnesses import (
    judge_aborted_index,
    judge_client_lines,
    judge_coordinator_lines,
    judge_replicas,
)
from zombieproof.traces.judging.partition_fold import read_partition
from zombieproof.traces.judging.partition_history import PartitionHistory, Run
from zombieproof.traces.judging.progress import Stage, Watch
from zombieproof.traces.judging.promises import PROMISES
from zombieproof.traces.judging.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.verdict import (
    DamagedPlace,
    Fault,
    Judgement,
    Narrowed,
    NotJudged,
    Outcome,
    Report,
    TransactionSummary,
    named,
)
from zombieproof.traces.judging.visibility import Visibility, visibility
from zombieproof.traces.judging.what_was_told import judge_told
from zombieproof.traces.readers.collect import collect

RANK = {name: rank for rank, name in enumerate(PROMISES)}


@dataclass(slots=True)
class Examined:
    """A body of evidence, what was folded of it, and the report: whatever explains a finding reads on from here."""

    evidence: Evidence
    rules: Rules
    histories: list[IdHistory]
    partitions: dict[TopicPartition, PartitionHistory]
    seen: dict[TopicPartition, Visibility]
    report: Report


def replay(evidence: Evidence | Iterable[str | os.PathLike[str]], rules: Rules | None = None) -> Report:
    """Judge a body of evidence, or the files and folders that hold it, by the given rules (the newest by default).

    Raises:
        EvidenceError: a path does not exist, or none is given.
    """
    if not isinstance(evidence, Evidence):
        evidence = collect(evidence)
    return judge(evidence, rules).report


def judge(
    evidence: Evidence, rules: Rules | None = None, narrowing: Narrowing = EVERYTHING, watch: Watch | None = None
) -> Examined:
    """Judge a body of evidence and keep what was folded of it.

    `narrowing` is the one that the evidence was collected with; `watch` hears how far it is.
    """
    rules, watch = rules or Rules(), watch or Watch()
    if contradictions := several_clusters(evidence):
        return Examined(evidence, rules, [], {}, {}, report_of_several(evidence, contradictions))
    logs = {place: log for place, log in evidence.partition_logs().items() if place[0] != TRANSACTION_STATE}
    applications = read_applications(evidence)
    ids = dict.fromkeys(f"id {record.transactional_id}" for record in evidence.transaction_states)
    names = [*ids, *(f"partition {named(place)}" for place in logs)]
    watch.begins(Stage.JUDGING, _events(evidence, logs.values(), applications), names)
    histories = read_histories(evidence, rules, watch)
    facts = facts_of(histories)
    partitions: dict[TopicPartition, PartitionHistory] = {}
    seen: dict[TopicPartition, Visibility] = {}
    for place, log in logs.items():
        watch.works_on(f"partition {named(place)}")
        partitions[place] = read_partition(log, facts, rules, watch)
        seen[place] = visibility(log, rules, watch)
        watch.has_judged(f"partition {named(place)}", partitions[place].faults)
    watch.works_on("what the logs say of each other")
    across = judge_across(histories, facts.owners, partitions.values())
    watch.works_on("what applications were told")
    told = judge_told(applications, partitions, histories, evidence.offset_commits, watch)
    faults = [fault for history in histories for fault in history.faults]
    faults += [fault for partition in partitions.values() for fault in partition.faults]
    faults += across + told + judge_replicas(evidence)
    faults += _unexplained(judge_aborted_index(evidence, seen), faults)
    faults += judge_coordinator_lines(evidence, histories) + judge_client_lines(evidence.client_lines)
    for partition in partitions.values():
        settle(partition)
    gaps = [
        gap
        for gap in not_judged(evidence, histories, applications, partitions)
        if not narrowing.leaves_out(gap.name.rpartition("-")[0])
    ]
    report = _report(evidence, histories, partitions, seen, sorted(faults, key=_order), rules, narrowing, gaps)
    return Examined(evidence, rules, histories, partitions, seen, report)


def _events(evidence: Evidence, logs: Iterable[PartitionLog], applications: Iterable[ApplicationTransaction]) -> int:
    """What `Stage.JUDGING` counts."""
    batches = sum(len(log.batches) for log in logs)
    return len(evidence.transaction_states) + 2 * batches + sum(len(each.records) for each in applications)


def _report(
    evidence: Evidence,
    histories: Sequence[IdHistory],
    partitions: Mapping[TopicPartition, PartitionHistory],
    seen: Mapping[TopicPartition, Visibility],
    faults: Sequence[Fault],
    rules: Rules,
    narrowing: Narrowing,
    gaps: list[NotJudged],
) -> Report:
    touching = faults
    if narrowing.has_window:
        touching = [fault for fault in faults if narrowing.touches(span_of_fault(fault, evidence, partitions))]
    transactions = _transactions(histories, partitions.values(), EVERYTHING)
    asked = transactions if narrowing == EVERYTHING else _transactions(histories, partitions.values(), narrowing)
    return Report(
        verdict=_verdict(touching, evidence),
        findings=[fault.finding() for fault in touching],
        damage=[
            DamagedPlace(file=place.file, position=place.position, unit=place.unit, message=place.message)
            for place in evidence.damage
        ],
        transactions=asked,
        committed={named(place): each.offsets(Isolation.READ_COMMITTED, rules) for place, each in seen.items()},
        lso={named(place): each.last_stable_offset for place, each in seen.items()},
        group_offsets={
            group: {named(place): offset for place, offset in sorted(offsets.items())}
            for group, offsets in read_groups(evidence.offset_commits, partitions).items()
        },
        narrowed=None
        if narrowing == EVERYTHING
        else Narrowed(
            topics=list(narrowing.topics),
            left_out=sorted(evidence.left_out),
            since_ms=narrowing.since_ms,
            until_ms=narrowing.until_ms,
            findings_left_out=len(faults) - len(touching),
            transactions_left_out=len(transactions) - len(asked),
        ),
        judged=judged(evidence, histories),
        not_judged=nothing_judged(evidence) or gaps,
    )


def _unexplained(found: Sequence[Fault], known: Sequence[Fault]) -> list[Fault]:
    """The faults of producers and partitions of which nothing is known yet; the others are added to what is known."""
    explained = {(fault.place, fault.producer_id): fault for fault in reversed(known) if fault.place}
    fresh = []
    for fault in found:
        cause = explained.get((fault.place, fault.producer_id)) if fault.place else None
        if cause is None:
            fresh.append(fault)
        else:
            cause.add(fault.message)
    return fresh


def _verdict(faults: Sequence[Fault], evidence: Evidence) -> Judgement:
    if faults:
        return Judgement.VIOLATES
    return Judgement.DAMAGED if evidence.damage or nothing_judged(evidence) else Judgement.CONFORMS


def _order(fault: Fault) -> tuple[int, TopicPartition, int]:
    return RANK[fault.promise], fault.place or ("", -1), -1 if fault.offset is None else fault.offset


def _transactions(
    histories: Iterable[IdHistory], partitions: Iterable[PartitionHistory], narrowing: Narrowing
) -> list[TransactionSummary]:
    """What the coordinator's log tells, and of producers that it does not name what the partitions tell."""
    found: list[TransactionSummary] = []
    known: set[int] = set()
    for history in histories:
        known |= history.producer_ids
        found += (_summary(txn) for txn in history.transactions if _is_asked_for(txn, narrowing))
    runs: dict[tuple[int, int, Outcome], list[str]] = {}
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
    transactional_id: str | None, producer_id: int, epoch: int | None, outcome: Outcome, places: list[str]
) -> TransactionSummary:
    return TransactionSummary(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        outcome=outcome,
        partitions=places,
    )


def _outcome(run: Run) -> Outcome:
    if run.ending is None:
        return Outcome.OPEN
    if run.ending.commits is None:
        return Outcome.UNKNOWN
    return Outcome.COMMIT if run.ending.commits else Outcome.ABORT

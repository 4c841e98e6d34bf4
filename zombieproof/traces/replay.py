"""Replay: whether a recorded history is one that the protocol allows, and if not, what broke which promise where.

Every transactional id and every partition is folded through machines and decisions (`coordinator_history`,
`partition_history`); then the promises that span logs are judged (`across_logs`), what applications were told
(`what_was_told`) and what else was written down (`other_witnesses`). Nothing is taken from names of files or folders.
"""

import os
from collections.abc import Iterable, Sequence

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.across_logs import judge_across
from zombieproof.traces.client_history import read_applications
from zombieproof.traces.clusters import report_of_several, several_clusters
from zombieproof.traces.collect import collect
from zombieproof.traces.coordinator_facts import facts_of
from zombieproof.traces.coordinator_history import IdHistory, read_histories
from zombieproof.traces.coverage import judged, nothing_judged
from zombieproof.traces.evidence import TRANSACTION_TOPIC, Evidence, TopicPartition
from zombieproof.traces.gaps import not_judged
from zombieproof.traces.group_history import read_groups
from zombieproof.traces.other_witnesses import (
    judge_aborted_index,
    judge_client_lines,
    judge_coordinator_lines,
    judge_replicas,
)
from zombieproof.traces.partition_fold import read_partition
from zombieproof.traces.partition_history import PartitionHistory, Run
from zombieproof.traces.promises import PROMISES
from zombieproof.traces.recorded_transactions import RecordedTransaction
from zombieproof.traces.verdict import (
    DamagedPlace,
    Fault,
    Judgement,
    Outcome,
    Report,
    TransactionSummary,
    named,
)
from zombieproof.traces.visibility import visibility
from zombieproof.traces.what_was_told import judge_told

RANK = {name: rank for rank, name in enumerate(PROMISES)}


def replay(evidence: Evidence | Iterable[str | os.PathLike[str]], rules: Rules | None = None) -> Report:
    """Judge a body of evidence, or the files and folders that hold it, by the given rules (the newest by default).

    Raises:
        EvidenceError: a path does not exist, or none is given.
    """
    if not isinstance(evidence, Evidence):
        evidence = collect(evidence)
    if contradictions := several_clusters(evidence):
        return report_of_several(evidence, contradictions)
    rules = rules or Rules()
    histories = read_histories(evidence, rules)
    facts = facts_of(histories)
    logs = {place: log for place, log in evidence.partition_logs().items() if place[0] != TRANSACTION_TOPIC}
    partitions = {place: read_partition(log, facts, rules) for place, log in logs.items()}
    applications = read_applications(evidence)
    across = judge_across(histories, facts.owners, partitions.values())
    told = judge_told(applications, partitions, histories, evidence.offset_commits)
    faults = [fault for history in histories for fault in history.faults]
    faults += [fault for partition in partitions.values() for fault in partition.faults]
    seen = {place: visibility(log, rules) for place, log in logs.items()}
    faults += across + told + judge_replicas(evidence)
    faults += _unexplained(judge_aborted_index(evidence, seen), faults)
    faults += judge_coordinator_lines(evidence, histories) + judge_client_lines(evidence.client_lines)
    return Report(
        verdict=_verdict(faults, evidence),
        findings=[fault.finding() for fault in sorted(faults, key=_order)],
        damage=[
            DamagedPlace(file=place.file, position=place.position, unit=place.unit, message=place.message)
            for place in evidence.damage
        ],
        transactions=_transactions(histories, partitions.values()),
        committed={named(place): each.offsets(Isolation.READ_COMMITTED, rules) for place, each in seen.items()},
        lso={named(place): each.last_stable_offset for place, each in seen.items()},
        group_offsets={
            group: {named(place): offset for place, offset in sorted(offsets.items())}
            for group, offsets in read_groups(evidence.offset_commits, partitions).items()
        },
        judged=judged(evidence, histories),
        not_judged=nothing_judged(evidence) or not_judged(evidence, histories, applications, partitions),
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


def _transactions(histories: Iterable[IdHistory], partitions: Iterable[PartitionHistory]) -> list[TransactionSummary]:
    """What the coordinator's log tells, and of producers that it does not name what the partitions tell."""
    found: list[TransactionSummary] = []
    known: set[int] = set()
    for history in histories:
        known |= history.producer_ids
        found += map(_summary, history.transactions)
    runs: dict[tuple[int, int, Outcome], list[str]] = {}
    for partition in partitions:
        for producer_id, here in partition.runs.items():
            for run in here if producer_id not in known else ():
                runs.setdefault((producer_id, run.epoch, _outcome(run)), []).append(named(partition.place))
    for (producer_id, epoch, outcome), places in sorted(runs.items()):
        places = sorted(set(places))
        found.append(_made(None, producer_id, epoch, outcome, places))
    return found


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

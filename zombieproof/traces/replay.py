"""Replay: whether a recorded history is one that the protocol allows, and if not, what broke which promise where.

Files are read (`readers`), every transactional id and every partition is folded through machines and decisions
(`judging.histories`), judges find what is broken (`judging.judges`), and of what they found the causes are reported
(`explaining.relations`). Nothing is taken from names of files or folders.
"""

import os
from collections.abc import Iterable, Sequence

from zombieproof.formats.topics import TopicPartition
from zombieproof.model.catalogue import IN_RECORDINGS
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Isolation
from zombieproof.traces.evidence import Evidence
from zombieproof.traces.explaining.clients import clients_seen
from zombieproof.traces.explaining.relations import relate
from zombieproof.traces.judging.across.open_ends import set_apart
from zombieproof.traces.judging.folded import Examined, Folded, fold
from zombieproof.traces.judging.gathering.clusters import report_of_several, several_clusters
from zombieproof.traces.judging.gathering.coverage import clients_unseen, judged, nothing_judged
from zombieproof.traces.judging.gathering.gaps import earlier_logs, not_judged
from zombieproof.traces.judging.gathering.statements import stated_by_tools
from zombieproof.traces.judging.histories.group_history import read_groups
from zombieproof.traces.judging.histories.spans import span_of_fault
from zombieproof.traces.judging.histories.summaries import summaries
from zombieproof.traces.judging.judges import find
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import DamagedPlace, Judgement, Narrowed, NotJudged, Report, named
from zombieproof.traces.watching import Watch

RANK = {name: rank for rank, name in enumerate(IN_RECORDINGS)}


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
        return Examined(Folded(evidence, rules), report_of_several(evidence, contradictions))
    folded = fold(evidence, rules, watch)
    related = sorted(relate(find(folded, watch)), key=_order)
    faults, folded.open_ends = set_apart(related, evidence)
    return Examined(folded, _report(folded, faults, narrowing))


def _report(folded: Folded, faults: Sequence[Fault], narrowing: Narrowing) -> Report:
    evidence, partitions, open_ends = folded.evidence, folded.partitions, folded.open_ends
    touching = faults
    if narrowing.has_window:
        touching = [fault for fault in faults if narrowing.touches(span_of_fault(fault, evidence, partitions))]
    transactions = summaries(folded.histories, partitions.values(), EVERYTHING)
    asked = transactions if narrowing == EVERYTHING else summaries(folded.histories, partitions.values(), narrowing)
    return Report(
        verdict=_verdict(touching, evidence),
        findings=[fault.finding() for fault in touching],
        damage=[
            DamagedPlace(file=place.file, position=place.position, unit=place.unit, message=place.message)
            for place in evidence.damage
        ],
        transactions=asked,
        committed={
            named(place): each.offsets(Isolation.READ_COMMITTED, folded.rules) for place, each in folded.seen.items()
        },
        lso={named(place): each.stable_at_least for place, each in folded.seen.items()},
        lso_at_least=[named(place) for place, each in folded.seen.items() if each.is_lower_bound or place in open_ends],
        committed_at_least=[
            named(place)
            for place, each in folded.seen.items()
            if each.is_lower_bound or each.hidden or place in open_ends
        ],
        group_offsets=_group_offsets(folded),
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
        judged=judged(evidence, folded.histories),
        earlier_logs=earlier_logs(evidence, folded.histories, folded.outside),
        clients_unseen=clients_unseen(evidence, folded.partitions.values()),
        clients=clients_seen(evidence.client_lines),
        not_judged=nothing_judged(evidence) or _gaps(folded, narrowing),
        stated=stated_by_tools(folded, narrowing),
    )


def _group_offsets(folded: Folded) -> dict[str, dict[str, int]]:
    """Committed offsets by group: of logs, and of tools where no log has the group."""
    groups = read_groups(folded.evidence.offset_commits, folded.partitions)
    found = {
        group: {named(place): offset for place, offset in sorted(offsets.items())} for group, offsets in groups.items()
    }
    for (group, place), row in sorted(folded.evidence.reports.positions().items(), key=lambda each: str(each[0])):
        if group is not None and group not in groups and row.offset is not None:
            found.setdefault(group, {})[named(place)] = row.offset
    return found


def _gaps(folded: Folded, narrowing: Narrowing) -> list[NotJudged]:
    gaps = not_judged(folded)
    return [gap for gap in gaps if not narrowing.leaves_out(gap.name.rpartition("-")[0])]


def _verdict(faults: Sequence[Fault], evidence: Evidence) -> Judgement:
    if faults:
        return Judgement.VIOLATES
    return Judgement.DAMAGED if evidence.damage or nothing_judged(evidence) else Judgement.CONFORMS


def _order(fault: Fault) -> tuple[int, TopicPartition, int]:
    return RANK[fault.promise], fault.place or ("", -1), -1 if fault.offset is None else fault.offset

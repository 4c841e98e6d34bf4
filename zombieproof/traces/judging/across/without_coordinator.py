"""Promises that span partitions, judged without the coordinator's log."""

from collections.abc import Iterator

from zombieproof.traces.judging.folded import Folded
from zombieproof.traces.judging.found import Found
from zombieproof.traces.judging.histories.belonging import seen, settled
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory
from zombieproof.traces.judging.histories.words import kind
from zombieproof.traces.verdict.circumstances import Circumstances, Harm, Shape
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import named
from zombieproof.traces.watching import Watch


def judge_without_coordinator(folded: Folded, watch: Watch) -> list[Found]:
    """Markers one epoch above their data end one transaction each (§2.12): they must agree even without its log."""
    first: dict[tuple[int, int], tuple[PartitionHistory, Ending]] = {}
    found = []
    for partition in _to_compare(folded):
        for ending in _endings_of(partition, folded):
            if _ends_one_transaction(ending):
                known = first.setdefault((ending.producer_id, ending.epoch), (partition, ending))
                if known[1].commits != ending.commits:
                    found.append(_contradiction(partition, ending, *known))
    return found


def _to_compare(folded: Folded) -> list[PartitionHistory]:
    """All partitions; without those that a screen cleared, if none of these says something else than any other."""
    partitions = list(folded.partitions.values())
    cleared = [partition.cleared for partition in partitions if partition.cleared is not None]
    if not cleared:
        return partitions
    others = [partition for partition in partitions if partition.cleared is None]
    ended = (
        (ending.producer_id, ending.epoch, bool(ending.commits))
        for partition in others
        for ending in _endings_of(partition, folded)
        if _ends_one_transaction(ending)
    )
    together = cleared[0].together(cleared[1:], folded.facts.owners.keys())
    return others if together.agree(ended) else partitions


def _endings_of(partition: PartitionHistory, folded: Folded) -> Iterator[Ending]:
    for producer_id, endings in partition.endings.items():
        if producer_id not in folded.facts.owners:
            yield from endings


def _ends_one_transaction(ending: Ending) -> bool:
    run = ending.run
    return run is not None and run.epoch + 1 == ending.epoch and ending.commits is not None and not run.interrupted


def _contradiction(partition: PartitionHistory, ending: Ending, other: PartitionHistory, known: Ending) -> Found:
    here = f"the {kind(ending)} marker at offset {ending.offset} of {named(partition.place)}"
    there = f"the {kind(known)} marker at offset {known.offset} of {named(other.place)}"
    same = f"the same transaction (producer id {ending.producer_id}, epoch {ending.epoch})"
    fault = Fault(
        "same_outcome_on_every_partition",
        f"{here} and {there} end {same}",
        None,
        ending.producer_id,
        ending.epoch,
        partition.place,
        ending.offset,
        circumstances=settled(_circumstances(ending), ending.run),
    )
    return Found(fault, () if ending.run is None else (ending.run,), ending)


def _circumstances(ending: Ending) -> Circumstances:
    run = ending.run
    spans = [(run.first_offset, run.last_offset)] if run is not None else []
    # Which of both is right is not known without the coordinator's log.
    epoch = run.epoch if run is not None else None
    return Circumstances(Shape.MARKERS_DIFFER, Harm.UNKNOWN, spans, data_epoch=epoch, ended_by=seen(ending))

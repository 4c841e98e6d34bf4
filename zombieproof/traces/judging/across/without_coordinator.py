"""Promises that span partitions, judged without the coordinator's log."""

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
    for partition in folded.partitions.values():
        for producer_id, endings in partition.endings.items():
            for ending in endings if producer_id not in folded.facts.owners else ():
                if not _ends_one_transaction(ending):
                    continue
                known = first.setdefault((producer_id, ending.epoch), (partition, ending))
                if known[1].commits != ending.commits:
                    found.append(_contradiction(partition, ending, *known))
    return found


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

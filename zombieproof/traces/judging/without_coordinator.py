"""Promises that span partitions, judged without the coordinator's log."""

from collections.abc import Mapping, Sequence

from zombieproof.traces.judging.belonging import seen
from zombieproof.traces.judging.circumstances import Circumstances, Harm, Shape
from zombieproof.traces.judging.coordinator_history import IdHistory
from zombieproof.traces.judging.partition_history import Ending, PartitionHistory
from zombieproof.traces.judging.verdict import Fault, named
from zombieproof.traces.judging.words import kind


def attach(ending: Ending, fault: Fault) -> None:
    """Let a marker, and the data that it ended, know the fault that was found about it."""
    ending.fault = ending.fault or fault
    if ending.run is not None:
        ending.run.faults.append(fault)


def judge_without_coordinator(partitions: Sequence[PartitionHistory], owners: Mapping[int, IdHistory]) -> list[Fault]:
    """Markers one epoch above their data end one transaction each (§2.12): they must agree even without its log."""
    first: dict[tuple[int, int], tuple[PartitionHistory, Ending]] = {}
    faults = []
    for partition in partitions:
        for producer_id, endings in partition.endings.items():
            for ending in endings if producer_id not in owners else ():
                if not _ends_one_transaction(ending):
                    continue
                known = first.setdefault((producer_id, ending.epoch), (partition, ending))
                if known[1].commits != ending.commits:
                    faults.append(_contradiction(partition, ending, *known))
    return faults


def _ends_one_transaction(ending: Ending) -> bool:
    run = ending.run
    return run is not None and run.epoch + 1 == ending.epoch and ending.commits is not None and not run.interrupted


def _contradiction(partition: PartitionHistory, ending: Ending, other: PartitionHistory, known: Ending) -> Fault:
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
        circumstances=_circumstances(ending),
    )
    attach(ending, fault)
    return fault


def _circumstances(ending: Ending) -> Circumstances:
    run = ending.run
    spans = [(run.first_offset, run.last_offset)] if run is not None else []
    # Which of both is right is not known without the coordinator's log.
    epoch = run.epoch if run is not None else None
    return Circumstances(Shape.MARKERS_DIFFER, Harm.UNKNOWN, spans, data_epoch=epoch, ended_by=seen(ending))

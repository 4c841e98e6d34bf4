"""The history of a partition that a screen cleared: what judges ask of it without its batches.

Runs and markers of producer ids that a transactional id owns are made of what the screen kept, because they are held
against the coordinator's log one by one. Those of others are folded from the batches when somebody asks for them, which
a judge does only where something is to be explained.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from zombieproof.model.rules import Rules
from zombieproof.traces.cleared import NOTHING, Cleared, EndedRun
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.partition_fold import read_partition
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run, Stretch

Item = TypeVar("Item")


class WhenAsked(Mapping[int, list[Item]]):
    """By producer id; what is not `known` is folded when it is asked for. No other id than `there` has anything."""

    def __init__(
        self, known: dict[int, list[Item]], there: frozenset[int], fold: Callable[[], Mapping[int, list[Item]]]
    ) -> None:
        self._known, self._there, self._fold = known, there, fold

    def __getitem__(self, producer_id: int) -> list[Item]:
        if producer_id in self._known:
            return self._known[producer_id]
        if producer_id not in self._there:
            raise KeyError(producer_id)
        return self._fold()[producer_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._fold())

    def __len__(self) -> int:
        return len(self._fold())


def cleared_history(log: PartitionLog, facts: CoordinatorFacts, rules: Rules) -> PartitionHistory | None:
    """The history of a cleared log; None where it has to be folded after all, by what the coordinator's log tells."""
    cleared = log.cleared
    if cleared is None or not cleared.agrees_with(facts):
        return None
    there = frozenset(cleared.transactional_producers())
    owned = there & facts.owners.keys()
    kept = cleared.runs_of(owned) if owned else ()
    runs, endings = _made(kept or ())
    if kept is not None:
        # Whoever has only markers, or only open data, has nothing of the other: it is not looked for.
        runs = {producer_id: runs.get(producer_id, []) for producer_id in owned}
        endings = {producer_id: endings.get(producer_id, []) for producer_id in owned}

    @cache
    def everything() -> tuple[Mapping[int, list[Run]], Mapping[int, list[Ending]]]:
        every = cleared.runs_of(there)
        if every is not None:
            return _made(every)
        folded = read_partition(log, facts, rules)
        return folded.runs, folded.endings

    return PartitionHistory(
        log,
        WhenAsked(runs, there, lambda: everything()[0]),
        WhenAsked(endings, there, lambda: everything()[1]),
        earliest_ms=cleared.earliest_ms,
        cleared=cleared,
        open_runs=_open(cleared, runs),
    )


def _made(ended: Iterable[EndedRun]) -> tuple[dict[int, list[Run]], dict[int, list[Ending]]]:
    runs: dict[int, list[Run]] = {}
    endings: dict[int, list[Ending]] = {}
    for each in ended:
        run = _run(each) if each.first_offset != NOTHING else None
        if run is not None:
            runs.setdefault(each.producer_id, []).append(run)
        if each.marker_offset != NOTHING:
            ending = Ending(each.producer_id, each.marker_epoch, each.commits, each.marker_offset, each.marker_ms, run)
            endings.setdefault(each.producer_id, []).append(ending)
            if run is not None:
                run.ending = ending
    return runs, endings


def _run(each: EndedRun) -> Run:
    stretch = Stretch(each.epoch, each.first_offset, each.last_offset, each.records, each.first_ms)
    return Run(each.producer_id, [stretch])


def _open(cleared: Cleared, known: Mapping[int, list[Run]]) -> dict[int, Run]:
    """What is open at the end, by producer id: the same runs as those that are known."""
    found = {}
    for each in cleared.open_runs():
        runs = known.get(each.producer_id)
        found[each.producer_id] = runs[-1] if runs else _run(each)
    return found

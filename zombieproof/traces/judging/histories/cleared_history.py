"""The history of a partition that a screen cleared: what judges ask of it without its batches.

Runs and markers of producer ids that a transactional id owns are made of what the screen kept, because they are held
against the coordinator's log one by one. Those of others are folded from the batches when somebody asks for them, which
a judge does only where something is to be explained.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from operator import itemgetter
from typing import ClassVar, TypeVar
from weakref import WeakSet

from zombieproof.model.rules import Rules
from zombieproof.traces.cleared import NOTHING, Cleared, EndedRun
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.partition_fold import read_partition
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run, Stretch

Item = TypeVar("Item")


HELD = 100_000
"""So many runs and endings of all logs are held, besides those of the producer id that was asked for last."""


class Owned:
    """Runs and endings of the producer ids that somebody owns, made of what the screen kept when they are asked for.

    What was asked for last is held, so that a judge who looks at one producer id after the other sees the same objects
    for as long as he looks. `opened` are the runs that are open at the end of the log.
    """

    _of_all_logs: ClassVar["WeakSet[Owned]"] = WeakSet()

    def __init__(self, cleared: Cleared, owned: Collection[int], opened: Mapping[int, Run]) -> None:
        self._cleared, self._owned, self._opened = cleared, owned, opened
        self.held: dict[int, tuple[list[Run], list[Ending]]] = {}
        self.count = 0
        self._of_all_logs.add(self)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._owned

    def __getitem__(self, producer_id: int) -> tuple[list[Run], list[Ending]]:
        if producer_id not in self.held:
            runs, endings = _made(self._cleared.runs_of([producer_id]) or (), self._opened)
            made = runs.get(producer_id, []), endings.get(producer_id, [])
            self._make_room(len(made[0]) + len(made[1]))
            self.held[producer_id] = made
        return self.held[producer_id]

    def near(self, producer_id: int, matters: Callable[[int], bool]) -> tuple[list[Run], list[Ending]]:
        """Those alone of which an epoch matters, and what is open; not held."""
        runs, endings = _made(self._cleared.runs_of([producer_id], matters) or (), self._opened)
        return runs.get(producer_id, []), endings.get(producer_id, [])

    def _make_room(self, count: int) -> None:
        logs = list(self._of_all_logs)
        if sum(each.count for each in logs) + count > HELD:
            for each in logs:
                each.held.clear()
                each.count = 0
        self.count += count


class WhenAsked(Mapping[int, list[Item]]):
    """By producer id; what nobody owns is folded when it is asked for. No other id than `there` has anything."""

    def __init__(
        self,
        owned: Owned,
        of: Callable[[tuple[list[Run], list[Ending]]], list[Item]],
        there: frozenset[int],
        fold: Callable[[], Mapping[int, list[Item]]],
    ) -> None:
        self._owned, self._of, self._there, self._fold = owned, of, there, fold

    def __getitem__(self, producer_id: int) -> list[Item]:
        if producer_id in self._owned:
            return self._of(self._owned[producer_id])
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
    opened = {each.producer_id: _run(each) for each in cleared.open_runs()}
    is_kept = cleared.runs_of(()) is not None
    owned = Owned(cleared, there & facts.owners.keys() if is_kept else (), opened)

    @cache
    def everything() -> tuple[Mapping[int, list[Run]], Mapping[int, list[Ending]]]:
        every = cleared.runs_of(there)
        if every is not None:
            return _made(every, opened)
        folded = read_partition(log, facts, rules)
        return folded.runs, folded.endings

    return PartitionHistory(
        log,
        WhenAsked(owned, itemgetter(0), there, lambda: everything()[0]),
        WhenAsked(owned, itemgetter(1), there, lambda: everything()[1]),
        earliest_ms=cleared.earliest_ms,
        cleared=cleared,
        open_runs=opened,
        owned=owned,
    )


def _made(ended: Iterable[EndedRun], opened: Mapping[int, Run]) -> tuple[dict[int, list[Run]], dict[int, list[Ending]]]:
    """By producer id; what is open are the same objects."""
    runs: dict[int, list[Run]] = {}
    endings: dict[int, list[Ending]] = {}
    for each in ended:
        run = _run(each) if each.first_offset != NOTHING else None
        if each.marker_offset == NOTHING:
            run = opened[each.producer_id]
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

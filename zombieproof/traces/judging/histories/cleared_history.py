"""The history of a partition that a screen cleared: what judges ask of it without its batches.

Runs and markers of producer ids that a transactional id owns are made of what the screen kept, because they are held
against the coordinator's log one by one. Those of others are folded from the batches when somebody asks for them, which
a judge does only where something is to be explained.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from operator import itemgetter
from typing import TypeVar

from zombieproof.model.rules import Rules
from zombieproof.traces.cleared import NOTHING, Cleared, EndedRun
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.partition_fold import read_partition
from zombieproof.traces.judging.histories.partition_history import Ending, PartitionHistory, Run, Stretch

Item = TypeVar("Item")

Made = tuple[list[Run], list[Ending]]
"""Of one producer id on one log."""

HELD = 100_000
"""So many runs and endings are held, besides those that were asked for last."""


class Latest:
    """The runs and endings that were made last, of all logs together."""

    def __init__(self) -> None:
        self._made: dict[tuple[Owned, int], Made] = {}
        self._count = 0

    def of(self, owned: "Owned", producer_id: int) -> Made:
        """Those of a producer id, made if they are not there any more."""
        key = (owned, producer_id)
        if key not in self._made:
            made = owned.near(producer_id, None)
            count = len(made[0]) + len(made[1])
            if self._count + count > HELD:
                self._made.clear()
                self._count = 0
            self._made[key] = made
            self._count += count
        return self._made[key]


class Owned:
    """Runs and endings of the producer ids that somebody owns, made of what the screen kept when they are asked for.

    `opened` are the runs that are open at the end of the log.
    """

    def __init__(
        self, cleared: Cleared, owned: Collection[int], opened: Mapping[int, Run], latest: Latest | None
    ) -> None:
        self._cleared, self._owned, self._opened = cleared, owned, opened
        self._latest = latest or Latest()

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._owned

    def __getitem__(self, producer_id: int) -> Made:
        return self._latest.of(self, producer_id)

    def near(self, producer_id: int, matters: Callable[[int], bool] | None) -> Made:
        """Those alone of which an epoch matters (None: all), and what is open; made anew each time."""
        runs, endings = _made(self._cleared.runs_of([producer_id], matters) or (), self._opened)
        return runs.get(producer_id, []), endings.get(producer_id, [])


class WhenAsked(Mapping[int, list[Item]]):
    """By producer id; what nobody owns is folded when it is asked for. No other id than `there` has anything."""

    def __init__(
        self,
        owned: Owned,
        of: Callable[[Made], list[Item]],
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


def cleared_history(
    log: PartitionLog, facts: CoordinatorFacts, rules: Rules, latest: Latest | None = None
) -> PartitionHistory | None:
    """The history of a cleared log; None where it has to be folded after all, by what the coordinator's log tells.

    `latest` holds what was made of it last, together with that of other logs.
    """
    cleared = log.cleared
    if cleared is None or not cleared.agrees_with(facts):
        return None
    there = frozenset(cleared.transactional_producers())
    opened = {each.producer_id: _run(each) for each in cleared.open_runs()}
    is_kept = cleared.runs_of(()) is not None
    owned = Owned(cleared, there & facts.owners.keys() if is_kept else (), opened, latest)

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

"""All judges. Each reads what was folded and gives what it finds; none knows of another, so their order is free."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from zombieproof.traces.judging.across.aborted_index import judge_aborted_index
from zombieproof.traces.judging.across.markers import judge_markers
from zombieproof.traces.judging.across.other_witnesses import (
    judge_client_lines,
    judge_coordinator_lines,
    judge_replicas,
)
from zombieproof.traces.judging.across.what_was_told import judge_told
from zombieproof.traces.judging.across.without_coordinator import judge_without_coordinator
from zombieproof.traces.judging.folded import Folded
from zombieproof.traces.judging.found import Found
from zombieproof.traces.watching import Watch


class Judge(NamedTuple):
    """A judge, and what a watcher is told while it works ("" for what takes no time)."""

    finds: Callable[[Folded, Watch], list[Found]]
    works_on: str = ""


def _of_ids(folded: Folded, watch: Watch) -> list[Found]:
    """What the records of each transactional id break by themselves."""
    return [Found(fault) for history in folded.histories for fault in history.faults]


def _of_partitions(folded: Folded, watch: Watch) -> list[Found]:
    """What the log of each partition breaks by itself."""
    found: list[Found] = []
    for partition in folded.partitions.values():
        runs = partition.runs_of_faults()
        found += (Found(fault, tuple(runs.get(id(fault), ()))) for fault in partition.faults)
    return found


JUDGES: Mapping[str, Judge] = {
    "ids": Judge(_of_ids),
    "partitions": Judge(_of_partitions),
    "markers": Judge(judge_markers, "what the logs say of each other"),
    "without coordinator": Judge(judge_without_coordinator),
    "told": Judge(judge_told, "what applications were told"),
    "replicas": Judge(judge_replicas),
    "aborted index": Judge(judge_aborted_index),
    "coordinator lines": Judge(judge_coordinator_lines),
    "client lines": Judge(judge_client_lines),
}
"""By name. The order is that in which faults of equal rank are told; to find them, any order does."""


def find(folded: Folded, watch: Watch | None = None, order: Iterable[str] = JUDGES) -> dict[str, list[Found]]:
    """What each judge finds."""
    watch = watch or Watch()
    found: dict[str, list[Found]] = {}
    for name in order:
        judge = JUDGES[name]
        if judge.works_on:
            watch.works_on(judge.works_on)
        found[name] = judge.finds(folded, watch)
    return {name: found[name] for name in JUDGES if name in found}

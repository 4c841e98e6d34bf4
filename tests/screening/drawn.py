"""Logs and directories of them that Hypothesis draws, for tests of the screen."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.screening.logs import Leader, Written, segments_of
from zombieproof.formats.control_records import EndMarker

STEP = (
    st.tuples(st.just("data"), st.integers(0, 2), st.integers(1, 3), st.booleans()),
    st.tuples(st.just("marker"), st.integers(0, 2), st.booleans(), st.booleans()),
    st.tuples(st.just("nobody"), st.integers(1, 2)),
)
"""What a leader does next; see `written`."""


def steps(most: int = 14, gap: int = 0) -> st.SearchStrategy[list[Any]]:
    """At most so many steps; with gaps of at most so many offsets."""
    kinds = (*STEP, st.tuples(st.just("gap"), st.integers(1, gap))) if gap else STEP
    return st.lists(st.one_of(*kinds), min_size=1, max_size=most)


def written(steps: Iterable[tuple[Any, ...]]) -> list[Written]:
    """The log of a leader that does these steps."""
    leader = Leader()
    for kind, *rest in steps:
        if kind == "data":
            leader.data(rest[0], rest[1], is_transactional=rest[2])
        elif kind == "marker":
            leader.marker(rest[0], commits=rest[1], raises=rest[2])
        elif kind == "nobody":
            leader.nobody(rest[0])
        else:
            leader.gap(rest[0])
    return leader.log


DAMAGES: dict[str, Callable[[Written], Written]] = {
    "none": lambda batch: batch,
    "torn": lambda batch: replace(batch, is_damaged=True),
    "a sequence that jumps": lambda batch: replace(batch, sequence=batch.sequence + 1),
    "an older epoch": lambda batch: replace(batch, epoch=max(0, batch.epoch - 1)),
    "another outcome": lambda batch: replace(batch, marker=batch.marker and EndMarker(not batch.marker.committed, 0)),
    "another producer": lambda batch: replace(batch, producer_id=(batch.producer_id + 1) % 3),
    "an offset that jumps": lambda batch: replace(batch, base_offset=batch.base_offset + 1),
}


def put(folder: Path, name: str, log: list[Written], cuts: Iterable[int] = ()) -> Path:
    """The log as a broker leaves it."""
    for file, data in segments_of(log, cuts):
        path = folder / name / Path(file).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


LOGS = st.lists(
    st.tuples(
        steps(gap=2), st.lists(st.integers(1, 13), max_size=2), st.sampled_from(sorted(DAMAGES)), st.integers(0, 13)
    ),
    min_size=1,
    max_size=3,
)


def put_all(folder: Path, logs: list[tuple[Any, list[int], str, int]]) -> None:
    """A directory of logs (`LOGS`), each with its damage."""
    for number, (some, cuts, damage, at) in enumerate(logs):
        log = written(some)
        if log:
            log[at % len(log)] = DAMAGES[damage](log[at % len(log)])
            put(folder, f"t-{number}", log, cuts)

"""Wherever segments are screened, the same is reported as by replay."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.screening.drawn import LOGS, put, put_all, written
from tests.screening.test_replaying import RECORDINGS, told
from zombieproof.screening.runners import Runner, Segments, Task, as_asked, processes, screened
from zombieproof.screening.taking import LogScreen


def elsewhere(tasks: Sequence[Task]) -> Segments:
    """As in other processes, in this one: everything is screened before anything is asked for."""
    return as_asked([screened(task) for task in tasks])


@pytest.fixture(scope="module")
def pool() -> Iterator[Runner]:
    with processes(2) as run:
        yield run


@given(LOGS)
def test_what_was_screened_before_tells_the_same(
    tmp_path_factory: pytest.TempPathFactory, logs: list[tuple[Any, list[int], str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("directory")
    put_all(folder, logs)
    if any(folder.iterdir()):
        assert told([folder], LogScreen(elsewhere))[0] == told([folder], None)[0]


@pytest.mark.slow
@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_several_processes_tell_the_same_of_every_recording(folder: Path, pool: Runner) -> None:
    assert told([folder], LogScreen(pool))[0] == told([folder], LogScreen())[0]


@pytest.mark.deep
def test_several_processes_tell_the_same_of_every_part_of_a_recording(pool: Runner) -> None:
    for folder in RECORDINGS:
        for part in sorted({path.parent.parent for path in folder.rglob("*.log") if path.stem.isdecimal()}):
            assert told([part], LogScreen(pool))[0] == told([part], LogScreen())[0]


def test_what_nobody_asks_for_is_passed_over(tmp_path: Path) -> None:
    heard: list[int] = []
    files = []
    for number in range(3):
        put(tmp_path, f"t-{number}", written([("nobody", 1)]))
        files.append(str(tmp_path / f"t-{number}" / f"{0:020}.log"))
    Path(files[0]).unlink()
    segments = elsewhere([(file, "t") for file in files])
    assert segments(files[2], "t", heard.append).summary.batches == 1
    assert heard == [Path(files[2]).stat().st_size]


@pytest.mark.parametrize("asks", [0, 1], ids=["for a file that has gone", "for one that was not given"])
def test_what_was_not_screened_is_told_as_unreadable(asks: int, tmp_path: Path) -> None:
    gone, never = (str(tmp_path / f"t-{number}" / f"{0:020}.log") for number in range(2))
    with pytest.raises(OSError, match="was not screened"):
        elsewhere([(gone, "t")])((gone, never)[asks], "t", lambda _: None)


@pytest.mark.slow
def test_a_runner_that_loses_what_is_left_of_a_segment_leaves_it_to_the_readers(tmp_path: Path) -> None:
    put(tmp_path, "t-0", written([("data", 0, 2, True), ("marker", 0, True, True)]))
    forgetful: Callable[[Sequence[Task]], Segments] = lambda tasks: as_asked((file, None) for file, _ in tasks)  # noqa: E731
    report, evidence = told([tmp_path], LogScreen(forgetful))
    assert evidence.logs[0].cleared is None
    assert report == told([tmp_path], None)[0]

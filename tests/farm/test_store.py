"""A result is kept once and whole, and taken again only for the same exploration by the same sources."""

import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from zombieproof.farm import sources as hashing
from zombieproof.farm.exploring import Limits
from zombieproof.farm.found import Entry, Found, failure
from zombieproof.farm.jobs import Job
from zombieproof.farm.runners import Runner, in_this_process
from zombieproof.farm.running import Harvest, run
from zombieproof.farm.store import Store
from zombieproof.farm.tasks import Task

Jobs = Callable[..., list[Job]]
PLAN = "{scenarios: [late_produce, delayed_commit, delayed_abort]}"


def counting(begun: list[str]) -> Runner:
    """The runner of this process, which says what it begins."""
    return in_this_process(Limits(), lambda job, reached: begun.append(job.scenario) if reached is None else None)


def test_what_is_kept_is_not_explored_again(jobs: Jobs, tmp_path: Path) -> None:
    begun: list[str] = []
    first = run(jobs(PLAN), counting(begun), Store(tmp_path))
    assert sorted(begun) == ["delayed_abort", "delayed_commit", "late_produce"]
    again = run(jobs(PLAN), counting(begun), Store(tmp_path))
    assert len(begun) == 3
    assert again.found == first.found
    assert [entry.was_kept for entry in again.entries] == [True] * 3
    more = run(jobs(PLAN, "{scenarios: late_produce, bounds: {lost: 0}}"), counting(begun), Store(tmp_path))
    assert begun[3:] == ["late_produce"]
    assert [entry.was_kept for entry in more.entries] == [True, True, True, False]


def test_a_fresh_farm_takes_nothing(jobs: Jobs, tmp_path: Path) -> None:
    begun: list[str] = []
    for _ in range(2):
        run(jobs(PLAN), counting(begun), Store(tmp_path), fresh=True)
    assert len(begun) == 6


def test_a_result_of_other_sources_is_not_taken(jobs: Jobs, unruly: Path, tmp_path: Path) -> None:
    asked = f"{{scenarios: '{unruly}'}}"
    begun: list[str] = []
    run(jobs(asked), counting(begun), Store(tmp_path))
    run(jobs(asked), counting(begun), Store(tmp_path))
    assert begun == ["unruly"]
    unruly.with_name("beside.py").write_text("# a module beside it\n")
    hashing.sources.cache_clear()
    run(jobs(asked), counting(begun), Store(tmp_path))
    assert begun == ["unruly", "unruly"]


def test_a_hash_of_sources_sees_every_file_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ["model/rules.py", "statemachines/kernel.py", "checker/engine/search.py", "farm/found.py"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    monkeypatch.setattr(hashing, "_ROOT", tmp_path)

    def hashed() -> str:
        hashing._ours.cache_clear()
        hashing.sources.cache_clear()
        return hashing.sources()

    try:
        seen = {hashed(), hashed()}
        assert len(seen) == 1
        for name in names:
            (tmp_path / name).write_text("two")
            seen.add(hashed())
        (tmp_path / "report.py").write_text("decides nothing")
        seen.add(hashed())
        assert len(seen) == 1 + len(names)
    finally:
        hashing._ours.cache_clear()
        hashing.sources.cache_clear()


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"key": 3}', b"\xff\xfe"])
def test_a_damaged_result_is_explored_again_and_said(jobs: Jobs, tmp_path: Path, content: bytes) -> None:
    begun: list[str] = []
    whole = run(jobs(PLAN), counting(begun), Store(tmp_path))
    file = next((tmp_path / "results").iterdir())
    file.write_bytes(content)
    store = Store(tmp_path)
    again = run(jobs(PLAN), counting(begun), store)
    assert store.damaged == [file]
    assert len(begun) == 4
    assert facts(again) == facts(whole)


def test_a_result_under_the_name_of_another_is_not_taken(jobs: Jobs, tmp_path: Path) -> None:
    store = Store(tmp_path)
    found = run(jobs(PLAN), counting([]), store).entries
    one, other = (tmp_path / "results" / f"{entry.job.key}.json" for entry in found[:2])
    one.write_bytes(other.read_bytes())
    assert found[0].job.key not in {entry.job.key for entry in store.kept(jobs(PLAN))}


def test_what_is_inconclusive_is_explored_again_with_other_memory(jobs: Jobs, tmp_path: Path) -> None:
    few = Limits(memory_bytes=1 << 20)
    made = run(jobs(PLAN), in_this_process(few), Store(tmp_path), memory_bytes=1 << 20)
    assert {entry.outcome for entry in made.entries} == {"inconclusive"}
    same = run(jobs(PLAN), in_this_process(few), Store(tmp_path), memory_bytes=1 << 20)
    assert all(entry.was_kept for entry in same.entries)
    more = run(jobs(PLAN), in_this_process(Limits()), Store(tmp_path))
    assert {(entry.outcome, entry.was_kept) for entry in more.entries} == {("as expected", False)}


def test_a_failure_is_not_kept(jobs: Jobs, unruly: Path, tmp_path: Path) -> None:
    planned = jobs(f"{{scenarios: ['{unruly}', late_produce]}}")
    (unruly.parent / "raises").touch()
    failed = run(planned, in_this_process(Limits()), Store(tmp_path))
    assert [entry.outcome for entry in failed.entries] == ["failed", "as expected"]
    (unruly.parent / "raises").unlink()
    again = run(planned, in_this_process(Limits()), Store(tmp_path))
    assert [(entry.outcome, entry.was_kept) for entry in again.entries] == [
        ("as expected", False),
        ("as expected", True),
    ]


def test_what_was_left_half_written_is_removed_when_it_is_old(tmp_path: Path) -> None:
    Store(tmp_path)
    old, new = tmp_path / "results" / "a.new", tmp_path / "results" / "b.new"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    Store(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_result_that_cannot_be_written_leaves_nothing_behind(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, (job, *_) = Store(tmp_path), jobs(PLAN)
    found = failure(job, "").model_copy(update={"verdict": "holds"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        store.keep(found)
    assert list((tmp_path / "results").iterdir()) == []


def test_a_result_that_comes_twice_counts_once(jobs: Jobs, tmp_path: Path) -> None:
    """Whoever runs a task again, Spark or somebody else, changes nothing: the first counts."""

    def twice(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        for found in in_this_process(Limits())(tasks):
            yield found
            yield found.model_copy(update={"distinct": 1})

    told: list[Entry] = []
    planned = jobs(PLAN)
    made = run(planned, twice, Store(tmp_path), tell=lambda _, entry: told.append(entry))
    assert facts(made) == facts(run(planned, in_this_process(Limits())))
    assert len(told) == len(planned)
    assert facts(run(planned, nobody, Store(tmp_path))) == facts(made)


def nobody(tasks: Sequence[Task]) -> Generator[Found, None, None]:
    """A runner that is not to be asked."""
    assert not tasks
    yield from ()


def test_an_interrupted_farm_keeps_what_it_found_and_goes_on(jobs: Jobs, tmp_path: Path) -> None:
    closed: list[bool] = []

    def stopped(tasks: Sequence[Task]) -> Generator[Found, None, None]:
        try:
            yield next(in_this_process(Limits())(tasks))
            raise KeyboardInterrupt
        finally:
            closed.append(True)

    planned = jobs(PLAN)
    made = run(planned, stopped, Store(tmp_path))
    assert (made.interrupted, len(made.entries), len(made.left), closed) == (True, 1, 2, [True])
    begun: list[str] = []
    whole = run(planned, counting(begun), Store(tmp_path))
    assert (len(begun), whole.left, whole.interrupted) == (2, [], False)
    assert facts(whole) == facts(run(planned, in_this_process(Limits())))


def facts(harvest: Harvest) -> list[tuple[object, ...]]:
    """What was found, without times."""
    return [
        (f.key, f.verdict, f.why, f.distinct, f.generated, f.depth, f.promise, f.steps, dict(f.bounds))
        for f in (entry.found for entry in harvest.entries)
    ]


def test_a_job_travels_as_it_is(jobs: Jobs) -> None:
    (job,) = jobs("{scenarios: late_produce, bounds: {lost: 0}}")
    assert replace(job) == job

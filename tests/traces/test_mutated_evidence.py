"""Whatever happened to a file on its way, it is read without an internal error, and no violation comes of it."""

import io
import random
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.traces.mutations import CHANGING, HARMLESS, Sample, candidates, others_of
from zombieproof.cli.replay_questions import Asked, tell
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.timeline.subject import subject_names
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers import collect as collecting
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.dump_content import DumpedSegment
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Report

UNSHOWN = "nothing shows that"
KINDS = {**HARMLESS, **CHANGING}
FEW, MANY = 25, 10_000 // len(KINDS) + 1
SUBJECTS, BESIDE = 2, 0.25
"""How many timelines are asked for, and how often the other files of a recording lie beside the mutated one."""

Fault = tuple[object, ...]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


def asked(choose: random.Random, folder: Path) -> Report:
    """Everything that `replay` says of a folder: its report, what is open, and two timelines."""
    found = judge(collect([folder]))
    names = subject_names(found)
    screen = Screen(io.StringIO())
    for timeline in (None, *choose.sample(names, min(SUBJECTS, len(names)))):
        for is_open in (False, True) if timeline is None else (False,):
            try:
                tell(screen, found, Asked(timeline, is_open, None, EVERYTHING))
            except WrongUsage as refused:
                assert "is the name of" in str(refused)
    return found.report


@contextmanager
def written(root: Path, files: dict[str, bytes]) -> Iterator[Path]:
    """A folder with these files, which is empty again afterwards."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        yield root
    finally:
        for name in files:
            (root / name).unlink()


def faults(report: Report) -> set[Fault]:
    """What is found, wherever a log without a name says that it is."""
    return {
        (each.promise, each.offset, each.producer_id) for each in report.findings if UNSHOWN not in each.message
    }


@cache
def known_faults(root: Path, *samples: Sample) -> set[Fault]:
    with written(root, {sample.name: sample.data for sample in samples}):
        return faults(judge(collect([root])).report)


def complaint(kind: str, number: int, root: Path) -> str:
    """What is wrong after one mutation of a file, alone or with the rest of its recording; nothing if all is well."""
    choose = random.Random(f"{kind} {number}")
    sample = choose.choice(candidates(kind))
    data, mixed_in = KINDS[kind](choose, sample)
    beside = others_of(sample.body, is_text=sample.is_text) if sample.beside and choose.random() < BESIDE else ()
    beside = [each for each in beside if each not in (sample, *mixed_in)]
    files = {each.name: each.data for each in beside} | {sample.name: data}
    subject = f"{kind} {number}: {', '.join(each.key for each in (sample, *mixed_in))}, {len(files)} files"
    try:
        with written(root, files):
            report = asked(choose, root)
    except Exception:  # noqa: BLE001  # whatever it is, it is a traceback that a person would see
        return f"{subject}: {traceback.format_exc()}"
    if kind in CHANGING:
        return ""
    known = known_faults(root, sample, *mixed_in, *beside)
    unknown = faults(report) - known
    return f"{subject}: {sorted(map(str, unknown))} of {[each.message for each in report.findings]}" if unknown else ""


def complaints(kind: str, count: int, folder: Path) -> Iterator[str]:
    return filter(None, (complaint(kind, number, folder) for number in range(count)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_file_is_read_and_gives_no_finding_of_its_own(kind: str, folder: Path) -> None:
    assert list(complaints(kind, FEW, folder)) == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_very_many_mutated_files_are_read_and_give_no_finding_of_their_own(kind: str, folder: Path) -> None:
    assert list(complaints(kind, MANY, folder)) == []

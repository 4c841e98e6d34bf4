"""Whatever happened to a file on its way, it is read without an internal error, and no violation comes of it."""

import io
import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from tests.traces.dumps import RELEASES
from tests.traces.mutations import CHANGING, HARMLESS, Sample, candidates, others_of, samples
from zombieproof.cli.replay_questions import Asked, tell
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.timeline.subject import subject_names
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers import collect as collecting
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Report

KINDS = {**HARMLESS, **CHANGING}
FEW, MANY = 20, 10_000 // len(KINDS) + 1
SUBJECTS, BESIDE = 2, 0.25
"""How many timelines are asked for, and how often the other files of a recording lie beside the mutated one."""

SMALL = 15_000
"""Bytes of a dump of which each line is deleted once."""

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
            with suppress(WrongUsage):  # a name that several things have
                tell(screen, found, Asked(timeline, is_open, None, EVERYTHING))
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
    return {(each.promise, each.offset, each.producer_id) for each in report.findings}


@cache
def known_faults(root: Path, *samples: Sample) -> set[Fault]:
    with written(root, {sample.name: sample.data for sample in samples}):
        return faults(judge(collect([root])).report)


def is_another_history(kind: str, sample: Sample) -> bool:
    """Whether what is left of a file states something else, and nothing in it can show that it is not whole.

    Calls of applications and entries of an index follow each other without numbers. A recording that was tampered with
    violates, and what is left of it may do so in another way.
    """
    if "-tampered-" in sample.body:
        return True
    return kind == "deleted lines" and (sample.name == "client.jsonl" or ".state." in sample.name)


def complaint(kind: str, number: int, root: Path) -> str:
    """What is wrong after one mutation of a file, alone or with the rest of its recording; nothing if all is well."""
    choose = random.Random(f"{kind} {number}")
    sample = choose.choice(candidates(kind))
    data, mixed_in = KINDS[kind](choose, sample)
    beside = others_of(sample.body, is_text=sample.is_text) if sample.beside and choose.random() < BESIDE else ()
    beside = tuple(each for each in beside if each not in (sample, *mixed_in))
    files = {each.name: each.data for each in beside} | {sample.name: data}
    subject = f"{kind} {number}: {', '.join(each.key for each in (sample, *mixed_in))}, {len(files)} files"
    try:
        with written(root, files):
            report = asked(choose, root)
    except Exception:  # noqa: BLE001  # whatever it is, it is a traceback that a person would see
        return f"{subject}: {traceback.format_exc()}"
    if kind in CHANGING or is_another_history(kind, sample):
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


# ---------------------------------------------------------------- the comparison itself


def test_there_are_samples_of_every_shape() -> None:
    names = " ".join(sample.key for sample in samples())
    for part in ("dump of 0.11", "dump of 4.3", "statements of sarama", "server.log", "client.jsonl", "hanging.txt"):
        assert part in names
    assert {Path(each.name).suffix for each in samples() if not each.is_text} >= {".log", ".snapshot"}


def test_a_traceback_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: memoryview, *_: object) -> None:
        raise KeyError("a reader that trusts its input")

    monkeypatch.setattr(collecting, "read_dump", broken)
    found = list(complaints("cut", FEW, folder))
    assert found
    assert all("a reader that trusts its input" in each for each in found)


def test_a_finding_of_its_own_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.traces.test_mutated_evidence.known_faults", lambda *_: set())
    found = list(complaints("foreign lines", 4 * FEW, folder))
    assert found
    assert not any("Traceback" in each for each in found)


# ---------------------------------------------------------------- lines that are gone

UNNOTICED: dict[str, Callable[[list[str], int], bool]] = {
    "the end of a dump": lambda lines, at: at == len(lines) - 1 and not lines[at].startswith("| "),
    "names and starts, which the name of the file and the first offset tell": lambda lines, at: lines[at].startswith(
        ("Dumping ", "Log starting offset: ", "Starting offset: ")
    ),
    "entries of snapshots and indexes, which have no numbers": lambda lines, at: lines[at].startswith(
        ("producerId: ", "version: ")
    ),
    "the only record: without it the dump is one that shows no records": lambda lines, at: (
        lines[at].startswith("| ") and sum(line.startswith("| ") for line in lines) == 1
    ),
    "the only record of a segment": lambda lines, at: (
        lines[at].startswith("| ") and any(line.startswith("Dumping ") for line in lines[at - 3 : at])
    ),
    "what is damaged already": lambda lines, at: any("isvalid: false" in line for line in lines),
    "remarks of the tool": lambda lines, at: "Non-consecutive" in lines[at] or "is followed by" in lines[at],
    "the last batch of a compacted segment, before the next one": lambda lines, at: "".join(
        lines[at + 1 : at + 2]
    ).startswith("Dumping "),
}
"""Lines whose absence nothing in the dump can show."""


def notices(report: Report) -> set[object]:
    gaps = {(gap.name, gap.gap, gap.first_offset, gap.last_offset) for gap in report.not_judged}
    return {place.message for place in report.damage} | gaps


def unnoticed_deletions(sample: Sample, root: Path) -> Iterator[str]:
    lines = sample.data.decode().split("\n")[:-1]
    with written(root, {sample.name: sample.data}):
        whole = judge(collect([root])).report
    for at, line in enumerate(lines):
        if not line or any(is_so(lines, at) for is_so in UNNOTICED.values()):
            continue
        left = "\n".join((*lines[:at], *lines[at + 1 :], ""))
        with written(root, {sample.name: left.encode()}):
            found = judge(collect([root])).report
        if not notices(found) - notices(whole) and len(found.findings) <= len(whole.findings):
            yield f"{sample.key}, line {at + 1}: {line[:80]}"


@pytest.mark.parametrize("release", RELEASES)
def test_a_line_that_is_gone_from_a_dump_is_noticed(release: str, folder: Path) -> None:
    (sample,) = (each for each in samples() if each.body == f"dump of {release}")
    assert list(unnoticed_deletions(sample, folder)) == []


@pytest.mark.deep
def test_a_line_that_is_gone_from_a_dump_of_a_recording_is_noticed(folder: Path) -> None:
    dumps = [each for each in samples() if each.beside and each.data.startswith(b"Dumping ")]
    assert len(dumps) > 20
    found = [each for sample in dumps if len(sample.data) < SMALL for each in unnoticed_deletions(sample, folder)]
    assert found == []

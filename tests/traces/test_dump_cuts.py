"""A line of a dump that is cut anywhere is named, or nothing that is concluded rests on what it lost.

Terminals, forums and mail cut lines in the middle of a dump. What the lost part may have said is then not concluded:
nothing is open or committed that it may have ended, and no promise is broken because of it.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.traces.dumps import COMMITTED, END, LOG, RELEASES, Printed, text_of
from zombieproof.report.open_text import show_open
from zombieproof.report.screen import Screen
from zombieproof.traces.explaining.open.transactions import what_is_open
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.readers import dump_lines, dump_text
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.dump_content import DumpedSegment
from zombieproof.traces.replay import judge

SAMPLES = Path(__file__).parents[1] / "recordings"
REAL = ("01-commit", "25-kafka39-commit-abort-zombie")
"""Recordings whose dumps two releases printed, with the decoders of both; each is cut in every line."""


def is_open_for_certain(examined: Examined) -> set[tuple[str, int, int]]:
    return {
        (held.topic, held.partition, txn.first_offset)
        for held in what_is_open(examined).partitions
        for txn in held.transactions
        if txn.is_certain
    }


def conclusions(examined: Examined) -> object:
    report = examined.report
    committed = {place: list(offsets) for place, offsets in report.committed.items()}
    return list(report.transactions), committed, report.lso, report.group_offsets


def complaints(whole: Examined, cut: Examined, file: Path, line: int) -> Iterator[str]:
    """What is wrong with what is said of a dump of which one line is cut."""
    report = cut.report
    is_named = any((place.file, place.position) == (str(file), line) for place in report.damage)
    if not is_named and conclusions(cut) != conclusions(whole):
        yield "the cut line is not named, and something else is concluded"
    known = {(each.promise, each.topic, each.offset) for each in whole.report.findings}
    yield from (each.message for each in report.findings if (each.promise, each.topic, each.offset) not in known)
    for place, offsets in report.committed.items():
        if more := set(offsets) - set(whole.report.committed.get(place, ())):
            yield f"{more} of {place} are said to be committed"
    if opened := is_open_for_certain(cut) - is_open_for_certain(whole):
        yield f"{opened} are said to be open"


def cuts(folder: Path, step: int, most: int = 10_000) -> Iterator[tuple[str, str]]:
    """Cut each line of each text in a folder at every `step`-th place and at all of the last ones; what is wrong."""
    whole = judge(collect([folder]))
    for file in sorted(folder.glob("*.txt")):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines[:most]):
            ends = {*range(1, len(line), step), *range(max(1, len(line) - 9), len(line))}
            for end in sorted(ends):
                file.write_text("".join(f"{each}\n" for each in [*lines[:number], line[:end], *lines[number + 1 :]]))
                cut = judge(collect([folder]))
                yield from ((line[:end], each) for each in complaints(whole, cut, file, number + 1))
        file.write_text("".join(f"{line}\n" for line in lines))


def written(folder: Path, release: str, log: tuple[Printed, ...] = LOG) -> Path:
    (folder / "orders-0.txt").write_text(text_of(release, log))
    return folder


@pytest.mark.parametrize("release", RELEASES)
def test_each_dialect_tells_the_same_log(release: str, tmp_path: Path) -> None:
    examined = judge(collect([written(tmp_path, release)]))
    assert (examined.report.damage, examined.report.findings) == ([], [])
    assert examined.report.lso == {"orders-0": END}
    assert what_is_open(examined).partitions == []
    shown = COMMITTED if "batches" not in release else [6]
    assert list(examined.report.committed["orders-0"]) == shown


@pytest.mark.parametrize("release", RELEASES)
def test_no_cut_of_a_line_changes_an_answer_silently(release: str, tmp_path: Path) -> None:
    assert list(cuts(written(tmp_path, release), step=11)) == []


@pytest.mark.deep
@pytest.mark.parametrize("release", RELEASES)
def test_no_cut_at_any_place_changes_an_answer_silently(release: str, tmp_path: Path) -> None:
    assert list(cuts(written(tmp_path, release), step=1)) == []


@pytest.mark.parametrize("recording", REAL)
def test_no_cut_of_a_real_dump_changes_an_answer_silently(recording: str, tmp_path: Path) -> None:
    for file in (SAMPLES / recording / "dump").glob("*.txt"):
        if ".batches." not in file.name and ".console." not in file.name:
            shutil.copy(file, tmp_path)
    assert list(cuts(tmp_path, step=89, most=14)) == []


def test_a_cut_line_of_the_old_dialect_is_named_and_what_it_may_have_ended_is_not_called_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = text_of("0.11").splitlines()
    marker = next(number for number, line in enumerate(lines) if "ABORT" in line)
    lines[marker] = lines[marker][:40]
    (tmp_path / "orders-0.txt").write_text("\n".join(lines) + "\n")
    examined = judge(collect([tmp_path]))
    assert [place.position for place in examined.report.damage] == [marker + 1]
    assert is_open_for_certain(examined) == set()
    show_open(Screen(), what_is_open(examined))
    out = capsys.readouterr().out
    assert out.startswith("nothing is known to be open")
    assert f"orders-0.txt, line {marker + 1}: the line of a record is cut" in out
    assert "last stable offset at least 3 of 7" in out
    assert "held" not in out
    assert list(examined.report.committed["orders-0"]) == [0, 1]
    (lines_read,) = examined.report.judged.lines
    assert (lines_read.used, [each.count for each in lines_read.unused]) == (len(lines) - 1, [1])


def test_what_stands_before_a_cut_line_is_not_called_committed_by_the_next_marker(tmp_path: Path) -> None:
    """The cut line may have been an ABORT marker: of one run of data two transactions may have been."""
    first = (Printed(0, 2, sequence=0), Printed(2, 1, marker="ABORT", size=78))
    second = (Printed(3, 1, sequence=2), Printed(4, 1, marker="COMMIT", size=78), Printed(5, 1, producer_id=-1))
    lines = text_of("0.11", (*first, *second)).splitlines()
    lines[4] = lines[4][:50]
    (tmp_path / "orders-0.txt").write_text("\n".join(lines) + "\n")
    report = judge(collect([tmp_path])).report
    assert [place.position for place in report.damage] == [5]
    assert list(report.committed["orders-0"]) == []
    assert report.committed_at_least == ["orders-0"]


MUTANTS = {
    "cut prefixes are passed over": (dump_text, "_is_cut", lambda line: False, "4.3 batches"),
    "cut records are of an old format": (dump_lines, "OLD_FORMAT", re.compile("offset: (?!.*headerKeys)"), "0.11"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_passes_over_cut_lines_is_noticed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, attribute, instead, release = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, instead)
    assert list(cuts(written(tmp_path, release), step=4))


def test_a_timeout_that_is_cut_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but its neighbours shows that the last number of the old text is cut; without them it is a finding."""
    shutil.copy(SAMPLES / REAL[1] / "dump/__transaction_state-1.txt", tmp_path / "__transaction_state-1.txt")
    lines = (tmp_path / "__transaction_state-1.txt").read_text().splitlines()
    assert lines[5].endswith("txnTimeoutMs=60000")
    lines[5] = lines[5].removesuffix("00")
    (tmp_path / "__transaction_state-1.txt").write_text("\n".join(lines) + "\n")
    report = judge(collect([tmp_path])).report
    assert (report.findings, [place.position for place in report.damage]) == ([], [6])
    monkeypatch.setattr(DumpedSegment, "_check_timeout", lambda segment, state: [])
    assert judge(collect([tmp_path])).report.findings


def test_a_coordinator_epoch_that_is_cut_is_no_finding(tmp_path: Path) -> None:
    text = text_of("4.3").replace("ABORT coordinatorEpoch: 17", "ABORT coordinatorEpoch: 1")
    (tmp_path / "orders-0.txt").write_text(text)
    report = judge(collect([tmp_path])).report
    assert (report.findings, [place.position for place in report.damage]) == ([], [12])
    (tmp_path / "orders-0.txt").write_text(text.replace("ABORT coordinatorEpoch: 1", "ABORT coordinatorEpoch: 16"))
    assert [each.promise for each in judge(collect([tmp_path])).report.findings] == ["coordinator_epochs_never_go_down"]

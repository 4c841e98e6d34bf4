"""After a hole or damage in a log, the last stable offset is at least that place, and nothing is known to be open."""

from pathlib import Path

import pytest

from tests.traces.dumps import LOG, Printed, text_of
from tests.traces.test_producer_states import entry, judged, shown, snapshot
from zombieproof.traces.evidence import Holes
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge

PLACE = "orders-0"


def of_text(folder: Path, text: str) -> Examined:
    (folder / f"{PLACE}.txt").write_text(text)
    return judge(collect([folder]))


def without(text: str, first: int, last: int) -> str:
    """A dump without the lines of the batches from `first` to `last`."""
    start = text.index(f"baseOffset: {first} ")
    return text[:start] + text[text.index(f"baseOffset: {last + 1} ") :]


HOLES = {
    "an aborted transaction": (3, 5, 3),
    "its data": (3, 4, 3),
    "its marker": (5, 5, 3),
    "the first data": (0, 1, 0),
}
"""What is taken out, up to which offset, and the last stable offset that is left for certain."""


@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("release", ["2.8", "4.3"])
def test_nothing_is_certain_after_lines_that_are_missing(
    hole: str, release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, last, least = HOLES[hole]
    examined = of_text(tmp_path, without(text_of(release), first, last))
    report = examined.report
    assert (report.lso, report.lso_at_least, report.committed_at_least) == ({PLACE: least}, [PLACE], [PLACE])
    assert max(report.committed[PLACE], default=0) < max(least, 1)
    text = shown(examined, capsys)
    assert text.startswith("nothing is known to be open"), text
    assert f"{PLACE}: last stable offset at least {least} of 7; " in text


def test_a_garbled_line_is_a_hole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of("4.3").replace("baseOffset: 3 lastOffset: 4 count: 2", "baseOffset: 3 lastOffset: 4 count: ??", 1)
    examined = of_text(tmp_path, text)
    assert (examined.report.lso, examined.report.lso_at_least) == ({PLACE: 3}, [PLACE])
    assert "a transaction may have begun at offsets 3 to 4, which cannot be read" in shown(examined, capsys)


def test_what_is_open_after_a_hole_is_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = (*LOG, Printed(7, 2, producer_id=9, sequence=0))
    examined = of_text(tmp_path, without(text_of("4.3", log), 3, 5))
    assert (examined.report.lso, examined.report.lso_at_least) == ({PLACE: 3}, [PLACE])
    text = shown(examined, capsys)
    assert text.startswith("open as of")
    assert f"{PLACE}: last stable offset at least 3 of 9; a transaction may have begun at offsets 3 to 5" in text
    assert "  open: producer 9 epoch 0, 2 records at offsets 7-8" in text


def test_a_hole_that_nothing_explains_is_one_too(tmp_path: Path) -> None:
    """Positions in the segment follow each other: the dump is whole, and the log has the hole."""
    examined = judged(tmp_path, (*LOG[:2], *LOG[4:]))
    assert [(gap.first_offset, gap.last_offset) for gap in examined.report.not_judged if gap.name == PLACE] == [(3, 5)]
    assert (examined.report.lso, examined.report.lso_at_least) == ({PLACE: 3}, [PLACE])


def test_a_hole_of_the_cleaner_hides_nothing(tmp_path: Path) -> None:
    judged(tmp_path, (LOG[1], Printed(3, 1, sequence=2), LOG[3], Printed(9, 1, producer_id=-1)))
    evidence = collect([tmp_path])
    log = evidence.log("orders", 0)
    assert log is not None
    log.holes, log.begin_shown_by = Holes.UNKNOWN, "the test"
    assert judge(evidence).report.lso_at_least == [PLACE]
    log.holes = Holes.CLEANER
    assert judge(evidence).report.lso_at_least == []


def test_a_marker_may_stand_in_a_hole(tmp_path: Path) -> None:
    examined = judged(tmp_path, (LOG[0], *LOG[4:]))
    assert (examined.report.lso, examined.report.lso_at_least) == ({PLACE: 0}, [PLACE])


def test_a_whole_log_is_certain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examined = judged(tmp_path, LOG, snapshot(7, entry(7, None)))
    assert (examined.report.lso, examined.report.lso_at_least) == ({PLACE: 7}, [])
    assert "not known" not in shown(examined, capsys)


def test_a_marker_whose_kind_is_not_shown_leaves_nothing_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(of_text(tmp_path, text_of("4.3 batches", LOG)), capsys)
    assert text.startswith("nothing is open as of"), text

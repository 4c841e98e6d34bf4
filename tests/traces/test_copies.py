"""Holes in one copy of a partition are named when another copy has the records; what copies may lack is not."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.traces.conftest import encode
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Gap, Judgement, NotJudged

Encode = Callable[..., bytes]


@pytest.fixture
def whole(batch: Encode, marker: Encode) -> list[bytes]:
    """A committed transaction, an aborted one and a record without a key, one batch for each offset."""
    mine = {"producer_id": 7, "producer_epoch": 0}
    data = {**mine, "attributes": 0x10}
    return [
        batch(((0, b"a", b"1"),), base_offset=0, base_sequence=0, **data),
        marker(commit=True, base_offset=1, **mine),
        batch(((0, b"b", b"2"),), base_offset=2, base_sequence=1, **data),
        marker(commit=False, base_offset=3, **mine),
        batch(((0, None, b"3"),), base_offset=4),
    ]


def keyed(keys: Sequence[bytes]) -> list[bytes]:
    return [encode(((0, key, b"v"),), base_offset=offset) for offset, key in enumerate(keys)]


def put(folder: Path, number: int, batches: Sequence[bytes], topic: str = "d", base: int = 0) -> Path:
    path = folder / f"broker-{number}" / f"{topic}-0" / f"{base:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


def without(batches: Sequence[bytes], *gone: int) -> list[bytes]:
    return [each for number, each in enumerate(batches) if number not in gone]


def holes(folder: Path) -> Iterator[NotJudged]:
    """What is said to be missing; whose transactions these are no coordinator's log tells here."""
    return (gap for gap in replay([folder]).not_judged if gap.gap is Gap.UNREADABLE)


@pytest.mark.parametrize("lacking", [1, 2])
@pytest.mark.parametrize("gone", range(4))
def test_a_batch_that_one_copy_lacks_is_named(gone: int, lacking: int, whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, lacking, without(whole, gone))
    put(tmp_path, 3 - lacking, whole)
    report = replay([tmp_path])
    assert report.verdict is Judgement.CONFORMS
    (hole,) = holes(tmp_path)
    assert (hole.name, hole.first_offset, hole.last_offset) == ("d-0", gone, gone)
    assert f"is missing in the copy of broker-{lacking}, not in that of broker-{3 - lacking}" in hole.why
    assert f"the copy of d-0 on broker-{lacking} again" in hole.fetch
    assert (report.lso, list(report.committed["d-0"])) == ({"d-0": 5}, [0, 4])


def test_each_of_three_copies_is_compared(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, without(whole, 2))
    put(tmp_path, 3, without(whole, 0, 1))
    assert [(hole.first_offset, hole.last_offset, hole.why.split(",")[0]) for hole in holes(tmp_path)] == [
        (0, 1, "offsets 0 to 1 are missing in the copy of broker-3"),
        (2, 2, "offset 2 is missing in the copy of broker-2"),
    ]


def test_a_hole_of_the_longest_copy_hides_how_the_transaction_ended(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, without(whole, 1))
    put(tmp_path, 2, whole[:4])
    report = replay([tmp_path])
    (hole,) = holes(tmp_path)
    assert "missing in the copy of broker-1" in hole.why
    assert report.findings == []
    assert (list(report.committed["d-0"]), report.committed_at_least) == ([], ["d-0"])
    assert (report.lso, report.lso_at_least) == ({"d-0": 1}, ["d-0"])
    assert collect([tmp_path]).logs[0].damaged_at == {2}


def test_copies_that_lack_what_the_other_has_are_both_named(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, without(whole, 1))
    put(tmp_path, 2, without(whole, 2))
    assert [(hole.first_offset, hole.why.split(",")[0][-8:]) for hole in holes(tmp_path)] == [
        (1, "broker-1"),
        (2, "broker-2"),
    ]


def test_a_segment_that_one_copy_lacks_is_named(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, whole[:2])
    put(tmp_path, 2, whole[4:], base=4)
    (hole,) = holes(tmp_path)
    assert (hole.first_offset, hole.last_offset) == (2, 3)
    assert hole.why.startswith("offsets 2 to 3 are missing in the copy of broker-2")
    assert "the next segment (00000000000000000004.log) begins at 4" in hole.why


@pytest.mark.parametrize("end", range(5))
def test_a_copy_that_is_behind_has_no_hole(end: int, whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, whole[:end])
    assert list(holes(tmp_path)) == []


@pytest.mark.parametrize("start", range(1, 5))
def test_a_copy_that_begins_later_has_no_hole(start: int, whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, whole[start:], base=start)
    assert list(holes(tmp_path)) == []


def test_a_copy_whose_log_start_was_moved_has_no_hole_before_it(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, whole[3:])
    assert len(list(holes(tmp_path))) == 1
    (tmp_path / "broker-2" / "log-start-offset-checkpoint").write_text("0\n1\nd 0 3\n")
    assert list(holes(tmp_path)) == []


@pytest.mark.parametrize("broker", [1, 2])
def test_copies_of_a_topic_that_a_cleaner_cleans_may_differ(broker: int, whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, whole)
    put(tmp_path, 2, without(whole, 0))
    (tmp_path / f"broker-{broker}" / "cleaner-offset-checkpoint").write_text("0\n1\nd 0 4\n")
    assert list(holes(tmp_path)) == []


def test_copies_that_were_cleaned_apart_have_no_holes(tmp_path: Path) -> None:
    log = keyed([b"a", b"b", b"a", b"b", b"a", b"b"])
    put(tmp_path, 1, without(log, 0, 2))
    put(tmp_path, 2, log)
    assert list(holes(tmp_path)) == []


def test_a_cleaner_keeps_the_last_record_of_each_key(tmp_path: Path) -> None:
    log = keyed([b"a", b"b", b"c", b"d", b"a", b"b"])
    put(tmp_path, 1, without(log, 0, 2))
    put(tmp_path, 2, log)
    (hole,) = holes(tmp_path)
    assert hole.first_offset == 2
    assert "the record at offset 2 is the last of its key, which the cleaner keeps" in hole.why


def test_a_cleaner_keeps_the_marker_of_records(whole: list[bytes], tmp_path: Path) -> None:
    put(tmp_path, 1, without(whole[:4], 1))
    put(tmp_path, 2, whole)
    (hole,) = holes(tmp_path)
    assert "the cleaner keeps the marker of a transaction while it has records, and offset 0 is there" in hole.why


def test_copies_of_internal_topics_are_not_compared(tmp_path: Path) -> None:
    put(tmp_path, 1, without(keyed([b"a", b"b", b"c"]), 1), topic="__consumer_offsets")
    put(tmp_path, 2, keyed([b"a", b"b", b"c"]), topic="__consumer_offsets")
    assert list(holes(tmp_path)) == []


def test_a_place_that_cannot_be_read_is_no_hole(whole: list[bytes], tmp_path: Path) -> None:
    broken = whole[1][:-1] + bytes([whole[1][-1] ^ 1])
    put(tmp_path, 1, [whole[0], broken, *whole[2:]])
    put(tmp_path, 2, whole)
    report = replay([tmp_path])
    assert report.damage
    assert not any("copy of broker-1" in gap.why for gap in report.not_judged)

"""Damaged recordings: never a traceback, and what cannot be read is never taken for a broken promise."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = sorted(path.parent for path in (ROOT / "tests" / "recordings").glob("*/about.yaml"))
CONFORMING = [ROOT / "tests" / "recordings" / name for name in ("01-commit", "07-tv0-commit")]
CRC_COVERS_FROM = 21
few = settings(max_examples=(settings.default or settings()).max_examples * 3 // 5)


def texts_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".txt", ".jsonl", ".log")]


@few
@given(data=st.data())
def test_any_damage_to_any_file_gives_a_report(data: st.DataObject) -> None:
    """Bytes overwritten, cut, doubled or taken out of one file of a recording, text or binary."""
    folder = data.draw(st.sampled_from(SAMPLES))
    with TemporaryDirectory() as place:
        copy = Path(place) / "evidence"
        shutil.copytree(folder, copy)
        path = copy / data.draw(st.sampled_from([path.relative_to(folder) for path in texts_of(folder)]))
        content = path.read_bytes()
        begin = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(begin, min(len(content), begin + 200)))
        filling = data.draw(st.sampled_from([b"", content[begin:end] * 2]) | st.binary(max_size=20))
        path.chmod(0o644)
        path.write_bytes(content[:begin] + filling + content[end:])
        assert replay([copy / "segments"]).verdict in Judgement
        assert replay([copy / "dump"]).verdict in Judgement
        assert replay([copy]).verdict in Judgement


@few
@given(data=st.data())
def test_digits_changed_in_a_dump_give_a_report(data: st.DataObject) -> None:
    """A dump has no checksum: any number may be any other."""
    folder = data.draw(st.sampled_from(SAMPLES))
    with TemporaryDirectory() as place:
        copy = Path(place) / "evidence"
        shutil.copytree(folder / "dump", copy)
        path = data.draw(st.sampled_from(sorted(copy.iterdir())))
        path.chmod(0o644)
        text = path.read_text()
        digits = [index for index, character in enumerate(text) if character.isdigit()]
        if not digits:
            return
        for index in data.draw(st.lists(st.sampled_from(digits), min_size=1, max_size=3)):
            text = text[:index] + data.draw(st.sampled_from("0123456789")) + text[index + 1 :]
        path.write_text(text)
        assert replay([copy]).verdict in Judgement


def segments_of(folder: Path) -> list[tuple[Path, int]]:
    return [(path, len(path.read_bytes())) for path in sorted((folder / "segments").rglob("*.log"))]


@few
@given(data=st.data())
def test_a_flipped_bit_is_damage_and_no_violation(data: st.DataObject) -> None:
    folder = data.draw(st.sampled_from(CONFORMING))
    path, size = data.draw(st.sampled_from(segments_of(folder)))
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, size - 1))
    if not is_covered(bytes(content), position):
        return
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    assert judged_with(folder, path, bytes(content)) is Judgement.DAMAGED


def is_covered(content: bytes, position: int) -> bool:
    """Whether the checksum of a batch covers the byte (offset, length and leader epoch are outside it)."""
    begin = 0
    while begin < len(content):
        size = 12 + int.from_bytes(content[begin + 8 : begin + 12])
        if position < begin + size:
            return position >= begin + CRC_COVERS_FROM
        begin += size
    return False


@few
@given(data=st.data())
def test_a_segment_cut_inside_a_batch_is_damage_and_no_violation(data: st.DataObject) -> None:
    folder = data.draw(st.sampled_from(CONFORMING))
    path, size = data.draw(st.sampled_from(segments_of(folder)))
    content = path.read_bytes()
    length = data.draw(st.integers(1, size - 1))
    if length in boundaries(content):
        return
    assert judged_with(folder, path, content[:length]) is Judgement.DAMAGED


def boundaries(content: bytes) -> set[int]:
    found, begin = set(), 0
    while begin < len(content):
        found.add(begin)
        begin += 12 + int.from_bytes(content[begin + 8 : begin + 12])
    return found


def judged_with(folder: Path, changed: Path, content: bytes) -> Judgement:
    with TemporaryDirectory() as place:
        copy = Path(place) / "segments"
        shutil.copytree(folder / "segments", copy)
        path = copy / changed.relative_to(folder / "segments")
        path.chmod(0o644)
        path.write_bytes(content)
        return replay([copy]).verdict


def test_the_samples_are_there() -> None:
    assert SAMPLES
    for folder in CONFORMING:
        assert replay([folder / "segments"]).verdict is Judgement.CONFORMS
        assert segments_of(folder)


@pytest.mark.sample("10-hanging")
@pytest.mark.parametrize("folder", SAMPLES, ids=lambda folder: folder.name)
def test_a_recording_without_one_of_its_files_gives_a_report(folder: Path, tmp_path: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        assert replay([each for each in files if each != path]).verdict in Judgement

"""What is packed says what the segment says: to the screen, to the judges, and to whoever asks for its bytes."""

import lzma
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import crc32c
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.screening.drawn import steps, written
from tests.screening.logs import Leader, Log, Written, segments_of, shifted
from zombieproof.formats.control_records import EndMarker
from zombieproof.formats.segments import parts_of
from zombieproof.screening.clearing import screen_segment
from zombieproof.screening.packed import layout, parts, writing
from zombieproof.screening.packed.contents import packed_batches, packed_content
from zombieproof.screening.packed.layout import PackedError, PartCode
from zombieproof.screening.packed.reading import PackedFile, screen_packed
from zombieproof.screening.packed.writing import pack_segment
from zombieproof.screening.reading import Chunk, read_columns
from zombieproof.screening.summaries import Summary
from zombieproof.traces.evidence import Damage
from zombieproof.traces.readers.files import is_table, opened, place_of
from zombieproof.traces.readers.segments import Keep, read_segment

pa = pytest.importorskip("pyarrow", reason="pyarrow (extra `audit`) is missing; nothing else tests packed files")
pq = pytest.importorskip("pyarrow.parquet")

HERE = Path(__file__).resolve().parents[1]
ROOTS = (HERE / "recordings", HERE.parents[1] / "shared" / "traces")
SEGMENTS = [
    file
    for root in ROOTS
    for name in ("*.log", "*.log.xz", "*.log.gz")
    for file in sorted(root.rglob(name))
    if file.name[:20].isdecimal()
]
NAME = "00000000000000000000.log"


def packed(segment: Path, folder: Path, keep: Keep = Keep.NEEDED, rows: int = layout.ROWS) -> Path:
    """The segment, packed into folders of the same names below another one."""
    return pack_segment(segment, target_of(segment, folder), keep, rows).target


def target_of(segment: Path, folder: Path) -> Path:
    return folder.joinpath(*segment.parts[1:]).with_name(f"{segment.name}.parquet")


def rows_of(chunks: Iterator[Chunk]) -> tuple[list[tuple[int, ...]], list[object], int]:
    """All rows, damage without files, and how many batches are of an old format."""
    rows, damage, old = list[tuple[int, ...]](), list[object](), 0
    for chunk in chunks:
        rows += [tuple(map(int, row)) for row in zip(*chunk.columns, strict=True)]
        damage += [(place.position, place.message) for place in chunk.damage]
        old += chunk.old_format
    return rows, damage, old


def told(value: object, folder: str = "") -> str:
    """Everything that evidence says, as if it were of the segment itself."""
    return repr(value).replace(folder, "").replace(".parquet", "")


def in_summary(summary: Summary) -> str:
    """What a summary says; of one that is not clear nothing else is meant (why depends on the size of chunks)."""
    if not summary.is_clear:
        return "not clear"
    return repr(replace(summary, parts=(), producers=dict(sorted(summary.producers.items())))) + repr(
        list(summary.endings())
    )


def assert_same(segment: Path, target: Path) -> None:
    """The screen and the judges get the same of both."""
    with opened(segment) as content:
        with PackedFile(target) as file:
            assert rows_of(file.chunks()) == rows_of(read_columns(content.data, str(segment)))
            assert (file.origin.length, file.origin.fault) == (len(content.data), content.fault)
            keeps = Keep(file.origin.keeps)
        for keep in (Keep.NEEDED, Keep.ALL) if keeps is Keep.ALL else (Keep.NEEDED,):
            again = packed_content(target, keep)
            folder = str(target).removesuffix(f"{segment}.parquet")
            raw = read_segment(content.data, str(segment), keep)
            if content.fault is not None:  # as `collect` takes it
                raw.damage.insert(0, Damage(str(segment), len(content.data), content.fault))
                raw.torn_tail = True
            assert told(again, folder) == told(raw)
    assert in_summary(screen_packed(target)) == in_summary(screen_segment(segment, place_of(str(segment)).topic))


@pytest.mark.sample("01-commit")
@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda file: "/".join(file.parts[-4:-1]))
def test_a_packed_recording_says_what_it_says(segment: Path, tmp_path: Path) -> None:
    assert_same(segment, packed(segment, tmp_path))


def test_there_are_segments_to_pack() -> None:
    assert len(SEGMENTS) > 10
    assert {place_of(str(each)).topic for each in SEGMENTS} >= {"__transaction_state", "__consumer_offsets"}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


def on_disk(data: bytes, folder: Path, name: str = NAME) -> Path:
    """A segment of these bytes, alone with what is packed of it."""
    file = folder / "t-0" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    shutil.rmtree(folder / "out", ignore_errors=True)
    return file


STEPS = steps(most=10, gap=5)


SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
ALTERED = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3)


@given(STEPS, ALTERED, st.integers(0, 1 << 16), st.integers(1, 4), st.sampled_from(Keep))
@SHARED
def test_a_log_however_damaged_says_the_same_when_it_is_packed(
    scratch: Path, steps: list[Any], altered: list[tuple[int, int]], cut: int, rows: int, keep: Keep
) -> None:
    """Any bytes are other ones, and the end may be cut; row groups have any size."""
    [(_, data)] = segments_of(written(steps), ()) or [("", b"")]
    damaged = bytearray(data)
    for at, value in altered:
        if damaged:
            damaged[at % len(damaged)] = value
    if altered and damaged:
        del damaged[cut % (2 * len(damaged)) :]
    segment = on_disk(bytes(damaged), scratch)
    assert_same(segment, packed(segment, scratch / "out", keep, rows))


@given(STEPS, ALTERED)
@SHARED
def test_with_all_records_no_byte_is_lost(scratch: Path, steps: list[Any], altered: list[tuple[int, int]]) -> None:
    log = written(steps)
    data = bytearray(b"".join(batch.encoded() for batch in log))
    for at, value in altered:
        if data:
            data[at % len(data)] = value
    segment = on_disk(bytes(data) + bytes(100 * len(altered)), scratch)
    assert unpacked(packed(segment, scratch / "out", Keep.ALL)) == segment.read_bytes()


def unpacked(target: Path) -> bytes:
    """The segment again: headers from the columns, content behind them."""
    made = bytearray()
    with PackedFile(target) as file:
        for row in pq.read_table(file.file).to_pylist():
            content = row["content"] or b""
            if row["part"] in layout.HAS_HEADER:
                from zombieproof.formats.record_batch import HEADER  # noqa: PLC0415
                from zombieproof.screening.packed.reading import header_of  # noqa: PLC0415

                content = HEADER.pack(*header_of(row)) + content
            made += content.ljust(row["size"], b"\0")
    return bytes(made)


def test_content_is_kept_where_it_is_read_and_nowhere_else(tmp_path: Path) -> None:
    data, marker = Written(0, 2, 7, 0, 0, True), Written(2, 1, 7, 0, -1, True, EndMarker(True, 0))
    damaged = replace(data, base_offset=3, sequence=2, is_damaged=True)
    segment = on_disk(b"".join(each.encoded() for each in (data, marker, damaged)) + b"\xff" * 20, tmp_path)
    rows = pq.read_table(packed(segment, tmp_path / "out")).to_pylist()
    assert [(PartCode(row["part"]).name, row["content"] is not None, row["sound"]) for row in rows] == [
        ("BATCH", False, 1),
        ("BATCH", True, 1),
        ("UNREADABLE", True, 0),
    ]
    assert rows[2]["content"] == segment.read_bytes()[rows[2]["position"] :]


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_any_stretch_of_batches_is_read(tmp_path: Path, rows: int) -> None:
    log = [Written(number, 1, 7, 0, number) for number in range(20)]
    data = b"".join(each.encoded() for each in log)
    segment = on_disk(data + b"\xff" * 30 + data + bytes(40), tmp_path)
    target = packed(segment, tmp_path / "out", rows=rows)
    batches = [part for part in parts_of(memoryview(segment.read_bytes())) if part.header is not None]
    for first in range(0, 42, 5):
        for count in (1, 4, 50, None):
            found = [batch.position for batch in packed_batches(target, first, count)]
            assert found == [part.position for part in batches][first:][:count]
    everything = [batch for batch in packed_content(target).batches if batch.position < len(data)]
    assert list(packed_batches(target, 0, 20)) == everything


def test_much_content_makes_small_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = [Written(number, 1, 7, 0, number) for number in range(20)]
    segment = on_disk(b"".join(each.encoded() for each in log), tmp_path)
    size = len(log[0].encoded())
    monkeypatch.setattr(parts, "CONTENT_BYTES", 3 * size)
    target = packed(segment, tmp_path / "out", Keep.ALL)
    groups = pq.ParquetFile(target).metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [3] * 6 + [2]
    assert_same(segment, target)
    monkeypatch.setattr(parts, "CONTENT_BYTES", 1)
    target.unlink()
    assert pq.ParquetFile(packed(segment, tmp_path / "out", Keep.ALL)).metadata.num_row_groups == len(log)


def test_a_cut_archive_is_packed_as_far_as_it_goes_and_says_so(tmp_path: Path) -> None:
    log = [Written(number, 1, 7, 0, number) for number in range(200)]
    whole = lzma.compress(b"".join(each.encoded() for each in log))
    segment = on_disk(whole[: len(whole) - 40], tmp_path, f"{NAME}.xz")
    made = pack_segment(segment, target_of(segment, tmp_path / "out"))
    assert made.damage[-1].message == made.origin.fault == "the xz stream is cut short"
    assert not screen_packed(made.target).is_clear
    assert_same(segment, made.target)
    again = pack_segment(segment, made.target)
    assert (again.is_new, again.damage) == (False, made.damage)


# ---------------------------------------------------------------- it is noticed


@pytest.fixture
def one(tmp_path: Path) -> tuple[Path, Path]:
    """A segment of some transactions, and what is packed of it."""
    leader = Leader()
    for number in range(12):
        leader.data(number % 3, 2, is_transactional=True)
        leader.data(number % 3, 1, is_transactional=True)
        leader.marker(number % 3, commits=number % 2 == 0, raises=True)
    segment = on_disk(b"".join(batch.encoded() for batch in leader.log), tmp_path)
    return segment, packed(segment, tmp_path / "out")


def everything(target: Path) -> str:
    with PackedFile(target) as file:
        return repr((file.origin, rows_of(file.chunks()), packed_content(target)))


@pytest.mark.parametrize("seed", range(4))
def test_a_byte_that_is_another_one_is_noticed_or_changes_nothing(one: tuple[Path, Path], seed: int) -> None:
    _, target = one
    data, expected = target.read_bytes(), everything(target)
    draw, noticed = random.Random(seed), 0
    for at in draw.sample(range(len(data)), 300):
        target.write_bytes(data[:at] + bytes([data[at] ^ draw.randrange(1, 256)]) + data[at + 1 :])
        try:
            seen = everything(target)
        except PackedError:
            noticed += 1
        else:
            assert seen == expected
    assert noticed > 100


def test_a_file_that_is_cut_anywhere_is_noticed(one: tuple[Path, Path]) -> None:
    _, target = one
    data = target.read_bytes()
    for length in range(0, len(data), 37):
        target.write_bytes(data[:length])
        with pytest.raises(PackedError, match="is damaged"):
            everything(target)


CHANGES = {
    "base_offset": 1 << 40,
    "last_offset_delta": 7,
    "producer_id": 99,
    "producer_epoch": 31,
    "base_sequence": 77,
    "attributes": 0,
    "marker": 1,
    "coordinator_epoch": -7,
    "max_timestamp_ms": 5,
    "leader_epoch": -9,
    "sound": 0,
}


@pytest.mark.parametrize("column", CHANGES)
def test_a_value_that_is_another_one_changes_what_the_screen_sees(one: tuple[Path, Path], column: str) -> None:
    segment, target = one
    row = -2 if column == "base_sequence" else -1
    rewritten(target, lambda rows: rows[row].update({column: CHANGES[column]}))
    assert in_summary(screen_packed(target)) != in_summary(screen_segment(segment, "t"))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda rows: rows.pop(), "holds 35 rows and says 36"),
        (lambda rows: rows[3].update(part=9), "no part can be"),
        (lambda rows: rows[3].update(position=1), "follows byte 1"),
        (lambda rows: rows[3].update(position=1 << 40), "no part can be"),
        (lambda rows: rows[3].update(content=bytes(500)), "too much stands"),
        (lambda rows: rows[-1].update(size=rows[-1]["size"] - 1), "it ends at byte"),
    ],
)
def test_rows_that_are_no_segment_are_refused(
    one: tuple[Path, Path], change: Callable[[list[dict[str, Any]]], object], fault: str
) -> None:
    _, target = one
    rewritten(target, change)
    with pytest.raises(PackedError, match=fault):
        everything(target)


def rewritten(target: Path, change: Callable[[list[dict[str, Any]]], object], **said: object) -> None:
    """The same file with other rows, or saying something else of itself, and sound as Parquet."""
    table = pq.read_table(target)
    rows = table.to_pylist()
    change(rows)
    metadata = dict(pq.read_metadata(target).metadata)
    origin = layout.Origin.model_validate_json(metadata[layout.METADATA])
    group = layout.RowGroup(rows=origin.rows, end=origin.length, constants={})
    origin = origin.model_copy(update={"groups": [group], **said})
    schema = layout.schema().with_metadata(layout.metadata_of(origin))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), target)


def test_what_pack_did_not_write_is_refused(tmp_path: Path) -> None:
    stranger = tmp_path / "t-0" / f"{NAME}.parquet"
    stranger.parent.mkdir()
    pq.write_table(pa.table({"a": [1]}), stranger)
    with pytest.raises(PackedError, match="`zombieproof pack` did not write"):
        PackedFile(stranger)
    for content in (b"", b"PAR1", b"no Parquet at all"):
        stranger.write_bytes(content)
        with pytest.raises(PackedError, match="is damaged"):
            PackedFile(stranger)


def test_another_version_and_other_columns_are_refused(one: tuple[Path, Path]) -> None:
    _, target = one
    rewritten(target, lambda rows: None, version=2)
    with pytest.raises(PackedError, match="version 2 of the layout, and version 1 is read here"):
        PackedFile(target)
    rewritten(target, lambda rows: None, version=1)
    kept = pq.read_table(target)
    pq.write_table(kept.drop_columns(["crc"]), target)
    with pytest.raises(PackedError, match="has other columns"):
        PackedFile(target)
    said = b'{"version": "one"}'
    for checksum, fault in ((crc32c.crc32c(said), r"cannot be read \(version"), (1, "is damaged: what it says")):
        metadata = {layout.METADATA: said, layout.CHECKSUM: str(checksum)}
        pq.write_table(kept.replace_schema_metadata(metadata), target)
        with pytest.raises(PackedError, match=fault):
            PackedFile(target)


def test_a_file_in_the_place_of_another_one_is_refused(one: tuple[Path, Path]) -> None:
    _, target = one
    for other in (target.parents[1] / "t-1" / target.name, target.with_name("00000000000000000005.log.parquet")):
        other.parent.mkdir(exist_ok=True)
        other.write_bytes(target.read_bytes())
        with pytest.raises(PackedError, match=f"put it back as t-0/{NAME}.parquet"):
            PackedFile(other)
    alone = target.parents[1] / target.name
    alone.write_bytes(target.read_bytes())
    assert packed_content(alone).place.topic == "t"


def test_records_that_were_not_kept_are_not_read(one: tuple[Path, Path]) -> None:
    with pytest.raises(PackedError, match="with --records"):
        packed_content(one[1], Keep.ALL)


# ---------------------------------------------------------------- how it is written


def test_what_is_packed_already_is_not_packed_again(one: tuple[Path, Path]) -> None:
    segment, target = one
    before = target.stat()
    assert not pack_segment(segment, target).is_new
    assert target.stat().st_mtime_ns == before.st_mtime_ns
    with segment.open("ab") as file:
        file.write(b"\xff" * 30)
    assert pack_segment(segment, target).is_new
    assert_same(segment, target)
    assert pack_segment(segment, target, Keep.ALL).is_new
    target.write_bytes(b"PAR1")
    assert pack_segment(segment, target).is_new


def test_the_same_segment_makes_the_same_file(one: tuple[Path, Path]) -> None:
    segment, target = one
    first = target.read_bytes()
    target.unlink()
    assert pack_segment(segment, target).target.read_bytes() == first


def test_what_is_interrupted_leaves_what_was_there(one: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    segment, target = one
    before = target.read_bytes()
    segment.write_bytes(segment.read_bytes() * 2)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing._Writer, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack_segment(segment, target)
    assert [file.name for file in target.parent.iterdir()] == [target.name]
    assert target.read_bytes() == before


def test_what_a_killed_run_left_is_removed(one: tuple[Path, Path]) -> None:
    segment, target = one
    left = target.with_name(f".{target.name}.abc{writing.UNFINISHED}")
    left.write_bytes(b"half")
    target.unlink()
    pack_segment(segment, target)
    assert [file.name for file in target.parent.iterdir()] == [target.name]


def test_the_file_says_where_it_comes_from(one: tuple[Path, Path]) -> None:
    import hashlib  # noqa: PLC0415

    segment, target = one
    with PackedFile(target) as file:
        origin = file.origin
    assert (origin.topic, origin.partition, origin.segment, origin.source) == ("t", 0, NAME, str(segment))
    assert origin.source_sha256 == hashlib.sha256(segment.read_bytes()).hexdigest()
    assert (origin.rows, origin.batches, origin.damaged, origin.old_format) == (36, 36, 0, 0)
    assert is_table(str(target))
    assert not is_table(str(segment))


def test_moved_batches_are_seen_in_what_is_packed(tmp_path: Path) -> None:
    log: Log = [Written(0, 2, 7, 0, 0), Written(2, 2, 7, 0, 2)]
    segment = on_disk(b"".join(each.encoded() for each in shifted(log, 1, 5)), tmp_path)
    assert_same(segment, packed(segment, tmp_path / "out"))
    assert not screen_packed(packed(segment, tmp_path / "out")).is_clear


def test_the_page_tells_every_column_and_everything_the_file_says() -> None:
    page = (HERE.parent / "docs" / "packed.md").read_text()
    for field in layout.schema():
        assert f"| `{field.name}` | {field.type} |" in page
    for name in (*layout.Origin.model_fields, *layout.RowGroup.model_fields):
        assert f"`{name}`" in page

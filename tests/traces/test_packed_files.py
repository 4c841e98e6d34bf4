"""Files of several streams, and streams that would become far larger than any log."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.traces.readers import files
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.files import opened

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
FORMS = pytest.mark.parametrize("suffix", PACK)


def unpacked(path: Path, packed: bytes) -> tuple[bytes, str | None]:
    path.write_bytes(packed)
    with opened(path) as content:
        return bytes(content.data), content.fault


@FORMS
def test_streams_one_after_the_other_are_one_text(tmp_path: Path, suffix: str) -> None:
    parts = [b"first\n", b"", b"x" * 70_000, b"last\n"]
    packed = b"".join(map(PACK[suffix], parts))
    assert packed.endswith(b"\0") == (suffix == ".gz")  # the size of a member stands at its end
    assert unpacked(tmp_path / f"f{suffix}", packed) == (b"".join(parts), None)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_padding_between_streams_and_after_them_is_no_fault(tmp_path: Path, suffix: str) -> None:
    packed = PACK[suffix](b"first\n") + bytes(512) + PACK[suffix](b"last\n") + bytes(1024)
    assert unpacked(tmp_path / f"f{suffix}", packed) == (b"first\nlast\n", None)


@FORMS
def test_the_second_stream_may_be_cut_or_damaged(tmp_path: Path, suffix: str) -> None:
    first, second = PACK[suffix](b"first\n"), PACK[suffix](bytes(range(256)) * 100)
    data, fault = unpacked(tmp_path / f"cut{suffix}", first + second[: len(second) // 2])
    assert data.startswith(b"first\n")
    assert fault is not None
    assert "cut short" in fault
    data, fault = unpacked(tmp_path / f"other{suffix}", first + b"no stream at all")
    assert data == b"first\n"
    assert fault is not None
    assert "is damaged" in fault


def test_many_members_take_time_in_proportion(tmp_path: Path) -> None:
    """Each member once copied all that followed it: 200,000 members would take minutes."""
    assert unpacked(tmp_path / "f.gz", gzip.compress(b"a\n") * 200_000) == (b"a\n" * 200_000, None)


@FORMS
def test_a_stream_that_becomes_far_too_large_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"orders-0.txt{suffix}"
    path.write_bytes(PACK[suffix](b"\n" * (80 << 20)))
    pieces: list[int] = []
    inner = files._pieces

    def counted(stream: object, chunk: bytes) -> object:
        for piece in inner(stream, chunk):
            pieces.append(len(piece))
            yield piece

    monkeypatch.setattr(files, "_pieces", counted)
    evidence = collect([path])
    [damage] = evidence.damage
    assert "which no log does: unpack it if you trust it" in damage.message
    assert max(pieces) <= 1 << 20
    assert sum(pieces) < 66 << 20


@FORMS
def test_a_stream_that_is_large_for_good_reason_is_read(tmp_path: Path, suffix: str) -> None:
    text = b"".join(b"line %d\n" % number for number in range(20_000)) * 2
    assert unpacked(tmp_path / f"f{suffix}", PACK[suffix](text)) == (text, None)


@FORMS
@pytest.mark.parametrize("name", ["x.txt", "x", "x.log.1"])
def test_a_packed_file_is_unpacked_whatever_its_name(tmp_path: Path, suffix: str, name: str) -> None:
    assert unpacked(tmp_path / name, PACK[suffix](b"first\n")) == (b"first\n", None)
    assert unpacked(tmp_path / name, b"BZh is how a text may begin\n")[0] == b"BZh is how a text may begin\n"

"""Archives are searched like folders, standard input is read like a file, and what is wrong with them is said."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zombieproof.traces.evidence import EvidenceError
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers import archives
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.folders import members_in
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Report

Pack = Callable[[Path, Path], None]


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, Path(folder.name, path.relative_to(folder)))


def _tar(mode: str) -> Pack:
    def pack(folder: Path, target: Path) -> None:
        with tarfile.open(target, mode) as archive:  # type: ignore[call-overload]  # each mode is a literal below
            archive.add(folder, folder.name)

    return pack


PACKS = {
    "a.zip": _zip,
    "a.tar": _tar("w"),
    "a.tar.gz": _tar("w:gz"),
    "a.tgz": _tar("w:gz"),
    "a.tar.bz2": _tar("w:bz2"),
    "a.tar.xz": _tar("w:xz"),
    "without-an-ending": _tar("w:gz"),
}


@pytest.fixture
def folder(samples: Path, tmp_path: Path) -> Path:
    shutil.copytree(samples / "01-commit", tmp_path / "one")
    return tmp_path / "one"


def said(report: Report, name: str) -> dict[str, object]:
    """What a report says, but for the order of files, with the name of the archive or folder left out."""
    text = report.model_dump_json().replace(name, "")
    found = Report.model_validate_json(text).model_dump()
    found["judged"]["files_read"].sort()
    found["judged"]["files_not_read"].sort(key=str)
    found["judged"]["lines"].sort(key=str)
    return found


@pytest.mark.parametrize("name", PACKS)
def test_an_archive_says_what_its_folder_says(folder: Path, name: str) -> None:
    PACKS[name](folder, folder.parent / name)
    plain = said(replay([folder]), f"{folder.parent}/")
    assert said(replay([folder.parent / name]), f"{folder.parent / name}/") == plain


def test_archives_in_archives_and_folders_are_searched(folder: Path, tmp_path: Path) -> None:
    plain = replay([folder])
    _tar("w:gz")(folder, tmp_path / "inner.tgz")
    shutil.rmtree(folder)
    outer = tmp_path / "bundle"
    outer.mkdir()
    with zipfile.ZipFile(outer / "outer.zip", "w") as archive:
        archive.write(tmp_path / "inner.tgz", "deep/inner.tgz")
    report = replay([outer])
    assert (report.transactions, report.committed, report.lso) == (plain.transactions, plain.committed, plain.lso)
    assert report.verdict == plain.verdict
    assert all("/outer.zip/deep/inner.tgz/one/" in file for file in report.judged.files_read)


def test_names_in_an_archive_tell_partitions_as_folders_do(folder: Path) -> None:
    _zip(folder, folder.parent / "b.zip")
    logs = collect([folder.parent / "b.zip"]).logs
    assert {(log.topic, log.partition) for log in logs} == {("__transaction_state", 1), ("t", 0), ("t", 1)}
    assert {log.source.value for log in logs} == {"segment"}


def test_compressed_and_wrapped_members_are_read(tmp_path: Path, samples: Path) -> None:
    text = (samples / "01-commit" / "dump" / "t-0.txt").read_text()
    quoted = "".join(f"> {line}\n" for line in text.splitlines()).encode("utf-16")
    packed: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    for suffix, pack in packed.items():
        with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
            archive.writestr(f"t-0.txt{suffix}", pack(quoted))
        assert len(collect([tmp_path / "c.zip"]).logs) == 1
        (tmp_path / f"t-0.txt{suffix}").write_bytes(pack(quoted))
        assert len(collect([tmp_path / f"t-0.txt{suffix}"]).logs) == 1


# ---------------------------------------------------------------- what is wrong with archives


def made(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def reasons(path: Path) -> str:
    evidence = collect([path])
    told = [f"{each.file}: {each.message}" for each in evidence.damage]
    return "\n".join(told + [f"{each.file}: {each.reason}" for each in evidence.ignored])


@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "..\\up.txt"])
def test_a_member_whose_name_leads_out_is_told(tmp_path: Path, name: str) -> None:
    assert "its name leads out of the archive" in reasons(made(tmp_path / "p.zip", {name: b"Dumping x", "b": b"b"}))


def test_absolute_names_are_names_within_the_archive(tmp_path: Path) -> None:
    found = list(members_in(made(tmp_path / "p.zip", {"/etc/x": b"1", "C:\\y\\z": b"2"}), [], [], EVERYTHING))
    assert found == [tmp_path / "p.zip" / "etc" / "x", tmp_path / "p.zip" / "y" / "z"]


def test_links_in_an_archive_are_told_and_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("Dumping /a-0/00000000000000000000.log\n")
    with tarfile.open(tmp_path / "l.tar", "w") as archive:
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    assert "a link or a device" in reasons(tmp_path / "l.tar")
    assert not collect([tmp_path / "l.tar"]).logs


def test_an_encrypted_member_is_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "e.zip", {"t-0/00000000000000000000.log": b"secret", "README.md": b"hello"})
    data = bytearray(path.read_bytes())
    at = 0
    while (at := data.find(b"PK\x01\x02", at)) != -1:
        data[at + 8] |= 1
        at += 4
    path.write_bytes(data)
    (damage,) = [each for each in collect([path]).damage if "encrypted" in each.message]
    assert damage.file.endswith("e.zip/t-0/00000000000000000000.log")


def test_a_later_member_of_the_same_name_counts_and_the_earlier_is_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "d.tar", "w") as archive:
        for data in (b"first", b"second!"):
            info = tarfile.TarInfo("a/x.txt")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (member,) = archives.archive_at(tmp_path / "d.tar").members.values()
    assert b"".join(member.read()) == b"second!"
    assert "a later member of the archive has the same name" in reasons(tmp_path / "d.tar")


def test_a_member_that_would_fill_the_memory_is_damage(tmp_path: Path) -> None:
    size = archives.SMALL + 1
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("zeros.txt", bytes(size))
    assert "which no log does" in reasons(tmp_path / "bomb.zip")


def test_archives_in_archives_without_end_are_damage(tmp_path: Path) -> None:
    data = b"x"
    for level in range(archives.DEEPEST + 2):
        path = made(tmp_path / f"{level}.zip", {f"{level}.zip": data})
        data = path.read_bytes()
    assert "unpack them, and give what they hold" in reasons(path)


def test_an_archive_that_is_cut_gives_what_it_holds_and_is_damage(folder: Path, tmp_path: Path) -> None:
    _tar("w")(folder, tmp_path / "cut.tar")
    data = (tmp_path / "cut.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: len(data) // 2 + 700])
    evidence = collect([tmp_path / "cut.tar"])
    assert evidence.files
    assert any("archive" in each.message for each in evidence.damage)
    _zip(folder, tmp_path / "cut.zip")
    data = (tmp_path / "cut.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    assert "the archive cannot be read to its end" in reasons(tmp_path / "cut.zip")


def test_a_broken_member_is_damage_and_the_others_are_read(folder: Path, tmp_path: Path) -> None:
    _zip(folder, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        info = archive.getinfo("one/dump/t-0.txt")
    data = bytearray((tmp_path / "x.zip").read_bytes())
    name_size, extra_size = struct.unpack_from("<HH", data, info.header_offset + 26)
    data[info.header_offset + 30 + name_size + extra_size + 20] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(data)
    evidence = collect([tmp_path / "x.zip"])
    assert any(each.file.endswith("t-0.txt") and "damaged" in each.message for each in evidence.damage)
    assert {log.topic for log in evidence.logs} >= {"__transaction_state", "t"}


def test_a_partition_without_segments_in_an_archive_is_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "s.zip", {"t-0/00000000000000000000.index": b"", "t-0/partition.metadata": b"version: 0"})
    assert "the folder of a partition holds no segment" in reasons(path)


def test_hidden_members_are_no_content(tmp_path: Path) -> None:
    path = made(tmp_path / "h.zip", {"__MACOSX/._t-0.txt": b"Dumping", ".git/x": b"Dumping a", "a.txt": b"a"})
    assert list(members_in(path, [], [], EVERYTHING)) == [path / "a.txt"]


def test_an_archive_without_evidence_is_damage(tmp_path: Path) -> None:
    assert "nothing in it is evidence of transactions" in reasons(made(tmp_path / "n.zip", {"a.txt": b"hello"}))
    assert "nothing in it is evidence of transactions" in reasons(made(tmp_path / "0.zip", {}))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    home = tmp_path_factory.mktemp("packed")
    source = Path(__file__).parents[1] / "recordings" / "01-commit" / "dump"
    for name in ("a.zip", "a.tar", "a.tar.gz", "a.tar.xz"):
        PACKS[name](source, home / name)
    return {name: (home / name).read_bytes() for name in ("a.zip", "a.tar", "a.tar.gz", "a.tar.xz")}


@given(
    name=st.sampled_from(["a.zip", "a.tar", "a.tar.gz", "a.tar.xz"]),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=4),
    left=st.floats(0.05, 1),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_archive_ends_in_a_traceback(
    packed: dict[str, bytes], tmp_path: Path, name: str, flips: list[tuple[float, int]], left: float
) -> None:
    data = bytearray(packed[name][: int(len(packed[name]) * left)])
    for place, change in flips:
        data[int(place * len(data))] ^= change
    (tmp_path / name).write_bytes(data)
    report = replay([tmp_path / name])
    assert report.judged.files_read or report.damage


# ---------------------------------------------------------------- standard input


def given_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress], ids=lambda each: each.__name__)
def test_standard_input_is_read_like_a_file(
    monkeypatch: pytest.MonkeyPatch, samples: Path, pack: Callable[[bytes], bytes]
) -> None:
    data = (samples / "01-commit" / "dump" / "t-0.txt").read_bytes()
    given_input(monkeypatch, pack(data))
    evidence = collect(["-"])
    assert evidence.files == ["standard input"]
    assert [(log.topic, log.partition) for log in evidence.logs] == [("t", 0)]
    assert evidence.damage == []


def test_an_archive_on_standard_input_is_searched(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _tar("w:gz")(folder, folder.parent / "a.tgz")
    given_input(monkeypatch, (folder.parent / "a.tgz").read_bytes())
    report = replay(["-"])
    assert report.transactions == replay([folder]).transactions
    assert all(file.startswith("standard input/one/") for file in report.judged.files_read)


def test_standard_input_is_read_once_beside_files(monkeypatch: pytest.MonkeyPatch, samples: Path) -> None:
    dumps = samples / "01-commit" / "dump"
    given_input(monkeypatch, (dumps / "t-0.txt").read_bytes())
    evidence = collect(["-", dumps / "t-1.txt", "-"])
    assert evidence.files == ["standard input", str(dumps / "t-1.txt")]
    given_input(monkeypatch, b"nothing of it")
    assert [each.message for each in collect(["-"]).damage] == ["nothing in it is evidence of transactions"]


def test_an_empty_standard_input_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    given_input(monkeypatch, b"")
    with pytest.raises(EvidenceError, match="standard input is empty: pipe evidence into the command"):
        collect(["-"])


def test_damage_of_standard_input_names_it_and_the_line(monkeypatch: pytest.MonkeyPatch, samples: Path) -> None:
    lines = (samples / "01-commit" / "dump" / "t-0.txt").read_text().splitlines()
    lines[2] = lines[2][:60]
    given_input(monkeypatch, "".join(f"kafka-1  | {line}\n" for line in lines).encode())
    damage = collect(["-"]).damage
    assert (damage[0].file, damage[0].position) == ("standard input", 3)


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    path = made(tmp_path / "v.zip", {"a.txt": b"1"})
    assert set(archives.archive_at(path).members) == {"a.txt"}
    made(path, {"b.txt": b"2"})
    os.utime(path, ns=(1, 1))
    assert set(archives.archive_at(path).members) == {"b.txt"}

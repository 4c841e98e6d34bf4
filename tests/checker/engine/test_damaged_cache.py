"""A damaged, foreign or unwritable cache costs time and nothing else; and what cannot be kept is said once."""

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.engine import cache
from zombieproof.checker.engine.cache import Kept, cache_folder, folder_of, take_fault
from zombieproof.checker.engine.internals.compilation import machine_code
from zombieproof.checker.engine.internals.native import EntryPoint

CONTENT = b"as if it were machine code"


@pytest.fixture(autouse=True)
def nothing_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache._Faults, "first", "")
    monkeypatch.setattr(cache._Faults, "was_reported", False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole file of a cache."""
    path = tmp_path / "engine-0123456789abcdef.compiled"
    cache._write(path, cache._FORMAT + cache._seal(path.name, CONTENT) + CONTENT)
    return path


def increment(number: int) -> int:
    return number + 1


def decrement(number: int) -> int:
    return number - 1


def call(folder: Path, function: Any, name: str = "one") -> tuple[int, bool]:
    """Call a function as an entry point; return what it says of 41, and whether it was compiled for that."""
    kept, compiled = Kept(folder, name), []

    def make(kinds: Any, arguments: tuple[Any, ...]) -> Any:
        compiled.append(machine_code(function, arguments))
        kept.keep(kinds, compiled[-1])
        return compiled[-1]

    return EntryPoint(kept.take, make)(41), bool(compiled)


# ---------------------------------------------------------------- damage


def test_a_whole_file_is_taken(file: Path) -> None:
    assert Kept._unsealed(file) == CONTENT


def test_a_file_that_ends_anywhere_else_is_not_taken(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert Kept._unsealed(file) is None, length
    file.write_bytes(whole + b"\0")
    assert Kept._unsealed(file) is None


def test_a_file_with_any_bit_changed_is_not_taken(file: Path) -> None:
    whole = file.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            assert Kept._unsealed(file) is None, (place, bit)


def test_a_whole_file_under_the_name_of_another_is_not_taken(file: Path) -> None:
    other = file.with_name("rehash-0123456789abcdef.compiled")
    shutil.copy(file, other)
    assert Kept._unsealed(other) is None


@pytest.mark.parametrize(
    "damage",
    [lambda whole: b"", lambda whole: whole[: len(whole) // 2], lambda whole: bytes(len(whole)), lambda whole: b"no"],
    ids=["empty", "half", "zeros", "short"],
)
def test_what_is_damaged_is_compiled_again_and_kept_anew(tmp_path: Path, damage: Any) -> None:
    assert call(tmp_path, increment) == (42, True)
    assert call(tmp_path, increment) == (42, False)
    [kept] = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    assert call(tmp_path, increment) == (42, True)
    assert call(tmp_path, increment) == (42, False)
    assert list(tmp_path.iterdir()) == [kept]
    assert take_fault() is None


def test_machine_code_of_another_function_is_not_run(tmp_path: Path) -> None:
    call(tmp_path, increment, "up")
    call(tmp_path, decrement, "down")
    up, down = sorted(tmp_path.iterdir(), reverse=True)
    shutil.copy(down, up)
    assert call(tmp_path, increment, "up") == (42, True)
    # Renamed under the very name that the seal is for it would be run: that is what the seal is against.
    content = Kept._unsealed(down)
    assert content is not None
    cache._write(up, cache._FORMAT + cache._seal(up.name, content) + content)
    assert call(tmp_path, increment, "up") == (40, False)


# ---------------------------------------------------------------- writing


def test_who_is_interrupted_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache._write(tmp_path / "a", CONTENT)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    (tmp_path / "tmpold.new").write_bytes(CONTENT[:3])
    (tmp_path / "tmpyoung.new").write_bytes(CONTENT[:3])
    long_ago = time.time() - 2 * cache._ABANDONED_SECONDS
    os.utime(tmp_path / "tmpold.new", (long_ago, long_ago))
    assert call(tmp_path, increment) == (42, True)
    assert [path.name for path in tmp_path.glob("*.new")] == ["tmpyoung.new"]


def test_two_that_compile_at_once_both_keep_a_whole_file(tmp_path: Path, repository_root: Path) -> None:
    program = """
import sys
from pathlib import Path
from zombieproof.checker.engine.cache import Kept
from zombieproof.checker.engine.internals.compilation import machine_code
from zombieproof.checker.engine.internals.native import EntryPoint
def increment(number): return number + 1
def make(kinds, arguments):
    code = machine_code(increment, arguments)
    kept.keep(kinds, code)
    return code
kept = Kept(Path(sys.argv[1]), "one")
print(EntryPoint(kept.take, make)(41))
"""
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True, cwd=repository_root
        )
        for _ in range(2)
    ]
    assert [process.communicate(timeout=100)[0] for process in both] == ["42\n", "42\n"]
    [kept] = tmp_path.iterdir()
    assert Kept._unsealed(kept) is not None


# ---------------------------------------------------------------- what cannot be written


def test_a_file_where_the_folder_should_be_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZOMBIEPROOF_NO_CACHE", raising=False)
    monkeypatch.setenv("ZOMBIEPROOF_CACHE_DIR", str(tmp_path / "taken"))
    (tmp_path / "taken").write_text("")
    assert folder_of("0" * 64) is None
    fault = take_fault()
    assert fault is not None
    assert f"{tmp_path / 'taken'}: Not a directory;" in fault
    assert "choose another folder with ZOMBIEPROOF_CACHE_DIR" in fault
    assert folder_of("1" * 64) is None
    assert take_fault() is None


def test_a_user_without_a_home_is_told_where_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("ZOMBIEPROOF_NO_CACHE", "ZOMBIEPROOF_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(RuntimeError):
        cache_folder()
    assert folder_of("0" * 64) is None
    fault = take_fault()
    assert fault is not None
    assert "there is no home folder; choose another folder with ZOMBIEPROOF_CACHE_DIR" in fault


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO])
def test_what_cannot_be_written_is_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(tmp_path))

    monkeypatch.setattr("zombieproof.checker.engine.cache.tempfile.NamedTemporaryFile", refuse)
    assert call(tmp_path, increment) == (42, True)
    fault = take_fault()
    assert fault is not None
    assert f"{tmp_path.parent}: {os.strerror(number)};" in fault


def test_a_cache_that_cannot_be_read_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(tmp_path, increment) == (42, True)

    def refuse(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert call(tmp_path, increment) == (42, True)

"""Brokers and clients touch files in one module and ask the time in another; whoever else does is named here.

Tests run on disks that fail and under clocks that jump because nothing goes past `disk.py` and `clock.py`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDERS = ("broker", "clients")
OUTSIDE = {"os", "shutil", "tempfile", "time", "datetime", "io", "mmap", "fcntl"}
"""Modules that reach files or the time."""

DOORS = {
    "broker/store/disk.py": {"os", "shutil", "files"},
    "broker/cluster/clock.py": {"time"},
}

OTHERS = {
    ("broker/store/fault_disk.py", "os"): "only what errors are called: its files are bytes in memory",
    ("broker/cluster/live_trace.py", "files"): "a trace is no store: it is written where its user wants it",
    ("broker/acls.py", "files"): "who may do what is read once, from where its user wrote it",
    ("clients/pending_transactions.py", "os"): "the end of that file, and the error when a disk is full",
    ("clients/pending_transactions.py", "tempfile"): "what does not fit into memory; nobody has to find it again",
}
"""What else is touched, and why."""

FILE_METHODS = {
    "open",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "mkdir",
    "iterdir",
    "unlink",
    "exists",
}


def touched(source: str) -> Iterator[str]:
    """The modules outside that a source imports, and "files" where it opens or makes some by itself."""
    tree = ast.parse(source)
    paths = any(isinstance(node, ast.ImportFrom) and node.module == "pathlib" for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from {each.name.partition(".")[0] for each in node.names} & OUTSIDE
        elif isinstance(node, ast.ImportFrom):
            yield from {(node.module or "").partition(".")[0]} & OUTSIDE
        elif isinstance(node, ast.Call):
            called = node.func
            if (isinstance(called, ast.Name) and called.id == "open") or (
                paths and isinstance(called, ast.Attribute) and called.attr in FILE_METHODS
            ):
                yield "files"


def found(package: Path) -> dict[tuple[str, str], None]:
    places = dict[tuple[str, str], None]()
    for folder in FOLDERS:
        for file in sorted((package / folder).rglob("*.py")):
            name = file.relative_to(package).as_posix()
            for what in touched(file.read_text(encoding="utf-8")):
                if what not in DOORS.get(name, ()):
                    places[name, what] = None
    return places


def test_nothing_goes_past_the_doors_but_what_is_named(repository_root: Path) -> None:
    assert sorted(found(repository_root / "zombieproof")) == sorted(OTHERS)


def test_both_doors_are_used(repository_root: Path) -> None:
    for name, expected in DOORS.items():
        assert set(touched((repository_root / "zombieproof" / name).read_text(encoding="utf-8"))) == expected


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import time", ["time"]),
        ("def f():\n    from os import path", ["os"]),
        ("open('x')", ["files"]),
        ("from pathlib import Path\nPath('x').mkdir()", ["files"]),
        ("from pathlib import Path\ndef f(path: Path) -> None: ...", []),
        ("log.open(1)", []),
    ],
)
def test_a_way_past_them_is_noticed(source: str, what: list[str]) -> None:
    assert list(touched(source)) == what

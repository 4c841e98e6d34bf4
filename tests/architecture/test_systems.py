"""What operating systems do differently is in `zombieproof/system.py`; text files are the same bytes on each."""

import ast
from pathlib import Path

import pytest

from tests.cli.other_system.sitecustomize import LINUX_ONLY, POSIX_MODULES, POSIX_ONLY

SYNCS = {"os": ["fsync"], "signal": ["SIGBREAK", "CTRL_C_EVENT"], "sys": ["platform"]}
"""They exist everywhere, and do not do the same."""
NAMES = {
    module: {*POSIX_ONLY.get(module, ()), *LINUX_ONLY.get(module, ()), *SYNCS.get(module, ())}
    for module in POSIX_ONLY.keys() | LINUX_ONLY.keys() | SYNCS.keys()
}
METHODS = frozenset({"madvise", "add_signal_handler", "add_reader", "add_writer"})
"""Of objects that every system has."""
FILES = {"open": 0, "read_text": 0, "write_text": 1}
"""How a file of text is opened, with the number of arguments before `encoding` that say what is written."""


def system_specific(source: str) -> list[str]:
    """What in `source` some system lacks, or does in another way."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.partition(".")[0] in POSIX_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.partition(".")[0] in POSIX_MODULES:
                found.append(node.module)
            found += [f"{node.module}.{each.name}" for each in node.names if each.name in NAMES.get(node.module, ())]
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in NAMES.get(owner, ()) or node.attr in METHODS:
                found.append(f"{owner}.{node.attr}")
    return found


def unspecific_text(source: str) -> list[str]:
    """Which files of text are opened without an encoding, or written with the line ends of the system."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in FILES:
            continue
        named = {each.arg for each in node.keywords}
        texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if node.func.attr == "open":
            if not texts or "b" in texts[0] or not set(texts[0]) <= set("rwaxt+"):
                continue  # bytes, or no file
            if "encoding" not in named or (texts[0] != "r" and "newline" not in named):
                found.append(f"open in line {node.lineno}")
        elif node.func.attr == "read_text":
            if "encoding" not in named and not texts:
                found.append(f"read_text in line {node.lineno}")
        elif not {"encoding", "newline"} <= named:
            found.append(f"write_text in line {node.lineno}")
    return found


def sources(repository_root: Path) -> list[Path]:
    package = repository_root / "zombieproof"
    return [file for file in sorted(package.rglob("*.py")) if file != package / "system.py"]


def test_only_one_module_knows_how_systems_differ(repository_root: Path) -> None:
    files = sources(repository_root)
    assert len(files) > 100, "nothing was looked at"
    found = {str(file): system_specific(file.read_text(encoding="utf-8")) for file in files}
    assert not {file: names for file, names in found.items() if names}


def test_files_of_text_are_the_same_on_every_system(repository_root: Path) -> None:
    found = {str(file): unspecific_text(file.read_text(encoding="utf-8")) for file in sources(repository_root)}
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "def f():\n    import resource",
        "from os import fdatasync",
        "import os\nos.fsync(3)",
        "import mmap\nflags = mmap.MAP_PRIVATE",
        "area.madvise(4)",
        "loop.add_signal_handler(15, end)",
        "import sys\nis_windows = sys.platform == 'win32'",
    ],
)
def test_a_name_that_a_system_lacks_is_noticed(source: str) -> None:
    assert len(system_specific(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "path.read_text()",
        "path.write_text(text)",
        "path.write_text(text, encoding='utf-8')",
        "path.open('w', encoding='utf-8')",
        "path.open('r')",
    ],
)
def test_text_that_depends_on_the_system_is_noticed(source: str) -> None:
    assert len(unspecific_text(source)) == 1

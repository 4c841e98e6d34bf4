"""A copy of the package and its tests in which one text is another one, and programs that run there."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINES = "zombieproof/statemachines"


@contextlib.contextmanager
def altered(file: str, before: str, after: str) -> Iterator[Path]:
    """A copy of this clone whose `file` (below the machines) says `after` where it said `before`, until the end.

    What Python has compiled of the other files is taken along; what the checker compiles there stays there.
    The other files are the same ones, by hard links: what runs there replaces files, and changes none in place.
    """
    with tempfile.TemporaryDirectory(prefix="zombieproof-fault-") as folder:
        copy = Path(folder)
        for name in ("pyproject.toml", "zombieproof", "tests", "examples", "benchmarks"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, copy_function=_linked)
            else:
                shutil.copy2(source, copy / name)
        if before != after:
            path = copy / MACHINES / file
            text = path.read_text()
            assert text.count(before) == 1, f"{file} says {text.count(before)} times what the fault replaces"
            path.unlink()
            path.write_text(text.replace(before, after))
            for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
                stale.unlink()
        yield copy


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # It is on another file system.
        shutil.copy2(source, target)


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy: what it imports of this project is what lies there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environment |= {"ZOMBIEPROOF_CACHE_DIR": str(copy / "compiled"), "ZOMBIEPROOF_TESTS": "ci"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )

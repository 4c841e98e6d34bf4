"""`python -m tests.real_clients`: run every client that is installed, and write docs/clients.md of what came of it.

Other arguments go to pytest, which runs in a separate process and reports in a JUnit file. With such arguments
(`-k Flink`) the page keeps the results of the tests that did not run.

Exit codes: 0 every client is there and has passed everything, 1 one has not (the page says which), 2 wrong usage.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.real_clients import go_suites
from tests.real_clients.frameworks import FRAMEWORKS, version_of
from tests.real_clients.install import INSTALLERS, ROOT, is_ready
from tests.real_clients.matrix import Results, page, results_of
from tests.real_clients.processes import Client
from zombieproof.report.pages import write_page

FOLDER = Path(__file__).resolve().parent


def main() -> int:
    """Run the command."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.real_clients", description=about)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "clients.md", help="the page that is written")
    arguments, rest = parser.parse_known_args()
    cells = ran(FOLDER, rest)
    if cells is None:
        return 2
    with tempfile.TemporaryDirectory() as folder:
        results = Results(_versions(Path(folder)), cells)
    if rest and arguments.page.is_file():
        results = results.over(results_of(arguments.page.read_text(encoding="utf-8")))
    print(f"written: {write_page(arguments.page, page(results))}")  # noqa: T201  # a command of its own
    return 0 if results.is_whole else 1


def _versions(folder: Path) -> dict[str, str]:
    found = {}
    for name in filter(is_ready, INSTALLERS):
        with Client(name, "127.0.0.1:1", folder) as client:
            found[name] = client.ask("version")
    found |= {name: version_of(name) for name, made in FRAMEWORKS.items() if is_ready(made.installed)}
    return found | {name: go_suites.version(name) for name in go_suites.CLIENTS if is_ready("go-suites")}


def ran(folder: Path, words: Sequence[str]) -> dict[tuple[str, str], str] | None:
    """What came of the tests of a folder, run by pytest in a process of its own with these words; None: nothing."""
    with tempfile.TemporaryDirectory() as results:
        told = Path(results) / "results.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", f"--junitxml={told}", str(folder), *words],
            cwd=ROOT,
            env={"ZOMBIEPROOF_TESTS": "ci", **os.environ},
            check=False,
        )
        return cells_of(told) if told.is_file() else None


def cells_of(told: Path) -> dict[tuple[str, str], str]:
    """Row and client -> what came of it, as `conftest` has put both into the JUnit file of a run."""
    cells = {}
    for case in ET.parse(told).iter("testcase"):
        names = {each.get("name"): str(each.get("value")) for each in case.iter("property")}
        if {"row", "client"} <= set(names):
            ended = {part.tag for part in case}
            came = "**failed**" if ended & {"failure", "error"} else "not run" if "skipped" in ended else "passed"
            cells[names["row"], names["client"]] = came
    return cells


if __name__ == "__main__":
    sys.exit(main())

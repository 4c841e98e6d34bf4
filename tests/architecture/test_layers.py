"""The layers of pyproject.toml hold, and each contract fails when it is broken."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

LAYERS = "A layer imports only layers below it"
TWO_SIDES = "The checker does not import the live system"
ENGINE = "The engine knows no protocol"
DECISIONS = "Only the model, its machines and the readers of logs ask decisions"
PURE = "No clock, chance, thread, input or output in the model and the state machines"
NUMBA = "Numba and NumPy only under checker and screening"
NO_SCREEN = "The live system does not import the screen"
FLOORS = "Readers, judges and explanations are floors"
FOLDED_FIRST = "Logs are folded before they are judged"
HISTORIES = "The judge of histories knows nothing of the protocol"
FACTS_FIRST = "Histories are folded before they are judged"
SPARK = "PySpark only under pipeline"
SOCKETS = "Sockets only under wire"


class Breach(NamedTuple):
    """`importer` gets a file that contains `statement`, and `contract` must notice."""

    importer: str
    statement: str
    contract: str


BREACHES = (
    Breach("model", "from zombieproof import statemachines", LAYERS),
    Breach("statemachines", "from zombieproof import traces", LAYERS),
    Breach("traces/readers", "from zombieproof import checker", LAYERS),
    Breach("traces/explaining", "from zombieproof import screening", LAYERS),
    Breach("screening", "from zombieproof import broker", LAYERS),
    Breach("broker", "from zombieproof import screening", NO_SCREEN),
    Breach("clients", "from zombieproof.screening import walk", NO_SCREEN),
    Breach("broker", "from zombieproof import checker", LAYERS),
    Breach("broker", "from zombieproof import clients", LAYERS),
    Breach("clients", "from zombieproof import wire", LAYERS),
    Breach("wire", "from zombieproof import conformance", LAYERS),
    Breach("conformance", "from zombieproof import report", LAYERS),
    Breach("conformance", "from zombieproof import checker", LAYERS),
    Breach("pipeline", "from zombieproof import report", LAYERS),
    Breach("farm", "from zombieproof import report", LAYERS),
    Breach("farm", "from zombieproof import pipeline", LAYERS),
    Breach("checker", "from zombieproof import farm", LAYERS),
    Breach("report", "from zombieproof import cli", LAYERS),
    Breach("bridge", "from zombieproof import report", LAYERS),
    Breach("checker", "from zombieproof import bridge", LAYERS),
    Breach("clients", "from zombieproof import bridge", LAYERS),
    Breach("a_package_without_a_layer", "", LAYERS),
    Breach("checker", "from zombieproof import broker", TWO_SIDES),
    Breach("checker", "from zombieproof import wire", TWO_SIDES),
    Breach("checker", "from zombieproof import conformance", TWO_SIDES),
    Breach("messages", "from zombieproof import traces", LAYERS),
    Breach("formats", "from zombieproof import messages", LAYERS),
    Breach("checker/engine", "from zombieproof.checker import transactions", ENGINE),
    Breach("checker/engine", "from zombieproof.checker.scenario import Scenario", ENGINE),
    Breach("checker/engine", "from zombieproof.model.rules import Rules", ENGINE),
    Breach("checker/engine", "from zombieproof import statemachines", ENGINE),
    Breach("traces/readers", "from zombieproof.traces import judging", FLOORS),
    Breach("traces/judging/histories", "from zombieproof.traces.explaining.scene import shell", FLOORS),
    Breach("traces/verdict", "from zombieproof.traces.readers import collect", FLOORS),
    Breach("traces/explaining", "from zombieproof.traces import replay", FLOORS),
    Breach("traces", "", FLOORS),
    Breach("traces/judging/histories", "from zombieproof.traces.judging.across import markers", FOLDED_FIRST),
    Breach("traces/judging/across", "from zombieproof.traces.judging import judges", FOLDED_FIRST),
    Breach("traces/history/rules", "from zombieproof.model.decisions.end_txn import decide_end_txn", HISTORIES),
    Breach("traces/history/rules", "from zombieproof.statemachines.kernel import Machine", HISTORIES),
    Breach("traces/history/rules", "from zombieproof.model.vocabulary import Error", HISTORIES),
    Breach("traces/history/rules", "from zombieproof.traces.history import judge", FACTS_FIRST),
    Breach("traces/history", "", FACTS_FIRST),
    Breach("checker/transactions", "from zombieproof.model.decisions.end_txn import decide_end_txn", DECISIONS),
    Breach("broker/coordinator", "from zombieproof.model.decisions import transition", DECISIONS),
    Breach("clients", "from zombieproof.model import decisions", DECISIONS),
    Breach("conformance", "from zombieproof.model.decisions.fetch import fetch_bound", DECISIONS),
    Breach("bridge", "from zombieproof.model.decisions.verification import answer_of_coordinator", DECISIONS),
    Breach("farm", "from zombieproof.model.decisions.produce import decide_append", DECISIONS),
    Breach("report", "from zombieproof.model.decisions.produce import decide_append", DECISIONS),
    Breach("model", "import time", PURE),
    Breach("model", "import random", PURE),
    Breach("statemachines", "import threading", PURE),
    Breach("statemachines", "import pathlib", PURE),
    Breach("statemachines", "import transitions", PURE),
    Breach("traces/readers", "import numpy", NUMBA),
    Breach("report", "from numba import njit", NUMBA),
    Breach("report", "import pyspark", SPARK),
    Breach("farm", "import pyspark", SPARK),
    Breach("broker", "import socket", SOCKETS),
    Breach("clients", "import asyncio", SOCKETS),
)
PACKAGES = (
    "model",
    "statemachines",
    "formats",
    "messages",
    "traces",
    "screening",
    "checker",
    "broker",
    "clients",
    "wire",
    "conformance",
    "bridge",
    "farm",
    "report",
    "pipeline",
    "cli",
)

Lint = Callable[[Path], subprocess.CompletedProcess[str]]


@pytest.fixture
def lint() -> Lint:
    """lint-imports over the package in a folder."""

    def run(folder: Path) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("lint-imports")
        command = [str(program), "--no-cache", "--no-logo"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def copy(repository_root: Path, tmp_path: Path) -> Path:
    """The package as it stands, with every planned layer present."""
    shutil.copy(repository_root / "pyproject.toml", tmp_path)
    package = tmp_path / "zombieproof"
    shutil.copytree(repository_root / "zombieproof", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGES:
        if not (package / f"{name}.py").exists() and not (package / name / "__init__.py").exists():
            add(package / name, "")
    return tmp_path


def add(package: Path, statement: str, number: int = 0) -> str:
    """Add a module with `statement` to a package, and return the module's name."""
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    name = f"zz_added_by_a_test_{number:02}"
    (package / f"{name}.py").write_text(statement + "\n")
    return name


def contracts(output: str, outcome: str) -> set[str]:
    """The contracts that lint-imports printed as KEPT or BROKEN."""
    return {line.split(f" {outcome}")[0] for line in output.splitlines() if f" {outcome}" in line}


def test_every_contract_is_kept(lint: Lint, copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_layer_may_use_what_is_its_own(lint: Lint, copy: Path) -> None:
    package = copy / "zombieproof"
    add(package / "checker", "import numba\nimport numpy\nfrom zombieproof import traces")
    add(package / "wire", "import socket\nfrom zombieproof import clients")
    add(package / "pipeline", "import pyspark\nfrom zombieproof import checker, wire")
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.sample(PURE, TWO_SIDES)
@pytest.mark.parametrize(
    ("contract", "statements"), sorted({(each.contract, bool(each.statement)) for each in BREACHES})
)
def test_forbidden_imports_break_their_contract(lint: Lint, copy: Path, contract: str, statements: bool) -> None:
    breaches = [each for each in BREACHES if (each.contract, each.statement != "") == (contract, statements)]
    names = [add(copy / "zombieproof" / each.importer, each.statement, number) for number, each in enumerate(breaches)]
    result = lint(copy)
    assert result.returncode == 1, result.stdout + result.stderr
    assert contracts(result.stdout, "BROKEN") == {contract}
    assert [name for name in names if statements and name not in result.stdout] == []


def test_no_contract_is_left_without_a_breach(lint: Lint, copy: Path) -> None:
    assert contracts(lint(copy).stdout, "KEPT") == {breach.contract for breach in BREACHES}

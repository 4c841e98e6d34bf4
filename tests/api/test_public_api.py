"""`import zombieproof` is the public API: it loads nothing, each of its names is there, examples need nothing else."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zombieproof
import zombieproof.pipeline

HEAVY = ("numba", "llvmlite", "numpy", "pydantic", "transitions", "rich", "click", "psutil", "yaml")

LOADS = """
import json, sys
before = set(sys.modules)
import zombieproof
for name in sys.argv[1:]:
    getattr(zombieproof, name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded(*names: str) -> set[str]:
    """The modules that a process loads which imports the package and uses some of its names."""
    done = subprocess.run([sys.executable, "-c", LOADS, *names], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_nothing_else() -> None:
    modules = loaded()
    assert "zombieproof" in modules
    assert {name for name in modules if name.startswith("zombieproof.") or name.partition(".")[0] in HEAVY} == set()


@pytest.mark.sample("preset", "replay", "conform")
@pytest.mark.parametrize(
    ("names", "not_needed"),
    [
        (["preset", "Rules", "PRESETS", "Error"], HEAVY),
        (["Scenario", "transaction_scenario", "Op", "SCENARIOS", "OwnFault"], HEAVY),
        (["Model", "Promise", "Machine", "T", "array"], HEAVY),
        (["replay", "Report"], ("numba", "llvmlite", "numpy", "zombieproof.checker", "zombieproof.broker")),
        (["Consumer", "AsyncConsumer", "CommitRefused"], ("numba", "llvmlite", "numpy", "zombieproof.checker")),
        (["Producer", "AsyncProducer", "FatalError"], ("numba", "llvmlite", "numpy", "zombieproof.checker")),
        (["judge_history", "HistoryWriter"], (*HEAVY[:3], "zombieproof.model", "zombieproof.statemachines")),
        (["conform", "Cluster"], ("numba", "llvmlite", "numpy", "zombieproof.checker")),
    ],
    ids=lambda value: value[0],
)
def test_a_name_loads_only_what_it_needs(names: list[str], not_needed: tuple[str, ...]) -> None:
    assert loaded(*names) & set(not_needed) == set()


def test_what_a_name_needs_is_seen_by_the_same_means() -> None:
    assert {"zombieproof.api.checking", "llvmlite"} <= loaded("check")


@pytest.mark.parametrize("name", zombieproof.__all__)
def test_every_name_is_there_and_is_documented(name: str) -> None:
    value = getattr(zombieproof, name)
    assert name in dir(zombieproof)
    if isinstance(value, type) or callable(value):
        assert (value.__doc__ or "").strip(), f"{name} says nothing of itself"


@pytest.mark.parametrize(
    "name", ["check", "save", "scenario", "replay", "judge_history", "conform", "preset", "transaction_scenario"]
)
def test_a_function_says_what_it_raises(name: str) -> None:
    assert "Raises:" in (getattr(zombieproof, name).__doc__ or "")


def test_names_for_type_checkers_are_those_that_are_loaded() -> None:
    tree = ast.parse(Path(zombieproof.__file__).read_text())
    guarded, _ = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guarded.test) == "TYPE_CHECKING"
    said = {
        alias.name: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert said == zombieproof._HOME_OF
    assert sorted(said) == sorted(zombieproof.__all__)
    for name, home in said.items():
        assert getattr(zombieproof, name) is getattr(importlib.import_module(home or ""), name)


def test_a_name_that_is_not_there_is_refused_with_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'chekc'; its names are in zombieproof\.__all__"):
        _ = getattr(zombieproof, "chekc")  # noqa: B009  # a type checker would refuse the name


# ---------------------------------------------------------------- examples


PUBLIC = {"zombieproof": zombieproof.__all__, "zombieproof.pipeline": zombieproof.pipeline.__all__}


def strangers(source: str) -> list[str]:
    """What a program imports that is neither of the standard library, nor pytest, nor the public API."""
    found = []
    for node in ast.walk(ast.parse(source)):
        modules = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        # One example is an application for a client of Kafka, in a module beside its test; two run on Spark, one of
        # which draws.
        legal = sys.stdlib_module_names | {"pytest", "confluent_kafka", "pricing", "pyspark", "matplotlib"}
        found += [name for name in modules if name not in PUBLIC and name.partition(".")[0] not in legal]
        if isinstance(node, ast.ImportFrom) and node.module in PUBLIC:
            found += [alias.name for alias in node.names if alias.name not in PUBLIC[node.module]]
    return found


def programs(root: Path) -> Iterator[Path]:
    return (root / "examples").rglob("*.py")


def test_examples_import_the_public_api_and_nothing_else(repository_root: Path) -> None:
    found = {path.name: strangers(path.read_text()) for path in programs(repository_root)}
    assert len(found) >= 4
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import zombieproof.model.rules", ["zombieproof.model.rules"]),
        ("from zombieproof.checker.checking import check", ["zombieproof.checker.checking"]),
        ("from zombieproof import checker", ["checker"]),
        ("from zombieproof.pipeline import reader", ["reader"]),
        ("def late():\n    import numpy", ["numpy"]),
        ("from zombieproof.pipeline import register", []),
        ("import sys\nimport pytest\nfrom zombieproof import check, replay\nimport zombieproof", []),
    ],
)
def test_a_deep_import_is_noticed(source: str, names: list[str]) -> None:
    assert strangers(source) == names


# ---------------------------------------------------------------- types

PROGRAM = """
from zombieproof import Cluster, Op, Report, Run, Rules, Scenario, check, conform, preset, replay, transaction_scenario

SCENARIO: Scenario = transaction_scenario("mine", "A story.", (((Op.COMMIT,),),), sometimes=("a_transaction_commits",))
run: Run = check(SCENARIO, off=["kip360"], bounds={"lost": 1})
report: Report = replay("folder", rules="3.9")
rules: Rules = preset("newest")
distinct: int = run.distinct
equal: list[int] = [tally.equal for tally in conform("file")]
cluster = Cluster(nodes=1, rules=rules, topics={"t": 1})
"""


MISTAKES = """
check(5)
from zombieproof import chekc
"""


@pytest.mark.slow
def test_a_program_is_type_checked_strictly_against_it(repository_root: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + MISTAKES)
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=mypy.ini", program.name],
        cwd=tmp_path,
        # mypy does not follow the hook by which a clone is installed.
        env={**os.environ, "MYPYPATH": str(repository_root)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (PROGRAM + MISTAKES).splitlines()
    found = re.findall(r"program.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)
    assert [(lines[int(line) - 1], code) for line, code in found] == [
        ("check(5)", "arg-type"),
        ("from zombieproof import chekc", "attr-defined"),
    ], done.stdout


def test_the_package_says_that_it_is_typed(repository_root: Path) -> None:
    assert (repository_root / "zombieproof" / "py.typed").is_file()
    assert '"py.typed"' in (repository_root / "pyproject.toml").read_text()

"""model and statemachines use the standard library only and do nothing but compute.

The layers in pyproject.toml forbid the modules of clock, chance, threads and files by name; here is what a list of
names cannot say: no other third party, and no builtin that reads, writes or runs text as code.
"""

import ast
import sys
from pathlib import Path

import pytest

IMPURE_BUILTINS = frozenset({"open", "print", "input", "eval", "exec", "compile", "breakpoint", "__import__"})
GUESTS = {Path("statemachines/runtime.py"): frozenset({"transitions"})}
"""Third parties that one file may use: `transitions` runs a table."""


def impurities(source: str, guests: frozenset[str] = frozenset()) -> list[str]:
    """What in `source` is neither the standard library, zombieproof, nor computation."""
    welcome = sys.stdlib_module_names | {"zombieproof"} | guests
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] not in welcome]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] not in welcome:
            found.append(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_BUILTINS:
            found.append(f"{node.func.id}() in line {node.lineno}")
    return found


def test_model_and_statemachines_only_compute(repository_root: Path) -> None:
    package = repository_root / "zombieproof"
    files = [file for folder in ("model", "statemachines") for file in sorted((package / folder).rglob("*.py"))]
    assert len(files) > 2, "nothing was looked at"
    faults = {}
    for file in files:
        name = file.relative_to(package)
        faults[str(name)] = impurities(file.read_text(encoding="utf-8"), GUESTS.get(name, frozenset()))
    assert not {name: found for name, found in faults.items() if found}


@pytest.mark.parametrize(
    "source",
    [
        "import numba",
        "from attrs import define",
        "def f():\n    import requests.sessions",
        "print('state')",
        "x = [open(name) for name in names]",
        "exec(text)",
    ],
)
def test_an_impure_line_is_noticed(source: str) -> None:
    assert len(impurities(source)) == 1


def test_a_guest_is_welcome_by_name_only() -> None:
    assert impurities("import transitions") == ["transitions"]
    assert impurities("import transitions\nimport numpy", frozenset({"transitions"})) == ["numpy"]

"""Every row of the reference that can answer does answer in some ladder, and no other row has a name."""

import ast
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace

from zombieproof.model.vocabulary import Row


def rows_in(sources: Iterable[str]) -> set[str]:
    """The members of Row that a source names."""
    return {
        node.attr
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Row"
    }


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ladders_of_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_on_ladders(modules: Iterable[object]) -> set[str]:
    """The guards of the rows of all ladders; that each row answers so is tested where the ladder stands."""
    return {row[2].name for module in modules for _, _, rows in getattr(module, "LADDERS", {}).values() for row in rows}


def test_every_row_is_on_a_ladder_and_every_name_is_used(repository_root: Path) -> None:
    decisions = (repository_root / "zombieproof" / "model" / "decisions").glob("*.py")
    returned = rows_in(file.read_text(encoding="utf-8") for file in decisions)
    files = [file for file in Path(__file__).parent.glob("test_*.py") if file != Path(__file__)]
    climbed = rows_on_ladders(module_of(file) for file in files)
    assert returned - climbed == set(), "rows that no ladder reaches"
    assert set(Row.__members__) - returned == set(), "names that no decision returns"


def test_a_row_that_no_ladder_reaches_is_noticed() -> None:
    source = "refuse(Error.NONE, Row.Y1); append_refused(0, Row.A6 if x else Row.M2)"
    assert rows_in([source]) == {"Y1", "A6", "M2"}

    module = SimpleNamespace(LADDERS={"one": (None, None, (("", {}, Row.Y1, 0, 0),))})
    assert rows_on_ladders([module, object()]) == {"Y1"}

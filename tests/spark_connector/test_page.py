"""docs/spark-connector.md says what a run has shown, row by row, and knows every test."""

import inspect
from pathlib import Path

from tests.real_clients.install import CONNECTOR_JARS, PYSPARK
from tests.spark_connector import test_connector
from tests.spark_connector.__main__ import page


def test_each_cell_is_what_came_of_a_row() -> None:
    told = page({("reads", "one"): "passed", ("reads", "three"): "**failed**", ("writes", "three"): "passed"})
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines() if line.startswith("| ")]
    assert rows[-2:] == [["reads", "passed", "**failed**"], ["writes", "not run", "passed"]]
    assert ["pyspark", PYSPARK] in rows
    assert ["kafka-clients", "3.9.1"] in rows


def test_the_page_has_every_test_and_release(repository_root: Path) -> None:
    """What the cells hold is for a run to say: `make spark-connector`."""
    written = (repository_root / "docs" / "spark-connector.md").read_text(encoding="utf-8")
    tests = [each for name, each in inspect.getmembers(test_connector, inspect.isfunction) if name.startswith("test_")]
    missing = [each.__name__ for each in tests if f"| {inspect.getdoc(each)}" not in written]
    assert (missing, len(tests) > 10) == ([], True), "run `make spark-connector`"
    for jar in CONNECTOR_JARS:
        _, name, release = jar.split(":")
        assert f"| {name} | {release} |" in written

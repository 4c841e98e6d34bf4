"""A plugin of pytest: runs the tests of the cases asked for, and writes down how each of them went.

ZOMBIEPROOF_CASES: a JSON list of ids; ``null`` means all.
ZOMBIEPROOF_CASE_REPORT: the file to write, JSON rows (id, outcome, reason).
"""

import json
import os
from pathlib import Path

import pytest


class Recorder:
    """Chooses by id, and collects outcomes."""

    def __init__(self, wanted: list[str] | None, report: Path) -> None:
        self._wanted = None if wanted is None else set(wanted)
        self._report = report
        self._ids: dict[str, str] = {}
        self._rows: list[tuple[str, str, str]] = []

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the tests of the cases asked for."""
        kept, dropped = [], []
        for item in items:
            mark = item.get_closest_marker("case")
            name = str(mark.args[0]) if mark is not None and mark.args else None
            if name is not None and (self._wanted is None or name in self._wanted):
                kept.append(item)
                self._ids[item.nodeid] = name
            else:
                dropped.append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=dropped)
        if config.getoption("collectonly"):
            self._rows = [(name, "collected", "") for name in self._ids.values()]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test, and of what went wrong before or behind it."""
        if report.when == "call" or report.outcome != "passed":
            reason = ""
            if report.outcome != "passed":
                lines = str(report.longrepr).strip().splitlines()
                errors = [line[1:].strip() for line in lines if line.startswith("E ")]
                reason = (errors or lines or [""])[0]
            self._rows.append((self._ids[report.nodeid], report.outcome, reason))

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        self._report.write_text(json.dumps(self._rows), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Take part where a report is asked for."""
    report = os.environ.get("ZOMBIEPROOF_CASE_REPORT")
    if report:
        config.pluginmanager.register(Recorder(json.loads(os.environ.get("ZOMBIEPROOF_CASES", "null")), Path(report)))

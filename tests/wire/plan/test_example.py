"""The example of an application under test: its mistake is found, its repair passes."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

OPTIONS = ("-c", os.devnull, "--rootdir", ".", "--strict-markers")


@pytest.mark.skipif(
    find_spec("confluent_kafka") is None,
    reason="confluent-kafka, for which the example is written, is not installed; test_plugin.py has the same "
    "application and the same mistake with clients of this package",
)
def test_the_fixture_finds_the_mistake_and_lets_the_repair_pass(repository_root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *OPTIONS, f"--basetemp={tmp_path / 'b'}"],
        cwd=repository_root / "examples/pytest_app",
        capture_output=True,
        text=True,
        check=False,
    )
    ends = {
        name: word for word, name in re.findall(r"^(PASSED|FAILED) test_pricing\.py::(\w+)", done.stdout, re.MULTILINE)
    }
    assert ends == {
        "test_every_order_is_priced": "FAILED",
        "test_every_order_is_priced_exactly_once": "PASSED",
        "test_a_commit_that_nobody_answers_is_made_once": "PASSED",
    }, done.stdout + done.stderr
    assert "group 'pricing' committed offset 5 of orders-0 outside of any transaction" in done.stdout
    assert "orders-0 -> 5" in done.stdout

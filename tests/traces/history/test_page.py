"""The page about histories and the schema of their lines say what the events and the anomalies say."""

import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.traces.history.page import COMMAND, PAGE, SCHEMA, example_of, lines_of, neighbour_of, page
from tests.traces.history.table import TABLE, Row
from tests.traces.history.test_history_file import BEGIN, HEADER, SEND, SENT
from zombieproof.cli.history import HELP
from zombieproof.traces.history.anomalies import Anomaly
from zombieproof.traces.history.history_file import read_history
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.schema import history_schema


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(history_schema())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_page_says_what_the_source_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {COMMAND}"


def test_the_schema_says_what_the_source_says() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == history_schema(), f"run {COMMAND}"


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name.replace(" ", "_"))
def test_every_line_that_is_written_is_of_the_schema(validator: Draft202012Validator, row: Row) -> None:
    for line in lines_of(row.text):
        assert list(validator.iter_errors(json.loads(line))) == []


NO_LINE = {
    "another format": HEADER.replace("zombieproof-history", "kafka"),
    "another version": HEADER.replace('"version": 1', '"version": 2').replace('"version":1', '"version":2'),
    "no kind": SEND.replace('"kind":"send"', '"sort":"send"'),
    "another kind": SEND.replace('"send"', '"sends"'),
    "no process": BEGIN.replace('"process":"A",', ""),
    "an empty name": BEGIN.replace('"A"', '""'),
    "a text for a number": BEGIN.replace('"at":1', '"at":"1"'),
    "an unknown outcome": SENT.replace("acknowledged", "done"),
    "an offset below 0": SENT.replace('"offset":0', '"offset":-3'),
    "an unknown field": SEND.replace('"value"', '"colour":"red","value"'),
    "no object": "[1]",
}


@pytest.mark.parametrize("name", NO_LINE)
def test_what_is_no_line_is_none_of_the_schema_and_refused(
    validator: Draft202012Validator, name: str, tmp_path: Path
) -> None:
    line: Any = json.loads(NO_LINE[name])
    assert NO_LINE[name] not in (HEADER, BEGIN, SEND, SENT), "it differs from what it is made of"
    assert list(validator.iter_errors(line))
    path = tmp_path / "history.jsonl"
    is_header = isinstance(line, dict) and "format" in line
    path.write_text((NO_LINE[name] if is_header else f"{HEADER}\n{NO_LINE[name]}") + "\n")
    with pytest.raises(ValueError, match=r"history\.jsonl, line [12]: "):
        read_history(path)


@pytest.mark.parametrize("anomaly", Anomaly)
def test_the_example_of_an_anomaly_has_it_and_its_neighbour_has_none(anomaly: Anomaly, tmp_path: Path) -> None:
    path, legal = tmp_path / "history.jsonl", tmp_path / "legal.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines_of(example_of(anomaly).text)))
    assert anomaly in {finding.anomaly for finding in judge(read_history(path)).findings}
    legal.write_text("".join(f"{line}\n" for line in lines_of(neighbour_of(example_of(anomaly)).text)))
    assert judge(read_history(legal)).is_clean


def test_what_the_page_shows_in_python_runs(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", page(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verdict = judge(read_history(tmp_path / "worker-1.jsonl"))
    assert verdict.is_clean
    assert (verdict.counts.transactions, verdict.counts.committed, verdict.counts.reads) == (1, 1, 1)


def test_what_the_help_shows_runs(tmp_path: Path) -> None:
    shown = dedent(HELP[HELP.index("  from zombieproof") : HELP.index("The check reports")])
    subprocess.run([sys.executable, "-c", shown], cwd=tmp_path, check=True)
    [finding] = judge(read_history(tmp_path / "lost.jsonl")).findings
    assert finding.anomaly is Anomaly.LOST_WRITE

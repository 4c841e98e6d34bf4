"""docs/clients.md says what a run has shown, cell by cell, and knows every client and scenario."""

from dataclasses import replace
from pathlib import Path

from tests.real_clients import frameworks, go_suites
from tests.real_clients.__main__ import cells_of
from tests.real_clients.by_release import KINDS
from tests.real_clients.frameworks import FRAMEWORKS
from tests.real_clients.install import GENERATIONS, INSTALLERS
from tests.real_clients.known import NOTES, REPEATS
from tests.real_clients.matrix import LATE, Results, page, results_of
from tests.real_clients.scenarios import FAULTS, SCENARIOS

TABLES = (
    ((*SCENARIOS, *FAULTS, *LATE), INSTALLERS),
    ([f"brokers of {release}" for release in GENERATIONS], KINDS),
    (frameworks.SCENARIOS, FRAMEWORKS),
    (go_suites.ROWS, go_suites.CLIENTS),
)
NAMES = (*INSTALLERS, *FRAMEWORKS, *go_suites.CLIENTS)
CELLS = [(row, column) for rows, columns in TABLES for row in rows for column in columns]
WHOLE = Results(versions=dict.fromkeys(NAMES, "1.0"), cells=dict.fromkeys(CELLS, "passed"))


def test_each_cell_is_what_came_of_a_client_in_a_row() -> None:
    assert page(WHOLE).count("| passed") == len(CELLS)
    assert page(WHOLE).count("| passed, repeats ") == len(REPEATS)
    failed = replace(WHOLE, cells={**WHOLE.cells, ("aborts", "kafkajs"): "**failed**"})
    (line,) = [line for line in page(failed).splitlines() if "**failed**" in line]
    assert line.startswith("| **Abort**")
    assert [cell.strip() for cell in line.split("|")[2:-1]].index("**failed**") == list(INSTALLERS).index("kafkajs")
    assert WHOLE.is_whole
    assert not failed.is_whole


def test_what_was_not_run_says_so() -> None:
    some = Results(versions={}, cells={})
    assert page(some).count("| not run ") == len(CELLS)
    assert page(some).count("| not installed |") == len(NAMES)
    assert not some.is_whole


def test_cells_are_read_from_what_a_run_has_told(tmp_path: Path) -> None:
    ends = {"commits": "", "aborts": "<failure/>", "a commit is lost": "<skipped/>", "in the fixture": "<error/>"}
    told_of = '<property name="row" value="{}"/><property name="client" value="kafkajs"/>'
    cases = (f"<testcase><properties>{told_of.format(row)}</properties>{end}</testcase>" for row, end in ends.items())
    told = tmp_path / "results.xml"
    told.write_text(f"<testsuite>{''.join(cases)}<testcase name='of no client'/></testsuite>")
    came = {row: each for (row, _), each in cells_of(told).items()}
    failed = "**failed**"
    assert came == {"commits": "passed", "aborts": failed, "a commit is lost": "not run", "in the fixture": failed}


def test_every_client_has_what_an_application_has_to_know_of_it() -> None:
    assert set(NOTES) == set(INSTALLERS)


def test_a_page_says_what_its_results_were() -> None:
    some = Results({**WHOLE.versions}, {**WHOLE.cells, ("aborts", "kafkajs"): "**failed**"})
    del some.versions["aiokafka"], some.cells["broker_is_killed", "Kafka Connect"]
    for results in (WHOLE, some, Results()):
        assert results_of(page(results)) == results


def test_a_run_of_some_keeps_earlier_results_of_the_same_versions() -> None:
    ran = Results({"kafkajs": "2.0"}, {("aborts", "kafkajs"): "passed", ("aborts", "java"): "**failed**"})
    merged = ran.over(WHOLE)
    assert merged.versions == {**WHOLE.versions, "kafkajs": "2.0"}
    of_others = {at: cell for at, cell in WHOLE.cells.items() if at[1] != "kafkajs"}
    assert merged.cells == {**of_others, **ran.cells}


def test_the_page_has_every_client_and_every_row(repository_root: Path) -> None:
    """What the cells hold is for a run to say: `make clients`."""
    written = (repository_root / "docs" / "clients.md").read_text(encoding="utf-8")
    assert page(results_of(written)) == written, "run `make clients`"

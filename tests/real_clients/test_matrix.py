"""docs/clients.md says what a run has shown, cell by cell, and knows every client and scenario."""

from dataclasses import replace
from pathlib import Path

from tests.real_clients.__main__ import cells_of
from tests.real_clients.install import INSTALLERS
from tests.real_clients.known import NOTES, REPEATS
from tests.real_clients.matrix import LATE, Results, page
from tests.real_clients.scenarios import FAULTS, SCENARIOS

ROWS = (*SCENARIOS, *FAULTS, *LATE)
WHOLE = Results(
    versions=dict.fromkeys(INSTALLERS, "1.0"),
    cells={(row, client): "passed" for row in ROWS for client in INSTALLERS},
)


def test_each_cell_is_what_came_of_a_client_in_a_row() -> None:
    assert page(WHOLE).count("| passed") == len(ROWS) * len(INSTALLERS)
    assert page(WHOLE).count("| passed, repeats ") == len(REPEATS)
    failed = replace(WHOLE, cells={**WHOLE.cells, ("aborts", "kafkajs"): "**failed**"})
    (line,) = [line for line in page(failed).splitlines() if "**failed**" in line]
    assert line.startswith("| **Abort**")
    assert [cell.strip() for cell in line.split("|")[2:-1]].index("**failed**") == list(INSTALLERS).index("kafkajs")
    assert WHOLE.is_whole
    assert not failed.is_whole


def test_what_was_not_run_says_so() -> None:
    some = Results(versions={}, cells={})
    assert page(some).count("| not run ") == len(ROWS) * len(INSTALLERS)
    assert page(some).count("| not installed |") == len(INSTALLERS)
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


def test_the_page_has_every_client_and_every_row(repository_root: Path) -> None:
    """What the cells hold is for a run to say: `make clients`."""
    written = (repository_root / "docs" / "clients.md").read_text(encoding="utf-8")
    cells = {"passed", "passed, repeats", "not run", "**failed**"}
    versions = {name: line for name in INSTALLERS for line in written.splitlines() if line.startswith(f"| {name} |")}
    assert set(versions) == set(INSTALLERS)

    def kept(text: str) -> list[str]:
        """The page without what a run says."""
        lines = (line for line in text.splitlines() if not any(line.startswith(f"| {name} |") for name in INSTALLERS))
        return ["|".join("" if cell.strip() in cells else cell for cell in line.split("|")) for line in lines]

    assert kept(written) == kept(page(WHOLE)), "run `make clients`"

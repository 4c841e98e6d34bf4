"""docs/machines.md holds every machine and is never stale."""

from pathlib import Path

from zombieproof.report.machines_page import check, page, write
from zombieproof.statemachines.registry import ALL_MACHINES


def test_the_committed_page_is_that_of_the_tables(repository_root: Path) -> None:
    assert [str(stale) for stale in check(repository_root / "docs" / "machines.md")] == []


def test_the_page_has_every_row_with_its_reason() -> None:
    text = page()
    for machine in ALL_MACHINES.values():
        for row in machine.rows:
            assert f"| `{row.state.name}` | `{row.event.name}` | `{row.target.name}` | {row.why} |" in text


def test_a_theory_of_several_machines_stands_once_and_the_others_point_there() -> None:
    text = page()
    assert text.count("A producer is known by a generation") == 1
    assert text.count("Its theory: [Proposal2014 coordinator](#proposal2014-coordinator)\n") == 4
    assert text.count("\n## Proposal2014 coordinator\n") == 1


def test_a_page_that_was_just_written_passes(tmp_path: Path) -> None:
    assert check(write(tmp_path / "docs" / "machines.md")) == []


def test_a_missing_page_is_found(tmp_path: Path) -> None:
    assert [stale.why for stale in check(tmp_path / "machines.md")] == ["missing: run `zombieproof diagrams`"]


def test_an_edited_page_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "machines.md")
    path.write_text(path.read_text().replace("point of no return", "point of some return"))
    assert len(check(path)) == 1

"""Each fault of the table is noticed by a scenario of the checker and by live brokers or clients; no fault is not."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.faults.copies import MACHINES, ROOT, altered, run
from tests.faults.exploring import explored, read_bounds
from tests.faults.page import PAGE, page
from tests.faults.table import FAULTS, Fault
from zombieproof.checker.scenarios import SCENARIOS

SEEN = tuple(fault for fault in FAULTS if fault.scenario)
"""Those that a scenario has to notice, too."""
AT_LEAST = 20
UNSEEN = frozenset({"classic_group", "consumer_group_member", "connection", "authorizing"})
"""Machines and steps that no scenario has, of members of groups and of who may come in: tests are the only nets."""

COMMAND = "import sys; from zombieproof.cli import main; sys.exit(main())"
"""The program `zombieproof` of the folder where Python runs."""

MISTAKES = ("NameError", "ImportError", "SyntaxError", "UnboundLocalError", "AttributeError", "TypeError")
"""What a fault that is no fault of the protocol would end in."""


def notice(copy: Path, *nets: str) -> str:
    """Run live tests in a copy to their end; returns what pytest says, "" where all of them pass."""
    found = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rfE", *nets)
    assert found.returncode in (0, 1), found.stdout + found.stderr
    return found.stdout if found.returncode else ""


def explore(copy: Path, fault: Fault) -> dict[str, object]:
    """What the scenario of a fault comes to in a copy, interpreted."""
    found = run(copy, "-m", "tests.faults.exploring", fault.scenario, *fault.bounds.split())
    assert found.returncode == 0, found.stdout + found.stderr
    told: dict[str, object] = json.loads(found.stdout)
    return told


def check(copy: Path, fault: Fault) -> tuple[int, str, int]:
    """The same by `zombieproof check`, compiled: its exit code, the promise that breaks, and in how many steps."""
    bounds = ["--bounds", ",".join(fault.bounds.split())] if fault.bounds else []
    found = run(copy, "-c", COMMAND, "check", fault.scenario, *bounds, "--json")
    assert found.returncode in (0, 1), found.stdout + found.stderr
    violated = json.loads(found.stdout)["scenarios"][0]["violated"] or {"promise": "", "steps": []}
    return found.returncode, violated["promise"], len(violated["steps"])


# ---------------------------------------------------------------- the table


def test_there_are_faults_in_every_machine() -> None:
    machines = {path.name for path in (ROOT / MACHINES).iterdir() if (path / "table.py").exists()}
    assert machines <= {fault.machine for fault in FAULTS}
    assert {fault.machine for fault in FAULTS} - {fault.machine for fault in SEEN} == UNSEEN
    assert len(SEEN) >= AT_LEAST


def test_no_fault_is_listed_twice() -> None:
    assert len({fault.sentence for fault in FAULTS}) == len({fault[1:4] for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_its_text_stands_once(fault: Fault) -> None:
    assert (ROOT / MACHINES / fault.file).read_text().count(fault.before) == 1
    assert fault.before != fault.after


# ---------------------------------------------------------------- noticed


def a_scenario_notices(fault: Fault) -> None:
    with altered(fault.file, fault.before, fault.after) as copy:
        told = explore(copy, fault)
    assert (told["promise"], told["steps"], told["overflows"]) == (fault.breaks, fault.steps, 0)


def a_live_net_notices(fault: Fault) -> None:
    with altered(fault.file, fault.before, fault.after) as copy:
        said = notice(copy, fault.net)
    failed = re.findall(r"^FAILED .*", said, re.MULTILINE)
    assert failed, f"{fault.net} passes"
    assert not re.findall(r"^ERROR .*", said, re.MULTILINE), said
    assert not re.findall(rf"^E +(?:{'|'.join(MISTAKES)})\b", said, re.MULTILINE), said


def by_profile(faults: Sequence[Fault]) -> list[Any]:
    """All but the first of the table: CI takes the first of each machine, `make deep` all."""
    first = {fault.machine: fault for fault in reversed(faults)}.values()
    return [pytest.param(each, marks=pytest.mark.slow if each in first else pytest.mark.deep) for each in faults[1:]]


@pytest.mark.slow
def test_a_scenario_and_a_live_net_notice_a_fault() -> None:
    """The first of the table, in every profile."""
    a_scenario_notices(FAULTS[0])
    a_live_net_notices(FAULTS[0])


@pytest.mark.parametrize("fault", by_profile(SEEN), ids=str)
def test_a_scenario_notices(fault: Fault) -> None:
    a_scenario_notices(fault)


@pytest.mark.long("nobody is refused as a whole", "an abort marker commits the offsets")
@pytest.mark.parametrize("fault", by_profile(FAULTS), ids=str)
def test_a_live_net_notices(fault: Fault) -> None:
    a_live_net_notices(fault)


@pytest.mark.deep
@pytest.mark.parametrize(
    "fault",
    SEEN,
    ids=str,
)
def test_what_is_compiled_finds_the_same(fault: Fault) -> None:
    """`zombieproof check` compiles the altered source, and tells of the same promise in as many steps."""
    with altered(fault.file, fault.before, fault.after) as copy:
        assert check(copy, fault) == (1, fault.breaks, fault.steps)


# ---------------------------------------------------------------- nothing else is noticed


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "bounds"), sorted({(fault.scenario, fault.bounds) for fault in SEEN}))
def test_without_a_fault_the_scenario_holds_as_far(scenario: str, bounds: str) -> None:
    """Nothing breaks in as many steps as the longest way to a fault has."""
    steps = max(fault.steps for fault in SEEN if (fault.scenario, fault.bounds) == (scenario, bounds))
    found = explored(SCENARIOS[scenario], read_bounds(bounds.split()), steps)
    assert (found.promise, found.overflows) == ("", 0)
    assert found.steps >= steps


@pytest.mark.slow
def test_without_a_fault_the_live_nets_pass() -> None:
    """In a copy like those with faults, so that it is the fault that a net notices there."""
    with altered(FAULTS[0].file, "", "") as copy:
        assert notice(copy, *sorted({fault.net for fault in FAULTS})) == ""


# ---------------------------------------------------------------- the page


def test_the_page_says_what_the_table_says() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(FAULTS), "write it again: python -m tests.faults"

"""What comes some time, on the page of results: each promise, how it came out, and what breaks it."""

from zombieproof.checker.checking import Request, check
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.report.mutants import Hunt
from zombieproof.report.results import page
from zombieproof.report.runs import run_of
from zombieproof.report.verification import Found

ENDS = SCENARIOS["two_phase_commit_ends"]


def row(found: Found) -> str:
    section = page(found).split("## What comes some time")[1].split("\n## ")[0]
    [line] = [line for line in section.splitlines() if line.startswith("| `")]
    return line


def test_a_promise_stands_with_its_verdict_and_what_breaks_it() -> None:
    found, request = Found(), Request()
    found.runs = [run_of(check(ENDS, request), request), run_of(check(SCENARIOS["two_phase_commit"]), request)]
    assert row(found) == "| `two_phase_commit_ends` | `everybody_ends` | holds |  |"
    for mutant in ENDS.mutants:
        asked = Request(mutant=mutant.name)
        found.hunts.append(Hunt(mutant, run_of(check(ENDS, asked), asked)))
    assert row(found) == ("| `two_phase_commit_ends` | `everybody_ends` | holds | `the_manager_never_gives_up` (6) |")


def test_a_promise_that_was_broken_or_not_judged_to_the_end_says_so() -> None:
    found = Found()
    for request, verdict in (
        (Request(mutant="the_manager_never_gives_up"), "violated"),
        (Request(memory_bytes=1 << 20), "inconclusive"),
    ):
        found.runs = [run_of(check(ENDS, request), request)]
        assert f"| `everybody_ends` | {verdict} |" in row(found)

"""``python -m tests.conformance FILE [--json] [--only ID|PREFIX]... [--accept]``: a checklist of cases, met or not.

Exit codes: 0 nothing failed, 1 something failed, 2 the command line or a file is wrong.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.conformance import tables, written
from tests.conformance.cases import Case, Checklist, MalformedCases, read_cases
from tests.conformance.runner import Outcome, Result, run_cases

COLUMNS = {
    Outcome.MET: "met",
    Outcome.FAILED: "failed",
    Outcome.NOT_APPLICABLE: "not applicable",
    Outcome.NOT_RUNNABLE: "not runnable",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description="Run a checklist of cases.")
    parser.add_argument("file", type=Path, help="a checklist (YAML; its head says its form)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--only", action="append", default=[], metavar="ID|PREFIX", help="run only these cases")
    parser.add_argument("--accept", action="store_true", help="the written tests are for the text of this file")
    options = parser.parse_args(arguments)
    try:
        checklist = read_cases(options.file)
        cases = _chosen(checklist, options.only)
        if options.accept:
            return _accept(checklist)
        results = run_cases(cases)
    except (MalformedCases, written.TestsBroke) as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    report = as_json(results)
    sys.stdout.write(json.dumps(report) + "\n" if options.json else as_text(results))
    return 1 if report["failed"] else 0


def as_json(results: Sequence[Result]) -> dict[str, object]:
    """The report: numbers for each suite, by prefix, and the ids that failed."""
    suites: dict[str, dict[str, int]] = {}
    for result in results:
        row = suites.setdefault(result.case.prefix, {outcome.value: 0 for outcome in Outcome})
        row[result.outcome.value] += 1
    return {"suites": suites, "failed": [result.case.id for result in results if result.outcome == Outcome.FAILED]}


def as_text(results: Sequence[Result]) -> str:
    """A table of the suites, then every case that is not met with its reason."""
    lines = [f"{'suite':<8}" + "".join(f"{title:>16}" for title in COLUMNS.values())]
    prefixes = list(dict.fromkeys(result.case.prefix for result in results))
    lines += [_row(prefix, [result for result in results if result.case.prefix == prefix]) for prefix in prefixes]
    if len(prefixes) > 1:
        lines.append(_row("all", results))
    for outcome in (Outcome.FAILED, Outcome.NOT_APPLICABLE, Outcome.NOT_RUNNABLE):
        told = [result for result in results if result.outcome == outcome]
        if told:
            lines += ["", f"{COLUMNS[outcome]}:"]
            lines += [f"  {result.case.id}  {result.case.name}: {result.reason}" for result in told]
    return "\n".join(lines) + "\n"


def _row(name: str, results: Sequence[Result]) -> str:
    counts = Counter(result.outcome for result in results)
    return f"{name:<8}" + "".join(f"{counts[outcome]:>16}" for outcome in COLUMNS)


def _chosen(checklist: Checklist, only: Sequence[str]) -> list[Case]:
    unknown = [name for name in only if not any(name in (case.id, case.prefix) for case in checklist.cases)]
    if unknown:
        legal = ", ".join(checklist.prefixes.values())
        raise MalformedCases(f"--only {unknown[0]}: no case has that id or prefix; prefixes here are {legal}")
    return [case for case in checklist.cases if not only or case.id in only or case.prefix in only]


def _accept(checklist: Checklist) -> int:
    """Put on file that the written tests, and the rows of the tables, are for the text of these cases."""
    wanted = written.ids_with_tests() | set(tables.not_applicable())
    digests = {case.id: case.digest for case in checklist.cases if case.id in wanted}
    lost = sorted(wanted - set(digests))
    if lost:
        raise MalformedCases(
            f"a test or table names {', '.join(lost)}, which no case of this file is called; correct it"
        )
    tables.accept(digests)
    sys.stdout.write(f"{len(digests)} cases are on file\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.answers [FOLDER]``: replay all recordings and run all cases of a folder, and write the page.

Exit codes: 0 everything is equal and nothing failed, 1 something is not, 2 the folder is not there or malformed.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.answers.page import PAGE, page
from tests.conformance.cases import MalformedCases, read_cases
from tests.conformance.runner import Outcome, run_cases
from zombieproof.conformance.deviations import deviations
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import RecordingError, files_of
from zombieproof.conformance.tally import Tally, play_all

ROOT = Path(__file__).resolve().parents[2]
CHECKLIST = Path("conformance/kafka-cases.yaml")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.answers", description="Replay everything; write the page.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared")
    folder: Path = parser.parse_args(arguments).folder
    if not (folder / "recordings").is_dir() or not (folder / CHECKLIST).is_file():
        sys.stderr.write(f"{folder}: holds no recordings/ and {CHECKLIST}; the samples are run by `make check`\n")
        return 2
    try:
        cases = read_cases(folder / CHECKLIST).cases
        tallies = [_told(file) for file in files_of([folder / "recordings"])]
    except (RecordingError, MalformedCases) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    damaged = [each for tally in tallies for each in tally.damaged]
    if damaged:
        sys.stderr.write("".join(f"{each}\n" for each in damaged))
        return 2
    results = run_cases(cases)
    (ROOT / PAGE).write_text(page(tallies, results, deviations()), encoding="utf-8")
    failed = [result for result in results if result.outcome == Outcome.FAILED]
    met = sum(1 for result in results if result.outcome == Outcome.MET)
    different = [found for tally in tallies for found in tally.differences if found.id not in deviations()]
    sys.stdout.write(f"{sum(tally.equal for tally in tallies):,} sequences equal, {len(different)} different; ")
    sys.stdout.write(f"{met} of {len(results)} cases met, {len(failed)} failed; {PAGE} says it\n")
    return 1 if different or failed else 0


def _told(file: Path) -> Tally:
    began = time.process_time()
    [tally] = play_all([file], InProcess)
    spent = time.process_time() - began
    sys.stdout.write(f"{file.name:<36} {tally.equal:>6,} of {tally.sequences:>6,} equal {spent:>6.1f} s\n")
    sys.stdout.flush()
    return tally


if __name__ == "__main__":
    raise SystemExit(main())

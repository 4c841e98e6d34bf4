"""``python -m tests.answers [FOLDER]``: replay all recordings and run all cases of a folder, and write the page.

Recordings are replayed twice: in process, and through sockets.

Exit codes: 0 everything is equal and nothing failed, 1 something is not, 2 the folder is not there or malformed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.answers.page import PAGE, page
from tests.answers.playing import played
from tests.conformance.cases import MalformedCases, read_cases
from tests.conformance.runner import Outcome, run_cases
from zombieproof.conformance.deviations import deviations
from zombieproof.conformance.recording import RecordingError, files_of

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
        pairs = list(played(files_of([folder / "recordings"])))
    except (RecordingError, MalformedCases) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    tallies = [tally for pair in pairs for tally in pair]
    damaged = [each for tally in tallies for each in tally.damaged]
    if damaged:
        sys.stderr.write("".join(f"{each}\n" for each in damaged))
        return 2
    results = run_cases(cases)
    (ROOT / PAGE).write_text(page(pairs, results, deviations()), encoding="utf-8")
    failed = [result for result in results if result.outcome == Outcome.FAILED]
    met = sum(1 for result in results if result.outcome == Outcome.MET)
    different = [found for tally in tallies for found in tally.differences if found.id not in deviations()]
    in_process, on_sockets = (sum(pair[number].equal for pair in pairs) for number in (0, 1))
    sys.stdout.write(f"{in_process:,} sequences equal, {on_sockets:,} through sockets, {len(different)} different; ")
    sys.stdout.write(f"{met} of {len(results)} cases met, {len(failed)} failed; {PAGE} says it\n")
    return 1 if different or failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

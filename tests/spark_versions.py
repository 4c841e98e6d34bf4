"""`python -m tests.spark_versions`: the pipeline with each version of pyspark, in a folder of its own under `build/`.

Versions that are supported pass the tests of source and sink on real Spark. The others are refused by name. `--get`
runs nothing and prints the folder with that version.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from zombieproof.pipeline import VERSIONS

ROOT = Path(__file__).resolve().parents[1]
REFUSED = ("3.5", "4.0", "4.1")
TESTS = [
    "reasons",
    "starting",
    "names",
    "lost_progress",
    "progress",
    "sink",
    "source",
    "source_options",
    "counterexamples",
    "recipes",
]
IMPORT = "from zombieproof.pipeline import register"


def installed(version: str) -> Path:
    """The folder that has this version of pyspark, which is fetched by the first call."""
    folder = ROOT / "build" / f"pyspark-{version}"
    if not (folder / "pyspark").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), f"pyspark=={version}.*"]
        subprocess.run(command, check=True)
    return folder


def outcome(version: str, arguments: list[str]) -> str:
    """What became of a version: "" if it is as it should be."""
    surroundings = {**os.environ, "PYTHONPATH": str(installed(version)), "ZOMBIEPROOF_TESTS": "ci"}
    if version in VERSIONS:
        files = [f"tests/spark/test_{name}.py" for name in TESTS]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "spark", "-n", "2", "--dist", "worksteal", *files]
        run = subprocess.run([*command, *arguments], cwd=ROOT, env=surroundings, check=False)
        return "" if run.returncode == 0 else "its tests failed"
    asked = subprocess.run(
        [sys.executable, "-c", IMPORT], cwd=ROOT, env=surroundings, check=False, capture_output=True, text=True
    )
    last = (asked.stderr.strip().splitlines() or [""])[-1]
    return "" if f"pyspark {version}." in last and "is not supported" in last else f"it is not refused: {last}"


def main() -> int:
    """Print a line for each version; 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark_versions", description="The pipeline on each pyspark.")
    parser.add_argument("--version", action="append", help="only this one, as 4.2; repeatable")
    parser.add_argument("--get", help="only get this one, as 4.2.0")
    options, arguments = parser.parse_known_args()
    if options.get:
        sys.stdout.write(f"{installed(options.get)}\n")
        return 0
    wrong = 0
    for version in options.version or (*REFUSED, *VERSIONS):
        said = outcome(version, arguments)
        wrong += bool(said)
        sys.stdout.write(f"pyspark {version}: {said or ('passed' if version in VERSIONS else 'refused by name')}\n")
        sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

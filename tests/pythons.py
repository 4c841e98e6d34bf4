"""The tests of checker and command line with each Python that there is: `make pythons`.

Each gets an environment of its own below .venv, with what pip installs for it. A Python that is not there is named, and
not tested; none at all, or a test that fails, is an error.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14")
TESTS = ("tests/checker", "tests/cli", "tests/model", "tests/formats", "tests/store")
SHOWS = "import sys; print(*sys.version_info[:3], sep='.')"


def pythons(given: Iterable[str], names: Iterable[str] = NAMES) -> Iterator[tuple[str, str | None]]:
    """Yield each Python that is wanted, with its version; None: it is not there, or does not start."""
    for name in (*given, *names):
        found = shutil.which(name)
        done = subprocess.run([found, "-c", SHOWS], capture_output=True, text=True, check=False) if found else None
        yield name, done.stdout.strip() if done is not None and done.returncode == 0 else None


def tested(python: str, version: str, arguments: Sequence[str]) -> bool:
    """Run the tests with a Python; whether they pass."""
    folder = ROOT / ".venv" / f"python-{version}"
    program = folder / "bin" / "python"
    steps = (
        [python, "-m", "venv", str(folder)],
        [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ".[test]"],
        [str(program), "-m", "pytest", "-q", *TESTS, *arguments],
    )
    return all(subprocess.run(step, cwd=ROOT, check=False).returncode == 0 for step in steps)


def main(arguments: Sequence[str]) -> int:
    """Test with each Python: those given, then `--` and arguments of pytest."""
    given, _, rest = " ".join(arguments).partition("--")
    outcomes: dict[str, str] = {}
    for name, version in pythons(given.split()):
        if version is None:
            outcomes[name] = "not found, not tested"
        elif not any(each.startswith(f"{version}:") for each in outcomes.values()):
            outcomes[name] = f"{version}: {'passed' if tested(name, version, rest.split()) else 'FAILED'}"
    sys.stdout.writelines(f"{name}: {outcome}\n" for name, outcome in outcomes.items())
    ran = [outcome for outcome in outcomes.values() if ": " in outcome]
    return 0 if ran and all(outcome.endswith("passed") for outcome in ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

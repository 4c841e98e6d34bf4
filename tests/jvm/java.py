"""`python -m tests.jvm.java`: whether there is a Java that Spark and Kafka run on; it says which, or what to do.

Exit codes: 0 there is, 1 there is none.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

LEAST = 17
"""Spark's own classes are made for it, and so are those of Kafka's brokers."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class NoJava(Exception):
    """There is no Java that is new enough; the text says what to do."""


def release_of(told: str) -> int:
    """The release in what `java -version` prints: 17 of "17.0.15", 8 of "1.8.0_292".

    Raises:
        ValueError: it says none.
    """
    found = _VERSION.search(told)
    if found is None:
        raise ValueError(f"{told.strip()[:200]!r} names no version")
    return int(found.group(1))


def java(surroundings: Mapping[str, str] = os.environ) -> tuple[str, int]:
    """The Java that Spark would take, that of JAVA_HOME or else of the PATH, and its release.

    Raises:
        NoJava: there is none, or it is too old.
    """
    home = surroundings.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java", path=surroundings.get("PATH"))
    if program is None:
        raise NoJava(_wrong("there is none on the PATH, and JAVA_HOME is not set"))
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=True)
        release = release_of(done.stderr + done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise NoJava(_wrong(f"{program} does not say what it is ({error})")) from error
    if release < LEAST:
        raise NoJava(_wrong(f"{program} is Java {release}"))
    return program, release


def _wrong(what: str) -> str:
    return (
        f"Java: {what}; Spark and Kafka's brokers need Java {LEAST} or newer. Install one (Debian and Ubuntu: "
        f"apt-get install openjdk-{LEAST}-jre-headless), or say where it is: JAVA_HOME=/path/to/jdk"
    )


def main() -> int:
    """Run the command."""
    try:
        program, release = java()
    except NoJava as error:
        print(error, file=sys.stderr)  # noqa: T201  # a command of its own
        return 1
    print(f"Java {release}: {program}")  # noqa: T201  # a command of its own
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Which Java there is: its release is read; one that is missing, too old or something else is told, with what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.jvm.java import NoJava, java, release_of


def made(folder: Path, says: str, code: int = 0) -> Path:
    """A program named `java` in a JAVA_HOME of its own."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("told", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.2"', 21),
    ],
)
def test_a_release_is_read(told: str, release: int) -> None:
    assert release_of(told) == release


@pytest.mark.parametrize("told", ["", "version", 'version "x"', "17.0.15", 'version ""'])
def test_what_names_no_version_is_refused(told: str) -> None:
    with pytest.raises(ValueError, match="names no version"):
        release_of(told)


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = made(tmp_path, 'openjdk version "21.0.2"')
    assert java({"JAVA_HOME": str(home), "PATH": "/nowhere"}) == (f"{home}/bin/java", 21)
    assert java({"PATH": f"{home}/bin:/usr/bin:/bin"}) == (f"{home}/bin/java", 21)


@pytest.mark.parametrize(
    ("says", "code", "wrong"),
    [
        ('openjdk version "11.0.2"', 0, "is Java 11; Spark and Kafka's brokers need Java 17"),
        ("no", 0, "does not say what it is"),
        ('openjdk version "17.0.15"', 3, "does not say what it is"),
    ],
)
def test_a_java_that_is_of_no_use_is_told(tmp_path: Path, says: str, code: int, wrong: str) -> None:
    with pytest.raises(NoJava, match=wrong):
        java({"JAVA_HOME": str(made(tmp_path, says, code))})


def test_without_java_the_command_says_what_to_do(tmp_path: Path, repository_root: Path) -> None:
    command = [sys.executable, "-m", "tests.jvm.java"]
    done = subprocess.run(
        command, cwd=repository_root, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "apt-get install openjdk-17-jre-headless" in done.stderr
    assert "JAVA_HOME" in done.stderr


def test_a_java_home_that_holds_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match="does not say what it is"):
        java({"JAVA_HOME": str(tmp_path)})

"""A command is run at a real Kafka, which is there before and gone after it; where there is none, that is told."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

JAVA = """#!{python}
import pathlib, re, socket, sys, time
words = sys.argv[1:]
if words == ["-version"]:
    print('openjdk version "17.0.1"', file=sys.stderr)
elif "kafka.Kafka" in words:
    {fails}
    said = dict(line.split("=", 1) for line in pathlib.Path(words[-1]).read_text().splitlines())
    assert said["transaction.state.log.num.partitions"] == "2", said
    host, port = re.search(r"PLAINTEXT://([\\d.]+):(\\d+)", said["advertised.listeners"]).groups()
    listening = socket.create_server((host, int(port)))
    time.sleep(60)
"""
MAVEN = """#!{python}
import pathlib, sys
folder = next(word.partition("=")[2] for word in sys.argv if word.startswith("-DoutputDirectory="))
pathlib.Path(folder).mkdir(parents=True)
pathlib.Path(folder, "kafka_2.13-4.3.1.jar").touch()
"""
COMMAND = "import sys, socket; host, port = sys.argv[2].split(':'); socket.create_connection((host, int(port))); "


def run(folder: Path, root: Path, code: str, fails: str = "", maven: bool = True) -> tuple[int, str, str]:
    """What comes of a command at a node whose Java and Maven are programs of this test."""
    programs = {"java": JAVA, **({"mvn": MAVEN} if maven else {})}
    for name, text in programs.items():
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text.format(python=sys.executable, fails=fails))
        program.chmod(0o755)
    (folder / "bin").mkdir(exist_ok=True)
    surroundings = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    surroundings |= {"PATH": str(folder / "bin"), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "tests.jvm.kafka_node", "--", sys.executable, "-c", COMMAND + code]
    done = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", [0, 7])
def test_a_command_is_told_where_it_is_and_its_code_is_that_of_the_run(
    tmp_path: Path, repository_root: Path, code: int
) -> None:
    ended, out, err = run(tmp_path, repository_root, f"print(*sys.argv[1:]); sys.exit({code})")
    assert (ended, err) == (code, "")
    option, address = out.split()
    host, port = address.split(":")
    assert (option, host) == ("--bootstrap", "127.0.0.1")
    with socket.socket() as gone:
        assert gone.connect_ex((host, int(port))) != 0


def test_without_maven_nothing_is_run_and_it_is_said(tmp_path: Path, repository_root: Path) -> None:
    code, out, err = run(tmp_path, repository_root, "print('ran')", maven=False)
    assert (code, out) == (3, "")
    assert "a real Kafka: mvn is not installed" in err
    assert "apt-get install openjdk-17-jre-headless maven" in err


def test_a_kafka_that_does_not_start_says_why(tmp_path: Path, repository_root: Path) -> None:
    code, out, err = run(tmp_path, repository_root, "print('ran')", fails="sys.exit('no disk is free')")
    assert (code, out) == (3, "")
    assert "java did not start: no disk is free" in err


def test_without_java_nothing_is_run_and_it_is_said(tmp_path: Path, repository_root: Path) -> None:
    (tmp_path / "bin").mkdir()
    surroundings = {"PATH": str(tmp_path / "bin")}
    command = [sys.executable, "-m", "tests.jvm.kafka_node", "--", "true"]
    done = subprocess.run(
        command, cwd=repository_root, env=surroundings, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "there is none on the PATH" in done.stderr) == (3, True)


def test_without_a_command_the_usage_is_said(repository_root: Path) -> None:
    command = [sys.executable, "-m", "tests.jvm.kafka_node"]
    done = subprocess.run(command, cwd=repository_root, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "required: COMMAND" in done.stderr) == (2, True)

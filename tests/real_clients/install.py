"""`python -m tests.real_clients.install [NAME ...]`: get clients of others, each into `.clients/<name>/`.

How a client is got is a row of `INSTALLERS`: the tools that it takes, the files of ours that it is made of, and the
commands. A client is *ready* when `.clients/<name>/ready` holds the digest of its row and files; it is then not made
again. Nothing of it is committed, and nothing outside of its folder is written but the caches of the tools.

Exit codes: 0 all that were asked for are ready, 1 some are not (each is named with the reason), 2 wrong usage.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zombieproof.model.releases import RELEASES

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / ".clients"
PROGRAMS = Path(__file__).resolve().parent / "programs"

PATIENCE_S = 900
"""How long one command of an installer may take."""

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Installer:
    """How one client is got.

    Args:
        tools: what must be on the PATH.
        made_of: files and folders of this tree that go into it; when one changes, the client is made again.
        commands: of the folder of the client, what is called one after the other, there.
        starts: of that folder, the command of the program that does steps (tests/real_clients/steps.py) with it.
    """

    tools: tuple[str, ...]
    made_of: tuple[Path, ...]
    commands: Callable[[Path], Sequence[Command]]
    starts: Callable[[Path], Command]


class NotInstalled(Exception):
    """A client cannot be had: which tool is missing, or which command failed."""


# ---------------------------------------------------------------- the table


def of_pypi(module: str, *requirements: str) -> Installer:
    """A client in a virtual environment of its own."""
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return Installer(
        tools=(),
        made_of=(),
        commands=lambda folder: (
            (sys.executable, "-m", "venv", "venv"),
            (folder / "venv/bin/python", *pip, *requirements),
        ),
        starts=lambda folder: (folder / "venv/bin/python", "-m", f"tests.real_clients.programs.{module}"),
    )


def of_npm(program: Path) -> Installer:
    """A client for Node.js: the folder `program` is copied, and what its lock file names is put beside it."""
    return Installer(
        tools=("node", "npm"),
        made_of=(program,),
        commands=lambda folder: (
            ("cp", "-R", f"{program}/.", "."),
            ("npm", "ci", "--silent", "--no-audit", "--no-fund"),
        ),
        starts=lambda folder: ("node", folder / "main.mjs"),
    )


def of_go(program: Path) -> Installer:
    """A client in Go, built of the folder `program`."""
    return Installer(
        tools=("go",),
        made_of=(program,),
        commands=lambda folder: (("go", "build", "-C", program, "-o", folder / "program", "."),),
        starts=lambda folder: (folder / "program",),
    )


def of_go_suites(program: Path) -> Installer:
    """Build the tests of sarama and franz-go, the test in `program`, and toxiproxy."""
    tests = ("go", "test", "-C", program, "-c", "-o")
    return Installer(
        tools=("go",),
        made_of=(program,),
        commands=lambda folder: (
            (*tests, folder / "sarama", "-tags=functional", "github.com/IBM/sarama"),
            (*tests, folder / "franz-go", "github.com/twmb/franz-go/pkg/kgo"),
            (*tests, folder / "ours", "."),
            ("go", "build", "-C", program, "-o", folder / "toxiproxy", "github.com/Shopify/toxiproxy/v2/cmd/server"),
        ),
        starts=lambda folder: (folder,),
    )


SMALL_JVM = (
    *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
"""Options of the JVM for a program that runs for seconds."""


def of_maven(program: Path, release: str, *options: str) -> Installer:
    """A release of Kafka's own clients and tools, with what is compiled of the folder `program`."""
    return Installer(
        tools=("java", "javac", "mvn"),
        made_of=(program,),
        commands=lambda folder: (
            ("mvn", "-q", "-B", "-f", program / "pom.xml", f"-Dkafka={release}", f"-Dinto={folder}", "package"),
        ),
        starts=lambda folder: ("java", *SMALL_JVM, *options, "-cp", f"{folder / 'lib'}/*", "zombieproof.clients.Steps"),
    )


INSTALLERS: Mapping[str, Installer] = {
    "confluent-kafka": of_pypi("confluent_kafka_client", "confluent-kafka>=2.6"),
    "aiokafka": of_pypi("aiokafka_client", "aiokafka>=0.12"),
    "kafka-python": of_pypi("kafka_python_client", "kafka-python>=3.0"),
    "kafkajs": of_npm(PROGRAMS / "kafkajs_client"),
    "franz-go": of_go(PROGRAMS / "franz_go_client"),
    "java": of_maven(PROGRAMS / "java_client", "4.3.1"),
    "java-group-protocol": of_maven(PROGRAMS / "java_client", "4.3.1", "-Dgroup.protocol=consumer"),
    "java-3.9": of_maven(PROGRAMS / "java_client", "3.9.1"),
}
"""Every client, by its name at its registry."""

# ---------------------------------------------------------------- frameworks


def of_framework(profile: str, starts: str, *options: str, source: str = "") -> Installer:
    """A framework's jars in `lib`, as a profile of `programs/frameworks/pom.xml` names them.

    Args:
        profile: the Maven profile.
        starts: the class with the main method.
        options: more options of the JVM.
        source: the file of that class, unless it is in a jar; it is compiled to `classes`.
    """
    pom = PROGRAMS / "frameworks" / "pom.xml"
    sources = (PROGRAMS / "frameworks" / source,) if source else ()
    jars = ("mvn", "-q", "-B", "-f", pom, "-P", profile, "dependency:copy-dependencies")
    return Installer(
        tools=("java", "javac", "mvn"),
        made_of=(pom, *sources),
        commands=lambda folder: (
            (*jars, f"-DoutputDirectory={folder / 'lib'}"),
            *(("javac", "-cp", f"{folder / 'lib'}/*", "-d", folder / "classes", each) for each in sources),
        ),
        starts=lambda folder: (
            *("java", "-Xmx512m", *SMALL_JVM[1:], *options),
            *("-cp", f"{folder / 'classes'}:{folder / 'lib'}/*", starts),
        ),
    )


_FLINK_OPENS = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util")]

FRAMEWORKS: Mapping[str, Installer] = {
    "spring-kafka": of_framework("spring-kafka", "SpringCopies", source="SpringCopies.java"),
    "connect": of_framework("connect", "org.apache.kafka.connect.cli.ConnectDistributed"),
    "flink": of_framework("flink", "FlinkCopies", *_FLINK_OPENS, source="FlinkCopies.java"),
}
"""Frameworks that copy records exactly once, for the tests in `test_frameworks.py`."""

PYSPARK = "4.2.0"
CONNECTOR_JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Spark's own connector, jar by jar: the parent of the first cannot always be resolved, and one alone needs none."""


def of_spark(module: str) -> Installer:
    """Spark's Kafka connector in `lib`, with the release of Spark that it is made for, and a program beside it."""
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"pyspark=={PYSPARK}")
    copy = ("mvn", "-q", "-B", "dependency:copy", "-DoutputDirectory=lib")
    return Installer(
        tools=("java", "mvn"),
        made_of=(),
        commands=lambda folder: (
            *((*copy, f"-Dartifact={jar}") for jar in CONNECTOR_JARS),
            (sys.executable, "-m", "venv", "venv"),
            (folder / "venv/bin/python", *pip),
        ),
        starts=lambda folder: (folder / "venv/bin/python", "-m", module, folder),
    )


BESIDE: Mapping[str, Installer] = {"spark-connector": of_spark("tests.spark_connector.program")}
"""What is no client to run the scenarios with, and is got in the same way when it is named."""

GO_SUITES: Mapping[str, Installer] = {"go-suites": of_go_suites(PROGRAMS / "go_suites")}
"""The transaction tests of Go clients, for `go_suites.py`."""


# ---------------------------------------------------------------- clients of the time of a release

_PLATFORMS = ("manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")


def of_old_java(release: str) -> Installer:
    """A release of Kafka's own client, and one program for all of them, which Java compiles when it is started."""
    copy = ("mvn", "-q", "-B", "dependency:copy", "-DoutputDirectory=lib")
    jars = (f"org.apache.kafka:kafka-clients:{release}", *(f"org.slf4j:slf4j-{each}:1.7.36" for each in ("api", "nop")))
    return Installer(
        tools=("java", "mvn"),
        made_of=(PROGRAMS / "OneCommit.java",),
        commands=lambda folder: [(*copy, f"-Dartifact={jar}") for jar in jars],
        starts=lambda folder: ("java", "-Xmx128m", "-cp", f"{folder / 'lib'}/*", PROGRAMS / "OneCommit.java"),
    )


def of_wheel(program: str, requirement: str, python: str = "") -> Installer:
    """A wheel in `lib`, without what it requires; `python`: of another Python than this one ("38"), for its library."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    other = () if not python else ("--only-binary=:all:", f"--python-version={python}")
    platforms = [f"--platform={each}" for each in _PLATFORMS] if python else []
    return Installer(
        tools=(),
        made_of=(PROGRAMS / program,),
        commands=lambda folder: [(*pip, *other, *platforms, "--target", folder / "lib", requirement)],
        starts=lambda folder: (sys.executable, "-W", "ignore", PROGRAMS / program, folder / "lib"),
    )


def of_their_time(client: str, version: str, python: str = "") -> Installer:
    """A release of a client, which commits a record and reads it (`programs/OneCommit.java` and its like)."""
    if client == "java":
        return of_old_java(version)
    program = "librdkafka_commit.py" if client == "librdkafka" else "kafka_python_commit.py"
    package = "confluent-kafka" if client == "librdkafka" else client
    return of_wheel(program, f"{package}=={version}", python)


JAVA = {
    release: f"{release}.{patch}"
    for release, patch in {
        "0.11.0": 3,
        "1.0": 2,
        "1.1": 1,
        "2.0": 1,
        "2.1": 1,
        "2.2": 2,
        "2.3": 1,
        "2.4": 1,
        "2.5": 1,
        "2.6": 3,
        "2.7": 2,
        "2.8": 2,
        "3.0": 2,
        "3.1": 2,
        "3.2": 3,
        "3.3": 2,
        "3.4": 1,
        "3.5": 2,
        "3.6": 2,
        "3.7": 2,
        "3.8": 1,
        "3.9": 1,
        "4.0": 1,
        "4.1": 1,
        "4.2": 0,
        "4.3": 1,
        "4.4": 0,
    }.items()
}
"""Release -> the newest patch release of Kafka's own client."""

LIBRDKAFKA = {
    "0.11.0": ("0.11.6", "36"),
    "2.1": ("1.0.1", "37"),
    "2.3": ("1.2.0", "37"),
    "2.4": ("1.3.0", "37"),
    "2.5": ("1.4.2", "38"),
    "2.6": ("1.5.0", "38"),
    "2.7": ("1.6.1", "38"),
    "2.8": ("1.7.0", "38"),
    "3.0": ("1.8.2", "38"),
    "3.3": ("2.0.2", "311"),
    "3.4": ("2.1.1", "311"),
    "3.6": ("2.3.0", "311"),
    "3.8": ("2.6.2", "311"),
    "3.9": ("2.8.2", "311"),
    "4.0": ("2.11.1", "311"),
    "4.2": ("2.14.2", "311"),
    "4.4": ("2.16.1", "311"),
}
"""From a release on -> the confluent-kafka of its time, in whose wheels the library is, and the Python of the wheel."""

KAFKA_PYTHON = {
    "0.11.0": "1.4.4",
    "2.2": "1.4.6",
    "2.3": "1.4.7",
    "2.6": "2.0.2",
    "3.9": "2.1.5",
    "4.0": "2.2.15",
}
"""From a release on -> the kafka-python of its time. None before 1.4.4 runs on a Python of today."""


def clients_of(release: str) -> Mapping[str, str]:
    """The clients of the time of a release of brokers: name -> the name of its installer."""
    before = RELEASES[: RELEASES.index(release) + 1]
    library, _ = next(LIBRDKAFKA[each] for each in reversed(before) if each in LIBRDKAFKA)
    python = next(KAFKA_PYTHON[each] for each in reversed(before) if each in KAFKA_PYTHON)
    versions = {"java": JAVA[release], "librdkafka": library, "kafka-python": python}
    return {name: f"{name}-{version}" for name, version in versions.items()}


OF_THEIR_TIME: Mapping[str, Installer] = {
    **{f"java-{version}": of_their_time("java", version) for version in JAVA.values()},
    **{f"librdkafka-{version}": of_their_time("librdkafka", version, of) for version, of in LIBRDKAFKA.values()},
    **{f"kafka-python-{version}": of_their_time("kafka-python", version) for version in KAFKA_PYTHON.values()},
}

GENERATIONS = ("0.11.0", "2.0", "2.4", "2.7", "2.8", "3.3", "3.9", "4.4")
"""Releases of which `make clients` drives brokers by clients of their time."""


# ---------------------------------------------------------------- installing


def is_ready(name: str, clients: Path = CLIENTS) -> bool:
    """Whether it is there, and of what the tree says now."""
    mark = clients / name / "ready"
    return mark.is_file() and mark.read_text() == _digest(_row(name), clients / name)


def how_to(name: str) -> str:
    """What to say where it is not there."""
    return f"{name} is not installed: python -m tests.real_clients.install {name}"


def program(name: str, clients: Path = CLIENTS) -> list[str]:
    """The command of its program of steps; it is started in the root of the tree."""
    return [str(word) for word in _row(name).starts(clients / name)]


def _row(name: str) -> Installer:
    return {**OF_THEIR_TIME, **BESIDE, **GO_SUITES, **FRAMEWORKS, **INSTALLERS}[name]


def install(name: str, clients: Path = CLIENTS) -> None:
    """Make the client, unless it is ready.

    Raises:
        NotInstalled: a tool is missing, or a command failed.
    """
    if is_ready(name, clients):
        return
    installer, folder = _row(name), clients / name
    missing = [tool for tool in installer.tools if shutil.which(tool) is None]
    if missing:
        raise NotInstalled(f"{name}: {' and '.join(missing)} is not on the PATH")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in installer.commands(folder):
        _call(name, command, folder)
    (folder / "ready").write_text(_digest(installer, folder))


def _call(name: str, command: Command, folder: Path) -> None:
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{name}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise NotInstalled(f"{name}: `{' '.join(words)}` ended with {done.returncode}: " + "\n    ".join(said))


def _digest(installer: Installer, folder: Path) -> str:
    said = hashlib.sha256()
    for command in (*installer.commands(folder), installer.starts(folder)):
        words = [str(word).replace(str(folder), "").replace(str(ROOT), "") for word in command]
        said.update("\0".join(words).encode() + b"\n")
    for root in installer.made_of:
        for file in sorted(path for path in (root.rglob("*") if root.is_dir() else (root,)) if path.is_file()):
            said.update(file.name.encode() + b"\0" + file.read_bytes())
    return said.hexdigest()


# ---------------------------------------------------------------- the command


def default_clients() -> list[str]:
    """The clients that are installed by default."""
    of_their_time = dict.fromkeys(name for each in GENERATIONS for name in clients_of(each).values())
    return [*INSTALLERS, *FRAMEWORKS, *GO_SUITES, *of_their_time]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.real_clients.install", description=about)
    known = (*INSTALLERS, *FRAMEWORKS, *GO_SUITES, *BESIDE, *OF_THEIR_TIME)
    parser.add_argument("name", nargs="*", help=f"which ({', '.join(default_clients())}): {', '.join(known)}")
    names = parser.parse_args(words).name or default_clients()
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no client is named {', '.join(unknown)}; there are {', '.join(known)}")
    failed = 0
    for name in names:
        try:
            install(name, CLIENTS)
        except NotInstalled as error:
            failed += 1
            print(f"not installed: {error}", file=sys.stderr)  # noqa: T201  # a command of its own
        else:
            print(f"{name} is ready", flush=True)  # noqa: T201  # a command of its own
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

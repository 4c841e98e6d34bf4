"""Brokers that `wire` measures, each a process of its own on loopback: ours, kfake, Apache Kafka.

What cannot be started here raises `NotHere` with the reason: no Go, no Java, no Maven, nothing to download from.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
PROGRAM = "import sys; from zombieproof.cli import main; sys.exit(main())"
PATIENCE_S = 60.0
BUILD_S = 600.0
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
HEAP = "-Xmx1g"
MEBIBYTE = 1 << 20


class NotHere(Exception):
    """A broker cannot be started on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A broker that runs."""

    address: str
    process: psutil.Process

    def cpu_seconds(self) -> float:
        """What all its threads have used until now."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def peak_mebibytes(self) -> float:
        """The most memory that it has had."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return float(self.process.memory_info().rss) / MEBIBYTE


Start = Callable[[Path], AbstractContextManager[Standing]]


@dataclass(frozen=True, slots=True)
class Subject:
    """A broker to measure: its name, and how it is started with an empty folder of its own."""

    name: str
    start: Start


# ---------------------------------------------------------------- processes


@contextmanager
def _running(command: Sequence[str], log: Path, is_up: Callable[[str], str | None]) -> Iterator[Standing]:
    """A process until the end of the block; `is_up` says from what it has printed where it listens."""
    with log.open("wb") as out:
        process = subprocess.Popen([*command], stdout=out, stderr=subprocess.STDOUT, cwd=log.parent)
    try:
        yield Standing(_address(command[0], process, log, is_up), psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(name: str, process: subprocess.Popen[bytes], log: Path, is_up: Callable[[str], str | None]) -> str:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        found = is_up(log.read_text(errors="replace"))
        if found is not None:
            return found
        time.sleep(0.05)
    raise NotHere(f"{name} did not start: {_last_line(log.read_text(errors='replace'))}")


def _listening(printed: str) -> str | None:
    words = next((line.split() for line in printed.splitlines() if line.startswith("listening on ")), None)
    return None if words is None else words[-1]


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def _made(command: Sequence[str], cwd: Path) -> None:
    """Run a tool that makes something.

    Raises:
        NotHere: there is no such tool, or it has failed.
    """
    if shutil.which(command[0]) is None:
        raise NotHere(f"{command[0]} is not installed")
    try:
        done = subprocess.run([*command], cwd=cwd, capture_output=True, text=True, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotHere(f"{command[0]} took longer than {BUILD_S:.0f} s") from error
    if done.returncode:
        raise NotHere(f"{' '.join(command[:2])} has failed: {_last_line(done.stdout + done.stderr)}")


# ---------------------------------------------------------------- ours


def ours(durability: str, options: Sequence[str] = ()) -> Subject:
    """`zombieproof serve`, as it is installed beside this Python."""

    def start(folder: Path) -> AbstractContextManager[Standing]:
        data = () if durability == "memory" else ("--data", str(folder / "data"))
        command = (sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--durability", durability, *data, *options)
        return _running(command, folder / "serve.log", _listening)

    return Subject(f"zombieproof {durability}", start)


# ---------------------------------------------------------------- kfake


def kfake() -> Subject:
    """The broker in memory of franz-go, built by Go from `kfake/`."""

    def start(folder: Path) -> AbstractContextManager[Standing]:
        program = folder / "kfake"
        _made(("go", "build", "-o", str(program), "."), HERE / "kfake")
        return _running((str(program),), folder / "kfake.log", _listening)

    return Subject("kfake", start)


# ---------------------------------------------------------------- Apache Kafka


@dataclass(frozen=True, slots=True)
class KafkaJars:
    """Where Kafka's jars are: on a class path, in the ``libs`` of a home, else got by Maven from `kafka/pom.xml`."""

    class_path: str | None = None
    home: Path | None = None
    release: str | None = None
    got: Path = field(default_factory=lambda: Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser())

    def find(self) -> str:
        """The class path.

        Raises:
            NotHere: there is none.
        """
        if shutil.which("java") is None:
            raise NotHere("java is not installed")
        if self.class_path is not None:
            return self.class_path
        if self.home is not None:
            if not any((self.home / "libs").glob("kafka_*.jar")):
                raise NotHere(f"{self.home} has no libs with kafka_*.jar")
            return f"{self.home}/libs/*"
        folder = self.got / "zombieproof" / f"kafka-{self.release or 'of-pom'}"
        if not any(folder.glob("kafka_*.jar")):
            chosen = (f"-Dkafka={self.release}",) if self.release else ()
            copy = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
            _made(("mvn", "-q", *chosen, *copy), HERE / "kafka")
        return f"{folder}/*"


def kafka(
    jars: KafkaJars, *, syncs: bool, more: Mapping[str, str] | None = None, options: Sequence[str] = (HEAP,)
) -> Subject:
    """A node of Kafka with its defaults, and `more` settings; `options` are of its JVM.

    In the values of `more`, @PORT@ and @CONTROLLER@ are the ports of its two listeners. Started again in the same
    folder, it has the same ports and data.

    `syncs`: with an fsync for every append, which Kafka does not do unasked.
    """

    def start(folder: Path) -> AbstractContextManager[Standing]:
        java, properties = ("java", *options, "-cp", jars.find()), folder / "server.properties"
        if not properties.exists():
            port, other = _free_ports(2)
            added = {
                name: value.replace("@PORT@", str(port)).replace("@CONTROLLER@", str(other))
                for name, value in (more or {}).items()
            }
            said = {**_properties(folder / "data", port, other, syncs=syncs), **added}
            properties.write_text("".join(f"{name}={value}\n" for name, value in said.items()), encoding="utf-8")
            _made((*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)), folder)
        port = _port_in(properties)

        def is_up(printed: str) -> str | None:
            return f"127.0.0.1:{port}" if _answers(port) else None

        return _running((*java, "kafka.Kafka", str(properties)), folder / "kafka.log", is_up)

    return Subject("Kafka fsync" if syncs else "Kafka", start)


def _port_in(properties: Path) -> int:
    """The port of the first listener."""
    lines = properties.read_text(encoding="utf-8").splitlines()
    listeners = next(line for line in lines if line.startswith("listeners="))
    return int(listeners.partition(",")[0].rpartition(":")[2])


def _properties(data: Path, port: int, controller: int, *, syncs: bool) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **({"log.flush.interval.messages": "1"} if syncs else {}),
    }


def _answers(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(0.5)
        return one.connect_ex(("127.0.0.1", port)) == 0


def _free_ports(count: int) -> list[int]:
    with_sockets = [socket.socket() for _ in range(count)]
    try:
        for each in with_sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in with_sockets]
    finally:
        for each in with_sockets:
            each.close()

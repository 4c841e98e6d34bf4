"""Frameworks that copy records exactly once: Spring Kafka, Kafka Connect and Flink, with a kill in an open transaction.

Each scenario is a function of a `Pipeline`; the page of clients prints its docstring.
"""

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from tests.real_clients.install import CLIENTS, program
from tests.real_clients.processes import PATIENCE_S, Process
from tests.real_clients.scenarios import QUIET_MS, Stage, commit, reader, seen

OBSERVER = "confluent-kafka"
"""The client that writes the input and reads the output."""

CHUNK = 40
"""Records that are fed between two events of a scenario."""

KILLS = 2
"""A kill can come just after a commit, so one alone does not always find an open transaction."""


class NotOnce(AssertionError):
    """A record was copied twice or not at all, or the output holds something that was not in the input."""


class Pipeline:
    """A framework that copies records from topic `input` to topic `output`.

    Args:
        stage: where brokers and processes run; its client observes.

    Attributes:
        exactly_once: whether the framework uses transactions.
        fed: the values of the input.
    """

    installed: str
    """The name of the installer."""

    jars: tuple[str, ...]
    """The jars whose versions the page names, before that of the Kafka client."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.exactly_once = stage, True
        self.fed: list[str] = []
        self.kept = ("--data", str(stage.folder / "data"))
        self.process: Process

    def begin(self) -> None:
        """Start a broker, the observer and the framework."""
        self.observer = self.stage.begin(self.kept)
        self.observer.ask("producer", name="fills", id="id of the input")
        reader(self.observer, "committed")
        reader(self.observer, "all", "read_uncommitted")
        self.start()

    def start(self) -> None:
        """Start the framework."""
        words = [*program(self.installed), *self.arguments()]
        self.process = self.stage.ends.enter_context(Process(words, self.stage.folder / f"{self.installed}.log"))

    def restart_broker(self) -> None:
        """Kill the broker, and start another on the same port with the same data."""
        self.stage.broker.kill()
        self.stage.serve(*self.kept, port=self.stage.broker.port)

    def feed(self, count: int = CHUNK) -> set[str]:
        """Add records to the input, and return their values."""
        values = [str(number) for number in range(len(self.fed), len(self.fed) + count)]
        self.write(values)
        self.fed += values
        return {*values}

    def until_committed(self, values: set[str]) -> None:
        """Wait until these records are read by a consumer with read_committed.

        Raises:
            AssertionError: they do not come.
        """
        missing, until = set(values), time.monotonic() + 2 * PATIENCE_S
        while missing := missing - seen(self.observer, "committed", missing, within_s=QUIET_MS / 1000):
            self.is_running()
            assert time.monotonic() < until, f"not committed: {sorted(missing, key=int)}; {self.last_words()}"
            self.nudge()

    def until_sent(self, values: set[str]) -> None:
        """Wait until a consumer with read_uncommitted reads one of these records: their transaction is open.

        Raises:
            AssertionError: none comes.
        """
        until = time.monotonic() + 2 * PATIENCE_S
        while values.isdisjoint(self.observer.ask("read", name="all", count=1, within_ms=QUIET_MS)):
            self.is_running()
            assert time.monotonic() < until, f"nothing sent of {sorted(values, key=int)}; {self.last_words()}"

    def is_running(self) -> None:
        """Check that the framework has not ended.

        Raises:
            AssertionError: it has ended.
        """
        assert self.process.process.poll() is None, f"{self.installed} has ended: {self.last_words()}"

    def last_words(self) -> str:
        """The end of the framework's log."""
        return self.process.errors.read_text(errors="replace")[-2_000:]

    def output(self, isolation: str) -> list[str]:
        """Every record of the output that a consumer reads."""
        name = f"at the end, {isolation}"
        reader(self.observer, name, isolation)
        found: list[str] = self.observer.ask("read", name=name, count=len(self.fed), within_ms=30_000)
        while more := self.observer.ask("read", name=name, count=1_000, within_ms=QUIET_MS):
            found += more
        return found

    # ------------------------------------------------------------ of each framework

    def arguments(self) -> Sequence[str]:
        """The arguments of the program."""
        raise NotImplementedError

    def write(self, values: Sequence[str]) -> None:
        """Add values to the input; in topics an aborted record goes with them."""
        for partition in (0, 1):
            commit(self.observer, "fills", *values[partition::2], topic="input", partition=partition)
            self.observer.ask("begin", name="fills")
            self.observer.ask("send", name="fills", topic="input", partition=partition, value="aborted")
            self.observer.ask("abort", name="fills")

    def nudge(self) -> None:
        """Help the framework to its next commit where it needs more input for that."""

    def finish(self) -> None:
        """Make the framework commit its open transaction, if it does not do so by itself."""


class Spring(Pipeline):
    """Listener containers with a `KafkaTransactionManager`."""

    installed = "spring-kafka"
    jars = ("spring-kafka",)

    def arguments(self) -> Sequence[str]:
        return self.stage.broker.bootstrap, json.dumps(self.exactly_once)


class Flink(Pipeline):
    """A job with a `KafkaSource` and a `KafkaSink`, restarted from its newest checkpoint."""

    installed = "flink"
    jars = ("flink-connector-kafka", "flink-runtime")
    naming: str

    def arguments(self) -> Sequence[str]:
        folder = self.stage.folder / "checkpoints"
        folder.mkdir(exist_ok=True)
        guarantee = "EXACTLY_ONCE" if self.exactly_once else "AT_LEAST_ONCE"
        return self.stage.broker.bootstrap, guarantee, self.naming, str(folder)


class FlinkIncrementing(Flink):
    """Each checkpoint uses new transactional ids; a restarted job fences the ids that can follow."""

    naming = "INCREMENTING"


class FlinkPooling(Flink):
    """Transactional ids are used again; a restarted job lists open transactions and aborts them."""

    naming = "POOLING"


class Connect(Pipeline):
    """A distributed worker with exactly-once source support, and a task that copies lines of a file.

    The task commits on an interval, and looks at the clock only after a batch: it needs input to commit.
    """

    installed = "connect"
    jars = ("connect-runtime",)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.file = stage.folder / "input.txt"
        self.file.touch()

    def arguments(self) -> Sequence[str]:
        converter = "org.apache.kafka.connect.storage.StringConverter"
        configs = {
            "bootstrap.servers": self.stage.broker.bootstrap,
            "group.id": "workers",
            "listeners": f"http://127.0.0.1:{self.port}",
            "exactly.once.source.support": "enabled" if self.exactly_once else "disabled",
            "key.converter": converter,
            "value.converter": converter,
            "session.timeout.ms": 3_000,
            "heartbeat.interval.ms": 500,
            "scheduled.rebalance.max.delay.ms": 0,
            "plugin.discovery": "service_load",
            "offset.storage.partitions": 3,
            "status.storage.partitions": 1,
            **{f"{each}.storage.topic": f"connect-{each}" for each in ("config", "offset", "status")},
            **{f"{each}.storage.replication.factor": 1 for each in ("config", "offset", "status")},
        }
        file = self.stage.folder / "worker.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in configs.items()))
        return (str(file),)

    def begin(self) -> None:
        super().begin()
        configs = {
            "connector.class": "FileStreamSource",
            "file": str(self.file),
            "topic": "output",
            "tasks.max": 1,
        }
        if self.exactly_once:
            configs |= {
                "exactly.once.support": "required",
                "transaction.boundary": "interval",
                "transaction.boundary.interval.ms": 1_500,
            }
        self._until_accepted("PUT", "/connectors/copies/config", configs)

    def write(self, values: Sequence[str]) -> None:
        with self.file.open("a") as file:
            file.writelines(f"{value}\n" for value in values)

    def nudge(self) -> None:
        if self.exactly_once:
            self.feed(1)

    def finish(self) -> None:
        """Stop the connector when its task has sent all: the task commits."""
        self.until_sent({self.fed[-1]})
        self._until_accepted("PUT", "/connectors/copies/stop")
        until = time.monotonic() + PATIENCE_S
        while '"STOPPED"' not in (told := self._ask("GET", "/connectors/copies/status")[1]) or '"tasks":[]' not in told:
            assert time.monotonic() < until, f"not stopped: {told}; {self.last_words()}"
            time.sleep(0.5)

    def _until_accepted(self, method: str, path: str, body: object = None) -> None:
        """Send a request until the worker, which may still start or rebalance, accepts it."""
        until = time.monotonic() + 2 * PATIENCE_S
        while True:
            status, told = self._ask(method, path, body)
            if status in range(200, 300):
                return
            self.is_running()
            assert time.monotonic() < until, f"{method} {path}: {status} {told}; {self.last_words()}"
            time.sleep(0.5)

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """The status and text of a response of the worker; status 0: no connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()


FRAMEWORKS: Mapping[str, type[Pipeline]] = {
    "Spring Kafka": Spring,
    "Kafka Connect": Connect,
    "Flink, incrementing": FlinkIncrementing,
    "Flink, pooling": FlinkPooling,
}
"""The columns of the page."""


def version_of(framework: str) -> str:
    """The versions of its jars and of its Kafka client, from the names of the installed files."""
    made = FRAMEWORKS[framework]
    files = [file.stem for file in (CLIENTS / made.installed / "lib").glob("*.jar")]
    versions = {
        jar: [file[len(jar) + 1 :] for file in files if file.startswith(f"{jar}-")]
        for jar in (*made.jars, "kafka-clients")
    }
    return ", ".join(f"{jar} {' '.join(found)}" for jar, found in versions.items())


# ---------------------------------------------------------------- the check


def faults(fed: Iterable[str], found: Iterable[str]) -> str:
    """What is wrong with an output, in words; empty when it holds each input exactly once."""
    wanted, copies = Counter(fed), Counter(found)
    wrong = {
        "not copied": wanted.keys() - copies.keys(),
        "copied more than once": {value for value in wanted.keys() & copies.keys() if copies[value] != wanted[value]},
        "not in the input": copies.keys() - wanted.keys(),
    }
    return "; ".join(f"{len(values)} {what}: {', '.join(sorted(values))}" for what, values in wrong.items() if values)


def is_copied_once(pipeline: Pipeline) -> None:
    """Compare all that a consumer with read_committed reads with the input.

    Raises:
        NotOnce: they differ.
    """
    pipeline.finish()
    if wrong := faults(pipeline.fed, pipeline.output("read_committed")):
        raise NotOnce(wrong)


def had_an_open_transaction(pipeline: Pipeline) -> None:
    """Check that the log holds aborted records.

    Raises:
        AssertionError: no kill found an open transaction, so that the run proves nothing.
    """
    assert len(pipeline.output("read_uncommitted")) > len(pipeline.fed), "no transaction was open at any kill"


# ---------------------------------------------------------------- the scenarios


def framework_is_killed(pipeline: Pipeline) -> None:
    """Framework killed: `kill -9` in an open transaction, then a restart; each record is committed exactly once."""
    _kill_framework(pipeline)
    is_copied_once(pipeline)
    had_an_open_transaction(pipeline)


def broker_is_killed(pipeline: Pipeline) -> None:
    """Broker killed: `kill -9` of `serve` in an open transaction, then a restart; the framework continues by itself."""
    pipeline.begin()
    pipeline.until_committed(pipeline.feed())
    values = pipeline.feed()
    pipeline.until_sent(values)
    pipeline.restart_broker()
    pipeline.until_committed(values | pipeline.feed())
    is_copied_once(pipeline)


def without_transactions(pipeline: Pipeline) -> None:
    """Control: with transactions switched off, the check finds records that were copied twice after a kill."""
    pipeline.exactly_once = False
    _kill_framework(pipeline)
    with pytest.raises(NotOnce, match=r"^\d+ copied more than once"):
        is_copied_once(pipeline)


def _kill_framework(pipeline: Pipeline) -> None:
    pipeline.begin()
    pipeline.until_committed(pipeline.feed())
    for _ in range(KILLS):
        values = pipeline.feed()
        pipeline.until_sent(values)
        pipeline.process.kill()
        pipeline.start()
        pipeline.until_committed(values)


SCENARIOS: Mapping[str, Callable[[Pipeline], None]] = {
    each.__name__: each for each in (framework_is_killed, broker_is_killed, without_transactions)
}

"""Run the transaction tests of sarama and franz-go against `zombieproof serve`.

The tests run twice: against brokers that stay up, and against brokers that end with `kill -9` during the run and
restart with the same data directory.

sarama's tests expect five brokers at 127.0.0.1:29091 to 29095, each a proxy of toxiproxy. The brokers listen on the
same ports of 127.0.0.2. The test that stops a broker runs `docker compose stop`; a script called `docker` kills the
brokers instead. franz-go's test fails when a connection is refused, so `Door` keeps the port of its broker open.
"""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real_clients.install import CLIENTS as FOLDERS
from tests.real_clients.install import PROGRAMS
from tests.real_clients.processes import Served

CLIENTS: Mapping[str, str] = {"sarama tests": "github.com/IBM/sarama", "franz-go tests": "github.com/twmb/franz-go"}
"""Column of the page -> the module."""

ROWS: Mapping[str, str] = {"stay up": "stay up", "are killed": "are killed"}
"""Rows of the page."""

BUILT = FOLDERS / "go-suites"
PATIENCE_S = 600
PROXIED = range(29091, 29096)
TOXIPROXY_PORT = 29474
RECORDS = 30_000
"""How many records franz-go copies; its producer commits after every 10,000."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests of one client.

    Args:
        file: the tests (`install.of_go_suites`).
        tests: the tests and subtests that must pass.
        brokers: the number of brokers.
        kills: whether the brokers are killed once.
        kills_at: kill when these words appear for the nth time; None: the tests kill the brokers themselves.
    """

    file: str
    tests: tuple[str, ...]
    brokers: int
    kills: bool = False
    kills_at: tuple[int, str] | None = None


_SARAMA = (
    "TestFuncInitProducerId3",
    "TestFuncTxnProduceNoBegin",
    "TestFuncTxnCommitNoMessages",
    "TestFuncTxnProduce",
    "TestFuncTxnProduceEpochBump",
    "TestFuncTxnProduceAndCommitOffset",
    "TestFuncTxnProduceAndCommitOffset/legacy_group_ID",
    "TestFuncTxnProduceAndCommitOffset/v2",
    "TestFuncTxnProduceAndCommitOffset/v3_with_group_metadata",
    "TestFuncTxnProduceMultiTxn",
    "TestFuncTxnAbortedProduce",
    "TestFuncProducingIdempotentWithBrokerFailure",
    "TestVersionMatrixIdempotent",
    "TestFuncDescribeProducers",
    "TestFuncDescribeTransactions",
    "TestFuncListTransactions",
)
_GROUPS = ("range", "cooperative-sticky", "cooperative-sticky/static", "range/848", "sticky/848", "sticky/848/static")
_FRANZ_GO = ("TestTxnEtl", *(f"TestTxnEtl/{each}" for each in _GROUPS))

_KILLED = Suite("franz-go", _FRANZ_GO, brokers=1, kills=True, kills_at=(100, "ending transaction"))

SUITES: Mapping[tuple[str, str], Sequence[Suite]] = {
    ("stay up", "sarama tests"): (Suite("sarama", _SARAMA, brokers=5),),
    ("stay up", "franz-go tests"): (replace(_KILLED, kills=False, kills_at=None),),
    ("are killed", "sarama tests"): (
        Suite("sarama", ("TestFuncTxnProduceWithBrokerFailure",), brokers=5, kills=True),
        Suite("ours", ("TestSaramaCommitsEachRecordOnce",), brokers=1, kills=True, kills_at=(20, "sent")),
    ),
    ("are killed", "franz-go tests"): (_KILLED,),
}
"""Row and column of the page -> the suites to run."""

LEFT_OUT: Mapping[str, str] = {
    "TestReadOnlyAndAllCommittedMessages": "sarama itself skips it",
    "TestFuncIdempotentBufferedSequence": "it looks for a Java exception in the log of a broker",
}
"""Other tests of sarama about transactions and idempotence, and the reason."""


class Brokers:
    """`zombieproof serve --data`, restarted after each kill."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder, self.kills = folder, 0
        self._options = ("--data", str(folder / "data"), *options)
        self._ends = False
        self.served = Served(folder, *self._options, port=port, configs={})
        self._write_pid()
        self._watch = threading.Thread(target=self._start_again)
        self._watch.start()

    @property
    def pid_file(self) -> Path:
        """The file with the process id, for the `docker` script."""
        return self.folder / "pid"

    def _write_pid(self) -> None:
        self.pid_file.write_text(str(self.served.process.pid))

    def _start_again(self) -> None:
        while self.served.process.wait() == -signal.SIGKILL and not self._ends:
            self.kills += 1
            self.served.__exit__(None, None, None)
            self.served = Served(self.folder, *self._options, port=self.served.port, configs={})
            self._write_pid()

    def kill(self) -> None:
        """End the process with `kill -9`; it restarts."""
        self.served.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends = True
        self.served.process.kill()
        self._watch.join(PATIENCE_S)
        self.served.__exit__(kind, error, trace)


def _is_there(toxiproxy: subprocess.Popen[bytes]) -> None:
    for _ in range(1_000):
        assert toxiproxy.poll() is None, f"toxiproxy ended with {toxiproxy.returncode}"
        with suppress(OSError), socket.create_connection(("127.0.0.1", TOXIPROXY_PORT)):
            return
        time.sleep(0.01)
    raise AssertionError("toxiproxy does not answer")


class Door:
    """A proxy on 127.0.0.1 that accepts connections at any time, and waits for the port on 127.0.0.2."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with _aborted(writer):
            while True:
                try:
                    from_broker, to_broker = await asyncio.open_connection("127.0.0.2", self.port)
                    break
                except OSError:
                    await asyncio.sleep(0.05)
            with _aborted(to_broker):
                pumps = [asyncio.create_task(_pump(*each)) for each in ((reader, to_broker), (from_broker, writer))]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for pump in pumps:
                    pump.cancel()

    def __enter__(self) -> Self:
        self._thread.start()
        opened = asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self._server = asyncio.run_coroutine_threadsafe(opened, self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # The loop closes aborted connections in its next iteration.


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()


@contextmanager
def _aborted(writer: asyncio.StreamWriter) -> Iterator[None]:
    try:
        yield
    finally:
        writer.transport.abort()


def results(said: str) -> dict[str, str]:
    """Read the output of `go test -v`: test -> PASS, FAIL or SKIP."""
    return {name: came for came, name in re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", said, re.MULTILINE)}


def run(suite: Suite, folder: Path, *options: str) -> None:
    """Run the tests of a suite.

    Args:
        suite: the suite.
        folder: the directory for data and logs.
        options: more options of `serve`.

    Raises:
        AssertionError: a test did not pass, the brokers ended, or the number of kills is wrong.
    """
    behind = ("--host", "127.0.0.2", "--advertised-host", "127.0.0.1", "--brokers", str(suite.brokers))
    with ExitStack() as ends:
        brokers = ends.enter_context(Brokers(folder, *behind, *options, port=PROXIED[0]))
        if suite.file == "sarama":
            variables = ends.enter_context(_toxiproxy(folder)) | {"PATH": _path(brokers, folder)}
        else:
            door = ends.enter_context(Door(PROXIED[0]))
            variables = {"KGO_SEEDS": f"127.0.0.1:{door.port}", "KGO_TEST_RF": "1", "KGO_TEST_UNSAFE": ""}
            variables["KGO_TEST_RECORDS"] = str(RECORDS)
        said = _said(suite, brokers, variables, folder)
        kills, ended = brokers.kills, brokers.served.process.poll()
    came, of_brokers = results(said), (folder / "broker.log").read_text(errors="replace")[-2_000:]
    failed = {name: came.get(name, "not run") for name in suite.tests if came.get(name) != "PASS"}
    assert not failed, f"{failed}\n{said[-6_000:]}\n{of_brokers}"
    assert ended is None, f"serve ended with {ended}: {of_brokers}"
    assert kills == suite.kills, f"the brokers were killed {kills} times"


def _said(suite: Suite, brokers: Brokers, variables: Mapping[str, str], folder: Path) -> str:
    """Run the tests, kill the brokers on the way, and return the output."""
    wanted = "|".join(dict.fromkeys(name.partition("/")[0] for name in suite.tests))
    words = [str(BUILT / suite.file), "-test.v", f"-test.run=^({wanted})$", f"-test.timeout={PATIENCE_S}s"]
    log, told = folder / "suite.log", 0
    with (
        log.open("w") as kept,
        subprocess.Popen(
            words,
            cwd=folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as tests,
    ):
        assert tests.stdout is not None
        for line in tests.stdout:
            kept.write(line)
            if suite.kills_at is not None and suite.kills_at[1] in line:
                told += 1
                if told == suite.kills_at[0]:
                    brokers.kill()
    return log.read_text()


def _path(brokers: Brokers, folder: Path) -> str:
    """Return a PATH with a `docker` whose `stop` kills the brokers."""
    docker = folder / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\nif [ "$2" = stop ]; then kill -9 "$(cat {brokers.pid_file})"; fi\n')
    docker.chmod(0o755)
    return f"{docker.parent}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def _toxiproxy(folder: Path) -> Iterator[dict[str, str]]:
    """Start toxiproxy with the proxies of sarama's tests, and return the variables for them."""
    proxies = [
        {"name": f"kafka{at + 1}", "listen": f"127.0.0.1:{port}", "upstream": f"127.0.0.2:{port}", "enabled": True}
        for at, port in enumerate(PROXIED)
    ]
    (folder / "proxies.json").write_text(json.dumps(proxies))
    words = (BUILT / "toxiproxy", "-port", str(TOXIPROXY_PORT), "-config", folder / "proxies.json")
    with (folder / "toxiproxy.log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            _is_there(process)
            yield {"TOXIPROXY_ADDR": f"http://127.0.0.1:{TOXIPROXY_PORT}", "KAFKA_VERSION": "4.4.0"}
        finally:
            process.terminate()


HEAD = f"""
## Tests that clients bring with them

The transaction tests in the modules of sarama and franz-go, unchanged, against brokers of the newest release with a
data directory (`tests/real_clients/go_suites.py`): five brokers for sarama, one for franz-go. *Are killed*: `kill -9`
of `serve`, then a restart with the same directory.

- franz-go's test copies {RECORDS:,} records through three topics, six times in parallel, while members join and leave
  the groups, and expects each key exactly once in each topic. The kill comes with the hundredth end of a transaction.
- One test of sarama stops a broker. Here the kill ends all five, before the transaction has records. The other tests
  do not retry for as long as a restart takes, so `TestSaramaCommitsEachRecordOnce`, which belongs to zombieproof,
  covers a kill between the records and the commit.

"""


def version(client: str) -> str:
    """Return the version of the module with the tests."""
    found = re.search(rf"{re.escape(CLIENTS[client])} (v\S+)", (PROGRAMS / "go_suites" / "go.mod").read_text())
    assert found is not None, f"{CLIENTS[client]} is not in go.mod"
    return found[1]


def listed() -> str:
    """List the tests for the page."""
    run_each = [
        f"- **{client}, brokers {row}**: {_words([name for suite in suites for name in suite.tests])}.\n"
        for (row, client), suites in SUITES.items()
    ]
    left_out = [f"- **not run**: `{name}`: {why}.\n" for name, why in LEFT_OUT.items()]
    return "".join(("\n", *run_each, *left_out))


def _words(tests: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in tests)

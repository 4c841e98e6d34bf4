"""Processes that a test starts and ends: `zombieproof serve`, and the program of a client that does steps."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from tests.real_clients.install import ROOT, program

PATIENCE_S = 60.0
"""How long a step may take, and a broker to start."""

CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "group.consumer.session.timeout.ms": 2_000,
    "group.consumer.min.session.timeout.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
}
"""Without waits that only production needs: sessions and transactions may end within seconds."""


class StepFailed(Exception):
    """The client raised: `name` is what it calls the error."""

    def __init__(self, name: str, says: str) -> None:
        super().__init__(f"{name}: {says}")
        self.name = name


class Process:
    """One process with its output, line by line; ended with the block that it is used in."""

    def __init__(self, command: Sequence[str], errors: Path) -> None:
        with errors.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.errors = errors
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def line(self, within_s: float = PATIENCE_S) -> str:
        """The next line that it says.

        Raises:
            AssertionError: it says none in that time, or has ended.
        """
        try:
            said = self._lines.get(timeout=within_s)
        except queue.Empty:
            said = None
        if said is None:
            last = self.errors.read_text(errors="replace")[-2_000:]
            raise AssertionError(f"{self.process.args!r} said nothing (ended with {self.process.poll()}): {last}")
        return said

    def write(self, line: str) -> None:
        """A line for it to read."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue


class Served(Process):
    """`zombieproof serve`, which says where it listens.

    Args:
        folder: where its messages go.
        options: more options of the command.
        port: 0: one that is free.
        configs: broker settings.
    """

    def __init__(
        self, folder: Path, *options: str, port: int = 0, configs: Mapping[str, int] = MappingProxyType(CONFIGS)
    ) -> None:
        given = [f"--config={name}={value}" for name, value in configs.items()]
        command = str(Path(sys.executable).with_name("zombieproof"))
        super().__init__([command, "serve", "--port", str(port), *given, *options], folder / "broker.log")
        self.bootstrap = self.line().removeprefix("listening on ")
        self.port = int(self.bootstrap.rpartition(":")[2])

    def end(self) -> str:
        """End it as a person does (SIGTERM); what it says then."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)
        said = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            said.append(line)
        return "\n".join(said)


class Client(Process):
    """The program of a client."""

    def __init__(self, name: str, bootstrap: str, folder: Path) -> None:
        super().__init__([*program(name), bootstrap], folder / f"{name}.log")

    def ask(self, do: str, within_s: float = PATIENCE_S, **words: Any) -> Any:
        """Have it do a step.

        Raises:
            StepFailed: the client raised.
        """
        self.tell(do, **words)
        return self.answer(within_s)

    def tell(self, do: str, **words: Any) -> None:
        """Begin a step."""
        self.write(json.dumps({"do": do, **words}))

    def answer(self, within_s: float = PATIENCE_S) -> Any:
        """What came of the step that was begun.

        Raises:
            StepFailed: the client raised.
        """
        said = json.loads(self.line(within_s))
        if "error" in said:
            raise StepFailed(said["error"], said["says"])
        return said.get("ok", said)

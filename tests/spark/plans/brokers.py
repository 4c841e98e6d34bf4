"""Brokers with a data directory, for random plans: they may be killed and started again."""

from pathlib import Path
from typing import Protocol

from benchmarks.wire_brokers import KafkaJars, kafka
from tests.jvm.kafka_node import QUICK, SETTINGS
from tests.real_clients.processes import Served


class Broker(Protocol):
    """A broker, started with an empty folder."""

    bootstrap: str

    def restart(self) -> None:
        """Send SIGKILL, and start on the same port."""

    def close(self) -> None:
        """Send SIGKILL."""


class ServedBroker:
    """`zombieproof serve`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._start(port=0)
        self.bootstrap = self._served.bootstrap

    def _start(self, port: int) -> None:
        data = str(self._folder / "data")
        self._served = Served(self._folder, "--data", data, "--durability", "page-cache", port=port)

    def restart(self) -> None:
        """Send SIGKILL, and start on the same port."""
        port = self._served.port
        self.close()
        self._start(port)

    def close(self) -> None:
        """Send SIGKILL."""
        self._served.__exit__(None, None, None)


class KafkaBroker:
    """A node of Apache Kafka 4.3.1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._start()
        self.bootstrap = self._node.address

    def _start(self) -> None:
        subject = kafka(KafkaJars(), syncs=False, more=SETTINGS, options=QUICK)
        self._running = subject.start(self._folder)
        self._node = self._running.__enter__()

    def restart(self) -> None:
        """Send SIGKILL, and start on the same port."""
        self.close()
        self._start()

    def close(self) -> None:
        """Send SIGKILL."""
        self._node.process.kill()
        self._running.__exit__(None, None, None)

"""Brokers that are away for a while."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from zombieproof.bridge.under_test import TestedBrokers
from zombieproof.wire.background import Background
from zombieproof.wire.server import Server

Answer = TypeVar("Answer")


class Outage:
    """Stops the sockets of a broker, and opens them again at the same port."""

    def __init__(self, brokers: TestedBrokers) -> None:
        self._brokers = brokers
        self._port = int(brokers.bootstrap.rpartition(":")[2])

    def stop(self) -> None:
        assert self._brokers._background is not None
        time.sleep(0.05)  # a connection that is accepted in the moment of the stop would leak in asyncio
        self._brokers._background.close()

    def start(self) -> None:
        brokers = self._brokers
        brokers.server = Server(brokers.embedded, port=self._port, play=brokers.play)
        brokers._background = Background(brokers.server)

    def during(self, call: Callable[[], Answer], seconds: float = 0.3) -> Answer:
        self.stop()
        timer = threading.Timer(seconds, self.start)
        timer.start()
        try:
            return call()
        finally:
            timer.join()

"""A server beside whoever uses it: its loop runs in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, TypeVar

from zombieproof.wire.api import Address
from zombieproof.wire.server import Server

T = TypeVar("T")

PATIENCE_S = 30.0
"""Nothing that is asked of the loop takes so long."""


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all servers of this process; its thread ends with the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="zombieproof-wire", daemon=True).start()
    return loop


def _in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result(PATIENCE_S)


class Background:
    """A server that listens from now on, until it is closed.

    Raises:
        OSError: it cannot listen there.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.addresses: dict[int, Address] = dict(_in_loop(server.start()))

    def do(self, what: Callable[[], T]) -> T:
        """Do something where the server runs, and let everything happen that follows from it.

        Raises:
            BaseException: whatever `what` raises, or has ended the cluster.
        """
        return _in_loop(self._do(what))

    async def _do(self, what: Callable[[], T]) -> T:
        found = what()
        await self._turns(2)
        return found

    def let_turn(self, turns: int = 2) -> None:
        """Let the server take all that has come to it, and do what follows.

        Raises:
            BaseException: whatever has ended the cluster.
        """
        _in_loop(self._turns(turns))

    async def _turns(self, turns: int) -> None:
        until = self.server.turns + turns
        while self.server.turns < until:
            self.server.check()
            self.server.wake()
            await asyncio.sleep(0)

    def close(self) -> None:
        """Nobody is served any more."""
        _in_loop(self.server.close())

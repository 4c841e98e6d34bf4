"""A server that runs until the process is told to end."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

from zombieproof.wire.api import Address
from zombieproof.wire.server import Server


def serve(
    server: Server, tell: Callable[[Mapping[int, Address]], None], status: Callable[[], None], every_s: float
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        tell: is told where the brokers listen.
        status: is called every `every_s` seconds.

    Raises:
        OSError: they cannot listen there.
    """
    asyncio.run(_serve(server, tell, status, every_s))


async def _serve(
    server: Server, tell: Callable[[Mapping[int, Address]], None], status: Callable[[], None], every_s: float
) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        addresses = await server.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, over.set)
        tell(addresses)  # Who reads it may tell us to end.
        waiting = loop.create_task(_tick(status, every_s))
        await server.serve_until(over)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    finally:
        await server.close()


async def _tick(status: Callable[[], None], every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        status()

"""A server that runs until the process is told to end.

It has the process for itself: its loop is uvloop's where that is installed (extra ``uvloop``), and what lives as long
as the process is not looked at for garbage again and again.
"""

import asyncio
import gc
from collections.abc import Callable, Mapping
from contextlib import suppress

from zombieproof import system
from zombieproof.wire.api import Address
from zombieproof.wire.server import Server

RARELY = (10_000, 20, 50)
"""So many objects are made before garbage is looked for: a request makes hundreds, and next to none in cycles."""


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
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARELY)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(server, tell, status, every_s))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415  # which few have
    except ModuleNotFoundError:
        return asyncio.new_event_loop
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


async def _serve(
    server: Server, tell: Callable[[Mapping[int, Address]], None], status: Callable[[], None], every_s: float
) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        addresses = await server.start()
        with system.calling_on_termination(loop, over.set):
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

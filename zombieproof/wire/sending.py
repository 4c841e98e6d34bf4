"""Sends large responses in pieces, so that none keeps the loop from other connections.

Connections that have something to send take turns. One turn of the loop sends at most `TURN_PIECES` for all of them
together, each of at most `PIECE_BYTES` and `PIECE_BATCHES`. A connection whose client does not read is left out
until it does.
"""

import asyncio
from collections.abc import Iterator
from typing import Protocol

from zombieproof.wire.responses import Response

TURN_PIECES = 4
PIECE_BYTES, PIECE_BATCHES = 1 << 18, 64


class Stream:
    """A response that is being sent."""

    __slots__ = ("_left", "_pieces", "load")

    def __init__(self, response: Response) -> None:
        self.load = response.load
        self._pieces: Iterator[bytes] = response.pieces()
        self._left = memoryview(b"")

    def take(self, most: int) -> bytes:
        """The next bytes, at most so many, of at most `PIECE_BATCHES` batches; none: all were taken."""
        taken, batches = bytearray(), 0
        while len(taken) < most and batches < PIECE_BATCHES:
            if not self._left:
                batches += 1
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._left = memoryview(piece)
            part = self._left[: most - len(taken)]
            taken += part
            self._left = self._left[len(part) :]
        return bytes(taken)


class Sending(Protocol):
    """A connection with a response to send."""

    @property
    def is_sending(self) -> bool:
        """Whether there is something to send, and the client reads."""
        ...

    def send_piece(self, most: int) -> None:
        """Send at most so many bytes."""
        ...


class Sender:
    """Lets connections send in turns."""

    def __init__(self) -> None:
        self._ready: dict[Sending, None] = {}
        self._is_awake = False

    def add(self, connection: Sending) -> None:
        """A connection has something to send, and its client reads."""
        self._ready[connection] = None
        if not self._is_awake:
            self._is_awake = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        for _ in range(TURN_PIECES):
            if not self._ready:
                break
            connection = next(iter(self._ready))
            del self._ready[connection]
            connection.send_piece(PIECE_BYTES)
            if connection.is_sending:
                self._ready[connection] = None
        self._is_awake = bool(self._ready)
        if self._is_awake:
            asyncio.get_running_loop().call_soon(self._turn)

"""One connection to a broker, without I/O: bytes in, requests out; answers in, bytes out.

Requests are handed out one after the other, each when the one before is answered: so a broker of Kafka keeps the order
of its answers. Source: ``SocketServer.scala``.
"""

from collections import deque
from collections.abc import Sequence

from zombieproof.broker.authorization.principals import ANONYMOUS, Principal
from zombieproof.broker.cluster.network import Answer
from zombieproof.wire.frames import MOST_BYTES, Frames
from zombieproof.wire.front import Asked, Front
from zombieproof.wire.gate import Gate
from zombieproof.wire.responses import Response


class Connection:
    """What came on a connection and was not answered yet.

    Args:
        front: who speaks for the broker.
        most_bytes: how long a request may be.

    `host` is from where it came, once that is known; `gate` is where he says who he is, if he has to (then a frame is
    no longer than the gate allows until he has), else `certified` may know it. `is_over`: what was asked last ends it.
    """

    def __init__(self, front: Front, most_bytes: int = MOST_BYTES) -> None:
        self.front, self.host = front, ""
        self.gate: Gate | None = None
        self.certified: str | None = None
        self._most_bytes, self.is_over = most_bytes, False
        self._frames, self._waiting = Frames(most_bytes), deque[bytes]()
        self._asked: Asked | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing was asked that is not answered; the begin of a request does not count."""
        return self._asked is None and not self._waiting

    def guard(self, gate: Gate, most_bytes: int) -> None:
        """Whoever is at the other end says who he is, by frames of at most so many bytes, before he asks anything."""
        self.gate, self._frames.most_bytes = gate, min(most_bytes, self._most_bytes)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        if self.gate is not None and self.gate.principal is not None:
            return self.gate.principal
        return Principal(ANONYMOUS.name if self.certified is None else self.certified, self.host or ANONYMOUS.host)

    def receive(self, data: bytes) -> None:
        """Bytes have come.

        Raises:
            Malformed: they are no frames; the connection has to end.
        """
        self._waiting.extend(self._frames.feed(data))

    def next_request(self) -> Asked | None:
        """The next request, if the one before is answered; None: there is nothing to do.

        Raises:
            Malformed: it is none that the broker understands; the connection has to end.
        """
        if self._asked is not None or not self._waiting or self.is_over:
            return None
        asked = self._ask(self._waiting.popleft())
        if asked.wants_answer:
            self._asked = asked
        return asked

    def _ask(self, frame: bytes) -> Asked:
        if self.gate is None:
            return self.front.ask(frame, self.host)
        asked = self.gate.ask(frame)
        self.is_over = asked.ends
        if self.gate.is_passed:
            self._frames.most_bytes = self._most_bytes
        return asked

    def answer(self, answers: Sequence[Answer | None]) -> Response | None:
        """What is sent as the answer to the request that was handed out last; None: the connection has to end.

        Args:
            answers: those to its messages, in their order; None: the broker has ended the connection instead.
        """
        asked, self._asked = self._asked, None
        assert asked is not None, "a request is answered once"
        if asked.data is not None or asked.ends:
            return None if asked.data is None else Response(asked.data)
        whole = [answer for answer in answers if answer is not None]
        return self.front.response(asked, tuple(whole), self.principal) if len(whole) == len(asked.messages) else None

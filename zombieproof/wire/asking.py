"""Whoever asks a broker: a message of ours as the bytes of a request, and the bytes of an answer as one of ours."""

import socket
from collections import deque
from io import BytesIO
from struct import Struct
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.partitions import Produce
from zombieproof.messages.registry import api_of
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.wire.api import Address, Values
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.entities import entity_class, made, read, write
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import MOST_BYTES, SIZE
from zombieproof.wire.names import Names

NUMBER = Struct(">i")
"""What the header of every answer begins with: the number of its request."""

SAYS: dict[str, Any] = {
    "replica_id": NONE,
    "retention_time": NONE,
    "include_topic_authorized_operations": False,
    "include_cluster_authorized_operations": False,
}
"""What Kafka's clients say in any request that has such a field, and the message does not tell."""


def request_frame(request: Request, correlation_id: int, client_id: str | None, names: Names) -> bytes:
    """The frame of a request, in its version."""
    api = WIRE_APIS[api_of(type(request)).key]
    return frame_of(api.key, request.version, api.written(request, names), correlation_id, client_id)


def frame_of(api: ApiKey, version: int, values: Values, correlation_id: int, client_id: str | None) -> bytes:
    """The frame of a request that is made of plain values, by kio's names."""
    kind, out = entity_class(api, version, "request"), BytesIO()
    header = {
        "request_api_key": int(api),
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    out.write(SIZE.pack(0))
    write(out, made(kind.__header_schema__, header, {}))
    write(out, made(kind, values, SAYS))
    frame = out.getbuffer()
    SIZE.pack_into(frame, 0, len(frame) - SIZE.size)
    return bytes(frame)


def entity_in(frame: bytes, api: ApiKey, version: int) -> Any:
    """The answer to a request of an API, as kio has it, from what follows the size of its frame.

    Raises:
        Malformed: it is none.
    """
    kind = entity_class(api, version, "response")
    _, at = read(kind.__header_schema__, frame)
    return read(kind, frame, at)[0]


def answer_in(frame: bytes, request: Request, names: Names) -> Answer:
    """The answer to `request`, from what follows the size of its frame.

    Raises:
        Malformed: it is none.
    """
    api = WIRE_APIS[api_of(type(request)).key]
    kind = entity_class(api.key, request.version, "response")
    _, at = read(kind.__header_schema__, frame)
    answer: Answer = api.read_answer(frame[at:], request, names)
    return answer


class Asking:
    """One connection to a broker, on which one request is asked after the other.

    Args:
        address: where the broker listens.
        client_id: who asks.
        names: what topics are called there.
        patience_s: how long an answer is waited for.

    Raises:
        OSError: nobody listens there.
    """

    def __init__(self, address: Address, client_id: str | None, names: Names, patience_s: float) -> None:
        self._client_id, self._names, self._patience_s = client_id, names, patience_s
        self._socket = socket.create_connection(address, patience_s)
        self._number = 0
        self._unanswered: deque[int] = deque()

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            OSError: the broker has ended the connection.
        """
        self.send_frame(self.frame_of(request))

    def frame_of(self, request: Request) -> bytes:
        """A request as it is sent, under the next number; its answer is then the next that is received."""
        if not (isinstance(request, Produce) and request.acks == 0):
            self._unanswered.append(self._number + 1)
        return request_frame(request, self._next_number(), self._client_id, self._names)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def send_frame(self, frame: bytes) -> None:
        """Send a frame as it is.

        Raises:
            OSError: the broker has ended the connection.
        """
        self._socket.sendall(frame)

    def receive(self, request: Request, *, waits: bool = True) -> Answer:
        """The answer to `request`, which is the oldest that is not answered.

        Args:
            waits: whether to wait for it, if nothing has come.

        Raises:
            ConnectionError: the broker has ended the connection instead.
            BlockingIOError: nothing has come.
            TimeoutError: it has not come for too long.
            Malformed: it is none.
        """
        return answer_in(self._answer_frame(waits=waits), request, self._names)

    def entity(self, api: ApiKey, version: int, values: Values) -> Any:
        """Kio's entity of the answer to a request that is made of plain values; nothing else is unanswered.

        Raises:
            OSError, TimeoutError, Malformed: as of `send` and `receive`.
        """
        self._unanswered.append(self._number + 1)
        self.send_frame(frame_of(api, version, values, self._next_number(), self._client_id))
        return entity_in(self._answer_frame(waits=True), api, version)

    def receive_frame(self, *, waits: bool = True) -> bytes:
        """The next frame that comes, without its size.

        Args:
            waits: whether to wait for it, if nothing has come.

        Raises:
            ConnectionError: the broker has ended the connection instead.
            BlockingIOError: nothing has come.
            TimeoutError: it has not come for too long.
            Malformed: it is longer than any.
        """
        self._socket.settimeout(self._patience_s if waits else 0)
        first = self._read(1)
        self._socket.settimeout(self._patience_s)
        (size,) = SIZE.unpack(first + self._read(SIZE.size - 1))
        if not 0 <= size <= MOST_BYTES:
            raise Malformed(f"an answer of {size} bytes; legal are 0 to {MOST_BYTES}")
        return self._read(size)

    @property
    def is_over(self) -> bool:
        """Whether the broker has ended the connection, and everything was read before."""
        self._socket.settimeout(0)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self._socket.settimeout(self._patience_s)

    def _answer_frame(self, *, waits: bool) -> bytes:
        """The next frame, which answers the oldest request that is not answered."""
        frame, expected = self.receive_frame(waits=waits), self._unanswered.popleft() if self._unanswered else None
        if len(frame) < NUMBER.size:
            raise Malformed(f"an answer of {len(frame)} bytes; one has at least {NUMBER.size}")
        (number,) = NUMBER.unpack_from(frame)
        if number != expected:
            raise Malformed(f"an answer to request {number}; the oldest that is not answered is {expected}")
        return frame

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the broker has ended the connection")
            data += part
        return bytes(data)

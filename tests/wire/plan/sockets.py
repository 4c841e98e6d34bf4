"""A client of raw requests over a socket, which waits for each answer or for the end of its connection."""

import socket
from types import TracebackType
from typing import Any, Self

from zombieproof.broker.cluster.network import Request
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.wire.asking import answer_in, request_frame
from zombieproof.wire.frames import SIZE
from zombieproof.wire.names import TopicNames
from zombieproof.wire.running import Running

PATIENCE_S = 10


class Line:
    """One connection to a broker."""

    def __init__(self, running: Running, client_id: str = "", node: int = 1) -> None:
        metadata = running.cluster.metadata
        self._names, self._client_id, self._number = TopicNames(metadata.topic_ids, metadata.topic_names), client_id, 0
        host, _, port = running.bootstrap.split(",")[node - 1].rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def send(self, request: Request) -> None:
        """Send a request and do not wait."""
        self._number += 1
        self._socket.sendall(request_frame(request, self._number, self._client_id, self._names))

    def hear(self, request: Request) -> Any:
        """The answer to a request that was sent; None: the connection ended."""
        head = self._read(SIZE.size)
        if not head:
            return None
        return answer_in(self._read(SIZE.unpack(head)[0]), request, self._names)

    def ask(self, request: Request) -> Any:
        """The answer to a request."""
        self.send(request)
        return self.hear(request)

    def hears_nothing(self, seconds: float = 0.2) -> bool:
        """Whether there is no answer yet, and no end."""
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(PATIENCE_S)
        return False

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                part = self._socket.recv(size - len(found))
            except ConnectionResetError:
                return b""
            if not part:
                return b""
            found += part
        return found


def batch(me: tuple[int, int], place: TopicPartition, value: bytes, *, sequence: int = 0, version: int = 11) -> Produce:
    """A Produce of one record of a transaction."""
    records = (Record(None, value, timestamp_ms=0),)
    return Produce(version, "app", -1, {place: (SentBatch(Batch(*me, sequence, True, records, timestamp_ms=0)),)})

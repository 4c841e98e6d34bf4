"""Requests as raw bytes made of plain values, and answers as plain values: of a real broker, or of one of ours."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from socket import create_connection
from typing import Any, Protocol
from uuid import UUID

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Address, Around
from zombieproof.wire.entities import entity_class, made, plain, read, write
from zombieproof.wire.front import Front

Values = Mapping[str, Any]
CLIENT_ID = "questions"
NUMBER = 7
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
PATIENCE_S = 6.0


class Asked(Protocol):
    """Whoever answers the bytes of a request with the bytes of an answer, without their lengths."""

    def __call__(self, message: bytes) -> bytes: ...

    def again(self) -> "Asked":
        """Another connection."""
        ...


def request_bytes(api: ApiKey, version: int, values: Values, client_id: str = CLIENT_ID) -> bytes:
    """A request, without its length."""
    kind, out = entity_class(api, version, "request"), BytesIO()
    header = {
        "request_api_key": int(api),
        "request_api_version": version,
        "correlation_id": NUMBER,
        "client_id": client_id,
    }
    write(out, made(kind.__header_schema__, header, {}))
    write(out, made(kind, values, {}))
    return out.getvalue()


def answer_values(api: ApiKey, version: int, data: bytes) -> Any:
    """An answer, as plain values."""
    kind = entity_class(api, version, "response")
    header, at = read(kind.__header_schema__, data)
    assert header.correlation_id == NUMBER, "the answer to another request"
    entity, end = read(kind, data, at)
    assert end == len(data), f"{len(data) - end} bytes follow the answer"
    return told(entity)


def told(value: Any) -> Any:
    """An entity as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: told(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [told(each) for each in value]
    value = plain(value)
    return str(value) if isinstance(value, UUID) else value


def ask(asked: Asked, api: ApiKey, version: int, values: Values) -> Any:
    """What `asked` answers, as plain values."""
    return answer_values(api, version, asked(request_bytes(api, version, values)))


class Socket:
    """A broker that listens."""

    def __init__(self, host: str, port: int) -> None:
        self._at = host, port
        self._socket = create_connection(self._at, timeout=PATIENCE_S)
        self._sent = (ApiKey.API_VERSIONS, 0)

    def patience(self, seconds: float) -> None:
        """Wait for a response so long."""
        self._socket.settimeout(seconds)

    def send(self, api: ApiKey, version: int, values: Values) -> None:
        """Send a request, whose response is waited for later."""
        self._sent, message = (api, version), request_bytes(api, version, values)
        self._socket.sendall(len(message).to_bytes(4, "big") + message)

    def wait(self) -> Any:
        """The response to what was sent last.

        Raises:
            ConnectionError: the connection was closed instead.
            TimeoutError: there is none.
        """
        return answer_values(*self._sent, self._received(int.from_bytes(self._received(4), "big")))

    def again(self) -> "Socket":
        """Another connection."""
        self.close()
        return Socket(*self._at)

    def __call__(self, message: bytes) -> bytes:
        """Its answer.

        Raises:
            ConnectionError: it closed the connection instead.
        """
        self._socket.sendall(len(message).to_bytes(4, "big") + message)
        return self._received(int.from_bytes(self._received(4), "big"))

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the broker closed the connection")
            data += part
        return data

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class Ours:
    """A broker of a cluster of ours: bytes in, bytes out, without a socket."""

    def __init__(self, cluster: Cluster, node: int = 1, addresses: Mapping[int, Address] | None = None) -> None:
        self.cluster, self.node = cluster, node
        known = addresses or {each: Address("127.0.0.1", 19092 + each - 1) for each in cluster.nodes}
        self.front = Front(cluster, node, Around(cluster.metadata, known, CLUSTER_ID, lambda: cluster.brokers))

    def again(self) -> "Ours":
        """Nothing is left of a connection."""
        return self

    def __call__(self, message: bytes) -> bytes:
        """Its answer.

        Raises:
            Malformed: it closes the connection instead.
        """
        asked = self.front.ask(message)
        answers: list[Answer] = []
        for each in asked.messages:
            answer = self.cluster.ask(each, self.node)
            assert answer is not None, "the connection was closed"
            answers.append(answer)
        return self.front.answered(asked, tuple(answers))[4:]

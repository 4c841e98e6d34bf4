"""Whoever asks a broker: a message of ours as the bytes of a request, and the bytes of an answer as one of ours."""

from io import BytesIO
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.registry import api_of
from zombieproof.model.vocabulary import NONE
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.entities import entity_class, made, read, write
from zombieproof.wire.frames import SIZE
from zombieproof.wire.names import Names

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
    kind, out = entity_class(api.key, request.version, "request"), BytesIO()
    header = {
        "request_api_key": int(api.key),
        "request_api_version": request.version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    out.write(SIZE.pack(0))
    write(out, made(kind.__header_schema__, header, {}))
    write(out, made(kind, api.written(request, names), SAYS))
    frame = out.getbuffer()
    SIZE.pack_into(frame, 0, len(frame) - SIZE.size)
    return bytes(frame)


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

"""``python -m tests.wire.recorder_between HOST:PORT``: send every request between SaslHandshake and SaslAuthenticate.

A client that has named a mechanism has to authenticate next. Kafka answers any other request with ILLEGAL_SASL_STATE,
in the form that the response has for an error, and closes the connection. This asks a real Kafka for the form of each
API and version, and keeps the answers. Needed: a broker of 4.3.1 with a listener for SASL/PLAIN.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin
from uuid import UUID

from tests.wire.raw import Socket, answer_values, ask, request_bytes
from zombieproof.model.api_versions import understood_versions
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.entities import entity_class, hints_of, inner_class
from zombieproof.wire.faults import Malformed

RELEASE = "4.3.1"
FILE = Path(__file__).with_name("answers_between_4.3.1.json.gz")
CLOSED = "the connection was closed"
NOT_COMPARED = frozenset({"error_message", "throttle_time"})
SAMPLE = {str: "x", bytes: b"x", UUID: UUID(int=1), bool: False, int: 1}


def questions() -> Iterator[tuple[ApiKey, int]]:
    """Every version of every API that is served and that the release understands."""
    for api in sorted(WIRE_APIS.values(), key=lambda each: each.key):
        if api.key not in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
            for version in understood_versions(RELEASE, api.key) or ():
                if version in api.versions:
                    yield api.key, version


def sample(kind: Any) -> dict[str, Any]:
    """A request with one row in each of its arrays."""
    return {each.name: _sample(kind, each.name) for each in fields(kind)}


def _sample(kind: Any, name: str) -> Any:
    inner, hint = inner_class(kind, name), hints_of(kind)[name]
    value = sample(inner) if inner is not None else _plain(hint)
    return [value] if _is_array(hint) else value


def _is_array(hint: Any) -> bool:
    return get_origin(hint) is tuple or any(_is_array(each) for each in get_args(hint))


def _plain(hint: Any) -> Any:
    for kind, value in SAMPLE.items():
        if isinstance(hint, type) and issubclass(hint, kind) and not (kind is int and issubclass(hint, bool)):
            return value
    found = [_plain(each) for each in get_args(hint)] or [_plain(getattr(hint, "__supertype__", None))] if hint else []
    return next((each for each in found if each is not None), None)


def answers_of(connect: Callable[[], Socket]) -> Iterator[dict[str, Any]]:
    """What each question is answered, on a connection of its own that has named a mechanism."""
    for api, version in questions():
        connection = connect()
        try:
            ask(connection, ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
            asked = request_bytes(api, version, sample(entity_class(api, version, "request")))
            told = _compared(answer_values(api, version, connection(asked)))
        except (ConnectionError, Malformed):
            told = CLOSED
        finally:
            connection.close()
        yield {"api": api.name, "version": version, "answer": told}


def _compared(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _compared(value) for name, value in told.items() if name not in NOT_COMPARED}
    if isinstance(told, list):
        return [_compared(each) for each in told]
    return told.hex() if isinstance(told, bytes) else told


def recorded() -> list[dict[str, Any]]:
    """What the real Kafka has answered."""
    rows: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return rows


def main(at: str) -> None:
    """Ask and keep."""
    host, port = at.split(":")
    rows = list(answers_of(lambda: Socket(host, int(port))))
    FILE.write_bytes(gzip.compress(json.dumps(rows, sort_keys=True).encode(), mtime=0))
    for row in rows:
        print(json.dumps(row))  # noqa: T201  # a command of its own


if __name__ == "__main__":
    main(sys.argv[1])

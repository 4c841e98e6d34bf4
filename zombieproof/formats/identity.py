"""Small files that a broker keeps beside its logs: whose disk it is, and which topic a folder holds.

Source: ``MetaProperties.java``, ``PartitionMetadata.java``.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from uuid import UUID

from zombieproof.formats.faults import Undecodable

TOPIC_VERSION = 0
TOPIC_IDENTITY = "partition.metadata"
"""The file in a partition's folder that says which topic it holds."""


def read_properties(data: bytes | memoryview) -> dict[str, str]:
    """The entries of a ``meta.properties``, in their order."""
    lines = (line.strip() for line in _lines(data))
    pairs = (line.partition("=") for line in lines if line and not line.startswith(("#", "!")))
    return {name.strip(): value.strip() for name, _, value in pairs}


def write_properties(entries: Mapping[str, str]) -> bytes:
    """A ``meta.properties`` of these entries, without the comment that tells the time."""
    return "".join(f"{name}={value}\n" for name, value in entries.items()).encode()


def read_topic_id(data: bytes | memoryview) -> str:
    """The topic id in a ``partition.metadata``.

    Raises:
        Undecodable: it holds none.
    """
    for line in _lines(data):
        name, _, value = line.partition(":")
        if name.strip() == "topic_id" and value.strip():
            return value.strip()
    raise Undecodable("it holds no topic_id")


def write_topic_id(topic_id: str) -> bytes:
    """The ``partition.metadata`` of a topic, as Kafka writes it: no line feed at the end."""
    return f"version: {TOPIC_VERSION}\ntopic_id: {topic_id}".encode()


def _lines(data: bytes | memoryview) -> list[str]:
    return bytes(data).decode(errors="replace").split("\n")


def decoded(text: str) -> UUID:
    """The UUID that Kafka writes so.

    Raises:
        Undecodable: it is not one.
    """
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError as error:
        raise Undecodable(f"{text!r} is not a UUID of 22 characters") from error


def encoded(identity: UUID) -> str:
    """A UUID as Kafka writes it: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(identity.bytes).decode().rstrip("=")

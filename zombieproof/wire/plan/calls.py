"""A request as a plan sees it: who asks what, and about which id, group and partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zombieproof.broker.cluster.network import Request
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.registry import api_of, values_of
from zombieproof.messages.schema import Entity
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.plan.selection import Sender

OF_A_TRANSACTION = 1
"""The type of a FindCoordinator's key that is a transactional id."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `node`: to whom; `number` counts what came, from 1."""

    number: int
    request: Request
    key: ApiKey
    api: str
    version: int
    sender: Sender
    node: int | None
    client_id: str
    transactional_ids: frozenset[str]
    groups: frozenset[str]
    partitions: tuple[TopicPartition, ...]

    @property
    def transactional_id(self) -> str | None:
        """The id that it is about, if it is about one."""
        return next(iter(sorted(self.transactional_ids)), None)

    def __str__(self) -> str:
        about = [f"of client {self.client_id!r}"] if self.client_id else []
        about += [f"transactional id {each!r}" for each in sorted(self.transactional_ids)]
        about += [f"group {each!r}" for each in sorted(self.groups)]
        if self.partitions:
            about.append("partition " + ", ".join(f"{topic}-{number}" for topic, number in self.partitions[:3]))
        return " ".join([f"{self.api} {self.version}", ", ".join(about)]).strip()


def call_of(number: int, request: Request, sender: Sender, node: int | None, client_id: str = "") -> Call:
    """A request as a plan sees it."""
    api = api_of(type(request))
    ids = _texts(request, Entity.TRANSACTIONAL_ID)
    groups = _texts(request, Entity.GROUP)
    if isinstance(request, FindCoordinator):
        named = frozenset({request.key})
        ids, groups = (named, groups) if request.key_type == OF_A_TRANSACTION else (ids, named)
    return Call(
        number,
        request,
        api.key,
        api.name,
        getattr(request, "version", 0),
        sender,
        node,
        client_id,
        ids,
        groups,
        tuple(dict.fromkeys(_partitions(request))),
    )


def _texts(request: Request, entity: Entity) -> frozenset[str]:
    return frozenset(each for each in values_of(request, entity) if isinstance(each, str) and each)


def _partitions(request: Any) -> Iterator[TopicPartition]:
    yield from values_of(request, Entity.PARTITION)
    for row in getattr(request, "offsets", ()):
        yield row.partition

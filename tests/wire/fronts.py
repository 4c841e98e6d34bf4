"""A broker in memory, and who speaks for it."""

from dataclasses import dataclass
from typing import Any

from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.model.api_versions import understood_versions
from zombieproof.model.releases import RELEASES
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Address, Around
from zombieproof.wire.asking import request_frame
from zombieproof.wire.frames import SIZE
from zombieproof.wire.front import Front
from zombieproof.wire.names import TopicNames

TOPICS = {"t0": 4, "t1": 4}
CLIENT = "me"


@dataclass(frozen=True, slots=True)
class Fronted:
    """One broker of a cluster in memory."""

    cluster: Cluster
    front: Front
    names: TopicNames

    def frame(self, request: Request, number: int = 7) -> bytes:
        """A request as bytes, without their size."""
        return request_frame(request, number, CLIENT, self.names)[SIZE.size :]

    def answer(self, frame: bytes) -> bytes:
        """What is answered to the bytes of a request, without their size."""
        asked = self.front.ask(frame)
        answers: list[Answer | None] = [self.cluster.ask(message, self.front.node) for message in asked.messages]
        return self.front.answered(asked, tuple(each for each in answers if each is not None))[SIZE.size :]


def fronted(release: str = RELEASES[-1], **more: Any) -> Fronted:
    """A broker of a release; `more` is for its cluster."""
    cluster = Cluster(1, topics=TOPICS, release=release, **more)
    around = Around(cluster.metadata, {1: Address("127.0.0.1", 9092)}, "id", lambda: cluster.brokers)
    return Fronted(cluster, Front(cluster, 1, around), around.names)


def release_of(api: ApiKey, version: int) -> str:
    """The newest release that understands a version."""
    return next(each for each in reversed(RELEASES) if version in (understood_versions(each, api) or ()))

"""Requests among the nodes of a cluster to its controller, and their answers. Source: reference §2.16; KIP-730."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from zombieproof.messages.schema import Entity, Wire
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """API key 67, version 0: broker `node` needs a block of producer ids."""

    version: int
    node: Annotated[int, Wire("BrokerId")]
    broker_epoch: Annotated[int, Wire("BrokerEpoch")] = NONE


class ProducerIdBlock(NamedTuple):
    """`size` consecutive ids from `first` on."""

    first: int
    size: int


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsAnswer:
    """The controller's answer: `count` consecutive ids from `first` on; with an error they count for nothing."""

    error: Annotated[int, Wire("ErrorCode")]
    first: Annotated[int, Wire("ProducerIdStart", entity=Entity.PRODUCER_ID)] = NONE
    count: Annotated[int, Wire("ProducerIdLen")] = 0

    @property
    def block(self) -> ProducerIdBlock:
        """What was given."""
        return ProducerIdBlock(self.first, self.count)

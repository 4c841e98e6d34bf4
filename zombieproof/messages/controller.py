"""Requests among the nodes of a cluster to its controller, and their answers. Source: reference §2.16; KIP-730."""

from dataclasses import dataclass
from typing import NamedTuple

from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """API key 67, version 0: broker `node` needs a block of producer ids."""

    version: int
    node: int


class ProducerIdBlock(NamedTuple):
    """`size` consecutive ids from `first` on."""

    first: int
    size: int


class AllocateProducerIdsAnswer(NamedTuple):
    """The controller's answer; with an error the block counts for nothing."""

    error: int
    block: ProducerIdBlock = ProducerIdBlock(NONE, 0)

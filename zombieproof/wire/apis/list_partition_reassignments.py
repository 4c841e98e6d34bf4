"""ListPartitionReassignments (46), version 0: none is ever under way.

Source: ``ReplicationControlManager.listPartitionReassignments``; KIP-455.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_facts


def told(entity: Any, version: int, around: Around) -> Values:
    """Nothing moves."""
    return {"topics": ()}


LIST_PARTITION_REASSIGNMENTS = api_of_facts(ApiKey.LIST_PARTITION_REASSIGNMENTS, range(1), told)

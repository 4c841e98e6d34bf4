"""ListPartitionReassignments (46), version 0: none is ever under way.

Source: ``ReplicationControlManager.listPartitionReassignments``; KIP-455.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_facts, refused_at_top


def told(entity: Any, version: int, around: Around) -> Values:
    """Nothing moves."""
    return {"topics": ()}


def refused(entity: Any, error: int) -> Values:
    """The refusal, with what was asked for."""
    rows = [
        {"name": topic.name, "partitions": [{"partition_index": number} for number in topic.partition_indexes]}
        for topic in entity.topics or ()
    ]
    return {**refused_at_top(entity, error), "topics": rows}


LIST_PARTITION_REASSIGNMENTS = api_of_facts(ApiKey.LIST_PARTITION_REASSIGNMENTS, range(1), told, refused)

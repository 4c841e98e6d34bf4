"""DescribeTopicPartitions (75), version 0: what Metadata tells of topics, page by page.

In the order of names, so many partitions at a time (at least one, at most 2,000); the cursor says where the next page
begins, and has to be of a topic that is asked for. No topics named are all. Eligible leader replicas are a list, and
empty: Java's admin client fails on null. Source: ``DescribeTopicPartitionsRequestHandler.java``; KIP-966.
"""

from typing import Any

from zombieproof.broker.cluster.topics import error_of_missing
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.model.access import AclOperation, ResourceType
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines import authorizing
from zombieproof.wire.api import Around, Values, api_of_facts
from zombieproof.wire.apis.metadata import partition_of
from zombieproof.wire.names import NO_ID

MOST_PARTITIONS = 2000


def told(entity: Any, version: int, around: Around) -> Values:
    """One page."""
    cursor, known = entity.cursor, around.metadata
    asked = sorted({topic.name for topic in entity.topics} or set(known.topic_ids))
    first = 0
    if cursor is not None:
        left = [name for name in asked if name >= cursor.topic_name]
        if cursor.topic_name not in left or cursor.partition_index < 0:
            return {"topics": [{"name": name, "error_code": Error.INVALID_REQUEST} for name in asked]}
        asked, first = left, cursor.partition_index
    limit = min(max(entity.response_partition_limit, 1), MOST_PARTITIONS)
    errors = {name: authorizing.row_of_topics(_may_know(name, around)) for name in asked}
    page = _page([name for name in asked if not errors[name]], first, limit, around)
    refused = [{"name": name, "error_code": error} for name, error in errors.items() if error and entity.topics]
    return {**page, "topics": [*page["topics"], *refused]}


def _may_know(name: str, around: Around) -> bool:
    return around.may(AclOperation.DESCRIBE, ResourceType.TOPIC, name)


def _page(names: list[str], first: int, limit: int, around: Around) -> Values:
    rows: list[Values] = []
    for name in names:
        if limit == 0:
            return {"topics": rows, "next_cursor": {"topic_name": name, "partition_index": 0}}
        every = around.metadata.partitions_of([name])
        shown = every[first : first + limit]
        rows.append(_row(name, shown, around) if every else _missing(name, around))
        if first + len(shown) < len(every):
            return {"topics": rows, "next_cursor": {"topic_name": name, "partition_index": first + len(shown)}}
        limit, first = limit - len(shown), 0
    return {"topics": rows, "next_cursor": None}


def _missing(name: str, around: Around) -> Values:
    allowed = {"topic_authorized_operations": around.operations(ResourceType.TOPIC, name)}
    return {"name": name, "error_code": error_of_missing(name), **allowed}


def _row(name: str, partitions: list[tuple[str, int]], around: Around) -> Values:
    lists = {"eligible_leader_replicas": (), "last_known_elr": ()}
    return {
        **around.names.topic(name),
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [{**partition_of(each, around), **lists} for each in partitions],
        "topic_authorized_operations": around.operations(ResourceType.TOPIC, name),
    }


def refused(entity: Any, error: int) -> Values:
    """Every topic with the error."""
    return {"topics": [{"name": topic.name, "error_code": error, "topic_id": NO_ID} for topic in entity.topics]}


DESCRIBE_TOPIC_PARTITIONS = api_of_facts(ApiKey.DESCRIBE_TOPIC_PARTITIONS, range(1), told, refused)

"""DeleteTopics (20), versions 1 to 6: topics are gone, with everything in them.

Version 6 may name topics by id (KIP-516). Source: ``KafkaApis.handleDeleteTopicsRequest``.
"""

from typing import Any

from zombieproof.broker.cluster.network import Request
from zombieproof.messages.partitions import DeleteTopics
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Values, api_of_messages
from zombieproof.wire.entities import plain
from zombieproof.wire.names import NO_ID, Names

ROWS_SINCE = 6


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message: topics by name, or by id."""
    timeout_ms = plain(entity.timeout)
    if version < ROWS_SINCE:
        return (DeleteTopics(version, tuple(entity.topic_names), timeout_ms),)
    by_id = any(topic.name is None for topic in entity.topics)
    topics = tuple([names.topic_of(each) for each in entity.topics])
    for topic in topics:
        names.topic(topic)  # The response tells the id that it has now.
    return (DeleteTopics(version, topics, timeout_ms, by_id),)


def written(request: DeleteTopics, names: Names) -> Values:
    """Topics by name, or by id."""
    known = [names.topic(topic) for topic in request.topics]
    if request.version < ROWS_SINCE:
        return {"topic_names": [row["name"] for row in known], "timeout": request.timeout_ms}
    rows = [
        {"name": None, "topic_id": row["topic_id"]} if request.by_id else {"name": row["name"], "topic_id": NO_ID}
        for row in known
    ]
    return {"topics": rows, "timeout": request.timeout_ms}


def refused(entity: Any, error: int) -> Values:
    """Every topic with the error, under the name and the id that the request gave."""
    named = [{"name": name} for name in getattr(entity, "topic_names", ())]
    rows = [{"name": each.name, "topic_id": each.topic_id} for each in getattr(entity, "topics", ())]
    return {"responses": [{**row, "error_code": error} for row in named or rows]}


DELETE_TOPICS = api_of_messages(ApiKey.DELETE_TOPICS, to_messages=to_messages, written=written, refused=refused)

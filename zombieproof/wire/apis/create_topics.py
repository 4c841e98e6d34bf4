"""CreateTopics (19), versions 2 to 7: new topics, with so many partitions and replicas, or with these.

From version 4 on -1 partitions or replicas are as many as brokers give by default, as they are here in all versions.
From 5 on the answer tells what a topic is like, with a list of its settings (an empty one where it was refused: Java's
admin client fails on null), from 7 on its id. Source: ``KafkaApis.handleCreateTopicsRequest``; KIP-4, KIP-525.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer
from zombieproof.messages.admin import TopicCreated, TopicsCreated
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import values_of


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The rows of the topics; one that is there, or could be, has an id."""
    assert isinstance(answers[0], TopicsCreated)
    return {"topics": [_row(each, version, around) for each in answers[0].topics]}


def _row(topic: TopicCreated, version: int, around: Around) -> Values:
    values = values_of(topic, version, around.names)
    if topic.error != Error.NONE:
        return values
    metadata = around.metadata
    return {**values, "topic_id": metadata.topic_ids.get(topic.name) or metadata.next_id(topic.name)}


CREATE_TOPICS = api_of_messages(ApiKey.CREATE_TOPICS, to_values=to_values)

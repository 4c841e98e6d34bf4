"""OffsetCommit (8), versions 1 to 10: the offsets of a group outside of any transaction.

Version 1, which librdkafka sends before 1.0, says of each offset when it was committed. Brokers here take their own
time.
Versions 2 to 4 may say for how long they are kept, from 6 on there is the leader epoch of the record (KIP-320), from 7
on a static member says which it is (KIP-345), from 9 on members of the consumer protocol commit (KIP-848), from 10 on
topics have ids. No metadata is empty metadata. A topic that stands in the request twice stands in the answer twice,
unless some row was refused before it came to the group: then its rows are put together, the refused ones first.
Source: reference §4; ``OffsetCommitRequest.json``; as real 4.3.1 and 4.4.0 answered.
"""

from dataclasses import replace
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.groups import OffsetCommit, OffsetsCommitted
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names

HAS_TIMES_UNTIL = 1
SAYS_AS_LITTLE = 5
"""A version that has every other field of version 1, and no more."""


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message; version 1 asks as version 2 does."""
    if version > HAS_TIMES_UNTIL:
        return (message_of(OffsetCommit, entity, version, names),)
    return (replace(message_of(OffsetCommit, entity, SAYS_AS_LITTLE, names), version=HAS_TIMES_UNTIL + 1),)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The rows as they were asked for, where none is in another place; else those of each topic together."""
    assert isinstance(answers[0], OffsetsCommitted)
    names = [around.names.topic_of(topic) for topic in entity.topics]
    topics = list(zip(names, entity.topics, strict=True))
    asked = [(name, int(row.partition_index)) for name, topic in topics for row in topic.partitions]
    if [row.partition for row in answers[0].rows] != asked:
        return values_of(answers[0], version, around.names)
    rows = iter({"partition_index": row.partition[1], "error_code": row.error} for row in answers[0].rows)
    return {
        "topics": [
            {**around.names.topic(name), "partitions": [next(rows) for _ in topic.partitions]} for name, topic in topics
        ]
    }


OFFSET_COMMIT = api_of_messages(
    ApiKey.OFFSET_COMMIT, versions=range(1, 11), to_messages=to_messages, to_values=to_values
)

"""ListOffsets (2), versions 0 to 11: where partitions begin and end, and where a time is in them.

Version 0 tells a list of offsets, of which there is at most one here: the end or the beginning. Its times are those of
segment files, which brokers here do not keep, so a time is refused (35). librdkafka asks nothing else before 1.9.
Version 1 knows times, the end (-1) and the beginning (-2). From version 2 on the end is where a reader of what is
committed stops (KIP-98), from 4 on leaders have epochs (KIP-320), from 7 on there is the record with the greatest time
(-3, KIP-734), from 8 on the beginning of what lies at the broker (-4), from 9 on the end of what lies elsewhere (-5),
which is nothing here, nor is there what waits to be put there (-6, version 11). How long a broker may look (version 10)
is never long. Source: reference §6; KIP-79; ``ListOffsetsRequest.java``.
"""

from collections import Counter
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.partitions import ListOffsets, ListOffsetsAnswer
from zombieproof.model.vocabulary import ApiKey, Error, Isolation
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.entities import plain
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names

LISTS_UNTIL = 0


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message, which knows what the request names twice; version 0 asks as version 1 does."""
    if version == LISTS_UNTIL:
        every = ((topic.name, row) for topic in entity.topics for row in topic.partitions)
        times = {(topic, row.partition_index): plain(row.timestamp) for topic, row in every}
        return (ListOffsets(LISTS_UNTIL + 1, Isolation.READ_UNCOMMITTED, times),)
    named = Counter((topic.name, row.partition_index) for topic in entity.topics for row in topic.partitions)
    repeated = frozenset(partition for partition, times in named.items() if times > 1)
    return (message_of(ListOffsets, entity, version, names, repeated=repeated),)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """Each partition with its offset; in version 0 with a list of it, if that many are wanted."""
    told = answers[0]
    if version > LISTS_UNTIL:
        return values_of(told, version, around.names)
    assert isinstance(told, ListOffsetsAnswer)
    topics = [
        {"name": topic.name, "partitions": [_list(topic.name, row, told) for row in topic.partitions]}
        for topic in entity.topics
    ]
    return {"topics": topics}


def _list(topic: str, asked: Any, told: ListOffsetsAnswer) -> Values:
    found = told.partitions[topic, int(asked.partition_index)]
    error = int(Error.UNSUPPORTED_VERSION) if found.error == Error.NONE and asked.timestamp >= 0 else found.error
    offsets = (found.offset,) if error == Error.NONE and asked.max_num_offsets > 0 else ()
    return {"partition_index": asked.partition_index, "error_code": error, "old_style_offsets": offsets}


LIST_OFFSETS = api_of_messages(ApiKey.LIST_OFFSETS, versions=range(12), to_messages=to_messages, to_values=to_values)

"""ListOffsets (2), versions 1 to 11: where partitions begin and end, and where a time is in them.

Version 1 knows times, the end (-1) and the beginning (-2). From version 2 on the end is where a reader of what is
committed stops (KIP-98), from 4 on leaders have epochs (KIP-320), from 7 on there is the record with the greatest time
(-3, KIP-734), from 8 on the beginning of what lies at the broker (-4), from 9 on the end of what lies elsewhere (-5),
which is nothing here, nor is there what waits to be put there (-6, version 11). How long a broker may look (version 10)
is never long. Source: reference §6; KIP-79; ``ListOffsetsRequest.java``.
"""

from collections import Counter
from typing import Any

from zombieproof.broker.cluster.network import Request
from zombieproof.messages.partitions import ListOffsets
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import api_of_messages
from zombieproof.wire.mapping import message_of
from zombieproof.wire.names import Names


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message, which knows what the request names twice."""
    named = Counter((topic.name, row.partition_index) for topic in entity.topics for row in topic.partitions)
    repeated = frozenset(partition for partition, times in named.items() if times > 1)
    return (message_of(ListOffsets, entity, version, names, repeated=repeated),)


LIST_OFFSETS = api_of_messages(ApiKey.LIST_OFFSETS, to_messages=to_messages)

"""OffsetFetch (9), versions 1 to 10: the committed offsets of groups.

In version 1 an error of the group is told of each partition, from 2 on of the group, and no topics named are all. From
version 5 on the leader epoch is told, from 7 on only offsets may be asked for that no transaction changes any more
(KIP-447). From 8 on many groups are asked about at once (KIP-709): each is a question of its own. From 9 on a member
says who it is (KIP-848), from 10 on topics have ids. Of a group that nobody created every offset is -1.
Source: reference §4.5; ``OffsetFetchRequest.java``, ``OffsetFetchResponse.java``.
"""

from dataclasses import replace
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.offsets import OffsetFetch, OffsetFetchAnswer, OffsetFetched
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names

MANY_SINCE = 8
ERROR_OF_GROUP_SINCE = 2


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """A question for each group."""
    asked = (entity,) if version < MANY_SINCE else (replace(entity, groups=(group,)) for group in entity.groups)
    return tuple(message_of(OffsetFetch, each, version, names) for each in asked)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The offsets of each group."""
    found = [each for each in answers if isinstance(each, OffsetFetchAnswer)]
    if version < MANY_SINCE:
        return values_of(_told(entity, found[0], version, around.names), version, around.names)
    rows = [values_of(each, version, around.names)["groups"][0] for each in found]
    return {"groups": [{**row, "group_id": of.group_id} for of, row in zip(entity.groups, rows, strict=True)]}


def _told(entity: Any, answer: OffsetFetchAnswer, version: int, names: Names) -> OffsetFetchAnswer:
    """An answer, in whose version 1 only partitions have errors."""
    if version >= ERROR_OF_GROUP_SINCE or answer.error == Error.NONE:
        return answer
    asked: OffsetFetch = message_of(OffsetFetch, entity, version, names)
    return OffsetFetchAnswer(answer.error, dict.fromkeys(asked.partitions or (), OffsetFetched(answer.error)))


OFFSET_FETCH = api_of_messages(ApiKey.OFFSET_FETCH, to_messages=to_messages, to_values=to_values)

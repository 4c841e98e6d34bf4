"""ConsumerGroupHeartbeat (68), versions 0 and 1: a member of a group of the consumer protocol.

From version 1 on it makes up its id, and may say by a regular expression what it reads (KIP-1082, KIP-848). An answer
with an error names no member, and says the name of the error. Source: ``ConsumerGroupHeartbeatRequest.json``.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer
from zombieproof.messages.groups import ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import values_of


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """What the member is told."""
    (answer,) = answers
    found = values_of(answer, version, around.names)
    if isinstance(answer, ConsumerGroupHeartbeatAnswer) and answer.error != Error.NONE:
        return {**found, "member_id": None, "error_message": Error(answer.error).name}
    return found


CONSUMER_GROUP_HEARTBEAT = api_of_messages(ApiKey.CONSUMER_GROUP_HEARTBEAT, to_values=to_values)

"""ConsumerGroupHeartbeat (68), versions 0 and 1: a member of a group of the consumer protocol.

An assignment that has not changed is null. From version 1 on a member makes up its own id, and may subscribe by a
pattern. Source: KIP-848, KIP-1082.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer
from zombieproof.messages.consumer_groups import ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import values_of


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The assignment is one row, or none."""
    answer = answers[0]
    assert isinstance(answer, ConsumerGroupHeartbeatAnswer)
    values = values_of(answer, version, around.names)
    assignment = None if answer.assignment is None else values["assignment"][0]
    return {**values, "assignment": assignment}


CONSUMER_GROUP_HEARTBEAT = api_of_messages(ApiKey.CONSUMER_GROUP_HEARTBEAT, to_values=to_values)

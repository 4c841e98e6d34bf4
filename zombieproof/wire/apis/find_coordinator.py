"""FindCoordinator (10), versions 0 to 6: which broker coordinates a group or a transactional id.

Version 0 asks for groups only. In versions 1 to 3 a text goes with every error, also with none; from 4 on only where
there is no such type of keys, and many are asked for at once (KIP-699): each is a question of its own. Groups that
share (key type 2) are refused.
Source: reference §2.5; ``KafkaApis.handleFindCoordinatorRequest``.
"""

from collections.abc import Mapping
from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator
from zombieproof.messages.schema import Entity
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Address, Around, Values, api_of_messages
from zombieproof.wire.names import Names

MANY_SINCE = 4
OF_GROUPS = 0
KEY_TYPES = range(3)
"""Groups, transactional ids, and groups that share, which are not spoken here."""
NOWHERE = Address("", NONE)
MESSAGES: Mapping[int, str] = {
    Error.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Error.INVALID_REQUEST: "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details.",
}


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """A question for each key."""
    keys = entity.coordinator_keys if version >= MANY_SINCE else (entity.key,)
    return tuple(FindCoordinator(version, key, getattr(entity, "key_type", OF_GROUPS)) for key in keys)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """Where the broker of each key listens."""
    says = version < MANY_SINCE or entity.key_type not in KEY_TYPES
    found = [_found(each, around, says=says) for each in answers if isinstance(each, CoordinatorFound)]
    if version < MANY_SINCE:
        return found[0]
    return {"coordinators": [{"key": key, **row} for key, row in zip(entity.coordinator_keys, found, strict=True)]}


def written(request: FindCoordinator, names: Names) -> Values:
    """One key."""
    key = names.sent(Entity.GROUP if request.key_type == OF_GROUPS else Entity.TRANSACTIONAL_ID, request.key)
    return {"key": key, "key_type": request.key_type, "coordinator_keys": (key,)}


def _found(answer: CoordinatorFound, around: Around, *, says: bool) -> Values:
    host, port = around.addresses.get(answer.node, NOWHERE)
    message = MESSAGES.get(answer.error, Error(answer.error).name) if says else ""
    return {
        "error_code": answer.error,
        "error_message": message,
        "node_id": answer.node,
        "host": host,
        "port": port,
    }


FIND_COORDINATOR = api_of_messages(
    ApiKey.FIND_COORDINATOR, to_messages=to_messages, to_values=to_values, written=written
)

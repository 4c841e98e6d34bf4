"""ListConfigResources (74), versions 0 and 1: whatever has settings: topics (2) and brokers (4).

Version 0 asks for client metrics (16), of which there are none here; nor are there loggers (8) and groups (32) with
settings. Any other type is refused (35). Source: ``KafkaApis.handleListConfigResources``; KIP-714, KIP-1142.
"""

from typing import Any

from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_facts

TOPICS, BROKERS = 2, 4
KINDS = frozenset({TOPICS, BROKERS, 8, 16, 32})
KINDS_SINCE = 1


def told(entity: Any, version: int, around: Around) -> Values:
    """The names of those that are asked for; of all where no type is named."""
    if version < KINDS_SINCE:
        return {"config_resources": ()}
    wanted = set(entity.resource_types) or KINDS
    if not wanted <= KINDS:
        return {"error_code": Error.UNSUPPORTED_VERSION, "config_resources": ()}
    names = {TOPICS: sorted(around.metadata.topic_ids), BROKERS: [str(node) for node in around.addresses]}
    return {
        "config_resources": [
            {"resource_name": name, "resource_type": kind}
            for kind in sorted(wanted & set(names))
            for name in names[kind]
        ]
    }


LIST_CONFIG_RESOURCES = api_of_facts(ApiKey.LIST_CONFIG_RESOURCES, range(2), told)

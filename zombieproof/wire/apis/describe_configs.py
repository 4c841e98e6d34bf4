"""DescribeConfigs (32), versions 1 to 4: settings of topics (type 2) and of the broker that is asked (4).

Each with its source, from version 1 on with its synonyms, from 3 on with its type; documentation is null. The broker
without a number is what was changed in all of them while they ran. Of settings that Kafka's brokers have and brokers
here have not nothing is told; loggers (8), client metrics (16) and groups (32) are refused like types that there are
not. What a broker is called, where clients find it and where its logs are is told here, because the one that is asked
does not know it. Source: ``ConfigHelper.scala``; KIP-133, KIP-226, KIP-569.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.cluster.node import log_directory
from zombieproof.broker.cluster.topic_settings import Source
from zombieproof.broker.store.topic_configs import Kind
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.statemachines.configs import Resource
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import values_of


class Identity(NamedTuple):
    """A setting that every broker was given for itself; `default` is Kafka's, where it has one."""

    name: str
    value: str
    kind: Kind
    default: str | None = None


def identity(around: Around) -> Iterator[Identity]:
    """What the broker that answers was given for itself."""
    host, port = around.addresses[around.node]
    yield Identity("advertised.listeners", f"{around.protocol}://{host}:{port}", Kind.LIST)
    yield Identity("broker.id", str(around.node), Kind.INT, "-1")
    yield Identity("log.dirs", log_directory(around.node), Kind.LIST)
    yield Identity("node.id", str(around.node), Kind.INT)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """What the broker says of each resource, and what it was given for itself."""
    values = values_of(answers[0], version, around.names)
    asked = {(int(each.resource_type), each.resource_name): each for each in entity.resources}
    for result in values["results"]:
        kind, name = int(result["resource_type"]), result["resource_name"]
        if kind == Resource.BROKER and name and result["error_code"] == Error.NONE and around.node in around.addresses:
            keys = asked[kind, name].configuration_keys
            rows = [_row(each, entity.include_synonyms) for each in identity(around) if not keys or each.name in keys]
            result["configs"] = [*result["configs"], *rows]
    return values


def _row(each: Identity, tells_synonyms: bool) -> Values:
    synonyms = [(each.value, Source.STATIC_BROKER_CONFIG)]
    synonyms += [] if each.default is None else [(each.default, Source.DEFAULT_CONFIG)]
    return {
        "name": each.name,
        "value": each.value,
        "read_only": True,
        "config_source": int(Source.STATIC_BROKER_CONFIG),
        "is_sensitive": False,
        "synonyms": [
            {"name": each.name, "value": value, "source": int(source)} for value, source in synonyms if tells_synonyms
        ],
        "config_type": int(each.kind),
        "documentation": None,
    }


DESCRIBE_CONFIGS = api_of_messages(ApiKey.DESCRIBE_CONFIGS, to_values=to_values)

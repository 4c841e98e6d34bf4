"""The configuration of a broker by Kafka's names, as ``server.properties`` has it.

Source: ``KafkaConfig.scala``, ``ServerTopicConfigSynonyms.java``; reference §8.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.config_names import NAMES, config_named
from zombieproof.broker.store.topic_configs import SETTINGS

DEFAULTS = Settings()
OF_BROKERS = {each.name.replace("_", "."): each.name for each in fields(Settings)}
"""Kafka's name -> the field."""

OF_LOGS: Mapping[str, str] = {
    **{each.of_brokers: each.name for each in SETTINGS.values() if each.of_brokers and each.name in NAMES},
    "log.retention.ms": "retention.ms",
    "log.roll.ms": "segment.ms",
}
"""Kafka's name of a broker's setting -> that of the setting of topics which it is the default of.

The last two have others beside them in Kafka, in hours, and so no name of their own among `SETTINGS`.
"""

TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class BrokerConfigs:
    """What a broker is told when it starts: its settings, and those of topics that have none of their own."""

    settings: Settings
    logs: LogConfig


def broker_configs(given: Mapping[str, str]) -> BrokerConfigs:
    """The configuration in which `given`, by Kafka's names, is changed against Kafka's defaults.

    Raises:
        ValueError: there is no such setting here, its value cannot be one, or two do not go together.
    """
    changed: dict[str, object] = {}
    for name, value in given.items():
        if name not in OF_BROKERS and name not in OF_LOGS:
            near = "".join(f", did you mean {each}?" for each in get_close_matches(name, [*OF_BROKERS, *OF_LOGS], 1))
            raise ValueError(
                f"{name!r} is no setting of a broker here{near}; there are {', '.join(sorted([*OF_BROKERS, *OF_LOGS]))}"
            )
        if name in OF_BROKERS:
            changed[OF_BROKERS[name]] = _value_of(name, value)
    logs = config_named({OF_LOGS[name]: value for name, value in given.items() if name in OF_LOGS})
    return BrokerConfigs(replace(DEFAULTS, **changed), logs)  # type: ignore[arg-type]  # each was read as its field is


def _value_of(name: str, value: str) -> object:
    if isinstance(getattr(DEFAULTS, OF_BROKERS[name]), bool):
        if value.lower() not in TRUTHS:
            raise ValueError(f"{name} is {value!r}; it can be true or false")
        return TRUTHS[value.lower()]
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name} is {value!r}, and a number is needed") from None

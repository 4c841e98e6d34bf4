"""What a topic's settings are, and where each comes from, as DescribeConfigs and CreateTopics tell it.

Source: ``ConfigHelper.scala``, ``KafkaConfigSchema.java``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.config_names import DEFAULTS
from zombieproof.broker.store.topic_configs import SETTINGS, TopicSetting, default_of

LEAST_IN_SYNC = "min.insync.replicas"


class Source(IntEnum):
    """Where a value comes from (``DescribeConfigsResponse.ConfigSource``)."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


@dataclass(frozen=True, slots=True)
class Synonym:
    """A setting that stands for another where nothing else is said."""

    name: str
    value: str
    source: Source


@dataclass(frozen=True, slots=True)
class Told:
    """One setting: its value, from where, and whatever else would give one, the nearest first."""

    setting: TopicSetting
    value: str
    source: Source
    synonyms: tuple[Synonym, ...]

    @property
    def name(self) -> str:
        """Kafka's name."""
        return self.setting.name


def told_of(stated: Mapping[str, str], base: LogConfig, least_in_sync: Sequence[Synonym]) -> list[Told]:
    """Every setting of a topic of which this is said, where brokers have `base` for topics without any of their own.

    `least_in_sync` is what they have of ``min.insync.replicas``, which is no setting of logs.
    """
    return [_told(setting, stated, base, least_in_sync) for setting in SETTINGS.values()]


def _told(setting: TopicSetting, stated: Mapping[str, str], base: LogConfig, least_in_sync: Sequence[Synonym]) -> Told:
    kafkas, ours = default_of(setting, DEFAULTS), default_of(setting, base)
    synonyms = []
    if setting.name in stated:
        synonyms.append(Synonym(setting.name, stated[setting.name], Source.DYNAMIC_TOPIC_CONFIG))
    if setting.name == LEAST_IN_SYNC:
        synonyms += least_in_sync
    elif ours != kafkas:
        synonyms.append(Synonym(setting.of_brokers or setting.name, ours, Source.STATIC_BROKER_CONFIG))
    if setting.of_brokers and setting.name != LEAST_IN_SYNC:
        synonyms.append(Synonym(setting.of_brokers, kafkas, Source.DEFAULT_CONFIG))
    nearest = synonyms[0] if synonyms else Synonym(setting.name, kafkas, Source.DEFAULT_CONFIG)
    return Told(setting, nearest.value, nearest.source, tuple(synonyms))

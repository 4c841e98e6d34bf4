"""Every setting that Kafka has for topics: types, bounds, defaults, the broker's name for it, and what an answer says.

Those that are fields of `LogConfig` are acted on. The others are taken, kept and told, and nothing follows from them
here (`model.omissions`): an application that asks for them is not to fail for that.
Source: ``LogConfig.java``, ``ConfigDef.java``, ``TopicConfig.java`` of 4.3.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.config_names import DEFAULTS, NAMES, config_named, word_of
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE


class Kind(IntEnum):
    """The type of a setting, as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """One setting. `of_brokers`: what brokers call their default for topics without one of their own; "": nothing."""

    name: str
    kind: Kind
    of_brokers: str = ""
    default: str = ""
    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()


_LONG_MAX, _INT_MAX = (1 << 63) - 1, (1 << 31) - 1
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
B, S, N, L, D, LIST = Kind.BOOLEAN, Kind.STRING, Kind.INT, Kind.LONG, Kind.DOUBLE, Kind.LIST

_EVERY: Final = (
    TopicSetting("cleanup.policy", LIST, "log.cleanup.policy", words=("compact", "delete")),
    TopicSetting("compression.gzip.level", N, "compression.gzip.level", "-1"),
    TopicSetting("compression.lz4.level", N, "compression.lz4.level", "9", 1, 17),
    TopicSetting("compression.type", S, "compression.type", words=_CODECS),
    TopicSetting("compression.zstd.level", N, "compression.zstd.level", "3", -131072, 22),
    TopicSetting("delete.retention.ms", L, "log.cleaner.delete.retention.ms", least=0),
    TopicSetting("file.delete.delay.ms", L, "log.segment.delete.delay.ms", least=0),
    TopicSetting("flush.messages", L, "log.flush.interval.messages", str(_LONG_MAX), 1),
    TopicSetting("flush.ms", L, "", str(_LONG_MAX), 0),
    TopicSetting("follower.replication.throttled.replicas", LIST),
    TopicSetting("index.interval.bytes", N, "log.index.interval.bytes", least=0),
    TopicSetting("leader.replication.throttled.replicas", LIST),
    TopicSetting("local.retention.bytes", L, "log.local.retention.bytes", "-2", -2),
    TopicSetting("local.retention.ms", L, "log.local.retention.ms", "-2", -2),
    TopicSetting("max.compaction.lag.ms", L, "log.cleaner.max.compaction.lag.ms", least=1),
    TopicSetting("max.message.bytes", N, "message.max.bytes", least=0),
    TopicSetting("message.timestamp.after.max.ms", L, "log.message.timestamp.after.max.ms", least=0),
    TopicSetting("message.timestamp.before.max.ms", L, "log.message.timestamp.before.max.ms", least=0),
    TopicSetting("message.timestamp.type", S, "log.message.timestamp.type", words=("CreateTime", "LogAppendTime")),
    TopicSetting("min.cleanable.dirty.ratio", D, "log.cleaner.min.cleanable.ratio", least=0, most=1),
    TopicSetting("min.compaction.lag.ms", L, "log.cleaner.min.compaction.lag.ms", least=0),
    TopicSetting("min.insync.replicas", N, "min.insync.replicas", "1", 1),
    TopicSetting("preallocate", B, "log.preallocate", "false"),
    TopicSetting("remote.log.copy.disable", B, "", "false"),
    TopicSetting("remote.log.delete.on.disable", B, "", "false"),
    TopicSetting("remote.storage.enable", B, "", "false"),
    TopicSetting("retention.bytes", L, "log.retention.bytes"),
    TopicSetting("retention.ms", L, "", least=-1),
    TopicSetting("segment.bytes", N, "log.segment.bytes", least=1 << 20),
    TopicSetting("segment.index.bytes", N, "log.index.size.max.bytes", least=4),
    TopicSetting("segment.jitter.ms", L, "", "0", 0),
    TopicSetting("segment.ms", L, "", least=1),
    TopicSetting("unclean.leader.election.enable", B, "unclean.leader.election.enable", "false"),
)
SETTINGS: Final[Mapping[str, TopicSetting]] = {each.name: each for each in _EVERY}
"""By name, in the order of names."""

STATED_OF_INTERNAL: Final[Mapping[str, Mapping[str, str]]] = {
    CONSUMER_OFFSETS: {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
    TRANSACTION_STATE: {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    },
}
"""What brokers say of the two internal topics when they make them."""

THROTTLED: Final = re.compile(r"\*|(\d+:\d+)(,\s*\d+:\d+)*|")
JAVAS_WORDS: Final = ("NaN", "Infinity")
"""Numbers that Java reads although they are words."""
_BOUNDS: Final[Mapping[Kind, int]] = {Kind.INT: _INT_MAX, Kind.LONG: _LONG_MAX}


class InvalidSetting(ValueError):
    """What is said of a topic's settings cannot be; the text is Kafka's."""


def check(stated: Mapping[str, str]) -> None:
    """See that Kafka would take these settings of a topic.

    Raises:
        InvalidSetting: it would not.
    """
    for name in stated:
        if name not in SETTINGS:
            raise InvalidSetting(f"Unknown topic config name: {name}")
    values = {name: _read(SETTINGS[name], value) for name, value in sorted(stated.items())}
    if values.get("remote.storage.enable"):
        raise InvalidSetting(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    least = values.get("min.compaction.lag.ms", DEFAULTS.min_compaction_lag_ms)
    most = values.get("max.compaction.lag.ms", DEFAULTS.max_compaction_lag_ms)
    if isinstance(least, int) and isinstance(most, int) and least > most:
        raise InvalidSetting(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )


def _read(setting: TopicSetting, value: str) -> object:
    """The value that a text is.

    Raises:
        InvalidSetting: it is none that the setting can have.
    """
    text = value.strip()
    if setting.kind is Kind.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise _invalid(value, setting, "Expected value to be either true or false")
        return text.lower() == "true"
    if setting.kind in (Kind.STRING, Kind.LIST):
        return _read_words(setting, text)
    return _read_number(setting, value, text)


def _read_words(setting: TopicSetting, text: str) -> object:
    given = parts(text) if setting.kind is Kind.LIST else [text]
    if "throttled" in setting.name and not THROTTLED.fullmatch(",".join(given)):
        raise _invalid(
            f"[{', '.join(given)}]",
            setting,
            f"{setting.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )
    for part in given if setting.words else ():
        if part not in setting.words:
            raise _invalid(part, setting, f"String must be one of: {', '.join(setting.words)}")
    return given


def _read_number(setting: TopicSetting, value: str, text: str) -> float:
    read: Callable[[str], float] = float if setting.kind is Kind.DOUBLE else int
    if text[-1:].isalpha() and text.lstrip("+-") not in JAVAS_WORDS:
        text = "?"  # Python reads other words, too
    try:
        number = read(text.replace("_", "?"))  # which Python would pass by
    except ValueError:
        raise _invalid(value, setting, f"Not a number of type {setting.kind.name}") from None
    most = _BOUNDS.get(setting.kind)
    if most is not None and not -most - 1 <= number <= most:
        raise _invalid(value, setting, f"Not a number of type {setting.kind.name}")
    if setting.name == "compression.gzip.level" and number != -1 and not 1 <= number <= 9:
        raise _invalid(str(number), setting, "Value must be between 1 and 9 or equal to -1")
    if setting.least is not None and number < setting.least:
        raise _invalid(str(number), setting, f"Value must be at least {setting.least}")
    if setting.most is not None and number > setting.most:
        raise _invalid(str(number), setting, f"Value must be no more than {setting.most}")
    return number


def _invalid(value: str, setting: TopicSetting, why: str) -> InvalidSetting:
    return InvalidSetting(f"Invalid value {value} for configuration {setting.name}: {why}")


def parts(text: str) -> list[str]:
    """The parts of a list."""
    return [part.strip() for part in text.split(",")] if text else []


def as_told(setting: TopicSetting, value: str) -> str:
    """A value that the setting has, as DescribeConfigs tells it: as it was read, and not as it was written."""
    read = _read(setting, value)
    if isinstance(read, list):
        return ",".join(dict.fromkeys(read) if setting.words else read)
    return "NaN" if isinstance(read, float) and math.isnan(read) else str(read).lower()


def check_number(name: str, value: str, least: int) -> None:
    """See that a text is a number that an INT of brokers can be.

    Raises:
        InvalidSetting: it is none.
    """
    _read(TopicSetting(name, Kind.INT, least=least), value)


def log_config(stated: Mapping[str, str], base: LogConfig) -> LogConfig:
    """The settings of a topic's logs of which this is said, and the rest of which is `base`.

    Raises:
        InvalidSetting: Kafka would not take them.
    """
    check(stated)
    acted_on = {name: value.strip() for name, value in stated.items() if name in NAMES}
    if "cleanup.policy" in acted_on:
        acted_on["cleanup.policy"] = ",".join(dict.fromkeys(parts(acted_on["cleanup.policy"])))
    return config_named(acted_on, base)


def default_of(setting: TopicSetting, base: LogConfig) -> str:
    """What a setting is where nothing is said of it, in logs that are `base` then."""
    attribute = NAMES.get(setting.name)
    return setting.default if attribute is None else word_of(attribute, getattr(base, attribute))

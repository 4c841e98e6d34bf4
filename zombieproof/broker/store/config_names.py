"""Settings of a topic by Kafka's names (``segment.bytes``), as they are saved, and as administrators say them.

Source: ``TopicConfig.java``.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from enum import Enum

from zombieproof.broker.store.config import LogConfig
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType

DEFAULTS = LogConfig()
NAMES = {each.name.replace("_", "."): each.name for each in fields(LogConfig)}
"""Kafka's name -> the field."""

POLICIES = {policy: policy for policy in ("delete", "compact", "compact,delete", "delete,compact", "")}
STAMPS = {"CreateTime": TimestampType.CREATE_TIME, "LogAppendTime": TimestampType.LOG_APPEND_TIME}
CODECS: dict[str, Codec | None] = {"producer": None, "uncompressed": Codec.NONE} | {
    each.name.lower(): each for each in Codec if each is not Codec.NONE
}
WORDS: Mapping[str, Mapping[str, object]] = {
    "cleanup_policy": POLICIES,
    "message_timestamp_type": STAMPS,
    "compression_type": CODECS,
}
"""The fields whose values are words."""


def named(config: LogConfig) -> dict[str, str]:
    """What of `config` is not Kafka's default, by name."""
    found = {}
    for name, attribute in NAMES.items():
        value = getattr(config, attribute)
        if value != getattr(DEFAULTS, attribute):
            found[name] = word_of(attribute, value)
    return found


def word_of(attribute: str, value: object) -> str:
    """The value of a field as it is written."""
    if isinstance(value, Enum) or value is None:
        return next(word for word, meant in WORDS[attribute].items() if meant is value)
    return str(value)


def config_named(settings: Mapping[str, str], base: LogConfig = DEFAULTS) -> LogConfig:
    """`base` with `settings`, which have Kafka's names.

    Raises:
        ValueError: there is no such setting, or its value cannot be one; the text names what is legal.
    """
    changed = {}
    for name, value in settings.items():
        if name not in NAMES:
            near = "".join(f", did you mean {each}?" for each in get_close_matches(name, NAMES, 1))
            raise ValueError(f"{name!r} is no setting of a topic here{near}; there are {', '.join(sorted(NAMES))}")
        changed[NAMES[name]] = _value_of(name, value)
    return replace(base, **changed)  # type: ignore[arg-type]  # each was read as its field wants it


def _value_of(name: str, value: str) -> object:
    attribute = NAMES[name]
    words = WORDS.get(attribute)
    if words is not None:
        if value not in words:
            legal = ", ".join(word for word in words if word)
            raise ValueError(f"{name} is {value!r}; it can be {legal}")
        return words[value]
    read: Callable[[str], float] = float if isinstance(getattr(DEFAULTS, attribute), float) else int
    try:
        return read(value)
    except ValueError:
        raise ValueError(f"{name} is {value!r}, and a number is needed") from None

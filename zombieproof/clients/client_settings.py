"""What the settings of all clients have in common: names as Kafka's, and errors that say the rule.

A setting is given by Kafka's name in a mapping (``{"transactional.id": "shop"}``) or by the same name with underscores
(``transactional_id="shop"``); values may be texts, as in a properties file. What does not exist, is out of range, or
does not go together is refused, with the rule.
Source: reference §8; ``CommonClientConfigs.java``.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

MOST = 2147483647
"""The largest value of a number, and a time (ms) that never comes."""

ELSEWHERE = {
    "bootstrap.servers": "brokers are reached through the transport that the client is given",
    "key.serializer": "keys and values are bytes",
    "value.serializer": "keys and values are bytes",
    "key.deserializer": "keys and values are bytes",
    "value.deserializer": "keys and values are bytes",
    "transaction.max.timeout.ms": "it is a setting of the brokers: Settings(transaction_max_timeout_ms=...)",
}
"""Settings of Kafka that have their place elsewhere here."""


class SettingsError(ValueError):
    """Settings of which one does not exist, is out of range, or does not go together with another."""


class RuleBroken(ValueError):
    """Two settings that exclude each other: the text is the rule."""


def in_kafkas_words(name: str) -> str:
    """The name of a setting as Kafka writes it."""
    return name.replace("_", ".")


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("legal is a number")  # noqa: TRY004  # pydantic makes an error of values only
    return value


Positive = Annotated[int, BeforeValidator(_number), Field(ge=1, le=MOST)]
NotNegative = Annotated[int, BeforeValidator(_number), Field(ge=0, le=MOST)]


class ClientSettings(BaseModel):
    """What every client has. Times in milliseconds, sizes in bytes.

    `client_id` names a client in the logs and quotas of a broker, which brokers in this process have not; here only a
    producer without transactional id goes by it where it spreads records without keys.

    Args:
        given: settings by Kafka's names.
        named: settings by their names with underscores.

    Raises:
        SettingsError: one does not exist, is out of range, or does not go together with another.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=in_kafkas_words, validate_by_name=True, validate_by_alias=True
    )

    client_id: str = ""
    request_timeout_ms: Positive = 30_000
    retry_backoff_ms: NotNegative = 100
    retry_backoff_max_ms: NotNegative = 1000
    metadata_max_age_ms: NotNegative = 300_000

    def __init__(self, given: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        by_name = {in_kafkas_words(name): value for name, value in named.items()}
        twice = sorted(by_name.keys() & (given or {}).keys())
        if twice:
            raise SettingsError(f"{twice[0]} is given twice: once by Kafka's name is enough")
        try:
            super().__init__(**{**(given or {}), **by_name})
        except ValidationError as error:
            raise SettingsError("; ".join(self._say(each) for each in error.errors())) from None

    @classmethod
    def names(cls) -> list[str]:
        """Every setting that there is, by Kafka's name."""
        return [in_kafkas_words(name) for name in cls.model_fields]

    @classmethod
    def _say(cls, error: ErrorDetails) -> str:
        """One thing that is wrong: subject, fault, what is legal."""
        place = error["loc"]
        if not place:
            return str(error["ctx"]["error"])
        name = in_kafkas_words(str(place[0]))
        if error["type"] == "extra_forbidden":
            if name in ELSEWHERE:
                return f"{name} is no setting here: {ELSEWHERE[name]}"
            near = get_close_matches(name, cls.names(), n=1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(cls.names()))}"
            return f"{name} is no setting of {cls.__name__}: {meant}"
        return f"{name}: {error['input']!r} is refused: {error['msg'].removeprefix('Value error, ')}"

    def is_given(self, name: str) -> bool:
        """Whether a setting was chosen, and not left to its default."""
        return name in self.model_fields_set

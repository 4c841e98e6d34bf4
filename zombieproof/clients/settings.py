"""The settings of clients under Kafka's names, with the defaults of Kafka 4.x.

A setting is given by Kafka's name in a mapping (``{"transactional.id": "shop"}``) or by the same name with underscores
(``transactional_id="shop"``); values may be texts, as in a properties file. What does not exist, is out of range, or
does not go together is refused, with the rule.
Source: reference §8; ``ProducerConfig.java``, ``ConsumerConfig.java``; KIP-91, KIP-98, KIP-679, KIP-939.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from zombieproof.broker.group.assignors import SERVER_ASSIGNORS
from zombieproof.clients.assignors import ASSIGNORS
from zombieproof.formats.compression import Codec
from zombieproof.model.vocabulary import Isolation

MOST = 2147483647
"""The largest value of a number, and a time (ms) that never comes."""

MOST_IN_FLIGHT = 5
"""So many batches of a producer are remembered by the leader of a partition (reference §8)."""

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


def _acks(value: object) -> int:
    legal = {"all": -1, "-1": -1, "0": 0, "1": 1}
    if isinstance(value, bool) or str(value) not in legal:
        raise ValueError(f"legal is {', '.join(legal)}")
    return legal[str(value)]


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("legal is a number")  # noqa: TRY004  # pydantic makes an error of values only
    return value


def _codec(value: object) -> object:
    names = {codec.name.lower(): codec for codec in Codec}
    if isinstance(value, Codec):
        return value
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"legal is {', '.join(names)}")
    return names[value]


Acks = Annotated[int, BeforeValidator(_acks)]
CompressionType = Annotated[Codec, BeforeValidator(_codec)]
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


class ProducerSettings(ClientSettings):
    """The settings of a producer.

    `enable_idempotence` is switched off by `acks` other than all, or no `retries`, unless it was asked for: as in
    Kafka. `delivery_timeout_ms` that was left alone is at least `linger_ms` and `request_timeout_ms` together.
    `acks` -1: all replicas in sync.
    """

    transactional_id: Annotated[str, Field(min_length=1)] | None = None
    enable_idempotence: bool = True
    acks: Acks = -1
    retries: NotNegative = MOST
    max_in_flight_requests_per_connection: Positive = MOST_IN_FLIGHT
    transaction_timeout_ms: Positive = 60_000
    transaction_two_phase_commit_enable: bool = False
    delivery_timeout_ms: NotNegative = 120_000
    linger_ms: NotNegative = 5
    batch_size: NotNegative = 16_384
    compression_type: CompressionType = Codec.NONE
    buffer_memory: NotNegative = 33_554_432
    max_block_ms: NotNegative = 60_000
    max_request_size: NotNegative = 1_048_576
    partitioner_ignore_keys: bool = False

    def __init__(self, given: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        # Or checkers of types would take the names of fields for all that may be given.
        super().__init__(given, **named)

    @model_validator(mode="before")
    @classmethod
    def _switch_off_as_kafka_does(cls, given: dict[str, Any]) -> dict[str, Any]:
        settings = {str(name).replace(".", "_"): value for name, value in given.items()}
        excluded = str(settings.get("acks", "all")) in {"0", "1"} or str(settings.get("retries", MOST)) == "0"
        return {**given, "enable.idempotence": False} if excluded and "enable_idempotence" not in settings else given

    @model_validator(mode="after")
    def _go_together(self) -> "ProducerSettings":
        if self.enable_idempotence:
            self._hold_for_idempotence()
        elif self.transactional_id is not None:
            raise RuleBroken(
                f"transactional.id {self.transactional_id!r} needs enable.idempotence=true (and with it acks=all and "
                "retries above 0): a transaction of which records may be doubled is none"
            )
        if self.transaction_two_phase_commit_enable and self.is_given("transaction_timeout_ms"):
            raise RuleBroken(
                "transaction.timeout.ms cannot be set with transaction.two.phase.commit.enable=true: a prepared "
                "transaction never times out"
            )
        least = min(self.linger_ms + self.request_timeout_ms, MOST)
        if self.is_given("delivery_timeout_ms") and self.delivery_timeout_ms < least:
            raise RuleBroken(
                f"delivery.timeout.ms {self.delivery_timeout_ms} must not be less than linger.ms {self.linger_ms} + "
                f"request.timeout.ms {self.request_timeout_ms}: a record waits for its batch and for its answer"
            )
        return self

    def _hold_for_idempotence(self) -> None:
        rule = "enable.idempotence=true needs"
        if self.acks != -1:
            raise RuleBroken(f"{rule} acks=all, not {self.acks}: what one replica knows is lost with it")
        if self.retries == 0:
            raise RuleBroken(f"{rule} retries above 0: without a retry nothing can be made sure of")
        if self.max_in_flight_requests_per_connection > MOST_IN_FLIGHT:
            raise RuleBroken(
                f"{rule} max.in.flight.requests.per.connection of 1 to {MOST_IN_FLIGHT}, not "
                f"{self.max_in_flight_requests_per_connection}: a leader does not know older batches again"
            )

    @property
    def delivery_ms(self) -> int:
        """How long a record may take from `send` to its outcome."""
        return max(self.delivery_timeout_ms, min(self.linger_ms + self.request_timeout_ms, MOST))


# ---------------------------------------------------------------- consumers


def _words(value: object) -> object:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


def _one_of(*legal: str | None) -> BeforeValidator:
    def check(value: object) -> object:
        if value not in legal:
            raise ValueError(f"legal is {', '.join(each for each in legal if each is not None)}")
        return value

    return BeforeValidator(check)


def _isolation(value: object) -> Isolation:
    names = {isolation.name.lower(): isolation for isolation in Isolation}
    if isinstance(value, Isolation):
        return value
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"legal is {', '.join(names)}")
    return names[value]


def _assignors(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or len(set(names)) < len(names) or not set(names) <= ASSIGNORS.keys():
        raise ValueError(f"legal is one or more of {', '.join(ASSIGNORS)}, each once")
    return names


IsolationLevel = Annotated[Isolation, BeforeValidator(_isolation)]
Assignors = Annotated[tuple[str, ...], BeforeValidator(_words), AfterValidator(_assignors)]
Name = Annotated[str, Field(min_length=1)]


class ConsumerSettings(ClientSettings):
    """The settings of a consumer.

    `isolation_level` ``read_committed_buffering`` is the one of the first proposals, which Kafka has not: everything is
    fetched, and the client holds each open transaction back until its marker. It keeps `pending_transactions_memory`
    bytes of them in memory, and the rest in files in `pending_transactions_dir` (None: where temporary files are).
    Without `group_id` offsets are nobody's: there is nothing to subscribe with, and nothing is committed.
    """

    group_id: Name | None = None
    group_instance_id: Name | None = None
    group_protocol: Annotated[str, _one_of("classic", "consumer")] = "classic"
    group_remote_assignor: Annotated[str | None, _one_of(None, *SERVER_ASSIGNORS)] = None
    partition_assignment_strategy: Assignors = ("range", "cooperative-sticky")
    session_timeout_ms: Positive = 45_000
    heartbeat_interval_ms: Positive = 3_000
    max_poll_interval_ms: Positive = 300_000
    max_poll_records: Positive = 500
    enable_auto_commit: bool = True
    auto_commit_interval_ms: NotNegative = 5_000
    auto_offset_reset: Annotated[str, _one_of("earliest", "latest", "none")] = "latest"
    isolation_level: IsolationLevel = Isolation.READ_UNCOMMITTED
    fetch_min_bytes: NotNegative = 1
    fetch_max_wait_ms: NotNegative = 500
    fetch_max_bytes: NotNegative = 52_428_800
    max_partition_fetch_bytes: NotNegative = 1_048_576
    default_api_timeout_ms: NotNegative = 60_000
    pending_transactions_memory: NotNegative = 33_554_432
    pending_transactions_dir: Path | None = None

    def __init__(self, given: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        super().__init__(given, **named)

    @model_validator(mode="after")
    def _go_together(self) -> "ConsumerSettings":
        if self.group_protocol == "consumer":
            self._hold_for_consumer_protocol()
        elif self.group_remote_assignor is not None:
            raise RuleBroken("group.remote.assignor needs group.protocol=consumer: members of a classic group assign")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise RuleBroken(
                f"heartbeat.interval.ms {self.heartbeat_interval_ms} must be less than session.timeout.ms "
                f"{self.session_timeout_ms}: a member that is silent for so long is removed"
            )
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            raise RuleBroken(
                f"fetch.max.wait.ms {self.fetch_max_wait_ms} must be less than request.timeout.ms "
                f"{self.request_timeout_ms}: the broker may wait so long before it answers"
            )
        if self.group_id is None:
            self._hold_without_group()
        return self

    def _hold_without_group(self) -> None:
        for name in ("group_instance_id", "enable_auto_commit"):
            if self.is_given(name) and getattr(self, name):
                raise RuleBroken(f"{in_kafkas_words(name)} needs a group.id: offsets and members are those of a group")

    def _hold_for_consumer_protocol(self) -> None:
        for name in ("session_timeout_ms", "heartbeat_interval_ms", "partition_assignment_strategy"):
            if self.is_given(name):
                raise RuleBroken(
                    f"{in_kafkas_words(name)} cannot be set with group.protocol=consumer: the broker decides it"
                )

    @property
    def commits_by_itself(self) -> bool:
        """Whether offsets are committed without being asked to: in a group, unless that was switched off."""
        return self.enable_auto_commit and self.group_id is not None

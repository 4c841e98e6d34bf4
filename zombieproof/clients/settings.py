"""The settings of a producer under Kafka's names, with the defaults of Kafka 4.x; those of all clients by one name.

How settings are given, and what is refused: `client_settings`; those of a consumer: `consumer_settings`.
Source: reference §8; ``ProducerConfig.java``; KIP-91, KIP-98, KIP-679, KIP-939.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from zombieproof.clients.client_settings import (
    ELSEWHERE,
    MOST,
    ClientSettings,
    NotNegative,
    Positive,
    RuleBroken,
    SettingsError,
    in_kafkas_words,
)
from zombieproof.clients.consumer_settings import ConsumerSettings
from zombieproof.formats.compression import Codec

__all__ = [
    "ELSEWHERE",
    "MOST",
    "MOST_IN_FLIGHT",
    "ClientSettings",
    "ConsumerSettings",
    "ProducerSettings",
    "RuleBroken",
    "SettingsError",
    "in_kafkas_words",
]

MOST_IN_FLIGHT = 5
"""So many batches of a producer are remembered by the leader of a partition (reference §8)."""


def _acks(value: object) -> int:
    legal = {"all": -1, "-1": -1, "0": 0, "1": 1}
    if isinstance(value, bool) or str(value) not in legal:
        raise ValueError(f"legal is {', '.join(legal)}")
    return legal[str(value)]


def _codec(value: object) -> object:
    names = {codec.name.lower(): codec for codec in Codec}
    if isinstance(value, Codec):
        return value
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"legal is {', '.join(names)}")
    return names[value]


Acks = Annotated[int, BeforeValidator(_acks)]
CompressionType = Annotated[Codec, BeforeValidator(_codec)]


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

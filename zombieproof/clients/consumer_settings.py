"""The settings of a consumer under Kafka's names, with the defaults of Kafka 4.x.

Source: reference §8; ``ConsumerConfig.java``; KIP-345, KIP-429, KIP-848.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from zombieproof.broker.group.assignors import SERVER_ASSIGNORS
from zombieproof.clients.assignors import ASSIGNORS
from zombieproof.clients.client_settings import ClientSettings, NotNegative, Positive, RuleBroken, in_kafkas_words
from zombieproof.model.vocabulary import Isolation


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

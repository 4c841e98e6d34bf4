"""Requests of administrators about topics, settings and the cluster, and their answers. Source: reference §7.5."""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.messages.schema import Wire
from zombieproof.messages.transactions import ErrorCode
from zombieproof.model.vocabulary import NONE

TopicName = Annotated[str, Wire("Name")]
ErrorMessage = Annotated[str | None, Wire("ErrorMessage")]
TimeoutMs = Annotated[int, Wire("TimeoutMs")]


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """The brokers of one partition, preferred leader first."""

    partition: Annotated[int, Wire("PartitionIndex")]
    brokers: Annotated[tuple[int, ...], Wire("BrokerIds")]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by Kafka's name; the value None is refused."""

    name: Annotated[str, Wire("Name")]
    value: Annotated[str | None, Wire("Value")]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """One topic; so many partitions and replicas (-1: as many as brokers give by default), or these."""

    name: TopicName
    partitions: Annotated[int, Wire("NumPartitions")] = NONE
    replication_factor: Annotated[int, Wire("ReplicationFactor")] = NONE
    assignments: Annotated[tuple[ReplicaAssignment, ...], Wire("Assignments")] = ()
    settings: Annotated[tuple[Setting, ...], Wire("Configs")] = ()


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """API key 19, versions 2 to 7. `validate_only`: nothing is made. Any broker takes it."""

    version: int
    topics: Annotated[tuple[NewTopic, ...], Wire("Topics")]
    timeout_ms: TimeoutMs = 30_000
    validate_only: Annotated[bool, Wire("ValidateOnly")] = False


@dataclass(frozen=True, slots=True)
class SettingOfTopic:
    """A setting that a new topic has; `source` is numbered as in DescribeConfigs."""

    name: Annotated[str, Wire("Name")]
    value: Annotated[str | None, Wire("Value")]
    source: Annotated[int, Wire("ConfigSource")]
    read_only: Annotated[bool, Wire("ReadOnly")] = False
    is_sensitive: Annotated[bool, Wire("IsSensitive")] = False


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """What became of one topic. From version 5 on it says what the topic is like; `settings` are a list, never null."""

    name: TopicName
    error: ErrorCode
    message: ErrorMessage = None
    partitions: Annotated[int, Wire("NumPartitions", since=5)] = NONE
    replication_factor: Annotated[int, Wire("ReplicationFactor", since=5)] = NONE
    settings: Annotated[tuple[SettingOfTopic, ...], Wire("Configs", since=5)] = ()


@dataclass(frozen=True, slots=True)
class TopicsCreated:
    """One row for each topic."""

    topics: Annotated[tuple[TopicCreated, ...], Wire("Topics")]


AdminRequest = CreateTopics
AdminAnswer = TopicsCreated

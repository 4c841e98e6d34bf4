"""Requests of administrators about topics, settings and the cluster, and their answers. Source: reference §7.5."""

from dataclasses import dataclass
from typing import Annotated

from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.schema import Rows, Wire
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
    """What became of one topic. From version 5 on it says what the topic is like; `settings` are a list, never null.

    `settings_error` says why whoever has made it is not told.
    """

    name: TopicName
    error: ErrorCode
    message: ErrorMessage = None
    partitions: Annotated[int, Wire("NumPartitions", since=5)] = NONE
    replication_factor: Annotated[int, Wire("ReplicationFactor", since=5)] = NONE
    settings: Annotated[tuple[SettingOfTopic, ...], Wire("Configs", since=5)] = ()
    settings_error: Annotated[int, Wire("TopicConfigErrorCode", since=5)] = 0


@dataclass(frozen=True, slots=True)
class TopicsCreated:
    """One row for each topic."""

    topics: Annotated[tuple[TopicCreated, ...], Wire("Topics")]


@dataclass(frozen=True, slots=True)
class AddedReplicas:
    """The brokers of one more partition, preferred leader first."""

    brokers: Annotated[tuple[int, ...], Wire("BrokerIds")]


@dataclass(frozen=True, slots=True)
class TopicToWiden:
    """A topic that is to have `count` partitions in all; `assignments` None: wherever brokers put those that come."""

    name: TopicName
    count: Annotated[int, Wire("Count")]
    assignments: Annotated[tuple[AddedReplicas, ...] | None, Wire("Assignments")] = None


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """API key 37, versions 0 to 3. `validate_only`: nothing is added. Any broker takes it."""

    version: int
    topics: Annotated[tuple[TopicToWiden, ...], Wire("Topics")]
    timeout_ms: TimeoutMs = 30_000
    validate_only: Annotated[bool, Wire("ValidateOnly")] = False


@dataclass(frozen=True, slots=True)
class TopicWidened:
    """What became of one topic."""

    name: TopicName
    error: ErrorCode
    message: ErrorMessage = None


@dataclass(frozen=True, slots=True)
class PartitionsCreated:
    """One row for each topic."""

    topics: Annotated[tuple[TopicWidened, ...], Wire("Results")]


# ---------------------------------------------------------------- settings


ResourceType = Annotated[int, Wire("ResourceType")]
ResourceName = Annotated[str, Wire("ResourceName")]


@dataclass(frozen=True, slots=True)
class ResourceToDescribe:
    """A topic (type 2) or a broker (4); `keys` None: all its settings."""

    kind: ResourceType
    name: ResourceName
    keys: Annotated[tuple[str, ...] | None, Wire("ConfigurationKeys")] = None


@dataclass(frozen=True, slots=True)
class DescribeConfigs:
    """API key 32, versions 1 to 4. A broker answers for itself, and of topics; nothing here has documentation."""

    version: int
    resources: Annotated[tuple[ResourceToDescribe, ...], Wire("Resources")]
    include_synonyms: Annotated[bool, Wire("IncludeSynonyms", since=1)] = False
    include_documentation: Annotated[bool, Wire("IncludeDocumentation", since=3)] = False


@dataclass(frozen=True, slots=True)
class SettingSynonym:
    """What stands for a setting where nothing nearer is said."""

    name: Annotated[str, Wire("Name")]
    value: Annotated[str | None, Wire("Value")]
    source: Annotated[int, Wire("Source")]


@dataclass(frozen=True, slots=True)
class SettingDescribed:
    """One setting; `source`: where its value comes from; `kind`: its type."""

    name: Annotated[str, Wire("Name")]
    value: Annotated[str | None, Wire("Value")]
    read_only: Annotated[bool, Wire("ReadOnly")]
    source: Annotated[int, Wire("ConfigSource", since=1)]
    is_sensitive: Annotated[bool, Wire("IsSensitive")] = False
    synonyms: Annotated[tuple[SettingSynonym, ...], Wire("Synonyms", since=1)] = ()
    kind: Annotated[int, Wire("ConfigType", since=3)] = 0


@dataclass(frozen=True, slots=True)
class ResourceDescribed:
    """One resource with those of its settings that were asked for."""

    error: ErrorCode
    message: ErrorMessage
    kind: ResourceType
    name: ResourceName
    settings: Annotated[tuple[SettingDescribed, ...], Wire("Configs")] = ()


@dataclass(frozen=True, slots=True)
class ConfigsDescribed:
    """One row for each resource."""

    resources: Annotated[tuple[ResourceDescribed, ...], Wire("Results")]


@dataclass(frozen=True, slots=True)
class ResourceToAlter:
    """A resource, and everything that is said of its settings from now on."""

    kind: ResourceType
    name: ResourceName
    settings: Annotated[tuple[Setting, ...], Wire("Configs")] = ()


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """API key 33, versions 0 to 2: what is not said is as if it had never been. `validate_only`: nothing changes."""

    version: int
    resources: Annotated[tuple[ResourceToAlter, ...], Wire("Resources")]
    validate_only: Annotated[bool, Wire("ValidateOnly")] = False


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One change: set (0), delete (1), append to a list (2), subtract from it (3)."""

    name: Annotated[str, Wire("Name")]
    operation: Annotated[int, Wire("ConfigOperation")]
    value: Annotated[str | None, Wire("Value")] = None


@dataclass(frozen=True, slots=True)
class ResourceToChange:
    """A resource, and what changes of its settings."""

    kind: ResourceType
    name: ResourceName
    changes: Annotated[tuple[SettingChange, ...], Wire("Configs")] = ()


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigs:
    """API key 44, versions 0 and 1. `validate_only`: nothing changes."""

    version: int
    resources: Annotated[tuple[ResourceToChange, ...], Wire("Resources")]
    validate_only: Annotated[bool, Wire("ValidateOnly")] = False


@dataclass(frozen=True, slots=True)
class ResourceAltered:
    """What became of one resource."""

    error: ErrorCode
    message: ErrorMessage
    kind: ResourceType
    name: ResourceName


@dataclass(frozen=True, slots=True)
class ConfigsAltered:
    """One row for each resource."""

    resources: Annotated[tuple[ResourceAltered, ...], Wire("Responses")]


# ---------------------------------------------------------------- partitions


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """API key 43, versions 0 to 2: the preferred replica is to lead (`kind` 0), or anybody at all (1).

    `partitions` None: all there are.
    """

    version: int
    partitions: Annotated[
        tuple[TopicPartition, ...] | None, Rows("TopicPartitions", topic="Topic", partitions="Partitions", index="")
    ]
    kind: Annotated[int, Wire("ElectionType", since=1)] = 0
    timeout_ms: TimeoutMs = 30_000


@dataclass(frozen=True, slots=True)
class PartitionElected:
    """What became of one partition."""

    error: ErrorCode
    message: ErrorMessage = None


@dataclass(frozen=True, slots=True)
class LeadersElected:
    """One row for each partition, and an error of the request."""

    partitions: Annotated[
        dict[TopicPartition, PartitionElected],
        Rows("ReplicaElectionResults", topic="Topic", partitions="PartitionResult", index="PartitionId"),
    ]
    error: Annotated[int, Wire("ErrorCode", since=1)] = 0


@dataclass(frozen=True, slots=True)
class DescribeLogDirs:
    """API key 35, versions 1 to 5; `partitions` None: all that the broker has."""

    version: int
    partitions: Annotated[
        tuple[TopicPartition, ...] | None, Rows("Topics", topic="Topic", partitions="Partitions", index="")
    ] = None


@dataclass(frozen=True, slots=True)
class LogDirsDescribed:
    """The bytes of each log in the one directory of a broker; `directory` "" and no sizes: nothing is told."""

    directory: Annotated[str, Wire("Results.LogDir")]
    sizes: Annotated[dict[TopicPartition, int], Rows("Results.Topics", values=("PartitionSize",))]
    error: Annotated[int, Wire("ErrorCode", since=3)] = 0


AdminRequest = (
    CreateTopics
    | CreatePartitions
    | DescribeConfigs
    | AlterConfigs
    | IncrementalAlterConfigs
    | ElectLeaders
    | DescribeLogDirs
)
AdminAnswer = TopicsCreated | PartitionsCreated | ConfigsDescribed | ConfigsAltered | LeadersElected | LogDirsDescribed

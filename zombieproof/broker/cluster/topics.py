"""The topics of a cluster, as requests make and widen them at any broker.

What is to be is judged by a step; here are the look-ups, and the words of an answer, which are Kafka's.
Source: ``ReplicationControlManager.java``, ``Topic.java``, ``DefaultAutoTopicCreationManager.scala``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from zombieproof.broker.authorization.may import May, everything, may_create
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.cluster.topic_settings import LEAST_IN_SYNC, Source, Synonym, told_of
from zombieproof.broker.store.topic_configs import InvalidSetting, check
from zombieproof.formats.topics import CLUSTER_METADATA, LONGEST_NAME, TopicPartition, is_legal_topic
from zombieproof.messages.admin import (
    CreatePartitions,
    CreateTopics,
    ElectLeaders,
    LeadersElected,
    NewTopic,
    PartitionElected,
    PartitionsCreated,
    Setting,
    SettingOfTopic,
    TopicCreated,
    TopicsCreated,
    TopicToWiden,
    TopicWidened,
)
from zombieproof.model.access import AclOperation, ResourceType
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines import topics as steps
from zombieproof.statemachines.topics import Elected, LedBy, Named, Place, Refusal, Refused, Said

WORDS = {
    Refusal.TOO_MANY: "Excessively large number of partitions per request.",
    Refusal.TOO_LARGE: "Unable to perform excessively large batch operation.",
    Refusal.NAMED_TWICE: "Duplicate topic name.",
    Refusal.MAY_NOT: "Authorization failed.",
    Refusal.PROHIBITED: "Creation of internal topic {name} is prohibited.",
    Refusal.ALREADY_THERE: "Topic '{name}' already exists.",
    Refusal.COLLIDES: "Topic '{name}' collides with existing topic: {other}",
    Refusal.NULL_SETTINGS: "Null value not supported for topic configs: {other}",
    Refusal.BAD_SETTINGS: "{other}",
    Refusal.ILLEGAL_NAME: "Topic name is invalid: {other}",
    Refusal.FACTOR_BESIDE_ASSIGNMENT: (
        "A manual partition assignment was specified, but replication factor was not set to -1."
    ),
    Refusal.COUNT_BESIDE_ASSIGNMENT: (
        "A manual partition assignment was specified, but numPartitions was not set to -1."
    ),
    Refusal.ASSIGNED_TWICE: "Found multiple manual partition assignments for partition {about}",
    Refusal.NO_REPLICAS: "The manual partition assignment includes an empty replica list.",
    Refusal.UNKNOWN_BROKER: (
        "The manual partition assignment includes broker {about}, but no such broker is registered."
    ),
    Refusal.BROKER_TWICE: "The manual partition assignment includes the broker {about} more than once.",
    Refusal.UNEVEN: (
        "The manual partition assignment includes a partition with {about} replica(s), but this is not consistent with "
        "previous partitions, which have {other} replica(s)."
    ),
    Refusal.NONE_LIVES: (
        "All brokers specified in the manual partition assignment for partition {about} are fenced or in controlled "
        "shutdown."
    ),
    Refusal.SAME_COUNT: "Topic already has {about} partition(s).",
    Refusal.NO_INCREASE: "The topic {name} currently has {other} partition(s); {about} would not be an increase.",
    Refusal.MISCOUNTED: (
        "Attempted to add {other} additional partition(s), but only {about} assignment(s) were specified."
    ),
    Refusal.GAP: "partitions should be a consecutive 0-based integer sequence",
    Refusal.BAD_FACTOR: "Replication factor must be larger than 0, or -1 to use the default value.",
    Refusal.BAD_COUNT: "Number of partitions was set to an invalid non-positive value.",
    Refusal.TOO_FEW_BROKERS: (
        "Unable to replicate the partition {about} time(s): The target replication factor of {about} cannot be reached "
        "because only {other} broker(s) are registered or some brokers have all their log directories cordoned."
    ),
}
"""Why -> Kafka's words; `other` is what is known beside it."""


ERRORS_OF_ELECTIONS = {
    Elected.UNKNOWN_KIND: int(Error.INVALID_REQUEST),
    Elected.NO_TOPIC: int(Error.UNKNOWN_TOPIC_OR_PARTITION),
    Elected.NO_PARTITION: int(Error.UNKNOWN_TOPIC_OR_PARTITION),
    Elected.NOT_NEEDED: int(Error.ELECTION_NOT_NEEDED),
    Elected.PREFERRED_IS_OUT: int(Error.PREFERRED_LEADER_NOT_AVAILABLE),
    Elected.NOBODY_MAY: int(Error.ELIGIBLE_LEADERS_NOT_AVAILABLE),
}
WORDS_OF_ELECTIONS = {
    Elected.UNKNOWN_KIND: "Unknown election type {kind}",
    Elected.NO_TOPIC: "No such topic as {name}",
    Elected.NO_PARTITION: "No such partition as {name}-{number}",
    Elected.NOT_NEEDED: "Leader election not needed for topic partition.",
    Elected.PREFERRED_IS_OUT: "The preferred leader was not available.",
    Elected.NOBODY_MAY: "Eligible topic partition leaders are not available.",
}


def _told_of_election(elected: Elected, partition: TopicPartition, kind: int) -> PartitionElected:
    words = WORDS_OF_ELECTIONS.get(elected)
    message = None if words is None else words.format(kind=kind, name=partition[0], number=partition[1])
    return PartitionElected(ERRORS_OF_ELECTIONS.get(elected, int(Error.NONE)), message)


@dataclass(frozen=True, slots=True)
class PlannedTopic:
    """A topic that a request wants, where its replicas would lie, and why it is not made; `other` is for the words."""

    name: str
    stated: dict[str, str]
    replicas: steps.Replicas
    refused: Refused
    other: str


def _refusal_of_records(planned: list[PlannedTopic]) -> Refused:
    made = [each for each in planned if each.refused.error == Error.NONE]
    return steps.at_once(sum(len(each.replicas) for each in made), sum(len(each.stated) for each in made), len(made))


@dataclass(slots=True)
class Topics:
    """What requests want of topics, at one broker."""

    metadata: Metadata
    settings: Settings

    # ---------------------------------------------------------------- new ones

    def create(self, request: CreateTopics, may: May = everything) -> TopicsCreated:
        """Answer CreateTopics; those that are named twice come last. `may`: what whoever asks may do."""
        times = Counter(topic.name for topic in request.topics)
        once = {topic.name: topic for topic in sorted(request.topics, key=lambda each: times[each.name] > 1)}
        # Names are judged before anything is made: two that collide in one request do not.
        own = {name: may_create(may, name) for name in once}
        size = sum(steps.wanted(_said(topic), self._default) for topic in request.topics if own[topic.name])
        of_names = {name: self._refusal_of_name(name, times[name] > 1, size, own[name]) for name in once}
        planned = [self._plan(topic, *of_names[name]) for name, topic in once.items()]
        refused = _refusal_of_records(planned)
        if refused.error != Error.NONE:
            planned = [replace(each, refused=refused) for each in planned]
        rows = [self._create(each, only_looks=request.validate_only) for each in planned]
        return TopicsCreated(tuple([_shown(row, may) for row in rows]))

    # ---------------------------------------------------------------- more of one

    def widen(self, request: CreatePartitions, may: May = everything) -> PartitionsCreated:
        """Answer CreatePartitions; those that are named twice come last. `may`: what whoever asks may do."""
        times = Counter(topic.name for topic in request.topics)
        once = {topic.name: topic for topic in sorted(request.topics, key=lambda each: times[each.name] > 1)}
        return PartitionsCreated(
            tuple([self._widen(topic, times[name] > 1, request.validate_only, may) for name, topic in once.items()])
        )

    def _widen(self, topic: TopicToWiden, is_named_twice: bool, only_looks: bool, may: May) -> TopicWidened:
        name = topic.name
        there = [self.metadata.partitions[each].replicas for each in self.metadata.partitions_of([name])]
        assigned = None if topic.assignments is None else [each.brokers for each in topic.assignments]
        may_alter = may(AclOperation.ALTER, ResourceType.TOPIC, name)
        refused, more = steps.adds(is_named_twice, there, topic.count, assigned, self.place, may_alter)
        if refused.error != Error.NONE:
            beside = {
                Refusal.MISCOUNTED: topic.count - len(there),
                Refusal.NO_INCREASE: len(there),
                Refusal.TOO_FEW_BROKERS: len(self.metadata.nodes),
            }
            other = beside.get(refused.why, len(there[0]) if there else 0)
            is_silent = refused.why in (Refusal.UNKNOWN_TOPIC, Refusal.MAY_NOT)
            words = None if is_silent else words_of(refused, name, str(other))
            return TopicWidened(name, refused.error, words)
        if not only_looks:
            self.metadata.widen(name, more)
        return TopicWidened(name, int(Error.NONE))

    # ---------------------------------------------------------------- who leads

    def elect(self, request: ElectLeaders) -> LeadersElected:
        """Answer ElectLeaders; where all partitions are meant, those that need no election are not told of."""
        if request.partitions is None:
            return self._elect_all(request.kind)
        rows = {each: self._elect(each, request.kind) for each in request.partitions}
        is_unknown = any(row is Elected.UNKNOWN_KIND for row in rows.values())
        told = {each: _told_of_election(row, each, request.kind) for each, row in rows.items()}
        return LeadersElected(told, int(Error.INVALID_REQUEST if is_unknown else Error.NONE))

    def _elect_all(self, kind: int) -> LeadersElected:
        if steps.elects(kind, topic_exists=False, partition=None, live=()) is Elected.UNKNOWN_KIND:
            return LeadersElected({}, int(Error.INVALID_REQUEST))
        rows = {each: self._elect(each, kind) for each in self.metadata.partitions}
        told = {each: _told_of_election(row, each, kind) for each, row in rows.items() if row is not Elected.NOT_NEEDED}
        return LeadersElected(told)

    def _elect(self, partition: TopicPartition, kind: int) -> Elected:
        known = self.metadata.partitions.get(partition)
        found = None if known is None else LedBy(known.replicas, known.in_sync, known.leader)
        elected = steps.elects(kind, self.metadata.count(partition[0]) > 0, found, sorted(self.metadata.up))
        if elected is Elected.ELECTED and known is not None:
            self.metadata.changes.elected.append((partition, known.replicas[0]))
        return elected

    # ---------------------------------------------------------------- what both ask

    def create_by_default(self, name: str) -> None:
        """Somebody asks for a topic that is not there: it is made, if it can be."""
        size = steps.wanted(_said(NewTopic(name)), self._default)
        planned = self._plan(NewTopic(name), *self._refusal_of_name(name, size=size))
        if _refusal_of_records([planned]).error == Error.NONE:
            self._create(planned, only_looks=False)

    def _plan(self, topic: NewTopic, refused: Refused, other: str) -> "PlannedTopic":
        stated = {each.name: each.value for each in topic.settings if each.value is not None}
        if refused.error == Error.NONE:
            refused, other = _refusal_of_settings(topic.settings, stated)
        replicas: steps.Replicas = []
        if refused.error == Error.NONE:
            refused, replicas = steps.creates(_said(topic), self._default, self.place)
            other = self._beside(refused, topic)
        return PlannedTopic(topic.name, stated, replicas, refused, other)

    def _create(self, planned: "PlannedTopic", *, only_looks: bool) -> TopicCreated:
        name, refused, replicas, stated = planned.name, planned.refused, planned.replicas, planned.stated
        if refused.error != Error.NONE:
            return TopicCreated(name, refused.error, words_of(refused, name, planned.other))
        if not only_looks:
            self.metadata.make(name, replicas, stated)
        return TopicCreated(name, int(Error.NONE), None, len(replicas), len(replicas[0]), self._settings_of_new(stated))

    @property
    def place(self) -> Place:
        """The brokers."""
        return Place(self.metadata.nodes, sorted(self.metadata.up))

    @property
    def _default(self) -> Said:
        return Said(self.settings.num_partitions, self.settings.default_replication_factor)

    def _refusal_of_name(
        self, name: str, is_named_twice: bool = False, size: int = 1, may_create: bool = True
    ) -> tuple[Refused, str]:
        exists = self.metadata.count(name) > 0
        colliding = "" if exists else next(self._colliding(name), "")
        named = Named(
            is_named_twice, name == CLUSTER_METADATA, exists, is_legal_topic(name), colliding != "", may_create
        )
        return steps.names(named, size), colliding or fault_of(name)

    def _colliding(self, name: str) -> Iterator[str]:
        if "." not in name and "_" not in name:
            return
        unified = name.replace(".", "_")
        yield from (other for other in self.metadata.topic_ids if other.replace(".", "_") == unified)

    def _beside(self, refused: Refused, topic: NewTopic) -> str:
        if refused.why is Refusal.TOO_FEW_BROKERS:
            return str(len(self.metadata.nodes))
        before = next((len(each.brokers) for each in topic.assignments if len(each.brokers) != refused.about), 0)
        return str(before)

    def _settings_of_new(self, stated: dict[str, str]) -> tuple[SettingOfTopic, ...]:
        least = self.settings.min_insync_replicas
        source = Source.DEFAULT_CONFIG if least == Settings().min_insync_replicas else Source.STATIC_BROKER_CONFIG
        of_brokers = (Synonym(LEAST_IN_SYNC, str(least), source),)
        told = told_of(stated, self.metadata.default_config, of_brokers)
        return tuple([SettingOfTopic(each.name, each.value, each.source) for each in told])


def _shown(row: TopicCreated, may: May) -> TopicCreated:
    """What whoever has made a topic may know of it."""
    if row.error != Error.NONE or may(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, row.name):
        return row
    return TopicCreated(row.name, row.error, settings_error=int(Error.TOPIC_AUTHORIZATION_FAILED))


def _said(topic: NewTopic) -> Said:
    assignments = tuple([(each.partition, each.brokers) for each in topic.assignments])
    return Said(topic.partitions, topic.replication_factor, assignments)


def _refusal_of_settings(given: tuple[Setting, ...], stated: dict[str, str]) -> tuple[Refused, str]:
    silent = [each.name for each in given if each.value is None]
    if silent:
        return Refused(Refusal.NULL_SETTINGS), ",".join(silent)
    try:
        check(stated)
    except InvalidSetting as invalid:
        return Refused(Refusal.BAD_SETTINGS), str(invalid)
    return Refused(Refusal.NOTHING), ""


def words_of(refused: Refused, name: str, other: str = "") -> str:
    """Kafka's words for a refusal; none where nothing is refused."""
    return WORDS.get(refused.why, "").format(name=name, about=refused.about, other=other)


def error_of_missing(name: str) -> int:
    """What is said of a topic that is not there."""
    return steps.asked_for(exists=False, by_id=False, is_legal=is_legal_topic(name), may_be_made=False).error


def fault_of(name: str) -> str:
    """What Kafka says of a name that is none."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > LONGEST_NAME:
        return f"the length of '{name}' is longer than the max allowed length {LONGEST_NAME}"
    return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"

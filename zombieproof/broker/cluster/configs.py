"""Settings of topics and brokers, as DescribeConfigs tells them and requests change them, at one broker.

What may be is judged by a step; here are the look-ups, the values, and the words of an answer, which are Kafka's. What
a request changes of brokers changes in all of them, whichever was named: they share their settings. It lasts as long
as the cluster runs. Source: ``ConfigAdminManager.scala``, ``ConfigHelper.scala``, ``DynamicBrokerConfig.scala``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from zombieproof.broker.authorization.may import May, everything, may_on_cluster
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import RECONFIGURABLE, Settings
from zombieproof.broker.cluster.topic_settings import Source, Synonym, told_of
from zombieproof.broker.cluster.topics import fault_of
from zombieproof.broker.store.topic_configs import (
    SETTINGS,
    InvalidSetting,
    Kind,
    as_told,
    check,
    check_number,
    default_of,
    parts,
)
from zombieproof.formats.topics import is_legal_topic
from zombieproof.messages.admin import (
    AlterConfigs,
    ConfigsAltered,
    ConfigsDescribed,
    DescribeConfigs,
    IncrementalAlterConfigs,
    ResourceAltered,
    ResourceDescribed,
    ResourceToChange,
    ResourceToDescribe,
    SettingChange,
    SettingDescribed,
    SettingSynonym,
)
from zombieproof.model.access import AclOperation, ResourceType
from zombieproof.statemachines import configs as steps
from zombieproof.statemachines.configs import Fault, Operation, Resource

INTERNAL = frozenset(
    {
        "producer_id_expiration_check_interval_ms",
        "group_consumer_regex_refresh_interval_ms",
        "unstable_api_versions_enable",
        "transaction_state_log_min_isr",
    }
)
"""Settings that Kafka tells nobody of, and one that says here where it is not set."""

OF_BROKERS = {each.name.replace("_", "."): each.name for each in fields(Settings) if each.name not in INTERNAL}
"""Kafka's name -> the field."""

LONG = frozenset({"offsets.retention.check.interval.ms"})
LEAST_OF_BROKERS = 1
"""Whatever of brokers may change while they run is at least this."""

WORDS_OF_RIGHTS = {
    Fault.MAY_NOT_TOPIC: "Topic authorization failed.",
    Fault.MAY_NOT_CLUSTER: "Cluster authorization failed.",
}
WORDS = {
    Fault.NAMED_TWICE: "Each resource must appear at most once.",
    Fault.SETTING_TWICE: "Error due to duplicate config keys",
    Fault.NULL_VALUE: "Null value not supported for : {other}",
    Fault.UNKNOWN_KIND: "Unknown resource type {kind}",
    Fault.NO_NODE: "Node id must be an integer, but it is: {name}",
    Fault.OTHER_NODE: "Unexpected broker id, expected {node}, but received {name}",
    Fault.NOT_WHILE_RUNNING: "Cannot update these configs dynamically: [{other}]",
    Fault.NO_LIST: "Can't {other} because its type is not LIST.",
    Fault.NO_NAME: "Default topic resources are not allowed.",
    Fault.ILLEGAL_NAME: "Topic name is invalid: {other}",
    Fault.BAD_VALUE: "{other}",
    Fault.BAD_VALUE_OF_BROKER: "{other}",
    Fault.UNKNOWN_TOPIC: "The topic '{name}' does not exist.",
    **WORDS_OF_RIGHTS,
}
MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
WORDS_OF_DESCRIPTIONS = {
    Fault.ILLEGAL_NAME: "Topic name is invalid: {other}",
    Fault.UNKNOWN_KIND: MALFORMED,
    Fault.NO_NODE: "Broker id must be an integer, but it is: {name}",
    Fault.OTHER_NODE: "Unexpected broker id, expected {node} or empty string, but received {name}",
    **WORDS_OF_RIGHTS,
}
"""Fault -> Kafka's words; `other` is what is known beside it."""


@dataclass(slots=True)
class Configs:
    """The settings of topics and brokers, at one broker."""

    node_id: int
    metadata: Metadata
    settings: Settings

    # ---------------------------------------------------------------- told

    def describe(self, request: DescribeConfigs, may: May = everything) -> ConfigsDescribed:
        """Answer DescribeConfigs; `may`: what whoever asks may do."""
        told = {each: self._described(each, request, may) for each in dict.fromkeys(request.resources)}
        return ConfigsDescribed(tuple([told[each] for each in request.resources]))

    def _described(self, asked: ResourceToDescribe, request: DescribeConfigs, may: May) -> ResourceDescribed:
        kind, name = asked.kind, asked.name
        fault = steps.described(
            kind,
            _is_number(name),
            name in ("", str(self.node_id)),
            is_legal_topic(name),
            self.metadata.count(name) > 0,
            _may(may, AclOperation.DESCRIBE_CONFIGS, kind, name),
        )
        if fault != Fault.NOTHING:
            words = WORDS_OF_DESCRIPTIONS.get(fault, "").format(name=name, node=self.node_id, other=fault_of(name))
            return ResourceDescribed(steps.error_of(fault), words, kind, name)
        every = self._of_topic(name) if kind == Resource.TOPIC else self._of_brokers(name)
        wanted = [each for each in every if not asked.keys or each.name in asked.keys]
        if not request.include_synonyms:
            wanted = [_without_synonyms(each) for each in wanted]
        return ResourceDescribed(0, "", kind, name, tuple(wanted))

    def _of_topic(self, name: str) -> list[SettingDescribed]:
        stated = {each: as_told(SETTINGS[each], value) for each, value in self.metadata.stated_of(name).items()}
        base = self.metadata.default_config
        return [
            _setting(each.name, each.setting.kind, each.synonyms, each.value, each.source)
            for each in told_of(stated, base, self._synonyms("min.insync.replicas", str(self.node_id)))
        ]

    def _of_brokers(self, name: str) -> list[SettingDescribed]:
        if name == "":
            said = self.metadata.dynamic.get("", {})
            return [
                _setting(each, _kind_of(each), (Synonym(each, said[each], Source.DYNAMIC_DEFAULT_BROKER_CONFIG),))
                for each in said
            ]
        return [_setting(each, _kind_of(each), self._synonyms(each, name)) for each in OF_BROKERS]

    def _synonyms(self, name: str, node: str) -> tuple[Synonym, ...]:
        """What gives a setting of a broker its value, the nearest first."""
        found = []
        for of, source in ((node, Source.DYNAMIC_BROKER_CONFIG), ("", Source.DYNAMIC_DEFAULT_BROKER_CONFIG)):
            if name in self.metadata.dynamic.get(of, {}):
                found.append(Synonym(name, self.metadata.dynamic[of][name], source))
        attribute = OF_BROKERS[name]
        kafkas = _text(_DEFAULTS[attribute])
        began = self.metadata.static.get(name, _text(getattr(self.settings, attribute)))
        if began != kafkas:
            found.append(Synonym(name, began, Source.STATIC_BROKER_CONFIG))
        return (*found, Synonym(name, kafkas, Source.DEFAULT_CONFIG))

    # ---------------------------------------------------------------- changed

    def alter(self, request: AlterConfigs, may: May = everything) -> ConfigsAltered:
        """Answer AlterConfigs: what is not said any more is deleted. `may`: what whoever asks may do."""
        return self._alter(
            [
                ResourceToChange(
                    each.kind,
                    each.name,
                    tuple([SettingChange(one.name, Operation.SET, one.value) for one in each.settings]),
                )
                for each in request.resources
            ],
            may,
            only_looks=request.validate_only,
            begins_anew=True,
        )

    def change(self, request: IncrementalAlterConfigs, may: May = everything) -> ConfigsAltered:
        """Answer IncrementalAlterConfigs."""
        return self._alter(request.resources, may, only_looks=request.validate_only, begins_anew=False)

    def _alter(
        self, resources: Iterable[ResourceToChange], may: May, *, only_looks: bool, begins_anew: bool
    ) -> ConfigsAltered:
        rows, times = [], Counter((each.kind, each.name) for each in resources)
        for each in resources:
            allowed = steps.allows(each.kind, _may(may, AclOperation.ALTER_CONFIGS, each.kind, each.name))
            fault, other, stated = self._judged(each, times[each.kind, each.name] > 1, begins_anew, allowed)
            if fault == Fault.NOTHING and not only_looks:
                self._change(each, stated)
            words = (
                WORDS[fault].format(kind=each.kind, name=each.name, node=self.node_id, other=other)
                if (fault in WORDS)
                else None
            )
            rows.append(ResourceAltered(steps.error_of(fault), words, each.kind, each.name))
        return ConfigsAltered(tuple(rows))

    def _judged(
        self, asked: ResourceToChange, is_named_twice: bool, begins_anew: bool, allowed: Fault
    ) -> tuple[Fault, str, dict[str, str]]:
        """What is wrong, beside what, and what is said of all settings of the resource afterwards."""
        times = Counter(each.name for each in asked.changes)
        silent = [each.name for each in asked.changes if each.value is None and steps.needs_value(each.operation)]
        fault = steps.asks(is_named_twice, max(times.values(), default=0) > 1, bool(silent), asked.kind)
        if fault != Fault.NOTHING:
            return fault, ", ".join(silent), {}
        is_topic = asked.kind == Resource.TOPIC
        if is_topic and allowed != Fault.NOTHING:
            return allowed, "", {}
        before = self.metadata.stated_of(asked.name) if is_topic else self.metadata.dynamic.get(asked.name, {})
        fault, other, stated = self._changed({} if begins_anew else dict(before), asked.changes)
        if fault != Fault.NOTHING:
            return fault, other, {}
        if is_topic:
            return self._judged_topic(asked.name, stated)
        fault, other, stated = self._judged_broker(asked, stated)
        return (allowed if fault == Fault.NOTHING else fault), other, stated

    def _changed(self, stated: dict[str, str], changes: Iterable[SettingChange]) -> tuple[Fault, str, dict[str, str]]:
        for each in changes:
            setting = SETTINGS.get(each.name)
            fault = steps.operates(each.operation, setting is not None and setting.kind is Kind.LIST)
            if fault != Fault.NOTHING:
                return fault, f"{steps.name_of(each.operation)} to key {each.name}", {}
            before = stated.get(each.name, "" if setting is None else default_of(setting, self.metadata.default_config))
            value = steps.altered(each.operation, parts(before), each.value)
            if value is None:
                stated.pop(each.name, None)
            else:
                stated[each.name] = value
        return Fault.NOTHING, "", stated

    def _judged_topic(self, name: str, stated: dict[str, str]) -> tuple[Fault, str, dict[str, str]]:
        wrong = ""
        try:
            check(stated)
        except InvalidSetting as invalid:
            wrong = str(invalid)
        fault = steps.topic(name != "", is_legal_topic(name), wrong == "", self.metadata.count(name) > 0)
        return fault, fault_of(name) if fault == Fault.ILLEGAL_NAME else wrong, stated

    def _judged_broker(self, asked: ResourceToChange, stated: dict[str, str]) -> tuple[Fault, str, dict[str, str]]:
        fixed = [each.name for each in asked.changes if OF_BROKERS.get(each.name) not in RECONFIGURABLE]
        wrong = "" if fixed else next(filter(None, (_fault_of_number(*each) for each in stated.items())), "")
        is_here = asked.name in ("", str(self.node_id))
        fault = steps.broker(_is_number(asked.name), is_here, not fixed, wrong == "")
        return fault, ", ".join(fixed) or wrong, stated

    def _change(self, asked: ResourceToChange, stated: dict[str, str]) -> None:
        if asked.kind == Resource.TOPIC:
            if stated != self.metadata.stated_of(asked.name):
                self.metadata.restate(asked.name, stated)
            return
        for name, attribute in ((each.name, OF_BROKERS[each.name]) for each in asked.changes):
            self.metadata.static.setdefault(name, _text(getattr(self.settings, attribute)))
        self.metadata.dynamic[asked.name] = stated
        for name, began in self.metadata.static.items():
            values = self._synonyms(name, str(self.node_id))
            setattr(self.settings, OF_BROKERS[name], int(values[0].value if values else began))


def _may(may: May, operation: AclOperation, kind: int, name: str) -> bool:
    """Whether whoever asks may do something with the settings of a resource."""
    return may(operation, ResourceType.TOPIC, name) if kind == Resource.TOPIC else may_on_cluster(may, operation)


_DEFAULTS: Mapping[str, object] = {each.name: each.default for each in fields(Settings)}


def _setting(
    name: str, kind: Kind, synonyms: tuple[Synonym, ...], value: str | None = None, source: Source | None = None
) -> SettingDescribed:
    is_of_topic = value is not None
    return SettingDescribed(
        name,
        synonyms[0].value if value is None else value,
        read_only=not is_of_topic and OF_BROKERS[name] not in RECONFIGURABLE,
        source=synonyms[0].source if source is None else source,
        synonyms=tuple([SettingSynonym(each.name, each.value, int(each.source)) for each in synonyms]),
        kind=int(kind),
    )


def _without_synonyms(setting: SettingDescribed) -> SettingDescribed:
    return SettingDescribed(setting.name, setting.value, setting.read_only, setting.source, kind=setting.kind)


def _kind_of(name: str) -> Kind:
    if isinstance(_DEFAULTS[OF_BROKERS[name]], bool):
        return Kind.BOOLEAN
    return Kind.LONG if name in LONG else Kind.INT


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_number(name: str) -> bool:
    return name == "" or name.removeprefix("-").isdecimal()


def _fault_of_number(name: str, value: str) -> str:
    """What is wrong with a value of a setting that may change while brokers run; "": nothing."""
    try:
        check_number(name, value, LEAST_OF_BROKERS)
    except InvalidSetting as invalid:
        return str(invalid)
    return ""

"""Who is in a group of the consumer protocol (KIP-848): ConsumerGroupHeartbeat, and time.

What follows from a heartbeat, or from silence, is decided by the steps (``statemachines.consumer_group_member``); here
groups and members are looked up, and what a step wants is done in the order in which it says so.
"""

from dataclasses import dataclass, field

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup, ConsumerMember
from zombieproof.broker.group.consumer_heartbeats import listen, said_of, shape_of
from zombieproof.broker.group.effects import GroupEffect, Reply, WakeAt
from zombieproof.broker.group.member_ids import MemberIds
from zombieproof.broker.group.senders import AnyGroup
from zombieproof.broker.group.store import GroupStore, GroupStores
from zombieproof.broker.patterns import matching
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error
from zombieproof.statemachines.consumer_group_member import heartbeat as steps
from zombieproof.statemachines.consumer_group_member import reconciling
from zombieproof.statemachines.consumer_group_member.heartbeat import (
    Beat,
    ConsumerGroupEffects,
    HeartbeatFacts,
    HeartbeatHost,
)


@dataclass(slots=True)
class _Work:
    """A heartbeat while its effects are carried out: the group there was and the one there is, and who sent it."""

    request: ConsumerGroupHeartbeat
    store: GroupStore
    former: AnyGroup
    group: ConsumerGroup
    name: str
    member: ConsumerMember
    effects: ConsumerGroupEffects = field(default_factory=ConsumerGroupEffects)
    told: bool = False


class ConsumerMembers:
    """The members of all groups of the consumer protocol that one broker answers for."""

    def __init__(  # what a broker has, each part once
        self,
        stores: GroupStores,
        rules: Rules,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        ids: MemberIds,
        metadata: Metadata,
    ) -> None:
        self._stores, self._rules, self._settings, self._clock = stores, rules, settings, clock
        self._journal, self._ids, self._metadata = journal, ids, metadata

    # ---------------------------------------------------------------- requests

    def heartbeat(self, request: ConsumerGroupHeartbeat, number: int) -> list[GroupEffect]:
        """ConsumerGroupHeartbeat: it is answered at once, and somebody may be removed later."""
        found, effects = self._stores.find(request.group), ConsumerGroupEffects()
        steps.arrives(shape_of(request), found.error, effects, self._journal.begin())
        self._journal.take(request.group)
        if effects.replies or found.store is None:
            return [Reply(number, (request.group,), ConsumerGroupHeartbeatAnswer(effects.error))]
        work = self._begin(request, found.store)
        self._judge(work)
        self._apply(work)
        if work.effects.compares:
            self._lead(work)
        if work.effects.appends:
            self._append(work)
        answer = Reply(number, (request.group,), self._answer(work))
        return [answer, *self._look_ahead(work.store, request.group)]

    def _begin(self, request: ConsumerGroupHeartbeat, store: GroupStore) -> _Work:
        former = store.group(request.group)
        group = former if isinstance(former, ConsumerGroup) else ConsumerGroup(request.group)
        name = request.member or self._ids.next(request.group, store.replica.leader_epoch)
        member = group.members.get(group.holder(request.instance) or name)
        return _Work(request, store, former, group, name, ConsumerMember() if member is None else member)

    def _judge(self, work: _Work) -> None:
        steps.heartbeat(
            work.group,
            work.member,
            self._beat(work),
            self._facts(work),
            self._host(work.group),
            self._rules,
            work.effects,
            self._journal.begin(),
        )
        self._journal.take(work.request.group)

    def _apply(self, work: _Work) -> None:
        group, member, request, effects = work.group, work.member, work.request, work.effects
        if effects.leaves:
            del group.members[work.name]
        if effects.leaves_place:
            member.revoking = {}
        if effects.replaces:
            del group.members[group.holder(request.instance)]
        if effects.subscribes:
            group.members[work.name] = member
            listen(member, request)
        group.forget_patterns()
        if effects.compares and (effects.subscribes or group.metadata_version != self._metadata.version):
            group.counts = self._counts(group)
            group.metadata_version = self._metadata.version
        if effects.assigns:
            group.assign(group.counts or {})

    def _lead(self, work: _Work) -> None:
        """Lead the member to what it shall have."""
        group, member, before = work.group, work.member, set(work.member.partitions)
        facts = group.compare(member, work.request.owned)
        reconciling.reconcile(group, member, facts, self._host(group), work.effects, self._journal.begin())
        self._journal.take(work.request.group)
        group.follow(member, work.effects)
        changes = work.effects.tells_change and set(member.partitions) != before
        work.told = work.effects.tells_assignment or changes

    def _append(self, work: _Work) -> None:
        """Make the group durable; where that fails it is what the log tells of it."""
        error = work.store.write_group(work.group, work.former, self._clock.now_ms())
        steps.appended(error, work.effects)
        if work.effects.restores and isinstance(work.former, ConsumerGroup):
            restored = work.store.groups[work.group.name] = work.store.consumer_groups.loaded(work.group.name)
            self._begin_sessions(restored)

    def _answer(self, work: _Work) -> ConsumerGroupHeartbeatAnswer:
        if work.effects.error != Error.NONE:
            return ConsumerGroupHeartbeatAnswer(work.effects.error)
        interval_ms = steps.beats_again(work.effects.epoch, self._settings.group_consumer_heartbeat_interval_ms)
        told = tuple(sorted(work.member.partitions)) if work.told else None
        return ConsumerGroupHeartbeatAnswer(int(Error.NONE), work.name, work.effects.epoch, interval_ms, told)

    # ---------------------------------------------------------------- facts

    def _beat(self, work: _Work) -> Beat:
        request, member = work.request, work.member
        said = ConsumerMember(instance=member.instance, topics=member.topics, topic_pattern=member.topic_pattern)
        said.rebalance_timeout_ms, said.assignor = member.rebalance_timeout_ms, member.assignor
        listen(said, request)
        other_pattern = said.topic_pattern != member.topic_pattern
        means_something = said.topic_pattern is None or said.topic_pattern in work.group.patterns
        return Beat(
            request.epoch,
            set(said.topics) != set(member.topics) or (other_pattern and means_something),
            (request.topics, request.topic_pattern) != (None, None)
            and request.rebalance_timeout_ms != NONE
            and request.owned is not None,
            said_of(said) != said_of(member),
        )

    def _facts(self, work: _Work) -> HeartbeatFacts:
        request, group, former = work.request, work.group, work.former
        holder, known = group.holder(request.instance), group.members.get(request.member)
        epochs = ConsumerMember() if known is None else known
        pattern = request.topic_pattern or ""
        is_valid = pattern in ("", work.member.topic_pattern) or matching(pattern, ()) is not None
        return HeartbeatFacts(
            group_is_there=isinstance(former, ConsumerGroup),
            group_is_of_other_protocol=isinstance(former, ClassicGroup) and not former.empty,
            members=len(group.members),
            most_members=self._settings.group_consumer_max_size,
            member_is_known=known is not None,
            member_epoch=epochs.epoch,
            previous_epoch=epochs.previous_epoch,
            owns_subset=request.owned is not None and set(request.owned) <= epochs.partitions.keys(),
            has_instance=request.instance is not None,
            instance_is_known=holder != "",
            instance_is_this_member=holder == request.member,
            instance_epoch=group.epoch_of(holder),
            pattern_is_valid=is_valid,
        )

    def _host(self, group: ConsumerGroup) -> HeartbeatHost:
        settings = self._settings
        return HeartbeatHost(
            int(Error.NONE),
            self._clock.now_ms(),
            settings.group_consumer_assignment_interval_ms,
            settings.group_consumer_session_timeout_ms,
            self._topics_changed(group),
        )

    def _topics_changed(self, group: ConsumerGroup) -> bool:
        """Whether topics that the group reads have other partitions than when it was looked at last."""
        if group.metadata_version == self._metadata.version or group.counts is None:
            return False
        return self._counts(group) != group.counts

    def _counts(self, group: ConsumerGroup) -> dict[str, int]:
        return {topic: self._metadata.count(topic) for topic in group.topics()}

    # ---------------------------------------------------------------- time

    def loaded(self, group: ConsumerGroup) -> list[GroupEffect]:
        """A group was read from the log: sessions begin anew."""
        self._begin_sessions(group)
        return _wake(group)

    def _begin_sessions(self, group: ConsumerGroup) -> None:
        now_ms, session_ms = self._clock.now_ms(), self._settings.group_consumer_session_timeout_ms
        for member in group.members.values():
            reconciling.loaded(member, now_ms, session_ms)

    def time_passes(self, name: str) -> list[GroupEffect]:
        """Whatever is due in a group happens."""
        store = self._stores.find(name).store
        group = None if store is None else store.group(name)
        if store is None or not isinstance(group, ConsumerGroup):
            return []
        group.wakes_ms = NONE
        if group.reads_patterns:
            group.reads_patterns = False
            self._read_patterns(store, group)
        for member in tuple(group.members):
            self._look_at(store, group, member)
        return self._look_ahead(store, name)

    def _look_at(self, store: GroupStore, group: ConsumerGroup, name: str) -> None:
        """Remove a member, if its time is over."""
        effects, now_ms = ConsumerGroupEffects(), self._clock.now_ms()
        member, count = group.members[name], len(group.members)
        reconciling.time_passes(group, member, count, now_ms, self._rules, effects, self._journal.begin())
        self._journal.take(group.name)
        if effects.leaves:
            del group.members[name]
            group.forget_patterns()
        if effects.appends:
            self._write(store, group, effects)

    def _read_patterns(self, store: GroupStore, group: ConsumerGroup) -> None:
        """Find out which topics the members' regular expressions mean by now."""
        topics, effects = self._metadata.topic_ids.keys() - INTERNAL_TOPICS, ConsumerGroupEffects()
        found = {each: matching(each, topics) or () for each in group.wanted_patterns()}
        before, read = group.topics(), {each: tuple(sorted(names)) for each, names in found.items()}
        changes = read != group.patterns
        group.patterns, group.patterns_version = dict(sorted(read.items())), self._metadata.version
        group.counts = self._counts(group)
        reconciling.patterns_read(group, changes, group.topics() != before, self._clock.now_ms(), effects)
        if effects.appends:
            self._write(store, group, effects)

    def _write(self, store: GroupStore, group: ConsumerGroup, effects: ConsumerGroupEffects) -> None:
        steps.appended(store.write_group(group, group, self._clock.now_ms()), effects)
        if effects.restores:
            restored = store.groups[group.name] = store.consumer_groups.loaded(group.name)
            self._begin_sessions(restored)

    def _look_ahead(self, store: GroupStore, name: str) -> list[GroupEffect]:
        """When the group looks at its clock next."""
        group, effects = store.group(name), ConsumerGroupEffects()
        if not isinstance(group, ConsumerGroup):
            return []
        if wanted := group.wanted_patterns():
            now_ms, interval_ms = self._clock.now_ms(), self._settings.group_consumer_regex_refresh_interval_ms
            unread, is_new = not wanted <= group.patterns.keys(), group.patterns_version != self._metadata.version
            reconciling.look_at_patterns(group, unread, is_new, now_ms, interval_ms, effects)
            group.reads_patterns |= effects.reads_patterns
        if effects.reads_patterns:
            return [WakeAt(name, self._clock.now_ms())]
        return _wake(group)


def _wake(group: ConsumerGroup) -> list[GroupEffect]:
    """A group looks at its clock when the first thing is due; later ones are looked for then."""
    first = reconciling.next_deadline(tuple(group.members.values()))
    if first == NONE or NONE < group.wakes_ms <= first:
        return []
    group.wakes_ms = first
    return [WakeAt(group.name, first)]

"""Who is in a group of the consumer protocol (KIP-848): ConsumerGroupHeartbeat.

What follows from a heartbeat is decided by the steps (``statemachines.consumer_group``); here groups and members are
looked up, and what a step wants is done in the order in which it says so.
"""

from zombieproof.broker.cluster.clock import Clock
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.classic_group import ClassicGroup, NoGroup
from zombieproof.broker.group.consumer_group import ConsumerGroup, ConsumerMember, loaded_consumer_group
from zombieproof.broker.group.membership import AnyGroup, MemberIds
from zombieproof.broker.group.store import GroupStores
from zombieproof.messages.groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.consumer_group import heartbeat as steps
from zombieproof.statemachines.consumer_group.heartbeat import (
    Beat,
    ConsumerGroupEffects,
    HeartbeatFacts,
    HeartbeatHost,
)


class ConsumerMembers:
    """The members of all groups of the consumer protocol that one broker answers for."""

    def __init__(  # what a broker has, each part once
        self,
        stores: GroupStores,
        settings: Settings,
        clock: Clock,
        journal: Journal,
        ids: MemberIds,
        metadata: Metadata,
    ) -> None:
        self._stores, self._settings, self._clock, self._journal = stores, settings, clock, journal
        self._ids, self._metadata = ids, metadata

    def heartbeat(self, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatAnswer:
        """Answer ConsumerGroupHeartbeat."""
        found = self._stores.find(request.group)
        former = NoGroup() if found.store is None else found.store.group(request.group)
        group = former if isinstance(former, ConsumerGroup) else ConsumerGroup(request.group)
        before, member = group.value(), group.members.get(request.member, ConsumerMember())
        is_full = request.topics is not None
        beat = Beat(request.epoch, is_full and request.topics != member.topics, is_full)
        host = HeartbeatHost(found.error, self._clock.now_ms(), self._settings.group_consumer_assignment_interval_ms)
        effects, facts = ConsumerGroupEffects(), _heartbeat_facts(request, former)
        steps.heartbeat(group, member, beat, facts, host, effects, self._journal.begin())
        self._journal.take(request.group)
        name, store = request.member, found.store
        if effects.gives_id and store is not None:
            name = self._ids.next(request.group, store.replica.leader_epoch)
        self._apply(group, name, member, request.topics, effects)
        if effects.appends and store is not None:
            steps.appended(store.write_group(group, former, host.now_ms), effects)
            if effects.restores and isinstance(former, ConsumerGroup):
                store.groups[request.group] = loaded_consumer_group(request.group, before)
        if effects.error != Error.NONE:
            return ConsumerGroupHeartbeatAnswer(effects.error)
        interval_ms = self._settings.group_consumer_heartbeat_interval_ms
        told = tuple(sorted(member.partitions)) if effects.tells_assignment else None
        return ConsumerGroupHeartbeatAnswer(int(Error.NONE), name, effects.epoch, interval_ms, told)

    def _apply(
        self,
        group: ConsumerGroup,
        name: str,
        member: ConsumerMember,
        topics: tuple[str, ...] | None,
        effects: ConsumerGroupEffects,
    ) -> None:
        if effects.leaves:
            del group.members[name]
        if effects.subscribes:
            group.members[name] = member
            member.topics = member.topics if topics is None else topics
        if effects.assigns:
            group.assign(self._metadata.partitions_of(group.topics()))


def _heartbeat_facts(request: ConsumerGroupHeartbeat, group: AnyGroup) -> HeartbeatFacts:
    is_consumer = isinstance(group, ConsumerGroup)
    known = group.members.get(request.member) if isinstance(group, ConsumerGroup) else None
    epochs = ConsumerMember() if known is None else known
    return HeartbeatFacts(
        has_group_id=request.group != "",
        has_member_id=request.member != "",
        names_topics=bool(request.topics),
        group_is_there=is_consumer,
        group_is_of_other_protocol=isinstance(group, ClassicGroup) and not group.empty,
        member_is_known=known is not None,
        member_epoch=epochs.epoch,
        previous_epoch=epochs.previous_epoch,
    )

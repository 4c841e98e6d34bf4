"""DescribeGroups (API key 15), ListGroups (16) and ConsumerGroupDescribe (69): what is told of groups.

Behaviour: a classic group is described to who asks about classic ones, a consumer group to who asks about those; any
other is not there. What members said and got is told only of a stable group. A consumer group is empty, or assigns anew
while its assignment is older than the group, or reconciles until every member has what it shall have.
Versions: DescribeGroups 6 answers GROUP_ID_NOT_FOUND where older ones tell of a dead group (KIP-1043). ListGroups 4
filters by state (KIP-518), 5 by type (KIP-848); a name counts however it is written.
Source: ``GroupMetadataManager.describeGroups``, ``consumerGroupDescribe``, ``GroupCoordinatorShard.listGroups``;
``ConsumerGroup.maybeUpdateGroupState``.
"""

from zombieproof.model.vocabulary import ClassicGroupState, ConsumerGroupState, Error

FIRST_VERSION_WITH_NOT_FOUND = 6


def error_of_classic_description(known: bool, is_consumer: bool, version: int) -> int:
    """GROUP_ID_NOT_FOUND where there is no such classic group, as far as a version may be told it; else NONE."""
    if (not known or is_consumer) and version >= FIRST_VERSION_WITH_NOT_FOUND:
        return int(Error.GROUP_ID_NOT_FOUND)
    return int(Error.NONE)


def error_of_consumer_description(known: bool, is_consumer: bool) -> int:
    """GROUP_ID_NOT_FOUND where there is no such consumer group, or NONE."""
    return int(Error.NONE if known and is_consumer else Error.GROUP_ID_NOT_FOUND)


def tells_what_members_say(state: int) -> bool:
    """Whether a classic group in this state is described with its protocol, and what its members said and got."""
    return state == ClassicGroupState.STABLE


def consumer_group_state(members: int, group_epoch: int, assignment_epoch: int, all_are_stable: bool) -> int:
    """How far a consumer group is."""
    if members == 0:
        return int(ConsumerGroupState.EMPTY)
    if group_epoch > assignment_epoch:
        return int(ConsumerGroupState.ASSIGNING)
    return int(ConsumerGroupState.STABLE if all_are_stable else ConsumerGroupState.RECONCILING)

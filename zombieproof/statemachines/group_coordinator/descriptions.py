"""What administrators are told of groups: each of those that are asked about, or all that pass a filter.

Source: ``GroupMetadataManager.java``, ``GroupCoordinatorShard.java``.
"""

from collections.abc import Sequence

from zombieproof.model.decisions.describe_groups import (
    consumer_group_state,
    error_of_classic_description,
    error_of_consumer_description,
    tells_what_members_say,
)
from zombieproof.model.vocabulary import ClassicGroupState, ConsumerGroupState, ConsumerMemberState, Error


def describes_classic(lookup_error: int, known: bool, is_consumer: bool, version: int) -> int:
    """One group of a DescribeGroups: NONE, or its error."""
    if lookup_error != Error.NONE:
        return lookup_error
    return error_of_classic_description(known, is_consumer, version)


def describes_consumer(lookup_error: int, known: bool, is_consumer: bool) -> int:
    """One group of a ConsumerGroupDescribe: NONE, or its error."""
    if lookup_error != Error.NONE:
        return lookup_error
    return error_of_consumer_description(known, is_consumer)


def tells_members(state: int) -> bool:
    """Whether what members said and got goes with them."""
    return tells_what_members_say(state)


def state_of_consumers(group_epoch: int, assignment_epoch: int, members: Sequence[int]) -> ConsumerGroupState:
    """The state of a consumer group; `members` are the states of those who are in it."""
    stable = all(state == ConsumerMemberState.STABLE for state in members)
    return ConsumerGroupState(consumer_group_state(len(members), group_epoch, assignment_epoch, stable))


def name_of(state: ClassicGroupState | ConsumerGroupState) -> str:
    """Kafka's name of a state (``PreparingRebalance``)."""
    return "".join(word.capitalize() for word in state.name.split("_"))


def passes(state: str, kind: str, states: Sequence[str], types: Sequence[str]) -> bool:
    """Whether a group of a state and a kind passes the filters of a ListGroups; an empty one lets all through."""
    wanted_states, wanted_types = [each.lower() for each in states], [each.lower() for each in types]
    return (not states or state.lower() in wanted_states) and (not types or kind.lower() in wanted_types)

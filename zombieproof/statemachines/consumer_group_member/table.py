"""A member of a consumer group: how far it is on its way to what it shall have.

Theory of operation: the coordinator says what a member shall have, and it follows in steps of its own. What it has to
give back it gives back first, and says so; only then is it in the epoch of the new assignment. What others still have
it gets when they have given it back. This machine decides nothing about transactions, only which epoch a commit has
to name (reference §4.1, O8); so it is not one of those that are checked.

Source: KIP-848; ``MemberState.java``, ``CurrentAssignmentBuilder.java``.
"""

from zombieproof.model.vocabulary import ConsumerMemberEvent as E
from zombieproof.model.vocabulary import ConsumerMemberState as S
from zombieproof.statemachines.kernel import Machine, T

CONSUMER_GROUP_MEMBER = Machine(
    name="consumer_group_member",
    states=S,
    events=E,
    initial=S.STABLE,
    rows=(
        T(S.STABLE, E.REVOKE, S.UNREVOKED_PARTITIONS, "it has what it shall not have any more"),
        T(S.STABLE, E.AWAIT, S.UNRELEASED_PARTITIONS, "others have what it shall have"),
        T(S.STABLE, E.SETTLE, S.STABLE, "it gets all that is new at once"),
        T(S.UNREVOKED_PARTITIONS, E.REVOKE, S.UNREVOKED_PARTITIONS, "it has given back, and there is more by now"),
        T(S.UNREVOKED_PARTITIONS, E.AWAIT, S.UNRELEASED_PARTITIONS, "it has given back, and others have not"),
        T(S.UNREVOKED_PARTITIONS, E.SETTLE, S.STABLE, "it has given back"),
        T(S.UNRELEASED_PARTITIONS, E.REVOKE, S.UNREVOKED_PARTITIONS, "a newer assignment takes something away"),
        T(S.UNRELEASED_PARTITIONS, E.AWAIT, S.UNRELEASED_PARTITIONS, "not all is free yet"),
        T(S.UNRELEASED_PARTITIONS, E.SETTLE, S.STABLE, "the last that it waited for is free"),
    ),
)

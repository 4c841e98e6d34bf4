"""OffsetFetch (API key 9): the committed offset, or "wait" while a transaction may still change it.

Versions: 7 carries RequireStable (KIP-447); 9 may say which member of a group of the consumer protocol asks, in which
epoch: it has to be so (KIP-848).
Source: reference §4.5; ``OffsetMetadataManager.fetchOffsets``.
"""

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error


def decide_offset_reader(
    is_consumer: bool, names_member: bool, said_epoch: int, member_is_known: bool, member_epoch: int
) -> int:
    """UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH where somebody asks who is not in the group, or NONE.

    Of a classic group anybody may ask, and so may an administrator of any.
    """
    if not is_consumer or (not names_member and said_epoch < 0):
        return int(Error.NONE)
    if not member_is_known:
        return int(Error.UNKNOWN_MEMBER_ID)
    return int(Error.NONE if said_epoch == member_epoch else Error.STALE_MEMBER_EPOCH)


def decide_offset_fetch(require_stable: bool, pending_transactions: int, rules: Rules) -> int:
    """UNSTABLE_OFFSET_COMMIT while any transaction holds a pending offset and stability was asked for, else NONE."""
    if rules.kip447_stable == 1 and require_stable and pending_transactions > 0:
        return int(Error.UNSTABLE_OFFSET_COMMIT)
    return int(Error.NONE)

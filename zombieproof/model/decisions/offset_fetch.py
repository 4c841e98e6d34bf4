"""OffsetFetch (API key 9): the committed offset, or "wait" while a transaction may still change it.

Versions: 7 carries RequireStable (KIP-447).
Source: reference §4.5; ``OffsetMetadataManager.fetchOffsets``.
"""

from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import Error


def decide_offset_fetch(require_stable: bool, pending_transactions: int, rules: Rules) -> int:
    """UNSTABLE_OFFSET_COMMIT while any transaction holds a pending offset and stability was asked for, else NONE."""
    if rules.kip447_stable == 1 and require_stable and pending_transactions > 0:
        return int(Error.UNSTABLE_OFFSET_COMMIT)
    return int(Error.NONE)

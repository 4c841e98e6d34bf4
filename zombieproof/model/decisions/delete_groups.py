"""DeleteGroups (API key 42, versions 0-2): a group that nobody is in goes, with all its offsets.

Behaviour: a group that has members stays; one of the consumer protocol is treated alike. Offsets that wait for a marker
go as well, and the marker then finds nothing (reference §4.2; B80). A group may be called "" here, as in old releases.
Source: ``GroupMetadataManager.validateDeleteGroup``, ``OffsetMetadataManager.deleteAllOffsets``.
"""

from zombieproof.model.decisions.txn_offset_commit import GroupFacts
from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ClassicGroupEvent, Error, Row


def decide_delete_group(group: GroupFacts, transactions: int, rules: Rules) -> AppendVerdict:
    """DELETE: the tombstones of the group and of its offsets are to be written.

    `transactions`: how many open transactions have offsets pending in the group.
    """
    if not group.known or group.dead:
        return append_refused(Error.GROUP_ID_NOT_FOUND, Row.NOT_KNOWN)
    if not group.empty:
        return append_refused(Error.NON_EMPTY_GROUP, Row.GROUP_IN_USE)
    if transactions > 0 and rules.deletion_waits_for_offsets == 1:
        return append_refused(Error.NON_EMPTY_GROUP, Row.GROUP_IN_USE)
    return append_accepted(Row.GROUP_DELETED, ClassicGroupEvent.DELETE)

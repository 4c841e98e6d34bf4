"""TxnOffsetCommit (API key 28, versions 0-6): offsets committed inside a transaction.

Behaviour: membership is checked when it is given (KIP-447); the record is appended to the group's offsets partition
under the producer's id and epoch, where the leader's own rules fence; the offsets wait for the marker.
Versions: 2 may be answered with COORDINATOR_LOAD_IN_PROGRESS; 3 carries generation, member and instance; 4 may be
answered with TRANSACTION_ABORTABLE; 5 joins the transaction by itself (TV2); 6 names topics by id (KIP-1319).
Source: reference §4.1 to §4.3; ``OffsetMetadataManager.java``.
"""

from typing import Protocol

from zombieproof.model.decisions.verdicts import append_accepted, append_refused
from zombieproof.model.records import AppendVerdict, GroupOffset, PendingOffset
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, Error, GroupEvent, PendingOffsetsState, Row

FIRST_VERSION_WITH_STALE_MEMBER_EPOCH = 6
"""GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH may be answered (KIP-1319); before, ILLEGAL_GENERATION stands for both."""


class OffsetCommitRequest(Protocol):
    """What of the request the group judges: generation -1, member -1 and instance -1 mean "not given"."""

    @property
    def version(self) -> int:
        """The version of the request."""
        ...

    @property
    def generation(self) -> int:
        """The generation, or the member epoch of a consumer-protocol group; -1: not given."""
        ...

    @property
    def member(self) -> int:
        """The member; -1: not given."""
        ...

    @property
    def instance(self) -> int:
        """The static instance; -1: not given."""
        ...


class GroupFacts(Protocol):
    """What the coordinator knows of a group: `known` or absent, `dead`, `empty` (no members), its generation."""

    @property
    def known(self) -> bool:
        """Whether there is such a group."""
        ...

    @property
    def dead(self) -> bool:
        """Whether the group is being removed."""
        ...

    @property
    def empty(self) -> bool:
        """Whether the group has no members."""
        ...

    @property
    def generation(self) -> int:
        """The generation of the group now."""
        ...


def decide_txn_offset_commit_front_door(is_active: bool, has_group_id: bool) -> AppendVerdict:
    """Judge the request before the group is looked up (O1), for all its partitions."""
    if not is_active:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Row.O1)
    if not has_group_id:
        return append_refused(Error.INVALID_GROUP_ID, Row.O1)
    return append_refused(Error.NONE, Row.NO_ROW)


def decide_txn_offset_commit(
    group: GroupFacts,
    request: OffsetCommitRequest,
    member_is_known: bool,
    instance_is_known: bool,
    instance_is_this_member: bool,
    rules: Rules,
) -> AppendVerdict:
    """Judge a commit of offsets for a classic group (O3 to O7): TXN_OFFSET_COMMIT, or the error for all partitions.

    Before 4.0 an absent group was made first, and its generation and members were looked for in it.
    """
    if not group.known:
        if request.generation < 0:
            return append_accepted(Row.O3, GroupEvent.TXN_OFFSET_COMMIT)
        if rules.kip447_fence == 0:
            return append_accepted(Row.O3, GroupEvent.TXN_OFFSET_COMMIT)
        if rules.absent_group_generation == 0:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.O3)
        if request.version >= FIRST_VERSION_WITH_STALE_MEMBER_EPOCH:
            return append_refused(Error.GROUP_ID_NOT_FOUND, Row.O3)
        return append_refused(Error.ILLEGAL_GENERATION, Row.O3)
    if group.dead:
        return append_refused(Error.COORDINATOR_NOT_AVAILABLE, Row.O4)
    if request.generation < 0 and group.empty:
        return append_accepted(Row.O5, GroupEvent.TXN_OFFSET_COMMIT)
    if rules.kip447_fence == 1 and _names_a_member(request):
        if request.instance != NONE:
            if not instance_is_known:
                return append_refused(Error.UNKNOWN_MEMBER_ID, Row.O6)
            if not instance_is_this_member:
                return append_refused(Error.FENCED_INSTANCE_ID, Row.O6)
        if not member_is_known:
            return append_refused(Error.UNKNOWN_MEMBER_ID, Row.O6)
        if request.generation != group.generation:
            return append_refused(Error.ILLEGAL_GENERATION, Row.O6)
        return append_accepted(Row.O6, GroupEvent.TXN_OFFSET_COMMIT)
    return append_accepted(Row.O7, GroupEvent.TXN_OFFSET_COMMIT)


def decide_commit_to_consumer_group(
    has_members: bool,
    request: OffsetCommitRequest,
    member_is_known: bool,
    member_epoch: int,
    is_classic_member: bool,
    assignment_epoch: int,
    rules: Rules,
) -> AppendVerdict:
    """Judge a commit of one partition's offset for a group of the consumer protocol (O8, KIP-848).

    The request's generation is the member epoch that the client knows. An older one is good enough for a partition
    that was assigned to the member at that epoch or before, and still is or is being taken away: `assignment_epoch`,
    NONE if the partition is not the member's.
    """
    if request.generation < 0 and not has_members:
        return append_accepted(Row.O8, GroupEvent.TXN_OFFSET_COMMIT)
    if rules.kip447_fence == 0 or not _names_a_member(request):
        return append_accepted(Row.O8, GroupEvent.TXN_OFFSET_COMMIT)
    if not member_is_known:
        return append_refused(Error.UNKNOWN_MEMBER_ID, Row.O8)
    older = request.generation < member_epoch and assignment_epoch != NONE and assignment_epoch <= request.generation
    if request.generation == member_epoch or older:
        return append_accepted(Row.O8, GroupEvent.TXN_OFFSET_COMMIT)
    if is_classic_member or request.version < FIRST_VERSION_WITH_STALE_MEMBER_EPOCH:
        return append_refused(Error.ILLEGAL_GENERATION, Row.O8)
    return append_refused(Error.STALE_MEMBER_EPOCH, Row.O8)


def _names_a_member(request: OffsetCommitRequest) -> bool:
    return request.generation >= 0 or request.member != NONE or request.instance != NONE


def decide_metadata_size(metadata_bytes: int, max_bytes: int) -> AppendVerdict:
    """O9, for one partition of the request."""
    if metadata_bytes > max_bytes:
        return append_refused(Error.OFFSET_METADATA_TOO_LARGE, Row.O9)
    return append_accepted(Row.O10, GroupEvent.TXN_OFFSET_COMMIT)


def is_of_all_partitions(error: int, rules: Rules) -> bool:
    """Whether the outcome of an append is told for the partitions, too, whose metadata was too long for it (O9)."""
    return error != Error.NONE and rules.refused_append_is_for_all == 1


def decide_refused_append(pending: PendingOffset, rules: Rules) -> int:
    """What becomes of the offset that waits where a commit was to go, when its append is refused: TAKE_BACK or NOTHING.

    Before 4.0 the coordinator puts an offset in its place first and appends then; when the append fails it removes what
    is in that place, found by producer id and partition, whoever has put it there.
    """
    if rules.refused_commit_keeps_pending == 1 or pending.state == PendingOffsetsState.NO_PENDING_OFFSETS:
        return int(GroupEvent.NOTHING)
    return int(GroupEvent.TAKE_BACK)


def evolve_pending(pending: PendingOffset, offset: int, record_offset: int, state: int) -> None:
    """The commit record is in the log at `record_offset`: its offset waits for the marker (§4.2)."""
    pending.state = state
    pending.offset = offset
    pending.record_offset = record_offset


def evolve_offsets_marker(committed: GroupOffset, pending: PendingOffset, outcome_is_commit: bool, state: int) -> None:
    """The marker arrived: a pending offset becomes the committed one, unless a later record already is; or vanishes."""
    if outcome_is_commit and pending.record_offset != NONE and pending.record_offset > committed.record_offset:
        committed.offset = pending.offset
        committed.record_offset = pending.record_offset
    pending.state = state
    pending.offset = NONE
    pending.record_offset = NONE


def evolve_taken_back(pending: PendingOffset, state: int) -> None:
    """The offset does not wait any more; its record stays in the log."""
    pending.state = state
    pending.offset = NONE
    pending.record_offset = NONE


def evolve_tombstone(committed: GroupOffset, pending: PendingOffset, state: int) -> None:
    """The offset is deleted, or its group is: neither the committed nor a pending offset is left (§4.2)."""
    evolve_committed_tombstone(committed)
    pending.state = state
    pending.offset = NONE
    pending.record_offset = NONE


def evolve_committed_tombstone(committed: GroupOffset) -> None:
    """The committed offset is deleted."""
    committed.offset = NONE
    committed.record_offset = NONE


def answer_to_marker(error: int) -> int:
    """What the transaction coordinator is told when the group coordinator cannot write a marker (§4.4)."""
    if error in (Error.COORDINATOR_NOT_AVAILABLE, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR):
        return int(Error.NOT_LEADER_OR_FOLLOWER)
    return int(error)


def tombstone_reaches_pending(from_log: bool, rules: Rules) -> bool:
    """Whether a deleted offset takes along what waits in its place; `from_log`: it is read when a log is loaded."""
    return not from_log or rules.loaded_tombstone_ends_pending == 1

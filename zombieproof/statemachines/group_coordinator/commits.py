"""Offset commits on their way to the log: TxnOffsetCommit and OffsetCommit.

Theory of operation: a TxnOffsetCommit passes the front door (`enters`), is verified by the leader of the group's
partition like any batch (``partition_leader.verification``), and only then comes to the group (`comes_to_group`), which
may have moved meanwhile: rows whose metadata is too long fall out (`row_fits`), its sender is judged by what is left
(`judged`), and the log judges the batch (``partition_leader.batches``). What the log says is the answer
(`log_answers`); what it does to offsets is in ``offsets``. An OffsetCommit comes to the group at once.
Source: reference §4.1; ``KafkaApis.scala``, ``OffsetMetadataManager.java``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from zombieproof.model.decisions.group_members import ClassicFacts, Identity
from zombieproof.model.decisions.offset_commit import (
    decide_offset_commit,
    decide_plain_commit_to_consumer_group,
    error_of_offset_place,
    expires_at,
)
from zombieproof.model.decisions.txn_offset_commit import (
    GroupFacts,
    OffsetCommitRequest,
    decide_commit_to_consumer_group,
    decide_metadata_size,
    decide_txn_offset_commit,
    decide_txn_offset_commit_front_door,
    is_of_all_partitions,
    keeps_topic_id,
)
from zombieproof.model.decisions.verification import answer_to_txn_offset_commit
from zombieproof.model.decisions.versions import error_on_the_wire
from zombieproof.model.records import AppendVerdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Row
from zombieproof.statemachines.group_coordinator.effects import GroupEffects, answer
from zombieproof.statemachines.notes import Decision, Notes, note

FIRST_VERSION_WITH_MEMBERS = 3
"""TxnOffsetCommit says from here on which member of which generation it comes from (KIP-447)."""


class Sender(NamedTuple):
    """Of which member a TxnOffsetCommit says that it is (``txn_offset_commit.OffsetCommitRequest``); -1: not given."""

    version: int
    generation: int
    member: int
    instance: int


class Standing(NamedTuple):
    """What a group knows of the sender of a commit; the last three are of a group of the consumer protocol."""

    member_is_known: bool
    instance_is_known: bool = False
    instance_is_this_member: bool = False
    is_consumer_group: bool = False
    has_members: bool = False
    member_epoch: int = NONE


def sender_of(version: int, generation: int, names_member: bool, names_instance: bool) -> Sender:
    """What a TxnOffsetCommit of a version says of its sender."""
    if version < FIRST_VERSION_WITH_MEMBERS:
        return Sender(version, NONE, NONE, NONE)
    return Sender(version, generation, 1 if names_member else NONE, 1 if names_instance else NONE)


def kept_until(now_ms: int, retention_ms: int) -> int:
    """When an offset that is committed now expires, if its commit says it (up to version 4); else NONE."""
    return expires_at(now_ms, retention_ms)


def stores_topic_id(in_transaction: bool, rules: Rules) -> bool:
    """Whether the record of an offset has the id of its topic."""
    return keeps_topic_id(in_transaction, rules)


def row_enters(exists: bool, topic_id_is_known: bool) -> int:
    """Whether there is what an offset is committed for: NONE, or the error of this row alone."""
    return error_of_offset_place(exists, topic_id_is_known)


def enters(rows: int, has_group_id: bool, leads: bool, effects: GroupEffects, notes: Notes) -> None:
    """A TxnOffsetCommit with that many rows left reaches a broker, which leads the group's partition or does not."""
    if rows == 0:
        answer(effects, Error.NONE, Row.NO_ROW)
        return
    verdict = decide_txn_offset_commit_front_door(True, has_group_id)
    if verdict.error != Error.NONE:
        _judge(verdict, Decision.TXN_OFFSET_COMMIT, effects, notes)
    elif not leads:
        answer(effects, answer_to_txn_offset_commit(Error.NOT_LEADER_OR_FOLLOWER), Row.NO_ROW)
    else:
        effects.goes_on = True


def comes_to_group(rows: int, lookup_error: int, effects: GroupEffects) -> None:
    """A commit with that many rows left comes to its group; `lookup_error` is why this broker cannot answer for it."""
    if rows == 0 or lookup_error != Error.NONE:
        answer(effects, Error.NONE if rows == 0 else lookup_error, Row.NO_ROW)
    else:
        effects.goes_on = True


def row_fits(metadata_length: int, limit: int, notes: Notes) -> int:
    """NONE, or the error of a row whose metadata is too long; it is looked at before its sender is."""
    verdict = decide_metadata_size(metadata_length, limit)
    if verdict.error != Error.NONE:
        note(notes, Decision.TXN_OFFSET_COMMIT, verdict.row, verdict.error)
    return int(verdict.error)


def judged(
    group: GroupFacts,
    sender: OffsetCommitRequest,
    standing: Standing,
    assignment_epochs: Sequence[int],
    rules: Rules,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """A verified TxnOffsetCommit comes to its group: one partition that the sender may not commit refuses all.

    Args:
        group: what the coordinator knows of the group.
        sender: of whom the request says that it is.
        standing: what the group knows of that one.
        assignment_epochs: in a group of the consumer protocol, for each row that fits, since when it is the sender's.
    """
    if not standing.is_consumer_group:
        verdict = decide_txn_offset_commit(
            group,
            sender,
            standing.member_is_known,
            standing.instance_is_known,
            standing.instance_is_this_member,
            rules,
        )
        _judge(verdict, Decision.TXN_OFFSET_COMMIT, effects, notes)
    else:
        _judge(_judge_rows(sender, standing, assignment_epochs, rules), Decision.TXN_OFFSET_COMMIT, effects, notes)


def _judge_rows(
    sender: OffsetCommitRequest, standing: Standing, assignment_epochs: Sequence[int], rules: Rules
) -> AppendVerdict:
    """The verdict on the first row that is refused; without any row it is judged as if it were of the epoch known."""
    verdict = _judge_row(sender, standing, sender.generation, rules)
    for number in range(len(assignment_epochs)):
        if number == 0 or verdict.error == Error.NONE:
            verdict = _judge_row(sender, standing, assignment_epochs[number], rules)
    return verdict


def _judge_row(sender: OffsetCommitRequest, standing: Standing, epoch: int, rules: Rules) -> AppendVerdict:
    has_members, is_known, member_epoch = standing.has_members, standing.member_is_known, standing.member_epoch
    return decide_commit_to_consumer_group(has_members, sender, is_known, member_epoch, False, epoch, rules)


def plain_sender_of(member: int, member_is_known: bool) -> Identity:
    """Of which member an OffsetCommit says that it is, and whether the group knows it."""
    return Identity(member, NONE, member_is_known)


def plain_is_judged_by_classic(
    group: ClassicFacts, identity: Identity, version: int, generation: int, effects: GroupEffects, notes: Notes
) -> None:
    """An OffsetCommit comes to a classic group, or to one that is to be made for it."""
    _judge(decide_offset_commit(group, identity, version, generation), Decision.OFFSET_COMMIT, effects, notes)


def plain_is_judged_by_consumer(
    standing: Standing,
    assignment_epochs: Sequence[int],
    version: int,
    generation: int,
    effects: GroupEffects,
    notes: Notes,
) -> None:
    """An OffsetCommit comes to a group of the consumer protocol; each row is judged, as in `judged`."""
    verdict = _judge_plain_row(standing, generation, version, generation)
    for number in range(len(assignment_epochs)):
        if number == 0 or verdict.error == Error.NONE:
            verdict = _judge_plain_row(standing, assignment_epochs[number], version, generation)
    _judge(verdict, Decision.OFFSET_COMMIT, effects, notes)


def _judge_plain_row(standing: Standing, epoch: int, version: int, generation: int) -> AppendVerdict:
    has_members, is_known, member_epoch = standing.has_members, standing.member_is_known, standing.member_epoch
    return decide_plain_commit_to_consumer_group(has_members, is_known, member_epoch, epoch, version, generation)


def _judge(verdict: AppendVerdict, decision: int, effects: GroupEffects, notes: Notes) -> None:
    note(notes, decision, verdict.row, verdict.error)
    if verdict.error != Error.NONE:
        answer(effects, verdict.error, verdict.row)
        return
    effects.goes_on = True
    effects.row = verdict.row


def answer_of_log(error: int) -> int:
    """What whoever asked a group coordinator is told of an error of the log behind it."""
    return answer_to_txn_offset_commit(error)


def log_answers(error: int, rules: Rules, effects: GroupEffects) -> None:
    """The log of the group's partition has taken a commit (NONE), or refused it."""
    answer(effects, answer_of_log(error), Row.NO_ROW)
    effects.tells_all = is_of_all_partitions(effects.error, rules)


def on_the_wire(error: int, version: int) -> int:
    """What a TxnOffsetCommit of a version can be told of an error."""
    return error_on_the_wire(ApiKey.TXN_OFFSET_COMMIT, version, error)

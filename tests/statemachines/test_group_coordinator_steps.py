"""Steps of the group coordinator: records in, records and effects out."""

from typing import NamedTuple

import pytest

from zombieproof.model.records import GroupOffset, PendingOffset
from zombieproof.model.rules import Rules, preset_for
from zombieproof.model.vocabulary import NONE, NOTHING, Error, GroupEvent, Row
from zombieproof.model.vocabulary import PendingOffsetsState as S
from zombieproof.statemachines.group_coordinator import commits, offsets
from zombieproof.statemachines.group_coordinator.commits import Sender, Standing
from zombieproof.statemachines.group_coordinator.effects import GroupEffects, clear
from zombieproof.statemachines.group_coordinator.lookup import look_up
from zombieproof.statemachines.notes import Decision, Notes

RULES = Rules()


class Group(NamedTuple):
    known: bool = True
    dead: bool = False
    empty: bool = False
    generation: int = 4


MEMBER = Sender(version=5, generation=4, member=1, instance=NONE)


def judged(
    standing: Standing, sender: Sender = MEMBER, epochs: tuple[int, ...] = (), group: Group | None = None
) -> tuple[GroupEffects, Notes]:
    effects, notes = GroupEffects(), Notes()
    commits.judged(Group() if group is None else group, sender, standing, epochs, RULES, effects, notes)
    return effects, notes


# ---------------------------------------------------------------- who answers


@pytest.mark.parametrize(
    ("is_loading", "is_held", "error"),
    [
        (True, False, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (False, False, Error.NOT_COORDINATOR),
        (False, True, Error.NONE),
    ],
)
def test_who_answers_for_a_group(is_loading: bool, is_held: bool, error: Error) -> None:
    notes = Notes()
    assert look_up(is_loading, is_held, notes) == error
    assert notes.decision_count == int(error != Error.NONE)


# ---------------------------------------------------------------- on the way to the log


@pytest.mark.parametrize(
    ("rows", "has_group_id", "leads", "error", "goes_on"),
    [
        (0, False, False, Error.NONE, 0),
        (1, False, False, Error.INVALID_GROUP_ID, 0),
        (1, True, False, Error.NOT_COORDINATOR, 0),
        (1, True, True, Error.NONE, 1),
    ],
)
def test_the_front_door_of_a_transactional_commit(
    rows: int, has_group_id: bool, leads: bool, error: Error, goes_on: int
) -> None:
    effects = GroupEffects()
    commits.enters(rows, has_group_id, leads, effects, Notes())
    assert (effects.error, effects.goes_on, effects.answers) == (error, goes_on, 1 - goes_on)


@pytest.mark.parametrize(
    ("rows", "lookup", "error", "goes_on"),
    [
        (0, Error.NOT_COORDINATOR, Error.NONE, 0),
        (1, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_LOAD_IN_PROGRESS, 0),
        (1, Error.NONE, Error.NONE, 1),
    ],
)
def test_a_commit_without_rows_comes_to_no_group(rows: int, lookup: Error, error: Error, goes_on: int) -> None:
    effects = GroupEffects()
    commits.comes_to_group(rows, lookup, effects)
    assert (effects.error, effects.goes_on) == (error, goes_on)


def test_metadata_that_is_too_long_refuses_its_row() -> None:
    notes = Notes()
    assert [commits.row_fits(length, 10, notes) for length in (10, 11)] == [0, Error.OFFSET_METADATA_TOO_LARGE]
    assert notes.decision_count == 1


@pytest.mark.parametrize(
    ("exists", "known", "error"), [(True, True, 0), (False, True, 3), (False, False, 100), (True, False, 100)]
)
def test_where_an_offset_is_committed(exists: bool, known: bool, error: int) -> None:
    assert commits.row_enters(exists, known) == error


@pytest.mark.parametrize(
    ("standing", "sender", "error"),
    [
        (Standing(True), MEMBER, Error.NONE),
        (Standing(False), MEMBER, Error.UNKNOWN_MEMBER_ID),
        (Standing(True), MEMBER._replace(generation=3), Error.ILLEGAL_GENERATION),
        (Standing(True, True, False), MEMBER._replace(instance=1), Error.FENCED_INSTANCE_ID),
        (Standing(False), MEMBER._replace(generation=NONE, member=NONE), Error.NONE),
    ],
)
def test_a_classic_group_judges_who_commits(standing: Standing, sender: Sender, error: Error) -> None:
    effects, notes = judged(standing, sender)
    assert (effects.error, effects.goes_on) == (error, int(error == Error.NONE))
    assert notes.decisions[0].decision == Decision.TXN_OFFSET_COMMIT


CONSUMER = Standing(True, False, False, is_consumer_group=True, has_members=True, member_epoch=6)


@pytest.mark.parametrize(
    ("epochs", "error"),
    [((), Error.ILLEGAL_GENERATION), ((4,), Error.NONE), ((4, 5), Error.ILLEGAL_GENERATION), ((2, 3, 4), Error.NONE)],
)
def test_one_partition_that_the_member_may_not_commit_refuses_all(epochs: tuple[int, ...], error: Error) -> None:
    """The sender knows member epoch 4, the group 6: good enough for what was the member's at 4 already."""
    effects, notes = judged(CONSUMER, epochs=epochs or (NONE,))
    assert (effects.error, effects.answers, notes.decision_count) == (error, int(error != Error.NONE), 1)


def test_without_rows_a_member_is_judged_as_if_it_had_what_it_knows() -> None:
    assert judged(CONSUMER)[0].error == Error.NONE
    assert judged(CONSUMER._replace(member_is_known=False))[0].error == Error.UNKNOWN_MEMBER_ID


def test_a_plain_commit_is_judged_row_by_row_as_well() -> None:
    for epochs, error in (((), 0), ((4,), 0), ((4, 5), Error.STALE_MEMBER_EPOCH)):
        effects = GroupEffects()
        commits.plain_is_judged_by_consumer(CONSUMER, epochs, 9, 4, effects, Notes())
        assert effects.error == error


@pytest.mark.parametrize(
    ("version", "sender"), [(2, (2, NONE, NONE, NONE)), (3, (3, 4, 1, NONE)), (5, (5, 4, 1, NONE))]
)
def test_members_are_named_from_version_3_on(version: int, sender: tuple[int, ...]) -> None:
    assert commits.sender_of(version, 4, True, False) == sender


@pytest.mark.parametrize(
    ("release", "error", "told", "all_of_them"),
    [
        ("4.3.1", Error.NONE, Error.NONE, 0),
        ("4.3.1", Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE, 1),
        ("4.3.1", Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR, 1),
        ("3.9.2", Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR, 0),
    ],
)
def test_what_the_log_says_is_the_answer(release: str, error: Error, told: Error, all_of_them: int) -> None:
    effects = GroupEffects()
    commits.log_answers(error, preset_for(release), effects)
    assert (effects.answers, effects.error, effects.tells_all) == (1, told, all_of_them)


def test_an_old_version_is_not_told_what_it_does_not_know() -> None:
    assert commits.on_the_wire(Error.COORDINATOR_LOAD_IN_PROGRESS, 0) != Error.COORDINATOR_LOAD_IN_PROGRESS
    assert commits.on_the_wire(Error.COORDINATOR_LOAD_IN_PROGRESS, 2) == Error.COORDINATOR_LOAD_IN_PROGRESS


def test_cleared_effects_are_new_ones() -> None:
    effects = GroupEffects(True, True, 1, Row.O3, True)
    clear(effects)
    assert effects == GroupEffects()


# ---------------------------------------------------------------- what the log does to offsets


@pytest.mark.parametrize(
    ("has_value", "producer_id", "meaning"), [(False, 7, "TOMBSTONE"), (False, NONE, "TOMBSTONE"), (True, 7, "WAITS")]
)
def test_what_a_record_is(has_value: bool, producer_id: int, meaning: str) -> None:
    assert offsets.Meaning(offsets.meaning_of(has_value, producer_id)).name == meaning
    assert offsets.meaning_of(True, NONE) == offsets.Meaning.COMMITTED


def waiting(offset: int = 10, record_offset: int = 2) -> PendingOffset:
    pending = PendingOffset()
    offsets.waits(pending, offset, record_offset, Notes())
    return pending


def test_an_offset_of_a_transaction_waits() -> None:
    assert waiting() == PendingOffset(S.PENDING, 10, 2)


@pytest.mark.parametrize(
    ("committed", "before", "after"),
    [(True, NONE, (10, 2)), (True, 1, (10, 2)), (True, 5, (3, 5)), (False, 1, (3, 1))],
    ids=["the first", "a newer one", "a later plain commit stays", "aborted"],
)
def test_a_marker_lets_it_count_or_vanish(committed: bool, before: int, after: tuple[int, int]) -> None:
    known, pending = GroupOffset(3 if before != NONE else NONE, before), waiting()
    offsets.ends(known, pending, committed, Notes())
    assert ((known.offset, known.record_offset), pending) == (after, PendingOffset())


def test_a_marker_for_which_nothing_waits_moves_the_machine_and_nothing_else() -> None:
    known, notes = GroupOffset(3, 1), Notes()
    offsets.ends(known, PendingOffset(), True, notes)
    assert (known, notes.count, notes.moves[0].event) == (GroupOffset(3, 1), 1, GroupEvent.COMMIT_MARKER)


@pytest.mark.parametrize(("release", "event"), [("3.9.2", GroupEvent.TAKE_BACK), ("4.3.1", NOTHING)])
def test_until_3_9_a_refused_commit_takes_along_what_waits(release: str, event: int) -> None:
    pending = waiting()
    assert offsets.is_refused(pending, preset_for(release), Notes()) == event
    assert pending == (waiting() if event == NOTHING else PendingOffset())
    assert offsets.is_refused(PendingOffset(), preset_for(release), Notes()) == NOTHING


def test_a_tombstone_leaves_nothing() -> None:
    known, pending = GroupOffset(3, 1), waiting()
    offsets.is_deleted(known, pending, Notes())
    assert (known, pending) == (GroupOffset(), PendingOffset())


def test_who_loses_its_memory_knows_of_nothing_that_waits() -> None:
    pending = waiting()
    offsets.lose_memory(pending)
    assert pending == PendingOffset()


def test_a_plain_commit_counts_at_once() -> None:
    known = GroupOffset(3, 1)
    offsets.is_committed(known, 7, 4)
    assert known == GroupOffset(7, 4)


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        (offsets.Asked(False, True, 1, True), (Error.UNKNOWN_TOPIC_ID, 0)),
        (offsets.Asked(True, True, 1, True), (Error.UNSTABLE_OFFSET_COMMIT, 0)),
        (offsets.Asked(True, False, 1, True), (Error.NONE, 1)),
        (offsets.Asked(True, True, 0, True), (Error.NONE, 1)),
        (offsets.Asked(True, True, 0, False), (Error.NONE, 0)),
    ],
)
def test_what_a_reader_of_offsets_is_told(asked: offsets.Asked, read: tuple[int, int]) -> None:
    assert offsets.is_read(asked, RULES, Notes()) == read


def test_a_marker_for_which_nobody_answers_here_is_sent_to_another_leader() -> None:
    assert offsets.error_of_marker(Error.COORDINATOR_LOAD_IN_PROGRESS) == Error.NOT_LEADER_OR_FOLLOWER

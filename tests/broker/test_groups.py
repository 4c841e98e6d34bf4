"""The group coordinator: offsets that wait for a marker, and who may commit them. Reference §4."""

import copy

import pytest

from tests.broker.group_host import GROUP, A, B, GroupHost, to_commit
from tests.broker.partitions import Place
from tests.broker.questions import Word, told, was_asked
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.group.coordinator import OffsetCommitInProgress
from zombieproof.broker.group.offset_store import OffsetStore
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetFetched,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import MarkerToWrite, MarkerWritten, WriteTxnMarkers, WriteTxnMarkersAnswer
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, ClassicGroupEvent, Error, GroupEvent, Mode, Row
from zombieproof.statemachines.partition_leader.questions import ChannelFailure

OFFSETS = (CONSUMER_OFFSETS, 0)
UNSTABLE = -Error.UNSTABLE_OFFSET_COMMIT
NOWHERE = ("nope", 0)


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def moved(host: GroupHost) -> list[GroupEvent]:
    """What happened to offsets that wait."""
    return [GroupEvent(move.event) for move in host.place.journal.moves if move.machine == "group_coordinator"]


# ---------------------------------------------------------------- offsets wait for their marker


def test_an_offset_of_a_transaction_counts_when_its_commit_marker_is_there(host: GroupHost) -> None:
    assert host.txn_commit((A, 10)).errors == {A: 0}
    assert (host.offset(), host.offset(stable=True), host.offset(B, stable=True)) == (NONE, UNSTABLE, NONE)
    host.end(committed=True)
    assert (host.offset(stable=True), host.waiting()) == (10, {})


def test_an_offset_of_an_aborted_transaction_is_gone(host: GroupHost) -> None:
    host.commit((A, 3))
    host.txn_commit((A, 10))
    assert (host.offset(stable=True), host.offset()) == (UNSTABLE, 3)
    host.end(committed=False)
    assert (host.offset(stable=True), host.waiting()) == (3, {})
    assert moved(host) == [GroupEvent.TXN_OFFSET_COMMIT, GroupEvent.ABORT_MARKER]


def test_a_plain_commit_behind_that_of_the_transaction_wins_over_it(host: GroupHost) -> None:
    host.txn_commit((A, 10))
    host.commit((A, 5))
    assert host.offset(stable=True) == UNSTABLE
    host.end(committed=True)
    assert host.offset(stable=True) == 5


def test_the_newest_of_several_commits_of_one_transaction_counts(host: GroupHost) -> None:
    host.txn_commit((A, 10), (B, 20))
    host.txn_commit((A, 11))
    host.end(committed=True)
    assert (host.offset(A), host.offset(B)) == (11, 20)


def test_transactions_of_one_group_end_each_for_itself(host: GroupHost) -> None:
    host.txn_commit((A, 10), producer_id=7)
    host.txn_commit((A, 20), (B, 21), producer_id=8)
    host.end(8, committed=True)
    assert (host.offset(stable=True), host.offset(B, stable=True)) == (UNSTABLE, 21)
    host.end(7, committed=True)
    assert host.offset(stable=True) == 20, "its record stands behind that of the other"


def test_a_marker_for_which_nothing_waits_changes_nothing(host: GroupHost) -> None:
    host.txn_commit((A, 10))
    host.place.journal.clear()
    host.end(99, committed=True)
    assert (host.waiting(), host.offset()) == ({A: 10}, NONE)
    assert moved(host) == [GroupEvent.COMMIT_MARKER]


def test_offsets_without_a_producer_count_at_once_where_nobody_is_asked() -> None:
    unverified = with_switches(Rules(), off=["verification"])
    host = GroupHost(Place(partition=(CONSUMER_OFFSETS, 0), rules=unverified))
    assert host.txn_commit((A, 10), producer_id=NONE, epoch=NONE, version=4).errors == {A: 0}
    assert (host.offset(stable=True), host.waiting(NONE)) == (10, {})
    assert not next(iter(host.replica.log.read())).transactional


def test_what_waits_is_written_under_the_transaction_and_in_the_format_of_kafka(host: GroupHost) -> None:
    host.txn_commit((A, 10), (B, 11), epoch=3)
    host.commit((A, 5))
    first, second = host.replica.log.read()
    assert (first.producer_id, first.producer_epoch, first.base_sequence, first.transactional) == (7, 3, 0, True)
    assert (second.producer_id, second.base_sequence, second.transactional) == (NONE, 0, False)
    assert (first.base_offset, first.last_offset, second.base_offset) == (0, 1, 2)


# ---------------------------------------------------------------- who may commit


def test_a_partition_that_does_not_exist_and_metadata_that_is_too_long_refuse_only_themselves(host: GroupHost) -> None:
    rows = (
        OffsetToCommit(A, 1, "m" * 4096),
        OffsetToCommit(B, 2, "\N{PILE OF POO}" * 2049),
        OffsetToCommit(NOWHERE, 3, ""),
    )
    expected = {A: 0, B: Error.OFFSET_METADATA_TOO_LARGE, NOWHERE: Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert host.ask(OffsetCommit(8, GROUP, rows), OffsetsCommitted).errors == expected
    work = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, rows), host.replica)
    assert was_asked(work)
    assert work.finish().errors == expected
    assert (host.offset(A), host.waiting()) == (1, {A: 1})


def test_without_a_partition_that_exists_nothing_is_looked_at(host: GroupHost) -> None:
    assert host.txn_commit((NOWHERE, 1), group="").errors == {NOWHERE: Error.UNKNOWN_TOPIC_OR_PARTITION}
    work = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((NOWHERE, 1),))), host.replica)
    assert work.start() is None, "nobody is asked either"
    assert host.commit((NOWHERE, 1)).errors == {NOWHERE: Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert host.commit((A, 1), generation=0).errors == {A: Error.ILLEGAL_GENERATION}, "so there is no group either"
    assert host.txn_commit((A, 1), (NOWHERE, 1), group="").errors == {
        A: Error.INVALID_GROUP_ID,
        NOWHERE: Error.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_old_versions_of_txn_offset_commit_name_no_member(host: GroupHost) -> None:
    host.stable_member()
    assert host.txn_commit((A, 1), generation=9, member="nobody", version=2).errors == {A: 0}
    assert host.txn_commit((A, 1), generation=9, member="nobody", version=3).errors == {A: Error.UNKNOWN_MEMBER_ID}


def test_a_group_is_there_as_soon_as_a_commit_to_it_is_accepted(host: GroupHost) -> None:
    assert host.txn_commit((A, 1), generation=1, member="m").errors == {A: Error.ILLEGAL_GENERATION}
    work = host.coordinator.commit(
        TxnOffsetCommit(3, "x", GROUP, 7, 0, (OffsetToCommit(A, 1, "m" * 4097),)), host.replica
    )
    assert was_asked(work)
    assert work.finish().errors == {A: Error.OFFSET_METADATA_TOO_LARGE}
    assert host.txn_commit((A, 1), generation=1, member="m").errors == {A: Error.UNKNOWN_MEMBER_ID}


def test_the_coordinator_is_asked_as_the_version_says_and_its_refusal_is_translated(host: GroupHost) -> None:
    answers = {}
    for version, mode in ((3, Mode.DEFAULT), (4, Mode.GENERIC), (5, Mode.ADD)):
        work = host.coordinator.commit(TxnOffsetCommit(version, "x", GROUP, 7, 0, to_commit(((A, 1),))), host.replica)
        question = work.start()
        assert question is not None
        assert (question.transactional_id, question.producer_id, question.producer_epoch) == ("x", 7, 0)
        assert (question.partitions, question.mode) == (((CONSUMER_OFFSETS, 0),), mode)
        work.handle_verification(told(question, Error.TRANSACTION_ABORTABLE))
        answers[version] = work.finish().errors[A]
    assert answers == {3: Error.INVALID_TXN_STATE, 4: Error.TRANSACTION_ABORTABLE, 5: Error.TRANSACTION_ABORTABLE}
    assert host.written() == []


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH),
        (ChannelFailure.DISCONNECTED, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (Error.CONCURRENT_TRANSACTIONS, Error.CONCURRENT_TRANSACTIONS),
    ],
)
def test_what_the_coordinator_says_is_told_in_words_of_the_group(host: GroupHost, word: Word, answer: Error) -> None:
    work = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((A, 1),))), host.replica)
    assert was_asked(work, word)
    assert work.finish().errors == {A: answer}


def test_in_an_open_transaction_nobody_is_asked_again(host: GroupHost) -> None:
    host.txn_commit((A, 1))
    work = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((A, 2),))), host.replica)
    assert work.start() is None
    assert work.finish().errors == {A: 0}
    stale = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, -1, to_commit(((A, 3),))), host.replica)
    assert stale.start() is None
    assert stale.finish().errors == {A: Error.INVALID_PRODUCER_EPOCH}
    assert host.waiting() == {A: 2}


def test_a_marker_between_question_and_commit_voids_the_answer(host: GroupHost) -> None:
    work = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((A, 1),))), host.replica)
    question = work.start()
    assert question is not None
    host.end(committed=False, epoch=0)
    work.handle_verification(told(question))
    assert work.finish().errors == {A: Error.INVALID_TXN_STATE}
    assert host.written() == []


# ---------------------------------------------------------------- who is the coordinator


def begun(host: GroupHost, version: int = 3) -> OffsetCommitInProgress:
    """A TxnOffsetCommit that the transaction coordinator has agreed to."""
    request = TxnOffsetCommit(version, "x", GROUP, 7, 0, to_commit(((A, 1),)))
    work = host.coordinator.commit(request, host.replica)
    was_asked(work)
    return work


def test_while_the_log_is_read_everybody_is_told_to_come_again(host: GroupHost) -> None:
    work, old = begun(host), begun(host, 1)
    host.coordinator.begin_loading(0)
    assert work.finish().errors == {A: Error.COORDINATOR_LOAD_IN_PROGRESS}
    assert old.finish().errors == {A: Error.COORDINATOR_NOT_AVAILABLE}
    assert host.commit((A, 1)).errors == {A: Error.COORDINATOR_LOAD_IN_PROGRESS}
    assert host.fetch(A) == OffsetFetchAnswer(Error.COORDINATOR_LOAD_IN_PROGRESS, {})
    assert host.join().error == host.sync("m", 1) == host.leave("m") == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert host.beat("", 0).error == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert host.coordinator.store(0) is None


def test_who_resigns_before_the_log_is_read_sends_everybody_away(host: GroupHost) -> None:
    host.coordinator.begin_loading(0)
    host.coordinator.resign(0)
    assert host.fetch(A).error == Error.NOT_COORDINATOR


def test_who_has_resigned_sends_everybody_away(host: GroupHost) -> None:
    work = begun(host)
    host.coordinator.resign(0)
    host.replica.follow(2)
    assert work.finish().errors == {A: Error.NOT_COORDINATOR}
    assert begun(host).finish().errors == {A: Error.NOT_COORDINATOR}
    nobody = host.coordinator.commit(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((A, 1),))), None)
    assert nobody.start() is None
    assert nobody.finish().errors == {A: Error.NOT_COORDINATOR}
    assert host.fetch(A).error == Error.NOT_COORDINATOR
    assert host.told(OffsetDelete(0, GROUP, (A,))) == OffsetsDeleted(Error.NOT_COORDINATOR, {})
    host.coordinator.apply_marker(0, 7, committed=True)


def test_a_marker_comes_again_where_its_offsets_are_not_answered_for(host: GroupHost) -> None:
    assert host.coordinator.error_of_marker(0) == Error.NONE
    host.coordinator.begin_loading(0)
    assert host.coordinator.error_of_marker(0) == Error.NOT_LEADER_OR_FOLLOWER
    host.coordinator.resign(0)
    assert host.coordinator.error_of_marker(0) == Error.NOT_LEADER_OR_FOLLOWER


def test_markers_of_a_cluster_wait_for_the_group_coordinator() -> None:
    settings = Settings(offsets_topic_num_partitions=1, transaction_state_log_num_partitions=1)
    cluster = Cluster(settings=settings, topics={"in": 1})
    markers = WriteTxnMarkers(1, (MarkerToWrite(7, 0, committed=True, coordinator_epoch=0, partitions=(OFFSETS,)),))
    groups = cluster.brokers[1].groups
    groups.begin_loading(0)
    assert cluster.ask(markers) == WriteTxnMarkersAnswer((MarkerWritten(7, {OFFSETS: Error.NOT_LEADER_OR_FOLLOWER}),))
    replica = cluster.brokers[1].partitions.replica(OFFSETS)
    assert replica is not None
    groups.load(0, replica)
    assert cluster.ask(markers) == WriteTxnMarkersAnswer((MarkerWritten(7, {OFFSETS: 0}),))


def test_a_new_coordinator_knows_what_the_log_says(host: GroupHost) -> None:
    member = host.stable_member()
    host.commit((B, 3), generation=1, member=member)
    host.txn_commit((A, 10), generation=1, member=member)
    host.txn_commit((A, 20), producer_id=8, generation=1, member=member)
    host.end(8, committed=True)
    host.restart()
    assert (host.offset(A), host.offset(A, stable=True), host.offset(B)) == (20, UNSTABLE, 3)
    assert host.waiting() == {A: 10}
    assert host.txn_commit((B, 30), generation=2, member=member).errors == {B: Error.ILLEGAL_GENERATION}
    assert host.txn_commit((B, 30), generation=1, member=member).errors == {B: 0}
    host.end(committed=False)
    assert (host.offset(A, stable=True), host.offset(B)) == (20, 3)


def test_loading_notes_no_transition_again(host: GroupHost) -> None:
    host.txn_commit((A, 10))
    host.place.journal.clear()
    host.restart()
    assert [move for move in host.place.journal.moves if move.machine == "group_coordinator"] == []


def test_a_copy_goes_its_own_way(host: GroupHost) -> None:
    host.txn_commit((A, 10))
    twin = copy.deepcopy(host)
    twin.end(committed=True)
    assert (host.waiting(), twin.waiting()) == ({A: 10}, {})
    assert (host.offset(), twin.offset()) == (NONE, 10)


def test_every_decision_is_noted_with_its_row(host: GroupHost) -> None:
    host.txn_commit((A, 1), generation=4, member="m")
    rows = [(row.decision, row.row, row.error) for row in host.place.journal.decisions]
    assert ("txn_offset_commit", Row.O3, Error.ILLEGAL_GENERATION) in rows
    host.place.journal.clear()
    host.commit((A, 1))
    host.offset()
    host.told(OffsetDelete(0, GROUP, (A,)))
    host.ask(OffsetCommit(8, GROUP, (OffsetToCommit(A, 1, "m" * 4097),)), OffsetsCommitted)
    host.coordinator.resign(0)
    host.fetch(A)
    rows = [(row.decision, row.row, row.error) for row in host.place.journal.decisions]
    assert rows == [
        ("offset_commit", Row.O3, 0),
        ("offset_fetch", Row.NO_ROW, 0),
        ("offset_delete", Row.OFFSET_DELETED, 0),
        ("txn_offset_commit", Row.O9, Error.OFFSET_METADATA_TOO_LARGE),
        ("offset_commit", Row.O5, 0),
        ("find_coordinator", Row.L2, Error.NOT_COORDINATOR),
    ]


def test_a_commit_that_may_wait_is_not_handled_at_once(host: GroupHost) -> None:
    with pytest.raises(TypeError, match="may have to wait"):
        host.coordinator.handle(TxnOffsetCommit(3, "x", GROUP, 7, 0, to_commit(((A, 1),))))


# ---------------------------------------------------------------- reading and deleting


def test_all_offsets_of_a_group_can_be_asked_for(host: GroupHost) -> None:
    host.commit((A, 3))
    host.txn_commit((B, 4))
    assert host.fetch() == OffsetFetchAnswer(Error.NONE, {A: OffsetFetched(0, 3, "m")})
    host.txn_commit((A, 5))
    assert host.fetch() == OffsetFetchAnswer(Error.NONE, {A: OffsetFetched(Error.UNSTABLE_OFFSET_COMMIT)})


def test_offsets_of_unknown_groups_and_partitions_are_not_there(host: GroupHost) -> None:
    unknown = OffsetFetch(7, "other", require_stable=True, partitions=(NOWHERE,))
    assert host.told(unknown) == OffsetFetchAnswer(Error.NONE, {NOWHERE: OffsetFetched(0)})


def test_a_deleted_offset_takes_what_waits_along(host: GroupHost) -> None:
    host.commit((A, 3), (B, 4))
    host.txn_commit((A, 10))
    assert host.told(OffsetDelete(0, GROUP, (A,))) == OffsetsDeleted(Error.NONE, {A: 0})
    assert (host.offset(A, stable=True), host.offset(B, stable=True), host.waiting()) == (NONE, 4, {})
    assert moved(host)[-1] == GroupEvent.TOMBSTONE
    host.end(committed=True)
    assert host.offset(A) == NONE
    host.restart()
    assert (host.offset(A), host.offset(B)) == (NONE, 4)
    assert host.told(OffsetDelete(0, GROUP, (B,))) == OffsetsDeleted(Error.NONE, {B: 0})
    assert host.offset(B) == NONE


def test_a_group_is_judged_although_none_of_its_partitions_exists(host: GroupHost) -> None:
    """Kafka 4.4.0 answers 69 (GROUP_ID_NOT_FOUND) here, and no rows."""
    assert host.told(OffsetDelete(0, "other", (NOWHERE,))) == OffsetsDeleted(Error.GROUP_ID_NOT_FOUND, {})
    host.commit((A, 3))
    unknown = {NOWHERE: int(Error.UNKNOWN_TOPIC_OR_PARTITION)}
    assert host.told(OffsetDelete(0, GROUP, (NOWHERE,))) == OffsetsDeleted(Error.NONE, unknown)
    assert host.offset() == 3


def test_what_is_read_does_not_expire(host: GroupHost) -> None:
    host.commit((A, 3))
    member = host.beat("", 0).member
    host.place.clock.advance(host.place.settings.offsets_retention_minutes * 60_000)
    batches = len(list(host.replica.log.read()))
    host.place.journal.clear()
    host.coordinator.expire_offsets()
    assert host.offset(A) == 3
    assert host.place.journal.decisions[0].row == Row.OFFSET_KEPT
    assert len(list(host.replica.log.read())) == batches, "nothing is written"
    host.beat(member, 2, ("out",))
    host.coordinator.expire_offsets()
    assert host.offset(A) == NONE


def test_a_transaction_holds_the_group_that_it_has_committed_to_and_no_other(host: GroupHost) -> None:
    host.leave(host.stable_member())
    host.txn_commit((A, 1), group="others")
    host.coordinator.expire_offsets()
    store = host.coordinator.store(0)
    assert store is not None
    assert list(store.groups) == ["others"]


@pytest.mark.parametrize("by", ["marker", "tombstone"])
def test_nothing_is_kept_of_what_is_over(host: GroupHost, by: str) -> None:
    host.txn_commit((A, 1), (B, 2))
    if by == "marker":
        host.end(committed=False)
    else:
        host.told(OffsetDelete(0, GROUP, (A, B)))
    store = host.coordinator.store(0)
    assert store is not None
    assert store.offsets == OffsetStore()


def test_deleting_says_what_is_in_the_way(host: GroupHost) -> None:
    delete = OffsetDelete(0, GROUP, (A,))
    assert host.told(delete) == OffsetsDeleted(Error.GROUP_ID_NOT_FOUND, {})
    assert host.told(OffsetDelete(0, "", (A,))) == OffsetsDeleted(Error.INVALID_GROUP_ID, {})
    member = host.stable_member()
    assert host.told(delete) == OffsetsDeleted(Error.NONE, {A: Error.GROUP_SUBSCRIBED_TO_TOPIC}), "it says not what"
    host.leave(member)
    end = host.replica.log.end_offset
    assert host.told(delete) == OffsetsDeleted(Error.NONE, {A: 0})
    batches = list(host.replica.log.read())
    assert (batches[-1].last_offset, host.replica.log.end_offset) == (end - 1, end), "nothing was there to be deleted"
    host.beat("", 0)
    assert host.told(delete) == OffsetsDeleted(Error.NONE, {A: Error.GROUP_SUBSCRIBED_TO_TOPIC})


def test_old_offsets_expire_and_with_the_last_one_their_group(host: GroupHost) -> None:
    host.commit((A, 3))
    host.place.clock.advance(1)
    host.commit((B, 4))
    host.place.clock.advance(host.place.settings.offsets_retention_minutes * 60_000 - 1)
    host.coordinator.expire_offsets()
    assert (host.offset(A), host.offset(B)) == (NONE, 4)
    host.place.clock.advance(1)
    host.txn_commit((B, 5))
    host.coordinator.expire_offsets()
    assert host.offset(B) == 4, "a transaction holds it"
    host.end(committed=False)
    host.coordinator.expire_offsets()
    store = host.coordinator.store(0)
    assert store is not None
    assert (host.offset(B), store.groups) == (NONE, {})
    last = host.place.journal.moves[-1]
    assert (last.machine, last.event) == ("classic_group", ClassicGroupEvent.DELETE)
    host.restart()
    assert host.coordinator.store(0) is not store
    assert host.txn_commit((A, 1), generation=0, epoch=1).errors == {A: Error.ILLEGAL_GENERATION}

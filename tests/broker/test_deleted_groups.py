"""DeleteGroups: what goes, what stays, and what a marker finds that comes later (reference §4.2, KIP-229)."""

import pytest

from tests.broker.group_host import GROUP, A, B, GroupHost, to_commit
from tests.broker.partitions import Place
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.formats.batches import GroupKey
from zombieproof.formats.consumer_group_records import GroupRecordType, read_record
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.messages.groups import (
    DeleteGroups,
    GroupsDeleted,
    Heartbeat,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
)
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, Error, GroupEvent, PendingOffsetsState, Row

GONE, THERE = Error.NONE, Error.NON_EMPTY_GROUP
UNKNOWN = Error.GROUP_ID_NOT_FOUND


@pytest.fixture
def host() -> GroupHost:
    return GroupHost()


def delete(host: GroupHost, *groups: str) -> dict[str, int]:
    return host.ask(DeleteGroups(2, groups or (GROUP,)), GroupsDeleted).groups


def commit_to(host: GroupHost, *groups: str) -> None:
    for group in groups:
        told = host.told(OffsetCommit(8, group, to_commit(((A, 5),))))
        assert told == OffsetsCommitted.of({A: Error.NONE})


def offsets(host: GroupHost, group: str = GROUP) -> dict[tuple[str, int], int]:
    told = host.told(OffsetFetch(7, group, False, None))
    assert isinstance(told, OffsetFetchAnswer)
    return {partition: row.offset for partition, row in told.partitions.items()}


def test_a_group_goes_with_its_offsets_and_its_record(host: GroupHost) -> None:
    host.commit((A, 3), (B, 4))
    assert delete(host) == {GROUP: GONE}
    assert offsets(host) == {}
    last = list(host.replica.log.read())[-1]
    assert [(record.key, record.value) for record in last.records][-1] == (GroupKey(GROUP), None)
    assert [row for row in host.written() if row[1] is None] == [(A, None), (B, None)]
    assert delete(host) == {GROUP: UNKNOWN}
    host.restart()
    assert (offsets(host), delete(host)) == ({}, {GROUP: UNKNOWN})


def test_a_group_with_members_stays_and_nobody_notices(host: GroupHost) -> None:
    member = host.stable_member()
    host.commit((A, 3), generation=1, member=member)
    end = host.replica.log.end_offset
    assert delete(host) == {GROUP: THERE}
    assert (offsets(host), host.replica.log.end_offset) == ({A: 3}, end)
    assert getattr(host.told(Heartbeat(3, GROUP, 1, member)), "error", None) == Error.NONE
    assert (host.leave(member), delete(host)) == (Error.NONE, {GROUP: GONE})
    assert host.join().generation == 1, "the group that comes next is another one"


def test_a_member_that_has_only_its_id_does_not_hold_its_group(host: GroupHost) -> None:
    told = host.join(version=5)
    assert delete(host) == {GROUP: GONE}
    assert host.join(told.member, version=5).error == Error.UNKNOWN_MEMBER_ID


def tombstones(host: GroupHost) -> list[GroupRecordType]:
    """The types of the records of a consumer group that the newest batch takes back."""
    keys = [row.key for row in list(host.replica.log.read())[-1].records if row.value is None]
    read = [read_record(key, None) for key in keys if isinstance(key, bytes)]
    return [record.type for record in read if record is not None]


def test_a_group_of_the_consumer_protocol_is_treated_alike(host: GroupHost) -> None:
    joined = host.beat("", 0)
    assert delete(host) == {GROUP: THERE}
    host.beat(joined.member, -1)
    assert delete(host) == {GROUP: GONE}
    assert tombstones(host) == [GroupRecordType.TARGET, GroupRecordType.GROUP]
    assert host.beat(joined.member, joined.epoch).error == UNKNOWN
    host.restart()
    assert delete(host) == {GROUP: UNKNOWN}


def test_each_group_of_a_request_has_its_own_answer_and_one_named_twice_has_one(host: GroupHost) -> None:
    commit_to(host, "a", "b", "")
    host.stable_member()
    told = delete(host, "b", GROUP, "nobody", "a", "b")
    assert told == {"b": GONE, GROUP: THERE, "nobody": UNKNOWN, "a": GONE}
    assert delete(host, "") == {"": GONE}
    assert host.told(DeleteGroups(2, ())) == GroupsDeleted({})


@pytest.mark.parametrize("committed", [True, False])
def test_what_waits_goes_too_and_the_marker_finds_nothing(host: GroupHost, committed: bool) -> None:
    host.commit((A, 3))
    host.txn_commit((A, 10), (B, 11))
    assert delete(host) == {GROUP: GONE}
    assert (host.waiting(), host.offset(A, stable=True), host.offset(B, stable=True)) == ({}, NONE, NONE)
    moved = [(move.event, move.target) for move in host.place.journal.moves if move.machine == "group_coordinator"]
    assert moved[-2:] == [(GroupEvent.TOMBSTONE, PendingOffsetsState.NO_PENDING_OFFSETS)] * 2
    host.end(committed=committed)
    assert offsets(host) == {}
    host.restart()
    assert offsets(host) == {}


def test_a_group_that_only_has_offsets_that_wait_can_be_deleted(host: GroupHost) -> None:
    host.txn_commit((B, 11))
    assert delete(host) == {GROUP: GONE}
    assert [row for row in host.written() if row[1] is None] == [(B, None)]
    host.end()
    assert offsets(host) == {}


def test_pending_offsets_hold_their_group_under_a_rule_that_no_release_has() -> None:
    rules = with_switches(Rules(), on=["deletion_waits_for_offsets"])
    host = GroupHost(Place(partition=(CONSUMER_OFFSETS, 0), rules=rules))
    host.commit((A, 3))
    host.txn_commit((A, 10), (B, 11))
    assert delete(host) == {GROUP: THERE}
    host.end()
    assert offsets(host) == {A: 10, B: 11}
    assert delete(host) == {GROUP: GONE}


def test_a_transaction_goes_on_with_another_group_of_the_name(host: GroupHost) -> None:
    host.txn_commit((A, 10), (B, 11))
    delete(host)
    host.txn_commit((B, 20))
    host.end()
    assert offsets(host) == {B: 20}
    host.restart()
    assert offsets(host) == {B: 20}


def test_other_groups_of_the_same_transaction_keep_theirs(host: GroupHost) -> None:
    host.txn_commit((A, 10))
    host.txn_commit((A, 12), group="other")
    assert delete(host) == {GROUP: GONE}
    host.end()
    assert (offsets(host), offsets(host, "other")) == ({}, {A: 12})


def test_who_does_not_answer_for_a_group_does_not_delete_it(host: GroupHost) -> None:
    commit_to(host, GROUP)
    host.coordinator.begin_loading(0)
    assert delete(host) == {GROUP: Error.COORDINATOR_LOAD_IN_PROGRESS}
    host.coordinator.resign(0)
    assert delete(host) == {GROUP: Error.NOT_COORDINATOR}
    host.restart()
    assert offsets(host) == {A: 5}


def test_what_is_not_durable_is_still_there_and_every_group_is_told(host: GroupHost) -> None:
    commit_to(host, "a", "b")
    host.replica.follow(host.replica.leader_epoch + 1)
    assert delete(host, "a", "nobody", "b") == dict.fromkeys(("a", "nobody", "b"), Error.NOT_COORDINATOR)
    assert offsets(host, "a") == {A: 5}
    store = host.coordinator.store(0)
    assert store is not None
    assert set(store.groups) == {"a", "b"}


def test_every_group_notes_its_row(host: GroupHost) -> None:
    host.stable_member()
    commit_to(host, "a")
    host.place.journal.clear()
    delete(host, GROUP, "nobody", "a")
    noted = [(each.decision, each.row, each.subject) for each in host.place.journal.decisions]
    assert noted[:3] == [
        ("delete_groups", Row.GROUP_IN_USE, GROUP),
        ("delete_groups", Row.NOT_KNOWN, "nobody"),
        ("delete_groups", Row.GROUP_DELETED, "a"),
    ]


def test_a_cluster_deletes_what_each_of_its_nodes_coordinates() -> None:
    cluster = Cluster(2, topics={"in": 1})
    names = {cluster.group_coordinator_of(f"group-{number}"): f"group-{number}" for number in range(20)}
    assert set(names) == {1, 2}
    for node, name in names.items():
        cluster.ask(OffsetCommit(8, name, to_commit(((("in", 0), 5),))), node)
    both = (names[1], names[2])
    assert cluster.ask(DeleteGroups(2, both), 1) == GroupsDeleted({names[1]: GONE, names[2]: Error.NOT_COORDINATOR})
    assert cluster.ask(DeleteGroups(2, both), 2) == GroupsDeleted({names[1]: Error.NOT_COORDINATOR, names[2]: GONE})

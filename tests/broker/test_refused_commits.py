"""A TxnOffsetCommit that the log refuses, and what waits where it was to go: until 3.9 it takes that along."""

import pytest

from tests.broker.group_host import A, B, GroupHost
from tests.broker.partitions import Place
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import Error, GroupEvent

OLD = ("0.11.0", "3.9.1", "3.9.2")
NEW = ("4.0", "4.3.1")
UNSTABLE = -Error.UNSTABLE_OFFSET_COMMIT


def host_of(release: str) -> GroupHost:
    """A coordinator of a release, in whose log two offsets of producer 7 wait under epoch 2, above a committed one."""
    host = GroupHost(Place(partition=(CONSUMER_OFFSETS, 0), rules=preset_for(release)))
    host.commit((A, 5))
    assert set(host.txn_commit((A, 10), (B, 11), epoch=2).errors.values()) == {Error.NONE}
    return host


def refused(host: GroupHost, *rows: tuple[tuple[str, int], int], producer_id: int = 7) -> None:
    """A late commit of epoch 0 is refused; whom it asks agrees, as where an open transaction of any epoch counts."""
    assert set(host.txn_commit(*rows, producer_id=producer_id).errors.values()) == {Error.INVALID_PRODUCER_EPOCH}


@pytest.mark.parametrize("release", NEW)
def test_what_waits_is_left_alone(release: str) -> None:
    host = host_of(release)
    refused(host, (A, 10))
    assert host.waiting() == {A: 10, B: 11}
    host.end(epoch=2 if release == "4.0" else 3)
    assert (host.offset(A), host.offset(B)) == (10, 11)


@pytest.mark.parametrize("release", OLD)
def test_until_3_9_what_waits_is_gone_and_the_commit_does_not_bring_it(release: str) -> None:
    host = host_of(release)
    refused(host, (A, 10))
    assert host.waiting() == {B: 11}
    assert host.place.journal.moves[-1].event == GroupEvent.TAKE_BACK
    host.end(epoch=2)
    assert (host.offset(A), host.offset(B)) == (5, 11)


@pytest.mark.parametrize("release", OLD)
def test_until_3_9_the_log_has_it_still(release: str) -> None:
    host = host_of(release)
    refused(host, (A, 10), (B, 11))
    assert host.waiting() == {}
    host.restart()
    assert host.waiting() == {A: 10, B: 11}
    refused(host, (A, 10))
    host.end(epoch=2)
    assert host.offset(A) == 5
    host.restart()
    assert host.offset(A) == 10


def test_until_3_9_other_partitions_and_producers_lose_nothing() -> None:
    host = host_of("3.9.2")
    host.txn_commit((A, 20), producer_id=8, epoch=1)
    refused(host, (A, 30), producer_id=8)
    assert (host.waiting(7), host.waiting(8)) == ({A: 10, B: 11}, {})
    assert host.offset(A, stable=True) == UNSTABLE


def test_until_3_9_a_repeated_commit_waits_again() -> None:
    host = host_of("3.9.2")
    refused(host, (A, 10))
    host.txn_commit((A, 10), epoch=2)
    assert host.waiting() == {A: 10, B: 11}
    host.end(epoch=2)
    assert host.offset(A) == 10


def test_until_3_9_what_is_refused_before_the_log_is_asked_takes_nothing_along() -> None:
    host = host_of("3.9.2")
    assert set(host.txn_commit((A, 10), generation=3, member="gone").errors.values()) == {Error.UNKNOWN_MEMBER_ID}
    assert host.waiting() == {A: 10, B: 11}

"""A replica: what it accepts, how far readers may read, and what it knows after a restart or an election."""

import copy
from dataclasses import replace

import pytest

from tests.broker.partitions import Place, copied, data, end, plain, verified
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.log import MemoryLog
from zombieproof.broker.partition.replica import Replica, Room
from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import LATEST
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, Error, Isolation, Mode, Origin, PartitionState, Row
from zombieproof.statemachines.partition_leader.offsets import Reach

COMMITTED, UNCOMMITTED = Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED


def client(replica: Replica, batch: Batch) -> Error:
    """The answer to a batch for which nobody was asked."""
    return Error(replica.append(batch, 0, Origin.CLIENT).error)


def numbered(replica: Replica, first: int, count: int = 1) -> int:
    """The base offset of an idempotent batch, or minus its error."""
    appended = replica.append(data(1, first, count, transactional=False), 0, Origin.CLIENT)
    return -appended.error if appended.error else appended.base_offset


# ---------------------------------------------------------------- sequences


def test_sequences_go_on_from_0_behind_the_largest() -> None:
    replica = Place().leader()
    assert numbered(replica, SEQUENCE_MAX - 1, 4) == 0
    assert replica.describe_producers().producers[0].last_sequence == 1
    assert numbered(replica, 2) == 4
    assert numbered(replica, SEQUENCE_MAX - 1, 4) == 0, "a batch over the wrap is a duplicate like any other"
    assert numbered(replica, 4) == -Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_that_ends_with_the_largest_sequence_is_followed_by_0() -> None:
    replica = Place().leader()
    assert numbered(replica, SEQUENCE_MAX - 2, 3) == 0
    assert numbered(replica, 0) == 3


@pytest.mark.parametrize("window", [5, 1])
def test_the_newest_batches_are_recognised_and_older_ones_are_out_of_order(window: int) -> None:
    replica = Place(rules=replace(Rules(), cached_batches=window)).leader()
    for sequence in range(6):
        assert numbered(replica, sequence) == sequence
    assert numbered(replica, 6 - window) == 6 - window
    assert numbered(replica, 5 - window) == -Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert replica.log.end_offset == 6


def test_the_answer_to_a_duplicate_says_so_and_appends_nothing() -> None:
    replica = Place().leader()
    batch = data(1, 0, 3, transactional=False)
    replica.append(batch, 0, Origin.CLIENT)
    again = replica.append(batch, 0, Origin.CLIENT)
    assert (again.error, again.row, again.base_offset, again.is_duplicate) == (Error.NONE, Row.A1, 0, True)
    assert again.batch is None
    assert replica.log.end_offset == 3


def test_what_is_refused_changes_nothing() -> None:
    replica = Place().leader()
    numbered(replica, 0)
    before = copy.deepcopy(replica.producers.get(1))
    assert numbered(replica, 2) == -Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert replica.producers.get(1) == before
    assert replica.log.end_offset == 1


# ---------------------------------------------------------------- guards


def test_a_guard_that_a_marker_came_for_authorises_nothing() -> None:
    replica = Place().leader()
    batch = data(1, 0)
    guard = replica.begin_verification(batch, Mode.GENERIC).guard
    end(replica, 1, committed=False)
    assert replica.append(batch, guard, Origin.CLIENT).error == Error.INVALID_TXN_STATE


def test_the_guard_of_the_next_transaction_survives_the_marker_of_the_one_before() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0), Mode.ADD)
    following = data(1, 0, epoch=1)
    guard = replica.begin_verification(following, Mode.ADD).guard
    end(replica, 1, epoch=1, version=2)
    assert replica.append(following, guard, Origin.CLIENT).error == Error.NONE


def test_a_batch_that_nobody_was_asked_about_does_not_come_in_with_the_guard_of_another() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0))
    assert not replica.begin_verification(data(1, 1), Mode.GENERIC).asks, "its transaction is open"
    end(replica, 1)
    guard = replica.begin_verification(data(1, 1), Mode.GENERIC).guard
    assert client(replica, data(1, 1)) == Error.INVALID_TXN_STATE
    assert replica.append(data(1, 1), guard, Origin.CLIENT).error == Error.NONE


def test_two_replicas_never_give_the_same_guard() -> None:
    place = Place()
    one, other = place.leader(), replace(place, log=MemoryLog()).leader()
    guards = {replica.begin_verification(data(1, 0), Mode.ADD).guard for replica in (one, other)}
    assert len(guards) == 2
    assert 0 not in guards


def test_a_guard_is_void_when_it_is_as_old_as_a_forgotten_producer() -> None:
    place = Place(settings=Settings(producer_id_expiration_ms=1000))
    replica = place.leader()
    replica.begin_verification(data(1, 0), Mode.GENERIC)
    place.clock.advance(500)
    replica.expire_producers()
    assert replica.begin_verification(data(1, 0), Mode.GENERIC).guard == 1, "asking again does not make it younger"
    place.clock.advance(500)
    replica.expire_producers()
    assert replica.producers.get(1) is None
    assert replica.begin_verification(data(1, 0), Mode.GENERIC).guard == 2


def test_a_guard_can_be_forgotten_alone() -> None:
    place = Place(settings=Settings(producer_id_expiration_ms=1000))
    replica = place.leader()
    replica.begin_verification(data(1, 1), Mode.GENERIC)
    place.clock.advance(600)
    numbered(replica, 0)
    place.clock.advance(600)
    replica.expire_producers()
    entry = replica.producers.get(1)
    assert entry is not None
    assert (entry.guard, entry.known, entry.state) == (0, 1, PartitionState.IDLE)


def test_without_verification_nobody_is_asked() -> None:
    replica = Place(rules=with_switches(Rules(), off=["verification"])).leader()
    assert not replica.begin_verification(data(1, 0), Mode.GENERIC).asks
    assert client(replica, data(1, 0)) == Error.NONE
    assert replica.begin_verification(data(2, 0), Mode.ADD).asks, "a partition must join all the same"


# ---------------------------------------------------------------- readers


def test_the_last_stable_offset_is_that_of_the_earliest_open_transaction() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0, 2))
    verified(replica, data(2, 0))
    assert (replica.first_unstable_offset, replica.last_stable_offset) == (0, 0)
    end(replica, 1)
    assert (replica.first_unstable_offset, replica.last_stable_offset) == (2, 2)
    end(replica, 2)
    assert (replica.first_unstable_offset, replica.last_stable_offset) == (NONE, 5)


def test_a_transaction_that_has_ended_is_unstable_until_its_marker_is_replicated() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0))
    replica.high_watermark = 1
    end(replica, 1)
    assert (replica.producers.first_undecided_offset, replica.first_unstable_offset) == (NONE, 0)
    replica.high_watermark = 2
    assert (replica.first_unstable_offset, replica.last_stable_offset) == (NONE, 2)


def test_read_committed_ends_at_the_last_stable_offset_and_names_the_aborted() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0, 2))
    end(replica, 1, committed=False)
    verified(replica, data(2, 0))
    committed, uncommitted = replica.fetch(0, COMMITTED), replica.fetch(0, UNCOMMITTED)
    assert [batch.base_offset for batch in committed.batches] == [0, 2]
    assert committed.aborted == ((1, 0),)
    assert [batch.base_offset for batch in uncommitted.batches] == [0, 2, 3]
    assert uncommitted.aborted is None
    assert [replica.listed_offset(LATEST, each).offset for each in (COMMITTED, UNCOMMITTED)] == [3, 4]


def test_a_fetch_is_told_of_what_its_batches_need_and_of_little_behind_them() -> None:
    replica = Place().leader()
    for producer_id in range(400):
        verified(replica, data(producer_id, 0))
        end(replica, producer_id, committed=producer_id % 4 == 0)
    assert len(replica.aborted) == 300
    delivered, offset = list[int](), 0
    while (fetched := replica.fetch(offset, COMMITTED, Room(most_bytes=1))).batches:
        aborted = dict(fetched.aborted or ())
        assert len(aborted) < 60
        assert min(aborted.values(), default=offset) >= offset - 1
        (batch,) = fetched.batches
        if not batch.is_control and aborted.get(batch.producer_id) != batch.base_offset:
            delivered.append(batch.producer_id)
        offset = batch.last_offset + 1
    assert (offset, delivered) == (800, list(range(0, 400, 4)))


def test_behind_the_marker_nobody_is_told_of_the_aborted_transaction() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0))
    end(replica, 1, committed=False)
    replica.append(plain(1), 0, Origin.CLIENT)
    assert replica.fetch(1, COMMITTED).aborted == ((1, 0),)
    assert replica.fetch(2, COMMITTED).aborted == ()


def test_the_time_of_a_record_is_told_in_64_bits_whatever_its_batch_says() -> None:
    replica = Place().leader()
    records = Record(None, b"a", timestamp_ms=1), Record(None, b"b", timestamp_ms=2**63 + 5)
    replica.append(replace(plain(2), records=records, timestamp_ms=7), 0, Origin.CLIENT)
    told = replica.listed_offset(7, UNCOMMITTED)
    assert (told.offset, told.timestamp_ms) == (1, 5 - 2**63)


@pytest.mark.parametrize(("offset", "error"), [(-1, 1), (0, 0), (2, 0), (3, 1)])
def test_a_fetch_outside_of_the_log_is_refused(offset: int, error: int) -> None:
    replica = Place().leader()
    replica.append(plain(2), 0, Origin.CLIENT)
    fetched = replica.fetch(offset, COMMITTED)
    assert fetched.error == error
    assert (fetched.high_watermark, fetched.aborted) == ((2, ()) if not error else (NONE, None))


def test_below_the_log_start_nothing_is_unstable_and_producers_are_remembered() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0, 3))
    verified(replica, data(1, 3, 3))
    replica.raise_log_start(3)
    assert replica.first_unstable_offset == 3
    assert replica.describe_producers().producers[0].txn_start_offset == 0
    assert replica.fetch(2, UNCOMMITTED).error == Error.OFFSET_OUT_OF_RANGE


# ---------------------------------------------------------------- restarts and elections


@pytest.mark.parametrize("clean", [True, False])
def test_after_a_restart_only_the_newest_batch_of_a_producer_is_recognised(clean: bool) -> None:
    place = Place()
    replica = place.leader()
    for sequence in range(3):
        numbered(replica, sequence)
    if clean:
        replica.stop()
    replica = place.restart(clean=clean)
    assert numbered(replica, 2) == 2
    assert numbered(replica, 1) == -Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert numbered(replica, 3) == 3


@pytest.mark.parametrize("clean", [True, False])
def test_open_and_aborted_transactions_survive_a_restart(clean: bool) -> None:
    place = Place()
    replica = place.leader()
    verified(replica, data(1, 0))
    verified(replica, data(2, 0))
    end(replica, 1, committed=False, coordinator=7)
    before = replica.describe_producers(), tuple(replica.aborted), replica.last_stable_offset
    if clean:
        replica.stop()
    replica = place.restart(clean=clean)
    assert (replica.describe_producers(), tuple(replica.aborted), replica.last_stable_offset) == before
    assert end(replica, 1, coordinator=6).error == Error.TRANSACTION_COORDINATOR_FENCED
    assert replica.append(data(2, 1), 0, Origin.CLIENT).error == Error.NONE, "the open transaction goes on"


@pytest.mark.parametrize("clean", [True, False])
def test_a_guard_does_not_survive_a_restart(clean: bool) -> None:
    place = Place()
    replica = place.leader()
    guard = replica.begin_verification(data(1, 0), Mode.GENERIC).guard
    if clean:
        replica.stop()
    replica = place.restart(clean=clean)
    assert replica.append(data(1, 0), guard, Origin.CLIENT).error == Error.INVALID_TXN_STATE


@pytest.mark.parametrize("clean", [True, False])
def test_a_producer_that_is_due_to_be_forgotten_does_not_come_back(clean: bool) -> None:
    place = Place(settings=Settings(producer_id_expiration_ms=1000))
    replica = place.leader()
    numbered(replica, 0)
    verified(replica, data(2, 0))
    place.clock.advance(1000)
    if clean:
        replica.stop()
    replica = place.restart(clean=clean)
    assert list(replica.producers) == [2], "the open transaction keeps its producer"
    assert numbered(replica, 17) == 2


def test_a_follower_that_is_elected_knows_what_the_leader_knew() -> None:
    place = Place()
    leader, follower = place.leader(), replace(place, log=MemoryLog()).replica()
    for sequence in range(5):
        numbered(leader, sequence)
    verified(leader, data(2, 0))
    copied(list(leader.log.read()), follower)
    leader.follow(1)
    follower.lead(1)
    assert follower.describe_producers() == leader.describe_producers()
    assert follower.last_stable_offset == leader.last_stable_offset
    assert numbered(follower, 0) == 0, "the oldest of five batches is a duplicate here too"


def test_a_follower_takes_what_no_client_may_send() -> None:
    follower = Place().replica()
    copied([data(1, 0, at=0), data(1, 7, at=1), data(1, 3, epoch=0, at=2)], follower)
    assert follower.describe_producers().producers[0].last_sequence == 3


def test_a_log_that_holds_what_cannot_be_is_reported() -> None:
    follower = Place().replica()
    copied([data(1, 0, at=0)], follower)
    with pytest.raises(ValueError, match="producer id 1 at offset 1 cannot be in a log"):
        copied([data(1, 1, transactional=False, at=1)], follower)


def test_what_is_cut_off_is_forgotten() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0))
    end(replica, 1, committed=False)
    verified(replica, data(2, 0))
    replica.truncate(1)
    assert (replica.first_unstable_offset, len(replica.aborted), list(replica.producers)) == (0, 0, [1])
    end(replica, 1, committed=False)
    replica.high_watermark = 1
    replica.truncate_fully_and_start_at(30)
    assert (replica.high_watermark, len(replica.aborted), replica.producers.map_end_offset) == (30, 0, 30)
    assert (replica.first_unstable_offset, replica.log.end_offset, list(replica.producers)) == (NONE, 30, [])


def test_the_high_watermark_is_never_behind_the_end_of_the_log() -> None:
    replica = Place().leader()
    replica.append(plain(1), 0, Origin.CLIENT)
    replica.append(plain(2), 0, Origin.CLIENT)
    replica.high_watermark = 7
    assert replica.high_watermark == 3
    replica.truncate(1)
    assert replica.high_watermark == 1
    replica.high_watermark = None
    replica.append(plain(1), 0, Origin.CLIENT)
    assert replica.high_watermark == 2, "unless somebody says otherwise it is the end"


def test_memory_that_ends_where_the_log_does_is_kept_but_for_what_is_below_its_start() -> None:
    place = Place()
    replica = place.leader()
    verified(replica, data(1, 0))
    replica.high_watermark = 1
    end(replica, 1)
    for sequence in range(3):
        verified(replica, data(2, sequence))
    replica.producers.truncate_and_reload(log_start=2, log_end=5)
    assert replica.producers.readable(Reach(0, 5, 5)).first_unstable == 2
    assert numbered_in_memory(replica, 2) == 3


def numbered_in_memory(replica: Replica, producer_id: int) -> int:
    """How many batches of a producer are remembered."""
    entry = replica.producers.get(producer_id)
    return 0 if entry is None else entry.batch_count


def test_a_snapshot_that_is_damaged_is_passed_over() -> None:
    place = Place()
    replica = place.leader()
    numbered(replica, 0)
    replica.stop()
    place.snapshots.write(1, b"\0" * 10)
    replica = place.restart(clean=True)
    assert list(replica.producers) == [1]


def test_snapshots_are_taken_at_a_roll_and_at_a_stop_of_what_nobody_numbered_too() -> None:
    place = Place()
    replica = place.leader()
    numbered(replica, 0)
    replica.roll()
    replica.append(plain(2), 0, Origin.CLIENT)
    replica.stop()
    replica.stop()
    assert place.snapshots.offsets() == (1, 3)
    replica.raise_log_start(3)
    assert place.snapshots.offsets() == (3,)


def test_what_the_log_does_not_hold_any_more_is_not_unstable() -> None:
    replica = Place().leader()
    verified(replica, data(1, 0))
    replica.high_watermark = 1
    end(replica, 1)
    replica.append(plain(1), 0, Origin.CLIENT)
    assert replica.first_unstable_offset == 0
    replica.raise_log_start(2)
    assert replica.first_unstable_offset == NONE


# ---------------------------------------------------------------- small things


def test_a_batch_carries_the_epoch_of_the_leader_that_wrote_it() -> None:
    replica = Place().replica()
    replica.lead(3)
    assert replica.append(plain(1), 0, Origin.CLIENT).batch == replace(
        plain(1), leader_epoch=3, base_offset=0, timestamp_ms=1_000_000
    )


def test_late_is_what_is_open_for_longer_than_any_timeout() -> None:
    place = Place(settings=Settings(transaction_max_timeout_ms=1000))
    replica = place.leader()
    verified(replica, data(1, 0))
    place.clock.advance(301_000)
    assert not replica.has_late_transaction()
    place.clock.advance(1)
    assert replica.has_late_transaction()
    end(replica, 1)
    assert not replica.has_late_transaction()


def test_nobodys_batches_are_appended_unjudged_and_open_nothing() -> None:
    replica = Place().leader()
    assert replica.append(replace(plain(1), transactional=True), 0, Origin.CLIENT).base_offset == 0
    assert (replica.first_unstable_offset, len(replica.producers)) == (NONE, 0)


def test_every_move_is_in_the_journal() -> None:
    place = Place()
    replica = place.leader()
    verified(replica, data(1, 0))
    end(replica, 1)
    targets = [PartitionState(move.target).name for move in place.journal.moves]
    assert targets == ["VERIFYING", "IN_TRANSACTION", "IDLE"]
    assert [decided.row for decided in place.journal.decisions] == [Row.STEP_3, Row.A7, Row.M5]


def test_a_replica_can_be_copied_and_goes_its_own_way() -> None:
    place = Place()
    replica = place.leader()
    numbered(replica, 0)
    other = copy.deepcopy(replica)
    numbered(other, 1)
    assert (replica.log.end_offset, other.log.end_offset) == (1, 2)
    assert numbered(replica, 1) == 1

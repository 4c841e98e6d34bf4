"""Late copies: whether they can ever count again is asked of the decisions, for all that can still come."""

from typing import Any, NamedTuple

import pytest

from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.decisions.produce import decide_append
from zombieproof.model.decisions.verdicts import append_accepted, transit
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, CoordinatorEvent, Mode, PartitionEvent, Row
from zombieproof.statemachines.coordinator import late_copies as at_coordinator
from zombieproof.statemachines.partition_leader import late_copies as at_leader
from zombieproof.statemachines.partition_leader.late_copies import Copy

NEWEST, OLD = Rules(), preset("3.9")


class Batch(NamedTuple):
    producer_epoch: int = 5
    base_sequence: int = 3
    last_sequence: int = 3
    transactional: bool = True
    producer_id: int = 7


class Marker(NamedTuple):
    producer_epoch: int = 5
    committed: bool = True
    coordinator_epoch: int = 0
    transaction_version: int = 0
    producer_id: int = 7


class Request(NamedTuple):
    version: int = 3
    producer_epoch: int = 5
    committed: bool = True
    partitions: int = 1
    producer_id: int = 7


def copy(known_epoch: int, **changed: Any) -> Copy:
    return Copy(False, 0, Mode.ADD, False, known_epoch, False)._replace(**changed)


@pytest.mark.parametrize("known_epoch", [NONE, 4, 5])
@pytest.mark.parametrize("transactional", [False, True])
def test_a_copy_of_an_epoch_that_still_counts_is_kept(known_epoch: int, transactional: bool) -> None:
    assert at_leader.batch_can_count(Batch(transactional=transactional), copy(known_epoch), NEWEST)
    assert at_leader.marker_can_count(Marker(), known_epoch, False, NEWEST)


@pytest.mark.parametrize("is_verified", [False, True])
@pytest.mark.parametrize("transactional", [False, True])
def test_a_copy_below_the_epoch_that_its_leader_knows_is_refused_for_good(
    is_verified: int, transactional: bool
) -> None:
    late = copy(6, is_verified=is_verified, guard=is_verified)
    assert not at_leader.batch_can_count(Batch(transactional=transactional), late, NEWEST)
    assert not at_leader.marker_can_count(Marker(), 6, False, NEWEST)


def test_where_leaders_forget_it_may_count_again() -> None:
    assert at_leader.batch_can_count(Batch(), copy(6, forgets=1), NEWEST)
    assert at_leader.marker_can_count(Marker(), 6, True, NEWEST)


def test_until_4_0_it_leaves_a_guard_behind_before_it_is_refused() -> None:
    old = copy(6, mode=Mode.GENERIC)
    assert at_leader.batch_can_count(Batch(), old, OLD)
    assert not at_leader.batch_can_count(Batch(transactional=False), old, OLD), "nobody is asked about plain data"
    assert not at_leader.batch_can_count(Batch(), old._replace(is_verified=True, guard=1), OLD)


def test_until_3_9_refused_offsets_may_take_along_what_waits() -> None:
    late = copy(6, of_group=1, is_verified=1, guard=1)
    assert at_leader.batch_can_count(Batch(base_sequence=-1, last_sequence=-1), late, OLD)
    assert not at_leader.batch_can_count(Batch(base_sequence=-1, last_sequence=-1), late, NEWEST)


@pytest.mark.parametrize("sequence", [0, 3])
def test_without_fencing_an_epoch_can_come_back_and_its_copies_with_it(sequence: int) -> None:
    rules = with_switches(NEWEST, off=["epoch_fencing"])
    assert at_leader.batch_can_count(Batch(5, sequence, sequence, transactional=False), copy(6), rules)
    assert at_leader.marker_can_count(Marker(), 6, False, rules)


def test_a_new_rule_that_takes_old_batches_keeps_their_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    def takes_old_ones_into_open_transactions(entry: Any, *asked: Any) -> Any:
        if entry.txn_first_offset != NONE and entry.guard != 0:
            return append_accepted(Row.A7, PartitionEvent.CONTINUE)
        return known(entry, *asked)

    known = decide_append
    late = copy(6, is_verified=1, guard=2)
    assert not at_leader.batch_can_count(Batch(), late, NEWEST)
    monkeypatch.setattr(at_leader, "decide_append", takes_old_ones_into_open_transactions)
    assert at_leader.batch_can_count(Batch(), late, NEWEST)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("committed", [False, True])
def test_a_request_below_the_durable_epoch_moves_nothing_any_more(ends: bool, version: int, committed: bool) -> None:
    request = Request(version, committed=committed)
    assert not at_coordinator.request_can_count(request, ends, 6, NEWEST)
    assert at_coordinator.request_can_count(request, ends, 5, NEWEST)
    assert at_coordinator.request_can_count(request, ends, 4, NEWEST)


def test_without_the_strict_end_a_late_commit_may_still_commit() -> None:
    rules = with_switches(NEWEST, off=["strict_end"])
    assert at_coordinator.request_can_count(Request(), True, 6, rules)
    assert at_coordinator.request_can_count(Request(version=5), True, 6, rules)


def test_a_new_rule_that_lets_old_owners_end_keeps_their_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_what_is_prepared_behind(txn: Any, request: Any, *rest: Any) -> Any:
        if txn.producer_epoch > request.producer_epoch and txn.pending_state != NONE:
            return transit(Row.E6, CoordinatorEvent.ABORT, 7, 6, NONE, NONE, 0, 0)
        return known(txn, request, *rest)

    known = decide_end_txn
    monkeypatch.setattr(at_coordinator, "decide_end_txn", ends_what_is_prepared_behind)
    assert at_coordinator.request_can_count(Request(), True, 6, NEWEST)

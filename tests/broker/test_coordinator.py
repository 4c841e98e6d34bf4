"""The transaction coordinator between its requests, its log and its markers: reference §2."""

import copy
from dataclasses import replace

import pytest

from tests.broker.coordinator_host import FIRST, NAME, SECOND, Host, NoProducerIds, adding, ending, taking
from zombieproof.broker.cluster.metadata import NOBODY
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.coordinator.steps import InvalidTransition
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    ListTransactions,
    ListTransactionsAnswer,
    TransactionAdded,
    TransactionListing,
    TransactionToAdd,
)
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NONE, Error, TransactionState

S = TransactionState
TV0 = Rules(transaction_version=0)
UNAVAILABLE, LOST_LEADERSHIP = int(Error.NOT_ENOUGH_REPLICAS), int(Error.NOT_LEADER_OR_FOLLOWER)
REFUSED_INIT = InitProducerIdAnswer(int(Error.CONCURRENT_TRANSACTIONS))


def open_transaction(rules: Rules | None = None, settings: Settings | None = None) -> Host:
    """A host on which producer 4000 with epoch 0 has a transaction open in one partition."""
    host = Host(rules, settings=settings)
    assert host.ask(taking()) == InitProducerIdAnswer(0, 4000, 0)
    assert host.add(4000, 0, FIRST) == Error.NONE
    return host


def stepped(host: Host) -> None:
    """From now on nothing is durable before it is finished."""
    host.holds = True


# ---------------------------------------------------------------- a transaction, and its log


def test_a_transaction_goes_from_init_to_its_completion_record_by_record() -> None:
    host = open_transaction()
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(0, 4000, 1)
    (marker,) = host.write_markers()
    assert (marker.producer_epoch, marker.committed, marker.partitions) == (1, True, (FIRST,))
    values = [record.value for batch in host.log for record in batch.records]
    states = [value.state for value in values if isinstance(value, TransactionValue)]
    assert states == [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT]


def test_nothing_is_answered_before_its_record_is_durable() -> None:
    host = Host()
    stepped(host)
    for request in (taking(), adding(4000, 0, FIRST), ending(4000, 0, committed=False)):
        ticket = host.send(request)
        assert ticket not in host.replies
        assert host.send(taking()) in host.replies, "meanwhile the id is busy"
        host.finish()
        assert ticket in host.replies


def test_success_of_end_txn_does_not_wait_for_markers() -> None:
    host = open_transaction()
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(0, 4000, 1)
    assert host.describe().state == "PrepareCommit"
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(int(Error.CONCURRENT_TRANSACTIONS))
    host.write_markers()
    assert (host.describe().state, host.describe().partitions) == ("CompleteCommit", frozenset())


def test_a_failed_append_leaves_everything_as_it_was_and_can_be_tried_again() -> None:
    host = open_transaction()
    before = host.entry
    stepped(host)
    ticket = host.send(ending(4000, 0, committed=True))
    host.finish(UNAVAILABLE)
    assert host.replies[ticket] == EndTxnAnswer(int(Error.COORDINATOR_NOT_AVAILABLE))
    assert host.entry == before
    host.holds = False
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(0, 4000, 1)


def test_an_outcome_that_comes_twice_changes_nothing() -> None:
    host = Host()
    stepped(host)
    host.send(taking())
    append = host.waiting[0]
    host.finish()
    before = host.entry
    assert host.coordinator.appended(append, 0) == []
    assert host.entry == before


def test_a_durable_record_that_may_not_follow_is_an_internal_error() -> None:
    host = open_transaction()
    stepped(host)
    host.send(ending(4000, 0, committed=True))
    host.coordinator.entries(0)[NAME].pending_state = NONE
    with pytest.raises(InvalidTransition, match="may not follow"):
        host.finish()


# ---------------------------------------------------------------- who is the coordinator


@pytest.mark.parametrize("reload", ["elsewhere", "loading", "loaded again"])
def test_an_append_that_outlives_the_coordinator_changes_nothing(reload: str) -> None:
    host = open_transaction()
    stepped(host)
    ticket = host.send(ending(4000, 0, committed=True))
    host.coordinator.resign(0, 1)
    expected = {"elsewhere": Error.NOT_COORDINATOR, "loading": Error.COORDINATOR_LOAD_IN_PROGRESS}
    if reload != "elsewhere":
        host.coordinator.begin_loading(0, 2)
    if reload == "loaded again":
        host.carry_out(host.coordinator.finish_loading(0, 2, list(host.log)))
    refused = host.coordinator.may_append(host.waiting[0])
    assert refused == expected.get(reload, Error.NOT_COORDINATOR)
    host.finish()
    assert host.replies[ticket] == EndTxnAnswer(refused)
    if reload == "loaded again":
        assert (host.entry.state, host.entry.pending_state) == (S.ONGOING, NONE)


def test_an_append_that_is_refused_by_the_log_of_a_deposed_coordinator_says_so() -> None:
    host = open_transaction()
    stepped(host)
    ticket = host.send(ending(4000, 0, committed=True))
    host.coordinator.resign(0, 1)
    host.finish(LOST_LEADERSHIP)
    assert host.replies[ticket] == EndTxnAnswer(int(Error.NOT_COORDINATOR))


def test_ids_that_live_elsewhere_are_not_answered_for() -> None:
    host = Host()
    host.coordinator.resign(0, 1)
    error = int(Error.NOT_COORDINATOR)
    assert host.ask(taking()) == InitProducerIdAnswer(error)
    assert host.add(4000, 0, FIRST) == error
    assert host.add(4000, 0, FIRST, version=5) == error
    assert host.ask(AddOffsetsToTxn(3, NAME, 4000, 0, "g")) == AddOffsetsToTxnAnswer(error)
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(error)
    assert host.describe().error == error
    assert host.ask(ListTransactions(1)) == ListTransactionsAnswer(0)


def test_arguments_are_judged_before_ownership() -> None:
    host = Host()
    host.coordinator.resign(0, 1)
    nameless = EndTxnAnswer(int(Error.INVALID_REQUEST))
    assert host.ask(replace(ending(4000, 0, committed=True), transactional_id="")) == nameless
    assert host.ask(taking(name="")) == InitProducerIdAnswer(int(Error.INVALID_REQUEST))
    assert host.ask(AddOffsetsToTxn(3, "", 4000, 0, "g")) == AddOffsetsToTxnAnswer(int(Error.INVALID_REQUEST))
    assert host.describe("").error == Error.INVALID_REQUEST


def test_while_a_partition_is_loading_nothing_is_listed() -> None:
    host = open_transaction()
    host.coordinator.begin_loading(0, 1)
    assert host.ask(ListTransactions(1)) == ListTransactionsAnswer(int(Error.COORDINATOR_LOAD_IN_PROGRESS))
    assert host.describe().error == Error.COORDINATOR_LOAD_IN_PROGRESS


def test_a_load_that_lost_its_partition_installs_nothing() -> None:
    host = open_transaction()
    host.coordinator.begin_loading(0, 1)
    host.coordinator.resign(0, 2)
    assert host.coordinator.finish_loading(0, 1, host.log) == []
    assert host.coordinator.coordinator_epoch(0) is None
    assert host.coordinator.entries(0) == {}


def test_loading_folds_the_log_and_forgets_what_only_memory_had() -> None:
    host = open_transaction(TV0)
    host.ask(ending(4000, 0, committed=True, version=3))
    host.write_markers()
    assert host.ask(taking(4000, 0)) == InitProducerIdAnswer(0, 4000, 1)
    assert host.entry.last_producer_epoch == 0
    host.load(1)
    assert (host.entry.producer_epoch, host.entry.last_producer_epoch) == (1, NONE)
    assert host.coordinator.coordinator_epoch(0) == 1
    assert host.ask(taking(4000, 0)) == InitProducerIdAnswer(int(Error.PRODUCER_FENCED))


def test_a_log_may_hold_what_a_coordinator_does_not_know() -> None:
    host = open_transaction()
    foreign = Batch(records=(Record(b"of another version", None), Record("other", b"of another version")))
    host.log = [foreign, Batch(), *host.log, foreign]
    host.load(1)
    assert list(host.coordinator.entries(0)) == [NAME]


def test_a_load_that_comes_late_does_not_replace_a_newer_one() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    late = list(host.log)
    host.write_markers()
    host.coordinator.begin_loading(0, 1)
    host.coordinator.begin_loading(0, 2)
    host.coordinator.finish_loading(0, 2, list(host.log))
    assert host.coordinator.finish_loading(0, 1, late) == []
    assert host.coordinator.coordinator_epoch(0) == 2
    assert host.describe().state == "CompleteCommit"
    assert list(host.coordinator.entries(0)) == [NAME]


def test_whoever_loads_a_decided_transaction_sends_all_its_markers_again() -> None:
    host = open_transaction()
    host.add(4000, 0, SECOND)
    host.metadata.elect(SECOND, NOBODY)
    host.ask(ending(4000, 0, committed=False))
    host.write_markers()
    host.metadata.elect(SECOND, 1)
    host.load(1)
    markers = host.write_markers()
    assert {(each.coordinator_epoch, *each.partitions) for each in markers} == {(1, FIRST, SECOND)}
    assert host.describe().state == "CompleteAbort"


def test_a_coordinator_that_does_not_drive_what_it_loads_leaves_it_prepared() -> None:
    host = open_transaction(with_switches(Rules(), off=["reload_drives_markers"]))
    host.ask(ending(4000, 0, committed=False))
    host.load(1)
    assert host.write_markers() == []
    assert host.describe().state == "PrepareAbort"


# ---------------------------------------------------------------- fences


@pytest.mark.parametrize(("rules", "fenced_at", "granted"), [(Rules(), 1, 2), (TV0, 1, 2)])
def test_a_takeover_fences_aborts_and_has_to_be_asked_again(rules: Rules, fenced_at: int, granted: int) -> None:
    host = open_transaction(rules)
    assert host.ask(taking()) == REFUSED_INIT
    (marker,) = host.write_markers()
    assert (marker.producer_epoch, marker.committed) == (fenced_at, False)
    assert host.ask(taking()) == InitProducerIdAnswer(0, 4000, granted)


def test_a_failed_fence_of_version_0_counts_in_memory_and_is_not_raised_again() -> None:
    host = open_transaction(TV0)
    stepped(host)
    for _ in range(2):
        ticket = host.send(taking())
        host.finish(UNAVAILABLE)
        assert host.replies[ticket] == InitProducerIdAnswer(int(Error.COORDINATOR_NOT_AVAILABLE))
        entry = host.entry
        assert (entry.state, entry.producer_epoch, entry.failed_epoch_fence) == (S.ONGOING, 1, 1)
    host.send(taking())
    host.finish()
    assert (host.entry.state, host.entry.producer_epoch, host.entry.failed_epoch_fence) == (S.PREPARE_ABORT, 1, 0)


def test_a_failed_fence_of_version_2_leaves_the_owner_in_place() -> None:
    host = open_transaction()
    stepped(host)
    host.send(taking())
    host.finish(UNAVAILABLE)
    assert (host.entry.producer_epoch, host.entry.failed_epoch_fence) == (0, 0)
    host.holds = False
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(0, 4000, 1)


def test_a_fence_that_finds_no_producer_id_leaves_nothing_pending() -> None:
    host = open_transaction()
    entry = host.coordinator.entries(0)[NAME]
    entry.producer_epoch = 32766
    host.coordinator._steps.producer_ids = NoProducerIds()  # ids run out in the middle
    assert host.ask(taking()) == InitProducerIdAnswer(int(Error.COORDINATOR_LOAD_IN_PROGRESS))
    assert (host.entry.state, host.entry.pending_state, host.entry.producer_epoch) == (S.ONGOING, NONE, 32766)


def test_what_is_open_for_too_long_is_fenced_and_aborted_and_what_is_not_stays() -> None:
    host = open_transaction()
    host.clock.advance(60_000)
    host.carry_out(host.coordinator.abort_timed_out_transactions())
    assert host.describe().state == "Ongoing"
    host.clock.advance(1)
    host.carry_out(host.coordinator.abort_timed_out_transactions())
    assert (host.describe().state, host.describe().producer_epoch) == ("PrepareAbort", 1)
    host.write_markers()
    assert host.describe().state == "CompleteAbort"


def test_a_transaction_that_cannot_be_fenced_ends_the_sweep_for_all_behind_it() -> None:
    host = open_transaction(with_switches(Rules(), off=["last_epoch_recovery"]))
    host.ask(taking(name="other"))
    host.ask(adding(4001, 0, FIRST, name="other"))
    host.clock.advance(60_001)
    first = host.coordinator.entries(0)[NAME]
    first.producer_epoch = 32767
    host.carry_out(host.coordinator.abort_timed_out_transactions())
    assert host.describe("other").state == "Ongoing"
    first.producer_epoch = 0
    host.carry_out(host.coordinator.abort_timed_out_transactions())
    assert host.describe("other").state == "PrepareAbort"


def test_a_candidate_that_is_busy_when_its_turn_comes_is_passed_over() -> None:
    host = open_transaction()
    stepped(host)
    host.send(ending(4000, 0, committed=True))
    assert host.coordinator.fence_timed_out(NAME, 4000) is None
    assert host.entry.pending_state == S.PREPARE_COMMIT


def test_a_client_that_ends_what_is_being_fenced_is_told_to_wait_or_takes_over() -> None:
    host = open_transaction()
    end = host.coordinator.fence_timed_out(NAME, 4000)
    assert end is not None
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(int(Error.UNKNOWN_SERVER_ERROR))
    assert host.ask(ending(4000, 0, committed=False)) == EndTxnAnswer(0, 4000, 1)
    assert host.coordinator.end_by_server(end) == []
    assert (host.entry.state, host.entry.pending_state) == (S.PREPARE_ABORT, S.COMPLETE_ABORT)


# ---------------------------------------------------------------- markers and completion


def test_a_completion_that_could_not_be_appended_is_tried_again() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    stepped(host)
    host.write_markers()
    host.finish(UNAVAILABLE)
    assert (host.entry.state, host.entry.pending_state) == (S.PREPARE_COMMIT, S.COMPLETE_COMMIT)
    assert host.write_markers() == []
    host.finish()
    assert host.entry.state == S.COMPLETE_COMMIT


def test_a_completion_that_waits_to_be_tried_again_is_dropped_with_its_partition() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    stepped(host)
    host.write_markers()
    host.finish(UNAVAILABLE)
    assert host.coordinator.is_driving(NAME)
    host.coordinator.resign(0, 1)
    assert not host.coordinator.is_driving(NAME)
    assert host.write_markers() == []
    assert host.waiting == []


def test_a_transaction_is_driven_from_its_decision_to_its_completion() -> None:
    host = open_transaction()
    assert not host.coordinator.is_driving(NAME)
    host.ask(ending(4000, 0, committed=True))
    assert host.coordinator.is_driving(NAME)
    stepped(host)
    host.write_markers()
    assert host.coordinator.is_driving(NAME)
    host.finish()
    assert not host.coordinator.is_driving(NAME)


def test_a_completion_that_failed_for_good_leaves_the_transaction_without_a_driver() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    stepped(host)
    host.write_markers()
    host.finish(int(Error.MESSAGE_TOO_LARGE))
    assert (host.entry.state, host.entry.pending_state) == (S.PREPARE_COMMIT, NONE)
    assert host.write_markers() == []
    assert host.waiting == []


def test_a_completion_carries_the_time_of_the_decision() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    decided_ms = host.clock.now_ms()
    host.clock.advance(500)
    host.write_markers()
    assert host.entry.last_update_ms == decided_ms


def test_a_refused_marker_leaves_the_id_busy_until_it_is_loaded_again() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    host.write_markers(int(Error.INVALID_PRODUCER_EPOCH))
    assert host.write_markers() == []
    assert host.ask(taking()) == REFUSED_INIT
    host.load(1)
    host.write_markers()
    assert host.ask(taking()) == InitProducerIdAnswer(0, 4000, 2)


def test_partitions_that_have_their_marker_are_struck_off_one_by_one() -> None:
    host = open_transaction(with_switches(Rules(), on=["marker_waits_for_leader"]))
    host.add(4000, 0, SECOND)
    host.metadata.elect(SECOND, NOBODY)
    host.ask(ending(4000, 0, committed=True))
    host.write_markers()
    assert host.describe().partitions == frozenset({SECOND})
    host.metadata.elect(SECOND, 1)
    host.write_markers()
    assert host.describe().state == "CompleteCommit"


# ---------------------------------------------------------------- joining


def test_several_transactions_of_one_request_are_answered_together_when_the_last_is_durable() -> None:
    host = Host()
    host.ask(taking())
    host.ask(taking(name="orders-2"))
    stepped(host)
    request = AddPartitionsToTxn(
        5,
        (
            TransactionToAdd(NAME, 4000, 0, (FIRST,)),
            TransactionToAdd("orders-2", 4001, 0, (FIRST, SECOND)),
            TransactionToAdd("orders-3", 4002, 0, (FIRST,)),
            TransactionToAdd(NAME, 4000, 0, (FIRST, SECOND), verify_only=True),
        ),
    )
    ticket = host.send(request)
    host.finish()
    assert ticket not in host.replies
    host.finish(UNAVAILABLE)
    outside = int(Error.TRANSACTION_ABORTABLE)
    assert host.replies[ticket] == AddPartitionsToTxnAnswer(
        0,
        (
            TransactionAdded(NAME, {FIRST: 0}),
            TransactionAdded("orders-2", dict.fromkeys((FIRST, SECOND), int(Error.COORDINATOR_NOT_AVAILABLE))),
            TransactionAdded("orders-3", {FIRST: int(Error.INVALID_PRODUCER_ID_MAPPING)}),
            TransactionAdded(NAME, {FIRST: outside, SECOND: outside}),
        ),
    )


@pytest.mark.parametrize(
    ("name", "resigned", "error"),
    [("", False, Error.INVALID_REQUEST), (None, False, Error.INVALID_REQUEST), (NAME, True, Error.NOT_COORDINATOR)],
)
@pytest.mark.parametrize("verify_only", [True, False])
def test_a_transaction_that_cannot_be_looked_up_refuses_all_its_partitions(
    name: str | None, resigned: bool, error: int, verify_only: bool
) -> None:
    host = open_transaction()
    if resigned:
        host.coordinator.resign(0, 1)
    answer = host.ask(AddPartitionsToTxn(5, (TransactionToAdd(name, 4000, 0, (FIRST, SECOND), verify_only),)))
    errors = dict.fromkeys((FIRST, SECOND), int(error))
    assert answer == AddPartitionsToTxnAnswer(0, (TransactionAdded(name, errors),))


def test_partitions_that_joined_before_join_again_without_a_record() -> None:
    host = open_transaction()
    before = len(host.log)
    assert host.add(4000, 0, FIRST) == Error.NONE
    assert len(host.log) == before


def test_a_request_that_names_no_transaction_is_not_answered() -> None:
    host = Host()
    assert host.send(AddPartitionsToTxn(5, ())) not in host.replies


def test_an_operation_of_version_2_cannot_be_written_at_version_0_and_blocks_the_id_until_it_is_loaded() -> None:
    host = Host(TV0)
    host.ask(taking())
    both = (TransactionToAdd(NAME, 4000, 0, (FIRST,)), TransactionToAdd(NAME, 4000, 0, (FIRST,)))
    unsupported = AddPartitionsToTxnAnswer(int(Error.UNSUPPORTED_VERSION), ())
    assert host.ask(AddPartitionsToTxn(5, both)) == unsupported
    assert host.add(4000, 0, FIRST) == Error.CONCURRENT_TRANSACTIONS
    host.load(1)
    assert host.add(4000, 0, FIRST) == Error.NONE
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(int(Error.UNSUPPORTED_VERSION))
    assert host.ask(ending(4000, 0, committed=True, version=3)) == EndTxnAnswer(int(Error.CONCURRENT_TRANSACTIONS))


def test_offsets_join_by_the_partition_of_their_group() -> None:
    host = Host()
    host.ask(taking())
    assert host.ask(AddOffsetsToTxn(4, NAME, 4000, 0, "g")) == AddOffsetsToTxnAnswer(0)
    assert host.describe().partitions == frozenset({("__consumer_offsets", 0)})
    assert host.ask(AddOffsetsToTxn(1, NAME, 4000, 1, "g")) == AddOffsetsToTxnAnswer(int(Error.INVALID_PRODUCER_EPOCH))
    assert host.ask(AddOffsetsToTxn(2, NAME, 4000, 1, "g")) == AddOffsetsToTxnAnswer(int(Error.PRODUCER_FENCED))


# ---------------------------------------------------------------- producer ids


def test_without_a_transactional_id_every_request_gets_a_producer_id_of_its_own() -> None:
    host = Host()
    answers = [host.ask(taking(name=None)) for _ in range(2)]
    assert answers == [InitProducerIdAnswer(0, 4000, 0), InitProducerIdAnswer(0, 4001, 0)]
    assert host.log == []


def test_where_no_producer_id_can_be_allocated_the_client_asks_again() -> None:
    host = Host(producer_ids=NoProducerIds())
    again = InitProducerIdAnswer(int(Error.COORDINATOR_LOAD_IN_PROGRESS))
    assert host.ask(taking(name=None)) == again
    assert host.ask(taking()) == again
    assert host.coordinator.entries(0) == {}


def test_a_producer_id_is_allocated_only_where_it_is_needed() -> None:
    host = open_transaction()
    host.ask(ending(4000, 0, committed=True))
    host.write_markers()
    host.ask(taking())
    host.coordinator.entries(0)[NAME].producer_epoch = 32766
    assert host.ask(taking()) == InitProducerIdAnswer(0, 4001, 0)


def test_a_participant_keeps_what_is_prepared_and_ends_it_with_what_it_was_granted() -> None:
    host = open_transaction(preset("kip939"), Settings(transaction_two_phase_commit_enable=True))
    keep = InitProducerId(6, NAME, 60_000, enable_2pc=True, keep_prepared=True)
    assert host.ask(keep) == InitProducerIdAnswer(0, 4000, 1, 4000, 0)
    assert host.ask(ending(4000, 0, committed=True)) == EndTxnAnswer(int(Error.PRODUCER_FENCED))
    assert host.ask(ending(4000, 1, committed=True)) == EndTxnAnswer(0, 4000, 2)
    (marker,) = host.write_markers()
    assert (marker.producer_id, marker.producer_epoch) == (4000, 1)


# ---------------------------------------------------------------- sweeps and readings


def test_an_unused_id_is_forgotten_with_a_tombstone_and_asked_again_is_new() -> None:
    host = Host(settings=Settings(transactional_id_expiration_ms=1000))
    host.ask(taking())
    host.clock.advance(999)
    host.carry_out(host.coordinator.remove_expired_ids())
    assert host.describe().error == Error.NONE
    host.clock.advance(1)
    host.carry_out(host.coordinator.remove_expired_ids())
    assert host.log[-1].records[0].value is None
    assert host.describe().error == Error.TRANSACTIONAL_ID_NOT_FOUND
    assert host.ask(taking()) == InitProducerIdAnswer(0, 4001, 0)
    host.load(1)
    assert host.entry.producer_id == 4001


def test_an_id_whose_tombstone_could_not_be_written_lives_on() -> None:
    host = Host(settings=Settings(transactional_id_expiration_ms=1000))
    host.ask(taking())
    host.clock.advance(1000)
    stepped(host)
    host.carry_out(host.coordinator.remove_expired_ids())
    assert host.ask(taking()) == REFUSED_INIT
    host.finish(UNAVAILABLE)
    host.send(taking())
    host.finish()
    assert host.entry.producer_epoch == 1


def test_transactions_are_listed_by_state_producer_age_and_pattern() -> None:
    host = open_transaction()
    host.ask(taking(name="other"))
    both = (TransactionListing(NAME, 4000, "Ongoing"), TransactionListing("other", 4001, "Empty"))
    host.clock.advance(1000)
    for request, expected in (
        (ListTransactions(0), both),
        (ListTransactions(0, states=("Ongoing",)), both[:1]),
        (ListTransactions(0, producer_ids=(4001, 9)), both[1:]),
        (ListTransactions(1, states=("Ongoing",), duration_ms=999), both[:1]),
        (ListTransactions(1, states=("Ongoing",), duration_ms=1000), ()),
        (ListTransactions(2, pattern="o.*s-[0-9]"), both[:1]),
        (ListTransactions(2, pattern="orders"), ()),
    ):
        assert host.ask(request) == ListTransactionsAnswer(0, expected)
    told_back = ListTransactionsAnswer(0, (), ("Nonsense",))
    assert host.ask(ListTransactions(0, states=("Nonsense",))) == told_back
    malformed = ListTransactionsAnswer(int(Error.INVALID_REGULAR_EXPRESSION))
    assert host.ask(ListTransactions(2, pattern="(ab(cd")) == malformed


def test_a_pattern_that_backtracks_without_end_elsewhere_is_matched_in_no_time() -> None:
    host = Host()
    name = "a" * 5000 + "b"
    host.ask(taking(name=name))
    assert host.ask(ListTransactions(2, pattern="(a+)+")) == ListTransactionsAnswer(0)


def test_a_copy_goes_its_own_way_from_any_point() -> None:
    host = open_transaction()
    stepped(host)
    ticket = host.send(ending(4000, 0, committed=True))
    other = copy.deepcopy(host)
    host.finish()
    other.finish(UNAVAILABLE)
    assert (host.entry.state, other.entry.state) == (S.PREPARE_COMMIT, S.ONGOING)
    assert host.replies[ticket] != other.replies[ticket]

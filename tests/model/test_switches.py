"""Each switch changes what it says: the same question with the rule on and off."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions import (
    add_partitions_to_txn,
    allocate_producer_ids,
    consumer_group_heartbeat,
    coordinator_elections,
    delete_groups,
    end_txn,
    fetch,
    group_log,
    init_producer_id,
    leave_group,
    log_append,
    log_cleaning,
    marker_delivery,
    offset_fetch,
    produce,
    producer_batches,
    producer_client,
    replication,
    transaction_timeout,
    transactional_id_expiration,
    transition,
    txn_offset_commit,
    verification,
    write_txn_markers,
)
from zombieproof.model.decisions.consumer_group_heartbeat import HeartbeatFacts
from zombieproof.model.decisions.group_members import Identity
from zombieproof.model.decisions.log_append import Aftermath
from zombieproof.model.records import CachedBatch, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.rules import Rules, preset, switches, with_switches
from zombieproof.model.vocabulary import (
    NONE,
    NOTHING,
    ApiKey,
    ClassicGroupEvent,
    Error,
    GroupEvent,
    Isolation,
    MembershipEvent,
    Mode,
    Origin,
    PartitionEvent,
    PendingOffsetsState,
    Reaction,
    Row,
    TransactionState,
)

Question = Callable[[Rules], Any]
DUPLICATE = PartitionEvent.NOTHING


def txn(**changes: Any) -> Transaction:
    facts = {"known": True, "producer_id": 4000, "producer_epoch": 7, "last_producer_epoch": 6, "partitions": 0b01}
    return Transaction(**(facts | changes))


def ask(**facts: Any) -> Any:
    usual = {"version": 4, "producer_id": 4000, "producer_epoch": 7, "committed": 0, "partitions": 0b10}
    return SimpleNamespace(**(usual | facts))


def batch(producer_epoch: int, first: int, transactional: int) -> Any:
    return SimpleNamespace(
        producer_id=4000,
        producer_epoch=producer_epoch,
        base_sequence=first,
        last_sequence=first,
        transactional=transactional,
    )


def marker(producer_epoch: int, coordinator_epoch: int = 3) -> Any:
    return SimpleNamespace(
        producer_epoch=producer_epoch, committed=1, coordinator_epoch=coordinator_epoch, transaction_version=2
    )


def entry(**changes: Any) -> ProducerEntry:
    made = ProducerEntry()
    for name, value in ({"known": True, "producer_epoch": 7, "batch_count": 1} | changes).items():
        setattr(made, name, value)
    made.batches[0] = CachedBatch(last_sequence=4, offset_delta=0, last_offset=40)
    return made


def appended(what: ProducerEntry, data: Any, guard: int = 0, origin: int = Origin.CLIENT) -> Question:
    def question(rules: Rules) -> tuple[int, int]:
        verdict = produce.decide_append(what, data, guard, origin, rules)
        return verdict.error, verdict.event

    return question


def marked(what: ProducerEntry, end: Any) -> Question:
    def question(rules: Rules) -> tuple[int, int]:
        verdict = write_txn_markers.decide_marker(what, end, Origin.COORDINATOR, rules)
        return verdict.error, verdict.event

    return question


def fenced_end(**changes: Any) -> Question:
    """The epoch and the next producer id with which the server ends a fenced transaction."""
    fenced = txn(state=TransactionState.ONGOING, pending_state=TransactionState.PREPARE_EPOCH_FENCE, **changes)
    request = ask(version=5, producer_epoch=fenced.producer_epoch + 1)

    def question(rules: Rules) -> tuple[int, int]:
        verdict = end_txn.decide_end_txn(fenced, request, rules, False, 6000)
        return verdict.producer_epoch, verdict.next_producer_id

    return question


def loaded(rules: Rules) -> int:
    found = Transaction()
    transition.load(found, txn(previous_producer_id=3999), -1, rules)
    return found.previous_producer_id


def repeated_after_a_failover(rules: Rules) -> int:
    """The error of an InitProducerId that is repeated at a coordinator that has loaded its record."""
    held, logged, found = txn(state=TransactionState.EMPTY, partitions=0), Transaction(), Transaction()
    transition.write(logged, held, rules)
    transition.load(found, logged, -1, rules)
    return init_producer_id.decide_init_producer_id(found, ask(producer_epoch=6), rules, 6000).error


def failed_fence(rules: Rules) -> int:
    after = txn(pending_state=TransactionState.PREPARE_ABORT)
    transition.give_up(after, True, rules)
    return after.failed_epoch_fence


def stale_commit(rules: Rules) -> int:
    group = SimpleNamespace(known=True, dead=False, empty=False, generation=4)
    request = SimpleNamespace(version=5, generation=3, member=1, instance=NONE)
    return txn_offset_commit.decide_txn_offset_commit(group, request, True, False, False, rules).error


def uninitialised(rules: Rules) -> int:
    """The start time in memory after InitProducerId."""
    after = txn(state=TransactionState.COMPLETE_COMMIT, start_ms=1000)
    transition.complete_by(after, txn(state=TransactionState.EMPTY, start_ms=NONE), rules)
    return after.start_ms


def commit_to_absent_group(rules: Rules) -> int:
    absent = SimpleNamespace(known=False, dead=False, empty=True, generation=NONE)
    request = SimpleNamespace(version=5, generation=1, member=1, instance=NONE)
    return txn_offset_commit.decide_txn_offset_commit(absent, request, False, False, False, rules).error


OPEN = txn(state=TransactionState.ONGOING)
AT_LAST_EPOCH = txn(state=TransactionState.ONGOING, producer_epoch=32767)
VERIFYING = {"guard": 99, "guard_epoch": 8, "lowest_sequence": 0}


def aftermath_of(error: Error, rules: Rules) -> int:
    """What becomes of a completion whose append is answered with an error, while its coordinator is in office."""
    return log_append.decide_append_outcome(error, Error.NONE, True, True, True, rules).aftermath


SWITCHES: dict[str, tuple[Question, Any, Any]] = {
    "duplicate_check": (appended(entry(), batch(7, 4, 0)), (0, DUPLICATE), (45, DUPLICATE)),
    "sequence_check": (appended(entry(), batch(7, 6, 0)), (45, 0), (0, PartitionEvent.APPEND)),
    "epoch_fencing": (appended(entry(), batch(6, 0, 0), origin=Origin.COORDINATOR), (47, 0), (0, 2)),
    "markers_before_completion": (
        lambda rules: marker_delivery.decide_completion(txn(state=2), 0, True, rules).row,
        Row.C1,
        Row.C5,
    ),
    "init_raises_epoch": (
        lambda rules: (
            init_producer_id.decide_init_producer_id(txn(), ask(producer_id=NONE), rules, NONE).producer_epoch
        ),
        8,
        7,
    ),
    "only_idle_ids_expire": (
        lambda rules: transactional_id_expiration.decide_expiration(OPEN, 1000, 100, rules).row,
        Row.Y1,
        Row.Y2,
    ),
    "answers_wait": (lambda rules: replication.is_everywhere(3, 4, rules), False, True),
    "watermark_bound": (lambda rules: replication.readable_end(3, 4, rules), 3, 4),
    "stable_waits_for_marker": (lambda rules: replication.holds_back(3, 3, rules), True, False),
    "cut_log_reloads": (replication.reloads_when_cut, True, False),
    "stable_bound": (lambda rules: fetch.fetch_bound(Isolation.READ_COMMITTED, 10, 4, rules), 4, 10),
    "aborted_list_last": (fetch.bound_comes_first, True, False),
    "cleaner_stops_at_stable": (lambda rules: log_cleaning.end_of_pass(4, 10, rules), 4, 10),
    "marker_outlives_data": (
        lambda rules: log_cleaning.fate_of_marker(True, False, True, True, rules),
        log_cleaning.MarkerFate.STAYS,
        log_cleaning.MarkerFate.LOSES_IT,
    ),
    "last_batch_outlives_records": (
        lambda rules: log_cleaning.stays_without_records(True, False, rules),
        True,
        False,
    ),
    "snapshot_keeps_open": (lambda rules: log_cleaning.opened_in_snapshot(40, rules), 40, NONE),
    "producers_outlive_records": (lambda rules: log_cleaning.outlives_records(39, 40, rules), True, False),
    "kip360": (
        lambda rules: init_producer_id.decide_init_producer_id(txn(), ask(producer_epoch=6), rules, NONE).row,
        Row.I11E,
        Row.I11C,
    ),
    "kip447_fence": (stale_commit, Error.ILLEGAL_GENERATION, Error.NONE),
    "kip447_stable": (lambda rules: offset_fetch.decide_offset_fetch(True, 1, rules), Error.UNSTABLE_OFFSET_COMMIT, 0),
    "kip588": (
        lambda rules: producer_client.react_to_produce(Error.INVALID_PRODUCER_EPOCH, True, True, rules),
        Reaction.ABORTABLE_AND_BUMP,
        Reaction.FATAL,
    ),
    "mapping_fatal": (
        lambda rules: producer_client.react(ApiKey.END_TXN, Error.INVALID_PRODUCER_ID_MAPPING, True, rules),
        Reaction.FATAL,
        Reaction.ABORTABLE_AND_BUMP,
    ),
    "refused_init_starts_over": (
        lambda rules: producer_client.react(
            ApiKey.INIT_PRODUCER_ID, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, False, rules
        ),
        Reaction.ABORTABLE,
        Reaction.FATAL,
    ),
    "retries_by_class": (
        lambda rules: producer_client.react(ApiKey.END_TXN, Error.REQUEST_TIMED_OUT, False, rules),
        Reaction.RETRY,
        Reaction.FATAL,
    ),
    "commit_retries_by_class": (
        lambda rules: producer_client.react(ApiKey.TXN_OFFSET_COMMIT, Error.CONCURRENT_TRANSACTIONS, False, rules),
        Reaction.RETRY,
        Reaction.FATAL,
    ),
    "commit_waits_for_load": (
        lambda rules: producer_client.react(ApiKey.TXN_OFFSET_COMMIT, Error.COORDINATOR_LOAD_IN_PROGRESS, False, rules),
        Reaction.RETRY,
        Reaction.FATAL,
    ),
    "kip1050": (
        lambda rules: producer_client.error_for_application(Error.INVALID_TXN_STATE, True, 1, rules),
        Error.TRANSACTION_ABORTABLE,
        Error.INVALID_TXN_STATE,
    ),
    "timeout_bump": (lambda rules: transaction_timeout.decide_timeout(OPEN, 4000, rules).producer_epoch, 8, 7),
    "fence_bump": (
        lambda rules: init_producer_id.decide_init_producer_id(OPEN, ask(), rules, NONE).producer_epoch,
        8,
        7,
    ),
    "fence_failed_flag": (failed_fence, 1, 0),
    "strict_end": (
        lambda rules: end_txn.decide_end_txn(OPEN, ask(producer_epoch=6), rules, True, NONE).error,
        Error.PRODUCER_FENCED,
        Error.NONE,
    ),
    "end_refuses_higher_epoch": (
        lambda rules: end_txn.decide_end_txn(OPEN, ask(producer_epoch=8), rules, True, NONE).error,
        Error.PRODUCER_FENCED,
        Error.NONE,
    ),
    "verification": (appended(entry(), batch(7, 5, 1)), (48, 0), (0, PartitionEvent.BEGIN)),
    "verification_guard": (appended(entry(), batch(7, 5, 1), guard=98), (48, 0), (0, PartitionEvent.BEGIN)),
    "questions_follow": (
        lambda rules: [verification.asks_what_waits(n, rules) for n in (0, 2)],
        [False, True],
        [False] * 2,
    ),
    "guard_lowest_seq": (appended(entry(**VERIFYING), batch(7, 5, 1), guard=99), (45, 0), (0, PartitionEvent.BEGIN)),
    "abortable_code": (
        lambda rules: add_partitions_to_txn.decide_verify_partitions(OPEN, ask(), rules).error,
        Error.TRANSACTION_ABORTABLE,
        Error.INVALID_TXN_STATE,
    ),
    "pending_first": (
        lambda rules: (
            add_partitions_to_txn.decide_add_partitions_to_txn(
                txn(pending_state=TransactionState.COMPLETE_COMMIT), ask(producer_id=6000), rules
            ).error
        ),
        Error.CONCURRENT_TRANSACTIONS,
        Error.INVALID_PRODUCER_ID_MAPPING,
    ),
    "epoch_aware_ongoing": (
        appended(entry(txn_first_offset=40), batch(8, 0, 1)),
        (48, 0),
        (0, PartitionEvent.CONTINUE),
    ),
    "stale_epoch_first": (
        lambda rules: verification.decide_verification(entry(), batch(6, 0, 1), Mode.GENERIC, rules).row,
        Row.STEP_2,
        Row.STEP_3,
    ),
    "guard_keep_same_epoch": (
        marked(entry(supports_epoch_bump=1, txn_first_offset=40, **VERIFYING), marker(8)),
        (0, PartitionEvent.MARKER_KEEPS_GUARD),
        (0, PartitionEvent.COMMIT_MARKER),
    ),
    "marker_keeps_newer_guard": (
        marked(entry(producer_epoch=8, guard=99, guard_epoch=9, supports_epoch_bump=1), marker(8)),
        (0, PartitionEvent.MARKER_KEEPS_GUARD),
        (0, PartitionEvent.COMMIT_MARKER),
    ),
    "late_commit_is_fenced": (
        lambda rules: (
            end_txn.decide_end_txn(
                txn(state=TransactionState.COMPLETE_ABORT),
                ask(version=5, producer_epoch=6, committed=1),
                rules,
                True,
                NONE,
            ).error
        ),
        Error.PRODUCER_FENCED,
        Error.INVALID_TXN_STATE,
    ),
    "persist_last_epoch": (repeated_after_a_failover, Error.NONE, Error.PRODUCER_FENCED),
    "deletion_waits_for_offsets": (
        lambda rules: (
            delete_groups.decide_delete_group(
                SimpleNamespace(known=True, dead=False, empty=True, generation=NONE), 1, rules
            ).error
        ),
        Error.NON_EMPTY_GROUP,
        Error.NONE,
    ),
    "commit_by_topic_id": (producer_client.retry_rebuilds_topic_ids, False, True),
    "retry_looks_topic_ids_up": (producer_client.retry_rebuilds_topic_ids, True, False),
    "tv2_first_seq_zero": (
        appended(
            entry(producer_epoch=NONE, batch_count=0, supports_epoch_bump=1, **{**VERIFYING, "lowest_sequence": 9}),
            batch(8, 5, 1),
            guard=99,
        ),
        (45, 0),
        (0, PartitionEvent.BEGIN),
    ),
    "single_fence_bump": (fenced_end(), (8, NONE), (9, NONE)),
    "fence_rotation": (fenced_end(producer_epoch=32766), (32767, 6000), (32767, NONE)),
    "persist_prev_next": (loaded, 3999, NONE),
    "marker_strict": (marked(entry(txn_first_offset=40), marker(7)), (47, 0), (0, PartitionEvent.COMMIT_MARKER)),
    "marker_retry_relax": (marked(entry(), marker(7)), (0, PartitionEvent.COMMIT_MARKER), (47, 0)),
    "marker_coordinator_epoch": (
        marked(entry(coordinator_epoch=4), marker(8)),
        (52, 0),
        (0, PartitionEvent.COMMIT_MARKER),
    ),
    "marker_waits_for_leader": (
        lambda rules: marker_delivery.route_marker(True, False, rules),
        marker_delivery.Route.WAIT,
        marker_delivery.Route.SKIP,
    ),
    "abort_120_fatal": (
        lambda rules: producer_client.react(ApiKey.END_TXN, Error.TRANSACTION_ABORTABLE, False, rules),
        Reaction.FATAL,
        Reaction.ABORTABLE,
    ),
    "marker_needs_data": (
        lambda rules: write_txn_markers.first_offset_of_ended(NONE, 40, rules),
        NONE,
        40,
    ),
    "upgrade_bump": (lambda rules: producer_client.bumps_on_upgrade(False, True, rules), True, False),
    "init_clears_start": (uninitialised, NONE, 1000),
    "completion_keeps_last_epoch": (
        lambda rules: end_txn.completion_by(txn(client_transaction_version=2), rules).last_producer_epoch,
        6,
        7,
    ),
    "client_version_in_records": (
        lambda rules: add_partitions_to_txn.decide_add_partitions_to_txn(OPEN, ask(), rules).client_transaction_version,
        2,
        0,
    ),
    "end_by_request_version": (
        lambda rules: (
            end_txn.decide_end_txn(txn(state=TransactionState.EMPTY), ask(version=5), rules, True, NONE).error
        ),
        Error.NONE,
        Error.INVALID_TXN_STATE,
    ),
    "last_epoch_recovery": (
        lambda rules: transaction_timeout.decide_timeout(AT_LAST_EPOCH, 4000, rules).error,
        Error.NONE,
        Error.UNKNOWN_SERVER_ERROR,
    ),
    "memory_follows_log": (
        lambda rules: aftermath_of(Error.UNKNOWN_SERVER_ERROR, rules) == Aftermath.COMPLETE,
        False,
        True,
    ),
    "refused_append_clears_pending": (
        lambda rules: aftermath_of(Error.UNKNOWN_SERVER_ERROR, rules) == Aftermath.LEAVE_ALONE,
        False,
        True,
    ),
    "completion_is_appended_again": (
        lambda rules: aftermath_of(Error.COORDINATOR_NOT_AVAILABLE, rules) == Aftermath.GIVE_UP,
        False,
        True,
    ),
    "forgotten_partition_changes_identity": (
        producer_batches.identity_behind_forgotten_sequences,
        Reaction.BUMP_LOCALLY,
        Reaction.DONE,
    ),
    "only_the_same_end_is_resumed": (lambda rules: producer_client.is_resumed(False, True, rules), False, True),
    "ended_call_keeps_result": (lambda rules: producer_client.is_resumed(True, False, rules), True, False),
    "unload_by_epoch": (lambda rules: coordinator_elections.ends_load(4, 6, rules), True, False),
    "pid_block_order": (lambda rules: allocate_producer_ids.accepts_block(3000, 3999, rules), False, True),
    "block_recorded_first": (allocate_producer_ids.waits_for_record, True, False),
    "commit_waits_for_replicas": (group_log.answers_with_append, False, True),
    "failed_commit_leaves_nothing": (group_log.keeps_what_failed, False, True),
    "generation_is_recorded_first": (group_log.tells_with_append, False, True),
    "absent_group_generation": (commit_to_absent_group, Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID),
    "refused_append_is_for_all": (
        lambda rules: [
            txn_offset_commit.is_of_all_partitions(error, rules) for error in (0, Error.INVALID_PRODUCER_EPOCH)
        ],
        [False, True],
        [False, False],
    ),
    "given_back_id_rebalances": (
        lambda rules: (
            leave_group.decide_leave_group(
                SimpleNamespace(known=True, dead=False, empty=False, generation=4, state=0, is_consumer=False),
                Identity(member=1, is_pending=True),
                True,
                rules,
            ).event
        ),
        ClassicGroupEvent.REBALANCE,
        NOTHING,
    ),
    "full_group_keeps_static_place": (
        lambda rules: (
            consumer_group_heartbeat.decide_heartbeat(
                HeartbeatFacts(members=2, most_members=2, has_instance=True, instance_is_known=True, instance_epoch=-2),
                0,
                rules,
            ).event
        ),
        MembershipEvent.REPLACE,
        NOTHING,
    ),
    "emptied_group_assigns_at_once": (
        lambda rules: [consumer_group_heartbeat.forgets_assignment(members, rules) for members in (1, 2)],
        [True, False],
        [False, False],
    ),
    "loaded_tombstone_ends_pending": (
        lambda rules: [txn_offset_commit.tombstone_reaches_pending(from_log, rules) for from_log in (False, True)],
        [True, True],
        [True, False],
    ),
    "refused_commit_keeps_pending": (
        lambda rules: txn_offset_commit.decide_refused_append(PendingOffset(PendingOffsetsState.PENDING, 10, 3), rules),
        GroupEvent.NOTHING,
        GroupEvent.TAKE_BACK,
    ),
    "unknown_producer_id": (
        appended(ProducerEntry(), batch(7, 17, 0)),
        (Error.UNKNOWN_PRODUCER_ID, 0),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 0),
    ),
    "unknown_after_marker": (
        appended(entry(batch_count=0), batch(7, 17, 0)),
        (Error.UNKNOWN_PRODUCER_ID, 0),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 0),
    ),
    "kip939": (
        lambda rules: (
            end_txn.decide_end_txn(txn(state=TransactionState.PREPARE_COMMIT), ask(version=5), rules, True, NONE).error
        ),
        Error.CONCURRENT_TRANSACTIONS,
        Error.PRODUCER_FENCED,
    ),
}
"""Switch -> a question, its answer with the switch, its answer without.

All other rules are the newest ones, or those of the preset in `ASKED_UNDER`.
"""

ASKED_UNDER = {
    "unknown_producer_id": "2.4",
    "unknown_after_marker": "2.4",
    "kip939": "kip939",
    # From 3.8 on the class of an error decides, and this one is of it.
    "commit_waits_for_load": "3.7",
}
"""Switch -> a release that has it, where the newest rules have not, or where they have it anyway."""

OF_THE_CHECKER = frozenset({"reload_drives_markers", "leader_reads_log", "aborted_list", "skipping_ends"})
"""Switches that no decision reads: they are about when a host asks one. Scenarios of the checker show them."""


NEEDED = {
    # A guard is compared only where verification is in force at all.
    "verification_guard": {"verification"},
    "epoch_aware_ongoing": {"verification"},
    "stale_epoch_first": {"verification"},
    # All four are part of the sequence check.
    "guard_lowest_seq": {"sequence_check"},
    "tv2_first_seq_zero": {"sequence_check"},
    "unknown_producer_id": {"sequence_check"},
    "unknown_after_marker": {"sequence_check"},
    # Without a comparison of epochs no higher one is noticed.
    "end_refuses_higher_epoch": {"strict_end"},
    # Group membership is looked at at all.
    "absent_group_generation": {"kip447_fence"},
    # Whether the client can raise its epoch decides between the two abortable reactions.
    "kip588": {"kip360"},
    # A raised epoch, or before it another producer id.
    "forgotten_partition_changes_identity": {"kip360"},
    # The record, not the request, says which rules there are.
    "kip939": {"end_by_request_version"},
    # A late copy of a marker is refused unless it counts as a repetition.
    "marker_keeps_newer_guard": {"marker_retry_relax"},
    # A fence that raises twice passes the last epoch by.
    "fence_rotation": {"single_fence_bump"},
}
"""Switch -> switches without which its question is another one."""


def rules_for(name: str) -> Rules:
    """Rules that have the switch; one that no preset has is switched on."""
    return with_switches(preset(ASKED_UNDER.get(name, "newest")), on=[name])


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_changes_what_it_says(name: str) -> None:
    question, on, off = SWITCHES[name]
    rules = rules_for(name)
    assert on != off
    assert question(rules) == on
    assert question(with_switches(rules, off=[name])) == off


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_changes_only_what_it_says(name: str) -> None:
    """No other switch answers the same question (but for one that has to be on for it to be asked at all)."""
    question, on, _ = SWITCHES[name]
    rules = rules_for(name)
    others = {other for other in SWITCHES if other != name and question(with_switches(rules, off=[other])) != on}
    assert others == NEEDED.get(name, set())


def test_every_switch_is_shown() -> None:
    assert set(SWITCHES) | OF_THE_CHECKER == {facts.name for facts in switches()}
    assert not set(SWITCHES) & OF_THE_CHECKER

"""The story of every mutant says at each delivery where it arrives, and at its last step why the promise is broken."""

import io
import re

import pytest

from zombieproof.checker.checking import Request, check
from zombieproof.checker.scenarios import MODELS, SCENARIOS
from zombieproof.report.check_text import show_violation
from zombieproof.report.runs import Run, run_of
from zombieproof.report.screen import Screen

pytestmark = pytest.mark.slow  # the fixture `stories` finds all of them first

DECIDED_TWICE = "A.1 is decided to abort, and outside it is decided to commit it"
DEAD = "A is dead: a fatal error, it sends nothing any more"
BEHIND_ITS_SUCCESSOR = (
    "p0 has at offset 1: ABORT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
)
FORGOTTEN = "the leader of p0 knows nothing of producer 0, whose records are in the log"
BY_HAND_BEHIND_ITS_SUCCESSOR = (
    "p0 has at offset 2: ABORT marker (producer 0, epoch 0, coordinator epoch 0), behind epoch 1"
)
AGAIN_BEHIND_AN_ABORT = (
    "p0 has at offset 2: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 already, "
    "and sequence 1 would be next"
)
LOST = "p0 has lost what was at offset 0: data of A.1 (producer 0, epoch 0, sequence 0)"

WHY = {
    "fetches_in_steps": {
        "the_list_is_older_than_the_bound": (
            "the read_committed reader delivers offset 0 of p0 (A.1, aborted) and stands at offset 1"
        ),
    },
    "cleaned_log": {
        "a_marker_goes_before_its_records": FORGOTTEN,
        "an_empty_marker_tells_no_epoch": FORGOTTEN,
        "an_empty_marker_tells_no_epoch_to_who_leads_again": FORGOTTEN,
        "who_knows_nothing_fences_nobody": (
            "p0 has at offset 2: ABORT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
        ),
        "a_marker_outlives_its_coordinator_and_what_was_cleaned": (
            "p0 has at offset 2: ABORT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
        ),
        "a_marker_by_hand_outlives_what_was_cleaned": BY_HAND_BEHIND_ITS_SUCCESSOR,
    },
    "cleaned_log_of_version_0": {
        "the_last_sequence_goes_with_its_record": (
            "the leader of p0 knows producer 0, epoch 0: no transaction is open"
        ),
    },
    "cleaned_offsets": {
        "the_cleaner_takes_what_is_open_for_committed": "the group's committed offset is 0",
    },
    "shortened_log": {
        "a_snapshot_forgets_what_is_open": (
            "the read_committed reader delivers offset 0 of p0 (A.1, undecided) and stands at offset 1"
        ),
        "producers_go_with_their_records": "the log of p0 begins at offset 1",
    },
    "shortened_for_readers": {
        "a_marker_that_was_dropped_is_waited_for": (
            "the buffering reader delivers offset 0 of p0 (A.1, aborted) and stands at offset 4"
        ),
    },
    "shortened_for_a_producer": {
        "whoever_is_forgotten_begins_again": (
            "p0 has at offset 1: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 already, "
            "and sequence 1 would be next"
        ),
    },
    "one_transaction": {
        "a_late_init_fences_its_own_producer": DEAD,
        "complete_without_markers": "p0 has an open transaction of producer 0 that no coordinator lists",
        "leader_checks_neither_duplicates_nor_sequences": (
            "p0 has at offset 1: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 already, "
            "and sequence 1 would be next"
        ),
        "a_marker_by_hand_outlives_what_the_leader_knew": BY_HAND_BEHIND_ITS_SUCCESSOR,
        "a_batch_comes_again_behind_an_abort_by_hand": AGAIN_BEHIND_AN_ABORT,
        "a_copy_of_a_batch_comes_behind_an_abort_by_hand": AGAIN_BEHIND_AN_ABORT,
    },
    "two_transactions": {
        "a_late_init_fences_its_own_producer": DEAD,
        "a_late_end_decides_again": "A.1 is decided again, and differently: first to commit, now to abort",
        "a_late_end_ends_the_next_transaction": (
            "the transaction that is ended was opened by A.2, and this request is about A.1"
        ),
        "a_late_marker_ends_the_next_transaction": "A.2 is committed on p0, although A has not asked to commit it",
    },
    "delayed_commit": {
        "a_late_init_fences_its_own_producer": DEAD,
        "ends_without_their_own_epoch": "A.2 is committed on p0, although A has not asked to commit it",
    },
    "delayed_abort": {
        "a_late_init_fences_its_own_producer": DEAD,
        "ends_without_their_own_epoch": "A is told that A.2 is committed, although it is aborted on p0",
    },
    "late_produce": {
        "no_epoch_of_its_own_for_each_transaction": ("A.1 is committed on p0, although A was told that it is aborted"),
        "no_verification": "p0 has an open transaction of producer 0 that no coordinator lists",
    },
    "late_verification": {
        "verification_without_guard": "p0 has an open transaction of producer 0 that no coordinator lists",
        "a_late_record_hangs": "p1 has an open transaction of producer 0 that no coordinator lists",
    },
    "zombie_takeover": {
        "init_grants_the_same_epoch_again": "B is now producer 0, epoch 0, and so is A",
        "end_txn_ignores_epoch": "the transaction that is ended was opened by B.1, and this request is about A.1",
        "a_decision_that_counts_as_failed_is_taken_again": (
            "B.1 is decided again, and differently: first to commit, now to abort"
        ),
        "a_deposed_coordinator_marks_what_was_forgotten": BEHIND_ITS_SUCCESSOR,
        "a_marker_outlives_its_coordinator_and_is_not_remembered": BEHIND_ITS_SUCCESSOR,
    },
    "kip98_takeover": {
        "takeover_aborts_under_the_old_epoch": "p0 has an open transaction of producer 0 that no coordinator lists",
        "a_takeover_fences_nothing": "p0 has an open transaction of producer 0 that no coordinator lists",
        "leader_ignores_epoch": "p0 has at offset 1: data of A.1 (producer 0, epoch 0, sequence 0), behind epoch 1",
    },
    "crash_and_restart": {
        "a_late_init_fences_its_own_producer": DEAD,
        "a_restart_aborts_under_the_old_epoch": "A.1 is committed on p0, although A has not asked to commit it",
    },
    "epoch_recovery": {
        "the_client_raises_no_epoch": "A.1 is committed on p0, although A was told that it is aborted",
    },
    "timeout": {
        "timeout_keeps_the_epoch": "A is told that A.1 is committed, although it is aborted on p0",
        "timeout_splits_the_transaction": "A.1 is committed on p1, and aborted on p0",
    },
    "coordinator_failover": {
        "a_deposed_coordinator_answers_from_memory": DEAD,
        "markers_of_a_deposed_coordinator_count": (
            "p0 has at offset 2: COMMIT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
        ),
        "a_loaded_decision_is_not_driven": (
            "it finds x0 as PREPARE_COMMIT (producer 0, epoch 1), partitions p0, p1; nobody sends its markers"
        ),
        "what_an_older_epoch_left_open_takes_a_new_record": (
            "the late COMMIT marker (producer 0, epoch 1, coordinator epoch 0) to p0 is still on its way"
        ),
    },
    "waiting_questions": {
        "what_waits_is_forgotten_by_the_channel": "the leader of p0 asks nothing more, although a question waits",
        "what_waits_has_no_answer": "the leader of p0 asks nothing more, although a question waits",
        "an_answer_counts_for_another_guard": "p0 has an open transaction of producer 0 that no coordinator lists",
    },
    "offsets_under_way": {
        "a_commit_is_answered_before_replicas_have_it": (
            "__consumer_offsets has lost offset 0: offset 1 of A.1 (producer 0, epoch 0)"
        ),
        "what_failed_stays_in_memory": "offset 1 of producer 0 waits in memory, and is not in the log",
        "a_new_generation_reads_before_its_record": "B.1 is committed on p0, and so is A.1, for the same input 0",
    },
    "recorded_blocks": {"a_block_is_handed_out_before_it_is_recorded": "B is now producer 0, epoch 0, and so is A"},
    "producer_id_blocks": {"a_late_block_is_used_again": "B is now producer 0, epoch 0, and so is A"},
    "appends_under_way": {
        "a_deposed_coordinator_answers_from_memory": DEAD,
        "markers_of_a_coordinator_of_before_count": (
            "p0 has at offset 2: COMMIT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
        ),
        "a_decision_found_in_the_log_is_not_driven": (
            "it finds x0 as PREPARE_COMMIT (producer 0, epoch 1), partitions p0; nobody sends its markers"
        ),
        "what_is_loaded_pending_is_left_alone": (
            "it finds x0 as PREPARE_COMMIT (producer 0, epoch 1), partitions p0; nobody sends its markers"
        ),
    },
    "refused_completion": {
        "a_completion_that_is_refused_hangs": "x0 stays PREPARE_COMMIT, and nobody completes it",
        "its_producer_asks_for_ever": "A is answered CONCURRENT_TRANSACTIONS (row T9), and asks again",
        "what_was_refused_is_driven_by_nobody": "x0 stays PREPARE_COMMIT, and nobody completes it",
        "what_was_refused_is_never_complete": "x0 stays PREPARE_COMMIT, and nobody completes it",
        "a_log_that_refuses_kills_its_producer": DEAD,
        "who_is_killed_leaves_its_transaction_open": "Nobody has to act any more.",
        "a_log_that_refuses_lets_nobody_through": "Nobody has to act any more.",
        "a_completion_is_tried_once": "x0 stays PREPARE_COMMIT, and nobody completes it",
        "what_was_refused_is_pending_for_ever": "x0 is still to become EMPTY, and nobody is at work on it",
        "memory_moves_before_the_log": "p0 has an open transaction of producer 0 that no coordinator lists",
    },
    "leader_failover": {
        "a_new_leader_knows_nothing": ("the leader of p0 knows nothing of producer 0, whose records are in the log"),
        "a_new_leader_refuses_the_marker_for_ever": "it is refused: INVALID_PRODUCER_EPOCH (row M2)",
    },
    "leaderless_partition": {
        "marker_skips_a_partition_without_leader": (
            "A.1 is aborted on p0, although A was told that it is committed, and committed on p1"
        ),
        "a_skipped_marker_hides_what_is_committed": (
            "p0 has no leader: it is taken off the list of x0 without a marker"
        ),
    },
    "consume_transform_produce": {
        "stale_members_may_commit_offsets": "B.1 is committed on p0, and so is A.1, for the same input 0",
        "pending_offsets_are_not_waited_for": "B.1 is committed on p0, and so is A.1, for the same input 0",
    },
    "passed_member": {
        "who_was_passed_takes_the_position_back": (
            "offset 1 is committed, and a later one stands before it in the log"
        ),
    },
    "kept_position": {
        "a_late_offset_commit_takes_the_guard_of_the_next": DEAD,
        "an_application_without_an_answer_begins_its_work_again": (
            "A.2 is committed on p0, and so is A.1, for the same input 0"
        ),
    },
    "given_up_commit": {
        "what_is_not_answered_counts_as_failed": "A.2 is committed on p0, and so is A.1, for the same input 0",
        "a_given_up_end_ends_the_next_transaction": (
            "the transaction that is ended was opened by A.2, and this request is about A.1"
        ),
    },
    "commit_asked_again": {
        "an_abort_is_told_what_became_of_the_commit": "A is told that A.1 is aborted",
        "who_asks_behind_the_answer_is_refused": "A is told that A.1 is aborted",
    },
    "version_1_asked_again": {"an_abort_is_told_what_became_of_the_commit": "A is told that A.1 is aborted"},
    "forgotten_partition": {
        "a_new_batch_is_taken_for_one_that_is_there": "A gets the ack from p0 for A.2",
    },
    "resumed_commit": {
        "a_time_out_aborts_what_is_stored": DECIDED_TWICE,
        "a_late_init_aborts_what_is_stored": DECIDED_TWICE,
        "a_rotation_is_forgotten_by_a_failover": DEAD,
    },
    "refused_batch": {
        "a_given_up_batch_leaves_a_gap": (
            "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 1), and sequence 0 would be next"
        ),
        "a_later_batch_begins_a_log_that_was_cut": (
            "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 1), and sequence 0 would be next"
        ),
        "a_later_batch_is_verified_first": (
            "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 1), and sequence 0 would be next"
        ),
        "a_later_batch_is_taken_first": (
            "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 1), and sequence 0 would be next"
        ),
    },
    "plain_commit": {
        "a_position_beside_the_transaction_passes_over_its_input": ("an input before offset 1 has no committed output"),
        "a_new_group_coordinator_forgets_the_position": "the group's committed offset is 0",
    },
    "hanging_transaction": {
        "what_hangs_is_left_alone": "p1 has an open transaction of producer 0 that no coordinator lists",
        "an_open_transaction_is_aborted_by_hand": "A.1 is aborted on p0, although A was told that it is committed",
    },
    "stale_lookup": {
        "a_deposed_coordinator_answers_from_memory": DEAD,
        "markers_of_a_deposed_coordinator_count": (
            "p0 has at offset 2: COMMIT marker (producer 0, epoch 1, coordinator epoch 0), behind coordinator epoch 1"
        ),
    },
    "cut_transaction": {
        "the_leader_answers_when_it_has_appended": LOST,
        "a_marker_counts_when_it_is_appended": "p0 has an open transaction of producer 0 that no coordinator lists",
        "readers_read_to_the_end_of_the_log": LOST,
        "a_marker_makes_stable_when_it_is_appended": "A.1 is undecided on p0, although A was told that it is committed",
        "a_leader_remembers_what_its_log_has_lost": "the leader of p0 goes on with what it knew",
    },
    "cut_offsets": {
        "offsets_are_told_when_their_marker_is_appended": "an input before offset 1 has no committed output",
        "the_group_remembers_what_its_log_has_lost": "the group coordinator goes on with what it knew",
    },
    "cut_batches": {
        "a_batch_is_answered_when_it_is_appended": LOST,
        "a_batch_that_was_lost_is_taken_for_a_duplicate": "it is taken for a duplicate: nothing is appended",
    },
    "late_offset_commit": {
        "a_refused_commit_takes_along_what_waits": (
            "offset 1 of A.2 (producer 0, epoch 1) waits no more, although no marker has ended it"
        ),
        "a_committed_position_is_forgotten": "A.3 is committed on p0, and so is A.2, for the same input 0",
    },
    "epoch_exhaustion": {
        "a_fence_raises_the_epoch_twice": (
            "the coordinator fails a check of its own: UNKNOWN_SERVER_ERROR (row T6); the largest epoch is 5"
        ),
        "a_new_producer_id_fences_nothing": "p0 has an open transaction of producer 0 that no coordinator lists",
        "an_unknown_identity_is_aborted_for_ever": "A is answered INVALID_PRODUCER_ID_MAPPING (row T4)",
    },
    "rotation_failover": {
        "a_rotation_is_forgotten_by_a_failover": DEAD,
        "a_rotated_identity_is_compared_too_early": DEAD,
    },
    "forgotten_owner": {
        "its_next_batch_is_appended_unverified": "p0 has an open transaction of producer 1 that no coordinator lists",
    },
    "id_expiration": {
        "an_open_transaction_is_buried": "the coordinator has no such move in its table",
        "ids_expire_in_the_middle_of_a_transaction": (
            "p0 has an open transaction of producer 0 that no coordinator lists"
        ),
    },
    "producer_expiration": {
        "no_verification_of_forgotten_producers": (
            "p0 has an open transaction of producer 0 that no coordinator lists"
        ),
    },
    "idempotent_producer": {
        "leader_checks_no_sequences": (
            "p0 has at offset 3: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 already, "
            "and sequence 3 would be next"
        ),
        "leader_recognises_no_duplicates": (
            "p0 has at offset 1: data of A.1 (producer 0, epoch 1, sequence 0), which is at offset 0 already"
        ),
    },
    "reader": {
        "the_broker_lists_no_aborted_transactions": (
            "the read_committed reader delivered offset 0 of p0, the buffering reader did not"
        ),
        "skipping_never_ends": "the read_committed reader passes over offset 2 of p0 (A.2, committed)",
        "reader_ignores_the_last_stable_offset": (
            "the read_committed reader delivers offset 0 of p0 (A.1, undecided) and stands at offset 1"
        ),
        "reader_ignores_the_list_of_aborted_transactions": (
            "the read_committed reader delivers offset 0 of p0 (B.1, aborted) and stands at offset 1"
        ),
    },
    "all_comes_to_an_end": {
        "a_marker_is_refused_for_ever": "it is refused: INVALID_PRODUCER_EPOCH (row M2)",
        "a_producer_waits_for_ever": "A is answered CONCURRENT_TRANSACTIONS (row T3), and asks again",
        "an_end_that_is_judged_by_another_version_ends_nothing": "A is dead: a fatal error, it sends nothing any more",
        "what_was_refused_is_pending_and_ends_nothing": "the leader of p0 is answered CONCURRENT_TRANSACTIONS (row P3)",
        "a_late_copy_opens_a_transaction_that_nobody_ends": "partitions p0, opened by A.2",
        "an_abandoned_transaction_stays_open": "Then, for ever: nothing. Nobody has to act any more.",
        "readers_wait_for_ever": "p0 has no leader: it is taken off the list of x0 without a marker",
    },
    "mutual_fencing": {
        "two_instances_fence_each_other_for_ever": "B is answered PRODUCER_FENCED (row T5)",
    },
    "late_commit": {"a_late_commit_stops_its_application": "A is answered INVALID_TXN_STATE (row T8)"},
    "repeated_init": {"a_failover_forgets_the_previous_epoch": DEAD},
    "repeated_marker": {"a_late_marker_voids_the_next_verification": DEAD},
    "deleted_group": {
        "a_deletion_discards_what_is_committed_later": (
            "nothing of it waits, so that the group's committed offset stays 0"
        ),
        "a_tombstone_in_the_log_spares_what_is_pending": (
            "offset 1 of A.1 (producer 0, epoch 0) waits again: it is in the log"
        ),
    },
    "recreated_input": {
        "a_recreated_topic_is_asked_for_by_its_old_id": "A is answered UNKNOWN_TOPIC_ID, and sends it again",
    },
    "two_phase_commit_ends": {"the_manager_never_gives_up": "resource manager 3 chooses to abort"},
    "given_up_record": {
        "an_abort_of_nothing_is_refused": "A is dead: a fatal error, it sends nothing any more",
        "what_an_older_epoch_left_open_takes_a_new_record": "it is refused: INVALID_PRODUCER_EPOCH (row M2)",
        "a_copy_of_a_marker_ends_the_next_transaction": (
            "A.2 is aborted on p0, although A was told that it is committed"
        ),
    },
    "skipping_reader": {
        "the_reader_runs_ahead_of_the_marker": (
            "the read_committed reader delivers offset 0 of p0 (A.1, undecided) and stands at offset 1"
        ),
        "the_reader_skips_the_next_transaction": (
            "the read_committed reader passes over offset 2 of p0 (A.2, committed)"
        ),
    },
    "two_idempotent_producers": {
        "the_new_leader_takes_a_batch_again": (
            "p0 has at offset 1: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 already, "
            "and sequence 1 would be next"
        ),
    },
    "forgotten_by_2_4": {
        "a_transaction_is_complete_without_its_marker": (
            "p0 has an open transaction of producer 0 that no coordinator lists"
        ),
    },
    "failed_fence": {"who_takes_the_id_gets_the_same_epoch": "B is now producer 0, epoch 0, and so is A"},
    "one_member": {
        "a_marker_takes_the_guard_of_the_next_transaction": "A is dead: a fatal error, it sends nothing any more",
        "an_offset_commit_that_should_be_repeated_ends_the_member": (
            "A is dead: a fatal error, it sends nothing any more"
        ),
    },
    "forgotten_id": {
        "an_unknown_producer_aborts_for_ever": "A is answered INVALID_PRODUCER_ID_MAPPING (row NOT_KNOWN)",
    },
    "first_sequence": {
        "a_transaction_begins_in_the_middle": (
            "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 1), and sequence 0 would be next"
        ),
    },
    "exhausted_fence": {
        "a_fence_leaves_the_last_epoch_to_the_client": (
            "p0 has an open transaction of producer 0 that no coordinator lists"
        ),
        "a_record_under_the_last_epoch_hangs": "p0 has an open transaction of producer 0 that no coordinator lists",
    },
    "last_epoch": {
        "nothing_is_left_to_fence_under": (
            "the coordinator fails a check of its own: UNKNOWN_SERVER_ERROR (row X5); the largest epoch is 2"
        ),
    },
    "version_0_crash": {
        "a_restart_fences_nothing": "A is told that A.1 is committed, although it is aborted on p0",
        "the_client_keeps_its_epoch": "A.1 is committed on p0, although A was told that it is aborted",
    },
    "version_1_takeover": {
        "an_end_of_a_zombie_counts": "the transaction that is ended was opened by B.1, and this request is about A.1",
        "a_zombie_splits_its_transaction": "A.1 is committed on p1, and aborted on p0",
    },
    "version_0_failover": {
        "a_repeated_batch_makes_the_client_start_over": "A is dead: a fatal error, it sends nothing any more",
        "a_loaded_decision_stays_half_done": (
            "it finds x0 as PREPARE_COMMIT (producer 0, epoch 0), partitions p1; nobody sends its markers"
        ),
    },
    "version_1_failover": {
        "a_late_marker_of_a_deposed_coordinator_commits_the_next_transaction": (
            "A.2 is committed on p1, although A has not asked to commit it"
        ),
    },
    "version_0_expiration": {
        "what_is_committed_is_told_as_aborted": "A is told that A.1 is aborted, although it is committed on p0",
        "who_takes_the_id_has_the_same_epoch": "B is now producer 0, epoch 0, and so is A",
    },
    "version_1_timeout": {
        "a_time_out_fences_nobody": "A.1 is decided again, and differently: first to abort, now to commit",
        "nobody_is_asked": "p1 has an open transaction of producer 0 that no coordinator lists",
    },
    "version_0_leader_failover": {
        "the_new_leader_trusts_an_answer_of_before": (
            "p0 has an open transaction of producer 0 that no coordinator lists"
        ),
        "the_new_leader_remembers_no_sequence": (
            "p0 has at offset 1: data of A.1 (producer 0, epoch 0, sequence 0), which is at offset 0 "
            "already, and sequence 1 would be next"
        ),
    },
    "version_1_every_fault": {
        "init_keeps_the_epoch": "the transaction that is ended was opened by A.1, and this request is about A.2",
        "a_marker_is_not_waited_for": "A.1 is aborted on p0, although A was told that it is committed",
    },
    "two_phase_commit": {
        "commit_without_waiting_for_all": "resource manager 1 receives commit, and commits, although 0 aborted",
    },
    "spark_batch_sink": {
        "deliver_without_a_key": (
            "driver B commits the transaction of the query with p0@0 and p1@0, although p0@0 and p1@0 are in the output"
        ),
        "look_up_before_fencing": (
            "driver B commits the transaction of the query with p0@0 and p1@0, although p0@0 and p1@0 are in the output"
        ),
        "commit_positions_outside_the_transaction": (
            "driver A commits the source's positions outside of the transaction, "
            "although p0@0 and p1@0 are not in the output"
        ),
        "know_batches_by_number": (
            "driver A writes batch 1 into the commit log, although p0@1 and p1@1 are not in the output"
        ),
        "positions_run_ahead_of_the_output": (
            "driver A commits the source's positions outside of the transaction, "
            "although p0@0, p0@1, p1@0 and p1@1 are not in the output"
        ),
        "begin_anew_without_a_checkpoint": (
            "driver A plans batch 1: p0@0, p0@1, p1@0 and p1@1, although p0@0 and p1@0 are in the output"
        ),
    },
    "spark_partition_sink": {
        "shuffle_before_the_sink": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, "
            "and positions behind p1@0, which is not in the output"
        ),
        "look_up_before_fencing": (
            "attempt 1 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "deliver_without_a_key": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "commit_positions_outside_the_transaction": (
            "attempt 0 of task 0 commits the source's positions outside of the transaction, "
            "although p0@0 is not in the output"
        ),
    },
    "spark_task_attempts": {
        "look_up_before_fencing": (
            "attempt 1 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "deliver_without_a_key": (
            "attempt 1 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "commit_positions_outside_the_transaction": (
            "attempt 0 of task 0 commits the source's positions outside of the transaction, "
            "although p0@0 is not in the output"
        ),
    },
    "spark_two_drivers": {
        "look_up_before_fencing": (
            "attempt 1 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "deliver_without_a_key": (
            "attempt 1 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "commit_positions_outside_the_transaction": (
            "attempt 0 of task 0 commits the source's positions outside of the transaction, "
            "although p0@0 is not in the output"
        ),
    },
    "spark_identity_sink": {
        "know_batches_by_number": (
            "driver A writes batch 1 into the commit log, although p0@1 and p1@1 are not in the output"
        ),
        "look_up_before_fencing": (
            "driver B commits the transaction of the query with p0@0 and p1@0, although p0@0 and p1@0 are in the output"
        ),
    },
    "spark_naive_sink": {
        "the_driver_crashes": (
            "attempt 0 of task 0 commits the transaction of attempt 0 with p0@0, although p0@0 is in the output"
        ),
        "an_attempt_runs_twice": (
            "attempt 1 of task 0 commits the transaction of attempt 1 with p0@0, although p0@0 is in the output"
        ),
        "an_attempt_fails_behind_its_commit": (
            "attempt 0 of task 0 commits the transaction of attempt 0 with p0@0, although p0@0 is in the output"
        ),
        "an_attempts_message_is_lost": (
            "attempt 0 of task 0 commits the transaction of attempt 0 with p0@0, although p0@0 is in the output"
        ),
    },
    "spark_two_phase_sink": {
        "end_without_a_decision": (
            "driver A commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "a_prepared_transaction_times_out": (
            "driver A writes batch 1 into the commit log, although p1@0 is not in the output"
        ),
        "trust_the_abort": ("driver A writes batch 1 into the commit log, although p1@0 is not in the output"),
        "an_attempt_takes_the_id_again": (
            "driver A writes batch 1 into the commit log, although p0@0 is not in the output"
        ),
        "the_checkpoint_is_lost": (
            "driver A writes batch 1 into the commit log, although p0@1 and p1@1 are not in the output"
        ),
    },
    "spark_refused_plans": {
        "branches_in_mode_partition": (
            "driver A writes batch 1 into the commit log, although branch1@0 is not in the output"
        ),
        "loads_of_one_topic": "driver A writes batch 2 into the commit log, although load0@1 is not in the output",
        "rows_of_an_earlier_batch": (
            "driver A writes batch 2 into the commit log, although p0@0 and p1@0 are not in the output"
        ),
    },
    "spark_branches": {
        "look_up_before_fencing": (
            "driver B commits the transaction of the query with branch0@0 and branch1@0, "
            "although branch0@0 and branch1@0 are in the output"
        ),
        "deliver_without_a_key": (
            "driver B commits the transaction of the query with branch0@0 and branch1@0, "
            "although branch0@0 and branch1@0 are in the output"
        ),
        "commit_positions_outside_the_transaction": (
            "driver A commits the source's positions outside of the transaction, "
            "although branch0@0 and branch1@0 are not in the output"
        ),
    },
    "spark_any_plan": {
        "know_batches_by_number": "driver A writes batch 1 into the commit log, although load0@1 is not in the output",
        "take_a_smaller_number_for_written": (
            "driver A writes batch 1 into the commit log, although load0@0 and load0@2 are not in the output"
        ),
        "look_up_before_fencing": (
            "driver B commits the transaction of the query with load1@0, load1@1 and load1@2, "
            "although load1@0, load1@1 and load1@2 are in the output"
        ),
    },
    "spark_older_checkpoint": {
        "leave_out_batches_without_rows": (
            "driver A commits the transaction of the query with p0@1, although p0@1 is in the output"
        ),
    },
    "spark_two_queries": {
        "take_any_position_for_its_own": (
            "driver B writes batch 1 into the commit log, although query1@0 is not in the output"
        ),
        "begin_after_any_position": "driver B plans batch 1: query1@1, although query1@0 is not in the output",
    },
    "spark_two_writes": {
        "take_any_position_for_its_own": (
            "driver A writes batch 1 into the commit log, although write1@0 is not in the output"
        ),
    },
    "spark_expired_positions": {
        "know_positions_by_the_group_alone": (
            "driver B commits the transaction of the query with p0@0 and p1@0, although p0@0 and p1@0 are in the output"
        ),
        "look_up_before_fencing": (
            "driver B commits the transaction of the query with p0@0 and p1@0, although p0@0 and p1@0 are in the output"
        ),
    },
    "spark_recreated_topic": {
        "know_topics_by_name": "driver A plans batch 2: p0@1 and p1@1, although p0@0 and p1@0 are not in the output",
    },
    "spark_two_modes": {
        "deliver_without_a_claim": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "claim_under_its_own_id": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "claim_first_under_its_own_id": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
        "leave_tasks_of_the_other_mode": (
            "attempt 0 of task 0 commits the transaction of task 0 with p0@0, although p0@0 is in the output"
        ),
    },
    "spark_batch_query": {
        "continue_after_a_batch_query": (
            "driver A writes batch 1 into the commit log, although p0@1 is not in the output"
        ),
        "leave_out_rows_below_a_stream": "driver B ends the batch query, although p0@0 is not in the output",
    },
    "spark_starts_at_latest": {
        "begin_at_latest_without_a_position": (
            "driver A plans batch 1: p0@1, although p1@0 and p1@1 are not in the output"
        ),
        "begin_at_latest_whatever_the_position": "driver A starts without a checkpoint at p0@2 and p1@2",
    },
    "proposal_copy": {
        "abort_without_control_records": "instance A decides to abort TxId 1",
        "deliver_before_the_control_record": "the reader of partition 0 delivers offset 0, a message of TxId 1",
        "begin_while_the_last_is_carried_out": (
            "the reader of partition 0 reads the COMMITTED control record of TxId 1 at offset 3, and delivers offset "
            "0, a message of TxId 1"
        ),
        "final_record_before_acknowledgements": (
            "instance A asks the coordinator to commit TxId 1: it will be committed"
        ),
    },
    "proposal_lost_answers": {
        "refuse_an_end_that_comes_again": "instance A asks the coordinator to commit TxId 1: the TxId is unknown",
        "send_again_what_is_in_doubt": (
            "instance A sends block 0 of TxId 1 to partition 0: it is appended, although it is already there"
        ),
        "commit_before_payload_is_there": "instance A asks the coordinator to commit TxId 1: it will be committed",
        "take_a_lost_answer_for_an_abort": (
            "instance A asks the coordinator to commit TxId 1: it will be committed, and the response is lost"
        ),
        "forget_what_is_finished": "instance A asks the coordinator to commit TxId 1: the TxId is unknown",
        "deliver_at_a_second_control_record": (
            "the reader of partition 0 reads the COMMITTED control record of TxId 1 at offset 2, and delivers offset "
            "0, a message of TxId 1"
        ),
        "keep_pending_transactions_only": (
            "a delayed request arrives: instance A sends its input offsets of TxId 1 to the offsets partition: it is "
            "appended, although its control record is already there"
        ),
        "learn_of_a_transaction_from_its_payload": (
            "a delayed request arrives: instance A sends block 1 of TxId 2 to partition 0: it is appended, although "
            "its control record is already there"
        ),
    },
    "proposal_crash_and_restart": {
        "store_the_generation_with_the_next_commit": (
            "instance A asks the coordinator to begin, with generation 0: TxId 1 has begun already"
        ),
        "commit_the_generation_with_the_state": (
            "instance A sends block 0 of TxId 1 to partition 0: it is appended, although it is already there"
        ),
    },
    "proposal_coordinator_failover": {
        "wait_for_whom_nobody_asked": "the coordinator fails over, and the new one reads the journal",
        "leave_an_abort_unrecorded": "the coordinator fails over, and the new one reads the journal",
        "final_record_before_acknowledgements": (
            "the reader of partition 0 reads a message of TxId 1 at offset 0, and holds it back"
        ),
        "decide_in_memory": "the leader of partition 0 appends the ABORTED control record of TxId 1",
        "begin_anew_without_time_outs": (
            "instance A asks the coordinator to begin, with generation 0: the previous transaction is not finished yet"
        ),
    },
    "proposal_failover_from_the_watermark": {
        "wait_for_whom_nobody_asked": "the coordinator fails over, and the new one reads the journal from 0 on",
    },
    "proposal_two_groups": {
        "one_last_commit_for_all_groups": (
            "instance A asks the coordinator to commit TxId 3: it will be committed, although block 0 is already "
            "committed"
        ),
        "go_back_in_the_input": ("the leader of the offsets partition appends the COMMITTED control record of TxId 2"),
    },
    "proposal_abandoned_transaction": {
        "keep_time_outs_in_memory": "a delayed request arrives: instance A asks the coordinator to begin, with "
        "generation 0: TxId 2 begins",
    },
    "proposal_zombie": {
        "two_first_starts": (
            "instance A asks the coordinator to abort TxId 1: another process has the same generation, and "
            "both are closed"
        ),
        "nobody_copies": (
            "instance A asks the coordinator to abort TxId 1: another process has the same generation, and "
            "both are closed"
        ),
        "nobody_remembers_a_connection": (
            "instance B sends block 0 of TxId 1 to partition 0: it is appended, although it is already there"
        ),
        "start_again_at_the_same_time": (
            "instance A asks the coordinator to begin, with generation 1: another process has the same "
            "generation, and both are closed"
        ),
        "fetch_offsets_before_begin": (
            "instance B asks the coordinator to commit TxId 2: it will be committed, although block 0 is already "
            "committed"
        ),
        "go_back_in_the_input": ("the leader of the offsets partition appends the COMMITTED control record of TxId 3"),
        "admit_two_connections": (
            "instance A asks the coordinator to commit TxId 2: it will be committed, although block 1 is already "
            "committed"
        ),
        "forget_generations": "instance A sends block 1 of TxId 2 to partition 0: it is appended",
        "fence_nobody": "instance A sends block 1 of TxId 2 to partition 0: it is appended",
        "fence_at_the_coordinator_only": "instance A sends block 0 of TxId 1 to partition 0: it is appended",
        "tell_offsets_while_they_are_pending": (
            "instance A asks the coordinator to commit TxId 2: it will be committed, although block 0 is already "
            "committed"
        ),
    },
    "proposal_leader_failover": {
        "know_of_no_transaction": (
            "a delayed request arrives: instance A sends its input offsets of TxId 1 to the offsets partition: it is "
            "appended, although its control record is already there"
        ),
    },
    "proposal_zombie_at_a_new_leader": {
        "fence_at_leaders_only": "instance A sends block 0 of TxId 2 to partition 0: it is appended",
    },
    "proposal_read_uncommitted": {
        "final_record_before_acknowledgements": (
            "instance A asks the coordinator to commit TxId 1: it will be committed"
        ),
    },
    "proposal_interleaved": {
        "take_everything": "the reader of partition 0 delivers offset 0, a message of TxId 1",
        "deliver_before_the_control_record": "the reader of partition 0 delivers offset 2, a message of TxId 1",
        "deliver_by_offset": "the reader of partition 0 delivers offset 1, a message of TxId 2",
    },
    "proposal_reader_restart": {
        "store_two_numbers_within_a_delivery": (
            "the reader of partition 0 reads the COMMITTED control record of TxId 1 at offset 2, and delivers offset "
            "0, a message of TxId 1"
        ),
        "restart_where_it_was": ("the reader of partition 0 reads the COMMITTED control record of TxId 1 at offset 2"),
    },
    "proposal_cleaned": {
        "a_reader_behind_the_cleaner": "the reader of partition 0 skips offset 1, which was cleaned away",
        "clean_control_records_away": (
            "instance A asks the coordinator to commit TxId 2: it will be committed, although block 0 is already "
            "committed"
        ),
    },
    "proposal_cleaned_interleaved": {
        "the_last_by_offset_stays": "the log cleaner removes offsets 0 and 2 of partition 0",
        "the_last_by_offset_stays_past_the_watermark": "the log cleaner removes offsets 0 and 2 of partition 0",
        "clean_for_what_is_aborted": "the log cleaner removes offsets 0, 1 and 2 of partition 0",
        "clean_for_what_is_pending": "the log cleaner removes offset 0 of partition 0",
    },
}
"""Scenario -> mutant -> the line of the last step that says why its promise is broken there."""

REASONS = [(scenario, mutant, why) for scenario, mutants in WHY.items() for mutant, why in mutants.items()]

DELIVERIES = ("deliver", "lose_answer", "unknown_append")
ALSO = {
    "appends_under_way": (
        "the answer waits for an append",
        "the leader of p0 is answered NONE",
        "COMMIT marker (producer 0, epoch 1, coordinator epoch 0) sets out for p0",
    ),
    "consume_transform_produce": (
        "offset 1 of producer 0 is pending, and B does not wait for it",
        "it is accepted, although B owns the input in generation 1",
    ),
    "crash_and_restart": ("it is taken for a duplicate: nothing is appended",),
    "kip98_takeover": ("B is answered CONCURRENT_TRANSACTIONS, and asks again",),
    "leaderless_partition": (
        "p0 has no leader: it is taken off the list of x0 without a marker",
        "x0 is logged as COMPLETE_COMMIT (producer 0, epoch 1)",
    ),
    "cut_transaction": (
        "the answer waits for the other replicas",
        "the leader of p0 turns COMMIT marker (producer 0, epoch 1, coordinator epoch 0) away, and it is sent again",
        "p0 has lost what was at offset 1: COMMIT marker (producer 0, epoch 1, coordinator epoch 0)",
    ),
    "rotation_failover": (
        "x0 is logged as PREPARE_COMMIT (producer 0, epoch 3, then producer 1), partitions p1",
        "it finds x0 as PREPARE_COMMIT (producer 0, epoch 3), partitions p1",
        "the leader of p0 is answered INVALID_PRODUCER_ID_MAPPING (row P4)",
        "A is answered INVALID_PRODUCER_ID_MAPPING",
    ),
}
"""Scenario -> lines of its mutants' stories on which the broken promise hinges, before the last step or in it."""


@pytest.fixture(scope="module")
def stories() -> dict[tuple[str, str], Run]:
    """Every mutant, explored."""
    found = {}
    for scenario in SCENARIOS.values():
        for mutant in scenario.mutants:
            request = Request(mutant=mutant.name)
            found[scenario.name, mutant.name] = run_of(check(scenario, request), request)
    return found


def of_kafka(stories: dict[tuple[str, str], Run]) -> dict[tuple[str, str], Run]:
    """Those of Kafka's transactions: other models have words of their own for their actions."""
    own = MODELS["transactions"]
    return {key: run for key, run in stories.items() if key[0] in own}


def told(run: Run, *, brief: bool = True) -> list[str]:
    """The lines of a story as `check` prints it."""
    stream = io.StringIO()
    assert run.broken
    show_violation(Screen(stream, plain=True), run, run.broken, brief=brief)
    return stream.getvalue().splitlines()


def last_step(run: Run) -> list[str]:
    """The lines of the last step of the brief story, without their bullets."""
    lines = told(run)
    numbered = [place for place, line in enumerate(lines) if re.match(r" +\d+\. ", line)]
    step = lines[numbered[-1] : lines.index("", numbered[-1])]
    return [re.sub(r"^ +(\d+\.|\*) ", "", line) for line in step]


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("scenario", "mutant", "why"),
    [
        # The mutant of this scenario takes twenty seconds to compile.
        pytest.param(
            name, *rest, id=f"{name}-{rest[0]}", marks=[pytest.mark.deep] if name == "fetches_in_steps" else []
        )
        for name, *rest in REASONS
    ],
)
def test_the_last_step_says_why_the_promise_is_broken(
    stories: dict[tuple[str, str], Run], scenario: str, mutant: str, why: str
) -> None:
    """Where only the end shows that something is never finished, an earlier step says why."""
    run = stories[scenario, mutant]
    assert run.broken
    at_rest = [line.strip() for line in told(run)] if run.broken.kind in ("at_rest", "leads_to") else []
    assert any(line.endswith(why) for line in at_rest) or why in last_step(run)


def test_no_mutant_is_forgotten(stories: dict[tuple[str, str], Run]) -> None:
    assert {(scenario, mutant) for scenario, mutant, _ in REASONS} == set(stories)


def test_each_delivery_names_its_place_and_a_consequence(
    stories: dict[tuple[str, str], Run], arrives: re.Pattern[str]
) -> None:
    runs = of_kafka(stories).values()
    beats = [beat for run in runs if run.story for beat in run.story.beats if beat.name in DELIVERIES]
    assert len(beats) > 100
    assert [beat.text for beat in beats if not arrives.search(beat.text)] == []
    assert [beat.text for beat in beats if not beat.changes] == []


def test_coordinators_have_numbers_where_there_are_several_and_only_there(
    stories: dict[tuple[str, str], Run],
) -> None:
    for (name, mutant), run in of_kafka(stories).items():
        own = SCENARIOS[name].mutant(mutant)
        assert own is not None
        bounds = {**SCENARIOS[name].bounds, **own.bounds}
        has_several = bounds.get("failovers", 0) + bounds.get("deposed", 0) > 0
        text = "\n".join(told(run))
        assert ("coordinator node 0" in text) == has_several, name
        assert not (has_several and re.search(r"(arrives at|asks) the coordinator", text)), name


@pytest.mark.parametrize("scenario", ALSO)
def test_what_a_story_hinges_on_is_told(stories: dict[tuple[str, str], Run], scenario: str) -> None:
    lines = {
        line.strip().removeprefix("* ") for key, run in stories.items() if key[0] == scenario for line in told(run)
    }
    assert set(ALSO[scenario]) <= lines


def test_a_full_story_has_every_line_of_the_brief_one(stories: dict[tuple[str, str], Run]) -> None:
    for run in stories.values():
        assert set(told(run)) <= set(told(run, brief=False))


@pytest.mark.parametrize("width", [80, 120])
def test_a_story_fits_the_terminal_and_only_commands_are_left_whole(
    stories: dict[tuple[str, str], Run], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    plain = {key: told(run, brief=False) for key, run in stories.items()}
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    for key, run in stories.items():
        stream = io.StringIO()
        assert run.broken
        show_violation(Screen(stream), run, run.broken)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
        assert [line for line in lines if len(line) > width and not line.startswith("    zombieproof ")] == []
        assert [line for line in lines if line != line.rstrip()] == []
        story = lines[: lines.index("  Try next")]
        assert " ".join(story).split() == " ".join(plain[key][: plain[key].index("  Try next")]).split()
        assert lines.count("") == plain[key].count("")
        commands = [line.split("   #")[0] for line in plain[key] if line.startswith("    zombieproof ")]
        assert [line.split("   #")[0] for line in lines if line.startswith("    zombieproof ")] == commands

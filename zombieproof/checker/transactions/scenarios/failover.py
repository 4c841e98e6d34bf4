"""Coordinators and leaders that fail, and come back, and some that do not know that they are deposed."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, VISIBLE, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import SKIPPED_MARKER, told_from_memory
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.model.known_defects import defect

_ONE = (((Op.SEND_0, Op.SEND_1, Op.COMMIT),),)
_TWO_IN_A_ROW = (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),)

COORDINATOR_FAILOVER = transaction_scenario(
    "coordinator_failover",
    "The coordinator crashes at any moment, or is replaced and continues to answer from memory. The new "
    "coordinator reads the log and completes prepared transactions. An append may be durable although it was "
    "reported as failed.",
    _TWO_IN_A_ROW,
    distinct=112_446,
    always=(
        *ALWAYS,
        "a_decided_transaction_is_driven_to_its_end",
        "what_is_pending_is_under_way",
        "nothing_of_an_older_instance_takes_effect",
    ),
    sometimes=(
        "a_transaction_commits",
        "a_prepared_transaction_is_taken_over",
        "a_stale_coordinator_still_answers",
    ),
    failovers=1,
    deposed=1,
    unknown_appends=1,
    lost=1,
    mutants=(
        told_from_memory(13),
        Mutant(
            "markers_of_a_deposed_coordinator_count",
            breaks="epochs_never_go_down",
            steps=15,
            without=("marker_coordinator_epoch",),
        ),
        Mutant(
            "a_loaded_decision_is_not_driven",
            breaks="a_decided_transaction_is_driven_to_its_end",
            steps=13,
            without=("reload_drives_markers",),
        ),
        Mutant(
            "what_an_older_epoch_left_open_takes_a_new_record",
            breaks="a_decided_transaction_is_driven_to_its_end",
            steps=15,
            without=("epoch_aware_ongoing",),
        ),
    ),
)

LEADER_FAILOVER = transaction_scenario(
    "leader_failover",
    "Partition leaders change at any moment, even during a verification. A new leader knows only the producers, "
    "sequences and open transactions that are in its log.",
    _TWO_IN_A_ROW,
    distinct=36_493,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("two_transactions_commit", "a_new_leader_knows_an_open_transaction"),
    leader_changes=2,
    lost=1,
    doubled_batches=1,
    late=1,
    mutants=(
        Mutant(
            "a_new_leader_knows_nothing",
            breaks="memory_is_the_fold_of_the_log",
            steps=7,
            without=("leader_reads_log",),
        ),
        Mutant(
            "a_new_leader_refuses_the_marker_for_ever",
            breaks="a_decided_transaction_is_complete",
            steps=17,
            without=("marker_retry_relax",),
        ),
    ),
)

LEADERLESS_PARTITION = transaction_scenario(
    "leaderless_partition",
    "A transaction is decided while one of its partitions has no leader. The marker must wait for the next leader. "
    f"Kafka {defect('B73').span} mistakes the partition for a deleted one and never writes the marker, so the next "
    "transaction of the producer decides these records.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    distinct=2_029,
    always=(*VISIBLE, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("two_transactions_commit", "a_partition_is_without_a_leader_while_a_marker_waits"),
    leaderless=1,
    lost=1,
    may_abort=1,
    mutants=(
        Mutant(
            "marker_skips_a_partition_without_leader",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=26,
            without=("marker_waits_for_leader",),
            bug="B73",
            known=SKIPPED_MARKER,
        ),
        Mutant(
            "a_skipped_marker_hides_what_is_committed",
            breaks="an_acknowledged_commit_is_visible",
            steps=27,
            without=("marker_waits_for_leader",),
        ),
    ),
)

"""Defects of the newest releases of Kafka, each with the rule that would repair it: no release has that rule."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import (
    CLOSED_BY_A_LATE_COMMIT,
    DELETED_WHILE_PENDING,
    GUARD_TAKEN_BY_A_COPY,
    LAST_EPOCH_LOST,
    OLD_TOPIC_ID,
    UNRIVALLED,
)
from zombieproof.checker.transactions.vocabulary import Op

_TRANSACTION = (Op.SEND_0, Op.COMMIT)
_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

LATE_COMMIT = transaction_scenario(
    "late_commit",
    "The coordinator times out a transaction just before its producer commits. The commit is too late and refused. "
    "An application starts a new producer when the old one is fenced, and stops after any other fatal error, as "
    "Kafka Streams does.",
    ((_TRANSACTION,),),
    # A new instance does the same transaction again, so what is said of one transaction is not judged.
    always=(
        "every_open_transaction_is_known_to_its_coordinator",
        "no_machine_leaves_its_table",
        "no_durable_record_contradicts_memory",
        "epochs_never_go_down",
        "sequences_follow_each_other",
        "memory_is_the_fold_of_the_log",
    ),
    at_rest=("a_decided_transaction_is_complete", "what_is_open_can_time_out", "nobody_waits_for_ever"),
    sometimes=("a_transaction_commits", "a_commit_comes_too_late"),
    leads_to=("a_producer_is_never_stuck", "somebody_gets_through"),
    timeouts=1,
    lost=1,
    restarts=1,
    distinct=132,
    mutants=(
        Mutant(
            "a_late_commit_stops_its_application",
            breaks="somebody_gets_through",
            steps=10,
            without=("late_commit_is_fenced",),
            bug="B75",
            known=CLOSED_BY_A_LATE_COMMIT,
        ),
    ),
)

REPEATED_INIT = transaction_scenario(
    "repeated_init",
    "A producer repeats an InitProducerId whose response was lost, at a coordinator that failed over in between "
    "(transaction version 1). The producer had given up a record, aborted, and bumped its epoch by InitProducerId "
    "with its producer id and epoch. The new coordinator must recognise the retry, although it has only the log.",
    ((_TRANSACTION, _TRANSACTION),),
    always=(*ALWAYS, UNRIVALLED),
    sometimes=("a_transaction_aborts", "two_transactions_commit"),
    changes={"transaction_version": 1, "persist_last_epoch": 1},
    late=1,
    lost=1,
    failovers=1,
    distinct=7_057,
    mutants=(
        Mutant(
            "a_failover_forgets_the_previous_epoch",
            breaks=UNRIVALLED,
            steps=12,
            without=("persist_last_epoch",),
            bug="B81",
            known=LAST_EPOCH_LOST,
        ),
    ),
)

REPEATED_MARKER = transaction_scenario(
    "repeated_marker",
    "A duplicated marker arrives while the group coordinator verifies the next transaction. An application gives "
    "up on its commit and starts a new producer, whose InitProducerId ends the open transaction. A copy of the "
    "marker is still in flight during the first offset commit of the next transaction. The copy ends nothing, so "
    "it must not clear that verification.",
    ((_LOOP, _LOOP),),
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        UNRIVALLED,
    ),
    sometimes=(
        "a_guard_is_out_while_a_marker_arrives",
        "offsets_are_committed",
        "a_commit_that_nobody_heard_of_is_decided",
    ),
    changes={"marker_keeps_newer_guard": 1},
    grouped=1,
    ends_given_up=1,
    doubled_markers=1,
    distinct=322,
    mutants=(
        Mutant(
            "a_late_marker_voids_the_next_verification",
            breaks=UNRIVALLED,
            steps=26,
            without=("marker_keeps_newer_guard",),
            bug="B82",
            known=GUARD_TAKEN_BY_A_COPY,
        ),
    ),
)

DELETED_GROUP = transaction_scenario(
    "deleted_group",
    "An administrator deletes a group at any moment. A consumer without group membership commits its offsets in "
    "transactions. If a transaction is open at that moment and commits later, the group must have the committed "
    "offsets. The group coordinator may change in between.",
    ((_LOOP, _LOOP),),
    always=(
        *ALWAYS,
        "offsets_of_a_commit_outlive_an_earlier_deletion",
        "offsets_in_memory_are_the_fold_of_their_log",
        "no_input_is_passed_over",
        UNRIVALLED,
    ),
    sometimes=("offsets_are_committed", "offsets_are_deleted"),
    changes={"deletion_waits_for_offsets": 1},
    grouped=1,
    no_members=1,
    group_deletions=1,
    leader_changes=1,
    lost=1,
    may_abort=1,
    distinct=4_513,
    mutants=(
        Mutant(
            "a_deletion_discards_what_is_committed_later",
            breaks="offsets_of_a_commit_outlive_an_earlier_deletion",
            steps=15,
            without=("deletion_waits_for_offsets",),
            bug="B80",
            known=DELETED_WHILE_PENDING,
        ),
        Mutant(
            "a_tombstone_in_the_log_spares_what_is_pending",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=10,
            without=("deletion_waits_for_offsets", "loaded_tombstone_ends_pending"),
        ),
    ),
)

RECREATED_INPUT = transaction_scenario(
    "recreated_input",
    "The input topic is deleted and created again with the same name while its consumer commits offsets in a "
    "transaction. The producer names the topic by its id, as the Java client does since 4.4. A request with the "
    "old id is refused and retried. Eventually it must name the existing topic.",
    ((_LOOP, _LOOP),),
    always=(*ALWAYS, "offsets_in_memory_are_the_fold_of_their_log", "no_input_is_passed_over", UNRIVALLED),
    sometimes=("offsets_are_committed", "offsets_are_deleted"),
    leads_to=("a_producer_is_never_stuck", "every_request_is_answered"),
    changes={"retry_looks_topic_ids_up": 1},
    grouped=1,
    recreations=1,
    lost=1,
    distinct=3_328,
    mutants=(
        Mutant(
            "a_recreated_topic_is_asked_for_by_its_old_id",
            breaks="every_request_is_answered",
            steps=10,
            without=("retry_looks_topic_ids_up",),
            bug="B79",
            known=OLD_TOPIC_ID,
        ),
    ),
)

"""A high watermark below the end of the log: answers and readers wait for it, and elections cut what is above."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

KEPT = ("what_was_acknowledged_stays_in_the_log",)

CUT_TRANSACTION = transaction_scenario(
    "cut_transaction",
    "An election truncates records and markers that are not yet replicated. A producer commits or aborts two "
    "transactions, and two consumers read. Until records are replicated, they are neither acknowledged nor "
    "readable. Acknowledged records stay, read records stay, and markers are sent again.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=8_498,
    always=(
        *ALWAYS,
        *KEPT,
        "nothing_that_was_read_is_lost",
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "both_readers_agree",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=(
        "a_record_is_not_replicated",
        "a_marker_holds_the_stable_offset_back",
        "an_election_loses_records",
        "two_transactions_commit",
        "a_transaction_aborts",
    ),
    readers=2,
    may_abort=1,
    replicated=1,
    truncations=1,
    lost=1,
    mutants=(
        Mutant(
            "the_leader_answers_when_it_has_appended",
            breaks="what_was_acknowledged_stays_in_the_log",
            steps=7,
            without=("answers_wait",),
        ),
        Mutant(
            "a_marker_counts_when_it_is_appended",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=11,
            without=("answers_wait",),
        ),
        Mutant(
            "readers_read_to_the_end_of_the_log",
            breaks="nothing_that_was_read_is_lost",
            steps=8,
            without=("watermark_bound",),
        ),
        Mutant(
            "a_marker_makes_stable_when_it_is_appended",
            breaks="a_reader_gets_committed_records_only",
            steps=13,
            without=("stable_waits_for_marker",),
        ),
        Mutant(
            "a_leader_remembers_what_its_log_has_lost",
            breaks="memory_is_the_fold_of_the_log",
            steps=7,
            without=("cut_log_reloads",),
        ),
    ),
)

CUT_OFFSETS = transaction_scenario(
    "cut_offsets",
    "An election truncates the log of the offsets or of the output. Two members of a group with one transactional "
    "id consume, transform and produce, and the group rebalances. No committed offset is returned before it is "
    "replicated, and each input gets exactly one committed output.",
    (((Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT),), ((Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT),)),
    distinct=67_650,
    always=(
        *ALWAYS,
        *KEPT,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
    ),
    sometimes=("a_record_is_not_replicated", "an_election_loses_records", "a_transaction_commits"),
    grouped=1,
    replicated=1,
    truncations=1,
    rebalances=1,
    mutants=(
        Mutant(
            "offsets_are_told_when_their_marker_is_appended",
            breaks="no_input_is_passed_over",
            steps=15,
            without=("answers_wait",),
        ),
        Mutant(
            "the_group_remembers_what_its_log_has_lost",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=9,
            without=("cut_log_reloads",),
        ),
    ),
)

CUT_BATCHES = transaction_scenario(
    "cut_batches",
    "Two elections truncate unreplicated batches of an idempotent producer, which has two batches in flight to one "
    "partition. Responses are lost. A retried batch is recognised if it is still in the log, and acknowledged only "
    "when it is replicated. Each batch is written once, and in order.",
    (((Op.SEND_0,), (Op.SEND_0,), (Op.SEND_0,)),),
    distinct=1_812,
    always=(
        *KEPT,
        "every_batch_is_written_once",
        "sequences_follow_each_other",
        "no_machine_leaves_its_table",
        "epochs_never_go_down",
        "memory_is_the_fold_of_the_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("a_record_is_not_replicated", "an_election_loses_records", "two_batches_are_remembered"),
    ids=(-1, -1),
    in_flight=2,
    replicated=1,
    truncations=2,
    leader_changes=1,
    lost=2,
    doubled_batches=1,
    mutants=(
        Mutant(
            "a_batch_is_answered_when_it_is_appended",
            breaks="every_batch_is_written_once",
            steps=4,
            without=("answers_wait",),
        ),
        Mutant(
            "a_batch_that_was_lost_is_taken_for_a_duplicate",
            breaks="nobody_waits_for_ever",
            steps=6,
            without=("cut_log_reloads",),
        ),
    ),
)

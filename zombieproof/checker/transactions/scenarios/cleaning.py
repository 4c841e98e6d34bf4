"""What lies in a log does not stay as it was: fetches that take their time, the cleaner, snapshots and retention."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import DROPPED_MARKERS, EMPTY_MARKERS
from zombieproof.checker.transactions.vocabulary import Op

FETCHES_IN_STEPS = transaction_scenario(
    "fetches_in_steps",
    "A fetch determines its bound, its records and its list of aborted transactions in separate steps, while "
    "records and markers are appended in between. A producer aborts its first transaction and commits the second. "
    "A consumer that skips listed transactions and one that buffers transactions itself deliver the second "
    "transaction and nothing else.",
    (((Op.SEND_0, Op.ABORT), (Op.SEND_0, Op.COMMIT)),),
    distinct=1_098,
    always=(
        *ALWAYS,
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "both_readers_agree",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=(
        "a_reader_skips_and_delivers",
        "a_buffering_reader_holds_back",
        "a_marker_is_appended_behind_the_bound_of_a_fetch",
    ),
    readers=2,
    reads_in_steps=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "the_list_is_older_than_the_bound",
            breaks="a_reader_gets_committed_records_only",
            steps=11,
            without=("aborted_list_last",),
            bug="B54",
        ),
    ),
)

CLEANED_LOG = transaction_scenario(
    "cleaned_log",
    "The log cleaner compacts a partition during transactions and a fetch. One producer aborts a transaction and "
    "commits the next, and another producer commits its own. The cleaner removes aborted records, and later their "
    "marker. The leader changes, and its successor has the compacted log. No reader and no leader misses anything "
    "because of that.",
    (((Op.SEND_0, Op.ABORT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    ids=(0, 1),
    distinct=40_308,
    always=(
        *ALWAYS,
        "sequences_in_memory_are_the_fold_of_their_log",
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=(
        "a_reader_skips_and_delivers",
        "a_fetch_meets_what_the_cleaner_has_left",
        "a_new_leader_reads_a_cleaned_log",
    ),
    readers=1,
    reads_in_steps=1,
    compactions=2,
    leader_changes=1,
    mutants=(
        Mutant(
            "a_marker_goes_before_its_records",
            breaks="memory_is_the_fold_of_the_log",
            steps=12,
            without=("marker_outlives_data",),
        ),
        Mutant(
            "an_empty_marker_tells_no_epoch",
            breaks="memory_is_the_fold_of_the_log",
            steps=13,
            bounds={"compactions": 3},
            known=EMPTY_MARKERS,
        ),
        Mutant(
            "an_empty_marker_tells_no_epoch_to_who_leads_again",
            breaks="memory_is_the_fold_of_the_log",
            steps=14,
            bounds={"compactions": 3, "leader_changes": 0, "leaderless": 1},
            known=EMPTY_MARKERS,
        ),
        Mutant(
            "who_knows_nothing_fences_nobody",
            breaks="epochs_never_go_down",
            steps=15,
            bounds={"compactions": 3, "deposed": 1},
            known=EMPTY_MARKERS,
        ),
        Mutant(
            "a_marker_outlives_its_coordinator_and_what_was_cleaned",
            breaks="epochs_never_go_down",
            steps=15,
            bounds={"compactions": 3, "failovers": 1},
            known=EMPTY_MARKERS,
        ),
        Mutant(
            "a_marker_by_hand_outlives_what_was_cleaned",
            breaks="epochs_never_go_down",
            steps=15,
            bounds={"compactions": 3, "aborts_by_hand": 1},
            known=EMPTY_MARKERS,
        ),
    ),
)

CLEANED_LOG_OF_VERSION_0 = transaction_scenario(
    "cleaned_log_of_version_0",
    "The log cleaner must keep the last batch of a producer (transaction version 0, where epoch and sequences "
    "continue across transactions). The cleaner removes aborted records, and later their marker. The leader "
    "changes, and its successor has the compacted log. The batch with the last sequence is still there, possibly "
    "without records, so the producer can continue.",
    (((Op.SEND_0, Op.ABORT), (Op.SEND_0, Op.COMMIT)),),
    distinct=657,
    always=(
        *ALWAYS,
        "sequences_in_memory_are_the_fold_of_their_log",
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=(
        "a_reader_skips_and_delivers",
        "a_fetch_meets_what_the_cleaner_has_left",
        "a_new_leader_reads_a_cleaned_log",
    ),
    changes={"transaction_version": 0},
    readers=1,
    reads_in_steps=1,
    compactions=3,
    leader_changes=1,
    mutants=(
        Mutant(
            "the_last_sequence_goes_with_its_record",
            breaks="sequences_in_memory_are_the_fold_of_their_log",
            steps=12,
            without=("last_batch_outlives_records",),
        ),
    ),
)

CLEANED_OFFSETS = transaction_scenario(
    "cleaned_offsets",
    "The log cleaner compacts the offsets topic while a group member commits its offset in several transactions, "
    "or aborts. The cleaner keeps the newest committed offset. The group coordinator changes, and the next one "
    "reads the compacted log. It must know the same as a coordinator that read the full log.",
    (
        (
            (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT),
            (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT),
        ),
    ),
    distinct=3_528,
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=(
        "offsets_are_committed",
        "a_new_leader_reads_a_cleaned_log",
    ),
    inputs=2,
    grouped=1,
    may_abort=1,
    compactions=2,
    leader_changes=1,
    mutants=(
        Mutant(
            "the_cleaner_takes_what_is_open_for_committed",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=23,
            without=("cleaner_stops_at_stable",),
        ),
    ),
)

SHORTENED_LOG = transaction_scenario(
    "shortened_log",
    "Retention deletes the oldest segments of a partition, even during a transaction. Each closed segment has a "
    "snapshot of its producers. The leader changes; its successor has the snapshot and the records after it. It "
    "must know the same epochs, sequences and open transactions as from the full log.",
    (((Op.SEND_0, Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=5_439,
    always=(
        *ALWAYS,
        "sequences_in_memory_are_the_fold_of_their_log",
        "a_reader_gets_committed_records_only",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("a_new_leader_knows_an_open_transaction", "a_transaction_is_open_that_begins_below_its_log"),
    readers=1,
    may_abort=1,
    snapshots=2,
    retentions=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "a_snapshot_forgets_what_is_open",
            breaks="a_reader_gets_committed_records_only",
            steps=9,
            without=("snapshot_keeps_open",),
            bug="B68",
        ),
        Mutant(
            "producers_go_with_their_records",
            breaks="memory_is_the_fold_of_the_log",
            steps=8,
            without=("producers_outlive_records",),
        ),
    ),
)

SHORTENED_FOR_READERS = transaction_scenario(
    "shortened_for_readers",
    "Retention deletes the oldest segment while two consumers read. A producer aborts its first transaction and "
    "commits the second. Kafka's consumer gets the list of aborted transactions with each fetch. A consumer that "
    "buffers transactions itself waits for markers, and a marker that was deleted before it was read never arrives.",
    (((Op.SEND_0, Op.ABORT), (Op.SEND_0, Op.COMMIT)),),
    distinct=831,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_reader_skips_and_delivers", "a_buffering_reader_holds_back"),
    readers=2,
    snapshots=1,
    retentions=1,
    mutants=(
        Mutant(
            "a_marker_that_was_dropped_is_waited_for",
            breaks="a_reader_gets_committed_records_only",
            steps=20,
            known=DROPPED_MARKERS,
        ),
    ),
)

SHORTENED_FOR_A_PRODUCER = transaction_scenario(
    "shortened_for_a_producer",
    "Retention deletes the records of an idempotent producer while it retries. The response to its last batch is "
    "lost, and the producer sends the batch again. Each batch is written once, because the leader still knows the "
    "producer.",
    (((Op.SEND_0,), (Op.SEND_0,), (Op.SEND_0,)),),
    distinct=676,
    always=(
        "every_batch_is_written_once",
        "sequences_follow_each_other",
        "no_machine_leaves_its_table",
        "epochs_never_go_down",
        "memory_is_the_fold_of_the_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("a_record_is_sent_again_that_retention_has_dropped",),
    ids=(-1, -1),
    snapshots=1,
    retentions=1,
    lost=1,
    doubled_batches=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "whoever_is_forgotten_begins_again",
            breaks="every_batch_is_written_once",
            steps=6,
            rules="2.3",
            bug="B19",
        ),
    ),
)

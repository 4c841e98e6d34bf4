"""Small worlds in which a single switch of the rules shows that it counts (``checker.switches``)."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_ONE = (Op.SEND_0, Op.COMMIT)

SKIPPING_READER = transaction_scenario(
    "skipping_reader",
    "Consumers skip an aborted transaction and deliver the next one, which commits. One consumer skips what the "
    "broker lists as aborted, and one buffers transactions itself. Both deliver the second transaction and nothing "
    "else.",
    (((Op.SEND_0, Op.ABORT), _ONE),),
    distinct=135,
    always=(
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "both_readers_agree",
        "no_machine_leaves_its_table",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("a_reader_skips_and_delivers", "a_buffering_reader_holds_back"),
    readers=2,
    mutants=(
        Mutant(
            "the_reader_runs_ahead_of_the_marker",
            breaks="a_reader_gets_committed_records_only",
            steps=7,
            without=("stable_bound",),
        ),
        Mutant(
            "the_reader_skips_the_next_transaction",
            breaks="a_reader_misses_nothing_committed",
            steps=17,
            without=("skipping_ends",),
        ),
    ),
)

TWO_IDEMPOTENT_PRODUCERS = transaction_scenario(
    "two_idempotent_producers",
    "Two idempotent producers write to one partition, with two batches in flight each. The leader changes, a "
    "response is lost and a batch is duplicated. The new leader must not confuse the state of the two producers.",
    (((Op.SEND_0,), (Op.SEND_0,)), ((Op.SEND_0,), (Op.SEND_0,))),
    distinct=3_705,
    always=(
        "every_batch_is_written_once",
        "sequences_follow_each_other",
        "no_machine_leaves_its_table",
        "memory_is_the_fold_of_the_log",
    ),
    sometimes=("two_batches_are_remembered",),
    ids=(-1, -1),
    in_flight=2,
    lost=1,
    doubled_batches=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "the_new_leader_takes_a_batch_again",
            breaks="every_batch_is_written_once",
            steps=5,
            without=("leader_reads_log",),
        ),
    ),
)

FORGOTTEN_BY_2_4 = transaction_scenario(
    "forgotten_by_2_4",
    "A leader forgets a producer between two transactions (clients and brokers of Kafka 2.4). A batch that does "
    "not start with sequence 0 gets UNKNOWN_PRODUCER_ID, and the client starts again.",
    ((_ONE, _ONE),),
    distinct=112,
    always=(
        *(name for name in ALWAYS if name != "memory_is_the_fold_of_the_log"),
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("two_transactions_commit", "a_transaction_aborts"),
    rules="2.4",
    forgotten=1,
    lost=1,
    mutants=(
        Mutant(
            "a_transaction_is_complete_without_its_marker",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=7,
            without=("markers_before_completion",),
        ),
    ),
)

FAILED_FENCE = transaction_scenario(
    "failed_fence",
    "The append of a fence fails after the epoch was bumped in memory (transaction version 0; the largest epoch is "
    "3). Producer B initialises the id of A, whose transaction is open. If the append of the abort fails, the next "
    "attempt must not bump the epoch again.",
    ((_ONE,), (_ONE,)),
    distinct=2_694,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity"),
    sometimes=("a_zombie_is_fenced", "two_transactions_commit"),
    changes={"transaction_version": 0},
    epoch_max=3,
    appends_travel=1,
    failed_appends=2,
    mutants=(
        Mutant(
            "who_takes_the_id_gets_the_same_epoch",
            breaks="no_two_live_producers_share_an_identity",
            steps=8,
            without=("init_raises_epoch",),
        ),
    ),
)

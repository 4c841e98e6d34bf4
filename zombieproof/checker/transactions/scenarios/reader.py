"""Readers of a partition on which two producers interleave."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

READER = transaction_scenario(
    "reader",
    "Two kinds of consumers read the transactions of two producers, which write to the same partition. One "
    "producer may abort. One consumer reads as Kafka's read_committed does (the broker ends the fetch at the last "
    "stable offset and lists aborted transactions); the other buffers transactions itself. Both deliver all "
    "committed records and nothing else.",
    (((Op.SEND_0, Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    distinct=479_426,
    always=(
        "a_reader_gets_committed_records_only",
        "a_reader_misses_nothing_committed",
        "both_readers_agree",
        "only_what_was_asked_to_commit_is_committed",
        "no_machine_leaves_its_table",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("a_reader_skips_and_delivers", "a_buffering_reader_holds_back", "two_transactions_commit"),
    ids=(0, 1),
    readers=2,
    may_abort=1,
    late=1,
    mutants=(
        Mutant(
            "the_broker_lists_no_aborted_transactions", breaks="both_readers_agree", steps=11, without=("aborted_list",)
        ),
        Mutant(
            "skipping_never_ends",
            breaks="a_reader_misses_nothing_committed",
            steps=18,
            without=("skipping_ends",),
        ),
        Mutant(
            "reader_ignores_the_last_stable_offset",
            breaks="a_reader_gets_committed_records_only",
            steps=7,
            without=("stable_bound",),
        ),
        Mutant(
            "reader_ignores_the_list_of_aborted_transactions",
            breaks="a_reader_gets_committed_records_only",
            steps=10,
            without=("aborted_list",),
        ),
    ),
)

"""A batch is refused for a while, and those behind it are not."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import ANY_FIRST_SEQUENCE, ANY_SEQUENCE_BEHIND_A_CUT
from zombieproof.checker.transactions.vocabulary import Op

REFUSED_BATCH = transaction_scenario(
    "refused_batch",
    "Two batches of one partition are reordered, because the leader had too few in-sync replicas for the first and "
    "enough for the second (transaction version 0). The second batch is out of order, and both are retried. In "
    "every case, the log has the records in the order in which they were sent.",
    (((Op.SEND_0, Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=4_211,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_transaction_commits_behind_a_refusal", "two_transactions_commit"),
    changes={"transaction_version": 0},
    in_flight=2,
    refused=2,
    doubled_batches=1,
    lost=1,
    mutants=(
        Mutant(
            "a_given_up_batch_leaves_a_gap",
            breaks="sequences_follow_each_other",
            steps=9,
            bounds={"late": 1},
            known=ANY_FIRST_SEQUENCE,
        ),
        Mutant(
            "a_later_batch_begins_a_log_that_was_cut",
            breaks="sequences_follow_each_other",
            steps=14,
            bounds={"replicated": 1, "truncations": 1},
            known=ANY_SEQUENCE_BEHIND_A_CUT,
        ),
        Mutant(
            "a_later_batch_is_verified_first",
            breaks="sequences_follow_each_other",
            steps=11,
            without=("guard_lowest_seq",),
            bug="B36",
        ),
        Mutant(
            "a_later_batch_is_taken_first",
            breaks="sequences_follow_each_other",
            steps=11,
            without=("sequence_check",),
        ),
    ),
)

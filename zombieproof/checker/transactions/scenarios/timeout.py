"""The coordinator aborts a transaction that takes too long."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

TIMEOUT = transaction_scenario(
    "timeout",
    "The coordinator may abort a transaction after its timeout without telling the producer. The producer "
    "continues in a transaction that no longer exists, and must notice before it commits.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=4_002,
    sometimes=("a_transaction_commits", "a_transaction_aborts", "a_commit_comes_too_late", "a_producer_is_fenced"),
    timeouts=2,
    lost=1,
    doubled=1,
    mutants=(
        Mutant(
            "timeout_keeps_the_epoch",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=16,
            without=("timeout_bump",),
            changes={"transaction_version": 0},
            bug="B06",
        ),
        Mutant(
            "timeout_splits_the_transaction",
            breaks="a_transaction_is_all_or_nothing",
            steps=17,
            without=("timeout_bump",),
            changes={"transaction_version": 0},
        ),
    ),
)

"""One transaction over two partitions."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.scenarios.known import (
    ENDED_BY_HAND_ONLY,
    FORGOTTEN_BY_HAND,
    fenced_by_its_own_copy,
)
from zombieproof.checker.transactions.vocabulary import Op

_BY_HAND = {
    **dict.fromkeys(("lost", "doubled", "doubled_batches", "doubled_markers", "late"), 0),
    "forgotten": 1,
    "aborts_by_hand": 1,
}

ONE_TRANSACTION = transaction_scenario(
    "one_transaction",
    "A producer commits or aborts one transaction that writes to two partitions. Responses are lost, requests and "
    "markers are duplicated, and a batch is given up while it is in flight. In every case, the transaction is all "
    "or nothing.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT),),),
    distinct=387_121,
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    lost=2,
    doubled=1,
    doubled_batches=1,
    doubled_markers=1,
    late=1,
    may_abort=1,
    in_flight=2,
    mutants=(
        fenced_by_its_own_copy(8),
        Mutant(
            "complete_without_markers",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=8,
            without=("markers_before_completion",),
        ),
        Mutant(
            "leader_checks_neither_duplicates_nor_sequences",
            breaks="sequences_follow_each_other",
            steps=7,
            without=("duplicate_check", "sequence_check"),
        ),
        Mutant(
            "a_marker_by_hand_outlives_what_the_leader_knew",
            breaks="epochs_never_go_down",
            steps=16,
            bounds=_BY_HAND,
            known=FORGOTTEN_BY_HAND,
        ),
        Mutant(
            "a_batch_comes_again_behind_an_abort_by_hand",
            breaks="sequences_follow_each_other",
            steps=12,
            bounds={**_BY_HAND, "lost": 1},
            known=ENDED_BY_HAND_ONLY,
        ),
        Mutant(
            "a_copy_of_a_batch_comes_behind_an_abort_by_hand",
            breaks="sequences_follow_each_other",
            steps=13,
            bounds={**_BY_HAND, "doubled_batches": 1},
            known=ENDED_BY_HAND_ONLY,
        ),
    ),
)

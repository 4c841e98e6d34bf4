"""What comes from outside of the protocol: an administrator who aborts by hand, look-ups that are stale."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, VISIBLE, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import ABORTED_UNSEEN, HANGS_UNVERIFIED, told_from_memory
from zombieproof.checker.transactions.vocabulary import Op

HANGING_TRANSACTION = transaction_scenario(
    "hanging_transaction",
    "A record that arrives after its abort marker opens a hanging transaction, which no coordinator knows "
    "(transaction version 0 without verification). An administrator finds hanging transactions and aborts them by "
    "hand, while the producer continues.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),),
    distinct=400,
    always=(*VISIBLE, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_hanging_transaction_is_aborted_by_hand", "a_transaction_commits", "a_transaction_aborts"),
    changes={"transaction_version": 0, "verification": 0},
    late=1,
    lost=1,
    aborts_by_hand=1,
    looks_first=1,
    mutants=(
        Mutant(
            "what_hangs_is_left_alone",
            breaks="what_is_open_can_time_out",
            steps=16,
            bounds={"late": 1, "aborts_by_hand": 0},
            bug="B04",
            known=HANGS_UNVERIFIED,
        ),
        Mutant(
            "an_open_transaction_is_aborted_by_hand",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=9,
            bounds={"looks_first": 0},
            known=ABORTED_UNSEEN,
        ),
    ),
)

STALE_LOOKUP = transaction_scenario(
    "stale_lookup",
    "A producer finds its previous coordinator, which has been replaced and may not know it. Requests to it are "
    "refused and retried, or answered from memory; it must not decide anything.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),),
    distinct=5_928,
    always=(*ALWAYS, "nothing_of_an_older_instance_takes_effect", "a_decided_transaction_is_driven_to_its_end"),
    sometimes=("a_stale_coordinator_still_answers", "two_transactions_commit"),
    stale_lookups=2,
    deposed=1,
    lost=1,
    mutants=(
        told_from_memory(9),
        Mutant(
            "markers_of_a_deposed_coordinator_count",
            breaks="epochs_never_go_down",
            steps=11,
            without=("marker_coordinator_epoch",),
        ),
    ),
)

"""The epoch of a producer id runs out."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

EPOCH_EXHAUSTION = transaction_scenario(
    "epoch_exhaustion",
    "A few transactions exhaust the epochs of a producer id, because the largest epoch is 5 instead of 32767. The "
    "coordinator ends the last transaction with the last epoch and assigns a new producer id. A second instance, a "
    "timeout, a failover and lost responses interfere.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    distinct=220_771,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity", "nothing_of_an_older_instance_takes_effect"),
    sometimes=("the_producer_id_rotates", "two_transactions_commit"),
    epoch_max=5,
    lost=1,
    timeouts=1,
    failovers=1,
    mutants=(
        Mutant(
            "a_fence_raises_the_epoch_twice",
            breaks="no_durable_record_contradicts_memory",
            steps=14,
            without=("single_fence_bump",),
            bug="B28",
        ),
        Mutant(
            "a_new_producer_id_fences_nothing",
            breaks="nothing_of_an_older_instance_takes_effect",
            steps=10,
            without=("verification",),
            changes={"transaction_version": 0},
            bounds={"epoch_max": 1, "late": 1, "timeouts": 0},
        ),
        Mutant(
            "an_unknown_identity_is_aborted_for_ever",
            breaks="nobody_waits_for_ever",
            steps=27,
            without=("mapping_fatal",),
        ),
    ),
)

ROTATION_FAILOVER = transaction_scenario(
    "rotation_failover",
    "The coordinator fails over while it rotates a producer id; the largest epoch is 3. A single producer commits "
    "one transaction after another and gets a new producer id when its epochs are exhausted. Responses are lost. A "
    "retry with the old producer id must be recognised by a coordinator that knows only its log.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=7_306,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced", "nothing_of_an_older_instance_takes_effect"),
    sometimes=("the_producer_id_rotates", "two_transactions_commit"),
    epoch_max=3,
    lost=1,
    failovers=2,
    mutants=(
        Mutant(
            "a_rotation_is_forgotten_by_a_failover",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=22,
            without=("persist_prev_next",),
        ),
        Mutant(
            "a_rotated_identity_is_compared_too_early",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=20,
            without=("pending_first",),
            bug="B29",
        ),
    ),
)

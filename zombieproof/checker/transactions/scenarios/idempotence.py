"""An idempotent producer without transactions."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

IDEMPOTENT_PRODUCER = transaction_scenario(
    "idempotent_producer",
    "An idempotent producer without a transactional id has two batches in flight to one partition. Responses are "
    "lost, batches are duplicated and reordered, and the leader changes. Each batch is written once, and in order.",
    (((Op.SEND_0,), (Op.SEND_0,), (Op.SEND_0,)),),
    distinct=630,
    always=(
        "every_batch_is_written_once",
        "sequences_follow_each_other",
        "no_machine_leaves_its_table",
        "epochs_never_go_down",
        "memory_is_the_fold_of_the_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("two_batches_are_remembered",),
    ids=(-1, -1),
    in_flight=2,
    cached_batches=2,
    lost=2,
    doubled_batches=2,
    leader_changes=1,
    mutants=(
        Mutant(
            "leader_checks_no_sequences", breaks="sequences_follow_each_other", steps=9, without=("sequence_check",)
        ),
        Mutant(
            "leader_recognises_no_duplicates",
            breaks="every_batch_is_written_once",
            steps=5,
            without=("duplicate_check",),
        ),
    ),
)

"""A producer that is told by new metadata that a partition is not the one it knows."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

FORGOTTEN_PARTITION = transaction_scenario(
    "forgotten_partition",
    "An idempotent producer drops the sequences of a partition that it considers deleted or recreated. A topic of "
    "that name was created again, or the broker that says so has stale metadata. One batch is acknowledged or "
    "several are in flight, and the producer starts the partition again at 0. The log is the same as before.",
    (((Op.SEND_0,), (Op.SEND_0,), (Op.SEND_0,)),),
    distinct=920,
    always=(
        "every_batch_is_written_once",
        "sequences_follow_each_other",
        "no_machine_leaves_its_table",
        "epochs_never_go_down",
        "memory_is_the_fold_of_the_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("two_batches_are_remembered", "a_partition_begins_again_under_a_raised_epoch"),
    ids=(-1, -1),
    in_flight=2,
    cached_batches=2,
    lost=1,
    doubled_batches=1,
    leader_changes=1,
    forgotten_partitions=2,
    mutants=(
        Mutant(
            "a_new_batch_is_taken_for_one_that_is_there",
            breaks="every_batch_is_written_once",
            steps=6,
            without=("forgotten_partition_changes_identity",),
        ),
    ),
)

"""Consume, transform, produce: the input position is part of the transaction."""

from zombieproof.checker.scenario import ALWAYS, Mutant, transaction_scenario
from zombieproof.checker.world import Op

_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

CONSUME_TRANSFORM_PRODUCE = transaction_scenario(
    "consume_transform_produce",
    "Two members of a group, each with a transactional id of its own, read an input, write an output and commit the "
    "input position in the same transaction. The group takes the first for dead and gives the input to the second; the "
    "first goes on. Each input has one committed output.",
    ((_LOOP,), (_LOOP,)),
    distinct=658_413,
    always=(*ALWAYS, "each_input_has_one_committed_output"),
    sometimes=("offsets_are_committed", "offsets_are_pending_across_a_rebalance", "a_transaction_aborts"),
    ids=(0, 1),
    grouped=1,
    rebalances=1,
    lost=1,
    doubled_batches=1,
    mutants=(
        Mutant(
            "stale_members_may_commit_offsets",
            breaks="each_input_has_one_committed_output",
            steps=29,
            without=("kip447_fence",),
            bug="B07",
        ),
        Mutant(
            "pending_offsets_are_not_waited_for",
            breaks="each_input_has_one_committed_output",
            steps=29,
            without=("kip447_stable",),
            bug="B08",
        ),
    ),
)

"""Offset commits that are appended first, and answered when all replicas have them."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

OFFSETS_UNDER_WAY = transaction_scenario(
    "offsets_under_way",
    "Offset commits take time to replicate. Two group members commit the input offset in their transactions. The "
    "group coordinator appends a commit and applies it in memory at once; the replicas get it later, and the "
    "response comes later still. Before that, the group considers the first member dead, or a new leader without "
    "the commit is elected; the append fails or times out.",
    ((_LOOP,), (_LOOP,)),
    distinct=73_514,
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "offsets_are_pending_across_a_rebalance"),
    ids=(0, 1),
    grouped=1,
    rebalances=1,
    group_appends=1,
    failed_commits=1,
    leader_changes=1,
    mutants=(
        Mutant(
            "a_commit_is_answered_before_replicas_have_it",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=14,
            without=("commit_waits_for_replicas",),
        ),
        Mutant(
            "what_failed_stays_in_memory",
            breaks="offsets_in_memory_are_the_fold_of_their_log",
            steps=8,
            without=("failed_commit_leaves_nothing",),
        ),
        Mutant(
            "a_new_generation_reads_before_its_record",
            breaks="each_input_has_one_committed_output",
            steps=32,
            without=("generation_is_recorded_first",),
        ),
    ),
)

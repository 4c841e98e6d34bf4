"""An application that is not told how its transaction ended, and goes on all the same."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)

GIVEN_UP_COMMIT = transaction_scenario(
    "given_up_commit",
    "An application gives up on a commit and starts a new producer. It reads an input, writes an output and "
    "commits both. The response to the commit times out, so the application closes its producer, starts a new one "
    "and asks its group for the committed offset. The old commit may still arrive, before or after the new "
    "producer is initialised.",
    ((_LOOP, _LOOP, _LOOP),),
    distinct=1_134,
    always=(
        *ALWAYS,
        "each_input_has_one_committed_output",
        "no_input_is_passed_over",
        "offsets_in_memory_are_the_fold_of_their_log",
        "nothing_of_an_older_instance_takes_effect",
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("offsets_are_committed", "a_commit_that_nobody_heard_of_is_decided", "a_commit_comes_too_late"),
    grouped=1,
    ends_given_up=2,
    lost=1,
    mutants=(
        Mutant(
            "what_is_not_answered_counts_as_failed",
            breaks="each_input_has_one_committed_output",
            steps=30,
            bounds={"keeps_position": 1},
        ),
        Mutant(
            "a_given_up_end_ends_the_next_transaction",
            breaks="only_its_owner_ends_a_transaction",
            steps=23,
            without=("strict_end",),
        ),
    ),
)

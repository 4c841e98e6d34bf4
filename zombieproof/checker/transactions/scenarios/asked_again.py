"""An application whose commit times out, and what it calls then."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_TRANSACTION = (Op.SEND_0, Op.COMMIT)
_SEEN = (
    "two_transactions_commit",
    "a_commit_that_timed_out_is_decided",
    "a_commit_that_nobody_heard_of_is_decided",
)

COMMIT_ASKED_AGAIN = transaction_scenario(
    "commit_asked_again",
    "An application repeats a commit that timed out, while its producer keeps retrying. The application commits "
    "again and gets the outcome, even if it was known before. Or it tries to abort; the producer refuses, and the "
    "application restarts. A response may be lost and the coordinator may change, so that an end that already took "
    "effect is requested again, and refused until its markers are written.",
    ((_TRANSACTION, _TRANSACTION),),
    distinct=9_373,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=_SEEN,
    may_abort=1,
    ends_timed_out=2,
    lost=1,
    failovers=1,
    mutants=(
        Mutant(
            "an_abort_is_told_what_became_of_the_commit",
            breaks="a_transaction_has_one_decision",
            steps=10,
            without=("only_the_same_end_is_resumed",),
        ),
        Mutant(
            "who_asks_behind_the_answer_is_refused",
            breaks="a_transaction_has_one_decision",
            steps=10,
            without=("ended_call_keeps_result",),
        ),
    ),
)

VERSION_1_ASKED_AGAIN = transaction_scenario(
    "version_1_asked_again",
    "An application repeats a commit that timed out (transaction version 1). An end does not bump the epoch, so "
    "the end request of a closed producer may arrive late.",
    ((_TRANSACTION, _TRANSACTION),),
    distinct=8_590,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=_SEEN,
    changes={"transaction_version": 1},
    may_abort=1,
    ends_timed_out=2,
    lost=1,
    failovers=1,
    mutants=(
        Mutant(
            "an_abort_is_told_what_became_of_the_commit",
            breaks="a_transaction_has_one_decision",
            steps=11,
            without=("only_the_same_end_is_resumed",),
        ),
    ),
)

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
    "An application is told that its commit has timed out: its producer goes on asking. The application commits again, "
    "and hears the outcome, also if that was known before it asked; or it tries to abort, which its producer refuses, "
    "so that it starts anew. An answer may be lost, and another coordinator may take over, so that an end that has "
    "taken effect is asked for again, and refused until its markers are written.",
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
    "The same by transaction version 1: the end leaves the epoch as it is, so that the end of a producer that was "
    "closed may come late.",
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

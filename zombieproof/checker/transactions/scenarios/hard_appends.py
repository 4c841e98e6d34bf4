"""A completion that the log refuses: for the moment, for good, or because its disk fails."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, AT_REST, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import HANGS, REFUSED_FOR_GOOD, UNRIVALLED
from zombieproof.checker.transactions.vocabulary import Op

_ONE = (Op.SEND_0, Op.COMMIT)
_AT_REST = tuple(name for name in AT_REST if name != "a_decided_transaction_is_complete")
_COMPLETES = "every_decided_transaction_completes"

REFUSED_COMPLETION = transaction_scenario(
    "refused_completion",
    "The append that completes a transaction fails, with a retriable error or with one that is not retried. In the "
    "second case the log's disk fails and another broker takes over, or the log refuses the record and the "
    "coordinator stays. The completion is then neither pending nor retried, and its producer waits until another "
    "coordinator loads the transaction.",
    ((_ONE, _ONE),),
    distinct=8_535,
    always=(*ALWAYS, "what_is_pending_is_under_way"),
    at_rest=_AT_REST,
    sometimes=("two_transactions_commit", "a_prepared_transaction_is_taken_over"),
    appends_travel=1,
    failed_appends=1,
    hard_appends=1,
    failovers=1,
    mutants=(
        Mutant("a_completion_that_is_refused_hangs", breaks=_COMPLETES, steps=19, known=HANGS),
        Mutant("its_producer_asks_for_ever", breaks="a_producer_is_never_stuck", steps=19, known=HANGS),
        Mutant(
            "what_was_refused_is_driven_by_nobody",
            breaks="a_decided_transaction_is_driven_to_its_end",
            steps=17,
            known=HANGS,
        ),
        Mutant(
            "what_was_refused_is_never_complete",
            breaks="a_decided_transaction_is_complete",
            steps=32,
            known=HANGS,
        ),
        Mutant("a_log_that_refuses_kills_its_producer", breaks=UNRIVALLED, steps=4, known=REFUSED_FOR_GOOD),
        Mutant(
            "who_is_killed_leaves_its_transaction_open",
            breaks="every_open_transaction_is_decided",
            steps=14,
            known=REFUSED_FOR_GOOD,
        ),
        Mutant(
            "a_log_that_refuses_lets_nobody_through",
            breaks="somebody_gets_through",
            steps=4,
            known=REFUSED_FOR_GOOD,
        ),
        Mutant(
            "a_completion_is_tried_once",
            breaks=_COMPLETES,
            steps=19,
            without=("completion_is_appended_again",),
            bounds={"hard_appends": 0},
        ),
        Mutant(
            "what_was_refused_is_pending_for_ever",
            breaks="what_is_pending_is_under_way",
            steps=4,
            without=("refused_append_clears_pending",),
        ),
        Mutant(
            "memory_moves_before_the_log",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=13,
            without=("memory_follows_log",),
        ),
    ),
)

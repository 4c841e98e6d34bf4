"""A transaction that is decided outside: whoever starts again takes it up and commits it."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import DECIDED_OUTSIDE
from zombieproof.checker.transactions.vocabulary import Op

_DECIDED_OUTSIDE = (Op.SEND_0, Op.STORE, Op.COMMIT)

RESUMED_COMMIT = transaction_scenario(
    "resumed_commit",
    "A job resumes a transaction after a crash, as Flink's sink does. It writes, flushes, and stores producer id "
    "and epoch with its own decision to commit. The next run continues the transaction with that producer id and "
    "epoch and commits it, whether or not the commit was already sent. The largest epoch is 3, and the coordinator "
    "fails over.",
    ((_DECIDED_OUTSIDE, _DECIDED_OUTSIDE, _DECIDED_OUTSIDE),),
    distinct=8_681,
    always=(*ALWAYS, "what_was_decided_outside_is_not_aborted", "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_stored_transaction_is_taken_up", "two_transactions_commit", "the_producer_id_rotates"),
    epoch_max=3,
    resumptions=2,
    lost=1,
    failovers=1,
    mutants=(
        Mutant(
            "a_time_out_aborts_what_is_stored",
            breaks="what_was_decided_outside_is_not_aborted",
            steps=8,
            bounds={"timeouts": 1},
            bug="B70",
            known=DECIDED_OUTSIDE,
        ),
        Mutant(
            "a_late_init_aborts_what_is_stored",
            breaks="what_was_decided_outside_is_not_aborted",
            steps=10,
            bounds={"crashes": 1},
            bug="B70",
            known=DECIDED_OUTSIDE,
        ),
        Mutant(
            "a_rotation_is_forgotten_by_a_failover",
            breaks="an_unrivalled_producer_is_never_fenced",
            steps=24,
            without=("persist_prev_next",),
        ),
    ),
)

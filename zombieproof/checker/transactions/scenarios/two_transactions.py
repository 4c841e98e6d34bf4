"""Two transactions in a row, while messages of the first are still on their way."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, VISIBLE, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import fenced_by_its_own_copy
from zombieproof.checker.transactions.vocabulary import Op

TV0 = {"transaction_version": 0}

TWO_TRANSACTIONS = transaction_scenario(
    "two_transactions",
    "One producer runs two transactions, one after the other, each of which may commit or abort. Requests and markers "
    "of the first are still on their way when the second runs. No late message of the first may touch the second.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    distinct=292_826,
    sometimes=("two_transactions_commit", "a_transaction_aborts"),
    lost=1,
    doubled=1,
    doubled_batches=1,
    doubled_markers=1,
    late=1,
    may_abort=1,
    mutants=(
        fenced_by_its_own_copy(8),
        Mutant("a_late_end_decides_again", breaks="a_transaction_has_one_decision", steps=17, changes=TV0),
        Mutant(
            "a_late_end_ends_the_next_transaction", breaks="only_its_owner_ends_a_transaction", steps=14, changes=TV0
        ),
        Mutant(
            "a_late_marker_ends_the_next_transaction",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=15,
            without=("marker_strict",),
        ),
    ),
)

DELAYED_COMMIT = transaction_scenario(
    "delayed_commit",
    "The producer commits its first transaction; the request times out and is sent again, and a copy stays on its way. "
    "The second transaction is to be aborted. If the copy arrives in its middle and counts, readers see a record that "
    "its application aborted.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.SEND_1, Op.ABORT)),),
    distinct=853,
    always=VISIBLE,
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    doubled=1,
    lost=1,
    mutants=(
        fenced_by_its_own_copy(10),
        Mutant(
            "ends_without_their_own_epoch",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=18,
            changes=TV0,
            bug="B01",
        ),
    ),
)

DELAYED_ABORT = transaction_scenario(
    "delayed_abort",
    "The producer aborts its first transaction; a copy of the request stays on its way. The second transaction writes "
    "to two partitions and is committed. If the copy arrives between its two records and counts, the first record is "
    "lost although the commit was acknowledged.",
    (((Op.SEND_0, Op.ABORT), (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    distinct=871,
    always=VISIBLE,
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    doubled=1,
    lost=1,
    mutants=(
        fenced_by_its_own_copy(10),
        Mutant(
            "ends_without_their_own_epoch",
            breaks="an_acknowledged_commit_loses_nothing",
            steps=25,
            changes=TV0,
            bug="B02",
        ),
    ),
)

LATE_PRODUCE = transaction_scenario(
    "late_produce",
    "The producer gives up waiting for its first record, aborts, and goes on with a second transaction on the same "
    "partition. The record is still on its way. If it is accepted it joins the second transaction, or opens one that "
    "nobody owns.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=531,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "no_epoch_of_its_own_for_each_transaction",
            breaks="only_what_was_asked_to_commit_is_committed",
            steps=17,
            without=("kip360",),
            changes=TV0,
            bug="B03",
        ),
        Mutant(
            "no_verification",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=9,
            without=("verification",),
            changes=TV0,
            bug="B04",
        ),
    ),
)

LATE_VERIFICATION = transaction_scenario(
    "late_verification",
    "Transaction version 0. The leader has asked the coordinator whether a record belongs to a transaction, and the "
    "answer is on its way when the producer gives up and aborts. The next transaction does not touch that partition. "
    "The answer is yes, but it is not true any more.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),),
    distinct=58_483,
    always=(*ALWAYS, "an_unrivalled_producer_is_never_fenced"),
    sometimes=("a_guard_is_out_while_a_marker_arrives", "a_transaction_commits", "a_transaction_aborts"),
    changes=TV0,
    doubled_batches=1,
    doubled_markers=1,
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "verification_without_guard",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=11,
            without=("verification_guard",),
            bug="B09",
        ),
        Mutant("a_late_record_hangs", breaks="what_is_open_can_time_out", steps=16, without=("verification",)),
    ),
)

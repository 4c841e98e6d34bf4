"""Two transactions in a row, while messages of the first are still on their way."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, VISIBLE, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import fenced_by_its_own_copy
from zombieproof.checker.transactions.vocabulary import Op

TV0 = {"transaction_version": 0}

TWO_TRANSACTIONS = transaction_scenario(
    "two_transactions",
    "A producer runs two transactions in a row, and each may commit or abort. Requests and markers of the first "
    "are still in flight when the second runs. No delayed message of the first may affect the second.",
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
    "A delayed commit of the first transaction arrives during the second, which will be aborted. The commit "
    "request timed out and was retried, so a copy is still in flight. If the copy takes effect, readers see a "
    "record that its application aborted.",
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
    "A delayed abort of the first transaction arrives during the second, which writes to two partitions and "
    "commits. If the copy takes effect between its two records, the first record is lost although the commit was "
    "acknowledged.",
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
    "A delayed record of an aborted transaction arrives during the next one. The producer gave up on the record, "
    "aborted, and continued with a second transaction on the same partition. If the record is accepted, it joins "
    "the second transaction, or opens one that no producer owns.",
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
    "A verification response arrives after the transaction that it verified has been aborted (transaction version "
    "0). The leader has asked the coordinator about a record, and the producer gives up and aborts before the "
    "response arrives. The next transaction does not use that partition, so the response is outdated.",
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

"""One transaction over two partitions."""

from zombieproof.checker.scenario import Mutant, transaction_scenario
from zombieproof.checker.transactions.scenarios.known import fenced_by_its_own_copy
from zombieproof.checker.transactions.vocabulary import Op

ONE_TRANSACTION = transaction_scenario(
    "one_transaction",
    "One producer writes a record to each of two partitions in one transaction and commits or aborts. Answers are "
    "lost, requests and markers doubled, a batch is given up while it is in flight. Whatever happens, the transaction "
    "is all or nothing.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT),),),
    distinct=387_121,
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    lost=2,
    doubled=1,
    doubled_batches=1,
    doubled_markers=1,
    late=1,
    may_abort=1,
    in_flight=2,
    mutants=(
        fenced_by_its_own_copy(8),
        Mutant(
            "complete_without_markers",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=8,
            without=("markers_before_completion",),
        ),
        Mutant(
            "leader_checks_neither_duplicates_nor_sequences",
            breaks="sequences_follow_each_other",
            steps=7,
            without=("duplicate_check", "sequence_check"),
        ),
    ),
)

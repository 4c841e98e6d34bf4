"""What was not used for long is forgotten."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

ID_EXPIRATION = transaction_scenario(
    "id_expiration",
    "An idle transactional id expires, and the coordinator forgets its producer id and epoch. Its producer returns "
    "later, or another one initialises the id and gets a new producer id. Earlier messages are still in flight.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    distinct=948_155,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity"),
    sometimes=("an_id_is_forgotten", "a_zombie_is_fenced", "two_transactions_commit"),
    expirations=1,
    lost=1,
    doubled=1,
    late=1,
    mutants=(
        Mutant(
            "an_open_transaction_is_buried",
            breaks="no_machine_leaves_its_table",
            steps=6,
            without=("only_idle_ids_expire",),
        ),
        Mutant(
            "ids_expire_in_the_middle_of_a_transaction",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=7,
            without=("only_idle_ids_expire",),
        ),
    ),
)

PRODUCER_EXPIRATION = transaction_scenario(
    "producer_expiration",
    "Leaders forget idle producers and unused verifications. A batch that was given up arrives after that. With "
    "transaction version 2, the coordinator still knows that it is outdated.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    distinct=9_282,
    always=(
        *(name for name in ALWAYS if name != "memory_is_the_fold_of_the_log"),
        "an_unrivalled_producer_is_never_fenced",
    ),
    sometimes=("two_transactions_commit", "a_transaction_aborts"),
    forgotten=2,
    late=1,
    lost=1,
    mutants=(
        Mutant(
            "no_verification_of_forgotten_producers",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=9,
            without=("verification",),
            changes={"transaction_version": 0},
            bug="B14",
        ),
    ),
)

FORGOTTEN_OWNER = transaction_scenario(
    "forgotten_owner",
    "A transactional id expires while its producer still has a transaction open (clients and brokers of Kafka "
    "3.9). The transaction times out first, and the id expires before the producer aborts. The abort is refused, "
    "the producer gets a new producer id, and wrongly assumes that its partitions are still part of the "
    "transaction.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),),
    distinct=284,
    # After a time-out the producer goes on in what it takes for its transaction: it is told of another one.
    always=tuple(name for name in ALWAYS if name != "a_transaction_has_one_decision"),
    sometimes=("an_id_is_forgotten", "a_transaction_aborts", "two_transactions_commit"),
    rules="3.9",
    timeouts=1,
    expirations=1,
    mutants=(
        Mutant(
            "its_next_batch_is_appended_unverified",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=13,
            without=("verification",),
        ),
    ),
)
"""As seen of Java clients 3.5.2 and 3.9.1; only verification refuses the second transaction of such a producer."""

"""What was not used for long is forgotten."""

from zombieproof.checker.scenario import ALWAYS, Mutant, transaction_scenario
from zombieproof.checker.world import Op

ID_EXPIRATION = transaction_scenario(
    "id_expiration",
    "A transactional id that is idle expires: the coordinator forgets producer id and epoch. Its producer comes back "
    "later, or another one takes the id and gets a new producer id. Messages of before are still on their way.",
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
    "Leaders forget producers that were silent for long, and verifications that nobody used. A batch that was given up "
    "comes back after that. Under transaction version 2 the coordinator still knows that it is too old.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.SEND_1, Op.COMMIT)),),
    distinct=7_263,
    always=tuple(name for name in ALWAYS if name != "memory_is_the_fold_of_the_log"),
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

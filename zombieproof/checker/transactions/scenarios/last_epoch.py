"""A transaction is fenced under the last epoch that a client may have, and what was left of one under the very last."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, AT_REST, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_THREE_IN_A_ROW = (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),)

EXHAUSTED_FENCE = transaction_scenario(
    "exhausted_fence",
    "The largest epoch is 2 instead of 32767. The second transaction of a producer is open under epoch 1, the last one "
    "that a client may have, when the coordinator times it out: the abort is decided under epoch 2, and a new producer "
    "id follows. Otherwise the producer, which asks to abort as well, is told to go on under epoch 2, above which "
    "nobody can be fenced.",
    _THREE_IN_A_ROW,
    distinct=130,
    sometimes=("the_producer_id_rotates", "two_transactions_commit", "a_commit_comes_too_late"),
    epoch_max=2,
    timeouts=2,
    mutants=(
        Mutant(
            "a_fence_leaves_the_last_epoch_to_the_client",
            breaks="every_open_transaction_is_known_to_its_coordinator",
            steps=23,
            without=("fence_rotation",),
        ),
        Mutant(
            "a_record_under_the_last_epoch_hangs",
            breaks="what_is_open_can_time_out",
            steps=25,
            without=("fence_rotation",),
        ),
    ),
)

_BROKEN_WITHOUT_ROTATION = ("every_open_transaction_is_known_to_its_coordinator", "what_is_open_can_time_out")

LAST_EPOCH = transaction_scenario(
    "last_epoch",
    "The same where a fence does not rotate, as before Kafka 4.3: a producer gets the very last epoch and opens a "
    "transaction under it. Kafka 4.3 can time that out, under the same epoch. What hangs behind its marker is what the "
    "other scenario is about, and not judged here.",
    _THREE_IN_A_ROW,
    distinct=129,
    always=tuple(name for name in ALWAYS if name not in _BROKEN_WITHOUT_ROTATION),
    at_rest=tuple(name for name in AT_REST if name not in _BROKEN_WITHOUT_ROTATION),
    sometimes=("two_transactions_commit", "a_commit_comes_too_late"),
    changes={"fence_rotation": 0},
    epoch_max=2,
    timeouts=2,
    mutants=(
        Mutant(
            "nothing_is_left_to_fence_under",
            breaks="no_durable_record_contradicts_memory",
            steps=21,
            without=("last_epoch_recovery",),
        ),
    ),
)
"""Where every fence rotates no client ever has the last epoch: `last_epoch_recovery` is for what older brokers left."""

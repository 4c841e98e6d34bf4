"""A transaction is fenced under the last epoch that a client may have, and what was left of one under the very last."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import ALWAYS, AT_REST, transaction_scenario
from zombieproof.checker.transactions.vocabulary import Op

_THREE_IN_A_ROW = (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)),)

EXHAUSTED_FENCE = transaction_scenario(
    "exhausted_fence",
    "The coordinator times out a transaction that has the last epoch a client may use; the largest epoch is 2 "
    "instead of 32767. The second transaction of the producer is open with epoch 1. The abort uses epoch 2, and a "
    "new producer id follows. Otherwise the producer, which also tries to abort, would continue with epoch 2, "
    "above which no producer can be fenced.",
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
    "A transaction with the very last epoch times out, where a fence does not rotate the producer id (before Kafka "
    "4.3). The producer gets the last epoch and opens a transaction with it. Kafka 4.3 can time it out with the "
    "same epoch. Records after its marker, which would hang, are checked in exhausted_fence and not here.",
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

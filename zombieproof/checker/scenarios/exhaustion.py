"""The epoch of a producer id runs out."""

from zombieproof.checker.scenario import ALWAYS, Mutant, transaction_scenario
from zombieproof.checker.world import Op

EPOCH_EXHAUSTION = transaction_scenario(
    "epoch_exhaustion",
    "The largest epoch is 5 instead of 32767, so that a few transactions use up a producer id. The coordinator ends the last one under "
    "the last epoch and hands out a new producer id; a second instance, a time-out and lost answers get in between.",
    (((Op.SEND_0, Op.COMMIT), (Op.SEND_0, Op.COMMIT)), ((Op.SEND_0, Op.COMMIT),)),
    distinct=220_771,
    always=(*ALWAYS, "no_two_live_producers_share_an_identity"),
    sometimes=("the_producer_id_rotates", "two_transactions_commit"),
    epoch_max=5,
    lost=1,
    timeouts=1,
    failovers=1,
    mutants=(),
)

"""The read_committed consumer: what it does with the batches of one producer id.

Theory of operation: one machine for each (partition, producer id) that a consumer meets. Kafka's way: the broker sends
nothing from the last stable offset on, and a list of aborted transactions; the consumer skips a producer id from the
first offset of its aborted transaction to the abort marker (DELIVERING, SKIPPING). The way of the KIP-98 text: the
consumer reads everything and holds transactional batches back until their marker (DELIVERING, BUFFERING).

Source: reference §6; ``CompletedFetch.java``.
"""

from zombieproof.model.vocabulary import ConsumerEvent as E
from zombieproof.model.vocabulary import ConsumerState as S
from zombieproof.statemachines.kernel import Machine, T

CONSUMER = Machine(
    name="consumer",
    states=S,
    events=E,
    initial=S.DELIVERING,
    rows=(
        T(S.DELIVERING, E.PLAIN_DATA, S.DELIVERING, "data is handed to the application"),
        T(S.DELIVERING, E.ABORTED_TRANSACTION_BEGINS, S.SKIPPING, "the broker listed this transaction as aborted"),
        T(S.DELIVERING, E.TRANSACTIONAL_DATA, S.BUFFERING, "undecided data is held back by the client"),
        T(S.DELIVERING, E.COMMIT_MARKER, S.DELIVERING, "a commit marker is passed over"),
        T(S.DELIVERING, E.ABORT_MARKER, S.DELIVERING, "an abort marker without data"),
        T(S.SKIPPING, E.TRANSACTIONAL_DATA, S.SKIPPING, "data of the aborted transaction is skipped"),
        T(S.SKIPPING, E.ABORT_MARKER, S.DELIVERING, "the aborted transaction ends here"),
        T(S.BUFFERING, E.TRANSACTIONAL_DATA, S.BUFFERING, "more undecided data"),
        T(S.BUFFERING, E.COMMIT_MARKER, S.DELIVERING, "what was held back is handed to the application"),
        T(S.BUFFERING, E.ABORT_MARKER, S.DELIVERING, "what was held back is thrown away"),
    ),
)

"""One transaction over two partitions."""

from zombieproof.checker.scenario import transaction_scenario
from zombieproof.checker.world import Op

ONE_TRANSACTION = transaction_scenario(
    "one_transaction",
    "One producer writes a record to each of two partitions in one transaction and commits or aborts. Requests and "
    "markers are lost, doubled and late, and the producer may give a batch up. Whatever happens, the transaction is "
    "all or nothing.",
    (((Op.SEND_0, Op.SEND_1, Op.COMMIT),),),
    distinct=0,
    sometimes=("a_transaction_commits", "a_transaction_aborts"),
    lost=1,
    doubled=1,
    late=1,
    may_abort=1,
    in_flight=2,
)

"""Kafka's side of the contrast with the proposal of 2014: for each row of reference §10.11, what explorations show.

They are small, no part of the default set, and explored for the page that sets them beside those of the other protocol.
Of the explorations of one aspect the first says the most.
"""

from typing import Final

from zombieproof.checker.transactions.contrasting import SOMEBODY, KafkaSide
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.scenarios.offsets import CONSUME_TRANSFORM_PRODUCE
from zombieproof.checker.transactions.scenarios.two_transactions import LATE_PRODUCE
from zombieproof.checker.transactions.vocabulary import Op

_ONE = (Op.SEND_0, Op.COMMIT)
_BOTH = (Op.SEND_0, Op.SEND_1, Op.COMMIT)

TWO_INSTANCES = transaction_scenario(
    "two_instances",
    "Two instances of one application start at once with the same transactional id. Each wants to write a record in a "
    "transaction.",
    ((_ONE,), (_ONE,)),
    distinct=328,
    sometimes=("a_zombie_is_fenced", "two_transactions_commit"),
)

TWO_IN_A_ROW = transaction_scenario(
    "two_in_a_row",
    "A producer commits two transactions, one after the other, each with a record on each of two partitions. The "
    "second may begin while the markers of the first are on their way.",
    ((_BOTH, _BOTH),),
    distinct=43,
    sometimes=("two_transactions_commit",),
)

ONE_PARTITION_THEN_TWO = transaction_scenario(
    "one_partition_then_two",
    "A producer commits two transactions. The first writes to one partition, the second to two.",
    ((_ONE, _BOTH),),
    distinct=29,
    sometimes=("two_transactions_commit",),
)

RESENT_REQUEST = transaction_scenario(
    "resent_request",
    "A producer commits one transaction with one record. An answer is lost, so that a request is sent again: for its "
    "identity, of the record, or for the commit.",
    ((_ONE,),),
    distinct=30,
    sometimes=("a_transaction_commits",),
    lost=1,
)

TWO_WRITERS = transaction_scenario(
    "two_writers",
    "Two producers with transactional ids of their own write a record each to one partition, and commit or abort. A "
    "read_committed consumer reads it.",
    ((_ONE,), (_ONE,)),
    distinct=948,
    always=("a_reader_gets_committed_records_only", "a_reader_misses_nothing_committed"),
    sometimes=("two_transactions_commit", "a_reader_skips_and_delivers"),
    ids=(0, 1),
    readers=1,
    may_abort=1,
)

_TAKEN_OVER = {"failovers": 1}
_LATE = {"lost": 0}
_REBALANCED = {"lost": 0, "doubled_batches": 0}

CONTRAST: Final = (
    KafkaSide(
        "identity",
        TWO_INSTANCES,
        SOMEBODY,
        "holds",
        328,
        "The coordinator assigns producer id and epoch: of two instances that start at once, at most one is fenced, "
        "and the other one completes its transaction.",
    ),
    KafkaSide(
        "identity",
        TWO_INSTANCES,
        "no_two_live_producers_share_an_identity",
        "holds",
        328,
        "Each InitProducerId bumps the epoch, so no two instances ever have the same one.",
    ),
    KafkaSide(
        "identity",
        TWO_INSTANCES,
        "no_two_live_producers_share_an_identity",
        "broken",
        12,
        "Without that rule both would have the same one, like two processes of 2014 that both take generation 0.",
        steps=4,
        without=("init_raises_epoch",),
    ),
    KafkaSide(
        "identity",
        TWO_INSTANCES,
        "a_zombie_is_fenced",
        "reached",
        328,
        "The instance that initialised first is fenced at its first request after the other has initialised.",
        steps=10,
    ),
    KafkaSide(
        "identity",
        TWO_INSTANCES,
        SOMEBODY,
        "broken",
        2_279,
        "Only a delayed duplicate of an InitProducerId fences the second instance too, and then neither works.",
        steps=17,
        bounds={"doubled": 1},
    ),
    KafkaSide(
        "unit",
        LATE_PRODUCE,
        "only_what_was_asked_to_commit_is_committed",
        "broken",
        57,
        "Records do not name their transaction. Under the original rules, all transactions of a producer have one "
        "producer id and epoch, and a delayed record of an aborted one is committed with the next.",
        steps=15,
        rules="kip98",
        bounds=_LATE,
    ),
    KafkaSide(
        "unit",
        LATE_PRODUCE,
        "only_what_was_asked_to_commit_is_committed",
        "holds",
        128,
        "Since KIP-890 each transaction has its own epoch: producer id and epoch together do what the TxId of 2014 "
        "did, and the delayed record is refused.",
        bounds=_LATE,
    ),
    KafkaSide(
        "concurrency",
        TWO_IN_A_ROW,
        "a_producer_id_has_two_transactions_open",
        "not reached",
        43,
        "A producer never has two transactions open, not even while the markers of the first are in flight: the "
        "coordinator refuses the second until the first is complete.",
    ),
    KafkaSide(
        "concurrency",
        TWO_IN_A_ROW,
        "a_producer_id_has_two_transactions_open",
        "reached",
        106,
        "If a transaction counted as complete before its markers are written, the next one would be open at the same "
        "time, and one marker would end both.",
        steps=16,
        without=("markers_before_completion",),
    ),
    KafkaSide(
        "concurrency",
        TWO_INSTANCES,
        "a_producer_id_has_two_transactions_open",
        "not reached",
        328,
        "Nor do two instances with one transactional id: the older one's open transaction is ended before the newer "
        "one begins.",
    ),
    KafkaSide(
        "partitions",
        ONE_PARTITION_THEN_TWO,
        "a_marker_ends_nothing",
        "not reached",
        29,
        "A partition joins a transaction when the producer writes to it, and only those that joined get a marker.",
    ),
    KafkaSide(
        "partitions",
        ONE_PARTITION_THEN_TWO,
        "a_marker_ends_nothing",
        "reached",
        185,
        "If the producer gives up on a record after its partition has joined, the partition still gets a marker, "
        "which ends nothing.",
        steps=9,
        bounds={"late": 1},
    ),
    KafkaSide(
        "coordinator log",
        RESENT_REQUEST,
        "a_finished_commit_is_asked_for_at_a_new_coordinator",
        "reached",
        137,
        "The response to a commit is lost, the transaction completes, and the producer retries at a new coordinator, "
        "which knows the transaction from the log.",
        steps=11,
        bounds=_TAKEN_OVER,
    ),
    KafkaSide(
        "coordinator log",
        RESENT_REQUEST,
        SOMEBODY,
        "holds",
        137,
        "The log has the last state of each id, finished or not: in the end the producer learns the outcome of its "
        "transaction.",
        bounds=_TAKEN_OVER,
    ),
    KafkaSide(
        "coordinator log",
        RESENT_REQUEST,
        "an_unrivalled_producer_is_never_fenced",
        "holds",
        137,
        "No repeated request is answered with a fatal error.",
        bounds=_TAKEN_OVER,
    ),
    KafkaSide(
        "visibility order",
        TWO_WRITERS,
        "what_commits_last_is_read_first",
        "reached",
        948,
        "A consumer reads in the order of offsets: a record that comes first in the log is read first, even if its "
        "transaction commits last.",
        steps=19,
    ),
    KafkaSide(
        "consumer",
        TWO_WRITERS,
        "a_reader_waits_before_what_is_committed",
        "reached",
        948,
        "A consumer buffers nothing: it waits at the last stable offset, and committed records after that wait as "
        "well.",
        steps=15,
    ),
    KafkaSide(
        "consumer",
        TWO_WRITERS,
        "a_reader_gets_committed_records_only",
        "holds",
        948,
        "The information in each fetch response is enough for a consumer without a buffer to deliver committed "
        "records only.",
    ),
    KafkaSide(
        "consumer",
        TWO_WRITERS,
        "a_reader_gets_committed_records_only",
        "broken",
        47,
        "Without the last stable offset it would deliver records of open transactions.",
        steps=7,
        without=("stable_bound",),
    ),
    KafkaSide(
        "consumer",
        TWO_WRITERS,
        "a_reader_gets_committed_records_only",
        "broken",
        131,
        "Without the list of aborted transactions it would deliver those.",
        steps=10,
        without=("aborted_list",),
    ),
    KafkaSide(
        "duplicates",
        RESENT_REQUEST,
        "a_transaction_aborts",
        "not reached",
        30,
        "A batch whose response was lost is sent again and recognised by its sequence: the transaction continues, and "
        "is never aborted for that reason.",
    ),
    KafkaSide(
        "duplicates",
        RESENT_REQUEST,
        "every_batch_is_written_once",
        "holds",
        30,
        "Each batch is in the log once.",
    ),
    KafkaSide(
        "duplicates",
        RESENT_REQUEST,
        "a_transaction_aborts",
        "reached",
        34,
        "A leader that did not recognise duplicates would refuse it, and the producer would have to abort and redo "
        "everything, as in the proposal of 2014.",
        steps=9,
        without=("duplicate_check",),
    ),
    KafkaSide(
        "duplicates",
        RESENT_REQUEST,
        "every_batch_is_written_once",
        "broken",
        18,
        "A leader that did not check sequences either would write the batch twice.",
        steps=7,
        without=("duplicate_check", "sequence_check"),
    ),
    KafkaSide(
        "late payload after abort",
        LATE_PRODUCE,
        "every_open_transaction_is_known_to_its_coordinator",
        "broken",
        23,
        "Under the original rules, a leader accepts a record after the abort marker, which opens a transaction that "
        "no coordinator knows.",
        steps=9,
        rules="kip98",
        bounds=_LATE,
    ),
    KafkaSide(
        "late payload after abort",
        LATE_PRODUCE,
        "what_is_open_can_time_out",
        "broken",
        59,
        "That transaction hangs: it is still open in a quiescent state, and no timeout ends it.",
        steps=15,
        rules="kip98",
        bounds=_LATE,
    ),
    KafkaSide(
        "late payload after abort",
        LATE_PRODUCE,
        "every_open_transaction_is_known_to_its_coordinator",
        "holds",
        128,
        "Under the newest rules, including KIP-890, the leader refuses it.",
        bounds=_LATE,
    ),
    KafkaSide(
        "offsets",
        CONSUME_TRANSFORM_PRODUCE,
        "each_input_has_one_committed_output",
        "broken",
        5_761,
        "A member that does not require stable offsets gets the previously committed offset, although a transaction "
        "with a later one is pending, and the same input has two outputs.",
        steps=29,
        without=("kip447_stable",),
        bounds=_REBALANCED,
    ),
    KafkaSide(
        "offsets",
        CONSUME_TRANSFORM_PRODUCE,
        "each_input_has_one_committed_output",
        "holds",
        5_205,
        "A member that requires stable offsets gets UNSTABLE_OFFSET_COMMIT, and waits for the end of that transaction.",
        bounds=_REBALANCED,
    ),
    KafkaSide(
        "offsets",
        CONSUME_TRANSFORM_PRODUCE,
        "offsets_are_pending_across_a_rebalance",
        "reached",
        5_205,
        "It does have to wait: offsets of the first member are pending when the second one owns its input.",
        steps=9,
        bounds=_REBALANCED,
    ),
)
"""Reference §10.11, row by row."""

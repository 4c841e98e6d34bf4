"""The promises that a recorded history must keep, as data: a sentence each, its source, and what it is judged by.

`replay` names them in its findings. A promise is judged only where the evidence it needs was given and is whole.
Source: reference §12.1 (the letters), §3.3, §3.5; KIP-98, KIP-447, KIP-890.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Needs(StrEnum):
    """A kind of evidence."""

    TRANSACTION_LOG = "__transaction_state"
    PARTITION = "a data partition"
    OFFSETS_LOG = "__consumer_offsets"
    CLIENT = "what applications were told"
    REPLICAS = "two copies of a partition"
    ABORTED_INDEX = "the index of aborted transactions"
    COORDINATOR_LINES = "the DEBUG log of the coordinator"


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise. `broken_by` names the recording or the made history (tests/traces/replay) that breaks it."""

    name: str
    sentence: str
    source: str
    needs: tuple[Needs, ...]
    broken_by: str


_ALL = (
    Promise(
        "every_listed_partition_has_its_marker",
        "When a transaction is complete, each partition that it lists has its marker.",
        "reference §2.12, §12.1 (d); KIP-98",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "09-offline-partition-commit, 30-tampered-abort-marker-removed",
    ),
    Promise(
        "a_new_epoch_begins_behind_a_marker",
        "Data of a newer epoch begins its own transaction: what an older epoch left open has its marker before it.",
        "reference §3.3.2, §12.1 (e)",
        (Needs.PARTITION,),
        "09-offline-partition-commit, of which only e-0 is given",
    ),
    Promise(
        "same_outcome_on_every_partition",
        "A transaction ends in the same way on each of its partitions: as the coordinator decided.",
        "reference §12.1 (c); KIP-98, atomicity",
        (Needs.PARTITION,),
        "two transactions, the marker of one partition turned",
    ),
    Promise(
        "committed_offsets_follow_their_transaction",
        "Offsets that a transaction commits count exactly when the transaction is committed.",
        "reference §4.3, §12.1 (j); KIP-98, KIP-447",
        (Needs.TRANSACTION_LOG, Needs.OFFSETS_LOG),
        "a transaction with offsets of a group, the marker of the offsets turned",
    ),
    Promise(
        "marker_only_where_the_transaction_was",
        "A marker is written only to partitions that its transaction lists.",
        "reference §2.12",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "33-tampered-marker-on-unlisted-partition",
    ),
    Promise(
        "marker_follows_a_decision",
        "Each marker carries out a decision of the coordinator, under the epoch of that decision.",
        "reference §2.12, §12.1 (c)",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "two transactions, a marker that nobody decided or of another epoch",
    ),
    Promise(
        "no_open_transaction_that_nobody_owns",
        "Transactional data belongs to a transaction that the coordinator knows; otherwise nobody ever ends it.",
        "reference §1 (hanging transaction), §3.4; KIP-890",
        (Needs.TRANSACTION_LOG, Needs.PARTITION),
        "10-hanging, 13-hanging-admin-abort",
    ),
    Promise(
        "sequences_follow_each_other",
        "The sequences of a producer on a partition follow each other without a gap: no record is lost.",
        "reference §3.3.1, §12.1 (f); KIP-98",
        (Needs.PARTITION,),
        "32-tampered-sequence-gap",
    ),
    Promise(
        "each_sequence_is_appended_once",
        "Each (producer id, epoch, sequence) is appended once to a partition: no record is doubled.",
        "reference §3.3 A1, §12.1 (f); KIP-98",
        (Needs.PARTITION,),
        "22-pid-expiration-duplicate",
    ),
    Promise(
        "epochs_never_go_down",
        "The epoch of a producer id never goes down, neither on a partition nor in the coordinator's log.",
        "reference §3.3 A4, §3.5 M1 and M2, §12.1 (b) and (e)",
        (Needs.PARTITION,),
        "31-tampered-marker-epoch-lowered",
    ),
    Promise(
        "coordinator_epochs_never_go_down",
        "The coordinator epoch of the markers of a producer id never goes down on a partition.",
        "reference §3.5 M4",
        (Needs.PARTITION,),
        "two transactions, the first markers by a later coordinator",
    ),
    Promise(
        "no_plain_data_inside_a_transaction",
        "While a producer has a transaction open on a partition, all its data there is transactional.",
        "reference §3.3 A6",
        (Needs.PARTITION,),
        "two transactions, plain data of the same producer inside a third",
    ),
    Promise(
        "states_follow_the_table",
        "The states of a transactional id, and those that a producer client reports, follow the tables of legal moves.",
        "reference §2.3, §5.1, §12.1 (a)",
        (Needs.TRANSACTION_LOG,),
        "34-tampered-ongoing-removed",
    ),
    Promise(
        "records_are_what_decisions_write",
        "Producer id, epoch, partitions and time-out of each record of the coordinator are what a decision writes.",
        "reference §2.3 (table of prepare functions), §2.4",
        (Needs.TRANSACTION_LOG,),
        "two transactions, a PrepareCommit that lists a partition less",
    ),
    Promise(
        "what_the_application_was_told_is_what_the_logs_say",
        "What an application was told to be committed is visible as a whole, what it was told to be aborted is not, "
        "and what was acknowledged is there.",
        "reference §2.10 (F5), §12.1 (i) and (l); KIP-98",
        (Needs.CLIENT, Needs.PARTITION),
        "12-delayed-abort",
    ),
    Promise(
        "all_or_nothing",
        "Of what an application wrote between begin and end, all becomes visible or nothing.",
        "KIP-98, atomicity",
        (Needs.CLIENT, Needs.PARTITION),
        "a transaction without an answer, one of its markers turned",
    ),
    Promise(
        "replicas_agree",
        "Copies of a partition hold the same batch wherever they hold one of the same offset and leader epoch.",
        "reference §3.7; Kafka's replication",
        (Needs.REPLICAS,),
        "two copies of a partition, a marker of one of them turned",
    ),
    Promise(
        "the_aborted_index_is_what_the_log_says",
        "The index of aborted transactions has one entry for each that was aborted with data, and no other.",
        "reference §3.6, §12.1 (h)",
        (Needs.PARTITION, Needs.ABORTED_INDEX),
        "two transactions, an entry of the index lost or moved",
    ),
    Promise(
        "the_coordinator_wrote_what_it_did",
        "Each transition that a coordinator reported as complete is in its log.",
        "reference §2.4, §2.6",
        (Needs.TRANSACTION_LOG, Needs.COORDINATOR_LINES),
        "two transactions, one line of the DEBUG log with another epoch",
    ),
)

PROMISES: Mapping[str, Promise] = {promise.name: promise for promise in _ALL}
"""Every promise by name, the ones that explain most first: findings are reported in this order."""

"""Causes of what is wrong in the coordinator's log, in what applications were told, in copies and in indexes."""

from zombieproof.traces.explaining.causes.cause import Cause, Prevention, Witness
from zombieproof.traces.explaining.causes.of_data import VERSION_2
from zombieproof.traces.explaining.causes.of_markers import CLEAN_ELECTIONS, OWN_RULES
from zombieproof.traces.explaining.causes.recognising import (
    always,
    buried,
    by_its_shape,
    delayed_abort,
    delayed_commit,
    epoch_raised_twice,
    log_was_truncated,
    nothing_else_changed,
    other_epoch,
    timed_out,
    told_wrongly,
    without_coordinator,
    without_epochs_of_their_own,
)
from zombieproof.traces.verdict.circumstances import Shape

OF_THE_COORDINATOR = (Shape.RECORD_ILLEGAL, Shape.RECORD_ODD, Shape.RECORD_EPOCH)
TOLD = (Shape.TOLD_COMMITTED, Shape.TOLD_ABORTED, Shape.TOLD_NOTHING)
CAUSES = (
    Cause(
        "coordinator_log_lost_records",
        (*OF_THE_COORDINATOR, Shape.LINE_WITHOUT_RECORD),
        "Records are gone from __transaction_state: a replica without them became leader, or a coordinator served what "
        "was left over in its memory from an earlier term.",
        log_was_truncated,
        "Another replica of that partition has the records in between; the brokers' logs say 'unclean' or "
        "'Truncating'.",
        bugs=("B44", "B58"),
        issues=("KAFKA-7408", "KAFKA-9307", "KAFKA-15468"),
        releases="all, where unclean.leader.election.enable=true or transaction.state.log.min.isr is 1",
        preventions=(CLEAN_ELECTIONS,),
    ),
    Cause(
        "rules_of_another_release",
        (*OF_THE_COORDINATOR, Shape.COORDINATOR_LINE),
        "The cluster runs a release whose coordinator decides otherwise than the rules that it was judged by.",
        other_epoch,
        "It conforms when it is judged by the preset of the cluster's own release.",
        releases="those whose preset finds nothing",
        preventions=(OWN_RULES,),
    ),
    Cause(
        "fence_raised_the_epoch_twice",
        (Shape.RECORD_ODD,),
        "A takeover or a time-out raised the epoch, and the abort that followed raised it again.",
        epoch_raised_twice,
        "Brokers 4.0.0 at transaction version 2; the state before was open.",
        switches=("single_fence_bump",),
        bugs=("B28",),
        issues=("KAFKA-19367",),
        witness=Witness("epoch_exhaustion", "a_fence_raises_the_epoch_twice", "no_durable_record_contradicts_memory"),
        preventions=(Prevention("Upgrade brokers to 4.0.1 or newer.", "A rolling restart."),),
    ),
    Cause(
        "id_expired_in_a_transaction",
        (Shape.RECORD_ILLEGAL,),
        "The transactional id was forgotten while its transaction was not over.",
        buried,
        "The record before it is an Ongoing or Prepare record, and a tombstone follows.",
        switches=("only_idle_ids_expire",),
        issues=("KIP-98",),
        releases="no release of Apache Kafka; a tombstone written by hand",
        witness=Witness(
            "id_expiration",
            "an_open_transaction_is_buried",
            "no_machine_leaves_its_table",
            without=("only_idle_ids_expire",),
        ),
    ),
    Cause(
        "coordinator_of_another_make",
        (Shape.COORDINATOR_LINE,),
        "The coordinator made a move that the protocol does not have.",
        always,
        "The line's release, and whether its log has other lines of this id between.",
        bugs=("B41",),
        issues=("KAFKA-5416",),
        releases="0.11.0 before its release; brokers of other makes",
    ),
    Cause(
        "late_event_moved_the_client",
        (Shape.CLIENT_LINE,),
        "An answer that came late moved the client's own machine after its transaction was over.",
        by_its_shape,
        "The client's release, and the answer in its log just before the line.",
        bugs=("B52",),
        issues=("KAFKA-14830", "KAFKA-14831", "KAFKA-16217"),
        releases="Java clients up to 3.6, librdkafka",
        preventions=(
            Prevention("Upgrade the client; until then close the producer after such an error.", "A deployment."),
        ),
    ),
    Cause(
        "delayed_abort_hit_the_next_transaction",
        TOLD,
        "A request to abort an earlier transaction arrived late and aborted what was there of this one; the rest "
        "became a transaction of its own, which was ended as the application asked.",
        delayed_abort,
        "The application (or its client) gave up an EndTxn(ABORT) without an answer before, and sent it again.",
        switches=("transaction_version",),
        bugs=("B02",),
        issues=("KAFKA-17754", "KIP-890"),
        witness=Witness("delayed_abort", "ends_without_their_own_epoch", "an_acknowledged_commit_loses_nothing"),
        preventions=(VERSION_2,),
    ),
    Cause(
        "delayed_commit_hit_the_next_transaction",
        TOLD,
        "A request to commit an earlier transaction arrived late and committed what was there of this one.",
        delayed_commit,
        "The application (or its client) gave up an EndTxn(COMMIT) without an answer before, and sent it again.",
        switches=("transaction_version",),
        bugs=("B01",),
        issues=("KAFKA-17754", "KIP-890"),
        witness=Witness("delayed_commit", "ends_without_their_own_epoch", "only_what_was_asked_to_commit_is_committed"),
        preventions=(VERSION_2,),
    ),
    Cause(
        "timed_out_under_the_same_epoch",
        TOLD,
        "The coordinator aborted the transaction because it took too long, and did not fence its producer, which went "
        "on in what it took for the same transaction.",
        timed_out,
        "The broker's log says that it timed the transaction out; brokers 0.11.0 and 1.0.0.",
        switches=("timeout_bump",),
        bugs=("B06",),
        issues=("KAFKA-6119",),
        witness=Witness("timeout", "timeout_keeps_the_epoch", "an_acknowledged_commit_loses_nothing"),
        preventions=(
            Prevention(
                "Upgrade brokers to 1.0.1 or newer; keep transactions shorter than their time-out.", "A restart."
            ),
        ),
    ),
    Cause(
        "late_record_joined_the_next_transaction",
        (Shape.TOLD_ABORTED, Shape.TOLD_NOTHING),
        "Records of a transaction that was aborted arrived late and joined the next one, which was committed.",
        without_epochs_of_their_own,
        "The offsets lie behind the abort marker of their own transaction, and in front of the next commit marker.",
        switches=("transaction_version",),
        bugs=("B03",),
        issues=("KIP-890", "KAFKA-14053"),
        witness=Witness(
            "late_produce",
            "no_epoch_of_its_own_for_each_transaction",
            "only_what_was_asked_to_commit_is_committed",
        ),
        preventions=(VERSION_2,),
    ),
    Cause(
        "client_answered_by_itself",
        (Shape.TOLD_COMMITTED, Shape.TOLD_UNDECIDED),
        "The client told its application that the transaction was committed without having the coordinator's word.",
        told_wrongly,
        "The client's log has no EndTxn before the answer; or __transaction_state here is older than the client's log.",
        bugs=("B40",),
        releases="clients other than Apache Kafka's",
        preventions=(Prevention("Upgrade the client.", "A deployment."),),
    ),
    Cause(
        "parts_were_ended_apart",
        (Shape.TOLD_NOTHING, Shape.TOLD_COMMITTED, Shape.TOLD_ABORTED),
        "What the application took for one transaction was more than one for the coordinator, or its partitions got "
        "different markers: with __transaction_state in the evidence, replay says which.",
        without_coordinator,
        "The records of this transactional id in __transaction_state at that time.",
        bugs=("B73",),
        issues=("KAFKA-20734",),
        releases="as the cause that __transaction_state then shows",
    ),
    Cause(
        "replica_diverged",
        (Shape.COPIES_DIFFER,),
        "A replica holds something else than its leader wrote: its disk is damaged in a way that the CRC does not "
        "show, or the copies are of different clusters, or one of them was changed.",
        always,
        "meta.properties beside both copies (cluster.id), and what the leader serves at that offset.",
        bugs=("B58",),
        issues=("KAFKA-7408",),
        releases="none that is known to write two batches under one leader epoch",
    ),
    Cause(
        "index_was_not_written",
        (Shape.INDEX_LACKS, Shape.INDEX_INVENTS),
        "The index of aborted transactions was not written when the marker was, or was made anew without knowing it: "
        "after an I/O error, or by a cleaning run that ended in the middle of a segment.",
        by_its_shape,
        "The broker's log has an I/O error at that time, or the topic is compacted.",
        switches=("aborted_list",),
        bugs=("B55", "B56"),
        issues=("KAFKA-7866", "KAFKA-10778", "KAFKA-13727"),
        releases="Kafka up to 2.2 (I/O error), up to 3.1 (cleaner)",
        witness=Witness(
            "reader",
            "reader_ignores_the_list_of_aborted_transactions",
            "a_reader_gets_committed_records_only",
        ),
        preventions=(Prevention("Upgrade brokers to 3.2 or newer.", "A rolling restart."),),
    ),
    Cause(
        "evidence_is_not_whole",
        (
            *OF_THE_COORDINATOR,
            *(shape for shape in Shape if shape.name.startswith("MARKER")),
            Shape.SEQUENCE_GAP,
            Shape.LINE_WITHOUT_RECORD,
            *TOLD,
            Shape.TOLD_UNDECIDED,
            Shape.ABSENT,
        ),
        "The files are not what the broker wrote: copied while it was writing, put together of two copies, taken at "
        "different times, restored from a backup, or changed by hand.",
        nothing_else_changed,
        "The same partitions of another replica, fetched with the brokers stopped: replay both copies together.",
        is_last_resort=True,
    ),
)

UNKNOWN = Cause(
    "no_known_cause",
    (),
    "None of the causes that are known here fits what the evidence shows.",
    always,
    "Logs of brokers and clients of that time, and other replicas: give them to replay as well.",
)
"""Said where nothing fits, so that the absence of a cause is no silence."""

"""Causes of data that is late, doubled, lost, or belongs to nobody."""

from zombieproof.traces.explaining.causes.cause import Cause, Prevention, Witness
from zombieproof.traces.explaining.causes.of_markers import CLEAN_ELECTIONS
from zombieproof.traces.explaining.causes.recognising import (
    always,
    by_its_shape,
    leader_changed_before,
    producer_was_silent,
    same_leader_before,
    was_forgotten,
)
from zombieproof.traces.verdict.circumstances import Shape

CONFIGS = "kafka-configs.sh --bootstrap-server HOST:PORT"

VERIFY = Prevention(
    "Brokers 3.6 or newer with transaction.partition.verification.enable=true (the default) ask the coordinator "
    "before they open a transaction; check that nobody switched it off.",
    "One request to the coordinator for each partition and transaction.",
    ("kafka-configs.sh --bootstrap-server HOST:PORT --describe --all --entity-type brokers --entity-name BROKER",),
)
VERSION_2 = Prevention(
    "Transaction version 2 (brokers 4.0 or newer, clients 4.0 or newer) gives each transaction an epoch of its own: "
    "what is late is refused.",
    "The feature is raised for the whole cluster; older clients go on with the old protocol, unprotected.",
    ("kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature transaction.version=2",),
)
REMEMBER_LONGER = Prevention(
    "Raise producer.id.expiration.ms (releases without it: transactional.id.expiration.ms) above the longest time "
    "after which a client or a proxy may still send an old batch again (delivery.timeout.ms).",
    "Leaders keep producers in memory for longer: matters where many short-lived producers write.",
    (f"{CONFIGS} --alter --entity-type brokers --entity-default --add-config producer.id.expiration.ms=86400000",),
)

CAUSES = (
    Cause(
        "late_record_opened_a_transaction",
        (Shape.DATA_LATE,),
        "A record arrived behind the marker of its transaction (it was on its way when the transaction ended), and the "
        "leader took it as the beginning of a new one, of which the coordinator knows nothing.",
        by_its_shape,
        "Brokers older than 3.6, or transaction.partition.verification.enable=false.",
        switches=("verification",),
        bugs=("B04",),
        issues=("KAFKA-12671", "KIP-664", "KIP-890"),
        witness=Witness("late_produce", "no_verification", "every_open_transaction_is_known_to_its_coordinator"),
        preventions=(VERIFY, VERSION_2),
    ),
    Cause(
        "partition_was_never_added",
        (Shape.DATA_UNLISTED,),
        "The client wrote to a partition that it had not added to its transaction, and the leader did not ask: no "
        "marker is ever sent there.",
        by_its_shape,
        "The client's log has no AddPartitionsToTxn for the partition; brokers older than 3.6, or verification is off.",
        switches=("verification",),
        bugs=("B38",),
        issues=("KIP-890",),
        witness=Witness("late_produce", "no_verification", "every_open_transaction_is_known_to_its_coordinator"),
        preventions=(VERIFY, VERSION_2),
    ),
    Cause(
        "leader_had_forgotten_the_producer",
        (Shape.DATA_FENCED, Shape.DATA_UNKNOWN, Shape.MARKER_FENCED),
        "The leader no longer knew the newer epoch of the producer (it forgets who was silent for long), and took an "
        "old message as that of somebody new.",
        was_forgotten,
        "The producer was silent on the partition for producer.id.expiration.ms before; brokers 0.11 to 2.4 did not "
        "count markers as activity.",
        switches=("verification",),
        bugs=("B14",),
        issues=("KAFKA-9144",),
        witness=Witness(
            "producer_expiration",
            "no_verification_of_forgotten_producers",
            "every_open_transaction_is_known_to_its_coordinator",
        ),
        preventions=(VERIFY, REMEMBER_LONGER),
    ),
    Cause(
        "zombie_was_not_fenced",
        (Shape.DATA_FENCED,),
        "A producer that had been replaced under its transactional id wrote on, and the leader let it.",
        by_its_shape,
        "Two instances of the application with the same transactional id ran at that time.",
        switches=("epoch_fencing",),
        issues=("KIP-98",),
        releases="no release of Apache Kafka; brokers of other makes",
        witness=Witness("kip98_takeover", "leader_ignores_epoch", "epochs_never_go_down"),
    ),
    Cause(
        "new_leader_did_not_know",
        (Shape.DATA_FENCED, Shape.SEQUENCE_REPEATED, Shape.MARKER_FENCED, Shape.MARKER_DEPOSED),
        "A new leader did not know what the one before it knew of the producer: its log was shorter (an unclean "
        "election), or it did not rebuild producer state from it.",
        leader_changed_before,
        "The brokers' logs at that time: 'unclean', 'Truncating', or producer state loaded from an old snapshot.",
        switches=("leader_reads_log",),
        bugs=("B58",),
        issues=("KAFKA-7408", "KAFKA-12153", "KAFKA-13194"),
        releases="all, where unclean.leader.election.enable=true",
        witness=Witness(
            "leader_failover",
            "a_new_leader_knows_nothing",
            "memory_is_the_fold_of_the_log",
            without=("leader_reads_log",),
        ),
        preventions=(CLEAN_ELECTIONS,),
    ),
    Cause(
        "coordinator_lost_its_transaction",
        (Shape.DATA_UNKNOWN, Shape.DATA_UNLISTED),
        "The coordinator knew the transaction, and its records are gone from __transaction_state: a replica without "
        "them became leader, or its copy here is not whole, or is of another cluster.",
        always,
        "Another replica of that partition of __transaction_state has them; replay both.",
        bugs=("B58",),
        issues=("KAFKA-7408",),
        releases="all, where unclean.leader.election.enable=true or transaction.state.log.min.isr is 1",
        preventions=(CLEAN_ELECTIONS,),
    ),
    Cause(
        "records_lost_by_unclean_election",
        (Shape.SEQUENCE_GAP, Shape.ABSENT),
        "A leader that did not have the records took over and cut them off, and then took what followed them.",
        leader_changed_before,
        "The old leader's disk still has the records; the brokers' logs say 'unclean' or 'Truncating' at that time.",
        bugs=("B58",),
        issues=("KAFKA-7408", "KAFKA-5793"),
        releases="all, where unclean.leader.election.enable=true, or records are sent with acks=1 or 0",
        preventions=(CLEAN_ELECTIONS,),
    ),
    Cause(
        "leader_checks_no_sequences",
        (Shape.SEQUENCE_GAP,),
        "The leader took a batch whose sequence was not the next one.",
        same_leader_before,
        "A broker of another make; Apache Kafka answers OUT_OF_ORDER_SEQUENCE_NUMBER.",
        switches=("sequence_check",),
        issues=("KIP-98",),
        releases="no release of Apache Kafka",
        witness=Witness(
            "idempotent_producer",
            "leader_checks_no_sequences",
            "sequences_follow_each_other",
            without=("sequence_check",),
        ),
    ),
    Cause(
        "producer_state_expired",
        (Shape.SEQUENCE_REPEATED,),
        "The leader had forgotten the producer (silent for producer.id.expiration.ms, or its data had been deleted), "
        "and did not recognise a batch that was sent again.",
        producer_was_silent,
        "producer.id.expiration.ms of the brokers (releases without it: transactional.id.expiration.ms), and "
        "retention: before "
        "2.5 a producer was forgotten together with its data.",
        switches=("duplicate_check",),
        bugs=("B14", "B19"),
        issues=("KIP-360", "KAFKA-7190", "KAFKA-5793"),
        releases="all: this is how Kafka is configured to work, and it breaks idempotence all the same",
        witness=Witness(
            "idempotent_producer",
            "leader_recognises_no_duplicates",
            "every_batch_is_written_once",
            without=("duplicate_check",),
        ),
        preventions=(REMEMBER_LONGER,),
    ),
    Cause(
        "client_mixes_plain_and_transactional",
        (Shape.DATA_PLAIN,),
        "One producer wrote plain records while it had a transaction open, and the leader took them.",
        by_its_shape,
        "A client that is not Apache Kafka's (which has one kind of records for each producer), and its log.",
        issues=("KIP-98",),
        releases="no release of Apache Kafka: INVALID_TXN_STATE since 0.11.0; brokers of other makes",
    ),
    Cause(
        "acknowledged_too_early",
        (Shape.ABSENT,),
        "The record was acknowledged before other replicas had it (acks=1), and was lost with its leader.",
        always,
        "The producer's acks setting, and min.insync.replicas of the topic.",
        releases="all",
        preventions=(CLEAN_ELECTIONS,),
    ),
)

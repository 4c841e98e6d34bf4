"""What is known of clients that others have written, from their sources and their runs."""

from collections.abc import Mapping

FENCED = {
    "_FENCED",
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
    "ProducerFenced",
    "ProducerFencedError",
    "ProducerFencedException",
    "InvalidProducerEpochException",
}
"""What clients call it when another process has taken their id, in words of Kafka or their own."""

SPEAKS_END_TXN_5 = {"franz-go", "java", "java-group-protocol"}
"""Clients whose transactions have an epoch each, where brokers have transaction version 2."""

REPEATS: Mapping[str, str] = {
    "kafka-python": (
        "loses a request to a coordinator that refuses connections, so that a record or a commit waits in vain "
        "(3.0.12, `Sender._maybe_send_pending_request`: where `await_ready` raises, `target_node` is set, and only a "
        "request without one is put back): the application has to set itself a limit, abort and repeat"
    ),
}
"""Clients whose transaction does not outlive a broker that is away when it is asked: the application repeats it."""

NOTES: Mapping[str, str] = {
    "confluent-kafka": (
        "runs with `metadata.recovery.strategy=none`. With librdkafka's default, `rebootstrap`, a producer whose only "
        "broker ends its connection takes a new handle of it, and `send_offsets_to_transaction` waits at the old one, "
        "which is kept as the coordinator of the group, until it times out, and so does what follows; it is so with "
        "Apache Kafka 4.3.1 as well (librdkafka 2.16)"
    ),
    "aiokafka": (
        "goes on reading where it was after `seek_to_committed` if nothing is committed (0.14.0 seeks for offsets "
        "above 0 alone): the program seeks to 0 itself. Offsets go to a transaction without the generation of the "
        "group. "
        "A consumer that ends without `stop()` stays a member for `session_timeout_ms`, 10 s by default: so long the "
        "next one of the group is given nothing, as at Apache Kafka"
    ),
    "kafka-python": REPEATS["kafka-python"] + ". The scenario of a crash of the broker does so",
    "kafkajs": (
        "takes a transactional id with the first `transaction()`, so the program opens one as it starts. Offsets go to "
        "a transaction without the generation of the group. A commit whose answer is lost can neither be repeated nor "
        "aborted (2.2.4, `eosManager.commit` has left the state that both need): the program takes a new producer and "
        "goes on from the committed offsets"
    ),
    "franz-go": "needs nothing; it speaks EndTxn 5, and so has an epoch for each transaction",
    "java": "needs nothing; it speaks EndTxn 5. Kafka's own tools and Streams run with it as well",
    "java-group-protocol": (
        "is the same with `group.protocol=consumer` (KIP-848): how long a member may be silent is then a setting of "
        "brokers, 45 s by default (`group.consumer.session.timeout.ms`)"
    ),
    "java-3.9": "needs nothing; it speaks EndTxn 4, so that transaction version 2 is of no use to it",
}
"""What an application has to know that uses it."""

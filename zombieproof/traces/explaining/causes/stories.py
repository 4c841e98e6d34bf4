"""The plots of the checker's scenarios that explanations name: the checker itself is not imported here.

A test compares them with the scenarios.
"""

from collections.abc import Mapping
from typing import Final

from zombieproof.model.known_defects import defect

STORIES: Final[Mapping[str, str]] = {
    "leaderless_partition": (
        "A transaction is decided while one of its partitions has no leader. The marker must wait for the next "
        f"leader. Kafka {defect('B73').span} mistakes the partition for a deleted one and never writes the marker, "
        "so the next transaction of the producer decides these records."
    ),
    "late_produce": (
        "A delayed record of an aborted transaction arrives during the next one. The producer gave up on the "
        "record, aborted, and continued with a second transaction on the same partition. If the record is "
        "accepted, it joins the second transaction, or opens one that no producer owns."
    ),
    "producer_expiration": (
        "Leaders forget idle producers and unused verifications. A batch that was given up arrives after that. "
        "With transaction version 2, the coordinator still knows that it is outdated."
    ),
    "delayed_commit": (
        "A delayed commit of the first transaction arrives during the second, which will be aborted. The commit "
        "request timed out and was retried, so a copy is still in flight. If the copy takes effect, readers see a "
        "record that its application aborted."
    ),
    "delayed_abort": (
        "A delayed abort of the first transaction arrives during the second, which writes to two partitions and "
        "commits. If the copy takes effect between its two records, the first record is lost although the commit "
        "was acknowledged."
    ),
    "timeout": (
        "The coordinator may abort a transaction after its timeout without telling the producer. The producer "
        "continues in a transaction that no longer exists, and must notice before it commits."
    ),
    "coordinator_failover": (
        "The coordinator crashes at any moment, or is replaced and continues to answer from memory. The new "
        "coordinator reads the log and completes prepared transactions. An append may be durable although it was "
        "reported as failed."
    ),
    "leader_failover": (
        "Partition leaders change at any moment, even during a verification. A new leader knows only the "
        "producers, sequences and open transactions that are in its log."
    ),
    "idempotent_producer": (
        "An idempotent producer without a transactional id has two batches in flight to one partition. Responses "
        "are lost, batches are duplicated and reordered, and the leader changes. Each batch is written once, and "
        "in order."
    ),
    "kip98_takeover": (
        "Fencing by the original rules of Kafka 0.11: no verification, and the same epoch for all transactions of "
        "a producer. Producer B initialises A's transactional id while a record of A is in flight. The abort "
        "marker must have the bumped epoch, so that the record is refused after it."
    ),
    "crash_and_restart": (
        "A producer crashes at any moment and restarts with the same transactional id, even between its commit and "
        "the response. Its earlier requests are still in flight. The new instance aborts what was left open, and "
        "finds the outcome of what was decided."
    ),
    "id_expiration": (
        "An idle transactional id expires, and the coordinator forgets its producer id and epoch. Its producer "
        "returns later, or another one initialises the id and gets a new producer id. Earlier messages are still "
        "in flight."
    ),
    "epoch_exhaustion": (
        "A few transactions exhaust the epochs of a producer id, because the largest epoch is 5 instead of 32767. "
        "The coordinator ends the last transaction with the last epoch and assigns a new producer id. A second "
        "instance, a timeout, a failover and lost responses interfere."
    ),
    "consume_transform_produce": (
        "A group replaces a member that is still running. Two members, each with its own transactional id, read an "
        "input, write an output and commit the input offset in one transaction. The group considers the first "
        "member dead and assigns its input to the second; the first continues. Each input gets exactly one "
        "committed output."
    ),
    "reader": (
        "Two kinds of consumers read the transactions of two producers, which write to the same partition. One "
        "producer may abort. One consumer reads as Kafka's read_committed does (the broker ends the fetch at the "
        "last stable offset and lists aborted transactions); the other buffers transactions itself. Both deliver "
        "all committed records and nothing else."
    ),
    "one_transaction": (
        "A producer commits or aborts one transaction that writes to two partitions. Responses are lost, requests "
        "and markers are duplicated, and a batch is given up while it is in flight. In every case, the transaction "
        "is all or nothing."
    ),
    "zombie_takeover": (
        "A zombie producer continues its transaction while its successor initialises. Producer B calls "
        "InitProducerId with the transactional id of producer A, which does not notice. Everything that A still "
        "sends must have no effect, or belong to a transaction that is aborted."
    ),
}

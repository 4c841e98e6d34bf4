"""The plots of the checker's scenarios that explanations name: the checker itself is not imported here.

A test compares them with the scenarios.
"""

from collections.abc import Mapping
from typing import Final

from zombieproof.model.known_defects import defect

STORIES: Final[Mapping[str, str]] = {
    "leaderless_partition": (
        "A partition has no leader for a while, and just then its transaction is decided. The marker has to wait "
        f"for the next leader. Kafka {defect('B73').span} takes the partition for deleted and skips it: the next "
        "transaction of the producer then decides over the records of this one."
    ),
    "late_produce": (
        "The producer gives up waiting for its first record, aborts, and goes on with a second transaction on the "
        "same partition. The record is still on its way. If it is accepted it joins the second transaction, or "
        "opens one that nobody owns."
    ),
    "producer_expiration": (
        "Leaders forget producers that were silent for long, and verifications that nobody used. A batch that was "
        "given up comes back after that. Under transaction version 2 the coordinator still knows that it is too "
        "old."
    ),
    "delayed_commit": (
        "The producer commits its first transaction; the request times out and is sent again, and a copy stays on "
        "its way. The second transaction is to be aborted. If the copy arrives in its middle and counts, readers "
        "see a record that its application aborted."
    ),
    "delayed_abort": (
        "The producer aborts its first transaction; a copy of the request stays on its way. The second "
        "transaction writes to two partitions and is committed. If the copy arrives between its two records and "
        "counts, the first record is lost although the commit was acknowledged."
    ),
    "timeout": (
        "The coordinator may abort the producer's transaction at any moment, and does not tell it. The producer "
        "goes on in what it takes for the same transaction. It must notice before it commits."
    ),
    "coordinator_failover": (
        "The coordinator crashes at any moment, or is deposed and goes on answering from what it remembers. The "
        "other node reads the log and drives what was decided to its end. An append may be durable although "
        "reported as failed."
    ),
    "leader_failover": (
        "Leaders of partitions change at any moment, also while a verification is under way. The new leader knows "
        "of producers, sequences and open transactions what its log says, and nothing else."
    ),
    "idempotent_producer": (
        "A producer without a transactional id has two batches in flight to one partition. Answers are lost, "
        "batches are doubled and overtake each other, the leader changes. Each batch is written once, and in "
        "order."
    ),
    "kip98_takeover": (
        "The original rules of Kafka 0.11: no verification, the same epoch for every transaction of a producer. "
        "Producer B takes A's transactional id while a record of A is on its way. The abort marker must carry the "
        "raised epoch, so that the record is refused behind it."
    ),
    "crash_and_restart": (
        "A producer crashes at any moment, also between its commit and the answer, and starts again under the "
        "same transactional id. What it sent before is still on its way. Its successor aborts what was left open, "
        "and finds what was decided."
    ),
    "id_expiration": (
        "A transactional id that is idle expires: the coordinator forgets producer id and epoch. Its producer "
        "comes back later, or another one takes the id and gets a new producer id. Messages of before are still "
        "on their way."
    ),
    "epoch_exhaustion": (
        "The largest epoch is 5 instead of 32767, so that a few transactions use up a producer id. The "
        "coordinator ends the last one under the last epoch and hands out a new producer id; a second instance, a "
        "time-out, a failover and lost answers get in between."
    ),
    "consume_transform_produce": (
        "Two members of a group, each with a transactional id of its own, read an input, write an output and "
        "commit the input position in the same transaction. The group takes the first for dead and gives the "
        "input to the second; the first goes on. Each input has one committed output."
    ),
    "reader": (
        "Two producers with transactional ids of their own write to the same partition; one may abort. One "
        "consumer reads as Kafka's read_committed does (the broker ends the fetch at the last stable offset and "
        "lists aborted transactions), another holds transactions back itself. Both deliver what is committed, and "
        "nothing else."
    ),
    "one_transaction": (
        "One producer writes a record to each of two partitions in one transaction and commits or aborts. Answers "
        "are lost, requests and markers doubled, a batch is given up while it is in flight. Whatever happens, the "
        "transaction is all or nothing."
    ),
    "zombie_takeover": (
        "Producer A is in a transaction when producer B takes the same transactional id. A does not know it and "
        "goes on: it is a zombie. Whatever A still sends must have no effect, or be part of a transaction that is "
        "aborted."
    ),
}

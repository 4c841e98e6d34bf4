"""Limits of the model and of replay, with reasons, as data.

`OMISSIONS` is grouped by the place of the gap: in the decisions (`MODEL`), in the scenarios of the checker (`CHECKER`),
or in the checks of recorded logs (`REPLAY`). An omission of the model applies everywhere. Each omission names what must
be absent for it to be true (`Absent`); a test fails when that appears.
`MEMORY_ONLY` lists state that no log holds, in Kafka as here: after a restart, a broker answers differently because of
it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MODEL: Final = "model"
CHECKER: Final = "checker"
REPLAY: Final = "replay"


class Sort(StrEnum):
    """What kind of thing is absent."""

    FIELD = "field"
    """`where` is a class, by its dotted path, that has no such field or member."""
    PARAMETER = "parameter"
    """`where` is a class or function that takes no such argument."""
    API = "API key"
    """No class of `zombieproof.messages` says that it is of this API key."""
    ERROR = "error"
    """`where` is a module of decisions that never names the error."""
    ROW = "row"
    """`where` is a machine; "STATE EVENT" is a row of its table that no scenario takes."""
    NO_ROW = "no row"
    """`where` is a machine whose table has no row "STATE EVENT"."""
    FAULT = "fault"
    """No action and no budget of the checker's states has this name."""
    BOUND = "bound"
    """No registered scenario sets this bound."""
    LIMIT = "limit"
    """`where` is a module; "NAME=value" is one of its constants, which has no other value."""
    RULE = "rule"
    """The rule is on in no preset of a release."""
    PRESET = "preset"
    """No preset of rules has this name."""
    PROMISE = "promise"
    """No promise of recordings has this name."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Something that is absent as long as an omission is true."""

    sort: Sort
    name: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that Kafka does and zombieproof does not.

    Args:
        part: MODEL, CHECKER or REPLAY.
        what: the omitted behaviour, as a noun.
        why: the reason.
        where_kafka: where Kafka does it (file, KIP, reference §).
        consequence: the limit of results that follows.
        absent: names that would exist without the omission.
    """

    part: str
    what: str
    why: str
    where_kafka: str
    consequence: str
    absent: tuple[Absent, ...]


@dataclass(frozen=True, slots=True)
class MemoryOnly:
    """State that a broker loses when it stops or loses leadership, because no log holds it.

    Args:
        what: the fact, as a noun.
        where: the field that holds it here.
        consequence: how responses change when it is lost.
        source: where Kafka keeps it in memory only (file, KIP, reference §).
    """

    what: str
    where: str
    consequence: str
    source: str


_TRANSACTIONS: Final = "zombieproof.checker.transactions"
_STATE: Final = f"{_TRANSACTIONS}.state"
_KIND: Final = f"{_TRANSACTIONS}.vocabulary.Kind"
_MESSAGES: Final = "zombieproof.messages"


OMISSIONS: Final = (
    Omission(
        MODEL,
        "authorization in scenarios, and the requests that manage ACLs (DescribeAcls, CreateAcls, DeleteAcls)",
        "a request that fails authorization changes nothing, so it adds no behaviour",
        "KafkaApis.scala; reference §14.1",
        "no request in a scenario fails authorization; live brokers check ACLs before a request reaches a state "
        "machine, and clients with ALTER on the cluster can change the ACLs",
        (
            Absent(Sort.API, "29"),
            Absent(Sort.API, "30"),
            Absent(Sort.FIELD, "principal", f"{_MESSAGES}.transactions.InitProducerId"),
        ),
    ),
    Omission(
        MODEL,
        "two-phase commit that keeps a prepared transaction (KIP-939), except in the preset kip939",
        "no release has it completely: brokers refuse KeepPreparedTxn with UNSUPPORTED_VERSION",
        "KIP-939; reference §11.2",
        "with the rules of releases, Enable2Pc only removes the timeout; the preset follows the design, not a "
        "recording",
        (Absent(Sort.RULE, "kip939"), Absent(Sort.ROW, "ONGOING KEEP", "coordinator")),
    ),
    Omission(
        MODEL,
        "topic ids (KIP-516, KIP-1319)",
        "the model identifies a partition by a bit; only the rule `commit_by_topic_id` depends on how a request names "
        "it",
        "Produce 13, Fetch 13, OffsetCommit and OffsetFetch 10, TxnOffsetCommit 6, Metadata 10",
        "the runtime, not a decision, detects unknown ids and causes UNKNOWN_TOPIC_ID",
        (Absent(Sort.FIELD, "topic_ids", f"{_MESSAGES}.partitions.Produce"),),
    ),
    Omission(
        CHECKER,
        "bytes: compression, checksums, sizes, timestamps of records",
        "the runtime checks whether a batch is valid and fits its topic (`is_corrupt`, `fit`)",
        "LogValidator.java; reference §3.2",
        "leaders in the checker accept any size; live brokers are compared with recorded answers of Kafka",
        (
            Absent(Sort.FIELD, "codec", "zombieproof.checker.transactions.state.LogRecord"),
            Absent(Sort.FIELD, "timestamp_ms", "zombieproof.checker.transactions.state.LogRecord"),
        ),
    ),
    Omission(
        MODEL,
        "quotas and throttling",
        "they only delay responses, and scenarios already explore any delay",
        "ClientQuotaManager",
        "nothing",
        (
            Absent(Sort.FIELD, "throttle_time_ms", f"{_MESSAGES}.transactions.InitProducerIdAnswer"),
            Absent(Sort.API, "49"),
        ),
    ),
    Omission(
        MODEL,
        "consumer groups: changing the group protocol while there are members; racks; group settings",
        "a transaction depends only on the generation or epoch in a commit",
        "GroupMetadataManager.java (convertToConsumerGroup, convertToClassicGroup); KIP-848, KIP-1101, KIP-881",
        "an empty group takes the protocol of its next member; members of the other protocol are refused, as with "
        "group.consumer.migration.policy=disabled",
        (
            Absent(Sort.FIELD, "group_consumer_migration_policy", "zombieproof.broker.cluster.settings.Settings"),
            Absent(Sort.FIELD, "rack", f"{_MESSAGES}.groups.ConsumerGroupHeartbeat"),
            Absent(Sort.FIELD, "GROUP", "zombieproof.model.decisions.alter_configs.Resource"),
        ),
    ),
    Omission(
        MODEL,
        "reassigning replicas to other brokers or directories, and electing out-of-sync leaders",
        "transactions do not depend on where a replica is, and an out-of-sync leader loses acknowledged records anyway",
        "ReplicationControlManager.java (alterPartitionReassignments, electLeaders); KIP-113, KIP-455, KIP-460",
        "AlterPartitionReassignments is refused if a replica would move (39), AlterReplicaLogDirs always (57); an "
        "unclean election finds no eligible leader (83)",
        (
            Absent(Sort.API, "45"),
            Absent(Sort.API, "34"),
            Absent(Sort.FIELD, "moved", "zombieproof.broker.cluster.metadata.Changes"),
        ),
    ),
    Omission(
        MODEL,
        "topic settings without effect here: flushes, compression levels, tiered storage, throttles, "
        "``min.insync.replicas`` of one topic; limits of setting values in releases before 4.0",
        "applications set them when they create topics, and should not fail because of that",
        "LogConfig.java; KIP-405, KIP-780, KIP-1030",
        "they are accepted, stored and returned, and have no effect",
        (
            Absent(Sort.FIELD, "flush_ms", "zombieproof.broker.store.config.LogConfig"),
            Absent(Sort.FIELD, "min_insync_replicas", "zombieproof.broker.store.config.LogConfig"),
        ),
    ),
    Omission(
        MODEL,
        "persistent settings of one broker; log levels; client metrics",
        "all brokers of a process share their settings, which are given at each start",
        "DynamicBrokerConfig.scala, LoggingController.java; KIP-226, KIP-412, KIP-714",
        "changing a setting of one broker changes all of them, until the process restarts",
        (
            Absent(Sort.FIELD, "dynamic", "zombieproof.broker.store.cluster_file.SavedCluster"),
            Absent(Sort.FIELD, "BROKER_LOGGER", "zombieproof.model.decisions.alter_configs.Resource"),
        ),
    ),
    Omission(
        CHECKER,
        "producer internals in a scenario: batches that are split, renumbered after a failed one, or left "
        "unresolved; UNKNOWN_PRODUCER_ID handled by the log start offset; exhausted retries",
        "the producer of `zombieproof.clients` has them, with tests of its own; in scenarios they would multiply "
        "states",
        "Sender.java, TxnPartitionMap.java; reference §5.6",
        "a client in a scenario reacts with `react_to_produce` while it has retries left; then the batch fails",
        (
            Absent(Sort.FAULT, "SPLIT"),
            Absent(Sort.FIELD, "unresolved", f"{_STATE}.Client"),
            Absent(Sort.FIELD, "log_start", f"{_STATE}.Partition"),
        ),
    ),
    Omission(
        CHECKER,
        "a topic that is deleted and created again: another log with the same name",
        "each partition of a scenario has one log, on which properties are checked. Modelled: a producer that takes "
        "the log for a new one (`--bounds forgotten_partitions=1`), and an input topic deleted with its offsets "
        "(`recreations`)",
        "KIP-516; ReplicaManager.stopReplicas",
        "the loss of acknowledged records with a topic is not checked, nor are offsets that outlive it",
        (Absent(Sort.FIELD, "topic_id", f"{_STATE}.Partition"),),
    ),
    Omission(
        CHECKER,
        "batches that wait in the producer while a request of its transaction is in flight",
        "a batch that is sent at once may still arrive later, so every order that Kafka's producer allows is explored",
        "Sender.runOnce, maybeSendAndPollTransactionalRequest; reference §5.3",
        "a retried batch may arrive before an offset commit in flight is answered",
        (Absent(Sort.FIELD, "unsent", f"{_STATE}.Client"),),
    ),
    Omission(
        CHECKER,
        "group members, and a non-transactional OffsetCommit as a message",
        "the embedded brokers support them (join_group, offset_commit, …), but a transaction depends only on member, "
        "generation and offset",
        "ClassicGroup.java, OffsetMetadataManager.commitOffset; reference §4.3",
        "a rebalance is one step that changes members and generation; a non-transactional offset commit is one step "
        "too (`--bounds plain_commits=1`)",
        (
            Absent(Sort.FIELD, "JOIN_GROUP", _KIND),
            Absent(Sort.FIELD, "OFFSET_COMMIT", _KIND),
        ),
    ),
    Omission(
        MODEL,
        "a producer that is forgotten while it is being verified",
        "one state of the leader's state machine stands for both; the entry is kept until its guard expires too",
        "ProducerStateManager.removeExpiredProducers; reference §3.4 step 8, §3.7",
        "such an entry lives longer than in Kafka, by at most the lifetime of a guard",
        (
            Absent(Sort.NO_ROW, "VERIFYING FORGET", "partition_leader"),
            Absent(Sort.FIELD, "forgotten", "zombieproof.model.records.ProducerEntry"),
        ),
    ),
    Omission(
        MODEL,
        "producer work before a record is sent: interceptors, serializers, the estimate of the compression ratio; a "
        "batch that is too large is split in the middle",
        "none of it changes what a request means",
        "KafkaProducer.java, RecordAccumulator.java; reference §5.3",
        "batch boundaries differ from Kafka's; order and sequence numbers do not",
        (
            Absent(Sort.PARAMETER, "interceptors", "zombieproof.clients.producer.Producer"),
            Absent(Sort.PARAMETER, "compression_ratio", "zombieproof.clients.accumulator.Batching"),
        ),
    ),
    Omission(
        MODEL,
        "differences between releases that no decision can see",
        "each difference in the rules is a switch of `Rules`; docs/rules.md lists the others, with reasons",
        "reference §11.3, §12.3",
        "patch releases other than 4.0.0, configuration defaults and formats of older releases are not distinguished",
        (Absent(Sort.PRESET, "3.9.1"),),
    ),
    Omission(
        CHECKER,
        "read-only requests: DescribeTransactions, ListTransactions, DescribeProducers, offsets in ListOffsets",
        "the embedded brokers support them, and they change nothing that a scenario could notice",
        "reference §2.16",
        "their responses during a transaction are tested on the decisions and recordings, not explored",
        (
            Absent(Sort.FIELD, "DESCRIBE_TRANSACTIONS", _KIND),
            Absent(Sort.FIELD, "LIST_TRANSACTIONS", _KIND),
            Absent(Sort.FIELD, "DESCRIBE_PRODUCERS", _KIND),
        ),
    ),
    Omission(
        CHECKER,
        "two controllers at a time, an unreachable controller, and requests of a broker from before its restart",
        "the controller is one counter that every node can reach. With `--bounds id_blocks=1` (as in "
        "`producer_id_blocks`), its responses can be delayed, duplicated or dropped; with `controller_changes=1` (as "
        "in `recorded_blocks`), its log lags and its successor starts from that log",
        "ProducerIdControlManager.java, QuorumController.java; reference §2.16",
        "a controller that refuses a stale broker epoch, or continues after it was replaced, is not explored",
        (
            Absent(Sort.FIELD, "controller", f"{_STATE}.State"),
            Absent(Sort.FIELD, "broker_epoch", f"{_STATE}.Allocation"),
        ),
    ),
    Omission(
        CHECKER,
        "other records in a group's log, and offsets that a coordinator up to 3.9 stores in memory before the append",
        "a rebalance is one step that also replicates all earlier records, so every member that learns the generation "
        "finds them; a commit is stored with its append, as in coordinators since 4.0",
        "CoordinatorRuntime.java, GroupMetadataManager.scala (prepareTxnOffsetCommit); reference §4.1, §4.2",
        "a failed append of a group record, and a read between storing and append up to 3.9, are not explored",
        (Absent(Sort.FIELD, "noted", f"{_STATE}.Group"), Absent(Sort.FAULT, "FAIL_GROUP_RECORD")),
    ),
    Omission(
        CHECKER,
        "leaders that share a verification request",
        "each partition has its own leader, and verification requests are sent alone. With `--bounds "
        "verification_queue=1` (as in `waiting_questions`), they wait for earlier ones of the same partition",
        "AddPartitionsToTxnManager.java; reference §3.4",
        "requests that verify several partitions of a producer are tested on state machines and brokers, not explored",
        (Absent(Sort.FIELD, "broker", f"{_STATE}.Partition"), Absent(Sort.FIELD, "partitions", f"{_STATE}.Message")),
    ),
    Omission(
        CHECKER,
        "the inner order of loading and unloading a coordinator partition",
        "a load is one step; which load a resignation cancels (unload_by_epoch, KAFKA-18137) is tested on the decision",
        "TransactionStateManager.loadTransactionsForTxnTopicPartition; reference §2.15",
        "a coordinator that is loaded twice, or unloaded by a delayed resignation, is not explored",
        (Absent(Sort.FIELD, "loading", f"{_STATE}.Node"),),
    ),
    Omission(
        CHECKER,
        "responses in flight, unless `--bounds answers_travel=1`",
        "a response is handled in the step that produces it: its receiver only waits, and a fault of the response has "
        "the same effect as one of the request; small scopes explored both ways have the same verdicts",
        "reference §2.17",
        "counterexamples of registered scenarios have no separate step for the arrival of a response",
        (Absent(Sort.BOUND, "answers_travel"),),
    ),
    Omission(
        CHECKER,
        "delayed copies that every rule will always refuse, unless `--bounds keep_refused_copies=1`",
        "they can no longer change anything; small scopes explored both ways have the same verdicts",
        "reference §3.3, §2.10",
        "a new rule that could accept one of them has to be explored with this bound",
        (Absent(Sort.BOUND, "keep_refused_copies"),),
    ),
    Omission(
        CHECKER,
        "lagging replicas, unless `--bounds replicated=1`",
        "every append is replicated at once. With lagging replicas, `--bounds truncations=1` lets a partition lose its "
        "log above the high watermark; logs of coordinators lose nothing",
        "Partition.scala, DelayedProduce.scala, UnifiedLog.unreplicatedTxns; reference §3.6",
        "most counterexamples of registered scenarios have no step that replicates a record",
        (Absent(Sort.FIELD, "high_watermark", f"{_STATE}.Partition"),),
    ),
    Omission(
        CHECKER,
        "a high watermark that a new leader does not know yet, unclean elections, acks=0 and acks=1",
        "a new leader knows the high watermark; if its log ends above it, the model treats that part as replicated "
        "just before",
        "ReplicaManager.scala; KIP-101, KIP-207, KIP-966",
        "results do not cover OFFSET_NOT_AVAILABLE, losses of unclean elections, or acks=0 and acks=1",
        (
            Absent(Sort.FAULT, "UNCLEAN_ELECTION"),
            Absent(Sort.FIELD, "log_end", f"{_STATE}.Replica"),
            Absent(Sort.FIELD, "acks", f"{_STATE}.Message"),
        ),
    ),
    Omission(
        CHECKER,
        "separate compaction of each replica, compaction of records with the same key, disk faults",
        "all replicas are compacted together; every record of a data partition has a different key, and all offsets of "
        "the group have the same key; a crash loses no written data",
        "LogCleaner.java, UnifiedLog.java; reference §3.7, §3.8",
        "faults between the records and the aborted list of a fetch, or between two segments of a cleaner pass, and "
        "torn writes are not explored",
        (
            Absent(Sort.FAULT, "CLEAN_SEGMENT"),
            Absent(Sort.FAULT, "TEAR"),
            Absent(Sort.FIELD, "key", f"{_STATE}.LogRecord"),
        ),
    ),
    Omission(
        CHECKER,
        "time",
        "a timeout, an expiry or a retry may happen in every state in which it is possible",
        "reference §2.13, §2.14",
        "every schedule of a real clock is explored, and some that no clock allows",
        (Absent(Sort.FIELD, "now_ms", f"{_STATE}.State"),),
    ),
    Omission(
        CHECKER,
        "more than one record in a batch",
        "a record is one sequence number; longer batches follow the same rules with larger steps",
        "ProducerAppendInfo.java",
        "partially overlapping batches and wrapping sequence numbers are tested on the decisions, not explored",
        (
            Absent(Sort.FIELD, "records", f"{_STATE}.LogRecord"),
            Absent(Sort.FIELD, "last_sequence", f"{_STATE}.LogRecord"),
        ),
    ),
    Omission(
        CHECKER,
        "the window of five remembered batches",
        "a scenario has at most three batches in flight",
        "ProducerStateEntry.NUM_BATCHES_TO_RETAIN",
        "the sixth batch is tested on the decisions, not explored",
        (Absent(Sort.LIMIT, "CACHED=3", f"{_TRANSACTIONS}.capacities"),),
    ),
    Omission(
        CHECKER,
        "events between a fence and the internal EndTxn that follows it at the same coordinator",
        "both are one action. Appends to the transaction log are durable at once, unless `--bounds appends_travel=1` "
        "separates an append from its outcome (as in `appends_under_way`, and in `refused_completion` with errors that "
        "are not retried)",
        "TransactionCoordinator.endTransaction; reference §2.17",
        "a client's EndTxn between a fence and the abort that follows it is tested on the decisions, not explored",
        (Absent(Sort.FAULT, "ABORT_FENCED"),),
    ),
    Omission(
        CHECKER,
        "clients of different versions in one run",
        "the rules of a scenario set the version of all clients",
        "reference §0, §7.7",
        "a transactional id that switches between transaction versions 0 and 2 is checked in recordings, not explored",
        (Absent(Sort.FIELD, "rules", f"{_STATE}.Client"), Absent(Sort.FIELD, "version", f"{_STATE}.Client")),
    ),
    Omission(
        CHECKER,
        "an operator who aborts a hanging transaction",
        "that repairs a fault, and the checker looks for its cause",
        "KIP-664; reference §3.5",
        "an operator abort of a live transaction is checked in recordings, not explored",
        (Absent(Sort.FAULT, "ABORT_HANGING"), Absent(Sort.FAULT, "ADMIN_ABORT")),
    ),
    Omission(
        REPLAY,
        "whether events happened in time",
        "broker clocks differ, and record timestamps come from clients",
        "reference §2.13, §2.14",
        "a transaction that stays open longer than its timeout is not reported",
        (Absent(Sort.PROMISE, "a_transaction_ends_in_time"),),
    ),
    Omission(
        REPLAY,
        "requests that leave no record",
        "a log has only accepted requests",
        "reference §9",
        "a refused request is checked only if a client or broker logged it",
        (Absent(Sort.FIELD, "REQUESTS", "zombieproof.model.catalogue.Needs"),),
    ),
    Omission(
        REPLAY,
        "records of the offsets topic other than offsets and markers",
        "group metadata does not take part in transactions",
        "reference §7.2",
        "whether a commit came from a group member is not checked",
        (Absent(Sort.FIELD, "group_metadata", "zombieproof.traces.evidence.Evidence"),),
    ),
)
"""Everything that is omitted on purpose."""


MEMORY_ONLY: Final = (
    MemoryOnly(
        "the last producer epoch",
        "Transaction.last_producer_epoch",
        "a retried InitProducerId with the previous epoch, whose response was lost, is fenced instead of answered "
        "(I11)",
        "reference §2.2, §2.15, §14 (failover)",
    ),
    MemoryOnly(
        "the previous and the next producer id, in value version 0 and before 4.3",
        "Transaction.previous_producer_id, Transaction.next_producer_id",
        "after the epochs of a producer id are exhausted: a retry with the old id is not recognised, and a prepared "
        "transaction completes with the old id",
        "reference §2.2; KAFKA-20310",
    ),
    MemoryOnly(
        "a fence whose abort could not be written",
        "Transaction.failed_epoch_fence, Transaction.producer_epoch",
        "the owner gets back the epoch that the fence had bumped, and may continue",
        "reference §2.2, §2.10 (F1); TransactionMetadata.hasFailedEpochFence",
    ),
    MemoryOnly(
        "the start of the transaction before the last InitProducerId, before 4.0",
        "Transaction.start_ms",
        "DescribeTransactions has no start time",
        "reference §14 (3.9.1 against 4.3.1)",
    ),
    MemoryOnly(
        "a pending transition whose record cannot be written",
        "Transaction.pending_state",
        "requests for the transactional id no longer get CONCURRENT_TRANSACTIONS",
        "reference §2.6 (G1), §14 (TV2-style requests on a TV0 cluster)",
    ),
    MemoryOnly(
        "an id whose first record could not be written",
        "LoadedPartition.transactions",
        "the id is unknown, and gets another producer id",
        "reference §2.2 (fresh metadata)",
    ),
    MemoryOnly(
        "that an append was reported as failed although the log has it",
        "LoadedPartition.transactions",
        "the transaction is in the state whose record failed",
        "reference §2.6 (ambiguity)",
    ),
    MemoryOnly(
        "which markers of a prepared transaction have been written",
        "Transaction.partitions, MarkerChannel, Completions",
        "every marker is sent again, including those already written and those that would not have been retried",
        "reference §2.12, §2.15 (Z6), §14",
    ),
    MemoryOnly(
        "verifications",
        "ProducerEntry.guard, guard_epoch, lowest_sequence, supports_epoch_bump",
        "a first batch may start with the sequence of another batch that was being verified",
        "reference §3.4, §3.7; VerificationStateEntry",
    ),
    MemoryOnly(
        "all batches of a producer except the newest",
        "ProducerEntry.batches",
        "an older duplicate gets DUPLICATE_SEQUENCE_NUMBER or OUT_OF_ORDER_SEQUENCE_NUMBER instead of its offset",
        "reference §3.7, §14 on §3.7",
    ),
    MemoryOnly(
        "an expired producer that has not been removed yet",
        "ProducerStates",
        "the start removes it, instead of the next expiry check",
        "reference §3.7; ProducerStateManager.loadFromSnapshot",
    ),
    MemoryOnly(
        "the epochs of leaders and coordinators",
        "Replica.leader_epoch, LoadedPartition.coordinator_epoch",
        "they increase: earlier markers are fenced, and new batches and markers have the new epochs",
        "reference §2.15 (Z1), §3.5",
    ),
    MemoryOnly(
        "the high watermark",
        "Replica.high_watermark",
        "records that were not known to be replicated become readable, because a single replica has them all",
        "reference §3.6; Kafka checkpoints it periodically",
    ),
    MemoryOnly(
        "requests in progress",
        "Network.in_flight, Broker",
        "they get no response and write nothing",
        "RequestChannel, purgatories; reference §2.17",
    ),
    MemoryOnly(
        "member ids that were assigned but have not joined",
        "ClassicGroup.pending",
        "a join with such an id gets UNKNOWN_MEMBER_ID",
        "ClassicGroup.pendingJoinMembers; KIP-394",
    ),
    MemoryOnly(
        "a generation without an assignment yet, and an unfinished rebalance",
        "ClassicGroup",
        "the previous generation is valid, with its members",
        "ClassicGroup.java; reference §4.1",
    ),
    MemoryOnly(
        "the last heartbeat of a member",
        "Member.until_ms, ConsumerMember.session_until_ms",
        "its session timeout and its revocation timeout start again",
        "GroupMetadataManager.onLoaded",
    ),
    MemoryOnly(
        "a group without any record",
        "GroupStore.groups",
        "the group does not exist",
        "OffsetMetadataManager.commitOffset; reference §4.1",
    ),
    MemoryOnly(
        "that a failed commit dropped pending offsets, before 4.0",
        "OffsetStore",
        "the offsets are pending again, or committed if their marker has been written since",
        "GroupMetadata.failPendingTxnOffsetCommit; bugs.md B74",
    ),
    MemoryOnly(
        "the time of the last assignment of a consumer group",
        "ConsumerGroup.assigned_ms, patterns_read_ms, counts",
        "the next assignment and the next evaluation of regular expressions are due at once",
        "KIP-1263; ConsumerGroup.lastResolvedRegularExpressionRefreshTimeMs",
    ),
)
"""All state that is only in memory: after reading its logs, a broker answers as before except for this."""

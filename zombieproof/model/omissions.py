"""What is not modelled, and why, as data: next to what is, so that nobody takes silence for a promise.

`OMISSIONS` is grouped by where the gap is: in the decisions (`MODEL`), in what the checker explores with them
(`CHECKER`), or in what replay judges of recorded logs (`REPLAY`). An omission of the model is one everywhere.
Each names what must stay absent for it to be true (`Absent`); a test looks, and fails when it appears.
`MEMORY_ONLY` is what the logs do not hold, in Kafka as here: all that a broker that reads its logs answers otherwise.
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
    """One thing that is not there as long as an omission is true."""

    sort: Sort
    name: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Omission:
    """One thing that Kafka does and we leave out.

    Args:
        part: MODEL, CHECKER or REPLAY.
        what: what is left out, as a noun.
        why: the reason.
        where_kafka: where Kafka does it (file, KIP, reference §).
        consequence: what a result therefore does not say.
        absent: what would be there if it were not left out.
    """

    part: str
    what: str
    why: str
    where_kafka: str
    consequence: str
    absent: tuple[Absent, ...]


@dataclass(frozen=True, slots=True)
class MemoryOnly:
    """One thing that a broker knows, and forgets when it stops or when somebody else leads: no log holds it.

    Args:
        what: the fact, as a noun.
        where: the field of ours that holds it.
        consequence: which answer is another one when it is lost.
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
        "authorisation in scenarios, and requests that administer it (DescribeAcls, CreateAcls, DeleteAcls)",
        "a request that is refused for lack of rights changes nothing, so it adds no history",
        "KafkaApis.scala; reference §14.1",
        "nobody in a scenario is refused for lack of rights; live brokers ask for them before any machine hears of a "
        "request, from a list that clients with ALTER on the cluster change",
        (
            Absent(Sort.API, "29"),
            Absent(Sort.API, "30"),
            Absent(Sort.FIELD, "principal", f"{_MESSAGES}.transactions.InitProducerId"),
        ),
    ),
    Omission(
        MODEL,
        "two-phase commit that keeps a prepared transaction (KIP-939), but for the preset kip939",
        "no release has it whole: brokers refuse KeepPreparedTxn with UNSUPPORTED_VERSION",
        "KIP-939; reference §11.2",
        "by the rules of releases Enable2Pc only lifts the time-out; the preset follows a design, and no recording",
        (Absent(Sort.RULE, "kip939"), Absent(Sort.ROW, "ONGOING KEEP", "coordinator")),
    ),
    Omission(
        MODEL,
        "topic ids (KIP-516, KIP-1319)",
        "a partition is a bit of a mask; how a request names it matters to one rule only, `commit_by_topic_id`",
        "Produce 13, Fetch 13, OffsetCommit and OffsetFetch 10, TxnOffsetCommit 6, Metadata 10",
        "UNKNOWN_TOPIC_ID is answered where a host says that an id is of no topic",
        (Absent(Sort.FIELD, "topic_ids", f"{_MESSAGES}.partitions.Produce"),),
    ),
    Omission(
        CHECKER,
        "bytes: compression, checksums, sizes, time stamps of records",
        "whether a batch is well formed, and fits its topic, is what the host finds out (`is_corrupt`, `fit`)",
        "LogValidator.java; reference §3.2",
        "no leader of the checker finds a batch too large; what live ones do is compared with a real broker's answers",
        (
            Absent(Sort.FIELD, "codec", "zombieproof.checker.transactions.state.LogRecord"),
            Absent(Sort.FIELD, "timestamp_ms", "zombieproof.checker.transactions.state.LogRecord"),
        ),
    ),
    Omission(
        MODEL,
        "quotas and throttling",
        "they delay answers, and any answer may be late anyway",
        "ClientQuotaManager",
        "nothing",
        (
            Absent(Sort.FIELD, "throttle_time_ms", f"{_MESSAGES}.transactions.InitProducerIdAnswer"),
            Absent(Sort.API, "49"),
        ),
    ),
    Omission(
        MODEL,
        "of a consumer group: a change of its protocol while members are in; racks; its own settings",
        "only which generation or epoch a commit has to name matters to a transaction",
        "GroupMetadataManager.java (convertToConsumerGroup, convertToClassicGroup); KIP-848, KIP-1101, KIP-881",
        "a group changes its protocol with who comes when nobody is in; members of the other protocol are refused, "
        "as with group.consumer.migration.policy=disabled",
        (
            Absent(Sort.FIELD, "group_consumer_migration_policy", "zombieproof.broker.cluster.settings.Settings"),
            Absent(Sort.FIELD, "rack", f"{_MESSAGES}.groups.ConsumerGroupHeartbeat"),
            Absent(Sort.FIELD, "GROUP", "zombieproof.model.decisions.alter_configs.Resource"),
        ),
    ),
    Omission(
        MODEL,
        "replicas that move to other brokers or directories, and leaders that were not in sync",
        "no transaction depends on where a replica lies, and a leader that lacks records loses what was acknowledged",
        "ReplicationControlManager.java (alterPartitionReassignments, electLeaders); KIP-113, KIP-455, KIP-460",
        "AlterPartitionReassignments is refused where a replica would move (39), AlterReplicaLogDirs always (57); an "
        "unclean election finds nobody (83)",
        (
            Absent(Sort.API, "45"),
            Absent(Sort.API, "34"),
            Absent(Sort.FIELD, "moved", "zombieproof.broker.cluster.metadata.Changes"),
        ),
    ),
    Omission(
        MODEL,
        "settings of topics that no log here acts on: flushes, levels of compression, remote and local tiers, "
        "throttles, ``min.insync.replicas`` of one topic; bounds of a setting in lines before 4.0",
        "applications ask for them when they make topics, and are not to fail for that",
        "LogConfig.java; KIP-405, KIP-780, KIP-1030",
        "they are taken, kept and told, and nothing follows from them",
        (
            Absent(Sort.FIELD, "flush_ms", "zombieproof.broker.store.config.LogConfig"),
            Absent(Sort.FIELD, "min_insync_replicas", "zombieproof.broker.store.config.LogConfig"),
        ),
    ),
    Omission(
        MODEL,
        "settings of one broker that outlive its process; levels of loggers; client metrics",
        "all brokers of a process share their settings, which whoever starts it gives again",
        "DynamicBrokerConfig.scala, LoggingController.java; KIP-226, KIP-412, KIP-714",
        "what is changed of one broker changes in all, and is as before when the process starts again",
        (
            Absent(Sort.FIELD, "dynamic", "zombieproof.broker.store.cluster_file.SavedCluster"),
            Absent(Sort.FIELD, "BROKER_LOGGER", "zombieproof.model.decisions.alter_configs.Resource"),
        ),
    ),
    Omission(
        CHECKER,
        "the inside of a producer in a scenario: batches that are split, shifted down after a failed one, or left "
        "unresolved; UNKNOWN_PRODUCER_ID judged by the log start offset; exhausted retries",
        "the producer of `zombieproof.clients` has them and is tested by itself; here they would multiply states",
        "Sender.java, TxnPartitionMap.java; reference §5.6",
        "a scenario's client answers by `react_to_produce` while retries are left, and a batch that it gives up fails",
        (
            Absent(Sort.FAULT, "SPLIT"),
            Absent(Sort.FIELD, "unresolved", f"{_STATE}.Client"),
            Absent(Sort.FIELD, "log_start", f"{_STATE}.Partition"),
        ),
    ),
    Omission(
        CHECKER,
        "a topic that is deleted and made anew: another log under the same name",
        "each partition of a scenario has one log, by which promises are judged; that a producer takes it for another "
        "one is there (`--bounds forgotten_partitions=1`), and an input topic whose offsets go with it (`recreations`)",
        "KIP-516; ReplicaManager.stopReplicas",
        "what was acknowledged and goes with a topic is not judged, nor are offsets that outlive it",
        (Absent(Sort.FIELD, "topic_id", f"{_STATE}.Partition"),),
    ),
    Omission(
        CHECKER,
        "batches that wait in the producer while a request of its transaction is under way",
        "what is sent at once may still arrive later, so each order that Kafka's producer allows is among those here",
        "Sender.runOnce, maybeSendAndPollTransactionalRequest; reference §5.3",
        "a batch that is sent again beside an offset commit under way may arrive before that one is answered",
        (Absent(Sort.FIELD, "unsent", f"{_STATE}.Client"),),
    ),
    Omission(
        CHECKER,
        "members of groups, and a plain OffsetCommit that travels",
        "they are decided (join_group, offset_commit, …) and served by a host, but no transaction depends on them but "
        "by facts: member, generation, position of a record",
        "ClassicGroup.java, OffsetMetadataManager.commitOffset; reference §4.3",
        "a rebalance is a fact: from now on other members and another generation count; a consumer that commits by "
        "itself beside transactions does it in one step (`--bounds plain_commits=1`)",
        (
            Absent(Sort.FIELD, "JOIN_GROUP", _KIND),
            Absent(Sort.FIELD, "OFFSET_COMMIT", _KIND),
        ),
    ),
    Omission(
        MODEL,
        "a producer that is forgotten while it is being verified",
        "one state of the leader's machine stands for both; the entry is kept until its guard is old enough too",
        "ProducerStateManager.removeExpiredProducers; reference §3.4 step 8, §3.7",
        "such an entry lives longer than Kafka's, by at most the time that a guard lives",
        (
            Absent(Sort.NO_ROW, "VERIFYING FORGET", "partition_leader"),
            Absent(Sort.FIELD, "forgotten", "zombieproof.model.records.ProducerEntry"),
        ),
    ),
    Omission(
        MODEL,
        "of what a producer does before a record leaves: interceptors, serializers, an estimate of how far a batch can "
        "be compressed; a batch that is too large is split in the middle",
        "none of it changes what a request means",
        "KafkaProducer.java, RecordAccumulator.java; reference §5.3",
        "with which neighbours a record leaves is ours; in which order and under which sequence is Kafka's",
        (
            Absent(Sort.PARAMETER, "interceptors", "zombieproof.clients.producer.Producer"),
            Absent(Sort.PARAMETER, "compression_ratio", "zombieproof.clients.accumulator.Batching"),
        ),
    ),
    Omission(
        MODEL,
        "differences of releases that no decision can see",
        "each difference of a rule is a switch of `Rules`; docs/rules.md lists what is none, with reasons",
        "reference §11.3, §12.3",
        "patch releases other than 4.0.0, configuration defaults and formats of older releases are not told apart",
        (Absent(Sort.PRESET, "3.9.1"),),
    ),
    Omission(
        CHECKER,
        "read-only requests: DescribeTransactions, ListTransactions, DescribeProducers, the positions in ListOffsets",
        "they are decided and served by the brokers of this program, and change nothing that a scenario could notice",
        "reference §2.16",
        "what they answer in the middle of a transaction is tested on the decisions and recordings, not explored",
        (
            Absent(Sort.FIELD, "DESCRIBE_TRANSACTIONS", _KIND),
            Absent(Sort.FIELD, "LIST_TRANSACTIONS", _KIND),
            Absent(Sort.FIELD, "DESCRIBE_PRODUCERS", _KIND),
        ),
    ),
    Omission(
        CHECKER,
        "two controllers at a time, a controller that nobody reaches, and requests of a broker's former life",
        "the controller is one counter that every node can reach; its answers are late, doubled or lost where "
        "`--bounds id_blocks=1` asks for blocks at all (`producer_id_blocks` has it), elsewhere ids are counted; with "
        "`controller_changes=1` its log lags behind, and its successor goes by that (`recorded_blocks` has it)",
        "ProducerIdControlManager.java, QuorumController.java; reference §2.16",
        "that a controller refuses a broker's epoch of before, or is deposed and goes on, is not explored",
        (
            Absent(Sort.FIELD, "controller", f"{_STATE}.State"),
            Absent(Sort.FIELD, "broker_epoch", f"{_STATE}.Allocation"),
        ),
    ),
    Omission(
        CHECKER,
        "of a group's log: its other records, and offsets that a coordinator up to 3.9 notes before it appends them",
        "a rebalance is one step, and what lies before its record is replicated in it, so that whoever hears of the "
        "generation finds it; a commit is noted with its append, as by coordinators since 4.0",
        "CoordinatorRuntime.java, GroupMetadataManager.scala (prepareTxnOffsetCommit); reference §4.1, §4.2",
        "a group record that fails, and a reader between note and append by the rules up to 3.9, are not explored",
        (Absent(Sort.FIELD, "noted", f"{_STATE}.Group"), Absent(Sort.FAULT, "FAIL_GROUP_RECORD")),
    ),
    Omission(
        CHECKER,
        "leaders that ask a coordinator together",
        "each partition has a leader of its own, and a question travels alone unless `--bounds verification_queue=1` "
        "asks for the queue (`waiting_questions` has it): then it waits for those of the same partition",
        "AddPartitionsToTxnManager.java; reference §3.4",
        "a request that asks about several partitions of one producer is tested on the steps and brokers, not explored",
        (Absent(Sort.FIELD, "broker", f"{_STATE}.Partition"), Absent(Sort.FIELD, "partitions", f"{_STATE}.Message")),
    ),
    Omission(
        CHECKER,
        "the inner order of loading and unloading a coordinator partition",
        "a load is one step from the end of the log to memory; which load a resignation ends (unload_by_epoch, "
        "KAFKA-18137) is decided, and tested on the decision",
        "TransactionStateManager.loadTransactionsForTxnTopicPartition; reference §2.15",
        "a coordinator that is loaded twice, or unloaded by a resignation that came late, is not explored",
        (Absent(Sort.FIELD, "loading", f"{_STATE}.Node"),),
    ),
    Omission(
        CHECKER,
        "answers on their way, unless `--bounds answers_travel=1` asks for them",
        "an answer is handled in the step that gives it: its receiver only waits, and what can happen to it meanwhile "
        "happens to the request as well; small scopes explored both ways have the same verdicts",
        "reference §2.17",
        "stories of registered scenarios have no step in which an answer arrives",
        (Absent(Sort.BOUND, "answers_travel"),),
    ),
    Omission(
        CHECKER,
        "late copies that every rule refuses for good, unless `--bounds keep_refused_copies=1` keeps them",
        "they can change nothing any more; small scopes explored both ways have the same verdicts",
        "reference §3.3, §2.10",
        "a rule that would accept one of them again has to be explored with them",
        (Absent(Sort.BOUND, "keep_refused_copies"),),
    ),
    Omission(
        CHECKER,
        "replicas that lag, unless `--bounds replicated=1` asks for them",
        "what is in a log is replicated at once; with replicas that lag the log of a partition loses with "
        "`--bounds truncations=1` what lies above the high watermark, and that of the coordinators nothing",
        "Partition.scala, DelayedProduce.scala, UnifiedLog.unreplicatedTxns; reference §3.6",
        "most stories of registered scenarios have no step in which a record is replicated",
        (Absent(Sort.FIELD, "high_watermark", f"{_STATE}.Partition"),),
    ),
    Omission(
        CHECKER,
        "a high watermark that the new leader does not know yet, unclean elections, acks below all",
        "what is replicated stays known to be; a new leader whose log ends between the high watermark and the end is "
        "as if that had been replicated just before",
        "ReplicaManager.scala; KIP-101, KIP-207, KIP-966",
        "nothing is said about OFFSET_NOT_AVAILABLE, about what an unclean election loses, or about acks=0 and 1",
        (
            Absent(Sort.FAULT, "UNCLEAN_ELECTION"),
            Absent(Sort.FIELD, "log_end", f"{_STATE}.Replica"),
            Absent(Sort.FIELD, "acks", f"{_STATE}.Message"),
        ),
    ),
    Omission(
        CHECKER,
        "compaction of each replica by itself, and of records that share a key; disks",
        "all replicas have what the cleaner has left of one; a record of a data partition has a key of its own, the "
        "offsets of the group have one; what was written is there after a crash",
        "LogCleaner.java, UnifiedLog.java; reference §3.7, §3.8",
        "no fault between the data and the list of a fetch, or between two segments of a pass, is found; no torn write",
        (
            Absent(Sort.FAULT, "CLEAN_SEGMENT"),
            Absent(Sort.FAULT, "TEAR"),
            Absent(Sort.FIELD, "key", f"{_STATE}.LogRecord"),
        ),
    ),
    Omission(
        CHECKER,
        "time",
        "a time-out, an expiry or a resend may happen at any moment at which it is possible at all",
        "reference §2.13, §2.14",
        "every schedule of a real clock is explored, and some that no clock allows",
        (Absent(Sort.FIELD, "now_ms", f"{_STATE}.State"),),
    ),
    Omission(
        CHECKER,
        "more than one record in a batch",
        "one record is one sequence number; longer batches move the same rules by larger steps",
        "ProducerAppendInfo.java",
        "partial overlaps of batches and the wrap of sequence numbers are tested on the decisions, not explored",
        (
            Absent(Sort.FIELD, "records", f"{_STATE}.LogRecord"),
            Absent(Sort.FIELD, "last_sequence", f"{_STATE}.LogRecord"),
        ),
    ),
    Omission(
        CHECKER,
        "the window of five remembered batches",
        "a scenario has at most three batches under way",
        "ProducerStateEntry.NUM_BATCHES_TO_RETAIN",
        "the sixth batch is tested on the decisions, not explored",
        (Absent(Sort.LIMIT, "CACHED=3", f"{_TRANSACTIONS}.capacities"),),
    ),
    Omission(
        CHECKER,
        "what may come between a fence and the server's EndTxn behind it at one coordinator",
        "both are one action; an append to the transaction log and its outcome are steps of their own only with "
        "`--bounds appends_travel=1` (`appends_under_way` has it; `refused_completion`, with errors behind which "
        "nobody appends again), elsewhere it is durable at once",
        "TransactionCoordinator.endTransaction; reference §2.17",
        "a client's EndTxn between a fence and the abort that follows it is tested on the decisions, not explored",
        (Absent(Sort.FAULT, "ABORT_FENCED"),),
    ),
    Omission(
        CHECKER,
        "clients of different generations in one run",
        "a scenario's rules say which version every client uses",
        "reference §0, §7.7",
        "an id that changes between the rules of version 0 and version 2 is replayed from recordings, not explored",
        (Absent(Sort.FIELD, "rules", f"{_STATE}.Client"), Absent(Sort.FIELD, "version", f"{_STATE}.Client")),
    ),
    Omission(
        CHECKER,
        "an operator who aborts a hanging transaction",
        "it is the repair of a fault whose cause is what the checker looks for",
        "KIP-664; reference §3.5",
        "an abort by an operator that hits a live transaction is judged in recordings, not explored",
        (Absent(Sort.FAULT, "ABORT_HANGING"), Absent(Sort.FAULT, "ADMIN_ABORT")),
    ),
    Omission(
        REPLAY,
        "whether something happened in time",
        "clocks of brokers differ, and time stamps of records are the client's",
        "reference §2.13, §2.14",
        "a transaction that stays open for longer than its time-out allows is not reported",
        (Absent(Sort.PROMISE, "a_transaction_ends_in_time"),),
    ),
    Omission(
        REPLAY,
        "requests that left no record",
        "a log holds what was accepted",
        "reference §9",
        "a refusal is judged only where a client or a broker wrote it down",
        (Absent(Sort.FIELD, "REQUESTS", "zombieproof.model.catalogue.Needs"),),
    ),
    Omission(
        REPLAY,
        "records of the offsets topic other than offsets and markers",
        "group metadata does not take part in transactions",
        "reference §7.2",
        "whether a commit came from a member of the group is not judged",
        (Absent(Sort.FIELD, "group_metadata", "zombieproof.traces.evidence.Evidence"),),
    ),
)
"""Everything that is left out on purpose."""


MEMORY_ONLY: Final = (
    MemoryOnly(
        "the last producer epoch",
        "Transaction.last_producer_epoch",
        "an InitProducerId with the epoch before, whose answer was lost, is fenced instead of answered again (I11)",
        "reference §2.2, §2.15, §14 (failover)",
    ),
    MemoryOnly(
        "the previous and the next producer id, in value version 0 and before 4.3",
        "Transaction.previous_producer_id, Transaction.next_producer_id",
        "when the epochs of a producer id are used up: a retry under the old id is a stranger's, and a decided "
        "transaction completes under the old id",
        "reference §2.2; KAFKA-20310",
    ),
    MemoryOnly(
        "a fence whose abort could not be written",
        "Transaction.failed_epoch_fence, Transaction.producer_epoch",
        "the epoch that the fence had raised is that of the owner again, who may go on",
        "reference §2.2, §2.10 (F1); TransactionMetadata.hasFailedEpochFence",
    ),
    MemoryOnly(
        "the start of the transaction before the last InitProducerId, before 4.0",
        "Transaction.start_ms",
        "DescribeTransactions tells no start time",
        "reference §14 (3.9.1 against 4.3.1)",
    ),
    MemoryOnly(
        "a pending transition whose record cannot be written",
        "Transaction.pending_state",
        "the transactional id answers CONCURRENT_TRANSACTIONS no longer",
        "reference §2.6 (G1), §14 (TV2-style requests on a TV0 cluster)",
    ),
    MemoryOnly(
        "an id whose first record could not be written",
        "LoadedPartition.transactions",
        "the id is unknown, and gets another producer id",
        "reference §2.2 (fresh metadata)",
    ),
    MemoryOnly(
        "that an append was reported as failed, although the log has it",
        "LoadedPartition.transactions",
        "the transaction is in the state whose record failed",
        "reference §2.6 (ambiguity)",
    ),
    MemoryOnly(
        "how far the markers of a decided transaction have come",
        "Transaction.partitions, MarkerChannel, Completions",
        "every marker is sent again, also those that are written, and those that nobody would have sent again",
        "reference §2.12, §2.15 (Z6), §14",
    ),
    MemoryOnly(
        "verifications",
        "ProducerEntry.guard, guard_epoch, lowest_sequence, supports_epoch_bump",
        "a first batch may begin at the sequence at which another one was being verified",
        "reference §3.4, §3.7; VerificationStateEntry",
    ),
    MemoryOnly(
        "all batches of a producer but the newest",
        "ProducerEntry.batches",
        "an older duplicate answers DUPLICATE_SEQUENCE_NUMBER or OUT_OF_ORDER_SEQUENCE_NUMBER, not its offset",
        "reference §3.7, §14 on §3.7",
    ),
    MemoryOnly(
        "a producer that is due to be forgotten and has not been looked at yet",
        "ProducerStates",
        "it is forgotten by the start, not by the next sweep",
        "reference §3.7; ProducerStateManager.loadFromSnapshot",
    ),
    MemoryOnly(
        "the epochs of leaders and coordinators",
        "Replica.leader_epoch, LoadedPartition.coordinator_epoch",
        "they rise: markers of before are fenced, new batches and markers carry them",
        "reference §2.15 (Z1), §3.5",
    ),
    MemoryOnly(
        "the high watermark",
        "Replica.high_watermark",
        "what was not known to be replicated may be read: a replica alone has all of it",
        "reference §3.6; a checkpoint that Kafka writes now and then",
    ),
    MemoryOnly(
        "requests in progress",
        "Network.in_flight, Broker",
        "they are not answered, and what they would have written is not written",
        "RequestChannel, purgatories; reference §2.17",
    ),
    MemoryOnly(
        "member ids that were given out",
        "ClassicGroup.pending",
        "who joins with such an id is unknown",
        "ClassicGroup.pendingJoinMembers; KIP-394",
    ),
    MemoryOnly(
        "a generation whose assignment is not there yet, and a rebalance that has not ended",
        "ClassicGroup",
        "the generation before counts, and its members are in",
        "ClassicGroup.java; reference §4.1",
    ),
    MemoryOnly(
        "when a member was heard of last",
        "Member.until_ms, ConsumerMember.session_until_ms",
        "its session, and the time that it has to give something back, begin anew",
        "GroupMetadataManager.onLoaded",
    ),
    MemoryOnly(
        "a group that nothing was ever written of",
        "GroupStore.groups",
        "there is no such group",
        "OffsetMetadataManager.commitOffset; reference §4.1",
    ),
    MemoryOnly(
        "that a refused commit took waiting offsets along, before 4.0",
        "OffsetStore",
        "the offsets wait again, or are committed if their marker has come meanwhile",
        "GroupMetadata.failPendingTxnOffsetCommit; bugs.md B74",
    ),
    MemoryOnly(
        "when a consumer group was assigned last",
        "ConsumerGroup.assigned_ms, patterns_read_ms, counts",
        "the next assignment is due at once, and so is the reading of regular expressions",
        "KIP-1263; ConsumerGroup.lastResolvedRegularExpressionRefreshTimeMs",
    ),
)
"""Everything that memory knows and no log: whoever reads the logs answers as before, but for this."""

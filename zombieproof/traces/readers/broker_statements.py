"""Statements of brokers: what their logs say of transactions, partitions and groups, as one table.

The rows are in `statements_of_coordinators`, `statements_of_partitions` and `statements_of_groups`; `statement_forms`
says how a row is written and matched. Releases: Kafka's sources from 0.11 on. docs/log-statements.md is made from it.
"""

from zombieproof.traces.readers.statement_forms import PLACE, Speaker, Statement, Table
from zombieproof.traces.readers.statements_of_coordinators import COORDINATORS
from zombieproof.traces.readers.statements_of_groups import GROUPS
from zombieproof.traces.readers.statements_of_partitions import PARTITIONS

STATEMENTS: tuple[Statement, ...] = (*COORDINATORS, *PARTITIONS, *GROUPS)

LIFE = ("Starting", "Startup complete", "Shutting down", "Shutdown complete", "Shut down", "Stopped", "shutting down")
"""A class of a broker begins or ends."""

SPEAKERS: tuple[Speaker, ...] = (
    Speaker(
        "TransactionCoordinator",
        r"\[(?:TransactionCoordinator id=|Transaction Coordinator )\d{1,10}\]:? ",
        ("TransactionCoordinator",),
        LIFE,
    ),
    Speaker(
        "TransactionStateManager",
        r"\[Transaction State Manager \d{1,10}\]: ",
        ("TransactionStateManager",),
        (*LIFE, "Updating ", "Appending new metadata "),
    ),
    Speaker(
        "TransactionMarkerChannelManager",
        r"\[(?:Transaction Marker Channel Manager \d{1,10}|TxnMarkerSenderThread-\d{1,10})\]: ",
        ("TransactionMarkerChannelManager", "TxnMarkerQueue"),
        (*LIFE, "Creating new marker queue", "Sending ", "Added marker ", "Completed ", "Retry appending "),
    ),
    Speaker(
        "TransactionMarkerRequestCompletionHandler",
        r"\[Transaction Marker Request Completion Handler \d{1,10}\]: ",
        ("TransactionMarkerRequestCompletionHandler",),
        ("Re-enqueuing ",),
    ),
    Speaker("TransactionMetadata", "", ("TransactionMetadata",)),
    Speaker(
        "ProducerIdManager",
        r"\[(?:ZK |RPC )?ProducerId Manager \d{1,10}\]: ",
        ("ProducerIdManager", "ZkProducerIdManager", "RPCProducerIdManager"),
        (*LIFE, *(" Requesting next ", " Got next "), *("Requesting ", "Got next ", "There is no ", "Read current ")),
    ),
    Speaker(
        "ProducerStateManager",
        rf"\[ProducerStateManager partition={PLACE}\] ",
        ("ProducerStateManager", "ProducerAppendInfo", "ProducerStateManager$"),
        ("Reloading the producer state snapshots", "Deleted producer state snapshot"),
    ),
    Speaker(
        "Log",
        rf"\[(?:Log|UnifiedLog|LocalLog|LogLoader) partition={PLACE}, dir=[^\]]*\] ",
        ("Log", "Log$", "UnifiedLog", "UnifiedLog$", "LocalLog", "LocalLog$", "LogLoader", "LogLoader$"),
        (
            *("Rolled new log segment", "Deleting segment", "Scheduling ", "Producer state recovery took"),
            *("Completed load of log", "Could not find offset index", "Found a corrupted index", "Found an orphaned"),
            *("retention.ms ", "Non-monotonic update", "Clearing ", "Newly rolled", "Truncate and start at"),
        ),
    ),
    Speaker(
        "LogManager",
        "",
        ("LogManager",),
        (
            *LIFE,
            *("Loading logs", "Loaded ", "Log directory ", "Skipping recovery", "No logs found", "Completed load of "),
            *(
                "Logs loading complete",
                "Deleted log for",
                "The cleaning for",
                "Cleaning for",
                "Unable to read the broker epoch",
                "Found stray log dir",
                "Stopping serving",
                "Shutdown broker",
                "No meta.properties",
            ),
        ),
    ),
    Speaker(
        "ReplicaManager",
        r"\[(?:ReplicaManager broker=|Replica Manager on Broker )\d{1,10}\]:? ",
        ("ReplicaManager",),
        (*LIFE, "Handling ", "Finished handling ", "Stopping serving", "Stopped serving"),
    ),
    Speaker(
        "Partition",
        rf"\[Partition {PLACE} broker=\d{{1,10}}\] |Partition \[[\w.-]+,\d{{1,10}}\] on broker \d{{1,10}}: "
        r"|\[Broker id=\d{1,10}\] ",
        ("Partition", "logger"),
        (
            *("No checkpointed highwatermark", "Log loaded for partition", "ISR updated", "Expanding ISR"),
            *("Shrinking ISR", "Handling ", "Add ", "Transitioning ", "Creating new partition", "Leader "),
            *("Stopped fetchers", "Skipped the become-", "Controller ", "Broker ", "[Controller ", "New topic"),
            *("The topic partition ", "Deleting ", "Started fetchers", "Finished ", "Received ", "Ignoring "),
        ),
    ),
    Speaker(
        "ReplicaFetcherThread",
        r"\[ReplicaFetcher replicaId=\d{1,10}, leaderId=\d{1,10}, fetcherId=\d{1,10}\] "
        r"|\[ReplicaFetcherThread-[\d-]+\]: ",
        ("ReplicaFetcherThread",),
        (
            *LIFE,
            *("Based on ", "Retrying leaderEpoch", "Error in ", "Partition ", "Remote broker is not the leader"),
            *("Could not fetch", "Error getting offset", "Error when sending", "Failed to connect"),
            *("Received UNKNOWN", "Error for partition", "Current offset "),
        ),
    ),
    Speaker(
        "LogCleaner",
        r"Cleaner \d{1,10}: |\[kafka-log-cleaner-thread-\d{1,10}\]: ",
        ("LogCleaner", "Cleaner", "LogCleaner$CleanerThread"),
        (
            *LIFE,
            *("Building offset map", "Offset map ", "Cleaning ", "Swapping in ", "Growing cleaner", "\t"),
            *("The cleaning for", "Compaction for", "Cleaning for", "Failed to access checkpoint"),
        ),
    ),
    Speaker(
        "KafkaApis",
        r"\[KafkaApi-\d{1,10}\] ",
        ("KafkaApis",),
        (*LIFE, "Closing connection", "The client connection", "Auto creation"),
    ),
    Speaker(
        "GroupCoordinator",
        r"\[GroupCoordinator id=\d{1,10}(?: topic=[\w.-]+ partition=\d{1,10})?\] |\[GroupCoordinator \d{1,10}\]: "
        r"|\[GroupMetadataManager brokerId=\d{1,10}\] |\[Group Metadata Manager on Broker \d{1,10}\]: ",
        (
            *("GroupCoordinator", "GroupMetadataManager", "GroupMetadata", "GroupMetadata$", "GroupCoordinatorService"),
            *("GroupCoordinatorShard", "OffsetMetadataManager", "ClassicGroup", "GenericGroup", "CoordinatorRuntime"),
        ),
        (
            *LIFE,
            *("Dynamic ", "Pending ", "Static ", "Assignment received", "Adding new ", "Scheduling unloading"),
            *("Ignored ", "Loaded member ", "Generated ", "Applying ", "Already loading", "Not loading"),
            *("Started", "Not removing", "Initialized "),
            *("Creating simple consumer group", "Group leader ", "[GroupId ", "Received notification"),
        ),
    ),
)

REFUSAL = Speaker("refusal", "", ())
"""The exception below the line of an append that failed."""

TABLE = Table((*SPEAKERS, REFUSAL), STATEMENTS)

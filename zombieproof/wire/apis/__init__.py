"""Every API that is spoken on the wire, one file for each: the names of the files are what there is."""

from collections.abc import Mapping

from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import WireApi
from zombieproof.wire.apis.add_offsets_to_txn import ADD_OFFSETS_TO_TXN
from zombieproof.wire.apis.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from zombieproof.wire.apis.alter_configs import ALTER_CONFIGS
from zombieproof.wire.apis.alter_partition_reassignments import ALTER_PARTITION_REASSIGNMENTS
from zombieproof.wire.apis.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from zombieproof.wire.apis.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from zombieproof.wire.apis.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from zombieproof.wire.apis.create_acls import CREATE_ACLS
from zombieproof.wire.apis.create_partitions import CREATE_PARTITIONS
from zombieproof.wire.apis.create_topics import CREATE_TOPICS
from zombieproof.wire.apis.delete_acls import DELETE_ACLS
from zombieproof.wire.apis.delete_groups import DELETE_GROUPS
from zombieproof.wire.apis.delete_records import DELETE_RECORDS
from zombieproof.wire.apis.delete_topics import DELETE_TOPICS
from zombieproof.wire.apis.describe_acls import DESCRIBE_ACLS
from zombieproof.wire.apis.describe_cluster import DESCRIBE_CLUSTER
from zombieproof.wire.apis.describe_configs import DESCRIBE_CONFIGS
from zombieproof.wire.apis.describe_groups import DESCRIBE_GROUPS
from zombieproof.wire.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from zombieproof.wire.apis.describe_producers import DESCRIBE_PRODUCERS
from zombieproof.wire.apis.describe_quorum import DESCRIBE_QUORUM
from zombieproof.wire.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from zombieproof.wire.apis.describe_transactions import DESCRIBE_TRANSACTIONS
from zombieproof.wire.apis.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from zombieproof.wire.apis.elect_leaders import ELECT_LEADERS
from zombieproof.wire.apis.end_txn import END_TXN
from zombieproof.wire.apis.fetch import FETCH
from zombieproof.wire.apis.find_coordinator import FIND_COORDINATOR
from zombieproof.wire.apis.heartbeat import HEARTBEAT
from zombieproof.wire.apis.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from zombieproof.wire.apis.init_producer_id import INIT_PRODUCER_ID
from zombieproof.wire.apis.join_group import JOIN_GROUP
from zombieproof.wire.apis.leave_group import LEAVE_GROUP
from zombieproof.wire.apis.list_config_resources import LIST_CONFIG_RESOURCES
from zombieproof.wire.apis.list_groups import LIST_GROUPS
from zombieproof.wire.apis.list_offsets import LIST_OFFSETS
from zombieproof.wire.apis.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from zombieproof.wire.apis.list_transactions import LIST_TRANSACTIONS
from zombieproof.wire.apis.metadata import METADATA
from zombieproof.wire.apis.offset_commit import OFFSET_COMMIT
from zombieproof.wire.apis.offset_delete import OFFSET_DELETE
from zombieproof.wire.apis.offset_fetch import OFFSET_FETCH
from zombieproof.wire.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from zombieproof.wire.apis.produce import PRODUCE
from zombieproof.wire.apis.sasl_authenticate import SASL_AUTHENTICATE
from zombieproof.wire.apis.sasl_handshake import SASL_HANDSHAKE
from zombieproof.wire.apis.sync_group import SYNC_GROUP
from zombieproof.wire.apis.txn_offset_commit import TXN_OFFSET_COMMIT
from zombieproof.wire.apis.write_txn_markers import WRITE_TXN_MARKERS

WIRE_APIS: Mapping[ApiKey, WireApi] = {
    each.key: each
    for each in (
        ADD_OFFSETS_TO_TXN,
        ADD_PARTITIONS_TO_TXN,
        ALTER_CONFIGS,
        ALTER_PARTITION_REASSIGNMENTS,
        ALTER_REPLICA_LOG_DIRS,
        CONSUMER_GROUP_DESCRIBE,
        CONSUMER_GROUP_HEARTBEAT,
        CREATE_ACLS,
        CREATE_PARTITIONS,
        CREATE_TOPICS,
        DELETE_ACLS,
        DELETE_GROUPS,
        DELETE_RECORDS,
        DELETE_TOPICS,
        DESCRIBE_ACLS,
        DESCRIBE_CLUSTER,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        DESCRIBE_GROUPS,
        DESCRIBE_PRODUCERS,
        DESCRIBE_QUORUM,
        DESCRIBE_TOPIC_PARTITIONS,
        DESCRIBE_TRANSACTIONS,
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        ELECT_LEADERS,
        END_TXN,
        FETCH,
        FIND_COORDINATOR,
        HEARTBEAT,
        INCREMENTAL_ALTER_CONFIGS,
        INIT_PRODUCER_ID,
        JOIN_GROUP,
        LEAVE_GROUP,
        LIST_CONFIG_RESOURCES,
        LIST_GROUPS,
        LIST_OFFSETS,
        LIST_PARTITION_REASSIGNMENTS,
        LIST_TRANSACTIONS,
        METADATA,
        OFFSET_COMMIT,
        OFFSET_DELETE,
        OFFSET_FETCH,
        OFFSET_FOR_LEADER_EPOCH,
        PRODUCE,
        SASL_AUTHENTICATE,
        SASL_HANDSHAKE,
        SYNC_GROUP,
        TXN_OFFSET_COMMIT,
        WRITE_TXN_MARKERS,
    )
}
"""By key; ApiVersions is answered by whoever speaks for a broker, before all others."""

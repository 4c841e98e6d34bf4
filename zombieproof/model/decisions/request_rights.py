"""Which rights a request needs, in the order in which brokers ask for them; the first that is missing is the answer.

Behaviour: what a request is about as a whole (its transactional id, its group, the cluster) comes first, and before
anything is looked up: whoever lacks a right learns nothing of what there is. Then each topic, transactional id or group
that has a row of its own in the answer: it is refused in its row, and the others go on, but for AddPartitionsToTxn,
where the others are not attempted. Requests that make, change or delete topics and settings ask for rights within an
order of their own (`create_topics`, `alter_configs`, `delete_topics`).
Versions: AddPartitionsToTxn from 4 on comes from brokers, and needs the right of one.
Source: reference §14.1; ``KafkaApis.scala``, ``ControllerApis.scala`` of 4.3.
"""

from zombieproof.model.access import AclOperation, Asked, ResourceType, Rights
from zombieproof.model.vocabulary import NONE, ApiKey, Error

KEY_OF_GROUP, KEY_OF_TRANSACTION = 0, 1
FIRST_VERSION_OF_BROKERS = 4


def error_of_request(asked: Asked, rights: Rights) -> int:
    """The error that refuses a request as a whole, or NONE."""
    if asked.api == ApiKey.INIT_PRODUCER_ID:
        return error_of_init_producer_id(asked, rights)
    if asked.api == ApiKey.FIND_COORDINATOR:
        return error_of_find_coordinator(asked, rights)
    if comes_from_broker(asked) and not acts_for_cluster(asked, rights):
        return int(Error.CLUSTER_AUTHORIZATION_FAILED)
    if is_denied_cluster(asked.api, rights):
        return int(Error.CLUSTER_AUTHORIZATION_FAILED)
    if is_about_id(asked) and not rights.write_id:
        return int(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return error_of_group(asked, rights)


def error_of_init_producer_id(asked: Asked, rights: Rights) -> int:
    """With an id WRITE on it, and TWO_PHASE_COMMIT where that is wanted; without, any right to write at all."""
    if not asked.names_id:
        may = rights.idempotent_write or rights.write_some_topic
        return int(Error.NONE if may else Error.CLUSTER_AUTHORIZATION_FAILED)
    if not rights.write_id:
        return int(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if asked.enables_2pc and not rights.commit_id_in_two_phases:
        return int(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return int(Error.NONE)


def error_of_find_coordinator(asked: Asked, rights: Rights) -> int:
    """DESCRIBE on what is looked for; other types of keys are refused for what they are."""
    if asked.key_type == KEY_OF_GROUP and not rights.describe_group:
        return int(Error.GROUP_AUTHORIZATION_FAILED)
    if asked.key_type == KEY_OF_TRANSACTION and not rights.describe_id:
        return int(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return int(Error.NONE)


def comes_from_broker(asked: Asked) -> bool:
    """Whether only another broker, or who may do as one, has something to ask here."""
    if asked.api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return asked.version >= FIRST_VERSION_OF_BROKERS
    return asked.api in (ApiKey.WRITE_TXN_MARKERS, ApiKey.ALLOCATE_PRODUCER_IDS)


def acts_for_cluster(asked: Asked, rights: Rights) -> bool:
    """CLUSTER_ACTION; who may ALTER the cluster may write markers as well (KIP-664)."""
    return rights.cluster_action or (asked.api == ApiKey.WRITE_TXN_MARKERS and rights.alter_cluster)


def is_denied_cluster(api: int, rights: Rights) -> bool:
    """Who leads is of the cluster, to ALTER, and where its logs lie, to DESCRIBE."""
    if api == ApiKey.ELECT_LEADERS:
        return not rights.alter_cluster
    return api == ApiKey.DESCRIBE_LOG_DIRS and not rights.describe_cluster


def is_about_id(asked: Asked) -> bool:
    """Whether it changes the transaction of an id. A Produce does if a batch is transactional, even without an id."""
    if asked.api == ApiKey.PRODUCE:
        return asked.is_transactional
    if asked.api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return asked.version < FIRST_VERSION_OF_BROKERS
    return asked.api in (ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT)


def error_of_group(asked: Asked, rights: Rights) -> int:
    """READ for whoever takes part in a group or commits for it, DESCRIBE to see its offsets, DELETE to delete them."""
    needed = operation_on_group(asked.api)
    if (
        (needed == AclOperation.READ and not rights.read_group)
        or (needed == AclOperation.DESCRIBE and not rights.describe_group)
        or (needed == AclOperation.DELETE and not rights.delete_group)
    ):
        return int(Error.GROUP_AUTHORIZATION_FAILED)
    if asked.api == ApiKey.CONSUMER_GROUP_HEARTBEAT and not rights.describe_topics:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    return int(Error.NONE)


def operation_on_group(api: int) -> int:
    """The operation on the group that a request names, or NONE."""
    if api in (ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_COMMIT, ApiKey.JOIN_GROUP):
        return int(AclOperation.READ)
    if api in (ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.CONSUMER_GROUP_HEARTBEAT):
        return int(AclOperation.READ)
    if api == ApiKey.OFFSET_FETCH:
        return int(AclOperation.DESCRIBE)
    return int(AclOperation.DELETE) if api == ApiKey.OFFSET_DELETE else NONE


def operation_on_rows(api: int, resource: int) -> int:
    """The operation that each topic, transactional id or group with a row of its own needs, or NONE: it needs none."""
    if resource == ResourceType.TOPIC:
        return operation_on_topics(api)
    if resource == ResourceType.TRANSACTIONAL_ID:
        return int(AclOperation.DESCRIBE) if api == ApiKey.DESCRIBE_TRANSACTIONS else NONE
    if api in (ApiKey.DESCRIBE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE):
        return int(AclOperation.DESCRIBE)
    return int(AclOperation.DELETE) if api == ApiKey.DELETE_GROUPS else NONE


def operation_on_topics(api: int) -> int:
    """WRITE, READ or DELETE what is in a topic; DESCRIBE to know where it ends, or that there is one."""
    if api == ApiKey.PRODUCE:
        return int(AclOperation.WRITE)
    if api in (ApiKey.FETCH, ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_DELETE):
        return int(AclOperation.READ)
    if api == ApiKey.DESCRIBE_PRODUCERS:
        return int(AclOperation.READ)
    if api in (ApiKey.LIST_OFFSETS, ApiKey.METADATA, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_FOR_LEADER_EPOCH):
        return int(AclOperation.DESCRIBE)
    return int(AclOperation.DELETE) if api == ApiKey.DELETE_RECORDS else NONE


def error_of_row(resource: int, may: bool) -> int:
    """What the row of a topic, transactional id or group says, or NONE: it goes on."""
    if may:
        return int(Error.NONE)
    if resource == ResourceType.TOPIC:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    if resource == ResourceType.TRANSACTIONAL_ID:
        return int(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return int(Error.GROUP_AUTHORIZATION_FAILED)


def operation_on_cluster(api: int) -> int:
    """The operation on the cluster that is needed to ask of what all brokers know, or NONE."""
    if api in (ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.ALTER_REPLICA_LOG_DIRS):
        return int(AclOperation.ALTER)
    if api in (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS):
        return int(AclOperation.ALTER)
    if api in (ApiKey.DESCRIBE_ACLS, ApiKey.DESCRIBE_QUORUM, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
        return int(AclOperation.DESCRIBE)
    if api == ApiKey.LIST_PARTITION_REASSIGNMENTS:
        return int(AclOperation.DESCRIBE)
    return int(AclOperation.DESCRIBE_CONFIGS) if api == ApiKey.LIST_CONFIG_RESOURCES else NONE


def error_of_cluster(may: bool) -> int:
    """What whoever lacks a right on the cluster is told, or NONE: he goes on."""
    return int(Error.NONE if may else Error.CLUSTER_AUTHORIZATION_FAILED)


def operation_on_told(api: int, resource: int) -> int:
    """The operation that is needed to be told of what nobody named, or NONE; whoever lacks it is told of the rest.

    Of a transaction its topics (of a consumer group too, which is told whole or not at all), of all transactions their
    ids, of all offsets of a group their topics, of all topics themselves.
    """
    if api == ApiKey.CONSUMER_GROUP_DESCRIBE and resource == ResourceType.TOPIC:
        return int(AclOperation.DESCRIBE)
    if api in (ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.OFFSET_FETCH, ApiKey.METADATA):
        return int(AclOperation.DESCRIBE) if resource == ResourceType.TOPIC else NONE
    if api == ApiKey.LIST_TRANSACTIONS and resource == ResourceType.TRANSACTIONAL_ID:
        return int(AclOperation.DESCRIBE)
    if api == ApiKey.LIST_GROUPS and resource == ResourceType.GROUP:
        return int(AclOperation.DESCRIBE)
    return NONE

"""What users with few rights, or with all, ask of a broker that asks for rights: `RIGHTS` in force, one topic `t`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.wire.questions_acls import EVERY, asked_of_entries
from zombieproof.broker.authorization.access_list import Entry
from zombieproof.model.access import CLUSTER_NAME, AclOperation, Permission, ResourceType
from zombieproof.model.vocabulary import ApiKey

USERS = ("nobody", "knower", "root")
"""Each has his name for a password; root may do everything."""

RIGHTS = tuple(
    Entry("User:knower", Permission.ALLOW, operation, resource, name)
    for operation, resource, name in (
        (AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME),
        (AclOperation.READ, ResourceType.TOPIC, "t"),
        (AclOperation.READ, ResourceType.GROUP, "g"),
    )
)
TOPIC = "t"


class Question(NamedTuple):
    """One request of a user."""

    user: str
    api: ApiKey
    version: int
    values: Mapping[str, Any]


MOVE = [{"name": "t", "partitions": [{"partition_index": 0, "replicas": None}]}]
DIRS = [{"path": "/nowhere", "topics": [{"name": "t", "partitions": [0]}]}]
ACL = {"resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "principal": "User:x", "host": "*"}
NEW_ACL = {**ACL, "operation": 3, "permission_type": 3}
NO_TOPIC = {"allow_auto_topic_creation": False}
BITS = {"include_cluster_authorized_operations": True, "include_topic_authorized_operations": True}
ASKED: tuple[tuple[ApiKey, int, Mapping[str, Any]], ...] = (
    (ApiKey.DESCRIBE_CLUSTER, 1, {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
    (ApiKey.DESCRIBE_CLUSTER, 1, {"endpoint_type": 1}),
    (ApiKey.METADATA, 10, {"topics": [{"name": "t"}, {"name": "no"}], **BITS, **NO_TOPIC}),
    (ApiKey.METADATA, 12, {"topics": [{"name": "t"}], "include_topic_authorized_operations": True, **NO_TOPIC}),
    (ApiKey.DESCRIBE_GROUPS, 4, {"groups": ["g", "h"], "include_authorized_operations": True}),
    (ApiKey.DESCRIBE_GROUPS, 4, {"groups": ["g"]}),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": "t"}, {"name": "no"}], "response_partition_limit": 9}),
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [], "response_partition_limit": 9}),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": MOVE, "timeout": 1000}),
    (ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": None, "timeout": 1000}),
    (
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        0,
        {"topics": [{"name": "t", "partition_indexes": [0, 1]}], "timeout": 1000},
    ),
    (ApiKey.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": DIRS}),
    (ApiKey.LIST_CONFIG_RESOURCES, 0, {}),
    (ApiKey.LIST_CONFIG_RESOURCES, 1, {"resource_types": [16]}),
    (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "x"}]}),
    (ApiKey.DESCRIBE_QUORUM, 2, {"topics": [{"topic_name": "no", "partitions": [{"partition_index": 0}]}]}),
    (ApiKey.DESCRIBE_ACLS, 3, {**EVERY, "principal_filter": "User:knower"}),
    (ApiKey.CREATE_ACLS, 3, {"creations": [NEW_ACL, NEW_ACL]}),
    (ApiKey.DELETE_ACLS, 3, {"filters": [{**EVERY, "principal_filter": "User:x"}]}),
)


def questions() -> Iterator[Question]:
    """All of them, of each user; at last what there is to ask of the entries themselves."""
    for user in USERS:
        for api, version, values in ASKED:
            yield Question(user, api, version, values)
    for row in asked_of_entries():
        yield Question(*row)

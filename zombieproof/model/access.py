"""What rights are made of: operations, the kinds of what they are about, and how an entry names it. Kafka's numbers.

Source: ``AclOperation.java``, ``ResourceType.java``, ``PatternType.java``, ``AclPermissionType.java``.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

CLUSTER_NAME: Final = "kafka-cluster"
"""The one resource of type CLUSTER."""

EVERYTHING: Final = "*"
"""The literal name that stands for every name; also of principals and hosts."""


class AclOperation(IntEnum):
    """What somebody may do, or not; ALL stands for each of the others."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceType(IntEnum):
    """What an operation is about."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How an entry names resources: by the whole name (or ``*``), or by how names begin."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an entry says."""

    DENY = 2
    ALLOW = 3


class Asked(NamedTuple):
    """What a request says that decides which rights it needs.

    `names_id`: it names a transactional id, be it ""; `is_transactional`: a batch of it belongs to a transaction;
    `enables_2pc`: its producer takes part in two-phase commits; `key_type`: whose coordinator is looked for, or NONE.
    """

    api: int
    version: int
    names_id: bool
    is_transactional: bool
    enables_2pc: bool
    key_type: int


@dataclass(slots=True)
class Rights:
    """What whoever asks may do with the transactional id and the group that the request names, and with the cluster.

    `write_some_topic`: there is a topic, named or not, that he may write to; `describe_topics`: he may know of each
    topic that the request names.
    """

    write_id: bool = False
    describe_id: bool = False
    commit_id_in_two_phases: bool = False
    read_group: bool = False
    describe_group: bool = False
    delete_group: bool = False
    write_some_topic: bool = False
    describe_topics: bool = False
    idempotent_write: bool = False
    cluster_action: bool = False
    alter_cluster: bool = False
    describe_cluster: bool = False

"""Which versions of each API a broker of a release understands, and which of them it offers (ApiVersions).

Those of transactions stand with the releases (`releases`), because rules depend on them; here are the others.
Source: reference §7.5; the message schemas of each release's branch; ApiVersions of 3.9.1 and 4.3.1.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from zombieproof.model.releases import (
    NEWEST_VERSIONS,
    OLDEST_VERSIONS,
    age,
    is_between,
    line_of,
    newest_version,
    oldest_version,
)
from zombieproof.model.vocabulary import ApiKey

Versions = tuple[int, int]
"""The oldest and the newest."""

OTHER_VERSIONS: Final[Mapping[ApiKey, Mapping[str, Versions]]] = {
    ApiKey.SASL_HANDSHAKE: {"0.11.0": (0, 0), "1.0": (0, 1)},
    ApiKey.SASL_AUTHENTICATE: {"1.0": (0, 0), "2.2": (0, 1), "2.5": (0, 2)},
    ApiKey.FETCH: {
        "0.11.0": (0, 5),
        "1.0": (0, 6),
        "1.1": (0, 7),
        "2.0": (0, 8),
        "2.1": (0, 10),
        "2.3": (0, 11),
        "2.7": (0, 12),
        "3.1": (0, 13),
        "3.5": (0, 15),
        "3.7": (0, 16),
        "3.9": (0, 17),
        "4.0": (4, 17),
        "4.1": (4, 18),
    },
    ApiKey.LIST_OFFSETS: {
        "0.11.0": (0, 2),
        "2.0": (0, 3),
        "2.1": (0, 4),
        "2.2": (0, 5),
        "2.8": (0, 6),
        "3.0": (0, 7),
        "3.5": (0, 8),
        "3.9": (0, 9),
        "4.0": (1, 10),
        "4.2": (1, 11),
    },
    ApiKey.METADATA: {
        "0.11.0": (0, 4),
        "1.0": (0, 5),
        "2.0": (0, 6),
        "2.1": (0, 7),
        "2.3": (0, 8),
        "2.4": (0, 9),
        "2.8": (0, 11),
        "3.1": (0, 12),
        "4.0": (0, 13),
    },
    ApiKey.OFFSET_COMMIT: {
        "0.11.0": (0, 3),
        "2.0": (0, 4),
        "2.1": (0, 6),
        "2.3": (0, 7),
        "2.4": (0, 8),
        "3.6": (0, 9),
        "4.0": (2, 9),
        "4.1": (2, 10),
    },
    ApiKey.OFFSET_FETCH: {
        "0.11.0": (0, 3),
        "2.0": (0, 4),
        "2.1": (0, 5),
        "2.4": (0, 6),
        "2.5": (0, 7),
        "3.0": (0, 8),
        "3.7": (0, 9),
        "4.0": (1, 9),
        "4.1": (1, 10),
    },
    ApiKey.FIND_COORDINATOR: {
        "0.11.0": (0, 1),
        "2.0": (0, 2),
        "2.4": (0, 3),
        "3.0": (0, 4),
        "3.8": (0, 5),
        "3.9": (0, 6),
    },
    ApiKey.JOIN_GROUP: {
        "0.11.0": (0, 2),
        "2.0": (0, 3),
        "2.2": (0, 4),
        "2.3": (0, 5),
        "2.4": (0, 6),
        "2.5": (0, 7),
        "3.2": (0, 9),
    },
    ApiKey.HEARTBEAT: {"0.11.0": (0, 1), "2.0": (0, 2), "2.3": (0, 3), "2.4": (0, 4)},
    ApiKey.LEAVE_GROUP: {"0.11.0": (0, 1), "2.0": (0, 2), "2.4": (0, 4), "3.2": (0, 5)},
    ApiKey.SYNC_GROUP: {"0.11.0": (0, 1), "2.0": (0, 2), "2.3": (0, 3), "2.4": (0, 4), "2.5": (0, 5)},
    ApiKey.DESCRIBE_GROUPS: {
        "0.11.0": (0, 1),
        "2.0": (0, 2),
        "2.3": (0, 3),
        "2.4": (0, 5),
        "4.0": (0, 6),
    },
    ApiKey.LIST_GROUPS: {"0.11.0": (0, 1), "2.0": (0, 2), "2.4": (0, 3), "2.6": (0, 4), "3.8": (0, 5)},
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {
        "0.11.0": (0, 0),
        "2.0": (0, 1),
        "2.1": (0, 2),
        "2.3": (0, 3),
        "2.8": (0, 4),
        "4.0": (2, 4),
    },
    ApiKey.API_VERSIONS: {"0.11.0": (0, 1), "2.0": (0, 2), "2.4": (0, 3), "3.9": (0, 4), "4.4": (0, 5)},
    ApiKey.CREATE_TOPICS: {
        "0.11.0": (0, 2),
        "2.0": (0, 3),
        "2.4": (0, 5),
        "2.7": (0, 6),
        "2.8": (0, 7),
        "4.0": (2, 7),
    },
    ApiKey.DELETE_TOPICS: {
        "0.11.0": (0, 1),
        "2.0": (0, 2),
        "2.1": (0, 3),
        "2.4": (0, 4),
        "2.7": (0, 5),
        "2.8": (0, 6),
        "4.0": (1, 6),
    },
    ApiKey.DELETE_RECORDS: {"0.11.0": (0, 0), "2.0": (0, 1), "2.6": (0, 2)},
    ApiKey.DESCRIBE_ACLS: {"0.11.0": (0, 0), "2.0": (0, 1), "2.5": (0, 2), "3.3": (0, 3), "4.0": (1, 3)},
    ApiKey.CREATE_ACLS: {"0.11.0": (0, 0), "2.0": (0, 1), "2.5": (0, 2), "3.3": (0, 3), "4.0": (1, 3)},
    ApiKey.DELETE_ACLS: {"0.11.0": (0, 0), "2.0": (0, 1), "2.5": (0, 2), "3.3": (0, 3), "4.0": (1, 3)},
    ApiKey.DESCRIBE_CONFIGS: {
        "0.11.0": (0, 0),
        "1.1": (0, 1),
        "2.0": (0, 2),
        "2.6": (0, 3),
        "2.8": (0, 4),
        "4.0": (1, 4),
    },
    ApiKey.ALTER_CONFIGS: {"0.11.0": (0, 0), "2.0": (0, 1), "2.8": (0, 2)},
    ApiKey.CREATE_PARTITIONS: {"1.0": (0, 0), "2.0": (0, 1), "2.5": (0, 2), "2.7": (0, 3)},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {"2.3": (0, 0), "2.4": (0, 1)},
    ApiKey.DELETE_GROUPS: {"1.1": (0, 0), "2.0": (0, 1), "2.4": (0, 2), "4.4": (0, 3)},
    ApiKey.OFFSET_DELETE: {"2.4": (0, 0)},
    ApiKey.ALTER_REPLICA_LOG_DIRS: {"1.0": (0, 0), "2.0": (0, 1), "2.8": (0, 2), "4.0": (1, 2)},
    ApiKey.DESCRIBE_LOG_DIRS: {
        "1.0": (0, 0),
        "2.0": (0, 1),
        "2.6": (0, 2),
        "3.2": (0, 3),
        "3.3": (0, 4),
        "4.0": (1, 4),
        "4.3": (1, 5),
    },
    ApiKey.ELECT_LEADERS: {"2.2": (0, 0), "2.4": (0, 2)},
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: {"2.4": (0, 0), "4.1": (0, 1)},
    ApiKey.LIST_PARTITION_REASSIGNMENTS: {"2.4": (0, 0)},
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: {"2.7": (0, 0)},
    ApiKey.DESCRIBE_QUORUM: {"2.7": (0, 0), "3.3": (0, 1), "3.9": (0, 2)},
    ApiKey.DESCRIBE_CLUSTER: {"2.8": (0, 0), "3.7": (0, 1), "4.0": (0, 2)},
    ApiKey.LIST_CONFIG_RESOURCES: {"3.7": (0, 0), "4.1": (0, 1)},
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: {"3.8": (0, 0)},
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {"3.7": (0, 0), "4.0": (0, 1)},
    ApiKey.CONSUMER_GROUP_DESCRIBE: {"3.8": (0, 0), "4.0": (0, 1)},
}
"""API -> line -> the versions that are understood from that line on."""

_SAYS_IT_TAKES_OLD_PRODUCE: Final = "4.0"
_UNSTABLE: Final[Mapping[tuple[ApiKey, int], tuple[str, str]]] = {
    (ApiKey.ADD_PARTITIONS_TO_TXN, 4): ("3.5", "3.5"),
    (ApiKey.OFFSET_COMMIT, 9): ("3.6", "3.6"),
    (ApiKey.OFFSET_COMMIT, 10): ("4.1", "4.1"),
    (ApiKey.OFFSET_FETCH, 10): ("4.1", "4.1"),
    (ApiKey.INIT_PRODUCER_ID, 6): ("4.1", "4.4"),
}
"""The newest versions that lines (the first, the last) understand, and offer only where unstable ones are enabled."""


@cache
def understood_versions(kafka: str, api: ApiKey) -> range | None:
    """The versions of an API that a broker of a release understands; None: it has no such API.

    Raises:
        UnknownRelease: there is no such release.
    """
    if api in NEWEST_VERSIONS:
        newest = newest_version(kafka, api)
        return None if newest < 0 else range(oldest_version(kafka, api), newest + 1)
    of_line = age(line_of(kafka))
    found = [each for since, each in OTHER_VERSIONS.get(api, {}).items() if age(since) <= of_line]
    return range(found[-1][0], found[-1][1] + 1) if found else None


@cache
def offered_versions(kafka: str, api: ApiKey, *, unstable: bool = False) -> range | None:
    """The versions of an API that a broker of a release says it understands; None: it does not name the API.

    From 4.0 on it says that it takes Produce 0, which it does not: librdkafka concludes from that whether it knows
    record batches (KAFKA-18659). What is not stable yet is offered where that is enabled (KIP-848, KIP-939).

    Raises:
        UnknownRelease: there is no such release.
    """
    understood = understood_versions(kafka, api)
    if understood is None:
        return None
    oldest, newest = understood[0], understood[-1]
    if api == ApiKey.PRODUCE and age(line_of(kafka)) >= age(_SAYS_IT_TAKES_OLD_PRODUCE):
        oldest = OLDEST_VERSIONS[api]["0.11.0"]
    lines = _UNSTABLE.get((api, newest))
    if not unstable and lines is not None and is_between(line_of(kafka), *lines):
        newest -= 1
    return range(oldest, newest + 1)

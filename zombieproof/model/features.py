"""Features: levels that the brokers of a cluster agree on (KIP-584), and which of them a release has.

Only those that decide something here are told to clients; the others stand with the reason why they are not.
Source: reference §7.5; ``Feature`` and ``MetadataVersion`` in the jars of each release, read by `make kafka-versions`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from zombieproof.model.releases import age, line_of

TRANSACTION_VERSION: Final = "transaction.version"
FIRST_VERSION_WITH_LEVEL_0: Final = 4
"""Older ApiVersions leave out features that may be at level 0: their clients take that for a fault (KAFKA-17011)."""


class Levels(NamedTuple):
    """The lowest and the highest level of a feature in a release. A new cluster is at the highest."""

    lowest: int
    highest: int


FEATURES: Final[Mapping[str, Mapping[str, Levels]]] = {
    "group.version": {"4.0": Levels(0, 1)},
    "metadata.version": {
        "3.3": Levels(1, 7),
        "3.4": Levels(1, 8),
        "3.5": Levels(1, 11),
        "3.6": Levels(1, 14),
        "3.7": Levels(1, 19),
        "3.8": Levels(1, 20),
        "3.9": Levels(1, 21),
        "4.0": Levels(7, 25),
        "4.1": Levels(7, 27),
        "4.2": Levels(7, 29),
        "4.3": Levels(7, 30),
        "4.4": Levels(7, 33),
    },
    TRANSACTION_VERSION: {"4.0": Levels(0, 2)},
}
"""Feature -> line -> its levels from that line on. Brokers before 3.3 have no feature."""

NOT_TOLD: Final[Mapping[str, str]] = {
    "kraft.version": "there is no quorum of controllers whose members could change",
    "share.version": "share groups are not served",
    "streams.version": "groups of the streams protocol are not served",
    "eligible.leader.replicas.version": "only a replica in sync is elected; there is no list of eligible others",
}
"""Feature -> why brokers here do not tell of it."""


def features_of(kafka: str) -> Mapping[str, Levels]:
    """The features of a release that brokers here tell.

    Raises:
        UnknownRelease: there is no such release.
    """
    of_line = age(line_of(kafka))
    found = {
        name: [levels for since, levels in by_line.items() if age(since) <= of_line]
        for name, by_line in FEATURES.items()
    }
    return {name: levels[-1] for name, levels in found.items() if levels}

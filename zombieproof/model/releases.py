"""Releases of Kafka: their names, their order, and which versions of a request each of them understands.

A *line* is what a release is called without its patch number (``3.9`` of 3.9.1, ``0.11.0`` of 0.11.0.3); it stands for
its newest patch release. Which rule came with which release is said at each switch of `Rules`.
Source: reference §7.5, §11.1 to §11.3; the message schemas of each release's branch.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from zombieproof.model.vocabulary import ApiKey, TransactionVersion

RELEASES: Final = (
    *("0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
    *("4.0", "4.1", "4.2", "4.3", "4.4"),
)
"""Every line since transactions exist, oldest first."""

FIRST_WITH_TRANSACTION_VERSIONS: Final = "4.0"
"""The first release in which a cluster can be at transaction version 1 or 2."""

_NEWEST_PATCH: Final = 1 << 30


class UnknownRelease(ValueError):
    """A release that does not exist, or that cannot be at a transaction version, was named."""


def line_of(kafka: str) -> str:
    """The line of a release: "3.9.1" and "3.9" are "3.9"; what follows a hyphen ("-rc0") does not count.

    Raises:
        UnknownRelease: it is no release with transactions.
    """
    numbers = kafka.split("-", maxsplit=1)[0].split(".")
    for line in RELEASES:
        wanted = line.split(".")
        if numbers[: len(wanted)] == wanted and len(numbers) <= len(wanted) + 1 and numbers[-1].isdecimal():
            return line
    raise UnknownRelease(
        f"unknown Kafka release {kafka!r}; known: {RELEASES[0]} to {RELEASES[-1]}. Give a release line such as 3.9, "
        f"or a patch release such as 3.9.1"
    )


@cache
def age(release: str) -> tuple[int, ...]:
    """What releases are compared by; a line compares as the newest of its patch releases."""
    base = release.split("-", maxsplit=1)[0]
    numbers = tuple(int(number) for number in base.split("."))
    return (*numbers, _NEWEST_PATCH) if base in RELEASES else numbers


def is_between(release: str, since: str, until: str) -> bool:
    """Whether a release is not older than `since` and not newer than the line `until` ("": there is no end).

    A rule that no release has (`since` is "") is between nothing.
    """
    if not since:
        return False
    began = tuple(int(number) for number in since.split("."))
    return began <= age(release) and (not until or age(release) <= age(until))


def transaction_version_of(kafka: str, transaction_version: int | None) -> int:
    """The transaction version of a cluster: the one given, else what its release begins with.

    Raises:
        UnknownRelease: there is no such release, or it has no such transaction version.
    """
    line = line_of(kafka)
    newest = TransactionVersion.TV2 if age(line) >= age(FIRST_WITH_TRANSACTION_VERSIONS) else TransactionVersion.TV0
    if transaction_version is None:
        return int(newest)
    if not 0 <= transaction_version <= newest:
        legal = "0, 1 or 2" if newest else f"0 (others need {FIRST_WITH_TRANSACTION_VERSIONS} or newer)"
        raise UnknownRelease(
            f"Kafka {kafka} does not support transaction version {transaction_version}; legal: {legal}"
        )
    return int(transaction_version)


NEWEST_VERSIONS: Final[Mapping[ApiKey, Mapping[str, int]]] = {
    ApiKey.PRODUCE: {
        "0.11.0": 3,
        "1.0": 5,
        "2.0": 6,
        "2.1": 7,
        "2.4": 8,
        "2.8": 9,
        "3.7": 10,
        "3.8": 11,
        "4.0": 12,
        "4.1": 13,
    },
    ApiKey.INIT_PRODUCER_ID: {"0.11.0": 0, "2.0": 1, "2.4": 2, "2.5": 3, "2.7": 4, "3.8": 5, "4.1": 6},
    ApiKey.ADD_PARTITIONS_TO_TXN: {"0.11.0": 0, "2.0": 1, "2.7": 2, "2.8": 3, "3.5": 4, "3.8": 5},
    ApiKey.ADD_OFFSETS_TO_TXN: {"0.11.0": 0, "2.0": 1, "2.7": 2, "2.8": 3, "3.8": 4},
    ApiKey.END_TXN: {"0.11.0": 0, "2.0": 1, "2.7": 2, "2.8": 3, "3.8": 4, "4.0": 5},
    ApiKey.WRITE_TXN_MARKERS: {"0.11.0": 0, "2.8": 1, "4.2": 2},
    ApiKey.TXN_OFFSET_COMMIT: {"0.11.0": 0, "2.0": 1, "2.1": 2, "2.5": 3, "3.8": 4, "4.0": 5, "4.4": 6},
    ApiKey.DESCRIBE_PRODUCERS: {"2.8": 0},
    ApiKey.DESCRIBE_TRANSACTIONS: {"3.0": 0},
    ApiKey.LIST_TRANSACTIONS: {"3.0": 0, "3.8": 1, "4.1": 2},
}
"""For each request of a transaction: line -> the newest version, from that line on."""

OLDEST_VERSIONS: Final[Mapping[ApiKey, Mapping[str, int]]] = {
    ApiKey.PRODUCE: {"0.11.0": 0, "4.0": 3},
    ApiKey.WRITE_TXN_MARKERS: {"0.11.0": 0, "4.0": 1},
}
"""The same for the oldest version; 0 where nothing is said."""


@cache
def understands(kafka: str, api: ApiKey, version: int) -> bool:
    """Whether a broker of a release understands a version of a transactional request; others end the connection.

    InitProducerId 6 is understood since 4.1, though a broker advertises it only where unstable versions are enabled.

    Raises:
        UnknownRelease: there is no such release.
    """
    return oldest_version(kafka, api) <= version <= newest_version(kafka, api)


@cache
def oldest_version(kafka: str, api: ApiKey) -> int:
    """The oldest version of a transactional request that a broker of a release understands, if it has any.

    Raises:
        UnknownRelease: there is no such release.
    """
    return _in_force(OLDEST_VERSIONS.get(api, {}), kafka, 0)


@cache
def newest_version(kafka: str, api: ApiKey) -> int:
    """The newest version of a transactional request that a broker of a release understands; -1: it has none.

    Raises:
        UnknownRelease: there is no such release.
    """
    return _in_force(NEWEST_VERSIONS[api], kafka, -1)


def _in_force(by_line: Mapping[str, int], kafka: str, before: int) -> int:
    line = line_of(kafka)
    found = before
    for since, value in by_line.items():
        if age(since) <= age(line):
            found = value
    return found

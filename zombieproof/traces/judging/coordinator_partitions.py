"""Which partition of ``__transaction_state`` holds a transactional id, as far as the ids that are there tell."""

from collections.abc import Mapping

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.model.placement import partition_for

DEFAULT_PARTITIONS = 50
"""``transaction.state.log.num.partitions``."""
MOST_PARTITIONS = 1000
ENOUGH = 3
"""Ids that must agree before a number other than the default is believed."""


def number_of_partitions(homes: Mapping[str, int]) -> int | None:
    """How many partitions the topic has: the default if all ids lie where it puts them, else the smallest that does.

    None: too few ids are known to tell. `homes` are ids and the partitions in which they were found.
    """
    if homes and _fits(DEFAULT_PARTITIONS, homes):
        return DEFAULT_PARTITIONS
    if len(homes) < ENOUGH or len(set(homes.values())) == 1:
        return None
    least = max(homes.values()) + 1
    return next((count for count in range(least, MOST_PARTITIONS + 1) if _fits(count, homes)), None)


def _fits(count: int, homes: Mapping[str, int]) -> bool:
    return all(partition_for(name, count) == home for name, home in homes.items())


def home_of(transactional_id: str, count: int | None) -> str:
    """In words, where an id lies."""
    if count is not None:
        return f"{TRANSACTION_STATE}-{partition_for(transactional_id, count)}"
    default = partition_for(transactional_id, DEFAULT_PARTITIONS)
    return f"{TRANSACTION_STATE}-{default} if the topic has its default of {DEFAULT_PARTITIONS} partitions"

"""ListOffsets (API key 2, versions 1-11): which place of a partition is looked for.

Behaviour: a time that is not negative is looked for; -1 is the end, as far as the reader may read, -2 and (without
tiered storage) -4 the beginning, -3 the record with the greatest time (KIP-734). Without tiered storage nothing is at
-5 and -6 (KIP-405, KIP-1005). A partition that is named twice is refused.
Versions: 4 says which leader is meant; -3 is known from 7 on, -4 from 8, -5 from 9, -6 from 11 on.
Source: ``ReplicaManager.fetchOffset``, ``ListOffsetsRequest.TIMESTAMP_MIN_SUPPORTED_VERSION``, ``UnifiedLog.java``.
"""

from zombieproof.model.vocabulary import Error, Place


def first_version_with_place(timestamp_ms: int) -> int:
    """The first version that knows what a negative time stands for; one that nobody knows needs one that never was."""
    if timestamp_ms >= Place.EARLIEST:
        return 1
    if timestamp_ms == Place.GREATEST_TIME:
        return 7
    if timestamp_ms == Place.EARLIEST_LOCAL:
        return 8
    if timestamp_ms == Place.LATEST_TIERED:
        return 9
    return 11 if timestamp_ms == Place.EARLIEST_PENDING_UPLOAD else 1 << 15


def error_of_listing(is_repeated: bool, timestamp_ms: int, version: int) -> int:
    """INVALID_REQUEST or UNSUPPORTED_VERSION for one row, before any partition is looked at, or NONE."""
    if is_repeated:
        return int(Error.INVALID_REQUEST)
    return int(Error.UNSUPPORTED_VERSION if version < first_version_with_place(timestamp_ms) else Error.NONE)


def place_of(timestamp_ms: int) -> int:
    """What a time stands for, of those that are known: a broker without tiered storage has everything itself."""
    if timestamp_ms >= 0:
        return int(Place.TIME)
    return int(Place.EARLIEST if timestamp_ms == Place.EARLIEST_LOCAL else timestamp_ms)

"""DescribeLogDirs (35), versions 1 to 5: how many bytes the logs of a broker are.

A broker here has one directory, and no log is on its way to another. From version 4 on there are the bytes of the
volume, of which nothing is told (-1). Who may not ask is told of no directory, and from version 3 on why (31). Source:
``ReplicaManager.describeLogDirs``; KIP-113, KIP-827.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer
from zombieproof.messages.admin import LogDirsDescribed
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import message_of
from zombieproof.wire.names import Names


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """One directory."""
    told = answers[0]
    assert isinstance(told, LogDirsDescribed)
    if told.directory == "" and not told.sizes:
        return {"error_code": told.error, "results": []}
    topics: dict[str, list[Values]] = {}
    for (topic, number), size in told.sizes.items():
        row = {"partition_index": number, "partition_size": size, "offset_lag": 0, "is_future_key": False}
        topics.setdefault(topic, []).append(row)
    rows = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    volume = {"total_bytes": NONE, "usable_bytes": NONE}
    return {
        "error_code": told.error,
        "results": [{"error_code": 0, "log_dir": told.directory, "topics": rows, **volume}],
    }


def told(entity: Any, request: Any, names: Names) -> LogDirsDescribed:
    """The bytes of the logs, or that nothing is told."""
    if not entity.results:
        return LogDirsDescribed("", {}, int(getattr(entity, "error_code", Error.NONE)))
    read: LogDirsDescribed = message_of(LogDirsDescribed, entity, request.version, names)
    return read


DESCRIBE_LOG_DIRS = api_of_messages(ApiKey.DESCRIBE_LOG_DIRS, to_values=to_values, told=told)

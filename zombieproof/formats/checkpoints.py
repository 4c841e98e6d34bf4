"""Checkpoints: text files of a version, a count, and one entry a line.

Offset checkpoints (recovery point, replication offset, log start, cleaner) lie in a log directory and name partitions;
the leader epochs of one partition lie in its folder. Source: ``CheckpointFile.java``, ``OffsetCheckpointFile.java``,
``LeaderEpochCheckpointFile.java``.
"""

import re
from collections.abc import Iterable, Mapping

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import TopicPartition

OFFSET = re.compile(r"(?P<topic>\S+) (?P<partition>\d{1,10}) (?P<offset>\d{1,19})", re.ASCII)
EPOCH = re.compile(r"(?P<epoch>\d{1,10}) (?P<offset>\d{1,19})", re.ASCII)
VERSION = "0"


def read_offsets(data: bytes | memoryview) -> dict[TopicPartition, int]:
    """The offset of each partition, in the order of the file.

    Raises:
        Undecodable: another version, fewer or more entries than counted, or a line that is no entry.
    """
    return {(found["topic"], int(found["partition"])): int(found["offset"]) for found in _entries(data, OFFSET)}


def write_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The checkpoint of these offsets, in their order."""
    return _written(f"{topic} {number} {offset}" for (topic, number), offset in offsets.items())


def read_leader_epochs(data: bytes | memoryview) -> tuple[tuple[int, int], ...]:
    """Each leader epoch with the offset at which it began, in the order of the file.

    Raises:
        Undecodable: another version, fewer or more entries than counted, or a line that is no entry.
    """
    return tuple((int(found["epoch"]), int(found["offset"])) for found in _entries(data, EPOCH))


def write_leader_epochs(epochs: Iterable[tuple[int, int]]) -> bytes:
    """The checkpoint of these (leader epoch, start offset), in their order."""
    return _written(f"{epoch} {offset}" for epoch, offset in epochs)


def _entries(data: bytes | memoryview, form: re.Pattern[str]) -> list[re.Match[str]]:
    lines = [line.strip() for line in bytes(data).decode(errors="replace").split("\n")]
    if len(lines) < 2 or lines[0] != VERSION or not (lines[1].isdecimal() and lines[1].isascii()):
        raise Undecodable("a checkpoint begins with version 0 and the number of its entries", 0)
    found = [form.fullmatch(line) for line in lines[2:] if line]
    entries = [entry for entry in found if entry is not None]
    if len(entries) != len(found) or lines[1] != str(len(found)):
        raise Undecodable(f"a checkpoint of {lines[1]} entries has {len(found)}, or one of them is garbled")
    return entries


def _written(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (VERSION, len(lines), *lines)).encode()

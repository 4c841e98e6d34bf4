"""Offset checkpoints that a broker keeps in its log directory: a version, a count, then ``topic partition offset``."""

import re

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.readers.codecs import Undecodable
from zombieproof.traces.readers.lines import Lines

ENTRY = re.compile(r"(?P<topic>\S+) (?P<partition>\d{1,10}) (?P<offset>\d{1,19})", re.ASCII)
VERSION = "0"


def read_offset_checkpoint(data: memoryview) -> dict[TopicPartition, int]:
    """Offset of each partition.

    Raises:
        Undecodable: another version, fewer or more entries than counted, or a line that is no entry.
    """
    lines = [line.rstrip("\r") for line in Lines(data)]
    if len(lines) < 2 or lines[0] != VERSION or not lines[1].isdecimal():
        raise Undecodable("a checkpoint begins with version 0 and the number of its entries")
    entries = [ENTRY.fullmatch(line) for line in lines[2:] if line]
    if None in entries or lines[1] != str(len(entries)):
        raise Undecodable(f"a checkpoint of {lines[1]} entries has {len(entries)}, or one of them is garbled")
    return {(found["topic"], int(found["partition"])): int(found["offset"]) for found in entries if found}

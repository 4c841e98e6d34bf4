"""Small files that a broker keeps beside its logs: whose disk it is, which topic, where its leader epochs begin."""

import re

from zombieproof.traces.readers.codecs import Undecodable
from zombieproof.traces.readers.lines import Lines

EPOCH = re.compile(r"\d{1,10} (?P<offset>\d{1,19})", re.ASCII)
VERSION = "0"


def read_properties(data: memoryview) -> dict[str, str]:
    """The entries of a ``meta.properties``."""
    lines = (line.strip() for line in Lines(data))
    pairs = (line.partition("=") for line in lines if line and not line.startswith(("#", "!")))
    return {name.strip(): value.strip() for name, _, value in pairs}


def read_topic_id(data: memoryview) -> str:
    """The topic id in a ``partition.metadata``.

    Raises:
        Undecodable: it holds none.
    """
    for line in Lines(data):
        name, _, value = line.partition(":")
        if name.strip() == "topic_id" and value.strip():
            return value.strip()
    raise Undecodable("it holds no topic_id")


def read_first_epoch_start(data: memoryview) -> int | None:
    """The start offset of the earliest entry of a ``leader-epoch-checkpoint``; None when it has no entry.

    Raises:
        Undecodable: another version, fewer or more entries than counted, or a line that is no entry.
    """
    lines = [line.strip() for line in Lines(data)]
    if len(lines) < 2 or lines[0] != VERSION or not lines[1].isdecimal():
        raise Undecodable("it does not begin with version 0 and the number of its entries")
    entries = [EPOCH.fullmatch(line) for line in lines[2:] if line]
    found = [int(entry["offset"]) for entry in entries if entry]
    if len(found) != len(entries) or len(found) != int(lines[1]):
        raise Undecodable(f"{lines[1]} entries are announced, and {len(found)} can be read")
    return min(found, default=None)

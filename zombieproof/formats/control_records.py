"""Control records: the end of a transaction, and the kinds that are kept as they are (reference §7.4).

Source: ``ControlRecordType.java``, ``EndTransactionMarker.java``.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from zombieproof.formats.faults import Undecodable

KEY = Struct(">hh")
END_VALUE = Struct(">hi")
VERSION = 0


class ControlType(IntEnum):
    """What a control record says. A number that is not here is passed over by readers, and kept by the log."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndMarker(NamedTuple):
    """The end of a transaction on one partition, as it is stored."""

    committed: bool
    coordinator_epoch: int


def read_type(key: bytes | None) -> int:
    """The type in the key of a control record; keys of later versions are read as the prefix that is known.

    Raises:
        Undecodable: there is no type.
    """
    if key is None or len(key) < KEY.size:
        raise Undecodable("a control record has no type", 0)
    return int.from_bytes(key[2:4], signed=True)


def read_end_marker(key: bytes | None, value: bytes | None) -> EndMarker | None:
    """The end of a transaction; None for control records of other types. Later versions are read as a known prefix.

    Raises:
        Undecodable: it has no type, or an end-transaction marker is of a version below 0 or too short.
    """
    kind = read_type(key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if value is None or len(value) < END_VALUE.size:
        raise Undecodable("an end-transaction marker has no coordinator epoch", 0)
    version, coordinator_epoch = END_VALUE.unpack_from(value)
    if version < 0:
        raise Undecodable("an end-transaction marker has a negative version", 0)
    return EndMarker(kind == ControlType.COMMIT, coordinator_epoch)


def write_end_marker(marker: EndMarker) -> tuple[bytes, bytes]:
    """Key and value of the control record that ends a transaction."""
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    return KEY.pack(VERSION, kind), END_VALUE.pack(VERSION, marker.coordinator_epoch)

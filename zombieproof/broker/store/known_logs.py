"""Records that a broker keeps of its logs, so that a later start notices missing files and batches.

Kafka's own checkpoints say how far a log was synced and where it starts, and nothing protects them. Two files say more,
each with a checksum over all of its lines. Kafka ignores both.

- ``log-state-checkpoint``, one in the folder of each broker: for each log where it starts, up to where it was synced,
  the highest producer id and coordinator epoch in it, which aborted transactions its last segment lists, and the
  checksums of the indexes of that. It is replaced together with Kafka's checkpoints: about once a second while there
  is something to write. Its generation is raised at each start and each clean stop, and ``cluster.json`` has it, too:
  so a folder that an older copy has replaced is noticed.
- ``segment-checkpoint``, one in the folder of each partition: its topic id, its leader epochs, and for each segment
  that was sealed or closed its end, its size, its last batch, and the checksums of its three indexes; and the checksums
  of the snapshots of producers: no start believes another one. It is replaced when a segment is sealed, swapped, cut or
  closed, when a start has written a snapshot, and *before* batches are removed, so that no crash leaves a claim
  about a batch that was removed on purpose.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import crc32c

from zombieproof.broker.store.disk import Disk
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE

LOG_STATES, SEGMENTS = "log-state-checkpoint", "segment-checkpoint"
VERSION = "zombieproof 1"
GENERATION = "generation"
CHECKSUM = "checksum"
SNAPSHOT = ".snapshot"
"""How the name of a snapshot of producers ends."""
SNAPSHOT_NAME = re.compile(rf"\d{{20}}{re.escape(SNAPSHOT)}")
IN_REPAIR = -1
"""The size of a segment that a repair has begun to replace, and has not recorded yet."""
UNKNOWN = -1
"""The checksum of an index of which none is recorded: its content follows from the batches."""


class LogState(NamedTuple):
    """The record of the log of a topic with this id.

    `aborted_count` aborted transactions that end below `end_offset` are listed in the last segment, and
    `aborted_checksum` is the checksum over their entries. The last segment begins at `last_base`, with a batch whose
    header has `first_checksum` (0: with none). `sequence` is that of the file in its folder, which is an
    older one if it has a lower sequence. The last segment has `synced_size` bytes below `end_offset` (0: not recorded).
    The first `index_size` and `time_size` bytes of its two indexes have these checksums: after a crash nothing else in
    them is believed.
    """

    topic_id: str
    start_offset: int
    end_offset: int
    producer_id: int = NONE
    coordinator_epoch: int = NONE
    aborted_count: int = 0
    aborted_checksum: int = 0
    last_base: int = 0
    first_checksum: int = 0
    sequence: int = 0
    synced_size: int = 0
    index_size: int = 0
    index_checksum: int = 0
    time_size: int = 0
    time_checksum: int = 0

    @property
    def claims_records(self) -> bool:
        """Whether there must be records."""
        return self.end_offset > self.start_offset


class SegmentState(NamedTuple):
    """The record of one segment.

    Its last batch begins at byte `last_position`, ends at byte `size`, and the next offset is `end_offset`. The
    next segment begins at `next_offset`. Checksums are those of the headers of the first and the last batch, and of the
    three indexes.
    Producer id and coordinator epoch are the highest in the log up to its end.
    """

    base_offset: int
    end_offset: int
    next_offset: int
    size: int
    last_position: int
    first_checksum: int
    last_checksum: int
    producer_id: int
    coordinator_epoch: int
    offset_index: int = UNKNOWN
    time_index: int = UNKNOWN
    transaction_index: int = UNKNOWN


@dataclass(slots=True)
class FolderState:
    """The record in the folder of partition `number` of a topic; `segments` by their base offsets.

    `sequence` counts how often it was written. `snapshots` are the checksums of the snapshots of producers, by offset.
    """

    topic_id: str = ""
    number: int = NONE
    sequence: int = 0
    segments: dict[int, SegmentState] = field(default_factory=dict)
    leader_epochs: tuple[tuple[int, int], ...] = ()
    snapshots: dict[int, int] = field(default_factory=dict)


def checksum(data: bytes | memoryview) -> int:
    """The checksum of some bytes."""
    return int(crc32c.crc32c(data))


class BrokerState(NamedTuple):
    """The record in the folder of a broker: its logs, and the generation of the folder (0: none is recorded)."""

    logs: dict[TopicPartition, LogState]
    generation: int = 0


def write_log_states(states: Mapping[TopicPartition, LogState], generation: int = 0) -> bytes:
    """The file of these states."""
    lines = (f"{topic} {number} " + _numbers(state) for (topic, number), state in states.items())
    return _sealed([f"{GENERATION} {generation}", *lines] if generation else lines)


def read_log_states(data: bytes) -> BrokerState:
    """The states in a file.

    Raises:
        Undecodable: it is damaged.
    """
    found, generation = dict[TopicPartition, LogState](), 0
    for line in _unsealed(data):
        topic, number, *rest = line.split(" ")
        if rest:
            found[topic, int(number)] = LogState(rest[0], *map(int, rest[1:]))
        else:
            generation = int(number)
    return BrokerState(found, generation)


def write_folder_state(state: FolderState) -> bytes:
    """The file of this state."""
    lines = [f"topic {state.topic_id} {state.sequence} {state.number}"]
    lines += [f"epoch {epoch} {offset}" for epoch, offset in state.leader_epochs]
    lines += [f"snapshot {offset} {seal}" for offset, seal in sorted(state.snapshots.items())]
    lines += [f"segment {_numbers(each)}" for _, each in sorted(state.segments.items())]
    return _sealed(lines)


def read_folder_state(data: bytes) -> FolderState:
    """The state in a file.

    Raises:
        Undecodable: it is damaged.
    """
    found = FolderState()
    epochs = list[tuple[int, int]]()
    for line in _unsealed(data):
        kind, *rest = line.split(" ")
        if kind == "topic":
            found.topic_id, found.sequence = rest[0], int(rest[1])
            found.number = int(rest[2]) if len(rest) > 2 else NONE
        elif kind == "epoch":
            epochs.append((int(rest[0]), int(rest[1])))
        elif kind == "snapshot":
            found.snapshots[int(rest[0])] = int(rest[1])
        else:
            segment = SegmentState(*map(int, rest))
            found.segments[segment.base_offset] = segment
    found.leader_epochs = tuple(epochs)
    return found


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Let a file have other bytes: all of them or none after a crash, once the folder is synced."""
    if disk.exists(f"{path}.tmp"):
        disk.remove(f"{path}.tmp")
    disk.write(f"{path}.tmp", 0, data)
    disk.sync(f"{path}.tmp")
    disk.rename(f"{path}.tmp", path)


def _numbers(numbers: Sequence[object]) -> str:
    return " ".join(map(str, numbers))


def _sealed(lines: Iterable[str]) -> bytes:
    body = "".join(f"{line}\n" for line in (VERSION, *lines)).encode()
    return body + f"{CHECKSUM} {checksum(body):08x}\n".encode()


def _unsealed(data: bytes) -> list[str]:
    body, found, seal = data.rpartition(CHECKSUM.encode() + b" ")
    if not found or seal != f"{checksum(body):08x}\n".encode():
        raise Undecodable("its checksum does not match")
    version, *lines = body.decode().splitlines()
    if version != VERSION:
        raise Undecodable(f"its version is {version!r}, and {VERSION!r} is read")
    return lines

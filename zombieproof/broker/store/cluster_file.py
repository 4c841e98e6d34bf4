"""What of a cluster's metadata outlives the process: topics and replicas, leader epochs, blocks of producer ids.

One small file, ``cluster.json``, which is replaced as a whole; it says in which format the directory is. (Kafka has a
log for it, ``__cluster_metadata``.) It holds a checksum, and has a copy, which is written after it: what was in a file
that is damaged, or that an older one has replaced, is there.
"""

import json
from collections.abc import Collection
from typing import Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from zombieproof.broker.cluster.metadata import NOBODY, Metadata, PartitionMetadata, Placement
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.broker.store.config_names import config_named, named
from zombieproof.broker.store.disk import Disk, Kind, fault_of_kind
from zombieproof.broker.store.findings import unreadable
from zombieproof.broker.store.known_logs import checksum, replace_file
from zombieproof.broker.store.topic_configs import check

FILE, COPY = "cluster.json", "cluster-copy.json"
FORMAT = 1


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SavedPartition(_Strict):
    """A partition: its replicas, those in sync, and the last leader with its epoch."""

    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int


class SavedTopic(_Strict):
    """A topic with its partitions in order, and those of its settings that are not Kafka's defaults.

    `stated` is what requests have said of them, which may be more, or the default.
    """

    id: UUID
    partitions: tuple[SavedPartition, ...]
    config: dict[str, str] = {}
    stated: dict[str, str] | None = None

    @field_validator("config")
    @classmethod
    def _is_known(cls, config: dict[str, str]) -> dict[str, str]:
        config_named(config)
        return config

    @field_validator("stated")
    @classmethod
    def _can_be(cls, stated: dict[str, str] | None) -> dict[str, str] | None:
        check(stated or {})
        return stated


class SavedCluster(_Strict):
    """The whole file. `version` is that of the metadata; a file of an earlier version has no `checksum`.

    `generation`: the folder of no broker is of an earlier one, unless an older copy has replaced it.
    `deleted_ids`: topics of which folders may be left; `deleted_names`: topics of which committed offsets may be left.
    """

    format: Literal[1] = 1
    cluster_id: str
    nodes: int
    next_producer_id: int
    topics: dict[str, SavedTopic]
    version: int = 0
    generation: int = 0
    deleted_ids: tuple[UUID, ...] = ()
    deleted_names: tuple[str, ...] = ()
    checksum: str | None = None


class FileRead(NamedTuple):
    """What is in a file: a cluster, or why there is none. Neither: the file is missing.

    `is_foreign`: another version has written it, and reads it.
    """

    saved: SavedCluster | None
    fault: str | None = None
    is_foreign: bool = False


def read_cluster(disk: Disk, file: str = FILE) -> FileRead:
    """What ``cluster.json`` says, or its copy."""
    if not disk.exists(file):
        return FileRead(None)
    if fault := fault_of_kind(disk.kinds(""), file, Kind.FILE):
        return FileRead(None, fault)
    try:
        data = disk.read(file)
    except OSError as error:
        return FileRead(None, unreadable(error))
    try:
        saved = SavedCluster.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        if first["loc"] == ("format",):
            return FileRead(None, f"it is in format {first['input']}, and format {FORMAT} is read", is_foreign=True)
        return FileRead(None, f"{where}: {first['msg']}")
    if saved.checksum not in (None, _checksum(data)):
        return FileRead(None, 'its checksum does not match. If you have edited it, remove the line "checksum"')
    return FileRead(saved)


def write_cluster(disk: Disk, saved: SavedCluster) -> None:
    """Replace the file, and then its copy; they are on the disk when this returns."""
    fields = saved.model_dump(mode="json", exclude={"checksum"})
    data = json.dumps({**fields, "checksum": _checksum(json.dumps(fields).encode())}, indent=1).encode() + b"\n"
    for file in (FILE, COPY):
        replace_file(disk, file, data)
        disk.sync_directory("")


def _checksum(data: bytes) -> str:
    """The checksum over everything that the file says, however it is laid out."""
    fields = json.loads(data)
    fields.pop("checksum", None)
    return f"{checksum(json.dumps(fields, sort_keys=True).encode()):08x}"


def saved_of(
    cluster_id: str,
    nodes: int,
    metadata: Metadata,
    next_producer_id: int,
    generation: int,
    deleted: Collection[str] = (),
) -> SavedCluster:
    """The file for `metadata`, as it is after the topics `deleted` are gone (`Metadata.delete`)."""
    topics: dict[str, list[SavedPartition]] = {}
    for (topic, _), known in metadata.partitions.items():
        if topic in deleted:
            continue
        saved = SavedPartition(
            replicas=known.replicas, in_sync=known.in_sync, leader=known.leader, leader_epoch=known.leader_epoch
        )
        topics.setdefault(topic, []).append(saved)
    return SavedCluster(
        cluster_id=cluster_id,
        nodes=nodes,
        next_producer_id=next_producer_id,
        topics={
            topic: SavedTopic(
                id=metadata.topic_ids[topic],
                partitions=tuple(partitions),
                config=named(metadata.configs[topic]) if topic in metadata.configs else {},
                stated=metadata.stated.get(topic),
            )
            for topic, partitions in topics.items()
        },
        version=metadata.version + len(deleted),
        generation=generation,
        deleted_ids=tuple(sorted(metadata.deleted_ids | {metadata.topic_ids[topic] for topic in deleted})),
        deleted_names=tuple(sorted(metadata.deleted_names.union(deleted))),
    )


def metadata_of(saved: SavedCluster, place: tuple[Placement, Placement] | None = None) -> Metadata:
    """The metadata with which a cluster goes on: every partition has a leader again, under the next epoch."""
    metadata = Metadata(producer_ids=ProducerIdController(saved.next_producer_id))
    if place is not None:
        metadata.place_transactional_id, metadata.place_group = place
    for topic, known in saved.topics.items():
        metadata.create(topic, [partition.replicas for partition in known.partitions], known.id)
        if known.config:
            metadata.configs[topic] = config_named(known.config)
        if known.stated is not None:
            metadata.stated[topic] = known.stated
        for number, partition in enumerate(known.partitions):
            leader = partition.leader if partition.leader != NOBODY else partition.in_sync[0]
            metadata.partitions[topic, number] = PartitionMetadata(
                partition.replicas, partition.in_sync, leader, partition.leader_epoch + 1
            )
    metadata.version = max(metadata.version, saved.version + 1)
    metadata.deleted_ids, metadata.deleted_names = set(saved.deleted_ids), set(saved.deleted_names)
    return metadata

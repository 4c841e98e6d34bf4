"""What of a cluster's metadata outlives the process: topics and replicas, leader epochs, blocks of producer ids.

One small file, ``cluster.json``, which is replaced as a whole; it says in which format the directory is. (Kafka has a
log for it, ``__cluster_metadata``.)
"""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from zombieproof.broker.cluster.metadata import NOBODY, Metadata, PartitionMetadata, Placement
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config_names import config_named, named
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.topic_configs import check

FILE = "cluster.json"
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
    """The whole file. `version` is that of the metadata.

    `deleted_ids`: topics of which folders may be left; `deleted_names`: topics of which committed offsets may be left.
    """

    format: Literal[1] = 1
    cluster_id: str
    nodes: int
    next_producer_id: int
    topics: dict[str, SavedTopic]
    version: int = 0
    deleted_ids: tuple[UUID, ...] = ()
    deleted_names: tuple[str, ...] = ()


def read_cluster(disk: Disk) -> SavedCluster | None:
    """What the file says; None: there is none.

    Raises:
        Damaged: it is of another format, or cannot be read.
    """
    if not disk.exists(FILE):
        return None
    data, name = disk.read(FILE), disk.name(FILE)
    try:
        return SavedCluster.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        fault = f"{where}: {first['msg']}"
        if first["loc"] == ("format",):
            fault = (
                f"it is in format {first['input']}, and format {FORMAT} is read: open it with the version that wrote it"
            )
        raise Damaged(f"{name}: {fault}. Nothing was changed") from error


def write_cluster(disk: Disk, saved: SavedCluster) -> None:
    """Replace the file; it is on the disk when this returns."""
    data = saved.model_dump_json(indent=1).encode() + b"\n"
    if disk.exists(f"{FILE}.tmp"):
        disk.remove(f"{FILE}.tmp")
    disk.write(f"{FILE}.tmp", 0, data)
    disk.sync(f"{FILE}.tmp")
    disk.rename(f"{FILE}.tmp", FILE)
    disk.sync_directory("")


def saved_of(cluster_id: str, nodes: int, metadata: Metadata, next_producer_id: int) -> SavedCluster:
    """What is to be saved of `metadata`."""
    topics: dict[str, list[SavedPartition]] = {}
    for (topic, _), known in metadata.partitions.items():
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
        version=metadata.version,
        deleted_ids=tuple(sorted(metadata.deleted_ids)),
        deleted_names=tuple(sorted(metadata.deleted_names)),
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
    metadata.version = max(metadata.version, saved.version)
    metadata.deleted_ids, metadata.deleted_names = set(saved.deleted_ids), set(saved.deleted_names)
    return metadata

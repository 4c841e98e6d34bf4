"""Inspection of a data directory: everything that is wrong with it, found without writing a byte.

A start, ``zombieproof repair`` and the tests ask here and nowhere else. A start refuses a directory with a fault that
loses something; it rebuilds the rest.

Compared are ``cluster.json`` with its checksum and its copy; the folders of brokers and partitions with the list in
``cluster.json``; each log with the record of it (`store.known_logs`) or, in a directory of an earlier
version, with Kafka's checkpoints and with itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from zombieproof.broker.cluster.clock import Clock, SystemClock
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.store.cluster_file import COPY, FILE, SavedCluster, metadata_of, read_cluster
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.broker.store.discarded_folders import DISCARDED
from zombieproof.broker.store.disk import Disk, Kind, fault_of_kind
from zombieproof.broker.store.findings import NOTHING, UNREADABLE, Finding, Repair, forgotten, unreadable
from zombieproof.broker.store.known_logs import LOG_STATES, SEGMENTS
from zombieproof.broker.store.leader_epochs import LEADER_EPOCHS
from zombieproof.broker.store.log_directory import (
    CLEAN_SHUTDOWN,
    CLEANED_OFFSETS,
    IDENTITY,
    LOG_STARTS,
    RECOVERY_POINTS,
    LogDirectory,
)
from zombieproof.broker.store.segment import LOG
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import TOPIC_IDENTITY, encoded, read_properties, read_topic_id
from zombieproof.formats.topics import TopicPartition

BROKER = re.compile(r"broker-(?P<node>[1-9]\d{0,8})")
BROKER_FILES = tuple(
    name + mark
    for name in (IDENTITY, CLEAN_SHUTDOWN, LOG_STATES, RECOVERY_POINTS, LOG_STARTS, CLEANED_OFFSETS)
    for mark in ("", ".tmp")
)
LOG_FILES = re.compile(
    r"([0-9]{20}\.(log|index|timeindex|txnindex|snapshot)(\.(cleaned|swap|deleted))?"
    rf"|{re.escape(SEGMENTS)}|{re.escape(LEADER_EPOCHS)}|{re.escape(TOPIC_IDENTITY)})(\.tmp)?"
)
KINDS = "the layout of a data directory"
MOVE = "move it away"
MOST_NAMED = 8
"""Partitions that a loss names one by one."""
WRITTEN = "every save writes it whole"
PARTITION = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<number>\d{1,9})")


@dataclass(slots=True)
class Inspection:
    """The faults of a directory, and its logs; a start continues from here if nothing is `refused`.

    Attributes:
        findings: every fault.
        saved: the content of ``cluster.json``; None: there is none, or it cannot be read.
        metadata: the same, as a cluster uses it.
        logs: the logs of each broker, looked at and not opened.
        interrupted: logs, each with its broker, that could not be looked at: first a pass of the cleaner that a crash
            has interrupted has to be finished, which writes.
    """

    findings: list[Finding] = field(default_factory=list)
    saved: SavedCluster | None = None
    metadata: Metadata = field(default_factory=Metadata)
    logs: dict[int, LogDirectory] = field(default_factory=dict)
    interrupted: list[tuple[int, TopicPartition]] = field(default_factory=list)

    @property
    def refused(self) -> list[Finding]:
        """The faults because of which a start refuses the directory."""
        return [each for each in self.findings if each.is_refused]

    @property
    def rebuilt(self) -> list[Finding]:
        """The faults that a start repairs by itself."""
        return [each for each in self.findings if not each.is_refused]


def folder_of(node: int) -> str:
    """The folder of a broker."""
    return f"broker-{node}"


def inspect(
    disk: Disk,
    default_config: LogConfig | None = None,
    configs: Mapping[str, LogConfig] | None = None,
    *,
    clock: Clock | None = None,
    durability: Durability = Durability.FSYNC,
    reads_all: bool = False,
) -> Inspection:
    """Compare a data directory with everything that it says of itself; nothing is written.

    Args:
        disk: the data directory.
        default_config: the settings of topics that have none of their own.
        configs: the settings of some topics, in place of those that the directory keeps.
        clock: the one that the logs are opened with.
        durability: the one that the logs are opened with.
        reads_all: every batch is read, as a repair does: a start leaves to readers what was sealed.
    """
    found = Inspection()
    found.saved = _read_cluster(disk, found.findings)
    if found.saved is None:
        return found
    found.metadata = metadata = metadata_of(found.saved)
    metadata.configs |= configs or {}
    metadata.default_config = default_config or LogConfig()
    by_node: dict[int, list[TopicPartition]] = {node: [] for node in range(1, found.saved.nodes + 1)}
    for partition, known in metadata.partitions.items():
        for node in known.replicas:
            if node not in by_node:
                fault = f"{partition[0]}-{partition[1]} has a replica at broker {node}, of {found.saved.nodes} brokers"
                found.findings.append(_of_cluster_file(disk, fault))
                return found
            by_node[node].append(partition)
    for node, partitions in by_node.items():
        found.findings += (odd := list(_odd_of_broker(disk, node, partitions)))
        if not odd:
            logs = LogDirectory(disk, folder_of(node), clock or SystemClock(), durability)
            _look_at_broker(disk, logs, node, partitions, found, reads_all=reads_all)
    for name in disk.listed(""):
        is_ours = name in {folder_of(node) for node in by_node}
        if name.startswith("broker-") and not is_ours and any(partitions_in(disk, name)):
            fault = f"{FILE} has {found.saved.nodes} brokers, and this is none of their folders"
            found.findings.append(_stray(name, fault, "all records in it, unless another broker has them too"))
    found.findings[:] = [_with_replicas(each, found) for each in found.findings]
    found.findings += list(_older_copies(found))
    return found


# ---------------------------------------------------------------- cluster.json


def _read_cluster(disk: Disk, findings: list[Finding]) -> SavedCluster | None:
    main, copy = read_cluster(disk), read_cluster(disk, COPY)
    if main.saved is None:
        has_logs = any(any(partitions_in(disk, name)) for name in disk.listed("") if BROKER.fullmatch(name))
        if main.fault is not None or copy.saved is not None or has_logs:
            findings.append(_of_cluster_file(disk, main.fault or "it is missing", is_foreign=main.is_foreign))
        return None
    if fault := fault_of_kind(disk.kinds(""), COPY, Kind.FILE):
        findings.append(Finding(COPY, fault, KINDS, MOVE, NOTHING, Repair.MOVE_AWAY))
    elif copy.fault is not None or (copy.saved is None and main.saved.checksum is not None):
        findings.append(Finding(COPY, copy.fault or "it is missing", f"{FILE} is sound", "write it again"))
    is_same = copy.saved is not None and main.saved.cluster_id == copy.saved.cluster_id
    if copy.saved is not None and is_same and _age(copy.saved) > _age(main.saved):
        fault = f"it is older than its copy: version {main.saved.version}, and {copy.saved.version} was written last"
        findings.append(Finding(FILE, fault, COPY, "continue with the copy"))
        return copy.saved
    return main.saved


def _age(saved: SavedCluster) -> tuple[int, int]:
    return saved.version, saved.next_producer_id


def _of_cluster_file(disk: Disk, fault: str, *, is_foreign: bool = False) -> Finding:
    """``cluster.json`` is missing or cannot be read."""
    if is_foreign:
        return Finding(FILE, fault, WRITTEN, "open it with the version that wrote it", repair=Repair.NONE)
    if read_cluster(disk, COPY).saved is not None:
        return Finding(FILE, fault, WRITTEN, f"restore it from {COPY}", NOTHING, Repair.CLUSTER_FILE)
    return Finding(
        FILE,
        fault,
        WRITTEN,
        "rebuild it from the folders of brokers and partitions",
        "the settings of topics, and replicas that are not in sync count as in sync if their logs are as long",
        Repair.CLUSTER_FILE,
    )


# ---------------------------------------------------------------- brokers and their folders


def _look_at_broker(
    disk: Disk,
    logs: LogDirectory,
    node: int,
    partitions: list[TopicPartition],
    found: Inspection,
    *,
    reads_all: bool,
) -> None:
    folder, metadata = folder_of(node), found.metadata
    if partitions and not disk.exists(f"{folder}/{IDENTITY}") and not any(partitions_in(disk, folder)):
        fault = f"the folder is missing or empty, with {len(partitions)} partitions: is its disk mounted?"
        remedy, loses = "begin empty logs", f"all records of {len(partitions)} partitions"
        found.findings.append(Finding(folder, fault, FILE, remedy, loses, Repair.RECREATE, node))
        return
    found.findings += _look_at_identity(disk, node, found.saved)
    found.logs[node] = logs
    found.findings += logs.findings
    kinds = disk.kinds(folder)
    for partition in partitions:
        topic = partition[0]
        if odd := list(_odd_of_log(disk, logs, kinds, partition, encoded(metadata.topic_ids[topic]))):
            found.findings += odd
            continue
        found.findings += logs.look(
            partition, metadata.topic_ids[topic], metadata.config_of(topic), reads_all=reads_all
        )
        if logs.is_interrupted(partition):
            found.interrupted.append((node, partition))
    deleted = {encoded(each) for each in metadata.deleted_ids}
    for name, topic_id in partitions_in(disk, folder):
        parts = PARTITION.fullmatch(name)
        partition = (parts["topic"], int(parts["number"])) if parts is not None else ("", 0)
        is_named_so = f"{partition[0]}-{partition[1]}" == name
        if (partition not in partitions or not is_named_so) and topic_id not in deleted:
            loses = "the records in the folder"
            found.findings.append(_stray(f"{folder}/{name}", f"{FILE} knows no such partition", loses))


def _odd_of_broker(disk: Disk, node: int, partitions: list[TopicPartition]) -> Iterator[Finding]:
    """A broker's folder, or a file in it, that is of another kind than its name says."""
    folder = folder_of(node)
    if fault := fault_of_kind(disk.kinds(""), folder, Kind.FOLDER):
        remedy, loses = f"{MOVE}, and begin empty logs", f"all records of {len(partitions)} partitions"
        yield Finding(folder, fault, KINDS, remedy, loses, Repair.RECREATE, node)
        return
    kinds = disk.kinds(folder)
    for name in BROKER_FILES:
        if fault := fault_of_kind(kinds, name, Kind.FILE):
            yield Finding(f"{folder}/{name}", fault, KINDS, MOVE, NOTHING, Repair.MOVE_AWAY, node)


def _odd_of_log(
    disk: Disk, logs: LogDirectory, kinds: Mapping[str, Kind], partition: TopicPartition, topic_id: str
) -> Iterator[Finding]:
    """The folder of a log, or a file in it, that is of another kind than its name says."""
    folder = logs.folder_of(partition)
    if fault := fault_of_kind(kinds, folder.rpartition("/")[2], Kind.FOLDER):
        recorded = logs.recorded(partition, topic_id)
        first, end = recorded.start_offset or 0, recorded.synced_offset
        loses = f"the records at the offsets {first} to {end - 1}" if recorded.claims_records else NOTHING
        remedy = f"{MOVE}, and begin an empty log at offset {end}"
        yield Finding(folder, fault, KINDS, remedy, loses, Repair.RECREATE, logs.node, partition)
        return
    inside = disk.kinds(folder)
    for name in sorted(inside):
        fault = fault_of_kind(inside, name, Kind.FILE) if LOG_FILES.fullmatch(name) else None
        if fault:
            loses = UNREADABLE if name.endswith(LOG) else NOTHING
            yield Finding(f"{folder}/{name}", fault, KINDS, MOVE, loses, Repair.MOVE_AWAY, logs.node, partition)


def _stray(path: str, fault: str, loses: str) -> Finding:
    return Finding(path, fault, FILE, "move the folder away", loses, Repair.SET_ASIDE)


def partitions_in(disk: Disk, folder: str) -> Iterator[tuple[str, str]]:
    """The folders of logs in the folder of a broker, each with the topic id that it names."""
    for name in disk.listed(folder):
        if name.endswith(DISCARDED) or PARTITION.fullmatch(name) is None:
            continue
        path, topic_id = f"{folder}/{name}/{TOPIC_IDENTITY}", ""
        if disk.exists(path):
            try:
                topic_id = read_topic_id(disk.read(path))
            except Undecodable:
                topic_id = ""
            except OSError as error:
                unreadable(error)
        elif not any(each.endswith(LOG) for each in disk.listed(f"{folder}/{name}")):
            continue
        yield name, topic_id


def entries_of(cluster_id: str, node: int) -> dict[str, str]:
    """Return the content of ``meta.properties`` in the folder of a broker."""
    return {"version": "1", "cluster.id": cluster_id, "node.id": str(node)}


def _look_at_identity(disk: Disk, node: int, saved: SavedCluster | None) -> list[Finding]:
    path = f"{folder_of(node)}/{IDENTITY}"
    if saved is None or not disk.exists(folder_of(node)):
        return []
    if not disk.exists(path):
        return [Finding(path, "it is missing", FILE, "write it again", node=node)]
    try:
        known, meant = read_properties(disk.read(path)), entries_of(saved.cluster_id, node)
    except OSError as error:
        return [Finding(path, unreadable(error), FILE, "write it again", node=node)]
    for name, value in meant.items():
        if name in known and known[name] != value:
            fault = f"{name} is {known[name]}, and {value} is meant: it is another's, or it is damaged"
            return [Finding(path, fault, FILE, "write it again", NOTHING, Repair.IDENTIFY, node)]
    if known != meant:
        return [Finding(path, "it is not what was written", FILE, "write it again", node=node)]
    return []


# ---------------------------------------------------------------- what other replicas have


REPLACED = frozenset({Repair.SALVAGE, Repair.RECREATE, Repair.SET_ASIDE, Repair.MOVE_AWAY})
"""Repairs of which none is due at a replica that can be fetched again."""


def _with_replicas(finding: Finding, found: Inspection) -> Finding:
    """A fault of a replica loses nothing where another one that was in sync is sound: it is fetched again."""
    if finding.node is None or (finding.repair not in REPLACED and not finding.hides_loss):
        return finding
    if finding.partition is not None:
        sound = sound_replicas(finding.partition, finding.node, found)
        if finding.hides_loss:
            unsure = {each.node for each in found.findings if each.hides_loss and each.partition == finding.partition}
            sound = [node for node in sound if node not in unsure]
        if not sound:
            return finding
        remedy = f"move the log away, and fetch it again from broker {sound[0]}"
        start = _start_of(finding.partition, sound[0], found)
        loses = f"at this replica, {forgotten(start)}" if start else NOTHING
        return replace(finding, remedy=remedy, loses=loses, repair=Repair.REFETCH)
    if finding.path != folder_of(finding.node):
        return finding
    theirs = [each for each, known in found.metadata.partitions.items() if finding.node in known.replicas]
    sources = {each: sound_replicas(each, finding.node, found) for each in theirs}
    losses = [f"all records of {each[0]}-{each[1]}" for each in theirs if not sources[each]]
    for each, sound in sources.items():
        start = _start_of(each, sound[0], found) if sound else 0
        if start:
            losses.append(f"at this replica of {each[0]}-{each[1]}, {forgotten(start)}")
    remedy = "begin empty logs, and fetch them from other brokers where possible"
    return replace(finding, remedy=remedy, loses="; ".join(losses) or NOTHING)


def _older_copies(found: Inspection) -> Iterator[Finding]:
    """Folders of brokers that older copies have replaced: all records since then are missing."""
    generation = 0 if found.saved is None else found.saved.generation
    older = [node for node, logs in found.logs.items() if 0 < logs.generation < generation]
    for node in older:
        logs, left = found.logs[node], list[str]()
        fault = f"it is an older copy: of generation {logs.generation}, and {generation} is the last one"
        for partition, known in found.metadata.partitions.items():
            if node not in known.in_sync:
                continue  # It fetches what it lacks in any case.
            sound = [each for each in sound_replicas(partition, node, found) if each not in older]
            if not sound:
                left.append(f"{partition[0]}-{partition[1]}")
                continue
            remedy = f"move the log away, and fetch it again from broker {sound[0]}"
            path = logs.folder_of(partition)
            yield Finding(path, fault, FILE, remedy, NOTHING, Repair.REFETCH, node, partition)
        if left and not logs.is_stale:  # Otherwise Kafka's checkpoints are newer, and are believed.
            where = ", ".join(left) if len(left) <= MOST_NAMED else f"{len(left)} partitions"
            loses = f"all that was written, committed or deleted since then in {where}"
            yield Finding(folder_of(node), fault, FILE, "continue with it", loses, Repair.CONTINUE, node)


def _start_of(partition: TopicPartition, node: int, found: Inspection) -> int:
    """Where the log of a replica starts, as far as that is recorded."""
    topic_id = encoded(found.metadata.topic_ids[partition[0]])
    return found.logs[node].recorded(partition, topic_id).start_offset or 0


def sound_replicas(partition: TopicPartition, but: int, found: Inspection) -> list[int]:
    """The other nodes in sync at which nothing of a partition is refused."""
    bad = {each.node for each in found.refused if each.partition in (None, partition)}
    known = found.metadata.partitions.get(partition)
    return [] if known is None else [node for node in known.in_sync if node != but and node not in bad]

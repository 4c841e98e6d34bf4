"""Repair of a data directory that a start refuses. Losses are reported first, and removed files are kept.

Theory of operation: the faults come from `inspection`, the same as at a start. Each is repaired in the way that it
names, and the directory is inspected again, for one repair may uncover another fault: a log can be looked at only when
``cluster.json`` can be read. Faults that a start rebuilds by itself are left to it.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4, uuid5

from zombieproof.broker.cluster.metadata import NOBODY, TOPIC_IDS
from zombieproof.broker.continued_ids import Continued, DataLogs, continued, hanging, read_data, read_producer_ids
from zombieproof.broker.inspection import (
    BROKER,
    Inspection,
    entries_of,
    folder_of,
    inspect,
    partitions_in,
    sound_replicas,
)
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.cluster_file import (
    COPY,
    FILE,
    SavedCluster,
    SavedPartition,
    SavedTopic,
    read_cluster,
    write_cluster,
)
from zombieproof.broker.store.disk import Disk, Kind
from zombieproof.broker.store.findings import UNREADABLE, Finding, Repair
from zombieproof.broker.store.known_logs import LOG_STATES, LogState, read_log_states, replace_file, write_log_states
from zombieproof.broker.store.log_directory import CLEANED_OFFSETS, IDENTITY, LOG_STARTS, LogDirectory
from zombieproof.broker.store.log_directory import identify as write_identity
from zombieproof.broker.store.log_files import DELETED
from zombieproof.broker.store.salvage import Salvage, plan
from zombieproof.broker.store.segment import LOG, SUFFIXES, base_of
from zombieproof.broker.store.swapping import SWAP
from zombieproof.formats.checkpoints import read_offsets, write_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.identity import decoded, encoded, read_properties
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition

MOST_ROUNDS = 8
"""Rounds of inspection and repair: a repair may uncover another fault."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A fault, and what its repair loses, offset by offset where that is known."""

    finding: Finding
    loses: str


@dataclass(slots=True)
class Repairs:
    """Repairs of one directory; removed files go into the folder `kept`, under their own paths."""

    disk: Disk
    kept: str
    set_aside: list[str] = field(default_factory=list)

    def plan(self) -> tuple[Inspection, list[Repaired]]:
        """Return the inspection and its refused faults, each with the losses of its repair; nothing is written."""
        found = inspect(self.disk, reads_all=True)
        return found, [Repaired(each, self._loses(each, found)) for each in found.refused]

    def apply(self) -> list[Repaired]:
        """Repair every fault because of which a start refuses the directory, and return them.

        Raises:
            OSError: the disk has failed.
        """
        done, tried = list[Repaired](), set[Finding]()
        for _ in range(MOST_ROUNDS):
            found, due = self.plan()
            if found.interrupted:
                self._finish_swaps(found)
                found, due = self.plan()
            if not due or due[0].finding.repair is Repair.NONE:
                break
            # Which ids continue how, the data logs say: those are repaired before the logs of states.
            due.sort(key=lambda one: (one.finding.repair is Repair.CONTINUE, _is_of_states(one.finding)))
            repaired = set[object]()
            for each in due:
                is_alone = each.finding.repair is Repair.MOVE_AWAY or each.finding.partition is None
                subject = each.finding.path if is_alone else each.finding.partition, each.finding.node
                if subject not in repaired and each.finding not in tried:
                    self._repair(each.finding, found)
                    repaired.add(subject)
                    tried.add(each.finding)
                if each.finding not in (known.finding for known in done):
                    done.append(each)
            if not repaired:
                break  # A repair has not helped against the faults that are left.
        return done

    def _repair(self, finding: Finding, found: Inspection) -> None:
        acts: dict[Repair, Callable[[Finding, Inspection], None]] = {
            Repair.CLUSTER_FILE: self._restore_cluster,
            Repair.IDENTIFY: self._identify,
            Repair.SET_ASIDE: self._remove,
            Repair.MOVE_AWAY: self._move_away,
            Repair.REFETCH: self._refetch,
            Repair.RECREATE: self._recreate,
            Repair.SALVAGE: self._salvage,
            Repair.CONTINUE: self._continue,
        }
        acts[finding.repair](finding, found)

    def _keep(self, path: str) -> None:
        """Move a file or folder out of the way, into the folder `kept`."""
        self.disk.rename(path, self._place_of(path))
        self.disk.sync_directory(f"{self.kept}/{path}".rpartition("/")[0])
        self.disk.sync_directory(path.rpartition("/")[0])

    def _keep_copy(self, path: str) -> None:
        """Copy a file that another is about to replace, into the folder `kept`: a crash never finds it missing."""
        try:
            data = self.disk.read(path)
        except OSError:
            self._keep(path)  # What can be read of it is left to others.
            return
        place = self._place_of(path)
        self.disk.write(place, 0, data)
        self.disk.sync(place)
        self.disk.sync_directory(place.rpartition("/")[0])

    def _place_of(self, path: str) -> str:
        """A path in the folder `kept` that is free; the folders above it are on the disk."""
        number, place = 0, f"{self.kept}/{path}"
        while self.disk.exists(place):  # A round before has kept one of this name.
            number += 1
            place = f"{self.kept}/{path}.{number}"
        folder = place.rpartition("/")[0]
        self.disk.make_directory(folder)
        while folder:
            folder = folder.rpartition("/")[0]
            self.disk.sync_directory(folder)
        self.set_aside.append(path)
        return place

    # ---------------------------------------------------------------- logs

    def _finish_swaps(self, found: Inspection) -> None:
        """Finish interrupted passes of the cleaner; where a new segment cannot be read, the old ones are put back."""
        for node, partition in found.interrupted:
            logs = found.logs[node]
            try:
                topic_id, config = found.metadata.topic_ids[partition[0]], found.metadata.config_of(partition[0])
                logs.finish_swaps(partition, topic_id, config)
            except Damaged:
                self._put_back(logs.folder_of(partition))

    def _put_back(self, folder: str) -> None:
        """Move new segments away, and give the old ones their names again that were renamed for them."""
        swaps = [name for name in self.disk.listed(folder) if name.endswith(SWAP)]
        for name in self.disk.listed(folder):
            old = name.removesuffix(DELETED)
            is_old = old != name and old not in self.disk.listed(folder) and old[:20] >= min(swaps)[:20]
            if is_old and old.endswith(SUFFIXES):
                self.disk.rename(f"{folder}/{name}", f"{folder}/{old}")
        self.disk.sync_directory(folder)
        for name in swaps:
            self._keep(f"{folder}/{name}")

    def _salvaged(self, finding: Finding, found: Inspection) -> Salvage:
        logs, partition = _logs_of(finding, found), _partition_of(finding)
        topic_id = found.metadata.topic_ids[partition[0]]
        recorded, config = logs.recorded(partition, encoded(topic_id)), found.metadata.config_of(partition[0])
        directory = logs.folder_of(partition)
        return plan(self.disk, directory, recorded, encoded(topic_id), is_compacted=config.is_compacted)

    def _loses(self, finding: Finding, found: Inspection) -> str:
        """Describe the losses of the repair of a fault."""
        if finding.loses != UNREADABLE:
            loses_states = _is_of_states(finding) and finding.repair in (Repair.RECREATE, Repair.SET_ASIDE)
            return finding.loses + (hanging(*self._read_logs(found)) if loses_states else "")
        lost = self._salvaged(finding, found).lost
        if not lost:
            return "nothing that can be read"
        ranges = ", ".join(f"{first} to {end - 1}" if end - first > 1 else f"{first}" for first, end in lost)
        count = sum(end - first for first, end in lost)
        text = f"{count} offsets: {ranges}"
        if _is_of_states(finding):
            return f"{text} ({self._continued(finding, found).text})"
        if _partition_of(finding)[0] == CONSUMER_OFFSETS:
            return f"{text} (offsets of groups, which are as they were before these)"
        return f"{text} (records, or ends of transactions)"

    def _continued(self, finding: Finding, found: Inspection) -> Continued:
        """How the ids of a damaged log of states continue."""
        salvage = self._salvaged(finding, found)
        data, named = self._read_logs(found)
        result = continued(salvage.batches(TRANSACTION_STATE), salvage.lost, data, salvage.end_offset)
        return result._replace(text=result.text + hanging(data, named))

    def _read_logs(self, found: Inspection) -> tuple[DataLogs, set[int]]:
        """The content of all logs but those of states, and the producer ids that these name."""
        folders = dict[TopicPartition, list[str]]()
        for each, known in found.metadata.partitions.items():
            folders[each] = [found.logs[node].folder_of(each) for node in known.replicas if node in found.logs]
        data = read_data(self.disk, {each: paths for each, paths in folders.items() if each[0] != TRANSACTION_STATE})
        states = (path for each, paths in folders.items() if each[0] == TRANSACTION_STATE for path in paths)
        return data, read_producer_ids(self.disk, states)

    def _salvage(self, finding: Finding, found: Inspection) -> None:
        logs, partition = _logs_of(finding, found), _partition_of(finding)
        salvage = self._salvaged(finding, found)
        if partition[0] != TRANSACTION_STATE:
            logs.record(partition, salvage.apply(self._keep_copy))
            return
        states = self._continued(finding, found).batch
        logs.record(partition, salvage.apply(self._keep_copy, states))

    def _recreate(self, finding: Finding, found: Inspection) -> None:
        if finding.partition is None:
            self._recreate_broker(finding, found)
            return
        logs, partition = _logs_of(finding, found), finding.partition
        if self.disk.exists(logs.folder_of(partition)):
            self._keep(logs.folder_of(partition))
        end = logs.recorded(partition, encoded(found.metadata.topic_ids[partition[0]])).synced_offset
        logs.record(partition, LogState("", end, end))

    def _recreate_broker(self, finding: Finding, found: Inspection) -> None:
        if finding.node is None or found.saved is None:
            raise ValueError(f"{finding.path} is not the folder of a broker")
        theirs = [each for each, known in found.metadata.partitions.items() if finding.node in known.replicas]
        for partition in theirs:
            if sound := sound_replicas(partition, finding.node, found):
                self._leave_to(found, partition, sound)
        if self.disk.exists(finding.path):
            self._keep(finding.path)
        write_identity(self.disk, finding.path, entries_of(found.saved.cluster_id, finding.node))
        self.disk.sync_directory(finding.path)

    def _refetch(self, finding: Finding, found: Inspection) -> None:
        logs, partition = _logs_of(finding, found), _partition_of(finding)
        self._leave_to(found, partition, sound_replicas(partition, finding.node or 0, found))
        if self.disk.exists(logs.folder_of(partition)):
            self._keep(logs.folder_of(partition))
        logs.record(partition, LogState("", 0, 0))

    def _leave_to(self, found: Inspection, partition: TopicPartition, sound: list[int]) -> None:
        """The replicas that have the log lead it, and count as in sync; the others fetch it."""
        saved = found.saved
        if saved is None:
            raise ValueError("there is no cluster to change")
        topic = saved.topics[partition[0]]
        known = topic.partitions[partition[1]]
        leader = known.leader if known.leader in sound else sound[0]
        changed = known.model_copy(update={"in_sync": tuple(sound), "leader": leader})
        partitions = tuple(changed if each is known else each for each in topic.partitions)
        topics = {**saved.topics, partition[0]: topic.model_copy(update={"partitions": partitions})}
        found.saved = saved.model_copy(update={"topics": topics, "version": saved.version + 1})
        write_cluster(self.disk, found.saved)

    def _continue(self, finding: Finding, found: Inspection) -> None:
        """Let the older copy of a broker's folder count as current."""
        logs, path = _logs_of(finding, found), f"{finding.path}/{LOG_STATES}"
        self._keep_copy(path)
        data = read_log_states(self.disk.read(path)).logs
        replace_file(self.disk, path, write_log_states(data, 0 if found.saved is None else found.saved.generation))
        self.disk.sync_directory(logs.path)

    # ---------------------------------------------------------------- files and folders

    def _remove(self, finding: Finding, found: Inspection) -> None:
        """Move a folder away that is not of this cluster, or a checkpoint that cannot be read."""
        if finding.partition is not None:
            self._recreate(finding, found)
        elif finding.path.endswith(LOG_STARTS):
            if self.disk.exists(finding.path):
                self._keep_copy(finding.path)
            logs = _logs_of(finding, found)
            starts = dict[TopicPartition, int]()
            for name, _ in partitions_in(self.disk, logs.path):
                listed = self.disk.listed(f"{logs.path}/{name}")
                bases = [base for each in listed if (base := base_of(each)) is not None]
                topic, _, number = name.rpartition("-")
                if bases:
                    starts[topic, int(number)] = min(bases)
            replace_file(self.disk, finding.path, write_offsets({each: at for each, at in starts.items() if at}))
            self.disk.sync_directory(logs.path)
        else:
            self._keep(finding.path)

    def _move_away(self, finding: Finding, found: Inspection) -> None:
        """Move a file or folder away; of a segment, all its files."""
        del found  # of no use here
        stem = finding.path.removesuffix(LOG)
        paths = {finding.path, *(stem + suffix for suffix in SUFFIXES if stem != finding.path)}
        for path in sorted(each for each in paths if self.disk.exists(each)):
            self._keep(path)

    def _identify(self, finding: Finding, found: Inspection) -> None:
        if finding.node is None or found.saved is None:
            raise ValueError(f"{finding.path} is not the identity of a broker")
        self._keep_copy(finding.path)
        write_identity(self.disk, folder_of(finding.node), entries_of(found.saved.cluster_id, finding.node))
        self.disk.sync_directory(folder_of(finding.node))

    # ---------------------------------------------------------------- cluster.json

    def _restore_cluster(self, finding: Finding, found: Inspection) -> None:
        if self.disk.kinds("").get(FILE, Kind.FILE) is not Kind.FILE:
            self._keep(FILE)
        elif self.disk.exists(FILE):
            self._keep_copy(FILE)
        saved = read_cluster(self.disk, COPY).saved
        write_cluster(self.disk, saved if saved is not None else rebuilt_cluster(self.disk))


def rebuilt_cluster(disk: Disk) -> SavedCluster:
    """The cluster of which there are these folders: their topics, with Kafka's settings.

    The cleaner's checkpoint names topics that are compacted: without the setting, retention would delete their records.
    Producer ids and epochs continue above those in the logs anyway.
    """
    ids, nodes, cleaned = list[str](), dict[int, dict[TopicPartition, str]](), set[str]()
    for name in disk.listed(""):
        broker = BROKER.fullmatch(name)
        if broker is None:
            continue
        if disk.exists(f"{name}/{IDENTITY}"):
            ids.append(read_properties(disk.read(f"{name}/{IDENTITY}")).get("cluster.id", ""))
        with suppress(Undecodable, OSError):
            cleaned |= {topic for topic, _ in read_offsets(disk.read(f"{name}/{CLEANED_OFFSETS}"))}
        nodes[int(broker["node"])] = {
            (each.rpartition("-")[0], int(each.rpartition("-")[2])): topic_id
            for each, topic_id in partitions_in(disk, name)
        }
    known = {partition: topic_id for each in nodes.values() for partition, topic_id in each.items()}
    topics = dict[str, SavedTopic]()
    for topic in sorted({topic for topic, _ in known}):
        found = sorted(number for of, number in known if of == topic)
        named = [known[topic, number] for number in found if known[topic, number]]
        partitions = []
        for number in range(found[-1] + 1):
            replicas = tuple(node for node, theirs in nodes.items() if (topic, number) in theirs) or (min(nodes),)
            partitions.append(SavedPartition(replicas=replicas, in_sync=replicas, leader=NOBODY, leader_epoch=0))
        topic_id = decoded(named[0]) if named else uuid5(TOPIC_IDS, topic)
        config = {"cleanup.policy": "compact"} if topic in cleaned else {}
        topics[topic] = SavedTopic(id=topic_id, partitions=tuple(partitions), config=config)
    cluster_id = max(ids, key=ids.count) if any(ids) else encoded(uuid4())
    return SavedCluster(cluster_id=cluster_id, nodes=max(nodes), next_producer_id=0, topics=topics)


def _logs_of(finding: Finding, found: Inspection) -> LogDirectory:
    if finding.node is None:
        raise ValueError(f"{finding.path} is in the folder of no broker")
    return found.logs[finding.node]


def _is_of_states(finding: Finding) -> bool:
    return finding.partition is not None and finding.partition[0] == TRANSACTION_STATE


def _partition_of(finding: Finding) -> TopicPartition:
    if finding.partition is None:
        raise ValueError(f"{finding.path} is of no partition")
    return finding.partition

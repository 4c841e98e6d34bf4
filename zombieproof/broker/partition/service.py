"""The partitions of one broker: who of them leads, and the requests that are answered from them at once.

Source: reference §3.5, §3.6, §6; ``ReplicaManager.scala``, ``KafkaApis.handleWriteTxnMarkersRequest``.
"""

from dataclasses import dataclass, field
from itertools import chain

from zombieproof.broker.authorization.may import May, everything, may_create
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.metadata import Metadata
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.cluster.topics import Topics
from zombieproof.broker.group.coordinator import GroupCoordinator
from zombieproof.broker.partition.fetch_budget import FetchBudget, Load
from zombieproof.broker.partition.log import Damaged, Log, StorageFailure
from zombieproof.broker.partition.replica import ROOM_FOR_ALL, Replica, Room
from zombieproof.broker.partition.written import Written
from zombieproof.formats.batches import Marker
from zombieproof.formats.topics import CONSUMER_OFFSETS, INTERNAL_TOPICS, TopicPartition, is_legal_topic
from zombieproof.messages.partitions import (
    DeleteRecords,
    DescribeProducers,
    DescribeProducersAnswer,
    DescribeTopics,
    EpochEnd,
    Fetch,
    FetchAnswer,
    Fetched,
    ListedOffset,
    ListOffsets,
    ListOffsetsAnswer,
    MarkerToWrite,
    MarkerWritten,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
    PartitionAnswer,
    ProducersDescribed,
    TopicsDescribed,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.model.vocabulary import NONE, Error, Origin
from zombieproof.statemachines import topics
from zombieproof.statemachines.partition_leader import deleting, front_door, markers, offsets
from zombieproof.statemachines.partition_leader.deleting import Deletion
from zombieproof.statemachines.partition_leader.effects import PartitionEffects

BATCHES_OF_EACH = 4


@dataclass(slots=True)
class PartitionService:
    """The replicas of one broker. `groups` hears of every marker in the partitions that it answers for."""

    metadata: Metadata
    settings: Settings
    groups: GroupCoordinator
    journal: Journal
    topics: Topics
    replicas: dict[TopicPartition, Replica] = field(default_factory=dict)
    budget: FetchBudget = field(default_factory=FetchBudget)
    written: Written = field(default_factory=Written)

    def replica(self, partition: TopicPartition) -> Replica | None:
        """The replica of `partition` at this broker, with the number of replicas that are in sync now."""
        found = self.replicas.get(partition)
        if found is not None:
            found.in_sync = self.metadata.in_sync(partition)
        return found

    def take_written(self) -> list[TopicPartition]:
        """The partitions that are led here and whose log has moved since this was asked last."""
        known = ((partition, self.replicas.get(partition)) for partition in self.written.take())
        return [partition for partition, replica in known if replica is not None and replica.leads]

    def catch_up(self, partition: TopicPartition, leader_epoch: int, theirs: Log) -> None:
        """Follow the leader, whose log is `theirs`: have what it has, and begin where it begins."""
        replica = self.replicas[partition]
        replica.follow(leader_epoch)
        if replica.log.end_offset > theirs.end_offset:
            replica.truncate(theirs.end_offset)
        batches = theirs.read(replica.log.end_offset)
        if replica.log.end_offset < theirs.start_offset:
            # What the leader has begins behind all that is here: nothing of it is in its log any more.
            batches = theirs.read(theirs.start_offset)
            first = next(batches, None)
            replica.truncate_fully_and_start_at(theirs.start_offset if first is None else first.base_offset)
            batches = chain(() if first is None else (first,), batches)
        for batch in batches:
            if batch.base_offset >= replica.log.end_offset:
                replica.replicate(batch)
        if replica.log.start_offset < theirs.start_offset:
            replica.raise_log_start(theirs.start_offset)

    # ---------------------------------------------------------------- markers

    def write_markers(self, request: WriteTxnMarkers) -> WriteTxnMarkersAnswer:
        """Answer WriteTxnMarkers: each marker at each of its partitions, in their order.

        One that cannot be written fails the whole request, although those before it are in the logs
        (``WriteTxnMarkersRequest.getErrorResponse``).
        """
        rows = list[MarkerWritten]()
        for marker in request.markers:
            errors = {tp: self._write_marker(tp, marker) for tp in marker.partitions}
            if Error.UNKNOWN_SERVER_ERROR in errors.values():
                return WriteTxnMarkersAnswer(
                    tuple(
                        MarkerWritten(each.producer_id, dict.fromkeys(each.partitions, int(Error.UNKNOWN_SERVER_ERROR)))
                        for each in request.markers
                    )
                )
            rows.append(MarkerWritten(marker.producer_id, errors))
        return WriteTxnMarkersAnswer(tuple(rows))

    def _write_marker(self, partition: TopicPartition, asked: MarkerToWrite) -> int:
        replica, of_groups, effects = self.replica(partition), partition[0] == CONSUMER_OFFSETS, PartitionEffects()
        place = markers.MarkerPlace(
            self.metadata.exists(partition),
            replica is not None and replica.leads,
            replica.in_sync if replica is not None else 0,
            self.settings.min_insync_replicas,
            self.groups.error_of_marker(partition[1]) if of_groups else int(Error.NONE),
            asked.producer_id,
            asked.producer_epoch,
        )
        markers.front_door(place, effects)
        if effects.answers or replica is None:
            return effects.error
        marker = Marker(asked.committed, asked.coordinator_epoch, asked.transaction_version)
        done = replica.append_marker(asked.producer_id, asked.producer_epoch, marker, Origin.COORDINATOR)
        if done.batch is not None and of_groups:
            self.groups.apply_marker(partition[1], asked.producer_id, asked.committed)
        return done.error

    # ---------------------------------------------------------------- what is answered at once

    def handle(
        self,
        request: WriteTxnMarkers | Fetch | ListOffsets | OffsetForLeaderEpoch | DescribeProducers | DescribeTopics,
        may: May = everything,
    ) -> PartitionAnswer:
        """Answer a request that has nothing to wait for; `may`: what whoever asks may do."""
        match request:
            case WriteTxnMarkers():
                return self.write_markers(request)
            case Fetch():
                return self.fetch(request)
            case ListOffsets():
                return self.list_offsets(request)
            case OffsetForLeaderEpoch():
                return self.ends_of_epochs(request)
            case DescribeProducers():
                return self.describe_producers(request)
            case DescribeTopics():
                return self.describe_topics(request, may)

    def fetch(self, request: Fetch) -> FetchAnswer:
        """Answer Fetch; a follower answers too (KIP-392)."""
        rows, has_some = dict[TopicPartition, Fetched](), False
        budget = self.budget.left
        left = min(request.max_bytes, self.settings.fetch_max_bytes, budget.size)
        # A fetch of many partitions costs something for each of them, however few batches it gets.
        batches = batches_left = max(budget.batches, BATCHES_OF_EACH * len(request.partitions))
        for partition, offset in request.partitions.items():
            rows[partition] = self._fetch(partition, offset, request, Room(left, not has_some, batches_left))
            batches_left -= len(rows[partition].batches)
            size = rows[partition].read_bytes
            left, has_some = max(left - size, 0), has_some or size > 0
        self.budget.collect(Load(sum(row.read_bytes for row in rows.values()), batches - batches_left))
        return FetchAnswer(rows)

    def read_more(self, request: Fetch, partition: TopicPartition, offset: int) -> tuple[offsets.PartitionRead, int]:
        """What one partition adds to a fetch that has waited, from `offset` on, and where it would add more."""
        row = self._fetch(partition, offset, request, ROOM_FOR_ALL)
        read = self._judged(request, partition, row, has_waited=True)
        return read, row.batches[-1].last_offset + 1 if row.batches else offset

    def judge(self, request: Fetch, answer: FetchAnswer) -> list[offsets.PartitionRead]:
        """What each partition contributes to a fetch that has just arrived."""
        return [self._judged(request, tp, row, has_waited=False) for tp, row in answer.partitions.items()]

    def counted(self, request: Fetch, partition: TopicPartition, size: int) -> int:
        """How many of `size` bytes of one partition count for a fetch that has waited."""
        return offsets.counts(size, self._most(request, partition))

    def _judged(self, request: Fetch, tp: TopicPartition, row: Fetched, *, has_waited: bool) -> offsets.PartitionRead:
        diverges, most = row.diverging_epoch != NONE, self._most(request, tp)
        return offsets.partition_read(row.error, diverges, row.read_bytes, most, has_waited)

    @staticmethod
    def _most(request: Fetch, partition: TopicPartition) -> int:
        return (request.of_each_max_bytes or {}).get(partition, request.partition_max_bytes)

    def _fetch(self, partition: TopicPartition, offset: int, request: Fetch, room: Room) -> Fetched:
        replica, said = self.replica(partition), offsets.meant((request.leader_epochs or {}).get(partition, NONE))
        unknown = partition[0] in request.unknown_topic_ids
        door = self._door(partition, replica, by_unknown_id=unknown, said_epoch=said)
        if door.is_unknown:
            # Refused before any log is asked: Kafka's list of aborted transactions is empty then, not null.
            return Fetched(door.error, aborted=())
        if door.error != Error.NONE or replica is None:
            return Fetched(door.error)
        most = self._most(request, partition)
        last_epoch = offsets.meant((request.last_epochs or {}).get(partition, NONE))
        left = room._replace(most_bytes=min(room.most_bytes, most))
        try:
            return replica.fetch(offset, request.isolation, left, last_epoch)
        except Damaged:
            return Fetched(int(Error.KAFKA_STORAGE_ERROR))

    def delete_records(self, request: DeleteRecords) -> dict[TopicPartition, Deletion]:
        """Records go here, up to the offsets that are returned, where there is no error."""
        return {partition: self._delete(partition, offset) for partition, offset in request.partitions.items()}

    def _delete(self, partition: TopicPartition, offset: int) -> Deletion:
        replica = self.replica(partition)
        place = deleting.DeletionPlace(
            self.metadata.exists(partition),
            partition[0] in INTERNAL_TOPICS,
            replica is not None and replica.leads,
            replica is not None and (replica.log.failure is not None or replica.log.offline is not None),
            replica is not None and replica.config.is_deleted,
            NONE if replica is None else replica.high_watermark,
        )
        deletion = deleting.deletes(place, offset)
        if replica is not None and deletion.error == Error.NONE:
            try:
                replica.delete_records(deletion.offset)
            except StorageFailure:
                return deletion._replace(error=int(Error.KAFKA_STORAGE_ERROR))
        return deletion

    def list_offsets(self, request: ListOffsets) -> ListOffsetsAnswer:
        """Answer ListOffsets."""
        return ListOffsetsAnswer({tp: self._offset(tp, at_ms, request) for tp, at_ms in request.partitions.items()})

    def _offset(self, partition: TopicPartition, timestamp_ms: int, request: ListOffsets) -> ListedOffset:
        error = offsets.listing_enters(partition in request.repeated, timestamp_ms, request.version)
        if error != Error.NONE:
            return ListedOffset(error)
        replica, said = self.replica(partition), (request.leader_epochs or {}).get(partition, NONE)
        error = self._door(partition, replica, needs_leader=True, said_epoch=said).error
        if error != Error.NONE or replica is None:
            return ListedOffset(error)
        try:
            return replica.listed_offset(timestamp_ms, request.isolation)
        except Damaged:
            return ListedOffset(int(Error.KAFKA_STORAGE_ERROR))

    def ends_of_epochs(self, request: OffsetForLeaderEpoch) -> OffsetForLeaderEpochAnswer:
        """Answer OffsetForLeaderEpoch."""
        rows = {tp: self._end_of_epoch(tp, epoch, request) for tp, epoch in request.partitions.items()}
        return OffsetForLeaderEpochAnswer(rows)

    def _end_of_epoch(self, partition: TopicPartition, epoch: int, request: OffsetForLeaderEpoch) -> EpochEnd:
        replica, said = self.replica(partition), (request.leader_epochs or {}).get(partition, NONE)
        error = self._door(partition, replica, needs_leader=True, said_epoch=said).error
        if error != Error.NONE or replica is None:
            return EpochEnd(error)
        return EpochEnd(error, *replica.end_of_epoch(epoch))

    def describe_producers(self, request: DescribeProducers) -> DescribeProducersAnswer:
        """Answer DescribeProducers; a follower answers too."""
        return DescribeProducersAnswer({tp: self._described(tp) for tp in dict.fromkeys(request.partitions)})

    def describe_topics(self, request: DescribeTopics, may: May) -> TopicsDescribed:
        """Answer Metadata; any broker can. Who asks for a topic that is made because of that has to ask again."""
        names = self.metadata.topic_ids if request.topics is None else request.topics
        may_be_made = request.creates and self.settings.auto_create_topics_enable
        asked = {
            name: topics.asked_for(
                self.metadata.count(name) > 0,
                request.by_id,
                is_legal_topic(name),
                may_be_made,
                may_be_made and may_create(may, name),
            )
            for name in names
        }
        for name, each in asked.items():
            if each.is_made:
                self.topics.create_by_default(name)
        return TopicsDescribed({name: each.error for name, each in asked.items()})

    def _described(self, partition: TopicPartition) -> ProducersDescribed:
        replica = self.replica(partition)
        error = self._door(partition, replica, is_legal=is_legal_topic(partition[0])).error
        return ProducersDescribed(error) if error != Error.NONE or replica is None else replica.describe_producers()

    def _door(
        self,
        partition: TopicPartition,
        replica: Replica | None,
        *,
        by_unknown_id: bool = False,
        needs_leader: bool = False,
        said_epoch: int = NONE,
        is_legal: bool = True,
    ) -> front_door.ReadDoor:
        place = front_door.ReadPlace(
            self.metadata.exists(partition),
            by_unknown_id,
            replica is not None,
            replica is not None and replica.leads,
            needs_leader,
            said_epoch,
            NONE if replica is None else replica.leader_epoch,
            is_legal,
            replica is not None and replica.log.offline is not None,
        )
        door = front_door.reads(place, self.journal.begin())
        self.journal.take(f"{partition[0]}-{partition[1]}")
        return door

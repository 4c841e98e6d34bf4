"""A Produce request from its arrival to its answer: its partitions are led through the steps of their leaders.

Theory of operation: `start` brings each partition through the front door and says whom the coordinator has to be asked
about; `handle_verification` takes its word, as the channel has translated it; `finish` appends what nobody has refused,
and has the answer. Between the three the host may do anything else: what it keeps is this record. What is in the logs
then need not be durable yet: whoever waits for that holds the answer back.
Source: reference §3.2 to §3.4, §14; ``KafkaApis.handleProduceRequest``, ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.record_checks import of_records, refused_records
from zombieproof.broker.partition.replica import Replica
from zombieproof.broker.store.config import LogConfig
from zombieproof.formats.batches import Batch
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import size_of
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.partitions import ConnectionClosed, Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.model.vocabulary import NONE, Error, Mode, Origin
from zombieproof.statemachines.partition_leader import front_door, validation, verification
from zombieproof.statemachines.partition_leader.effects import PartitionEffects, clear

LIMITS = LogConfig().limits
"""Of a partition that is not here, whose batch is refused for that."""

FindReplica = Callable[[TopicPartition], Replica | None]
"""The replica of a partition at this broker; None if it has none."""

Exists = Callable[[TopicPartition], bool]
"""Whether the cluster has such a partition."""


class PartitionsToVerify(NamedTuple):
    """One question to the coordinator: are these partitions in the transaction (mode ADD: let them be)?

    Without a transactional id nobody can be asked.
    """

    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    mode: Mode


@dataclass(slots=True)
class ProduceInProgress:
    """One request. `waiting` are the partitions that nobody has refused yet, with their guards (0: none)."""

    request: Produce
    settings: Settings
    journal: Journal
    produced: dict[TopicPartition, Produced] = field(default_factory=dict)
    waiting: dict[TopicPartition, int] = field(default_factory=dict)
    asked: tuple[TopicPartition, ...] = ()
    _effects: PartitionEffects = field(default_factory=PartitionEffects)

    @property
    def mode(self) -> Mode:
        """How the request's partitions join its transaction."""
        return Mode(verification.mode_of(self.request.version, of_group=False))

    def start(self, replica_of: FindReplica, exists: Exists | None = None) -> list[PartitionsToVerify]:
        """Judge the request before anybody is asked; what is returned (one question at most) is for the coordinator.

        Args:
            replica_of: the replica of a partition at this broker.
            exists: whether there is such a partition anywhere; unless given: if it has a replica here.
        """
        self._enter(exists or (lambda of: replica_of(of) is not None))
        identities = self._identities()
        if len(identities) > 1:
            for partition in self.request.partitions:
                effects = self._begin()
                front_door.identities_enter(len(identities), effects, self.journal.begin())
                self._passes(partition)
        return self._questions(tuple(self.waiting), replica_of)

    def _questions(self, partitions: Iterable[TopicPartition], replica_of: FindReplica) -> list[PartitionsToVerify]:
        self.asked = tuple([partition for partition in partitions if self._must_ask(partition, replica_of)])
        if not self.asked or self.request.transactional_id is None:
            return []
        ((producer_id, producer_epoch),) = self._identities()
        return [PartitionsToVerify(self.request.transactional_id, producer_id, producer_epoch, self.asked, self.mode)]

    def asks_again(self, errors: Mapping[TopicPartition, int], waited_ms: int) -> bool:
        """Whether the coordinator is asked once more, instead of `handle_verification`; `waited_ms` since `start`."""
        longest_ms = min(self.settings.add_partitions_to_txn_retry_backoff_max_ms, self.settings.request_timeout_ms)
        return any(verification.asks_again(errors[each], self.mode, waited_ms, longest_ms) for each in self.asked)

    def ask_again(self, replica_of: FindReplica) -> list[PartitionsToVerify]:
        """The question once more, about what may still be asked about: a leader may have changed meanwhile."""
        return self._questions(self.asked, replica_of)

    def handle_verification(self, errors: Mapping[TopicPartition, int]) -> None:
        """The channel's word on each partition that was asked about, as it has translated it."""
        for partition in self.asked:
            self._conclude(partition, errors[partition])

    def finish(self, replica_of: FindReplica) -> ProduceAnswer | ConnectionClosed | None:
        """Append what is left, and answer. With acks=0 nobody is answered; an error then ends the connection."""
        for partition, guard in tuple(self.waiting.items()):
            self._append(partition, guard, replica_of(partition))
        self.waiting.clear()
        if self.request.acks != 0:
            return ProduceAnswer({partition: self.produced[partition] for partition in self.request.partitions})
        refused = any(produced.error != Error.NONE for produced in self.produced.values())
        return ConnectionClosed() if refused else None

    # ---------------------------------------------------------------- before the coordinator is asked

    def _enter(self, exists: Exists) -> None:
        request = self.request
        every = [sent.batch for batches in request.partitions.values() for sent in batches]
        transactional = any(batch.transactional for batch in every)
        for partition, batches in request.partitions.items():
            entrance = front_door.Entrance(
                transactional,
                request.transactional_id is not None,
                len(batches),
                exists(partition),
                partition[0] not in request.unknown_topic_ids,
                request.version,
                any(sent.batch.codec is Codec.ZSTD for sent in batches[:1]),
            )
            front_door.enters(entrance, self._begin(), self.journal.begin())
            if self._passes(partition):
                self.waiting[partition] = verification.NO_GUARD

    def _identities(self) -> set[tuple[int, int]]:
        batches = [self._sent(partition).batch for partition in self.waiting]
        return {(each.producer_id, each.producer_epoch) for each in batches if front_door.can_open_transaction(each)}

    def _must_ask(self, partition: TopicPartition, replica_of: FindReplica) -> bool:
        """Whether the coordinator decides on `partition`; its guard is noted, or its refusal."""
        batch = self._sent(partition).batch
        if not front_door.can_open_transaction(batch):
            return False
        replica = replica_of(partition)
        front_door.may_ask(replica is not None and replica.leads, self._begin(), self.journal.begin())
        if not self._passes(partition) or replica is None:
            return False
        verified = replica.begin_verification(batch, self.mode)
        if verified.error != Error.NONE:
            self._end(partition, Produced(verified.error, message=_message(verified.cause, verified.error)))
            return False
        self.waiting[partition] = verified.guard
        return verified.asks

    # ---------------------------------------------------------------- behind the coordinator's word

    def _conclude(self, partition: TopicPartition, error: int) -> None:
        effects = self._begin()
        arrival = verification.Arrival(self.mode, of_group=False, token=verification.NO_GUARD)
        verification.concludes(error, self.waiting[partition], arrival, effects)
        if effects.answers:
            self._end(partition, Produced(effects.error, message=_message(effects.cause, effects.error)))

    def _append(self, partition: TopicPartition, guard: int, replica: Replica | None) -> None:
        sent, refused = self._sent(partition), {}
        limits = LIMITS if replica is None else replica.config.limits
        is_consistent = _is_consistent(sent.batch)
        size = size_of(sent.batch) if is_consistent or sent.batch.encoded is not None else 0
        if replica is not None and is_consistent and not sent.is_corrupt:
            refused = refused_records(sent.batch, replica.now_ms, limits)
        fit = validation.fit(size, reduce(validation.worse_of, refused.values(), 0), limits)
        landing = front_door.Landing(
            self.request.acks,
            partition[0] in INTERNAL_TOPICS,
            replica is not None and replica.leads,
            sent.batch.marker is not None,
            is_consistent,
            replica.in_sync if replica is not None else 0,
            self.settings.min_insync_replicas,
            sent.base_offset,
            sent.is_corrupt,
            fit,
        )
        front_door.lands(sent.batch, landing, self._begin(), self.journal.begin())
        if not self._passes(partition, replica) or replica is None:
            if validation.is_of_records(fit, self.produced[partition].error):
                self._end(partition, of_records(self.produced[partition], refused, partition))
            return
        appended = replica.append(sent.batch, guard, Origin.CLIENT)
        at_ms = appended.log_append_time_ms
        told = Produced(appended.error, appended.base_offset, appended.log_start_offset, log_append_time_ms=at_ms)
        self._end(partition, told)

    # ---------------------------------------------------------------- small helpers

    def _sent(self, partition: TopicPartition) -> SentBatch:
        return self.request.partitions[partition][0]

    def _begin(self) -> PartitionEffects:
        clear(self._effects)
        return self._effects

    def _passes(self, partition: TopicPartition, replica: Replica | None = None) -> bool:
        """Whether the step that was just taken lets the partition go on; what it noted is in the journal."""
        self.journal.take(f"{partition[0]}-{partition[1]}")
        effects = self._effects
        if effects.answers:
            start = replica.log.start_offset if effects.tells_log_start and replica is not None else NONE
            self._end(partition, Produced(effects.error, log_start_offset=start))
        return not effects.answers

    def _end(self, partition: TopicPartition, produced: Produced) -> None:
        self.produced[partition] = produced
        self.waiting.pop(partition, None)


def _message(error: int, answered: int) -> str:
    """What the broker says about a partition that could not be verified (``ReplicaManager``)."""
    if error != answered:
        return (
            f"Unable to verify the partition has been added to the transaction. Underlying error: {Error(error).name}"
        )
    return "Partition was not added to the transaction" if error == Error.INVALID_TXN_STATE else ""


def _is_consistent(batch: Batch) -> bool:
    count = 1 if batch.marker is not None else len(batch.records)
    return count > 0 and batch.last_offset_delta == count - 1

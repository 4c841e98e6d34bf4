"""A Produce request from its arrival to its answer: every check in the broker's order, partition by partition.

Theory of operation: `start` judges what can be judged at once and says whom the coordinator has to be asked about;
`verified` takes the coordinator's word; `finish` appends what nobody has refused, and answers. Between the three the
host may do anything else: what it keeps is this record.
Source: reference §3.2 to §3.4, §14; ``KafkaApis.handleProduceRequest``, ``ReplicaManager.handleProduceAppend``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import INTERNAL_TOPICS, TopicPartition
from zombieproof.messages.partitions import ConnectionClosed, Produce, ProduceAnswer, Produced, SentBatch
from zombieproof.model.decisions.produce import (
    decide_produce_batch,
    decide_produce_front_door,
    decide_produce_place,
    tells_log_start,
)
from zombieproof.model.decisions.verification import (
    answer_of_broker_channel,
    answer_of_coordinator,
    answer_to_produce,
    mode_of_produce,
)
from zombieproof.model.records import AppendVerdict
from zombieproof.model.vocabulary import NONE, Error, Mode, Origin

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

    @property
    def mode(self) -> Mode:
        """How the request's partitions join its transaction."""
        return Mode(mode_of_produce(self.request.version))

    def start(self, replica_of: FindReplica, exists: Exists | None = None) -> list[PartitionsToVerify]:
        """Judge the request before anybody is asked; what is returned (one question at most) is for the coordinator.

        Args:
            replica_of: the replica of a partition at this broker.
            exists: whether there is such a partition anywhere; unless given: if it has a replica here.
        """
        for partition in self._pass_front_door(exists or (lambda of: replica_of(of) is not None)):
            self.waiting[partition] = 0
        identities = self._identities()
        if len(identities) > 1:
            verdict = decide_produce_front_door(1, 1, len(identities), 1)
            for partition in self.request.partitions:
                self._refuse(partition, verdict)
        asked = [partition for partition in tuple(self.waiting) if self._must_ask(partition, replica_of)]
        if not asked or self.request.transactional_id is None:
            return []
        self.asked = tuple(asked)
        ((producer_id, producer_epoch),) = identities
        return [PartitionsToVerify(self.request.transactional_id, producer_id, producer_epoch, self.asked, self.mode)]

    def verified(self, errors: Mapping[TopicPartition, int]) -> None:
        """The coordinator's word on each partition it was asked about, as it gave it."""
        for partition in self.asked:
            self._conclude(partition, answer_of_coordinator(errors[partition], self.mode))

    def told(self, errors: Mapping[TopicPartition, int]) -> None:
        """The channel's word on each partition that was asked about, as it has translated it."""
        for partition in self.asked:
            self._conclude(partition, errors[partition])

    def verification_failed(self, error: int) -> None:
        """The question as a whole was answered with `error` (NETWORK_EXCEPTION: it was not answered)."""
        for partition in self.asked:
            self._conclude(partition, answer_of_broker_channel(error))

    def finish(self, replica_of: FindReplica) -> ProduceAnswer | ConnectionClosed | None:
        """Append what is left, and answer. With acks=0 nobody is answered; an error then ends the connection."""
        for partition, guard in self.waiting.items():
            self.produced[partition] = self._append(partition, guard, replica_of(partition))
        self.waiting.clear()
        if self.request.acks != 0:
            return ProduceAnswer({partition: self.produced[partition] for partition in self.request.partitions})
        refused = any(produced.error != Error.NONE for produced in self.produced.values())
        return ConnectionClosed() if refused else None

    # ---------------------------------------------------------------- before the coordinator is asked

    def _pass_front_door(self, exists: Exists) -> list[TopicPartition]:
        request = self.request
        every = [sent.batch for batches in request.partitions.values() for sent in batches]
        transactional = int(any(batch.transactional for batch in every))
        passed = []
        for partition, batches in request.partitions.items():
            known = int(partition[0] not in request.unknown_topic_ids)
            named = int(request.transactional_id is not None)
            verdict = decide_produce_front_door(transactional, named, 1, len(batches), int(exists(partition)), known)
            if verdict.error == Error.NONE:
                passed.append(partition)
            else:
                self._refuse(partition, verdict)
        return passed

    def _identities(self) -> set[tuple[int, int]]:
        batches = [self._sent(partition).batch for partition in self.waiting]
        return {(batch.producer_id, batch.producer_epoch) for batch in batches if _can_open_transaction(batch)}

    def _must_ask(self, partition: TopicPartition, replica_of: FindReplica) -> bool:
        """Whether the coordinator decides on `partition`; its guard is noted, or its refusal."""
        batch = self._sent(partition).batch
        if not _can_open_transaction(batch):
            return False
        replica = replica_of(partition)
        if replica is None or not replica.leads:
            self._refuse(partition, decide_produce_place(NONE, 0, 0))
            return False
        verification = replica.begin_verification(batch, self.mode)
        if verification.error != Error.NONE:
            self._end(partition, verification.error)
            return False
        self.waiting[partition] = verification.guard
        return verification.asks

    # ---------------------------------------------------------------- behind the coordinator's word

    def _conclude(self, partition: TopicPartition, error: int) -> None:
        if error != Error.NONE:
            self._end(partition, error)

    def _append(self, partition: TopicPartition, guard: int, replica: Replica | None) -> Produced:
        sent, acks = self._sent(partition), self.request.acks
        leads = int(replica is not None and replica.leads)
        verdict = decide_produce_place(acks, int(partition[0] in INTERNAL_TOPICS), leads)
        if verdict.error != Error.NONE or replica is None:
            return self._refused(partition, verdict, NONE)
        verdict = decide_produce_batch(
            sent.batch,
            int(sent.batch.marker is not None),
            int(_is_consistent(sent.batch)),
            int(acks == NONE),
            replica.in_sync,
            self.settings.min_insync_replicas,
            sent.base_offset,
            int(sent.is_corrupt),
        )
        if verdict.error != Error.NONE:
            return self._refused(partition, verdict, replica.log.start_offset)
        appended = replica.append(sent.batch, guard, Origin.CLIENT)
        return Produced(appended.error, appended.base_offset, appended.log_start_offset)

    # ---------------------------------------------------------------- small helpers

    def _sent(self, partition: TopicPartition) -> SentBatch:
        return self.request.partitions[partition][0]

    def _refuse(self, partition: TopicPartition, verdict: AppendVerdict) -> None:
        self.produced[partition] = self._refused(partition, verdict, NONE)
        self.waiting.pop(partition, None)

    def _refused(self, partition: TopicPartition, verdict: AppendVerdict, log_start: int) -> Produced:
        self.journal.decided("produce", verdict.guard, verdict.error, f"{partition[0]}-{partition[1]}")
        told = log_start if tells_log_start(verdict.error, int(log_start != NONE)) else NONE
        return Produced(verdict.error, log_start_offset=told)

    def _end(self, partition: TopicPartition, error: int) -> None:
        told = answer_to_produce(error, self.mode)
        self.produced[partition] = Produced(told, message=_message(error, told))
        self.waiting.pop(partition, None)


def _can_open_transaction(batch: Batch) -> bool:
    return batch.transactional and batch.producer_id != NONE


def _message(error: int, told: int) -> str:
    """What the broker says about a partition that could not be verified (``ReplicaManager``)."""
    if error != told:
        return (
            f"Unable to verify the partition has been added to the transaction. Underlying error: {Error(error).name}"
        )
    return "Partition was not added to the transaction" if error == Error.INVALID_TXN_STATE else ""


def _is_consistent(batch: Batch) -> bool:
    count = 1 if batch.marker is not None else len(batch.records)
    return count > 0 and batch.last_offset_delta == count - 1

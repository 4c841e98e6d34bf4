"""What a broker does for its transaction coordinator: hands it requests, and carries out what it wants done.

Theory of operation: an append goes into the log at once, unless it is held, and its outcome is told when it is known:
at once where it failed, else when it is durable. Markers are sent behind every step of the coordinator.
Source: reference §2.6, §2.8, §2.12; ``KafkaApis.scala``.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zombieproof.broker.cluster.desk import Desk
from zombieproof.broker.cluster.metadata import NOBODY, Metadata
from zombieproof.broker.cluster.network import Answer
from zombieproof.broker.cluster.operations import AppendUnderWay, BlockUnderWay, HeldAppend, MarkersUnderWay, Need
from zombieproof.broker.coordinator.coordinator import TransactionCoordinator
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdManager
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import INTERNAL_TOPICS, TRANSACTION_STATE
from zombieproof.messages.controller import AllocateProducerIds, AllocateProducerIdsAnswer
from zombieproof.messages.partitions import WriteTxnMarkers, WriteTxnMarkersAnswer
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    TransactionAdded,
    TransactionRequest,
    TransactionToAdd,
)
from zombieproof.model.access import AclOperation, ResourceType
from zombieproof.model.releases import newest_version
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import ApiKey, Error, Origin
from zombieproof.statemachines.coordinator import completion, joins
from zombieproof.statemachines.partition_leader.front_door import takes_record
from zombieproof.statemachines.partition_leader.verification import NO_GUARD

BATCH_OVERHEAD, TOMBSTONE_OVERHEAD = 61, 32
"""Bytes of a batch without its records, and at most of a tombstone without the name of its id."""


class Software(NamedTuple):
    """What a broker runs: its rules (with the feature level of the cluster) and the release that it is."""

    rules: Rules
    release: str


@dataclass(frozen=True, slots=True)
class AppendFault:
    """The next append to a transaction log is told `error`; it is in the log all the same if `is_written`."""

    error: Error
    is_written: bool


@dataclass(slots=True)
class Transactions:
    """The coordinator of one broker at its desk.

    `holds_appends`: appends are kept from the log until they are released. `software` is that of every node.
    """

    desk: Desk
    metadata: Metadata
    coordinator: TransactionCoordinator
    producer_ids: ProducerIdManager
    software: Mapping[int, Software]
    append_faults: deque[AppendFault] = field(default_factory=deque)
    holds_appends: bool = False
    _refused: dict[int, tuple[TransactionAdded | None, ...]] = field(default_factory=dict)

    # ---------------------------------------------------------------- requests

    def handle(self, number: int, request: TransactionRequest) -> None:
        """Hand a request to the coordinator."""
        if isinstance(request, AddPartitionsToTxn):
            self._add_partitions(number, request)
        else:
            self.carry_out(self.coordinator.handle(request, number))

    def _add_partitions(self, number: int, request: AddPartitionsToTxn) -> None:
        """Transactions with a partition that cannot join are refused here; the coordinator decides on the others."""
        refused = tuple(self._refusal(number, asked, request.version) for asked in request.transactions)
        left = tuple(asked for asked, refusal in zip(request.transactions, refused, strict=True) if refusal is None)
        if not left and request.transactions:
            answer = AddPartitionsToTxnAnswer(int(Error.NONE), tuple(r for r in refused if r is not None))
            self.desk.answer(number, answer)
            return
        if any(refused):
            self._refused[number] = refused
        self.carry_out(self.coordinator.handle(AddPartitionsToTxn(request.version, left), number))

    def _refusal(self, number: int, asked: TransactionToAdd, version: int) -> TransactionAdded | None:
        errors = {
            partition: joins.partition_is_refused(
                self.metadata.exists(partition),
                partition[0] in INTERNAL_TOPICS,
                version,
                self.desk.may(number, AclOperation.WRITE, ResourceType.TOPIC, partition[0]),
            )
            for partition in asked.partitions
        }
        if not any(errors.values()):
            return None
        result = {tp: joins.error_beside_refused(error) for tp, error in errors.items()}
        return TransactionAdded(asked.transactional_id, result)

    def _reply(self, reply: Reply) -> None:
        answer = reply.answer
        refused = self._refused.pop(reply.ticket, ())
        if isinstance(answer, AddPartitionsToTxnAnswer) and answer.error == Error.NONE and refused:
            decided = iter(answer.transactions)
            merged = tuple(next(decided) if refusal is None else refusal for refusal in refused)
            answer = AddPartitionsToTxnAnswer(answer.error, merged)
        self.desk.answer(reply.ticket, answer)

    # ---------------------------------------------------------------- effects

    def carry_out(self, effects: Iterable[Effect], sends_markers: bool = True) -> None:
        """Do what the coordinator wants done, and what follows from that."""
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Reply):
                self._reply(effect)
            elif self.holds_appends:
                self.desk.waits.add(HeldAppend(effect, sends_markers), (), self.desk.timeout())
            else:
                todo.extend(self._append(effect, sends_markers))
        if sends_markers:
            self.send_markers()
        self.ask_for_producer_ids()

    def carry_out_expiry(self, effects: Iterable[Effect]) -> None:
        """What a sweep of the ids wants done: tombstones of a partition go into its log together (Y2)."""
        rest, by_partition = list[Effect](), dict[int, list[Append]]()
        for effect in effects:
            if isinstance(effect, Append) and effect.value is None and not self.holds_appends:
                by_partition.setdefault(effect.partition, []).append(effect)
            else:
                rest.append(effect)
        for appends in by_partition.values():
            for together in self._in_batches(appends):
                rest += self._append_together(together, sends_markers=True)
        self.carry_out(rest)

    def _in_batches(self, appends: Iterable[Append]) -> Iterator[list[Append]]:
        """Tombstones, as many in a batch as the log's ``max.message.bytes`` has room for, and one at least."""
        limit = self.metadata.config_of(TRANSACTION_STATE).max_message_bytes
        batch, size = list[Append](), BATCH_OVERHEAD
        for append in appends:
            more = TOMBSTONE_OVERHEAD + len(append.transactional_id.encode())
            if batch and size + more > limit:
                yield batch
                batch, size = [], BATCH_OVERHEAD
            batch.append(append)
            size += more
        if batch:
            yield batch

    def _append(self, append: Append, sends_markers: bool) -> list[Effect]:
        """Put a record into the transaction log; what follows if its outcome is known at once."""
        return self._append_together((append,), sends_markers)

    def _append_together(self, appends: Sequence[Append], sends_markers: bool) -> list[Effect]:
        """Put records into a partition of the transaction log as one batch: they share its outcome."""
        fault = self.append_faults.popleft() if self.append_faults else None
        partition = TRANSACTION_STATE, appends[0].partition
        replica = self.desk.partitions.replica(partition)
        least = self.desk.settings.transaction_state_log_min_isr or self.desk.settings.min_insync_replicas
        in_sync = 0 if replica is None else replica.in_sync
        error = takes_record(replica is not None and replica.leads, in_sync, least)
        if replica is not None and error == Error.NONE and (fault is None or fault.is_written):
            records = tuple([Record(append.transactional_id, append.value) for append in appends])
            now_ms = self.desk.clock.now_ms()
            batch = Batch(records=records, last_offset_delta=len(records) - 1, timestamp_ms=now_ms)
            error = replica.append(batch, NO_GUARD, Origin.COORDINATOR).error
        effects = list[Effect]()
        for append in appends:
            if fault is not None or error != Error.NONE or replica is None:
                effects += self._appended(append, error if fault is None else fault.error)
                continue
            under_way = AppendUnderWay(append, Need(partition, replica.log.end_offset, least), sends_markers)
            outcome = under_way.judge(self.desk.partitions, self.desk.clock.now_ms(), is_over=False)
            if outcome is not None:
                effects += self._appended(append, outcome)
            else:
                self.desk.waits.add(under_way, (partition,), self.desk.timeout())
        return effects

    def appended(self, operation: AppendUnderWay | HeldAppend, error: int) -> None:
        """An append has its outcome."""
        self.carry_out(self._appended(operation.append, error), operation.sends_markers)

    def _appended(self, append: Append, error: int) -> list[Effect]:
        """The coordinator handles the outcome; whoever waits for a change of the id may then look again."""
        effects = self.coordinator.appended(append, error)
        self.desk.changed(append.transactional_id)
        return effects

    @property
    def held_appends(self) -> list[Append]:
        """The appends that are kept from the log."""
        return [operation.append for _, operation in self.desk.waits if isinstance(operation, HeldAppend)]

    def release_append(self, append: Append) -> None:
        """An append that was held goes into the log now, and the coordinator handles its outcome."""
        for ticket, operation in self.desk.waits:
            if isinstance(operation, HeldAppend) and operation.append == append:
                self.desk.waits.remove(ticket)
        error = self.coordinator.may_append(append)
        if error == Error.NONE:
            self.carry_out(self._append(append, sends_markers=True))
        else:
            self.carry_out(self.coordinator.append_ended(append, error))

    # ---------------------------------------------------------------- producer ids

    def ask_for_producer_ids(self) -> None:
        """Ask the controller for a block, if one is wanted. Without a controller it is asked for when it is needed."""
        if not self.producer_ids.wants_block():
            return
        if self.metadata.controller == NOBODY:
            self.producer_ids.answered(None)
        else:
            request = AllocateProducerIds(0, self.desk.node_id)
            self.desk.ask(self.metadata.controller, request, BlockUnderWay())

    def allocated(self, answer: Answer | None) -> None:
        """The controller has answered, or never will."""
        self.producer_ids.answered(answer if isinstance(answer, AllocateProducerIdsAnswer) else None)

    # ---------------------------------------------------------------- markers

    def send_markers(self) -> None:
        """Put every marker that waits on the network, and go on with what needs none."""
        requests, effects = self.coordinator.markers_to_send()
        for request in requests:
            newest = newest_version(self.software[request.broker].release, ApiKey.WRITE_TXN_MARKERS)
            self.desk.ask(request.broker, _at_most(request.request, newest), MarkersUnderWay(request.number))
        if effects:
            self.carry_out(effects)

    def handle_answer(self, operation: MarkersUnderWay, answer: Answer | None) -> None:
        """Markers are answered, or never will be."""
        written = answer if isinstance(answer, WriteTxnMarkersAnswer) else None
        self.carry_out(self.coordinator.markers_answered(operation.number, written), sends_markers=False)


def _at_most(request: WriteTxnMarkers, newest: int) -> WriteTxnMarkers:
    """`request` in a version that its receiver understands."""
    if request.version <= newest:
        return request
    result = completion.transaction_version_sent
    markers = (replace(each, transaction_version=result(each.transaction_version, newest)) for each in request.markers)
    return WriteTxnMarkers(newest, tuple(markers))

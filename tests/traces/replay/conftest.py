"""Histories made by hand, batch by batch, as a cluster would have recorded them, and ways to change them afterwards."""

from dataclasses import replace

import pytest

from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.rules import preset
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import (
    AbortedTransaction,
    ClientCall,
    CoordinatorLine,
    Evidence,
    LoggedBatch,
    LoggedMarker,
    OffsetCommitRecord,
    PartitionLog,
    Phase,
    Source,
    TransactionLogValue,
    TransactionStateRecord,
    TransitTarget,
)
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Finding

T0, T1, GROUPS = ("t", 0), ("t", 1), (CONSUMER_OFFSETS, 0)
LOG = (TRANSACTION_STATE, 0)


class History:
    """Evidence made step by step, `step_ms` apart; offsets follow each other."""

    step_ms = 10

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.now = 1_700_000_000_000

    def log(self, place: TopicPartition, replica: str = "") -> PartitionLog:
        for log in self.evidence.logs:
            if log.topic_partition == place and log.replica == replica:
                return log
        log = PartitionLog(*place, replica, Source.SEGMENT, files=["by hand"])
        self.evidence.logs.append(log)
        return log

    def batch(self, place: TopicPartition, count: int, **fields: object) -> LoggedBatch:
        self.now += self.step_ms
        log = self.log(place)
        base = log.end_offset
        batch = LoggedBatch(
            base_offset=base,
            last_offset=base + count - 1,
            count=count,
            base_sequence=-1,
            last_sequence=-1,
            producer_id=-1,
            producer_epoch=-1,
            partition_leader_epoch=0,
            is_transactional=False,
            is_control=False,
            delete_horizon_ms=None,
            position=base * 100,
            max_timestamp_ms=self.now,
            timestamp_type=TimestampType.CREATE_TIME,
            size=100,
            codec=Codec.NONE,
            crc=None,
            is_valid=True,
            file="by hand",
        )
        batch = replace(batch, **fields)  # type: ignore[arg-type]  # the names are those of Batch, or this raises
        assert isinstance(log.batches, list), "it is made here"
        log.batches.append(batch)
        log.end_offset = base + count
        return batch

    def data(
        self, place: TopicPartition, producer_id: int, epoch: int, sequence: int, count: int = 1, plain: bool = False
    ) -> int:
        batch = self.batch(
            place,
            count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            last_sequence=sequence + count - 1,
            is_transactional=not plain,
        )
        return batch.base_offset

    def plain(self, place: TopicPartition) -> int:
        return self.batch(place, 1).base_offset

    def marker(
        self, place: TopicPartition, producer_id: int, epoch: int, commit: bool = True, coordinator_epoch: int = 0
    ) -> int:
        batch = self.batch(
            place,
            1,
            producer_id=producer_id,
            producer_epoch=epoch,
            is_transactional=True,
            is_control=True,
            marker=LoggedMarker(commit, coordinator_epoch),
        )
        return batch.base_offset

    def state(
        self,
        state: S | None,
        producer_id: int,
        epoch: int,
        *places: TopicPartition,
        tv: int = 2,
        transactional_id: str = "orders-1",
        partition: int = 0,
    ) -> TransactionStateRecord:
        batch = self.batch((TRANSACTION_STATE, partition), 1)
        value = None
        if state is not None:
            value = TransactionLogValue(
                producer_id=producer_id,
                previous_producer_id=None,
                next_producer_id=-1,
                producer_epoch=epoch,
                timeout_ms=60_000,
                state=state,
                partitions=frozenset(places),
                last_update_ms=self.now,
                start_ms=None,
                client_transaction_version=None if state == S.EMPTY else tv,
            )
        record = TransactionStateRecord(transactional_id, partition, batch.base_offset, self.now, value, "by hand")
        self.evidence.transaction_states.append(record)
        return record

    def transaction(
        self,
        epoch: int,
        *places: TopicPartition,
        commit: bool = True,
        tv: int = 2,
        producer_id: int = 7,
        sequence: int = 0,
        markers: bool = True,
    ) -> None:
        """One transaction as Kafka records it: two records on each place, then its markers."""
        end = epoch + 1 if tv == 2 else epoch
        self.state(S.ONGOING, producer_id, epoch, *places, tv=tv)
        for place in places:
            self.data(place, producer_id, epoch, sequence, 2)
        self.state(S.PREPARE_COMMIT if commit else S.PREPARE_ABORT, producer_id, end, *places, tv=tv)
        for place in places if markers else ():
            self.marker(place, producer_id, end, commit)
        self.state(S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT, producer_id, end, tv=tv)

    def offset(self, producer_id: int, epoch: int, offset: int) -> OffsetCommitRecord:
        base = self.data(GROUPS, producer_id, epoch, 0)
        record = OffsetCommitRecord(
            "copier", "in", 0, offset, "", self.now, producer_id, epoch, True, 0, base, "by hand"
        )
        self.evidence.offset_commits.append(record)
        return record

    def call(self, action: str, result: object = "ok", client: str = "app", **args: object) -> None:
        arguments = {"transactional_id": "orders-1", **args}
        line = len(self.evidence.client_calls) + 1
        self.evidence.client_calls.append(ClientCall("by hand", line, self.now, client, action, arguments, result))

    def sent(self, place: TopicPartition, offset: int) -> None:
        result = {"topic": place[0], "partition": place[1], "offset": offset}
        self.call("send", result, topic=place[0], partition=place[1])

    def without_coordinator(self) -> "History":
        """What is left when nobody hands over the coordinator's log."""
        self.evidence.transaction_states.clear()
        self.evidence.logs = [log for log in self.evidence.logs if log.topic != TRANSACTION_STATE]
        return self

    def findings(self, rules: str = "newest") -> list[Finding]:
        return replay(self.evidence, preset(rules)).findings

    def broken(self) -> list[str]:
        return [finding.promise for finding in self.findings()]

    def change(self, place: TopicPartition, index: int, **fields: object) -> None:
        log = self.log(place)
        log.batches = batches = [*log.batches]
        batches[index] = replace(batches[index], **fields)  # type: ignore[arg-type]  # names of Batch

    def remove(self, place: TopicPartition, index: int) -> None:
        """Take a batch away and let the later ones move up, so that no offset is missing."""
        log = self.log(place)
        log.batches = batches = [*log.batches]
        gone = batches.pop(index)
        count = gone.last_offset - gone.base_offset + 1
        for i in range(index, len(batches)):
            batch = batches[i]
            moved = {"base_offset": batch.base_offset - count, "last_offset": batch.last_offset - count}
            batches[i] = replace(batch, **moved)  # type: ignore[arg-type]  # two integers
        log.end_offset -= count

    def insert(self, place: TopicPartition, index: int, batch: LoggedBatch) -> None:
        """Put a copy of a batch behind `index` batches, and let the later ones move down."""
        log = self.log(place)
        count = batch.last_offset - batch.base_offset + 1
        log.batches = batches = [*log.batches]
        base = batches[index - 1].last_offset + 1
        for i in range(index, len(batches)):
            later = batches[i]
            batches[i] = replace(later, base_offset=later.base_offset + count, last_offset=later.last_offset + count)
        batches.insert(index, replace(batch, base_offset=base, last_offset=base + count - 1))
        log.end_offset += count

    def turn(self, place: TopicPartition, index: int) -> None:
        """Make a COMMIT of an ABORT marker, and the other way round."""
        marker = self.log(place).batches[index].marker
        assert marker is not None
        self.change(place, index, marker=LoggedMarker(not marker.commit, marker.coordinator_epoch))

    def restate(self, index: int, **fields: object) -> None:
        record = self.evidence.transaction_states[index]
        assert record.value is not None
        value = replace(record.value, **fields)  # type: ignore[arg-type]  # names of TransactionLogValue
        self.evidence.transaction_states[index] = replace(record, value=value)

    def forget_states(self, *indexes: int) -> None:
        """Take records out of the coordinator's log and close the offsets up: nothing was compacted away."""
        states = self.evidence.transaction_states
        kept = [record for i, record in enumerate(states) if i not in indexes]
        self.evidence.transaction_states = [replace(record, offset=offset) for offset, record in enumerate(kept)]
        log = self.log(LOG)
        log.batches = log.batches[: len(kept)]
        log.end_offset = len(kept)

    # ---- stories

    @classmethod
    def two_transactions(cls, tv: int = 2) -> "History":
        """A commit on t-0 and t-1, then an abort on t-0."""
        history = cls()
        history.state(S.EMPTY, 7, 0)
        history.transaction(0, T0, T1, tv=tv)
        history.transaction(1 if tv == 2 else 0, T0, commit=False, tv=tv, sequence=0 if tv == 2 else 2)
        return history

    @classmethod
    def told(cls) -> "History":
        """A commit of which the application was told, recorded by its client and its partitions only (old protocol)."""
        history = cls()
        history.call("begin")
        for place in (T0, T1):
            history.sent(place, history.data(place, 7, 0, 0))
        for place in (T0, T1):
            history.marker(place, 7, 0)
        history.call("commit")
        return history

    @classmethod
    def copier(cls) -> "History":
        """A transaction that commits offset 3 of a group."""
        history = cls()
        history.state(S.EMPTY, 7, 0)
        history.state(S.ONGOING, 7, 0, GROUPS)
        history.offset(7, 0, 3)
        history.state(S.PREPARE_COMMIT, 7, 1, GROUPS)
        history.marker(GROUPS, 7, 1)
        history.state(S.COMPLETE_COMMIT, 7, 1)
        return history

    @classmethod
    def reported(cls) -> "History":
        """Two transactions, and the DEBUG lines of the coordinator about them."""
        history = cls.two_transactions()
        before = S.EMPTY
        for record in history.evidence.transaction_states:
            value = record.value
            assert value is not None
            target = TransitTarget(
                value.producer_id, None, -1, value.producer_epoch, -1, value.timeout_ms, value.partitions, -1,
                value.last_update_ms, 2,
            )  # fmt: skip
            history.evidence.coordinator_lines.append(
                CoordinatorLine("server.log", 1, None, "orders-1", Phase.COMPLETE, before, value.state, target)
            )
            before = value.state
        return history

    @classmethod
    def indexed(cls) -> "History":
        """Two aborted transactions that overlap, and the index of them."""
        history = cls()
        history.data(T0, 7, 0, 0)
        history.data(T0, 8, 0, 0)
        history.marker(T0, 7, 0, commit=False)
        history.marker(T0, 8, 0, commit=False)
        for producer_id, first, last, stable in ((7, 0, 2, 1), (8, 1, 3, 4)):
            entry = AbortedTransaction(*T0, "", producer_id, first, last, stable, "by hand")
            history.evidence.aborted_transactions.append(entry)
        return history

    @classmethod
    def replicated(cls) -> "History":
        """Two transactions, and a second copy of t-1."""
        history = cls.two_transactions()
        copy = history.log(T1, "broker-2")
        copy.batches = [replace(batch) for batch in history.log(T1).batches]
        copy.end_offset = history.log(T1).end_offset
        return history


@pytest.fixture(scope="session")
def made() -> type[History]:
    """The class of histories made by hand."""
    return History

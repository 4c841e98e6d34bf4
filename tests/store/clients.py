"""Clients of an embedded cluster that say each step into a history: what they ask for, and what they are told."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zombieproof.broker.embedded import Embedded
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetsCommitted,
    OffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import (
    Fetch,
    FetchAnswer,
    Produce,
    ProduceAnswer,
    SentBatch,
)
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.traces.history.events import Event, Outcome
from zombieproof.traces.history.events import Isolation as Reads
from zombieproof.traces.history.history_file import History, Source
from zombieproof.traces.history.writer import HistoryWriter

AGAIN = frozenset(
    {
        Error.CONCURRENT_TRANSACTIONS,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
    }
)
NEVER_HAPPENS = frozenset(
    {Error.INVALID_TXN_STATE, Error.INVALID_PRODUCER_ID_MAPPING, Error.OUT_OF_ORDER_SEQUENCE_NUMBER}
)
TIMEOUT_MS = 60_000
COMPACTED = "c"
"""The topic whose records have keys: each value its own, so that none of them may go."""
NOISE = b"noise "
"""The keys of records that are in no history begin so."""


class Notebook(HistoryWriter):
    """A history in memory of which there can be copies: each crash goes on from the same past.

    `owners` are the transactional id or the process that each producer id was handed out to.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(path)
        self.owners: dict[int, str] = {}

    def copy(self) -> "Notebook":
        twin = Notebook()
        twin.take(self._events)
        twin.owners = dict(self.owners)
        return twin

    def take(self, events: Iterable[Event]) -> None:
        """Go on from what somebody else wrote."""
        self._events = list(events)
        self._last = max((event.at for event in self._events), default=-1)
        self._now = lambda: self._last + 1

    def as_history(self) -> History:
        return History((Source("history", tuple(self._events)),))


def named(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"


class NoAnswer(Exception):
    """A request was not answered in its time."""


@dataclass
class Client:
    """A producer instance, with or without a transactional id; it sends again what is refused for the moment."""

    embedded: Embedded
    notes: Notebook
    process: str
    transactional_id: str | None = None
    identity: tuple[int, int] = (NONE, NONE)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    transaction: str | None = None

    def init(self, timeout_ms: int = TIMEOUT_MS) -> None:
        if self.transactional_id is not None:
            self.notes.init(self.process, self.transactional_id)
        answer = self._ask(InitProducerId(5, self.transactional_id, timeout_ms, NONE, NONE))
        assert isinstance(answer, InitProducerIdAnswer)
        if self.transactional_id is not None:
            self.notes.initialized(self.process, _outcome(answer.error))
        owner = self.transactional_id or self.process
        first = self.notes.owners.setdefault(answer.producer_id, owner)
        assert first == owner, f"producer id {answer.producer_id} of {first} is handed out again, to {owner}"
        self._take(answer.producer_id, answer.producer_epoch)

    def begin(self, name: str) -> None:
        self.transaction = name
        self.notes.begin(self.process, name)

    def send(self, partition: TopicPartition, *values: str, key: str | None = None) -> int:
        """One batch with these values; the error. Where records have keys each value is its own, or all have `key`."""
        for value in values:
            self.notes.send(self.process, named(partition), value, self.transaction)
        keyed = partition[0] == COMPACTED
        records = tuple(Record((key or value).encode() if keyed else None, value.encode()) for value in values)
        return self._produce(partition, values, records)

    def overwrite(self, partition: TopicPartition, key: str, value: str | None) -> int:
        """A record that nobody looks for: the next one with its key takes its place, and None removes it."""
        encoded = None if value is None else value.encode()
        return self._produce(partition, (), (Record(NOISE + key.encode(), encoded),))

    def _produce(self, partition: TopicPartition, values: Iterable[str], records: tuple[Record, ...]) -> int:
        first = self.sequences.get(partition, 0)
        batch = Batch(
            *self.identity,
            first,
            self.transaction is not None,
            records,
            last_offset_delta=len(records) - 1,
            timestamp_ms=self.embedded.clock.now_ms(),
        )
        request = Produce(12, self.transactional_id, -1, {partition: (SentBatch(batch),)})
        answer = self._ask(request, lambda each: each.partitions[partition].error)
        assert isinstance(answer, ProduceAnswer)
        told = answer.partitions[partition]
        for index, value in enumerate(values):
            if told.error == Error.NONE:
                self.notes.acknowledged(self.process, value, told.base_offset + index)
            else:
                self.notes.not_sent(self.process, value, _outcome(told.error))
        if told.error == Error.NONE:
            self.sequences[partition] = first + len(records)
        if told.error == Error.KAFKA_STORAGE_ERROR:
            raise NoAnswer(f"the log of {named(partition)} is closed")
        return told.error

    def send_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> int:
        by_name = {named(partition): offset for partition, offset in offsets.items()}
        self.notes.commit_offsets(self.process, group, by_name, self.transaction)
        rows = tuple(OffsetToCommit(partition, offset, "") for partition, offset in offsets.items())
        request = (
            OffsetCommit(9, group, rows)
            if self.transaction is None
            else TxnOffsetCommit(5, self.transactional_id or "", group, *self.identity, rows)
        )
        answer = self._ask(request, lambda each: max(each.errors.values()))
        assert isinstance(answer, OffsetsCommitted)
        error = max(answer.errors.values())
        self.notes.offsets_committed(self.process, _outcome(error))
        return error

    def end(self, *, committed: bool) -> int:
        assert self.transaction is not None
        assert self.transactional_id is not None
        (self.notes.commit if committed else self.notes.abort)(self.process, self.transaction)
        answer = self._ask(EndTxn(5, self.transactional_id, *self.identity, committed))
        assert isinstance(answer, EndTxnAnswer)
        if answer.error == Error.NONE:
            (self.notes.committed if committed else self.notes.aborted)(self.process, self.transaction)
            self._take(answer.producer_id, answer.producer_epoch)
        else:
            self.notes.not_ended(self.process, self.transaction, _outcome(answer.error))
        self.transaction = None
        return answer.error

    def _node(self, request: object) -> int | None:
        """Who is asked; None: any broker, for there is one."""
        return None

    def _take(self, producer_id: int, producer_epoch: int) -> None:
        if producer_id != NONE and (producer_id, producer_epoch) != self.identity:
            self.identity = producer_id, producer_epoch
            self.sequences.clear()

    def _ask(self, request: object, error_of: object = lambda each: each.error) -> object:
        for _ in range(100):
            answer = self.embedded.ask(request, self._node(request), TIMEOUT_MS)  # type: ignore[arg-type]  # any request
            if answer is None:
                raise NoAnswer(type(request).__name__)
            if error_of(answer) not in AGAIN:  # type: ignore[operator]  # a function of the answer
                return answer
        raise NoAnswer(f"{type(request).__name__} was put off again and again")


def _outcome(error: int) -> Outcome:
    """What an error says of what was asked for: that it never happens, or nothing."""
    if error == Error.NONE:
        return "ok"
    if error in (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED):
        return "fenced"
    return "failed" if error in NEVER_HAPPENS else "unknown"


def read_all(
    embedded: Embedded,
    notes: Notebook,
    reader: str,
    partition: TopicPartition,
    isolation: Isolation,
    node: int | None = None,
) -> None:
    """Everything that a reader gets of a partition, from its start to its end."""
    name = named(partition)
    log, since = embedded.cluster.stores[node or 1, partition].log, notes.now()
    start, end = log.start_offset, log.end_offset
    words: Reads = "read_committed" if isolation is Isolation.READ_COMMITTED else "read_uncommitted"
    notes.positioned(reader, words, {name: start})
    answer = embedded.ask(Fetch(12, isolation, {partition: start}), node, timeout_ms=TIMEOUT_MS)
    assert isinstance(answer, FetchAnswer)
    fetched, position = answer.partitions[partition], start
    assert fetched.error == Error.NONE, Error(fetched.error)
    aborted = dict[int, list[int]]()
    for producer_id, first in sorted(fetched.aborted or (), key=lambda each: each[1]):
        aborted.setdefault(producer_id, []).append(first)
    skipping = set[int]()
    for batch in fetched.batches:
        firsts = aborted.get(batch.producer_id, [])
        if firsts and firsts[0] <= batch.last_offset:
            skipping.add(batch.producer_id)
            firsts.pop(0)
        if batch.marker is not None:
            skipping.discard(batch.producer_id)
        elif not (batch.transactional and batch.producer_id in skipping):
            for offset, record in zip(batch.offsets, batch.records, strict=True):
                if offset >= start and not (isinstance(record.key, bytes) and record.key.startswith(NOISE)):
                    notes.read(reader, name, offset, bytes(record.value).decode())  # type: ignore[arg-type]  # data
        position = batch.last_offset + 1
    notes.final_read(reader, name, position=position, end=end, since=since)


def fetch_offsets(embedded: Embedded, notes: Notebook, group: str, partitions: tuple[TopicPartition, ...]) -> None:
    """The committed offsets of a group."""
    since = notes.now()
    answer = embedded.ask(OffsetFetch(7, group, require_stable=True, partitions=partitions), timeout_ms=TIMEOUT_MS)
    assert isinstance(answer, OffsetFetchAnswer)
    told = {named(partition): row.offset for partition, row in answer.partitions.items()}
    assert {row.error for row in answer.partitions.values()} <= {Error.NONE}
    notes.fetched("somebody", group, told, since=since)

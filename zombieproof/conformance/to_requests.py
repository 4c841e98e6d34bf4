"""A recorded request as the typed request that it stands for."""

from zombieproof.broker.cluster.network import Request
from zombieproof.conformance import forms
from zombieproof.conformance.symbols import IDS_OF_NO_TOPIC, Symbols
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetCommit,
    OffsetFetch,
    OffsetToCommit,
    SyncGroup,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import (
    DescribeProducers,
    DescribeTopics,
    Fetch,
    ListOffsets,
    MarkerToWrite,
    Produce,
    SentBatch,
    WriteTxnMarkers,
)
from zombieproof.messages.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    ListTransactions,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, Isolation

_PRODUCE_BY_ID_SINCE = 13
_FETCH_BY_ID_SINCE = 13
_OFFSETS_BY_ID_SINCE = 10
_ISOLATIONS = {"read_uncommitted": Isolation.READ_UNCOMMITTED, "read_committed": Isolation.READ_COMMITTED}


def request_of(version: int, form: forms.Form, symbols: Symbols) -> Request:
    """The request that `form` stands for.

    Raises:
        UnknownSymbol: it contains a name that stands for nothing.
        TypeError: it is no request (time, a fault).
    """
    match form:
        case forms.InitProducerIdForm():
            return _init_producer_id(version, form, symbols)
        case forms.AddPartitionsToTxnForm():
            return AddPartitionsToTxn(version, _transactions(form, symbols))
        case forms.AddOffsetsToTxnForm():
            producer_id = symbols.producer_id(form.pid)
            return AddOffsetsToTxn(version, form.transactional_id, producer_id, form.epoch, symbols.group(form.group))
        case forms.EndTxnForm():
            producer_id = symbols.producer_id(form.pid)
            return EndTxn(version, form.transactional_id, producer_id, form.epoch, form.committed)
        case forms.ProduceForm():
            return _produce(version, form, symbols)
        case forms.WriteTxnMarkersForm():
            return WriteTxnMarkers(version, tuple(_marker(marker, symbols) for marker in form.markers))
        case forms.DescribeTransactionsForm():
            return DescribeTransactions(version, form.transactional_ids)
        case forms.ListTransactionsForm():
            producer_ids = tuple(symbols.producer_id(pid) for pid in form.pids)
            duration_ms = NONE if form.duration is None else form.duration
            return ListTransactions(version, form.states, producer_ids, duration_ms)
        case forms.PartitionsForm():
            return DescribeProducers(version, symbols.partitions(form.partitions))
        case forms.ListOffsetsForm():
            return ListOffsets(version, _ISOLATIONS[form.isolation], symbols.partitions(form.partitions))
        case forms.FetchForm():
            by_id = version >= _FETCH_BY_ID_SINCE
            places = {(symbols.by_id(topic) if by_id else topic, at): offset for topic, at, offset in form.partitions}
            unknown = IDS_OF_NO_TOPIC if by_id else frozenset[str]()
            return Fetch(version, _ISOLATIONS[form.isolation], places, unknown_topic_ids=unknown)
        case forms.MetadataForm():
            topics = tuple(symbols.by_id(topic) for topic in form.topics) if form.by_id else form.topics
            return DescribeTopics(version, topics, form.by_id)
        case _:
            return _of_a_group(version, form, symbols)


def _of_a_group(version: int, form: forms.Form, symbols: Symbols) -> Request:
    match form:
        case forms.TxnOffsetCommitForm():
            return TxnOffsetCommit(
                version,
                form.transactional_id,
                symbols.group(form.group),
                symbols.producer_id(form.pid),
                form.epoch,
                _offsets(form.offsets),
                NONE if form.generation is None else form.generation,
                symbols.member(form.member or ""),
                form.instance,
            )
        case forms.OffsetCommitForm():
            return _offset_commit(version, form, symbols)
        case forms.OffsetFetchForm():
            return _offset_fetch(version, form, symbols)
        case forms.JoinGroupForm():
            return JoinGroup(version, symbols.group(form.group), symbols.member(form.member), form.instance)
        case forms.SyncGroupForm():
            member = symbols.member(form.member)
            return SyncGroup(version, symbols.group(form.group), form.generation, member, form.instance)
        case forms.LeaveGroupForm():
            leavers = tuple(Leaver(symbols.member(member), instance) for member, instance in form.members or ())
            return LeaveGroup(version, symbols.group(form.group), symbols.member(form.member or ""), leavers)
        case forms.HeartbeatForm():
            member = symbols.member(form.member)
            return Heartbeat(version, symbols.group(form.group), form.generation, member, form.instance)
        case forms.ConsumerGroupHeartbeatForm():
            member = symbols.member(form.member)
            return ConsumerGroupHeartbeat(version, symbols.group(form.group), member, form.epoch, form.topics)
        case forms.FindCoordinatorForm():
            return FindCoordinator(version, form.key, form.key_type)
        case _:
            raise TypeError(f"{type(form).__name__} is no request")


def _offset_commit(version: int, form: forms.OffsetCommitForm, symbols: Symbols) -> OffsetCommit:
    by_id = version >= _OFFSETS_BY_ID_SINCE
    rows = tuple((symbols.by_id(row[0]) if by_id else row[0], *row[1:]) for row in form.offsets)
    return OffsetCommit(
        version,
        symbols.group(form.group),
        _offsets(rows),
        form.generation,
        symbols.member(form.member),
        form.instance,
        IDS_OF_NO_TOPIC if by_id else frozenset(),
    )


def _offset_fetch(version: int, form: forms.OffsetFetchForm, symbols: Symbols) -> OffsetFetch:
    by_id = version >= _OFFSETS_BY_ID_SINCE
    partitions = form.partitions
    if partitions is not None and by_id:
        partitions = tuple((symbols.by_id(topic), number) for topic, number in partitions)
    unknown = IDS_OF_NO_TOPIC if by_id else frozenset[str]()
    return OffsetFetch(version, symbols.group(form.group), form.require_stable, partitions, unknown)


def _init_producer_id(version: int, form: forms.InitProducerIdForm, symbols: Symbols) -> InitProducerId:
    return InitProducerId(
        version,
        form.transactional_id,
        form.timeout_ms,
        NONE if form.pid is None else symbols.producer_id(form.pid),
        NONE if form.epoch is None else form.epoch,
        bool(form.enable_2pc),
        bool(form.keep_prepared),
    )


def _transactions(form: forms.AddPartitionsToTxnForm, symbols: Symbols) -> tuple[TransactionToAdd, ...]:
    if form.transactions is not None:
        return tuple(
            TransactionToAdd(
                each.transactional_id,
                symbols.producer_id(each.pid),
                each.epoch,
                symbols.partitions(each.partitions),
                each.verify_only,
            )
            for each in form.transactions
        )
    producer_id = NONE if form.pid is None else symbols.producer_id(form.pid)
    epoch = NONE if form.epoch is None else form.epoch
    return (TransactionToAdd(form.transactional_id, producer_id, epoch, symbols.partitions(form.partitions or ())),)


def _produce(version: int, form: forms.ProduceForm, symbols: Symbols) -> Produce:
    batches: dict[TopicPartition, tuple[SentBatch, ...]] = {}
    for each in form.partitions:
        topic = symbols.by_id(each.topic) if version >= _PRODUCE_BY_ID_SINCE else each.topic
        partition = symbols.partition(topic, each.partition)
        sent = tuple(_batch(batch, symbols) for batch in each.batches)
        batches[partition] = (*batches.get(partition, ()), *sent)
    unknown = IDS_OF_NO_TOPIC if version >= _PRODUCE_BY_ID_SINCE else frozenset[str]()
    return Produce(version, form.transactional_id, form.acks, batches, unknown)


def _batch(form: forms.BatchForm, symbols: Symbols) -> SentBatch:
    records = tuple(Record(None, value.encode()) for value in form.values)
    whole = len(records) - 1
    batch = Batch(
        producer_id=symbols.producer_id(form.pid),
        producer_epoch=form.epoch,
        base_sequence=form.base_sequence,
        transactional=form.transactional,
        records=records,
        marker=None if form.control is None else Marker(form.control == "COMMIT", coordinator_epoch=0),
        last_offset_delta=whole if form.last_offset_delta is None else form.last_offset_delta,
    )
    return SentBatch(batch, form.base_offset, form.corrupt)


def _marker(form: forms.MarkerForm, symbols: Symbols) -> MarkerToWrite:
    return MarkerToWrite(
        symbols.producer_id(form.pid),
        form.epoch,
        form.committed,
        symbols.coordinator_epoch(form.coordinator_epoch),
        symbols.partitions(form.partitions),
        form.tv or 0,
    )


def _offsets(rows: tuple[forms.OffsetRow, ...]) -> tuple[OffsetToCommit, ...]:
    """Metadata None is none, and an integer is that many ``m``."""
    return tuple(
        OffsetToCommit((topic, partition), offset, "m" * metadata if isinstance(metadata, int) else metadata or "")
        for topic, partition, offset, metadata in rows
    )

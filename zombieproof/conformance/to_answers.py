"""A typed answer in the form in which answers are recorded."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import JsonValue

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.symbols import Symbols
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeatAnswer,
    CoordinatorFound,
    GroupError,
    GroupLeft,
    JoinGroupAnswer,
    OffsetFetchAnswer,
    OffsetsCommitted,
)
from zombieproof.messages.partitions import (
    DescribeProducersAnswer,
    FetchAnswer,
    Fetched,
    ListOffsetsAnswer,
    ProduceAnswer,
    Produced,
    ProducersDescribed,
    TopicsDescribed,
    WriteTxnMarkersAnswer,
)
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    DescribeTransactionsAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
    ListTransactionsAnswer,
    TransactionDescription,
)
from zombieproof.model.vocabulary import NONE, Error

T = TypeVar("T")
Json = dict[str, JsonValue]

LOG_START_SINCE = 5
RECORD_ERRORS_SINCE = 8
BROKERS_FORM_SINCE = 4
EPOCH_IN_END_SINCE = 5
ONGOING_IN_INIT_SINCE = 6


def answer_form(request: Request, answer: Answer, symbols: Symbols) -> Json:  # noqa: C901, PLR0912  # one case for each API
    """The answer to `request`, with names for values. Answers that grant producer ids or admit members name them.

    Raises:
        TypeError: it is the answer to nothing that is recorded.
    """
    match answer:
        case InitProducerIdAnswer():
            return _init_producer_id(request.version, answer, symbols)
        case AddPartitionsToTxnAnswer():
            return _partitions_added(request.version, answer, symbols)
        case AddOffsetsToTxnAnswer() | GroupError() | CoordinatorFound():
            return {"error": answer.error}
        case EndTxnAnswer():
            ended: Json = {"error": answer.error}
            if request.version >= EPOCH_IN_END_SINCE:
                ended |= {"pid": symbols.granted(answer.producer_id), "epoch": answer.producer_epoch}
            return ended
        case DescribeTransactionsAnswer():
            known = sorted(answer.transactions, key=lambda row: row.transactional_id)
            return {"transactions": [_transaction(each, symbols) for each in known]}
        case ListTransactionsAnswer():
            listed = sorted((t.transactional_id, t.producer_id, t.state) for t in answer.transactions)
            return {
                "error": answer.error,
                "unknown": list(answer.unknown_states),
                "transactions": [[name, symbols.producer(pid), state] for name, pid, state in listed],
            }
        case ProduceAnswer():
            return {
                "partitions": [
                    {**_place(tp, symbols), **_produced(request.version, row)} for tp, row in _sorted(answer.partitions)
                ]
            }
        case WriteTxnMarkersAnswer():
            return {
                "markers": [
                    {"pid": symbols.producer(marker.producer_id), "partitions": _errors(marker.errors, symbols)}
                    for marker in answer.markers
                ]
            }
        case FetchAnswer():
            return {
                "partitions": [
                    {**_place(tp, symbols), **_fetched(row, symbols)} for tp, row in _sorted(answer.partitions)
                ]
            }
        case ListOffsetsAnswer():
            return {"partitions": [[*_row(tp, symbols), *row] for tp, row in _sorted(answer.partitions)]}
        case DescribeProducersAnswer():
            return {
                "partitions": [
                    {**_place(tp, symbols), **_producers(tp, row, symbols)} for tp, row in _sorted(answer.partitions)
                ]
            }
        case OffsetsCommitted():
            return {"partitions": _errors(answer.errors, symbols)}
        case OffsetFetchAnswer():
            return {
                "error": answer.error,
                "partitions": [
                    [*_row(tp, symbols), row.error, row.offset, row.metadata] for tp, row in _sorted(answer.partitions)
                ],
            }
        case JoinGroupAnswer():
            return {
                "error": answer.error,
                "generation": answer.generation,
                "member": symbols.member_name(answer.member),
                "leader": symbols.member_name(answer.leader),
            }
        case GroupLeft():
            rows = [[symbols.known_member_name(who.member), who.instance, error] for who, error in answer.leavers]
            return {"error": answer.error, "members": [list[JsonValue](row) for row in rows]}
        case TopicsDescribed():
            return {"topics": [[topic, error] for topic, error in sorted(answer.topics.items())]}
        case ConsumerGroupHeartbeatAnswer():
            return {"error": answer.error, "member": symbols.member_name(answer.member), "epoch": answer.epoch}
        case _:
            raise TypeError(f"{type(answer).__name__} is no answer that is recorded")


# ---------------------------------------------------------------- partitions


def _sorted(rows: Mapping[TopicPartition, T]) -> list[tuple[TopicPartition, T]]:
    return sorted(rows.items(), key=lambda row: row[0])


def _row(partition: TopicPartition, symbols: Symbols) -> list[JsonValue]:
    return [partition[0], symbols.partition_name(partition)]


def _place(partition: TopicPartition, symbols: Symbols) -> Json:
    return {"topic": partition[0], "partition": symbols.partition_name(partition)}


def _errors(errors: Mapping[TopicPartition, int], symbols: Symbols) -> list[JsonValue]:
    return [[*_row(tp, symbols), error] for tp, error in _sorted(errors)]


def _rows(partitions: Iterable[TopicPartition], symbols: Symbols) -> list[JsonValue]:
    return [_row(tp, symbols) for tp in sorted(partitions)]


# ---------------------------------------------------------------- one API each


def _init_producer_id(version: int, answer: InitProducerIdAnswer, symbols: Symbols) -> Json:
    form: Json = {
        "error": answer.error,
        "pid": symbols.granted(answer.producer_id),
        "epoch": answer.producer_epoch,
    }
    if version >= ONGOING_IN_INIT_SINCE:
        form["ongoing_pid"] = symbols.granted(answer.ongoing_producer_id)
        form["ongoing_epoch"] = answer.ongoing_producer_epoch
    return form


def _partitions_added(version: int, answer: AddPartitionsToTxnAnswer, symbols: Symbols) -> Json:
    if version >= BROKERS_FORM_SINCE:
        return {
            "error": answer.error,
            "transactions": [
                {"transactional_id": each.transactional_id, "partitions": _errors(each.errors, symbols)}
                for each in answer.transactions
            ],
        }
    return {"partitions": [row for each in answer.transactions for row in _errors(each.errors, symbols)]}


def _transaction(row: TransactionDescription, symbols: Symbols) -> Json:
    """The row of an error says 0 and "" for everything: its producer id is none."""
    return {
        "transactional_id": row.transactional_id,
        "error": row.error,
        "state": row.state,
        "timeout_ms": row.timeout_ms,
        "started": row.start_ms > 0,
        "pid": row.producer_id if row.error != Error.NONE else symbols.producer(row.producer_id),
        "epoch": row.producer_epoch,
        "partitions": _rows(row.partitions, symbols),
    }


def _produced(version: int, row: Produced) -> Json:
    form: Json = {"error": row.error, "base_offset": row.base_offset}
    if version >= LOG_START_SINCE:
        form["log_start_offset"] = row.log_start_offset
    if version >= RECORD_ERRORS_SINCE:
        form["record_errors"] = list(row.record_errors)
    return form


def _fetched(row: Fetched, symbols: Symbols) -> Json:
    aborted: list[JsonValue] | None = None
    if row.aborted is not None:
        named = [(symbols.producer(pid), first) for pid, first in row.aborted]
        aborted = [list(each) for each in sorted(named, key=lambda each: (str(each[0]), each[1]))]
    return {
        "error": row.error,
        "hw": row.high_watermark,
        "lso": row.last_stable_offset,
        "log_start": row.log_start_offset,
        "aborted": aborted,
        "batches": [_batch(batch, symbols) for batch in row.batches],
    }


def _batch(batch: Batch, symbols: Symbols) -> Json:
    form: Json = {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "pid": symbols.producer(batch.producer_id),
        "epoch": batch.producer_epoch,
    }
    if batch.marker is not None:
        form["control"] = "COMMIT" if batch.marker.committed else "ABORT"
        form["coordinator_epoch"] = symbols.coordinator_epoch_name(batch.marker.coordinator_epoch)
        return form
    values = [record.value.decode() if isinstance(record.value, bytes) else None for record in batch.records]
    return form | {"base_sequence": batch.base_sequence, "transactional": batch.transactional, "values": list(values)}


def _producers(partition: TopicPartition, row: ProducersDescribed, symbols: Symbols) -> Json:
    """In ``__consumer_offsets``, where offsets depend on neighbours, open transactions are recorded as begun at 0."""
    found: list[JsonValue] = []
    for each in sorted(row.producers, key=lambda producer: str(symbols.producer(producer.producer_id))):
        start = each.txn_start_offset
        found.append(
            {
                "pid": symbols.producer(each.producer_id),
                "epoch": each.producer_epoch,
                "last_sequence": each.last_sequence,
                "coordinator_epoch": symbols.coordinator_epoch_name(each.coordinator_epoch),
                "txn_start": 0 if partition[0] == CONSUMER_OFFSETS and start != NONE else start,
            }
        )
    return {"error": row.error, "producers": found}

"""A typed answer in the form in which answers are recorded: field by field, as the message says what it names."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.forms import recorded_fields
from zombieproof.conformance.recorded_names import AS_LISTS, GRANTING, REPEATING, name_of
from zombieproof.conformance.symbols import Symbols
from zombieproof.formats.batches import Batch
from zombieproof.formats.topics import CONSUMER_OFFSETS, TopicPartition
from zombieproof.messages.partitions import Fetched, ProducerDescription
from zombieproof.messages.schema import Entity, FieldOfMessage, is_record, record_in
from zombieproof.messages.transactions import TransactionDescription
from zombieproof.model.vocabulary import NONE, Error

Json = dict[str, JsonValue]


def answer_form(request: Request, answer: Answer, symbols: Symbols) -> Json:
    """The answer to `request`, with names for values. Answers that grant producer ids or admit members name them."""
    return _Writer(request.version, symbols).named(answer)


class _Writer:
    """Writes answers of one version; what a value is called depends on what its field names."""

    def __init__(self, version: int, symbols: Symbols) -> None:
        self._version, self._symbols = version, symbols
        self._of: Mapping[Entity, Callable[[Any], JsonValue]] = {
            Entity.PRODUCER_ID: symbols.producer,
            Entity.MEMBER: symbols.member_name,
            Entity.COORDINATOR_EPOCH: symbols.coordinator_epoch_name,
        }

    def named(self, message: Any, place: TopicPartition | None = None) -> Json:
        """A message, or a record of one (about the partition `place`), by the names of its fields."""
        found: Json = {}
        for field in recorded_fields(type(message)):
            wire = field.wire(self._version)
            if wire is None:
                continue
            value = getattr(message, field.name)
            if not wire.name and record_in(field.kind) is not None:
                for row in value:
                    found |= self.named(row)
            else:
                found[name_of(type(message), field.name)] = self._field(message, field, value, place)
        return found

    def _field(self, message: Any, field: FieldOfMessage, value: Any, place: TopicPartition | None) -> JsonValue:
        at = type(message), field.name
        if at in GRANTING:
            return self._symbols.granted(value)
        if at in REPEATING:
            return self._symbols.known_member_name(value)
        special = _SPECIAL.get(at)
        return self._value(field, value, place) if special is None else special(message, self._symbols, place)

    def _value(self, field: FieldOfMessage, value: Any, place: TopicPartition | None) -> JsonValue:
        if isinstance(value, dict):
            return [self._row(key, value[key]) for key in sorted(value)]
        if field.entity == Entity.PARTITION and value is not None:
            if record_in(field.kind) is not None:
                return [self._row(row.partition, row) for row in sorted(value, key=lambda row: row.partition)]
            return [self._row(partition) for partition in sorted(value)]
        if isinstance(value, tuple):
            return [self._record(row, place) if is_record(type(row)) else row for row in value]
        convert = self._of.get(field.entity)
        plain: JsonValue = value if convert is None else convert(value)
        return plain

    def _record(self, record: Any, place: TopicPartition | None) -> JsonValue:
        named = self.named(record, place)
        return list(named.values()) if type(record) in AS_LISTS else named

    def _row(self, key: TopicPartition | str, *fields: Any) -> JsonValue:
        """A row of a partition, or of a name, and what is told about it."""
        if isinstance(key, str):
            return [key, *fields]
        number = self._symbols.partition_name(key)
        row = fields[0] if fields else ()
        if not is_record(type(row)):
            return [key[0], number, *(row if isinstance(row, tuple) else (row,))]
        if type(row) in AS_LISTS:
            return [key[0], number, *self.named(row, key).values()]
        return {"topic": key[0], "partition": number, **self.named(row, key)}


# ---------------------------------------------------------------- what is recorded otherwise than it is told


def _begun(row: TransactionDescription, _: Symbols, __: TopicPartition | None) -> JsonValue:
    return row.start_ms > 0


def _producer_of(row: TransactionDescription, symbols: Symbols, _: TopicPartition | None) -> JsonValue:
    """The row of an error says 0 and "" for everything: its producer id is none."""
    return row.producer_id if row.error != Error.NONE else symbols.producer(row.producer_id)


def _txn_start(row: ProducerDescription, _: Symbols, place: TopicPartition | None) -> JsonValue:
    """In ``__consumer_offsets``, where offsets depend on neighbours, open transactions are recorded as begun at 0."""
    start = row.txn_start_offset
    return 0 if place is not None and place[0] == CONSUMER_OFFSETS and start != NONE else start


def _aborted(row: Fetched, symbols: Symbols, _: TopicPartition | None) -> JsonValue:
    return None if row.aborted is None else [[symbols.producer(pid), first] for pid, first in row.aborted]


def _batches(row: Fetched, symbols: Symbols, _: TopicPartition | None) -> JsonValue:
    return [_batch(batch, symbols) for batch in row.batches]


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


_SPECIAL: Mapping[tuple[type, str], Callable[[Any, Symbols, TopicPartition | None], JsonValue]] = {
    (TransactionDescription, "start_ms"): _begun,
    (TransactionDescription, "producer_id"): _producer_of,
    (ProducerDescription, "txn_start_offset"): _txn_start,
    (Fetched, "aborted"): _aborted,
    (Fetched, "batches"): _batches,
}

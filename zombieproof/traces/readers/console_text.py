"""What a console consumer with a formatter prints of ``__transaction_state`` (reference §9.4).

Since Kafka 3.9: JSON objects one behind the other, without a line feed between them; before: one line of Scala text a
record. Neither shows offset, partition or timestamp. Log lines of the tool itself may stand in between.
"""

import json
import re
from collections.abc import Iterator

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Damage, TransactionLogValue, TransactionStateRecord, Unit
from zombieproof.traces.readers import internal_text
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.scala_text import fields_of, producer_id_on

DECODER = json.JSONDecoder()
OBJECT = re.compile(r'\{\s*"key"\s*:')
OLD_LINE = re.compile(r"(?P<id>.*)::(?:NULL|TransactionMetadata\(transactionalId=(?P=id), (?P<fields>.*)\))")
OLD_START = re.compile(r".*::TransactionMetadata\(transactionalId=")

Found = tuple[str, TransactionLogValue | None]


def looks_like_console(text: str) -> bool:
    """Whether a piece of text from the beginning of a file comes from such a consumer."""
    found = OBJECT.search(text)
    return bool(found and '"transactionalId"' in text) or any(map(OLD_LINE.fullmatch, text.split("\n")))


def read_console(data: memoryview, file: str) -> tuple[list[TransactionStateRecord], list[Damage]]:
    """All records in the order printed, and what could not be read: bytes for JSON, lines for the older text."""
    text = bytes(data).decode(errors="replace").replace(ELSEWHERE, " " * len(ELSEWHERE))
    damage: list[Damage] = []
    found = _objects(text, file, damage) if OBJECT.search(text) else _lines(text, file, damage)
    records = [
        TransactionStateRecord(transactional_id, NONE, NONE, NONE, value, file, order)
        for order, (transactional_id, value) in enumerate(found)
    ]
    return records, damage


def _objects(text: str, file: str, damage: list[Damage]) -> Iterator[Found]:
    end, broken = 0, False
    while begin := OBJECT.search(text, end):
        at = begin.start()
        if not broken:
            _check_between(text, end, at, file, damage)
        try:
            document, end = DECODER.raw_decode(text, at)
            broken = False
            if found := _record(internal_text.mapping(document, "the record")):
                yield found
        except (ValueError, RecursionError) as fault:
            end, broken = max(end, begin.end()), True
            damage.append(_unreadable(text, at, file, str(fault)))
    if not broken:
        _check_between(text, end, len(text), file, damage)
        brace = text.rfind("{", end)
        if brace != -1 and '{"key":'.startswith(text[brace:].rstrip()):
            damage.append(_unreadable(text, brace, file, "it is cut"))


def _check_between(text: str, start: int, end: int, file: str, damage: list[Damage]) -> None:
    """What stands between two records is a message of the tool, or what is left of a record."""
    mark = text.find('"transactionalId"', start, end)
    if mark != -1:
        damage.append(_unreadable(text, mark, file, "its beginning is missing"))


def _unreadable(text: str, at: int, file: str, fault: str) -> Damage:
    position = len(text[:at].encode())
    return Damage(file, position, f"a record of the transaction log cannot be read: {fault}")


def _record(document: internal_text.Json) -> Found | None:
    """The record in one object; None when the formatter could not read it itself, or it is of another type."""
    key, value = document.get("key"), document.get("value")
    if key is None:
        return None
    head = internal_text.mapping(key, "key")
    data = head.get("data")
    if str(head.get("type", head.get("version"))) != "0" or data == "unknown":
        return None
    transactional_id = internal_text.text(internal_text.mapping(data, "data"), "transactionalId")
    if value is None:
        return transactional_id, None
    body = internal_text.mapping(value, "value")
    if body.get("data") == "unknown":
        raise Undecodable(f"the tool did not know version {body.get('version')} of the value of {transactional_id!r}")
    return transactional_id, internal_text.transaction_value(body)


def _lines(text: str, file: str, damage: list[Damage]) -> Iterator[Found]:
    for number, line in enumerate(text.split("\n"), 1):
        found = OLD_LINE.fullmatch(line)
        try:
            if found:
                yield found["id"], None if found["fields"] is None else _old_value(found["fields"])
            elif OLD_START.match(line):
                raise Undecodable("the line is cut")
        except Undecodable as fault:
            message = f"a record of the transaction log cannot be read: {fault}"
            damage.append(Damage(file, number, message, Unit.LINE))


def _old_value(text: str) -> TransactionLogValue:
    fields = fields_of(producer_id_on(text))
    return TransactionLogValue(
        producer_id=fields.number("producerId"),
        previous_producer_id=None,
        next_producer_id=None,
        producer_epoch=fields.number("producerEpoch"),
        timeout_ms=fields.number("txnTimeoutMs"),
        state=internal_text.state_named(fields.text("state")),
        partitions=internal_text.partitions_in(fields.text("topicPartitions")),
        last_update_ms=fields.number("txnLastUpdateTimestamp"),
        start_ms=fields.number("txnStartTimestamp"),
        client_transaction_version=None,
    )

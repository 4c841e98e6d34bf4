"""Output of a console consumer with a formatter for Kafka's internal topics (reference §9.4).

Since Kafka 3.9: JSON objects one after the other, without a line feed between them; before: one line of Scala text a
record. Neither shows offset, partition or timestamp. Log lines of the tool itself may be in between. People
paste such lines after comment signs, blanks or ``CreateTime:…``, and with remarks after them, and vendors print the
fields in another order. So a line is read from its ``::`` on: the fields repeat the id before it.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import Damage, TransactionLogValue, TransactionStateRecord, Unit
from zombieproof.traces.readers import console_offsets, internal_text
from zombieproof.traces.readers.console_offsets import NO_OFFSETS
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.scala_text import ScalaFields, fields_of
from zombieproof.traces.tool_reports import ToolReports

DECODER = json.JSONDecoder()
OBJECT = re.compile(r'\{\s*"key"\s*:')
OF_A_KEY = re.compile(r'\{\s*"key"\s*:\s*\{\s*"(?:version|type)"\s*:')
OF_A_GROUP = re.compile(
    r'\{\s*"key"\s*:\s*\{\s*"(?:version|type)"\s*:\s*"?\d+"?\s*,\s*"data"\s*:\s*\{\s*"group(?:Id)?"\s*:'
)
VALUE = "::TransactionMetadata("
ID_FIELD = "transactionalId="
FIELDS = (
    "transactionalId=|producerId|producerEpoch=|txnTimeoutMs=|state=|pendingState=|topicPartitions=|partitions=|txn"
)
RECORD = re.compile(rf"::TransactionMetadata\((?:{FIELDS})")
CUT = re.compile(r"::T[A-Za-z]*(?:\([A-Za-z]*)?$")
GLUE = "\x1e"
MOST_WRAPS = 3
MOST_SHOWN = 200
TOO_DEEP = 500
MOST_MENTIONS = 8
"""How many places in one line are tried as the beginning of its record, or as its id."""
TOMBSTONE = re.compile(r"(?P<id>.*\S)::NULL(?:\s*|\s+(?://|#|--|<-|\().*)")
BEFORE = re.compile(
    r"\s*(?:(?://+|#+|\*|--)\s+)?(?:(?:CreateTime|LogAppendTime|Partition|Offset):\d+\t|NoTimestamp\t)*"
)
PLAIN = re.compile(r"(?!.*::)\S+")
"""An id that is believed of a tombstone alone: program code has ``std::map::NULL`` and ``return Foo::NULL``."""
INSIDE_A_NAME = re.compile(r"[\w.-]$")
WITHOUT_EQUALS = re.compile(
    r"(?<![\w=])(producerId|producerEpoch|txnTimeoutMs|txnStartTimestamp|txnLastUpdateTimestamp)(?=-?\d)"
)

Item = TypeVar("Item")

Found = tuple[str, TransactionLogValue | None]


def looks_like_console(text: str) -> bool:
    """Whether a piece of text from the beginning of a file comes from such a consumer."""
    if OBJECT.search(text) and ('"transactionalId"' in text or OF_A_GROUP.search(text)):
        return True
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()] if "::" in text else []
    return any(map(_is_record, lines)) or (bool(lines) and all(map(_is_plain_tombstone, lines)))


def _is_plain_tombstone(line: str) -> bool:
    found = TOMBSTONE.fullmatch(line)
    return found is not None and PLAIN.fullmatch(_without_noise(found["id"])) is not None


def _is_record(line: str) -> bool:
    return RECORD.search(line) is not None or console_offsets.is_of_offsets(line)


def read_console(
    data: memoryview, file: str, reports: ToolReports | None = None
) -> tuple[list[TransactionStateRecord], list[Damage]]:
    """Read all records of transactions in order, and the damage: positions are bytes for JSON, lines for older text.

    Positions of groups are added to `reports`, and the number of all other records.
    """
    text = bytes(data).decode(errors="replace").replace(ELSEWHERE, " " * len(ELSEWHERE))
    damage: list[Damage] = []
    reports = ToolReports() if reports is None else reports
    objects: list[tuple[int, int]] = []
    found = list(_objects(text, file, damage, reports, objects)) if OBJECT.search(text) else []
    found += _lines(text, file, damage, reports, objects)
    records = [
        TransactionStateRecord(transactional_id, NONE, NONE, NONE, value, file, order)
        for order, (_, (transactional_id, value)) in enumerate(sorted(found, key=lambda each: each[0]))
    ]
    return records, damage


def places_of_console(text: str) -> list[tuple[int, int]]:
    """Where records begin and end; none where all that seem to be are tombstones of old text.

    Any name may stand before ``::NULL`` in other texts.
    """
    found, end = [], 0
    while begin := OF_A_KEY.search(text, end):
        try:
            end = DECODER.raw_decode(text, begin.start())[1]
        except (ValueError, RecursionError):
            behind = text.find("\n", begin.end())
            end = len(text) if behind == -1 else behind
        found.append((begin.start(), end))
    lines = text.split("\n") if "::" in text else []
    tombstones, at = [], 0
    for number, line in enumerate(lines, 1):
        if "::" in line and not OF_A_KEY.search(line):
            if _is_record(line):
                whole = lines[number - 1 : number - 1 + _length(lines, number)]
                found.append((at + len(line) - len(line.lstrip()), at + len("\n".join(whole))))
            elif TOMBSTONE.fullmatch(line.rstrip("\r")) or (number == len(lines) and CUT.search(line)):
                tombstones.append((at, at + len(line)))
        at += len(line) + 1
    return sorted(found + tombstones) if found else []


def _length(lines: Sequence[str], number: int) -> int:
    """How many lines a record has that a terminal or an editor wrapped."""
    whole = lines[number - 1]
    for length, behind in enumerate(["", *lines[number : number + MOST_WRAPS]], 1):
        if length > 1 and ("::" in behind or not behind.strip()):
            break
        whole += behind
        if whole.count("(") <= whole.count(")") and whole.count("[") <= whole.count("]"):
            return length
    return 1


def _objects(
    text: str, file: str, damage: list[Damage], reports: ToolReports, objects: list[tuple[int, int]]
) -> Iterator[tuple[int, Found]]:
    """The records in objects, each with its place; `objects` gets the beginning and the end of all objects."""
    end, broken, line, counted_to, position = 0, False, 1, 0, Position(text)
    while begin := OBJECT.search(text, end):
        at = begin.start()
        line, counted_to = line + text.count("\n", counted_to, at), at
        if not broken:
            _check_between(position, end, at, file, damage)
        try:
            document, end = DECODER.raw_decode(text, at)
            broken = False
            objects.append((at, end))
            record = internal_text.mapping(document, "the record")
            if found := _record(record):
                yield at, found
            elif row := console_offsets.row_of(record, file, line):
                reports.take(row)
            else:
                reports.rows[NO_OFFSETS] += 1
        except (ValueError, RecursionError) as fault:
            # Of brackets that are nested too deep, none of the next begins a record either.
            end, broken = max(end, at + TOO_DEEP if isinstance(fault, RecursionError) else begin.end()), True
            damage.append(_unreadable(position, at, file, _short(fault)))
    if not broken:
        _check_between(position, end, len(text), file, damage)
        brace = text.rfind("{", end)
        if brace != -1 and '{"key":'.startswith(text[brace:].rstrip()):
            damage.append(_unreadable(position, brace, file, "it is cut"))


def _check_between(position: "Position", start: int, end: int, file: str, damage: list[Damage]) -> None:
    """What stands between two records is a message of the tool, or what is left of a record."""
    marks = [position.text.find(mark, start, end) for mark in ('"transactionalId"', '"commitTimestamp"')]
    mark = max(marks)
    if mark != -1:
        damage.append(_unreadable(position, mark, file, "its beginning is missing"))


@dataclass(slots=True)
class Position:
    """Counts bytes up to places in a text that are asked for in ascending order."""

    text: str
    at: int = 0
    count: int = 0

    def bytes_before(self, at: int) -> int:
        """Return how many bytes of UTF-8 stand before a place."""
        self.count += len(self.text[self.at : at].encode())
        self.at = at
        return self.count


def _short(fault: Exception) -> str:
    text = str(fault)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _unreadable(position: Position, at: int, file: str, fault: str) -> Damage:
    topic = "offsets" if OF_A_GROUP.match(position.text, at) else "transaction"
    return Damage(file, position.bytes_before(at), f"a record of the {topic} log cannot be read: {fault}")


def _record(document: internal_text.Json) -> Found | None:
    """The record in one object; None when the formatter could not read it itself, or it is of another type."""
    key, value = document.get("key"), document.get("value")
    if key is None:
        return None
    head = internal_text.mapping(key, "key")
    data = head.get("data")
    if str(head.get("type", head.get("version"))) != "0" or data == "unknown":
        return None
    fields = internal_text.mapping(data, "data")
    if "group" in fields and "transactionalId" not in fields:
        return None
    transactional_id = internal_text.text(fields, "transactionalId")
    if value is None:
        return transactional_id, None
    body = internal_text.mapping(value, "value")
    if body.get("data") == "unknown":
        raise Undecodable(f"the tool did not know version {body.get('version')} of the value of {transactional_id!r}")
    return transactional_id, internal_text.transaction_value(body)


# ---- one line a record


def _without_objects(text: str, objects: list[tuple[int, int]]) -> str:
    """The text with blanks and `GLUE` in place of objects: old records may be glued to them."""
    parts, end = [], 0
    for begin, behind in objects:
        parts += [text[end:begin], re.sub(r"[^\n]", " ", text[begin : behind - 1]), GLUE]
        end = behind
    return "".join([*parts, text[end:]])


def _pieces(text: str) -> Iterator[tuple[int, int, Sequence[str], int]]:
    """Each line, or piece of one beside objects: its number, its place, and where it is in a list of lines, from 1."""
    raw = text.split("\n")
    lines, at = [line.rstrip("\r") for line in raw], 0
    for number, line in enumerate(raw, 1):
        begin, pieces = at, line.split(GLUE)
        for piece in pieces:
            own, index = (lines, number) if len(pieces) == 1 else ([piece.rstrip("\r")], 1)
            yield number, begin, own, index
            begin += len(piece) + 1
        at += len(line) + 1


def _lines(
    text: str, file: str, damage: list[Damage], reports: ToolReports, objects: list[tuple[int, int]]
) -> Iterator[tuple[int, Found]]:
    """The records of old text, each with its place."""
    is_glued = bool(objects) and RECORD.search(text) is not None
    rest = _without_objects(text, objects) if is_glued else text
    lines = [line.rstrip("\r") for line in rest.split("\n")] if "::" in rest else []
    has_groups = any(map(console_offsets.is_of_offsets, lines)) and not RECORD.search(text)
    known: set[str] = set()
    doubtful: list[int] = []
    for number, at, own, index in _pieces(rest) if lines else ():
        line = own[index - 1]
        if "::" not in line or OBJECT.search(line):
            continue
        topic = "transaction"
        try:
            if RECORD.search(line):
                found = _unwrapped(own, index, _whole_transaction)
                known.add(found[0])
                yield at + line.index(VALUE), found
            elif console_offsets.is_of_offsets(line):
                topic = "offsets"
                row = _unwrapped(own, index, partial(console_offsets.row_in, file=file, number=number))
                if row is None:
                    reports.rows[NO_OFFSETS] += 1
                else:
                    reports.take(row)
            elif tombstone := TOMBSTONE.fullmatch(line):
                name = _without_noise(tombstone["id"])
                if has_groups:
                    reports.rows[NO_OFFSETS] += 1
                elif name in known or PLAIN.fullmatch(name):
                    yield at, (name, None)
                else:
                    doubtful.append(number)
            elif number == len(lines) and CUT.search(line):
                raise Undecodable("the line is cut")
        except Undecodable as fault:
            message = f"a record of the {topic} log cannot be read: {_short(fault)}"
            damage.append(Damage(file, number, message, Unit.LINE))
    if doubtful:
        count = f"{len(doubtful)} line{'s' if len(doubtful) > 1 else ''}"
        why = "::NULL stands after text that no record above has as its transactional id"
        reports.notes.append(f"{file}: {count} not used, the first is line {doubtful[0]}: {why}")


def _unwrapped(lines: Sequence[str], number: int, read: Callable[[str], Item]) -> Item:
    """Read a line, joined with up to three lines after it if a terminal or an editor wrapped it.

    Raises:
        Undecodable: it cannot be read so either.
    """
    whole = lines[number - 1]
    try:
        return read(whole)
    except Undecodable as fault:
        first = fault
    for behind in lines[number : number + MOST_WRAPS]:
        if "::" in behind or not behind.strip():
            break
        whole += (" " if whole.endswith(",") else "") + behind.lstrip()
        try:
            return read(whole)
        except Undecodable:
            continue
    raise first


def _without_noise(text: str) -> str:
    """Return an id without comment signs and printed properties before it."""
    found = BEFORE.match(text)
    return (text[found.end() :] if found else text) or text


def _whole_transaction(line: str) -> Found:
    at = -1
    for _ in range(MOST_MENTIONS):
        at = line.find(VALUE, at + 1)
        if at == -1:
            break
        before, inside = line[:at], line[at + len(VALUE) :]
        if name := _repeated(before, inside):
            field = f"transactionalId={name}"
            start = inside.index(field)
            rest = inside[start + len(field) :].removeprefix(", ")
            return name, _old_value(_fields(inside[:start] + rest))
    raise Undecodable("the line is cut, or the fields do not repeat the id before them")


def _repeated(before: str, inside: str) -> str | None:
    """Return the longest end of the text before the ``::`` that the fields repeat as the transactional id."""
    found, at = "", -1
    for _ in range(MOST_MENTIONS):
        at = inside.find(ID_FIELD, at + 1)
        if at == -1:
            break
        start = at + len(ID_FIELD)
        rest = inside[start : start + len(before) + 1]
        for length in _common_lengths(before, rest[: len(before)]):
            is_end = rest[length : length + 1] in (",", ")") and not INSIDE_A_NAME.search(before[-length - 1 : -length])
            if is_end and length > len(found):
                found = rest[:length]
    return found or None


def _common_lengths(text: str, start: str) -> Iterator[int]:
    """Yield the lengths of all ends of a text that `start` begins with, the longest first, in linear time."""
    if not start:
        return
    shorter, length = [0] * len(start), 0
    for at in range(1, len(start)):
        while length and start[at] != start[length]:
            length = shorter[length - 1]
        length += start[at] == start[length]
        shorter[at] = length
    length = 0
    for character in text:
        while length and (length == len(start) or character != start[length]):
            length = shorter[length - 1]
        length += character == start[length]
    while length:
        yield length
        length = shorter[length - 1]


def _fields(inside: str) -> ScalaFields:
    """Return the fields up to the bracket that closes the record; a remark may follow it."""
    depth = 0
    for at, character in enumerate(inside):
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            return fields_of(WITHOUT_EQUALS.sub(r"\1=", inside[:at].removesuffix(", ")))
    raise Undecodable("the line is cut")


def _old_value(fields: ScalaFields) -> TransactionLogValue:
    partitions = "topicPartitions" if "topicPartitions" in fields else "partitions"
    return TransactionLogValue(
        producer_id=fields.number("producerId"),
        previous_producer_id=None,
        next_producer_id=None,
        producer_epoch=fields.number("producerEpoch"),
        timeout_ms=fields.number("txnTimeoutMs"),
        state=internal_text.state_named(fields.text("state")),
        partitions=internal_text.partitions_in(fields.text(partitions)),
        last_update_ms=fields.number("txnLastUpdateTimestamp"),
        start_ms=fields.number("txnStartTimestamp"),
        client_transaction_version=None,
    )

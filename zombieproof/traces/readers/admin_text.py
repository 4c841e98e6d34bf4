"""Records of Kafka's Java Admin client as ``toString`` prints them, anywhere in a line.

TransactionListing, TransactionDescription and ProducerState exist since 3.0 and print the same in all releases since;
OffsetAndMetadata prints in braces since 0.11. The keys of maps name the transactional id and the partition.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.readers.internal_text import partitions_in
from zombieproof.traces.readers.scala_text import ScalaFields, fields_of
from zombieproof.traces.readers.tool_columns import Cell, Row, value_of
from zombieproof.traces.tool_reports import EndRow, GroupRow, ProducerRow, Told, TransactionRow

LISTING = "TransactionListing("
DESCRIPTION = "TransactionDescription("
PRODUCER = "ProducerState("
POSITION = "=OffsetAndMetadata{"
END = "=ListOffsetsResultInfo("
MARKS = (LISTING, DESCRIPTION, PRODUCER, POSITION, END)
FIELD_OF = {
    LISTING: re.compile(r"transactionalId='"),
    DESCRIPTION: re.compile(r"coordinatorId="),
    PRODUCER: re.compile(r"producerId="),
    POSITION: re.compile(r"offset="),
    END: re.compile(r"offset="),
}
STARTS = re.compile("|".join(re.escape(mark) + FIELD_OF[mark].pattern for mark in MARKS))

LISTED = re.compile(
    r"transactionalId='(?P<id>.*?)', producerId=(?P<producer>-?\d{1,19}), transactionState=(?P<state>\w+)\)"
)
PARTITION = re.compile(r"(?<![a-zA-Z0-9._-])(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})$", re.ASCII)
LONGEST_PLACE = 1 + 249 + 1 + 10
PRODUCERS_OF = re.compile(
    r"(?<![a-zA-Z0-9._-])(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})[= ]"
    r"(?:PartitionProducerState\(activeProducers=)?\[",
    re.ASCII,
)
OPTIONAL = re.compile(r"Optional(?:Int|Long)?(?:\.empty|\[(?P<value>-?\d{1,19})\])", re.ASCII)
BRACED = re.compile(
    r"offset=(?P<offset>-?\d{1,19})(?:, leaderEpoch=(?:null|-?\d{1,10}))?, metadata='(?P<metadata>.*?)'\}", re.ASCII
)


def is_printed_in(line: str) -> bool:
    """Return whether a line contains one of these records."""
    return "=" in line and STARTS.search(line) is not None


def rows_in(line: str, file: str, number: int, skipped: Counter[str]) -> Iterator[Row]:
    """Yield the records in a line, and count in `skipped` those that are cut."""
    if not is_printed_in(line):
        return
    starts = list(STARTS.finditer(line))
    since = 0
    place: TopicPartition | None = None
    for at, found in enumerate(starts):
        mark = next(mark for mark in MARKS if found.group().startswith(mark))
        end = starts[at + 1].start() if at + 1 < len(starts) else len(line)
        name = mark.strip("=({")
        told = Told(f"{name} of Kafka's Admin client", file, number)
        before, inside = line[since : found.start()], line[found.start() + len(mark) : end]
        since, place = found.start(), _producers_of(before) or place
        try:
            row = READERS[mark](before, inside, told)
            yield replace(row, place=place) if isinstance(row, ProducerRow) else row
        except Undecodable as fault:
            skipped[f"{name} of Kafka's Admin client ({fault})"] += 1


def _listing(_: str, inside: str, told: Told) -> Row:
    found = LISTED.match(inside)
    if found is None:
        raise Undecodable("the record is cut")
    state = value_of(Cell.STATE, found["state"])
    return TransactionRow(found["id"], int(found["producer"]), None, str(state), told)


def _description(before: str, inside: str, told: Told) -> Row:
    fields = _fields(inside)
    return TransactionRow(
        transactional_id=_key(before) if before.endswith("=") else None,
        producer_id=fields.number("producerId"),
        producer_epoch=fields.number("producerEpoch"),
        state=str(value_of(Cell.STATE, fields.text("state"))),
        told=told,
        coordinator_id=fields.number("coordinatorId"),
        timeout_ms=fields.number("transactionTimeoutMs"),
        start_ms=_optional(fields, "transactionStartTimeMs"),
        partitions=partitions_in(fields.text("topicPartitions")),
    )


def _producers_of(before: str) -> TopicPartition | None:
    """Return the partition whose list of producers begins last in a text."""
    places = list(PRODUCERS_OF.finditer(before)) if "[" in before else []
    return (places[-1]["topic"], int(places[-1]["partition"])) if places else None


def _producer(_: str, inside: str, told: Told) -> Row:
    fields = _fields(inside)
    last = fields.number("lastTimestamp")
    coordinator_epoch = _optional(fields, "coordinatorEpoch")
    return ProducerRow(
        place=None,
        producer_id=fields.number("producerId"),
        producer_epoch=fields.number("producerEpoch"),
        coordinator_epoch=NONE if coordinator_epoch is None else coordinator_epoch,
        last_timestamp_ms=last if last >= 0 else None,
        first_offset=_optional(fields, "currentTransactionStartOffset"),
        told=told,
    )


def _position(before: str, inside: str, told: Told) -> Row:
    found = BRACED.match(inside)
    if found is None:
        raise Undecodable("the record is cut")
    return GroupRow(None, _place(before), int(found["offset"]), told)


def _end(before: str, inside: str, told: Told) -> Row:
    return EndRow(_place(before), _fields(inside).number("offset"), told)


def _place(before: str) -> TopicPartition:
    found = PARTITION.search(before[-LONGEST_PLACE:])
    if found is None:
        raise Undecodable("no partition stands before it")
    return found["topic"], int(found["partition"])


def _key(before: str) -> str | None:
    """Return the key of an entry of a map, from the text before its value; outside of a map, the last word."""
    _, ended, rest = before[:-1].rpartition("]), ")
    if ended:
        return rest or None
    _, opened, rest = rest.rpartition("{")
    return (rest if opened else rest.rpartition(" ")[2]) or None


def _fields(inside: str) -> ScalaFields:
    depth = 0
    for at, character in enumerate(inside):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return fields_of(inside[:at])
    raise Undecodable("the record is cut")


def _optional(fields: ScalaFields, name: str) -> int | None:
    found = OPTIONAL.fullmatch(fields.text(name))
    if found is None:
        raise Undecodable(f"{name} is not an optional number")
    return None if found["value"] is None else int(found["value"])


READERS: Mapping[str, Callable[[str, str, Told], Row]] = {
    LISTING: _listing,
    DESCRIPTION: _description,
    PRODUCER: _producer,
    POSITION: _position,
    END: _end,
}

"""Lines of ``kafka-dump-log`` as it printed them: without colours and signs of a pager, with the bar before a record.

Payloads may hold anything, colours too. So colours go only where the tool's own words have them, or where the printed
sizes show that a payload does not have them.
"""

import re

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.readers.dump_body import OTHER_KEYS, REPLACED, STRUCTURE, size_of, topic_of_key
from zombieproof.traces.readers.dump_lines import OLD_RECORD, RecordLine, old_record_of, record_of

ESCAPE = "\x1b"
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-2A-B]")
COLOURED = "ANSI colours"
OVERWRITTEN = "text that a terminal overwrote (a pager's prompt, or letters printed twice)"
OTHER_BARS = "other signs in place of the bar before a record"

_TYPES = r"(?:CreateTime|LogAppendTime|NoTimestampType)"
_BAR = re.compile(
    r"\s{0,4}(?:\\?\|{1,2}|[^\w\s|\x1b]{1,3})?\s{0,4}"
    rf"(?P<record>offset: \d{{1,19}} (?:isValid: \w+ crc: \w+ .*?)?{_TYPES}: -?\d)",
    re.ASCII,
)
"""A record whose bar became a ligature, a bullet or an entity, or is not there."""
_HEADERS = "headerKeys: ["
_OF_SNAPSHOTS = ("producerId: ", "version: ")


def uncoloured(line: str) -> str:
    """A line without sequences for colours and for clearing the rest of a line."""
    return COLOURS.sub("", line)


def as_shown(line: str) -> str:
    """What a terminal shows of a line: what follows a carriage return or a backspace overwrites what was there."""
    body = line.removesuffix("\r")
    if "\b" not in body and "\r" not in body:
        return line
    shown: list[str] = []
    at = 0
    for part in re.split(r"([\b\r])", body):
        if part == "\b":
            at = max(0, at - 1)
        elif part == "\r":
            at = 0
        else:
            shown[at : at + len(part)] = part
            at += len(part)
    return "".join(shown) + line[len(body) :]


def is_changed(line: str) -> bool:
    """Whether a line has characters that the tool does not print."""
    return ESCAPE in line or "\b" in line or "\r" in line


def as_printed(line: str) -> str:
    """A line that `is_changed` as the tool printed it; as it is where a payload may have been so."""
    head, mark, behind = line.partition(_HEADERS)
    head = as_shown(uncoloured(head))
    if mark and head.startswith(("| offset: ", "offset: ")):
        return f"{head}{mark}{_payload_as_printed(head + mark, behind)}"
    plain = as_shown(uncoloured(line))
    return plain if plain.startswith((*STRUCTURE, *_OF_SNAPSHOTS)) else line


def _payload_as_printed(head: str, behind: str) -> str:
    """What follows the header keys of a record, without what its size shows not to be of it."""
    plain = uncoloured(behind)
    plain = plain if "\r" in plain else as_shown(plain)
    if not is_changed(behind):
        return behind
    try:
        was, record = _record_of(head + behind), _record_of(head + plain)
    except Undecodable:
        return plain
    return plain if _fits(record) or _is_too_long(was, record) else behind


def _record_of(line: str) -> RecordLine:
    return old_record_of(line, "")[0] if OLD_RECORD.match(line) else record_of(line)


def _fits(record: RecordLine) -> bool:
    """Whether a record without them is whole: its words are the tool's, or it has the size that is printed."""
    body = record.rest.removeprefix("key: ")
    wanted = size_of(record)
    return wanted in (None, len(record.rest.encode())) or bool(topic_of_key(body)) or body.startswith(OTHER_KEYS)


def _is_too_long(was: RecordLine, record: RecordLine) -> bool:
    """Whether only they make a payload longer than its size, which then runs over lines."""
    wanted = size_of(record) or 0
    return len(record.rest.encode()) < wanted < len(was.rest.encode()) and REPLACED not in was.rest


def with_bar(line: str) -> str | None:
    """The line of a record whose bar was changed on its way; None for any other line."""
    found = _BAR.match(line)
    return f"| {line[found.start('record') :]}" if found else None

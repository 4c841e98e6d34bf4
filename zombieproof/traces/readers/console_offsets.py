"""Output of a console consumer with a formatter for ``__consumer_offsets``: positions of groups, one a record.

OffsetsMessageFormatter: at first ``[g,t,0]::[OffsetMetadata[20,NO_METADATA],CommitTime …]``, then, up to 3.8,
``[g,t,0]::OffsetAndMetadata(offset=20, …)``; since 3.9 JSON. A consumer that reads uncommitted prints the
records of open and aborted transactions as well.
"""

import re
from itertools import islice

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.readers import internal_text
from zombieproof.traces.tool_reports import GroupRow, Told

OFFSETS = "console consumer of __consumer_offsets"
NO_OFFSETS = f"{OFFSETS}, which holds no offset (metadata of groups, or a record that the tool did not know)"

PLACE = re.compile(r",(?P<topic>[a-zA-Z0-9._-]{1,249}),(?P<partition>\d{1,10})\]::", re.ASCII)
MOST_KEYS = 8
BRACKET = re.compile(r"[\[\]]")
NUMBER = r"-?\d{1,19}"
EXPIRY = rf"(?:None|Some\({NUMBER}\)|Optional(?:Long)?(?:\.empty|\[{NUMBER}\])|{NUMBER}|NO_EXPIRY_TIMESTAMP)"
VALUES = (
    re.compile(
        rf"OffsetAndMetadata\((?:committedO|o)ffset=(?P<offset>{NUMBER})(?:, leaderEpoch=[^,]*)?, metadata=.*?"
        rf", commitTimestamp(?:Ms)?=(?P<time>{NUMBER})(?:, expireTimestamp(?:Ms)?={EXPIRY})?"
        r"(?:, \w+=[^,()]*){0,8}\)",
        re.ASCII,
    ),
    re.compile(
        rf"\[OffsetMetadata\[(?P<offset>{NUMBER}),.*\]\s*(?:,\s*)?CommitTime (?P<time>{NUMBER})"
        rf"(?:,?\s*ExpirationTime {EXPIRY})?\]",
        re.ASCII,
    ),
    re.compile(r"(?P<offset>)(?P<time>)NULL"),
)
GROUP = re.compile(r"::(?:GroupMetadata\(|\[[^\[\],]*,(?:Some\(|None,))|^\s*unknown::version=")


def is_of_offsets(line: str) -> bool:
    """Return whether a line, even a cut one, is from this formatter or the one for metadata of groups."""
    return "::" in line and (_key_in(line) is not None or GROUP.search(line) is not None)


def _key_in(line: str) -> tuple[str, re.Match[str]] | None:
    """Return the group and the rest of a key ``[group,topic,partition]::``; a group may have brackets in its name."""
    for place in islice(PLACE.finditer(line), MOST_KEYS):
        depth = 0
        for bracket in reversed(list(BRACKET.finditer(line, 0, place.start()))):
            depth += 1 if bracket[0] == "]" else -1
            if depth < 0:
                return line[bracket.end() : place.start()], place
    return None


def row_in(line: str, file: str, number: int) -> GroupRow | None:
    """Return the position in a line; None for metadata of a group.

    Raises:
        Undecodable: the line is cut or garbled.
    """
    key = _key_in(line)
    if key is None:
        return None
    group, place = key
    value = next(filter(None, (form.match(line, place.end()) for form in VALUES)), None)
    if value is None:
        raise Undecodable("the line is cut")
    return GroupRow(
        group=group,
        place=(place["topic"], int(place["partition"])),
        offset=int(value["offset"]) if value["offset"] else None,
        told=Told(OFFSETS, file, number),
        committed_ms=int(value["time"]) if value["time"] else None,
        is_record=True,
    )


def row_of(document: internal_text.Json, file: str, number: int) -> GroupRow | None:
    """Return the position in an object ``{"key":…,"value":…}``; None for other records.

    Raises:
        Undecodable: a field is missing, or holds something else.
    """
    key = document.get("key")
    data = key.get("data") if isinstance(key, dict) else None
    if not isinstance(data, dict) or "topic" not in data:
        return None
    value, group = document.get("value"), internal_text.text(data, "group")
    place = (internal_text.text(data, "topic"), internal_text.integer(data, "partition"))
    offset = time = None
    if value is not None:
        body = internal_text.mapping(internal_text.mapping(value, "value").get("data"), "data")
        offset, time = internal_text.integer(body, "offset"), internal_text.integer(body, "commitTimestamp", -1)
    told = Told(OFFSETS, file, number)
    return GroupRow(group, place, offset, told, committed_ms=time if time != -1 else None, is_record=True)

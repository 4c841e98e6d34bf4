"""Times as milliseconds since 1970: read at the head of log lines, and written for people.

A log line without a time zone is read as UTC, unless a collector put an exact time before it, which tells the zone. A
time with ``Z`` or an offset is exact.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

TIME = (
    r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?:Z|[+-]\d\d(?::?\d\d)?| (?:UTC|GMT|[+-]\d\d:?\d\d))?"
)
"""ISO 8601 with its variants in logs: a blank or T, a comma or a dot, any number of digits, and perhaps an offset."""

HEAD = re.compile(rf"\[?({TIME})\]?(?:[ \t]|$)", re.ASCII)
OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)?$", re.ASCII)
DATE_AND_TIME = 19
QUARTER_MS, FARTHEST_MS = 15 * 60_000, 14 * 3_600_000
"""Zones differ from UTC by whole quarters of an hour, and by 14 hours at most."""
COLLECTED_MS = 60_000
"""How much later than a program wrote a line a collector may have got it."""


def timestamp_ms(line: str) -> int | None:
    """The time at the head of a line such as ``[2026-11-21 13:19:48,339] DEBUG …``; None when it has none."""
    found = HEAD.match(line)
    if found is None:
        return None
    offset = OFFSET.search(found[1], DATE_AND_TIME)
    second = _second(found[1][:DATE_AND_TIME], offset[0] if offset else "")
    return None if second is None else second * 1000 + int((found[8] or "0")[:3].ljust(3, "0"))


@lru_cache(maxsize=256)
def _second(date_and_time: str, offset: str) -> int | None:
    """Seconds since 1970: many lines of a log are of one second."""
    try:
        moment = datetime.fromisoformat(date_and_time).replace(tzinfo=_zone(offset))
        return round(moment.timestamp())
    except (ValueError, OverflowError):
        return None


def _zone(offset: str) -> timezone:
    """The zone with an offset; UTC if it is empty.

    Raises:
        ValueError: no zone has such an offset.
    """
    found = OFFSET.fullmatch(offset)
    if found is None:
        return UTC
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-ahead if found[1] == "-" else ahead)


def in_utc(line: str, collected: str) -> str:
    """A line in UTC that begins with a time without a zone, where the time at which it was collected tells the zone."""
    found = HEAD.match(line)
    written, exact = timestamp_ms(line), timestamp_ms(f"{collected} ")
    if found is None or written is None or exact is None or not found[1][-3:].lstrip(".,:").isdecimal():
        return line
    if OFFSET.search(found[1], DATE_AND_TIME):
        return line
    ahead = round((written - exact) / QUARTER_MS) * QUARTER_MS
    if not ahead or abs(ahead) > FARTHEST_MS or abs(written - exact - ahead) > COLLECTED_MS:
        return line
    moment = utc(written - ahead)
    at = found.start(1)
    date_and_time = f"{moment[:10]}{line[at + 10]}{moment[11:DATE_AND_TIME]}"
    return f"{line[:at]}{date_and_time}{line[at + DATE_AND_TIME :]}"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(ms: int) -> str:
    """A time such as ``2026-11-21 13:19:48.339Z``; one that no calendar has is given as its number."""
    try:
        moment = EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return f"{_written(moment)}Z"


def local(ms: int) -> str:
    """The same time in the zone of this machine (``TZ``), with its offset: ``2026-11-21 14:19:48.339+01:00``."""
    try:
        moment = (EPOCH + timedelta(milliseconds=ms)).astimezone()
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"
    offset = moment.strftime("%z")
    return f"{_written(moment)}{offset[:3]}:{offset[3:5]}"


def _written(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")

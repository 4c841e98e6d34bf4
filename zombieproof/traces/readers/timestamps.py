"""Times as milliseconds since 1970: read at the head of log lines, and written for people.

A log line has no time zone: it is read as UTC.
"""

import re
from datetime import UTC, datetime, timedelta

HEAD = re.compile(r"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?Z?\]? ", re.ASCII)


def timestamp_ms(line: str) -> int | None:
    """The time at the head of a line such as ``[2026-11-21 13:19:48,339] DEBUG …``; None when it has none."""
    found = HEAD.match(line)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int((found[7] or "0")[:3].ljust(3, "0"))


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

"""Wall clock times at the head of log lines, as milliseconds since 1970. A log has no time zone: it is read as UTC."""

import re
from datetime import UTC, datetime

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

"""What a coordinator's log says of markers that it gave up, looked for when a marker is missing.

The line is of ``TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue``, at INFO, in all releases since 0.11.
"""

import re
from pathlib import Path
from typing import NamedTuple

from zombieproof.traces.evidence import Evidence
from zombieproof.traces.files import opened
from zombieproof.traces.timestamps import timestamp_ms

SKIPPED = re.compile(
    rb"^(?P<head>[^\n]*)Couldn't find leader endpoint for partitions "
    rb"(?:Set\(|\[|HashSet\()(?P<partitions>[^)\]\n]*)[)\]]"
    rb" while trying to send transaction markers for (?P<id>[^\n]*?), these partitions are likely deleted already",
    re.MULTILINE,
)


class SkippedMarker(NamedTuple):
    """A line that says that markers of a transactional id were skipped. The time reads a wall clock as UTC."""

    file: str
    line: int
    timestamp_ms: int | None


def skipped_markers(evidence: Evidence, transactional_id: str | None, place: str) -> list[SkippedMarker]:
    """The lines about a transactional id and a partition, in the logs of coordinators that were read."""
    found = []
    for file in dict.fromkeys(line.file for line in evidence.coordinator_lines):
        try:
            with opened(Path(file)) as content:
                found += _in(content.data, file, transactional_id, place)
        except OSError:
            # It was there when it was read; what it said of markers is a hint that can be done without.
            continue
    return found


def _in(data: memoryview, file: str, transactional_id: str | None, place: str) -> list[SkippedMarker]:
    found = []
    for line in SKIPPED.finditer(data):
        partitions = [each.strip() for each in line["partitions"].decode(errors="replace").split(",")]
        if place in partitions and line["id"].decode(errors="replace") == transactional_id:
            number = bytes(data[: line.start()]).count(b"\n") + 1
            found.append(SkippedMarker(file, number, timestamp_ms(line["head"].decode(errors="replace"))))
    return found

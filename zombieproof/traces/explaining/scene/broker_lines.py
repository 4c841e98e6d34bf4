"""What a coordinator's log says of markers that it gave up, looked for when a marker is missing.

The line is of ``TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue``, at INFO, in all releases since 0.11.
"""

import re
from pathlib import Path
from typing import NamedTuple

from zombieproof.traces.evidence import Evidence
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.forms import plain_parts
from zombieproof.traces.readers.timestamps import timestamp_ms

SKIPPED = re.compile(
    rb"Couldn't find leader endpoint for partitions (?:Set\(|\[|HashSet\()(?P<partitions>[^)\]\n]*)[)\]]"
    rb" while trying to send transaction markers for (?P<id>[^\n]*?), these partitions are likely deleted already"
)
HEAD = 512


class SkippedMarker(NamedTuple):
    """A line that says that markers of a transactional id were skipped. The time reads a wall clock as UTC."""

    file: str
    line: int
    timestamp_ms: int | None


Skipped = dict[tuple[str, str], list[SkippedMarker]]
"""By transactional id and partition."""


def skipped_markers(evidence: Evidence) -> Skipped:
    """All such lines in the logs of coordinators that were read."""
    found: Skipped = {}
    for file in dict.fromkeys(line.file for line in evidence.coordinator_lines):
        try:
            with opened(Path(file)) as content:
                for part in plain_parts(content.data):
                    _read(part.data, file, found)
        except OSError:
            # It was there when it was read; what it said of markers is a hint that can be done without.
            continue
    return found


def _read(data: memoryview, file: str, found: Skipped) -> None:
    number, counted = 1, 0
    for line in SKIPPED.finditer(data):
        number += bytes(data[counted : line.start()]).count(b"\n")
        counted = line.start()
        head = bytes(data[max(0, line.start() - HEAD) : line.start()]).rpartition(b"\n")[2]
        marker = SkippedMarker(file, number, timestamp_ms(head.decode(errors="replace")))
        for partition in line["partitions"].decode(errors="replace").split(","):
            found.setdefault((line["id"].decode(errors="replace"), partition.strip()), []).append(marker)

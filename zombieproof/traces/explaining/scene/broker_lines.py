"""Lines of brokers' logs that explain findings, by transactional id and partition."""

from collections.abc import Iterable, Sequence

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.evidence import BrokerLine, Evidence

SKIPPED = "marker_skipped"
TIMED_OUT = "timed_out"
TRUNCATIONS = frozenset({"log_truncated", "truncated_below_high_watermark", "copy_reset", "log_corrupt", "log_emptied"})
"""Statements that records from an offset on are gone from a copy."""

SLACK_MS = 60_000
"""A line is written this soon before or after what it tells."""
QUARTER_MS = 15 * 60_000
ZONES_MS = range(-14 * 4 * QUARTER_MS, 14 * 4 * QUARTER_MS + 1, QUARTER_MS)
"""A broker's log may be written in any time zone: they are whole quarters of an hour apart."""


class BrokerLines:
    """The lines that explain findings, each index made once."""

    def __init__(self, evidence: Evidence) -> None:
        self._skipped: dict[tuple[str, TopicPartition], list[BrokerLine]] = {}
        self._timed_out: dict[str, list[BrokerLine]] = {}
        self._truncated: dict[TopicPartition, list[BrokerLine]] = {}
        for line in evidence.broker_lines:
            if line.statement == SKIPPED:
                for place in line.places:
                    self._skipped.setdefault((line.transactional_id or "", place), []).append(line)
            elif line.statement == TIMED_OUT:
                self._timed_out.setdefault(line.transactional_id or "", []).append(line)
            elif line.statement in TRUNCATIONS and "offset" in line.fields:
                for place in line.places:
                    self._truncated.setdefault(place, []).append(line)

    def skipped(self, transactional_id: str | None, place: TopicPartition) -> Sequence[BrokerLine]:
        """Lines that say that the marker of an id on a partition was skipped for want of a leader."""
        return self._skipped.get((transactional_id or "", place), ())

    def timed_out(self, transactional_id: str | None) -> Sequence[BrokerLine]:
        """Lines that say that a transaction of an id was aborted because it was open for too long."""
        return self._timed_out.get(transactional_id or "", ())

    def truncated(self, place: TopicPartition, first: int, last: int | None) -> list[BrokerLine]:
        """Lines that say that a copy of a partition was cut at an offset from `first` to `last`."""
        return [
            line
            for line in self._truncated.get(place, ())
            if first <= int(line.fields["offset"]) and (last is None or int(line.fields["offset"]) <= last)
        ]


def near(lines: Iterable[BrokerLine], begin: int | None, end: int | None) -> list[BrokerLine]:
    """The lines from `begin` to `end` (None: unknown); if there are none, those that are so in another time zone."""
    lines = list(lines)
    found = [line for line in lines if _is_between(line.timestamp_ms, begin, end)]
    return found or [
        line
        for line in lines
        if line.timestamp_ms is not None
        and any(_is_between(line.timestamp_ms - zone_ms, begin, end) for zone_ms in ZONES_MS)
    ]


def _is_between(moment: int | None, begin: int | None, end: int | None) -> bool:
    if moment is None:
        return True
    return (begin is None or begin - SLACK_MS <= moment) and (end is None or moment <= end + SLACK_MS)

"""The consumer's filter: what a reader makes of one answer of the broker.

"p1 [0,1]": transactional records of producer 1 at these offsets; "A p1@2" and "C p1@2": abort and commit marker;
"aborted": the list that came with the answer. Isolation is read_committed unless said.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.phrases import Fields, check, matched
from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.read_committed import CorruptBatchError, FetchFilter
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.messages.partitions import Fetched
from zombieproof.model.vocabulary import NONE, Isolation

ISOLATIONS = {"read_committed": Isolation.READ_COMMITTED, "read_uncommitted": Isolation.READ_UNCOMMITTED}
POLLS = 3
"""How often "several times" is."""


@dataclass
class Answer:
    """The batches of an answer in their order, and where a checksum is wrong."""

    batches: list[Batch] = field(default_factory=list)
    corrupt_at: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The offset behind the last batch."""
        return self.batches[-1].last_offset + 1 if self.batches else 0


def run(case: Case) -> None:
    """Run one case."""
    given = Fields(case.given, "given")
    name = given.take("isolation", "read_committed")
    if name not in ISOLATIONS:
        raise NotRunnable(f"{name!r} is no isolation; there are: {', '.join(ISOLATIONS)}")
    answer = _answer(given.take("log"))
    aborted = _aborted(given.take("aborted", "none"))
    given.done()
    match = matched(r"fetch from (?P<start>\d+)|poll, several times", case.when, "when")
    start = int(match["start"] or 0)
    reader = FetchFilter(("t", 0), ISOLATIONS[name], rules_of(case.baseline), Journal(), start)
    fetched = Fetched(0, answer.end, answer.end, 0, aborted, tuple(answer.batches))
    _compare(reader, fetched, answer, start, 1 if match["start"] else POLLS, Fields(case.expect, "expect"))


def _compare(reader: FetchFilter, fetched: Fetched, answer: Answer, start: int, polls: int, expect: Fields) -> None:
    level = int(reader.request().isolation)
    raises = expect.take("raises")
    if raises is not None:
        matched("KafkaException each time", raises, "raises")
    delivered: list[int] = []
    for _ in range(polls):
        try:
            delivered += [each.offset for each in reader.read(fetched, answer.corrupt_at)]
        except CorruptBatchError as error:
            if raises is None:
                raise Failed(f"raised {error}") from error
        else:
            check("raised each time", raises, None)
    wanted: dict[str, Any] = dict(expect.items())
    for key, value in wanted.items():
        if key == "records":
            check("records", [] if value == "none" else value, delivered)
        elif key == "position":
            check("position", start if value == "unchanged" else value, reader.position)
        elif key == "position_advanced":
            check("position behind what was fetched", value, reader.position == answer.end > start)
        elif key == "request_isolation_level":
            check("isolation level of the request", value, level)
        else:
            raise NotRunnable(f"expect: {key!r} is not understood")


# ---------------------------------------------------------------- given


def _aborted(text: object) -> tuple[tuple[int, int], ...]:
    if text == "none":
        return ()
    pattern = r"\(p(\d+), (\d+)\)"
    matched(rf"{pattern}(?:, {pattern})*", text, "aborted")
    return tuple((int(producer_id), int(first)) for producer_id, first in re.findall(pattern, str(text)))


def _answer(text: object) -> Answer:
    if not isinstance(text, str):
        raise NotRunnable(f"log {text!r} is not understood")
    answer, rest = Answer(), text
    while rest:
        for pattern, build in BATCHES.items():
            match = re.match(rf"(?:{pattern})(?:, |$)", rest)
            if match is not None:
                build(answer, match)
                rest = rest[match.end() :]
                break
        else:
            raise NotRunnable(f"{rest!r} in log {text!r} is not understood")
    return answer


def _records(offsets: list[int]) -> tuple[Record, ...]:
    return tuple(Record(None, str(offset).encode(), offset - offsets[0]) for offset in offsets)


def _data(answer: Answer, match: re.Match[str]) -> None:
    offsets = [int(offset) for offset in match["offsets"].split(",")]
    last = offsets[-1] - offsets[0]
    answer.batches.append(Batch(int(match["pid"]), 0, 0, True, _records(offsets), None, last, base_offset=offsets[0]))


def _marker(answer: Answer, match: re.Match[str]) -> None:
    marker = Marker(match["outcome"] == "C", 0)
    pid, offset = int(match["pid"]), int(match["offset"])
    answer.batches.append(Batch(pid, 0, NONE, True, (), marker, base_offset=offset))


def _emptied_marker(answer: Answer, match: re.Match[str]) -> None:
    pid, offset = int(match["pid"]), answer.end
    answer.batches.append(Batch(pid, 0, NONE, True, base_offset=offset, is_empty_control=True))


def _compacted(answer: Answer, match: re.Match[str]) -> None:
    """A batch of which one record is gone, or all of them."""
    first, last = int(match["first"]), int(match["last"])
    gone = match.groupdict().get("gone")
    offsets = [] if gone is None else [offset for offset in range(first, last + 1) if offset != int(gone)]
    records = tuple(Record(None, str(offset).encode(), offset - first) for offset in offsets)
    answer.batches.append(Batch(1, 0, 0, False, records, None, last - first, base_offset=first))


def _corrupt(answer: Answer, match: re.Match[str]) -> None:
    offset = answer.end
    answer.batches.append(Batch(1, 0, 0, False, _records([offset]), base_offset=offset))
    answer.corrupt_at.append(offset)


BATCHES: Mapping[str, Any] = {
    r"p(?P<pid>\d+) \[(?P<offsets>\d+(?:,\d+)*)\]": _data,
    r"(?P<outcome>[AC]) p(?P<pid>\d+)@(?P<offset>\d+)": _marker,
    r"empty control batch of p(?P<pid>\d+)": _emptied_marker,
    r"one batch (?P<first>\d+)-(?P<last>\d+) whose record (?P<gone>\d+) was compacted away": _compacted,
    r"batch (?P<first>\d+)-(?P<last>\d+) without records": _compacted,
    r"batch with a wrong CRC": _corrupt,
}

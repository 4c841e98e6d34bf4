"""Each batch of each recording is removed, repeated or swapped: that is noticed, or no reader could notice it.

Only the segments are given, so all of it shows in the logs alone. `UNNOTICED` says which changes leave a history that a
cluster can have had.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import NamedTuple

import pytest

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.traces.evidence import LoggedBatch
from zombieproof.traces.readers.segments import Keep, read_segment
from zombieproof.traces.readers.transaction_log import read_batch
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Report

RECORDINGS = Path(__file__).parents[1] / "recordings"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
DAMAGED = ("23-bad-crc", "23-truncated-segment")
COMPACTED = "c"
LONG = ("17-producer-performance", "19-soak", "20-epoch-exhaustion")


def folders(root: Path) -> list[Path]:
    found = sorted(root.iterdir()) if root.is_dir() else []
    return [path for path in found if path.is_dir() and path.name not in (*DAMAGED, *LONG)]


class Moved(NamedTuple):
    """A batch that is removed, repeated behind the last one, or swapped with the next."""

    how: str
    file: Path
    batches: list[LoggedBatch]
    number: int

    @property
    def batch(self) -> LoggedBatch:
        """The batch itself."""
        return self.batches[self.number]

    @property
    def next(self) -> LoggedBatch:
        """The one it is swapped with."""
        return self.batches[self.number + 1]

    @property
    def topic(self) -> str:
        """Which topic it is of."""
        return self.file.parent.name.rpartition("-")[0]

    def applied(self, data: bytes) -> bytes:
        """The segment afterwards. No checksum covers the offset of a batch."""
        parts = [data[each.position : each.position + each.size] for each in self.batches]
        begin = self.batch.base_offset
        if self.how == "remove":
            del parts[self.number]
        elif self.how == "repeat":
            parts.append(pack(">q", self.batches[-1].last_offset + 1) + parts[self.number][8:])
        else:
            one, other = parts[self.number : self.number + 2]
            behind = begin + self.next.last_offset - self.next.base_offset + 1
            parts[self.number : self.number + 2] = [pack(">q", begin) + other[8:], pack(">q", behind) + one[8:]]
        return b"".join(parts)


def ids_of(batch: LoggedBatch) -> set[str]:
    return {record.transactional_id for record in read_batch(batch, 0)}


def is_newest_of_its_ids(moved: Moved) -> bool:
    later = (ids_of(each) for each in moved.batches[moved.number + 1 :])
    return not ids_of(moved.batch).intersection(*[set().union(*later)])


def is_of_another(moved: Moved) -> bool:
    one, other = moved.batch, moved.next
    if moved.topic == TRANSACTION_STATE:
        return not ids_of(one) & ids_of(other)
    return one.producer_id != other.producer_id or one.producer_id < 0


UNNOTICED: dict[str, tuple[str, Callable[[Moved], bool]]] = {
    "nothing follows that shows the end": ("remove", lambda moved: moved.number == len(moved.batches) - 1),
    "the topic is compacted, and a cleaner may have taken it": (
        "remove",
        lambda moved: moved.topic.startswith("__") or moved.topic == COMPACTED,
    ),
    "a producer without numbers may send a record twice, and a group commit an offset": (
        "repeat",
        lambda moved: moved.batch.producer_id < 0 and moved.topic != TRANSACTION_STATE,
    ),
    "a coordinator sends a marker again when it was not answered": ("repeat", lambda moved: moved.batch.is_control),
    "a coordinator writes a record again when it does not know what became of it; tombstones have no time": (
        "repeat",
        lambda moved: (
            moved.topic == TRANSACTION_STATE
            and (is_newest_of_its_ids(moved) or any(each.value is None for each in read_batch(moved.batch, 0)))
        ),
    ),
    "nothing orders what different producers or coordinators of ids write": ("swap", is_of_another),
    "up to version 1 one epoch has many transactions: only clocks tell of which a record is": (
        "swap",
        lambda moved: (
            moved.batch.is_control != moved.next.is_control and moved.batch.producer_epoch == moved.next.producer_epoch
        ),
    ),
    "they are the same record, which was sent again after the broker had forgotten its producer": (
        "swap",
        lambda moved: moved.batch.base_sequence == moved.next.base_sequence >= 0,
    ),
}
"""Why a change leaves a history that can have been: what kind of change, and which."""


def changes(folder: Path) -> Iterator[Moved]:
    for file in sorted(folder.rglob("*.log")):
        batches = read_segment(memoryview(file.read_bytes()), str(file), Keep.ALL).batches
        for number in range(len(batches)):
            yield Moved("remove", file, batches, number)
            yield Moved("repeat", file, batches, number)
            if number + 1 < len(batches):
                yield Moved("swap", file, batches, number)


def said(report: Report) -> set[object]:
    gaps = {(gap.name, gap.first_offset, gap.why) for gap in report.not_judged}
    damage = {(place.file, place.message) for place in report.damage}
    return gaps | damage | {(finding.promise, finding.message) for finding in report.findings}


def unnoticed(recording: Path, copy: Path) -> list[str]:
    shutil.copytree(recording / "segments", copy)
    for path in copy.rglob("*"):
        if path.is_file() and path.suffix != ".log":
            path.unlink()
    whole = said(replay([copy]))
    found = []
    for moved in list(changes(copy)):
        if any(moved.how == how and is_so(moved) for how, is_so in UNNOTICED.values()):
            continue
        data = moved.file.read_bytes()
        moved.file.write_bytes(moved.applied(data))
        if not said(replay([copy])) - whole:
            found.append(f"{moved.how} batch {moved.number} of {moved.file.relative_to(copy)}")
        moved.file.write_bytes(data)
    return found


@pytest.mark.parametrize("recording", folders(RECORDINGS), ids=lambda path: path.name)
def test_each_batch_that_is_moved_is_noticed(recording: Path, tmp_path: Path) -> None:
    assert unnoticed(recording, tmp_path / "segments") == []


@pytest.mark.deep
@pytest.mark.parametrize("recording", folders(SHARED), ids=lambda path: path.name)
def test_each_batch_of_every_recording_that_is_moved_is_noticed(recording: Path, tmp_path: Path) -> None:
    assert unnoticed(recording, tmp_path / "segments") == []


@pytest.mark.parametrize("why", UNNOTICED)
def test_each_reason_is_needed(why: str, tmp_path: Path) -> None:
    """Without it a change of a recording goes unnoticed for which there is no other reason."""
    how, is_so = UNNOTICED[why]
    others = [each for name, each in UNNOTICED.items() if name != why]
    for recording in (*folders(RECORDINGS), *folders(SHARED)):
        for moved in changes(recording / "segments"):
            if moved.how == how and is_so(moved) and not any(moved.how == kind and so(moved) for kind, so in others):
                return
    pytest.fail("no recording has a case of it")

"""What happens to one partition's log, as cases write it down.

"p1 T5": producer 1 appends five transactional records, "N3": nobody three, "p1 COMMIT": an end marker, "HW": the high
watermark, which moves only when a phrase says so. A number in brackets behind a marker is the offset that it must get.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tests.broker.partitions import Place, data, plain
from tests.conformance.cases import NotRunnable
from tests.conformance.phrases import check
from zombieproof.broker.partition.replica import Replica
from zombieproof.formats.batches import Batch, Marker
from zombieproof.model.decisions.produce import newest_sequence
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, SEQUENCE_MAX, Origin

COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}


@dataclass
class World:
    """One replica that leads, the place that outlives it, and what the last append came to."""

    rules: Rules
    producer_id: int = 1
    follows: bool = False
    error: int = 0
    offset: int = NONE
    is_duplicate: bool = False
    sent: list[Batch] = field(default_factory=list)
    segments: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        self.place = Place(rules=self.rules)
        self.replica: Replica = self.place.leader()
        self.replica.high_watermark = 0

    @property
    def next_sequence(self) -> int:
        """The sequence with which the producer goes on."""
        entry = self.replica.producers.get(self.producer_id)
        return 0 if entry is None else (newest_sequence(entry) + 1) & SEQUENCE_MAX

    def names(self, match: re.Match[str]) -> int:
        """Note the producer that a phrase names, if it does; returned is the epoch told, else the producer's own."""
        told = match.groupdict()
        if told.get("pid") is not None:
            self.producer_id = int(told["pid"])
        entry = self.replica.producers.get(self.producer_id)
        known = 0 if entry is None or entry.producer_epoch == NONE else entry.producer_epoch
        return known if told.get("epoch") is None else int(told["epoch"])

    def write(self, batch: Batch, guard: int = 0) -> None:
        """Append as a leader does, or take the batch as a follower does."""
        if self.follows:
            batch = replace(batch, base_offset=self.replica.log.end_offset) if batch.base_offset == NONE else batch
            self.replica.replicate(batch)
            self.error, self.offset, self.is_duplicate = 0, batch.base_offset, False
        else:
            origin = Origin.CLIENT if batch.marker is None else Origin.COORDINATOR
            appended = self.replica.append(batch, guard, origin)
            self.error, self.offset, self.is_duplicate = appended.error, appended.base_offset, appended.is_duplicate
        self.sent.append(replace(batch, base_offset=self.offset))


Action = Callable[[World, re.Match[str]], None]


def actions(phrase: object) -> Iterator[tuple[re.Match[str], Action]]:
    """The actions of a phrase one by one.

    Raises:
        NotRunnable: part of it is not understood; nothing of it is returned before.
    """
    if not isinstance(phrase, str):
        raise NotRunnable(f"step {phrase!r} is not understood")
    rest, found = phrase, []
    while rest:
        for pattern, action in ACTIONS:
            match = re.match(rf"(?:{pattern})(?=$|[,;: ])", rest)
            if match is not None:
                found.append((match, action))
                rest = re.sub(r"^(?:[,;:]| and)? *(?:then )?", "", rest[match.end() :])
                break
        else:
            raise NotRunnable(f"{rest!r} in step {phrase!r} is not understood")
    return iter(found)


def perform(world: World, phrase: object) -> None:
    """Do what a phrase says; what "follower" begins ends with the phrase."""
    for match, action in actions(phrase):
        action(world, match)
    world.follows = False


# ---------------------------------------------------------------- batches and markers


def _transactional(world: World, match: re.Match[str]) -> None:
    epoch = world.names(match)
    world.write(data(world.producer_id, world.next_sequence, int(match["count"]), epoch=epoch))


def _idempotent(world: World, match: re.Match[str]) -> None:
    epoch = world.names(match)
    count = int(match["count"])
    world.write(data(world.producer_id, world.next_sequence, count, epoch=epoch, transactional=False))


def _plain(world: World, match: re.Match[str]) -> None:
    world.write(plain(int(match["count"])))


def _numbered(world: World, match: re.Match[str]) -> None:
    """A batch with the sequences told; at an offset, if one is told; with fewer records, if some are gone."""
    epoch = world.names(match)
    first = int(match["first"])
    last = int(match["last"] or first)
    told = match.groupdict()
    batch = data(world.producer_id, first, last - first + 1, epoch=epoch, transactional=False)
    if told.get("offset") is not None:
        batch = replace(batch, base_offset=int(told["offset"]))
        if world.replica.log.end_offset == 0:
            world.replica.truncate_fully_and_start_at(batch.base_offset)
    if told.get("gone") is not None:
        batch = replace(batch, records=batch.records[COUNTS[told["gone"]] :])
        world.follows = True
    world.write(batch)


def _singles(world: World, match: re.Match[str]) -> None:
    epoch = world.names(match)
    first, last = int(match["first"]), int(match["last"])
    if COUNTS.get(match["count"]) != last - first + 1:
        raise NotRunnable(f"{match[0]!r} are not {match['count']}")
    for sequence in range(first, last + 1):
        world.write(data(world.producer_id, sequence, epoch=epoch, transactional=False))


def _one_of_each(world: World, match: re.Match[str]) -> None:
    for producer_id in range(int(match["one"]), int(match["other"]) + 1):
        world.write(data(producer_id, 0, transactional=False))


def _again_at(world: World, match: re.Match[str]) -> None:
    world.write(replace(world.sent[-1], base_offset=int(match["offset"])))


def _mark(world: World, match: re.Match[str]) -> None:
    epoch = world.names(match)
    marker = Marker(match["outcome"] == "COMMIT", int(match["coordinator"] or 0))
    world.write(Batch(world.producer_id, epoch, transactional=True, marker=marker))
    if match["offset"] is not None:
        check(f"offset of {match[0]}", int(match["offset"]), world.offset)


def _follow(world: World, match: re.Match[str]) -> None:
    world.follows = True


# ---------------------------------------------------------------- offsets, restarts, truncation


def _high_watermark(world: World, match: re.Match[str]) -> None:
    world.replica.high_watermark = int(match["offset"])


def _high_watermark_to_end(world: World, match: re.Match[str]) -> None:
    world.replica.high_watermark = world.replica.log.end_offset


def _close(world: World, match: re.Match[str]) -> None:
    world.replica.stop()
    if "reopened" in match[0]:
        _open(world, clean=True)


def _reopen_unclean(world: World, match: re.Match[str]) -> None:
    _open(world, clean=False)


def _open_clean(world: World, match: re.Match[str]) -> None:
    _open(world, clean=True)


def _open(world: World, *, clean: bool) -> None:
    high_watermark = world.replica.high_watermark
    world.replica = world.place.restart(clean=clean)
    world.replica.high_watermark = high_watermark


def _roll(world: World, match: re.Match[str]) -> None:
    world.replica.roll()
    world.segments.append(world.replica.log.end_offset)


def _roll_each(world: World, match: re.Match[str]) -> None:
    """Records with a roll behind each."""
    for _ in range(COUNTS[match["count"]] if match["count"] in COUNTS else int(match["count"])):
        world.write(data(world.producer_id, world.next_sequence, transactional=False))
        _roll(world, match)


def _expire_segments(world: World, match: re.Match[str]) -> None:
    world.replica.raise_log_start(world.segments[-1])


def _stray_snapshot(world: World, match: re.Match[str]) -> None:
    """A snapshot that a broker has left, beside a log that ends before it."""
    other = Place(snapshots=world.place.snapshots).leader()
    other.truncate_fully_and_start_at(int(match["offset"]) - 1)
    other.append(data(1, 0, transactional=False), 0, Origin.CLIENT)
    other.roll()


def _delete_snapshots(world: World, match: re.Match[str]) -> None:
    world.replica.producers.snapshots.delete_all()


def _truncate(world: World, match: re.Match[str]) -> None:
    world.replica.truncate(int(match["end"]))


def _drop_all(world: World, match: re.Match[str]) -> None:
    world.replica.truncate_fully_and_start_at(int(match["start"]))


def _delete_records(world: World, match: re.Match[str]) -> None:
    world.replica.raise_log_start(int(match["start"]))


def _nothing(world: World, match: re.Match[str]) -> None:
    """What is only looked at; and everything here is durable at once, so a flush does nothing."""


def _first_unstable(world: World, match: re.Match[str]) -> None:
    wanted = NONE if match["fuo"] == "none" else int(match["fuo"])
    check(match[0], wanted, world.replica.first_unstable_offset)


WHO = r"(?:p(?:id ?)?(?P<pid>\d+):? ?)?(?:epoch (?P<epoch>\d+) ?)?"

WHICH = r"(?: \((?:\d+th newest batch|older than \w+ batches)\))?"

ACTIONS: tuple[tuple[str, Action], ...] = (
    (rf"{WHO}T(?P<count>\d+)", _transactional),
    (rf"{WHO}(?:, )?(?P<count>\d+) idempotent records", _idempotent),
    (r"N(?P<count>\d+)", _plain),
    (
        rf"{WHO}(?P<outcome>COMMIT|ABORT)(?: by coordinator epoch (?P<coordinator>\d+))?(?: \((?P<offset>\d+)\))?",
        _mark,
    ),
    (
        (
            r"batch of pid (?P<pid>\d+), seq (?P<first>\d+)-(?P<last>\d+) at offset (?P<offset>\d+)"
            r" with (?P<gone>\w+) records compacted away"
        ),
        _numbered,
    ),
    (rf"(?:of )?{WHO}seq (?P<first>\d+)(?:-(?P<last>\d+))? at offset (?P<offset>\d+)", _numbered),
    (rf"{WHO}(?P<count>\w+) single records seq (?P<first>\d+)-(?P<last>\d+)", _singles),
    (r"a batch seq (?P<first>\d+)-(?P<last>\d+)", _numbered),
    (r"batch (?:seq )?(?P<first>\d+)-(?P<last>\d+)(?: again)?", _numbered),
    (rf"(?:of |single )?{WHO}seq (?P<first>\d+)(?:-(?P<last>\d+))?(?: again)?{WHICH}", _numbered),
    (r"of one batch each of pids (?P<one>\d+) to (?P<other>\d+)", _one_of_each),
    (r"again at offset (?P<offset>\d+)", _again_at),
    (r"follower(?: append)?", _follow),
    (r"HW (?:(?:to |at the )?end|past it|past the marker)", _high_watermark_to_end),
    (r"HW (?P<offset>\d+)", _high_watermark),
    (r"\(FUO (?P<fuo>\d+|none)\)", _first_unstable),
    (r"closed and reopened|closed", _close),
    (r"reopen as after an unclean stop", _reopen_unclean),
    (r"one record and a roll, (?P<count>\w+) times", _roll_each),
    (r"(?P<count>\d+) segments with a snapshot at each roll", _roll_each),
    (r"roll", _roll),
    (r"all but the last segment expire", _expire_segments),
    (r"empty log with a snapshot file for offset (?P<offset>\d+)", _stray_snapshot),
    (r"open", _open_clean),
    (r"snapshot files deleted", _delete_snapshots),
    (r"truncate to (?P<end>\d+)", _truncate),
    (r"drop all and start at (?P<start>\d+)", _drop_all),
    (r"delete records below (?P<start>\d+)", _delete_records),
    (r"read the index|read back|flush", _nothing),
)

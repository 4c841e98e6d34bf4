"""Times of what a finding is about: UTC, and the local time of the machine on which this runs."""

from collections.abc import Iterator
from datetime import UTC, datetime

from zombieproof.formats.record_batch import TimestampType
from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.traces.evidence import LoggedBatch
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.verdict.circumstances import Shape
from zombieproof.traces.verdict.explanation import Moment

PRODUCER = "the producer's clock"
BROKER = "the broker's clock"
COORDINATOR = "the coordinator's clock"
APPLICATION = "the application's clock"
WALL = "the log's wall clock, read as UTC"


def moments_of(scene: Scene) -> list[Moment]:
    """What happened when, as far as the evidence has times, in the order of these times."""
    found = [moment for moment in _moments(scene) if moment is not None]
    return sorted(found, key=lambda moment: moment.timestamp_ms)


def _moments(scene: Scene) -> Iterator[Moment | None]:
    circumstances, data = scene.circumstances, scene.data
    if data:
        what = "the record was written" if scene.count == 1 else "the first record was written"
        yield _of_batch(scene, data[0], what)
        if len(data) > 1:
            yield _of_batch(scene, data[-1], "the last record was written")
    if (first := scene.batch_at(circumstances.repeats_offset)) is not None:
        yield _of_batch(scene, first, "it had been written before")
    yield from _decisions(scene)
    if circumstances.ended_by is not None:
        marker, kind = circumstances.ended_by, circumstances.ended_by.kind
        what = f"the {kind} marker was written" if scene.is_about_the_marker else f"the {kind} marker ended it"
        yield moment(what, marker.timestamp_ms, BROKER, f"offset {marker.offset} of {scene.place}")
    elif scene.marker is not None:
        yield _of_batch(scene, scene.marker, "the marker was written")
    if circumstances.answered_ms is not None:
        yield moment(
            "the application was answered",
            circumstances.answered_ms,
            APPLICATION,
            f"{circumstances.file}, line {circumstances.line}",
        )
    if circumstances.timestamp_ms is not None and circumstances.line is not None:
        yield moment(
            "the log says so", circumstances.timestamp_ms, WALL, f"{circumstances.file}, line {circumstances.line}"
        )
    elif circumstances.timestamp_ms is not None:
        at = f"offset {scene.finding.offset} of {scene.place}"
        yield moment("the record was made", circumstances.timestamp_ms, COORDINATOR, at)
    told = [("the coordinator skipped the marker", line) for line in scene.skipped_markers]
    told += [("the coordinator said that it was open for too long", line) for line in scene.timeouts]
    for what, line in told:
        if line.timestamp_ms is not None:
            yield moment(what, line.timestamp_ms, WALL, f"{line.file}, line {line.line}")


def _decisions(scene: Scene) -> Iterator[Moment | None]:
    decided = scene.circumstances.decided
    if decided is None:
        return
    log = f"{TRANSACTION_STATE}-{decided.log_partition}"
    word = {True: "the commit", False: "the abort", None: "the end"}[decided.commits]
    if scene.circumstances.shape in (Shape.DATA_LATE, Shape.DATA_UNLISTED):
        word += " of the last transaction of this epoch"
    if decided.prepared_ms is not None:
        yield moment(f"{word} was decided", decided.prepared_ms, COORDINATOR, f"offset {decided.prepared_at} of {log}")
    if decided.completed_ms is not None:
        at = f"offset {decided.completed_at} of {log}"
        yield moment("the transaction was recorded as complete", decided.completed_ms, COORDINATOR, at)


def _of_batch(scene: Scene, batch: LoggedBatch, what: str) -> Moment | None:
    if batch.max_timestamp_ms < 0:
        return None
    by_broker = batch.is_control or batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    at = f"offset {batch.base_offset} of {scene.place}"
    return moment(what, batch.max_timestamp_ms, BROKER if by_broker else PRODUCER, at)


def moment(what: str, timestamp_ms: int, clock: str, where: str) -> Moment:
    """A time in all its forms."""
    utc, local = in_words(timestamp_ms)
    return Moment(what=what, timestamp_ms=timestamp_ms, utc=utc, local=local, clock=clock, where=where)


def in_words(timestamp_ms: int) -> tuple[str, str]:
    """A time as ISO text in UTC and in local time with its distance from UTC; empty where no calendar has it."""
    try:
        utc = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
        local = utc.astimezone()
    except (OverflowError, OSError, ValueError):
        return "", ""
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"), local.isoformat(timespec="milliseconds")

"""The steps of a reader in micro-batches; its host keeps positions and ranges, for each partition of the source."""

from dataclasses import dataclass

from zombieproof.model.spark_sink.placing import decide_place, past_of_batch
from zombieproof.model.spark_sink.vocabulary import ReaderEvent, ReaderState
from zombieproof.statemachines.notes import MachineIndex, Notes, move

__all__ = ["Reader", "finish", "past_of_batch", "place", "plan", "resume"]


@dataclass(slots=True)
class Reader:
    """A reader of a source."""

    state: int = int(ReaderState.UNPLACED)


def place(reader: Reader, committed: int, notes: Notes) -> bool:
    """There is no checkpoint; returns whether `committed`, the group's position (NONE: none), is where it begins."""
    event = decide_place(committed)
    reader.state = move(notes, MachineIndex.MICRO_BATCH_READER, reader.state, event)
    return event == ReaderEvent.PLACE_AT_COMMITTED


def resume(reader: Reader, notes: Notes) -> None:
    """A checkpoint names the range of the newest batch."""
    reader.state = move(notes, MachineIndex.MICRO_BATCH_READER, reader.state, int(ReaderEvent.RESUME))


def plan(reader: Reader, notes: Notes) -> None:
    """The next range is chosen."""
    reader.state = move(notes, MachineIndex.MICRO_BATCH_READER, reader.state, int(ReaderEvent.PLAN))


def finish(reader: Reader, notes: Notes) -> None:
    """The planned batch is finished."""
    reader.state = move(notes, MachineIndex.MICRO_BATCH_READER, reader.state, int(ReaderEvent.FINISH))

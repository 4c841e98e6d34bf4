"""What must not be in a history: a name and a sentence for each anomaly."""

from enum import StrEnum
from typing import Final, NamedTuple

from zombieproof.traces.history.events import Event


class Anomaly(StrEnum):
    """The names; `SENTENCES` says what each means."""

    DUPLICATE = "duplicate"
    LOST_WRITE = "lost_write"
    MOVED_WRITE = "moved_write"
    PHANTOM_READ = "phantom_read"
    REORDERED_WRITES = "reordered_writes"
    ABORTED_READ = "aborted_read"
    DIRTY_READ = "dirty_read"
    TORN_TRANSACTION = "torn_transaction"
    HANGING_TRANSACTION = "hanging_transaction"
    READER_GOES_BACK = "reader_goes_back"
    READERS_DISAGREE = "readers_disagree"
    UNCOMMITTED_OFFSET = "uncommitted_offset"
    LOST_OFFSET = "lost_offset"
    OFFSET_AHEAD_OF_OUTPUT = "offset_ahead_of_output"
    INPUT_PROCESSED_TWICE = "input_processed_twice"
    ZOMBIE_WRITE = "zombie_write"
    ACKNOWLEDGED_AFTER_FENCED = "acknowledged_after_fenced"


SENTENCES: Final = {
    Anomaly.DUPLICATE: "A record that was sent once was read at two offsets.",
    Anomaly.LOST_WRITE: "A record was acknowledged, and a reader that should get it read past its place without it.",
    Anomaly.MOVED_WRITE: "A record was read at another offset than the one that was acknowledged.",
    Anomaly.PHANTOM_READ: "A record was read that nobody had sent there by then, or whose write was refused.",
    Anomaly.REORDERED_WRITES: "Records of one producer lie in one partition in another order than they were sent.",
    Anomaly.ABORTED_READ: "A record was read under read_committed whose transaction was not committed.",
    Anomaly.DIRTY_READ: "A record was read under read_committed before anybody had asked for its commit.",
    Anomaly.TORN_TRANSACTION: "Of one transaction some records or offsets are there and others are not.",
    Anomaly.HANGING_TRANSACTION: "In its final read, a read_committed reader did not get to the end of a partition.",
    Anomaly.READER_GOES_BACK: "A reader was handed an offset again, or one that is not after the one before.",
    Anomaly.READERS_DISAGREE: "Two readers that should see the same have seen different things at one offset.",
    Anomaly.UNCOMMITTED_OFFSET: "A committed offset was told that nobody can have committed by then.",
    Anomaly.LOST_OFFSET: "A committed offset was told that is older than one known to be committed before.",
    Anomaly.OFFSET_AHEAD_OF_OUTPUT: "A group's offset is past a record that has no committed output.",
    Anomaly.INPUT_PROCESSED_TWICE: "A group has dealt with one record twice, and both results are committed.",
    Anomaly.ZOMBIE_WRITE: "What a process did after another one took its transactional id over is committed.",
    Anomaly.ACKNOWLEDGED_AFTER_FENCED: "A process that was told that it is fenced began something that succeeded.",
}


class Found(NamedTuple):
    """One anomaly: its subject, and the events that show it, in the order in which they are printed.

    If it rests on a missing line, `silent` is the process that would have written it ("": any). A file that was cut at
    its end may have had that line.
    """

    anomaly: Anomaly
    message: str
    events: tuple[Event, ...]
    silent: str | None = None

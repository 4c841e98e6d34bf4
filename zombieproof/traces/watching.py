"""What a long replay tells of itself while it runs. Nothing is shown here: who watches overrides what he hears."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TypeVar

from zombieproof.traces.verdict.faults import Fault

Item = TypeVar("Item")

STEP = 4096
"""Events between two messages."""


class Stage(StrEnum):
    """What is counted: bytes of files as they lie there (packed or not), then events.

    Events are records of ``__transaction_state``, batches (twice: as their leader and as their readers take them) and
    records that applications were told of.
    """

    READING = "reading"
    JUDGING = "judging"


class Watch:
    """Hears of a replay; this one does nothing."""

    def begins(self, stage: Stage, total: int, names: Sequence[str]) -> None:
        """A stage begins: `total` bytes or events are to be done, of the named files, or of partitions and ids."""

    def works_on(self, name: str) -> None:
        """The file or the partition that is next."""

    def advances(self, count: int) -> None:
        """So many bytes or events more are done."""

    def has_read(self, file: str) -> None:
        """A file was read to its end."""

    def has_judged(self, name: str, faults: Sequence[Fault]) -> None:
        """A partition or a transactional id was judged on its own; what follows may explain the faults."""


def in_steps(items: Sequence[Item], watch: Watch | None) -> Iterator[Sequence[Item]]:
    """All items, some thousand at a time; `watch` hears of those that are done."""
    for start in range(0, len(items), STEP):
        part = items[start : start + STEP]
        yield part
        if watch is not None:
            watch.advances(len(part))


class Meter:
    """How far a reader is in one file: places in its content become bytes of the file as it lies there."""

    def __init__(self, watch: Watch, size: int) -> None:
        self._watch, self._size, self._shown = watch, size, 0
        self.length = size

    def reached(self, position: int) -> None:
        """The reader is at this place of the content, which is `length` long; going back is not told."""
        done = self._size * position // self.length if self.length else self._size
        if done > self._shown:
            self._watch.advances(done - self._shown)
            self._shown = done

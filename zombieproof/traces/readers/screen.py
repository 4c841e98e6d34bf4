"""What takes segments off the readers' hands: a screen, which knows of whole logs that nothing is wrong in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.readers.lines import Reached


class Screening(Protocol):
    """Looks at segments in place of the readers, one after the other, and gives back what it cannot clear."""

    def looks_at(self, files: Sequence[Path]) -> None:
        """These files will be read, in this order."""

    def takes(self, file: Path, reached: Reached) -> bool:
        """Whether a segment was screened and nothing found; else the readers read it.

        `reached` hears of bytes.
        """

    def gives_back(self, file: Path) -> Sequence[Path]:
        """The segments in front of one that was not taken, which have to be read now, since it is of the same log."""

    def cleared(self) -> list[PartitionLog]:
        """The logs of which all segments were taken."""

"""Many sequences, counted for each recording."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from zombieproof.conformance.comparison import Difference
from zombieproof.conformance.recording import read
from zombieproof.conformance.runner import Played, SubjectOf, play


@dataclass(slots=True)
class Tally:
    """What came of the sequences of one recording; `steps` were compared."""

    file: str
    sequences: int = 0
    steps: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """Sequences in which every answer was the recorded one."""
        return self.sequences - len(self.differences)

    def add(self, played: Played) -> None:
        """Count one sequence."""
        self.sequences += 1
        self.steps += played.steps
        if played.difference is not None:
            self.differences.append(played.difference)


def play_all(
    paths: Iterable[Path],
    subject_of: SubjectOf,
    limit: int | None = None,
    watch: Callable[[Played], None] = lambda _: None,
) -> list[Tally]:
    """Play the sequences of some recordings, at most `limit` of them, and count; `watch` hears of each.

    Raises:
        RecordingError: a recording cannot be read or played.
    """
    tallies: dict[str, Tally] = {}
    for played in islice(_played(paths, subject_of), limit):
        file = played.recorded.file
        tallies.setdefault(file, Tally(file)).add(played)
        watch(played)
    return list(tallies.values())


def _played(paths: Iterable[Path], subject_of: SubjectOf) -> Iterator[Played]:
    for path in paths:
        for recorded in read(path):
            yield play(recorded, subject_of)

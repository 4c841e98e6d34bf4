"""Many sequences, counted for each recording."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from zombieproof.conformance.comparison import Difference
from zombieproof.conformance.recording import RecordingError, lines_of
from zombieproof.conformance.runner import Played, SubjectOf, play


@dataclass(slots=True)
class Tally:
    """What came of the sequences of one recording; `steps` were compared, `damaged` lines were not understood."""

    file: str
    sequences: int = 0
    steps: int = 0
    differences: list[Difference] = field(default_factory=list)
    damaged: list[RecordingError] = field(default_factory=list)

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

    A line that cannot be understood or played is counted as damaged, and the others are played all the same.
    """
    tallies: dict[str, Tally] = {}
    left = limit
    for played in _played(paths, subject_of):
        if isinstance(played, RecordingError):
            tallies.setdefault(played.file, Tally(played.file)).damaged.append(played)
            continue
        file = played.recorded.file
        tallies.setdefault(file, Tally(file)).add(played)
        watch(played)
        left = None if left is None else left - 1
        if left == 0:
            break
    return list(tallies.values())


def _played(paths: Iterable[Path], subject_of: SubjectOf) -> Iterator[Played | RecordingError]:
    for found in chain.from_iterable(lines_of(path) for path in paths):
        if isinstance(found, RecordingError):
            yield found
            continue
        try:
            played = play(found, subject_of)
        except RecordingError as error:
            yield error
        else:
            yield played

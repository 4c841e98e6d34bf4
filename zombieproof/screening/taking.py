"""The screen in front of the readers (`traces.readers.screen.Screening`): it takes whole logs off their hands.

A log is taken where its segments lie as a broker leaves them, in the folder of their partition, under Kafka's names and
unpacked, or as `zombieproof pack` has packed them. The coordinators' own logs are not: every record of them is read in
any case. A log is given back as a whole as soon as one of its segments is not clear.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from zombieproof.formats.checkpoints import read_offsets
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.screening.gathering import Gathering, screen_stored
from zombieproof.screening.runners import Runner, Segments, here
from zombieproof.screening.spilling import Spill
from zombieproof.traces.evidence import PartitionLog
from zombieproof.traces.readers.files import TABLE, opened, place_of
from zombieproof.traces.readers.recognise import Kind, by_name


class LogScreen:
    """Takes logs from readers. `run` screens their segments, `keeps_ends` keeps their markers one by one.

    Markers are kept in any case where the coordinator's log lies beside them, against which they are held.
    """

    def __init__(self, run: Runner = here, *, keeps_ends: bool = False) -> None:
        self._run, self._keeps_ends = run, keeps_ends
        self._segments: Segments = screen_stored
        self._logs: dict[Path, Gathering] = {}
        self._lost: set[Path] = set()

    def looks_at(self, files: Sequence[Path]) -> None:
        """These files will be read, in this order."""
        starts, cleaned = _checkpoints(files)
        keeps_ends = self._keeps_ends or any(place_of(str(file)).topic == TRANSACTION_STATE for file in files)
        taken = candidates(files)
        spill = Spill()
        self._segments = self._run([(str(file), place_of(str(file)).topic) for file in taken])
        for folder in dict.fromkeys(file.parent for file in taken):
            place = place_of(f"{folder}/")
            key = folder.parent, (place.topic, place.partition)
            self._logs[folder] = Gathering(
                place, spill, start_offset=starts.get(key), is_cleaned=key in cleaned, keeps_ends=keeps_ends
            )

    def takes(self, file: Path, reached: Callable[[int], None]) -> bool:
        """Whether a segment was screened and nothing found; else the readers read it."""
        log = self._logs.get(file.parent)
        if log is None or file.parent in self._lost:
            return False
        try:
            screened = self._segments(str(file), log.place.topic, reached)
        except (OSError, Undecodable):
            return False  # The readers say what is wrong with it.
        return log.takes(screened)

    def gives_back(self, file: Path) -> Sequence[Path]:
        """The segments in front of one that was not taken, which have to be read now, since it is of the same log."""
        log = self._logs.get(file.parent)
        if log is None or file.parent in self._lost or by_name(str(file)) is not Kind.SEGMENT:
            return ()
        self._lost.add(file.parent)
        return [Path(segment.file) for segment in log.segments]

    def cleared(self) -> list[PartitionLog]:
        """The logs of which all segments were taken."""
        return [log.log() for folder, log in self._logs.items() if folder not in self._lost and log.segments]


def candidates(files: Iterable[Path]) -> list[Path]:
    """The segments that can be taken: of folders in which all segments lie as a broker leaves them."""
    segments = [file for file in files if by_name(str(file)) is Kind.SEGMENT]
    others = {file.parent for file in segments if not _is_plain(file)}
    return list(dict.fromkeys(file for file in segments if file.parent not in others))


def _is_plain(file: Path) -> bool:
    place = place_of(str(file))
    is_internal = place.topic in (TRANSACTION_STATE, CONSUMER_OFFSETS)
    return place.is_known and not is_internal and file.suffix in (".log", TABLE)


Starts = dict[tuple[Path, TopicPartition], int]


def _checkpoints(files: Sequence[Path]) -> tuple[Starts, set[tuple[Path, TopicPartition]]]:
    """What brokers wrote down beside the folders of partitions: where logs start, and which were cleaned."""
    starts: Starts = {}
    cleaned: set[tuple[Path, TopicPartition]] = set()
    for file in files:
        kind = by_name(str(file))
        if kind not in (Kind.CLEANER_CHECKPOINT, Kind.LOG_START_CHECKPOINT):
            continue
        try:
            with opened(file) as content:
                offsets = read_offsets(content.data)
        except (OSError, Undecodable):
            continue  # Whoever reads the file says what is wrong with it.
        for place, offset in offsets.items():
            key = file.parent, place
            if kind is Kind.CLEANER_CHECKPOINT:
                cleaned.add(key)
            else:
                starts[key] = max(offset, starts.get(key, 0))
    return starts, cleaned

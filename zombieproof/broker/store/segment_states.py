"""The ``segment-checkpoint`` of one log: what its folder says must be there.

Theory of operation: a segment is entered when it is sealed, or when the log is closed in order. What is removed on
purpose is struck off first, and only then removed: an entry without its segment is damage, at every moment. A snapshot
of producers is entered when it is on the disk, and the log is up to its offset; until then no start believes it.
"""

from collections.abc import Iterable

from zombieproof.broker.store.disk import Disk, Kind
from zombieproof.broker.store.known_logs import (
    SEGMENTS,
    SNAPSHOT_NAME,
    FolderState,
    SegmentState,
    checksum,
    read_folder_state,
    replace_file,
    write_folder_state,
)
from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE

Epochs = tuple[tuple[int, int], ...]


class SegmentStates:
    """The entries of one log.

    `fault`: why the file could not be read; `is_there`: whether there is one that could. `other`: the topic id and the
    number of the partition that the file is of, if the folder is that of another one. `snapshots`: the checksums of the
    snapshots that the folder has now, which the next `write` enters.
    """

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk, self.directory = disk, directory
        self.state = FolderState()
        self.snapshots: dict[int, int] = {}
        self.fault: str | None = None
        self.is_there = False
        self.other: tuple[str, int] | None = None

    @property
    def path(self) -> str:
        """The file."""
        return f"{self.directory}/{SEGMENTS}"

    @property
    def number(self) -> int:
        """The number of the partition, as the folder is called; NONE: it has none."""
        number = self.directory.rpartition("-")[2]
        return int(number) if number.isdecimal() else NONE

    def read(self, sequence: int = 0, topic_id: str = "") -> None:
        """Know what the file says.

        Nothing is known where there is none, it cannot be read, is older than `sequence`, or of another partition or
        topic (empty: any).
        """
        self.state, self.fault, self.is_there, self.other = FolderState(), None, False, None
        self.snapshots = {}
        if not self._disk.exists(self.path):
            self.fault = "it is missing" if sequence else None
            self.state.sequence = sequence
            return
        try:
            found = read_folder_state(self._disk.read(self.path))
        except (Undecodable, ValueError) as fault:
            self.fault = str(fault)
            self.state.sequence = sequence
            return
        is_of_topic = topic_id in ("", found.topic_id) or not found.topic_id
        if found.number not in (NONE, self.number) or not is_of_topic:
            self.other = found.topic_id, found.number
            self.fault = f"it is of partition {found.number}"
            self.fault += "" if is_of_topic else f" of the topic with the id {found.topic_id}"
            self.state.sequence = sequence
            return
        if found.sequence < sequence:
            self.fault = "it is an older one"
            self.state.sequence = sequence
            return
        self.state, self.is_there, self.snapshots = found, True, dict(found.snapshots)

    def snapshots_in_folder(self, *, takes_all: bool) -> dict[int, int]:
        """The checksums of the snapshots in the folder that are as recorded; `takes_all`: or are not recorded."""
        kinds = self._disk.kinds(self.directory)
        names = [name for name, kind in kinds.items() if kind is Kind.FILE and SNAPSHOT_NAME.fullmatch(name)]
        found = {int(name[:20]): checksum(self._disk.read(f"{self.directory}/{name}")) for name in names}
        recorded = self.state.snapshots
        return {at: seal for at, seal in found.items() if recorded.get(at, seal if takes_all else None) == seal}

    def write(self, entries: Iterable[SegmentState], leader_epochs: Epochs | None = None) -> bool:
        """Replace the entries, and leader epochs if they are given; False: nothing has changed.

        The file is on the disk once its folder is synced.
        """
        known = self.state
        epochs = known.leader_epochs if leader_epochs is None else leader_epochs
        segments = {each.base_offset: each for each in entries}
        changed = FolderState(known.topic_id, known.number, known.sequence, segments, epochs, dict(self.snapshots))
        if changed == known and self.is_there:
            return False
        changed.sequence += 1
        replace_file(self._disk, self.path, write_folder_state(changed))
        self.state, self.is_there, self.fault = changed, True, None
        return True

    def strike_off(self, first: int, end: int, replaced_by: SegmentState | None = None) -> None:
        """Forget the segments that begin in some offsets: they are removed when this has returned."""
        left = [each for base, each in self.state.segments.items() if not first <= base < end]
        if self.write([*left, replaced_by] if replaced_by is not None else left):
            self._disk.sync_directory(self.directory)

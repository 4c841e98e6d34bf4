"""What one segment holds, whether it was read from its bytes or from a text dump of it."""

from dataclasses import dataclass, field

from zombieproof.traces.evidence import Damage, LoggedBatch, OffsetCommitRecord, TransactionStateRecord, Unit
from zombieproof.traces.readers.files import Place

OFFSETS_OF_A_SEGMENT = 0x7FFFFFFF
"""A segment ends before an offset is further than this from its base (``LogSegment.canConvertToRelativeOffset``)."""


@dataclass(slots=True)
class SegmentContent:
    """What a segment holds. `batches` are sound and by offset; `unsound` are not to be believed.

    `segment` is the path of the segment (as printed, in a dump), `place` what that says; `file` is where it was read,
    `unit` what positions in `file` count. `start_offset` is None where a dump does not say. `broken_at` holds the base
    offset of the first sound batch behind each unreadable place. `torn_tail`: something unreadable stands behind the
    last sound batch. `old_format` counts batches of message format 0 and 1, which know no transactions and are not
    read. `skipped`: such ones, or lines that a dump lacks, were passed over since the last sound batch. `last_place` is
    where `file` shows the last sound batch. `is_guessed`: `place` was taken from the name of the file.
    `shows_records`: a dump shows them. `is_printed_twice`: another dump, which shows records where this one does not or
    the other way round, ends with the same batch.
    """

    segment: str
    place: Place
    file: str
    unit: Unit = Unit.BYTE
    start_offset: int | None = None
    batches: list[LoggedBatch] = field(default_factory=list)
    unsound: list[LoggedBatch] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    broken_at: set[int] = field(default_factory=set)
    torn_tail: bool = False
    skipped: bool = False
    old_format: int = 0
    last_place: int = 0
    is_guessed: bool = False
    shows_records: bool = False
    is_printed_twice: bool = False
    transaction_states: list[TransactionStateRecord] = field(default_factory=list)
    offset_commits: list[OffsetCommitRecord] = field(default_factory=list)

    def breaks(self, damage: Damage) -> None:
        """Something unreadable stands behind the last sound batch."""
        self.damage.append(damage)
        self.torn_tail = True

    def take(self, batch: LoggedBatch, place: int | None = None) -> None:
        """Put a sound batch behind the others. `place` is where `file` shows it, if not its position in the segment.

        Offset and leader epoch, which no checksum covers, must not fall; a batch that breaks the order is unsound.
        """
        where = batch.position if place is None else place
        if not self._fits(batch) and not self._previous_lies(batch):
            self._misplaced(batch, where)
            return
        if self.batches and batch.partition_leader_epoch < self.batches[-1].partition_leader_epoch:
            message = (
                f"the leader epoch falls from {self.batches[-1].partition_leader_epoch} to "
                f"{batch.partition_leader_epoch} at offset {batch.base_offset}; it can only rise "
                "(no checksum covers it)"
            )
            self.damage.append(Damage(self.file, where, message, self.unit))
        if self.torn_tail or self.skipped:
            self.broken_at.add(batch.base_offset)
            self.torn_tail = self.skipped = False
        self.batches.append(batch)
        self.last_place = where

    def _expected(self, behind: int) -> int:
        """The offset from which on a batch may stand behind `behind` sound ones."""
        return self.batches[behind - 1].last_offset + 1 if behind else self.start_offset or 0

    def _fits(self, batch: LoggedBatch) -> bool:
        if self.start_offset is not None and batch.last_offset - self.start_offset > OFFSETS_OF_A_SEGMENT:
            return False
        return batch.base_offset >= self._expected(len(self.batches))

    def _previous_lies(self, batch: LoggedBatch) -> bool:
        """Whether the last sound batch, not this one, has the wrong offset; it is then put away."""
        if not self.batches:
            return False
        last = self.batches[-1]
        offsets = last.last_offset - last.base_offset + 1
        if batch.base_offset < self._expected(len(self.batches) - 1) + offsets or batch.base_offset > last.base_offset:
            return False
        self.batches.pop()
        self._misplaced(last, self.last_place)
        return True

    def _misplaced(self, batch: LoggedBatch, where: int) -> None:
        batch.is_valid = False
        self.unsound.append(batch)
        message = (
            f"the batch says offset {batch.base_offset}, which is out of order; offsets only rise "
            "(no checksum covers them)"
        )
        self.breaks(Damage(self.file, where, message, self.unit))

"""Logs for tests of the screen: what a leader would have written, batch by batch, and what was changed in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from zombieproof.formats.control_records import EndMarker, write_end_marker
from zombieproof.formats.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader, sealed
from zombieproof.formats.stored_records import StoredRecord, write_section
from zombieproof.model.vocabulary import NONE


@dataclass(frozen=True)
class Written:
    """A batch as it is to be written; `marker` None: data. `is_damaged`: a byte behind its header is another one."""

    base_offset: int = 0
    count: int = 1
    producer_id: int = NONE
    epoch: int = NONE
    sequence: int = NONE
    is_transactional: bool = False
    marker: EndMarker | None = None
    leader_epoch: int = 0
    is_damaged: bool = False

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.base_offset + self.count

    def encoded(self) -> bytes:
        """Its bytes."""
        attributes = TRANSACTIONAL_BIT if self.is_transactional else 0
        keyed: Iterable[tuple[bytes | None, bytes | None]] = [(None, b"v")] * self.count
        if self.marker is not None:
            attributes, keyed = TRANSACTIONAL_BIT | CONTROL_BIT, [write_end_marker(self.marker)]
        records = [StoredRecord(delta, 0, key, value, (), 0) for delta, (key, value) in enumerate(keyed)]
        time = 1_700_000_000_000 + self.base_offset
        header = BatchHeader(
            self.base_offset,
            0,
            self.leader_epoch,
            2,
            0,
            attributes,
            self.count - 1,
            time,
            time,
            self.producer_id,
            self.epoch,
            self.sequence,
            self.count,
        )
        made = sealed(header, write_section(records))
        return made[:-1] + bytes([made[-1] ^ 1]) if self.is_damaged else made


Log = Sequence[Written]


@dataclass
class _Producing:
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


class Leader:
    """Writes a log that conforms; `raises`: each end of a transaction raises the epoch, as in transaction version 2."""

    def __init__(self) -> None:
        self.log: list[Written] = []
        self.end = 0
        self._producers: dict[int, _Producing] = {}

    def data(self, producer_id: int, count: int, *, is_transactional: bool) -> None:
        """Data of a producer; plain data is left out while its transaction is open."""
        known = self._producers.setdefault(producer_id, _Producing())
        if known.is_open and not is_transactional:
            return
        known.is_open |= is_transactional
        self._put(Written(self.end, count, producer_id, known.epoch, known.sequence, is_transactional))
        known.sequence += count

    def marker(self, producer_id: int, *, commits: bool, raises: bool, coordinator_epoch: int = 0) -> None:
        """The end of a transaction, or of none."""
        known = self._producers.setdefault(producer_id, _Producing())
        known.is_open = False
        if raises:
            known.epoch, known.sequence = known.epoch + 1, 0
        marker = EndMarker(commits, coordinator_epoch)
        self._put(Written(self.end, 1, producer_id, known.epoch, NONE, True, marker))

    def nobody(self, count: int) -> None:
        """Data without a producer id."""
        self._put(Written(self.end, count))

    def gap(self, count: int) -> None:
        """Offsets that are taken away."""
        self.end += count

    def _put(self, batch: Written) -> None:
        self.log.append(batch)
        self.end = batch.end


def segments_of(log: Log, cuts: Iterable[int]) -> list[tuple[str, bytes]]:
    """The log in segments that begin at these batches too: name and bytes."""
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(log)}), len(log)]
    parts = [log[begin:end] for begin, end in pairwise(bounds)]
    names = [0 if not number else part[0].base_offset for number, part in enumerate(parts)]
    return [
        (f"t-0/{name:020}.log", b"".join(batch.encoded() for batch in part))
        for name, part in zip(names, parts, strict=True)
    ]


def shifted(log: Log, at: int, by: int) -> list[Written]:
    """The log with other offsets from a batch on."""
    return [*log[:at], *(replace(batch, base_offset=batch.base_offset + by) for batch in log[at:])]

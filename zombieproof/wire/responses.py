"""A response as pieces: records are encoded when they are sent, and not copied into one large buffer before.

A Fetch may ask for 50 MB. Encoding that at once would keep the loop from all other connections, and hold the bytes
twice. So a writer leaves `Records` out (`Output`), and `Response` puts their bytes in while it is sent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zombieproof.broker.partition.fetch_budget import Load
from zombieproof.formats.batches import Batch
from zombieproof.formats.encoding import size_of, write_batch

SMALL = 65_536
"""Records of up to so many bytes are written at once."""


class Records:
    """The batches of one partition, which follow each other."""

    __slots__ = ("batches", "size")

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches, self.size = batches, sum(map(size_of, batches))


class Output(bytearray):
    """What is written so far, and the records that belong at some places in it."""

    def __init__(self, begin: bytes) -> None:
        super().__init__(begin)
        self.records: list[tuple[int, Records]] = []

    def put(self, records: Records) -> None:
        """Write records here: at once if they are few."""
        if records.size > SMALL:
            self.records.append((len(self), records))
        else:
            for batch in records.batches:
                self += write_batch(batch)


@dataclass(frozen=True, slots=True)
class Response:
    """The bytes of a response, with the records that belong at some places in them."""

    data: bytes
    records: tuple[tuple[int, Records], ...] = ()

    @property
    def load(self) -> Load:
        """The records that it holds."""
        return Load(
            sum(records.size for _, records in self.records), sum(len(records.batches) for _, records in self.records)
        )

    def pieces(self) -> Iterator[bytes]:
        """Its bytes: each batch is a piece, and so is what stands between records."""
        at = 0
        for place, records in self.records:
            yield self.data[at:place]
            yield from map(write_batch, records.batches)
            at = place
        yield self.data[at:]

    def whole(self) -> bytes:
        """All of its bytes."""
        return b"".join(self.pieces()) if self.records else self.data

"""A log as ``kafka-dump-log`` of each release prints it: a committed transaction, an aborted one, a plain record."""

from collections.abc import Iterator
from dataclasses import dataclass

TIME = 1_710_000_000_000
PATH = "/data/orders-0/00000000000000000000.log"


@dataclass(frozen=True)
class Printed:
    """A batch: its offsets, its producer, and the kind of its marker if it is one."""

    first: int
    count: int
    producer_id: int = 7
    sequence: int = -1
    marker: str = ""
    size: int = 80

    @property
    def last(self) -> int:
        """The offset of its last record."""
        return self.first + self.count - 1

    @property
    def is_transactional(self) -> str:
        """Whether it is part of a transaction, as printed."""
        return str(self.producer_id >= 0).lower()


LOG = (
    Printed(0, 2, sequence=0),
    Printed(2, 1, marker="COMMIT", size=78),
    Printed(3, 2, sequence=2),
    Printed(5, 1, marker="ABORT", size=78),
    Printed(6, 1, producer_id=-1),
)
COMMITTED, END = [0, 1, 6], 7
COORDINATOR_EPOCH = 17
RELEASES = ("0.11", "0.11 batches", "2.4", "2.8", "3.1", "4.3", "4.3 batches")


def text_of(release: str, log: tuple[Printed, ...] = LOG, path: str | None = PATH) -> str:
    """The whole output of the tool; `path` None: without the line ``Dumping`` and the one behind it."""
    start = "Log starting offset" if release.startswith("4") else "Starting offset"
    head = [] if path is None else [f"Dumping {path}", f"{start}: {log[0].first}"]
    return "".join(f"{line}\n" for line in [*head, *_lines(release, log)])


def _lines(release: str, log: tuple[Printed, ...]) -> Iterator[str]:
    position = 0
    for batch in log:
        if release != "0.11":
            yield _batch(release, batch, position)
        if not release.endswith("batches"):
            yield from (_record(release, batch, position, number) for number in range(batch.count))
        position += batch.size


def _batch(release: str, batch: Printed, position: int) -> str:
    is_old = release.startswith("0.11")
    last_sequence = batch.sequence + batch.count - 1 if batch.sequence >= 0 else -1
    fields = {
        "baseOffset": batch.first,
        "lastOffset": batch.last,
        "count": None if is_old else batch.count,
        "baseSequence": batch.sequence,
        "lastSequence": last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": 0 if batch.producer_id >= 0 else -1,
        "partitionLeaderEpoch": 0,
        "isTransactional": batch.is_transactional,
        "isControl": None if is_old else str(bool(batch.marker)).lower(),
        "deleteHorizonMs": "OptionalLong.empty" if release.startswith("4") else None,
        "position": position,
        "CreateTime": TIME + batch.last,
        "isvalid": "true" if is_old else None,
        "size": batch.size,
        "magic": 2,
        "compresscodec": _codec(release),
        "crc": 90_000 + batch.first,
    }
    fields |= {} if is_old else {"isvalid": "true"}
    return " ".join(f"{name}: {value}" for name, value in fields.items() if value is not None)


def _codec(release: str) -> str:
    return "NONE" if release[:3] in ("0.1", "2.4", "2.8") else "none"


def _record(release: str, batch: Printed, position: int, number: int) -> str:
    offset = batch.first + number
    key, value = (4, 6) if batch.marker else (-1, 2)
    sequence = batch.sequence + number if batch.sequence >= 0 else -1
    shown = (
        f"endTxnMarker: {batch.marker} coordinatorEpoch: {COORDINATOR_EPOCH}" if batch.marker else f"payload: v{offset}"
    )
    headers = f"headerKeys: [] {shown}"
    time = f"CreateTime: {TIME + offset}"
    epoch = 0 if batch.producer_id >= 0 else -1
    if release == "0.11":
        producer = f"producerId: {batch.producer_id} producerEpoch: {epoch} sequence: {sequence}"
        sizes = f"isvalid: true keysize: {key} valuesize: {value} magic: 2 compresscodec: NONE"
        return (
            f"offset: {offset} position: {position} {time} {sizes} {producer} "
            f"isTransactional: {batch.is_transactional} {headers}"
        )
    if release == "2.8":
        of_batch = (
            f"baseOffset: {batch.first} lastOffset: {batch.last} baseSequence: {batch.sequence} lastSequence: "
            f"{sequence} producerEpoch: {epoch} partitionLeaderEpoch: 0 batchSize: {batch.size} magic: 2 "
            f"compressType: NONE position: {position}"
        )
        sizes = f"isValid: true crc: null keySize: {key} valueSize: {value}"
        return f"| offset: {offset} {sizes} {time} {of_batch} sequence: {sequence} {headers}"
    sizes = f"keysize: {key} valuesize: {value}" if release == "2.4" else f"keySize: {key} valueSize: {value}"
    return f"| offset: {offset} {time} {sizes} sequence: {sequence} {headers}"

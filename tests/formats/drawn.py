"""Batches and records drawn at random, and damage done to bytes: what tests of formats share."""

from struct import pack_into

import crc32c
from hypothesis import strategies as st

from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.record_batch import CHECKSUMMED_FROM, CRC_AT, TimestampType

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TIMES = st.integers(0, 2**41)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
FIELDS = st.none() | st.binary(max_size=40)


@st.composite
def records(draw: st.DrawFn) -> tuple[Record, ...]:
    """Records of a batch of which some are gone; offsets and times are told where they are not plain."""
    made = []
    delta = -1
    for index in range(draw(st.integers(0, 6))):
        delta += draw(st.integers(1, 3))
        made.append(
            Record(
                draw(FIELDS),
                draw(FIELDS),
                -1 if delta == index else delta,
                draw(HEADERS),
                draw(st.none() | TIMES),
            )
        )
    return tuple(made)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """A batch of data, of a marker, or a control batch whose marker is gone, as a broker holds it."""
    held = draw(records())
    marker = draw(st.none() | st.builds(Marker, st.booleans(), INT32))
    is_empty_control = marker is None and draw(st.booleans())
    if marker is not None or is_empty_control:
        held = ()
    last = max((i if each.offset_delta == -1 else each.offset_delta for i, each in enumerate(held)), default=0)
    time = draw(TIMES)
    base = draw(st.none() | TIMES)
    # What says the same is told in one way: a time that is the batch's own, a base that is the first record's.
    held = tuple(
        Record(
            each.key,
            each.value,
            each.offset_delta,
            each.headers,
            None if each.timestamp_ms == time else each.timestamp_ms,
        )
        for each in held
    )
    first = time if not held or held[0].timestamp_ms is None else held[0].timestamp_ms
    return Batch(
        producer_id=draw(st.integers(-1, 2**63 - 1)),
        producer_epoch=draw(st.integers(-1, 2**15 - 1)),
        base_sequence=draw(st.integers(-1, 2**31 - 1)),
        transactional=draw(st.booleans()),
        records=held,
        marker=marker,
        last_offset_delta=last + draw(st.integers(0, 2)),
        timestamp_ms=time,
        leader_epoch=draw(INT32),
        base_offset=draw(st.integers(0, 2**62)),
        is_empty_control=is_empty_control,
        codec=draw(st.sampled_from(Codec)),
        timestamp_type=draw(st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])),
        base_timestamp_ms=None if base == first else base,
        has_delete_horizon=draw(st.booleans()),
    )


def with_checksum(data: bytes) -> bytes:
    """The batch with the checksum that its bytes have now: a fault behind it has to be found by other means."""
    sealed = bytearray(data)
    pack_into(">I", sealed, CRC_AT, crc32c.crc32c(data[CHECKSUMMED_FROM:]))
    return bytes(sealed)

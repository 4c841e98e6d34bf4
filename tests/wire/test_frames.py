"""Frames and headers are found in whatever pieces bytes come, and what is none is refused."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.formats.primitives import write_uvarint
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.counts import MOST_ELEMENTS, MOST_TAGS, checked
from zombieproof.wire.entities import entity_class
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import Frames, behind_tags, read_header

FRAMES = (b"", b"a", b"bc" * 300, b"", b"d")
STREAM = b"".join(struct.pack(">i", len(frame)) + frame for frame in FRAMES)


@given(st.lists(st.integers(0, len(STREAM)), max_size=8).map(sorted))
def test_frames_are_the_same_in_whatever_pieces_they_come(cuts: list[int]) -> None:
    frames, found = Frames(), list[bytes]()
    for begin, end in pairwise([0, *cuts, len(STREAM)]):
        found += frames.feed(STREAM[begin:end])
    assert tuple(found) == FRAMES
    assert frames.waiting_bytes == 0


@pytest.mark.parametrize("size", [-1, -(1 << 31), 101, (1 << 31) - 1])
def test_a_frame_of_no_legal_size_is_refused_before_any_of_it_is_kept(size: int) -> None:
    frames = Frames(most_bytes=100)
    with pytest.raises(Malformed, match=f"a frame of {size} bytes; legal are 0 to 100"):
        list(frames.feed(struct.pack(">i", size)))


def test_frames_before_a_malformed_one_are_given() -> None:
    frames = Frames(most_bytes=3).feed(struct.pack(">i1si", 1, b"a", 4))
    assert next(frames) == b"a"
    with pytest.raises(Malformed):
        next(frames)


def test_a_header_has_a_client_or_none() -> None:
    assert read_header(struct.pack(">hhih", 22, 5, 7, -1)).client_id is None
    assert read_header(struct.pack(">hhih2s", 22, 5, 7, 2, b"me") + b"rest").client_id == "me"


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        struct.pack(">hhi", 22, 5, 7),
        struct.pack(">hhih", 22, 5, 7, -2),
        struct.pack(">hhih2s", 22, 5, 7, 3, b"me"),
        struct.pack(">hhih1s", 22, 5, 7, 1, b"\xff"),
    ],
)
def test_a_header_that_is_cut_or_no_text_is_refused(frame: bytes) -> None:
    with pytest.raises(Malformed):
        read_header(frame)


def test_tags_are_skipped() -> None:
    assert behind_tags(b"\x00", 0) == 1
    assert behind_tags(b"\x02\x00\x01a\x81\x01\x02bcrest", 0) == 9


@pytest.mark.parametrize("frame", [b"", b"\x01", b"\x01\x00\x05ab", b"\xff\xff\xff\xff\xff\xff", b"\x01\x00"])
def test_tags_that_do_not_end_are_refused(frame: bytes) -> None:
    with pytest.raises(Malformed):
        behind_tags(frame, 0)


@pytest.mark.parametrize(
    ("more", "told"), [(0, None), (1, "groups_names has 1000001 elements; legal are up to 1,000,000")]
)
def test_an_array_has_at_most_a_million_elements(more: int, told: str | None) -> None:
    kind, count = entity_class(ApiKey.DELETE_GROUPS, 2, "request"), MOST_ELEMENTS + more
    data = write_uvarint(count + 1) + b"\x01" * count + b"\x00"
    if told is None:
        assert checked(kind, data, 0) == data
    else:
        with pytest.raises(Malformed, match=told):
            checked(kind, data, 0)


@pytest.mark.parametrize(("more", "told"), [(0, None), (1, "10001 tagged fields; legal are up to 10,000")])
def test_a_message_has_at_most_ten_thousand_tagged_fields(more: int, told: str | None) -> None:
    kind, count = entity_class(ApiKey.DELETE_GROUPS, 2, "request"), MOST_TAGS + more
    data = b"\x01" + write_uvarint(count) + b"".join(write_uvarint(tag) + b"\x00" for tag in range(count))
    if told is None:
        assert checked(kind, data, 0) == b"\x01\x00", "none of them is known"
    else:
        with pytest.raises(Malformed, match=told):
            checked(kind, data, 0)

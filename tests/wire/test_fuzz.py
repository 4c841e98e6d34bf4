"""Whatever bytes come, a broker answers, or ends the connection."""

import struct
from functools import cache

import pytest

from tests.wire import fuzz
from tests.wire.fronts import fronted
from tests.wire.raw import request_bytes
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetCommit, PlainOffsetToCommit
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire import counts
from zombieproof.wire.asking import answer_in
from zombieproof.wire.faults import Malformed

T: TopicPartition = ("t0", 1)


@cache
def traffic() -> list[bytes]:
    return fuzz.traffic(nth=40)


@pytest.mark.sample("1")
@pytest.mark.parametrize("seed", [1, 2])
def test_frames_that_nobody_sent_are_answered_or_end_their_connection(seed: int) -> None:
    found = fuzz.fuzz(traffic(), 1000, seed)
    assert found.faults == []
    assert found.slowest_s < fuzz.LONGEST_S
    assert found.outcomes["answered"] > 100
    assert found.outcomes["closed"] > 100


def test_a_broker_that_falls_over_some_frame_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "_tags", lambda data, at, known, cuts: at)
    assert fuzz.fuzz(traffic(), 3000, 1).faults, "kio knows no tags but those of its schemas"


def test_a_call_that_takes_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "LONGEST_S", 0.0)
    assert [each.partition(" took ")[0] for each in fuzz.fuzz(traffic(), 50, 1).wrong if " took " in each]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_frames() -> None:
    assert fuzz.fuzz(traffic(), 200, 3).outcomes == fuzz.fuzz(traffic(), 200, 3).outcomes


@pytest.mark.parametrize("count", [1000, (1 << 31) - 1])
def test_a_count_is_compared_with_the_bytes_behind_it_before_room_is_made(count: int) -> None:
    header = struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1)
    with pytest.raises(Malformed, match=f"topics says that it has {count} elements, where 3 bytes follow"):
        fronted().front.ask(header + struct.pack(">i", count) + b"abc")


def test_rows_whose_arrays_are_empty_are_no_more_than_there_can_be() -> None:
    rows = [{"partition_index": number, "replicas": []} for number in range(9)]
    values = {"timeout": 1, "topics": [{"name": "z", "partitions": rows}]}
    asked = fronted().front.ask(request_bytes(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, values))
    assert len(asked.entity.topics[0].partitions) == len(rows)


def test_tags_that_nobody_knows_are_ignored() -> None:
    here, request = fronted(), EndTxn(5, "x", 1, 0, committed=True)
    frame = here.frame(request)
    assert frame.endswith(b"\x00")
    told = here.answer(frame[:-1] + b"\x02\x07\x03abc\x63\x00")
    assert answer_in(told, request, here.names) == EndTxnAnswer(int(Error.INVALID_PRODUCER_ID_MAPPING))


def test_tags_of_rows_are_ignored_too() -> None:
    here = fronted()
    request = OffsetCommit(8, "g", (PlainOffsetToCommit(T, 5, "meta"),))
    frame = here.frame(request)
    at = frame.index(b"\x05meta") + len(b"\x05meta")
    assert frame[at] == 0
    tagged = frame[:at] + b"\x01\x05\x02xy" + frame[at + 1 :]
    assert here.front.ask(tagged).messages == here.front.ask(frame).messages == (request,)


@pytest.mark.parametrize("tags", [b"\x01", b"\x01\x05\x09xy", b"\xff\xff\xff\xff\xff\x01", b"\x02\x05\x00"])
def test_tags_that_do_not_end_are_malformed(tags: bytes) -> None:
    here = fronted()
    with pytest.raises(Malformed):
        here.front.ask(here.frame(InitProducerId(4, "x", 1000))[:-1] + tags)


def test_an_array_that_may_not_be_null_is_malformed_if_it_is() -> None:
    header = struct.pack(">hhih", ApiKey.DELETE_GROUPS, 0, 7, -1)
    with pytest.raises(Malformed, match="groups_names may not be null"):
        fronted().front.ask(header + struct.pack(">i", -1))

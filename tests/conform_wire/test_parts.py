"""Names outside, what is seen in an answer, and which release a broker speaks as."""

import pytest
from pydantic import JsonValue

from tests.conform_wire.wrong import served
from zombieproof.conformance.outside.applicable import release_of
from zombieproof.conformance.outside.bootstrap import addresses_of, is_loopback
from zombieproof.conformance.outside.introduction import Spoken, Unreachable
from zombieproof.conformance.outside.looks import is_in, numbered, seen_in
from zombieproof.conformance.outside.peer import NotPossible, Peer
from zombieproof.conformance.outside.renaming import Renaming
from zombieproof.messages.groups import FindCoordinator, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import DescribeTopics, Fetch
from zombieproof.messages.transactions import AddPartitionsToTxn, TransactionToAdd
from zombieproof.model.placement import partition_for
from zombieproof.model.vocabulary import ApiKey, Isolation
from zombieproof.wire.api import Address

OFFSETS = "__consumer_offsets"


@pytest.mark.parametrize("partitions", [1, 2, 3, 50])
def test_groups_live_together_and_apart_as_in_a_recording(partitions: int) -> None:
    names = Renaming("mine-", offsets_partitions=partitions, transaction_partitions=partitions)
    places = [partition_for(names.group(f"g{number}") or "", partitions) for number in range(4)]
    assert places[0] == places[2]
    assert places[1] == places[3]
    assert partitions == 1 or places[0] != places[1]
    assert names.partition((OFFSETS, 0)) == (OFFSETS, places[0])
    assert names.partition_inside((OFFSETS, places[0])) == (OFFSETS, 0)


def test_transactional_ids_of_a_sequence_have_one_coordinator() -> None:
    names = Renaming("mine-", transaction_partitions=50)
    places = {partition_for(names.transactional_id(f"x{number}") or "", 50) for number in range(5)}
    assert places == {names.transaction_partition()}


def test_every_name_in_a_request_is_the_runs_own() -> None:
    names = Renaming("mine-")
    commit = TxnOffsetCommit(3, "x0", "g0", 1, 0, (OffsetToCommit(("t0", 0), 5),))
    sent = names.sent(commit)
    assert (sent.transactional_id, sent.group, sent.offsets[0].partition) == ("mine-x0", "mine-g0", ("mine-t0", 0))
    assert names.told(sent) == commit
    add = AddPartitionsToTxn(3, (TransactionToAdd("x0", 1, 0, (("t0", 0), ("t0", 1))),))
    assert names.sent(add).transactions[0].partitions == (("mine-t0", 0), ("mine-t0", 1))
    assert names.told(names.sent(add)) == add
    fetch = Fetch(11, Isolation.READ_COMMITTED, {("t0", 0): 3})
    assert names.sent(fetch).partitions == {("mine-t0", 0): 3}
    assert names.sent(DescribeTopics(12, ("t0", "nope"))).topics == ("mine-t0", "mine-nope")
    assert names.sent(FindCoordinator(3, "g0", 0)).key == "mine-g0"
    assert names.sent(FindCoordinator(3, "x0", 1)).key == "mine-x0"


def test_none_and_the_empty_name_are_themselves() -> None:
    names = Renaming("mine-", offsets_partitions=3, transaction_partitions=3)
    assert (names.transactional_id(None), names.transactional_id(""), names.group("")) == (None, "", "")
    assert names.topic(OFFSETS) == OFFSETS


def batch(first: int, pid: str, *values: str, transactional: bool = True) -> JsonValue:
    last = first + len(values) - 1
    return {"base_offset": first, "last_offset": last, "pid": pid, "transactional": transactional, "values": [*values]}


def marker(at: int, pid: str, control: str) -> JsonValue:
    return {"base_offset": at, "last_offset": at, "pid": pid, "control": control}


def test_a_reader_skips_what_is_listed_until_its_marker() -> None:
    batches: list[JsonValue] = [
        batch(0, "p0", "a"),
        batch(1, "p1", "x"),
        batch(2, "p0", "plain", transactional=False),
        marker(3, "p0", "ABORT"),
        batch(4, "p0", "b"),
        marker(5, "p0", "COMMIT"),
        marker(6, "p1", "COMMIT"),
    ]
    row: JsonValue = {"topic": "t0", "partition": 0, "error": 0, "aborted": [["p0", 0]], "batches": batches}
    seen = seen_in("Fetch", {"partitions": [row]})
    assert seen["values"] == ["a", "x", "plain", "b"]
    assert seen["readable"] == ["x", "plain", "b"]
    assert seen["markers"] == ["ABORT", "COMMIT", "COMMIT"]


def test_an_error_of_the_whole_answer_counts_more_than_that_of_its_row() -> None:
    assert seen_in("OffsetFetch", {"error": 16, "partitions": [["t0", 0, 0, 5, ""]]})["error"] == 16
    assert seen_in("OffsetFetch", {"error": 0, "partitions": [["t0", 0, 88, -1, ""]]})["error"] == 88


@pytest.mark.parametrize(
    ("expected", "seen", "is_part"),
    [
        ({"error": "NONE"}, {"error": 0, "pid": "p0"}, True),
        ({"error": "NONE"}, {"pid": "p0"}, False),
        ({"error": "PRODUCER_FENCED"}, {"error": 47}, False),
        ({"rows": [{"a": 1}]}, {"rows": [{"a": 1, "b": 2}]}, True),
        ({"rows": [{"a": 1}]}, {"rows": [{"a": 1}, {"a": 1}]}, False),
        ({"started": True}, {"started": 1}, False),
        ({"aborted": None}, {"aborted": []}, False),
    ],
)
def test_what_is_expected_is_a_part_of_what_is_seen(expected: object, seen: object, is_part: bool) -> None:
    assert is_in(numbered(expected), seen) == is_part  # type: ignore[arg-type]  # objects of JSON


@pytest.mark.parametrize(("release", "level"), [("2.8", 0), ("3.6", 0), ("3.9", 0), ("4.0", 2), ("4.3", 2)])
def test_a_broker_is_known_by_what_it_speaks(release: str, level: int) -> None:
    with served(transaction_version=level, release=release) as bootstrap:
        peer = Peer(addresses_of(bootstrap))
        peer.close()
    assert (release_of(peer.spoken), peer.spoken.transaction_version) == (release, level)


def test_what_a_broker_does_not_speak_is_not_asked() -> None:
    spoken = Spoken({int(ApiKey.END_TXN): range(2, 4)}, {})
    assert [spoken.newest(ApiKey.END_TXN, ours) for ours in (1, 2, 3, 5)] == [-1, 2, 3, 3]
    assert spoken.newest(ApiKey.PRODUCE, 5) == -1
    with served() as bootstrap:
        peer = Peer(addresses_of(bootstrap))
        peer.spoken = spoken
        with pytest.raises(NotPossible, match="the broker does not speak METADATA"):
            peer.describe([])
        peer.close()


def test_a_listener_that_wants_to_know_who_asks_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Peer, topics: object) -> None:
        raise Unreachable("the broker does not answer METADATA: the broker has ended the connection")

    monkeypatch.setattr(Peer, "describe", refused)
    with served() as bootstrap, pytest.raises(Unreachable, match="only listeners without authentication"):
        Peer(addresses_of(bootstrap))


def test_addresses() -> None:
    assert addresses_of("a:1, [::1]:2") == (Address("a", 1), Address("::1", 2))
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3", "0.0.0.0", "kafka")] == [
        *[True] * 4,
        *[False] * 2,
    ]

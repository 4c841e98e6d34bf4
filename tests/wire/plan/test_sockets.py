"""Faults as a client on a socket meets them, and time that only the test moves."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wire.plan.sockets import Line, batch
from tests.wire.plan.staged import planned
from zombieproof.bridge.again import live_again
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.partitions import Fetch
from zombieproof.messages.transactions import AddPartitionsToTxn, EndTxn, InitProducerId, TransactionToAdd
from zombieproof.model.vocabulary import Error, Isolation
from zombieproof.traces.trace_file import read_live
from zombieproof.wire.plan.stories import story
from zombieproof.wire.running import NotRunning, Running

PLACE, BESIDE = ("late", 0), ("late", 1)
ASKED = FindCoordinator(3, "app", 1)


def running(
    fault: str, *, request: str = "{api: FindCoordinator}", more: str = "", trace: Path | None = None
) -> Running:
    return Running(planned(f"{more}\ntopics: {{late: 2}}\nfaults:\n- request: {request}\n  {fault}\n"), trace)


def test_an_error_is_written_in_the_version_that_was_asked() -> None:
    with running("inject_error: COORDINATOR_NOT_AVAILABLE") as brokers, Line(brokers) as line:
        assert line.ask(ASKED).error == Error.COORDINATOR_NOT_AVAILABLE
        assert line.ask(ASKED).error == Error.NONE


@pytest.mark.parametrize("effect", ["before", "after"])
def test_a_connection_ends_and_the_next_one_is_served(effect: str) -> None:
    with running(f"disconnect_on: {effect}") as brokers:
        with Line(brokers) as line, Line(brokers) as other:
            assert line.ask(ASKED) is None
            assert other.ask(ASKED).node == 1
        with Line(brokers) as line:
            assert line.ask(ASKED).node == 1


def test_a_black_hole_keeps_the_connection_and_all_that_follows_on_it() -> None:
    with running("blackhole: before") as brokers, Line(brokers) as line, Line(brokers) as other:
        line.send(ASKED)
        line.send(ASKED)
        assert other.ask(ASKED).node == 1
        assert line.hears_nothing()


def test_what_waits_for_a_word_is_answered_when_the_test_says_it() -> None:
    with running("delay_on: {until: {release: go}}") as brokers, Line(brokers) as line:
        line.send(ASKED)
        assert line.hears_nothing()
        brokers.release("go")
        assert line.hear(ASKED).node == 1


def test_all_connections_to_a_broker_that_crashes_end_and_none_is_taken_while_it_is_away() -> None:
    fault = "crash_broker: {moment: before append, back: 60000}"
    with running(fault) as brokers, Line(brokers) as line, Line(brokers) as other:
        assert other.ask(ASKED) is None
        assert line.hear(ASKED) is None, "it ends though nothing was asked on it"
        with Line(brokers) as late:
            assert late.ask(ASKED) is None
        brokers.advance(60_000)
        with Line(brokers) as again:
            assert again.ask(ASKED).node == 1


def test_clients_are_told_apart_by_their_ids() -> None:
    request = "{api: FindCoordinator, client_id: zombie}"
    with (
        running("disconnect_on: before", request=request) as brokers,
        Line(brokers, "shop") as shop,
        Line(brokers, "zombie") as zombie,
    ):
        assert shop.ask(ASKED).node == 1
        assert zombie.ask(ASKED) is None


def test_time_stands_still_until_the_test_moves_it() -> None:
    plan = planned("controlled_clock: true\ntopics: {late: 1}")
    with Running(plan) as brokers, Line(brokers) as line:
        fetch = Fetch(11, Isolation.READ_COMMITTED, {PLACE: 0}, max_wait_ms=500)
        line.send(fetch)
        before_ms = brokers.clock.now_ms()
        assert line.hears_nothing(0.6), "half a second of the machine is none of the brokers"
        brokers.advance(499)
        assert line.hears_nothing()
        brokers.advance(1)
        assert line.hear(fetch).partitions[PLACE].error == Error.NONE
        assert brokers.clock.now_ms() - before_ms == 500


def test_a_transaction_times_out_when_the_test_says_so() -> None:
    with Running(planned("controlled_clock: true\ntopics: {late: 1}")) as brokers, Line(brokers) as line:
        begun = line.ask(InitProducerId(4, "app", 5_000))
        me = begun.producer_id, begun.producer_epoch
        assert line.ask(batch(me, PLACE, b"r", version=12)).partitions[PLACE].error == Error.NONE
        began = time.monotonic()
        brokers.advance(5_000 + 10_000)
        assert time.monotonic() - began < 5
        assert line.ask(EndTxn(5, "app", *me, committed=True)).error != Error.NONE


def test_a_late_end_txn_commits_what_a_client_on_a_socket_aborts(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    with Running(story("late_end_txn"), trace) as brokers, Line(brokers) as line:
        begun = line.ask(InitProducerId(4, "app", 60_000))
        me = begun.producer_id, begun.producer_epoch
        for number, (place, committed) in enumerate(((PLACE, True), (PLACE, None), (BESIDE, False))):
            line.ask(AddPartitionsToTxn(3, (TransactionToAdd("app", *me, (place,)),)))
            sequence = number if place == PLACE else 0
            assert line.ask(batch(me, place, b"%d" % number, sequence=sequence)).partitions[place].error == Error.NONE
            if committed is not None:
                assert line.ask(EndTxn(4, "app", *me, committed=committed)).error == Error.NONE
        fetched = line.ask(Fetch(11, Isolation.READ_COMMITTED, {PLACE: 0})).partitions[PLACE]
        assert [each.value for part in fetched.batches for each in part.records if not part.is_control] == [b"0", b"1"]
        assert not fetched.aborted
        assert brokers.play.report().is_whole
    found = live_again(read_live(trace), str(trace), only_at_the_end=True)
    assert found.finding is not None
    assert found.finding.promise == "only_what_was_asked_to_commit_is_committed"


# ---------------------------------------------------------------- brokers in a thread


@pytest.fixture
def brokers() -> Iterator[Running]:
    with Running() as found:
        yield found


def test_topics_are_there_with_a_replica_everywhere() -> None:
    with Running(brokers=3) as brokers:
        brokers.topics(a=3)
        known = brokers.cluster.metadata.partitions
        assert [known["a", number].replicas for number in range(3)] == [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
        with pytest.raises(ValueError, match="there is a topic 'a' already"):
            brokers.topics(a=1)


def test_each_broker_has_a_port_of_its_own() -> None:
    with Running(brokers=3) as brokers:
        assert len(set(brokers.bootstrap.split(","))) == 3
        for node in (1, 2, 3):
            with Line(brokers, node=node) as line:
                assert line.ask(ASKED).error == Error.NONE


def test_they_stop_once_and_are_not_there_any_more(brokers: Running) -> None:
    brokers.close()
    brokers.close()
    with pytest.raises(NotRunning):
        brokers.topics(a=1)
    with pytest.raises(ConnectionRefusedError):
        Line(brokers)


def test_a_test_for_asyncio_may_use_them(brokers: Running) -> None:
    async def ask() -> bytes:
        host, _, port = brokers.bootstrap.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff")
        head = await reader.readexactly(8)
        writer.close()
        await writer.wait_closed()
        return head[4:]

    assert asyncio.run(ask()) == b"\0\0\0\x07"

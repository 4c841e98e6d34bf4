"""The consumer's filter, over what a leader serves."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker.partitions import Place, data, end, plain
from zombieproof.broker.cluster.journal import KeptJournal
from zombieproof.broker.partition.replica import Replica
from zombieproof.clients.read_committed import CorruptBatchError, Delivered, FetchError, FetchFilter
from zombieproof.formats.batches import Batch, Marker, Record
from zombieproof.messages.partitions import Fetched
from zombieproof.model.rules import Rules, with_switches
from zombieproof.model.vocabulary import NONE, ConsumerState, Error, Isolation, Origin

UNVERIFIED = with_switches(Rules(), off=["verification"])
COMMITTED, UNCOMMITTED = Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED
BUFFERING = Isolation.READ_COMMITTED_BUFFERING


def reader(isolation: Isolation = COMMITTED, rules: Rules | None = None, position: int = 0) -> FetchFilter:
    return FetchFilter(("t", 0), isolation, Rules() if rules is None else rules, KeptJournal(), position)


def poll(consumer: FetchFilter, replica: Replica) -> list[int]:
    """The offsets that one fetch gives the application."""
    request = consumer.request()
    (position,) = request.partitions.values()
    return offsets(consumer.read(replica.fetch(position, request.isolation)))


def offsets(delivered: Iterable[Delivered]) -> list[int]:
    return [each.offset for each in delivered]


def some_log() -> Replica:
    """Producer 1 commits offset 0, producer 2 aborts 1 and 3, offset 2 is nobody's, producer 3 is undecided."""
    replica = Place(rules=UNVERIFIED).leader()
    for batch in (data(1, 0), data(2, 0), plain(1), data(2, 1)):
        replica.append(batch, 0, Origin.CLIENT)
    end(replica, 2, committed=False)
    end(replica, 1)
    replica.append(data(3, 0), 0, Origin.CLIENT)
    return replica


@pytest.mark.parametrize(
    ("isolation", "read", "position"),
    [(COMMITTED, [0, 2], 6), (UNCOMMITTED, [0, 1, 2, 3, 6], 7), (BUFFERING, [2, 0], 7)],
)
def test_what_each_isolation_gets_of_the_same_log(isolation: Isolation, read: list[int], position: int) -> None:
    consumer, replica = reader(isolation), some_log()
    assert poll(consumer, replica) == read
    assert consumer.position == position
    assert poll(consumer, replica) == []


def test_an_undecided_transaction_is_read_when_it_is_decided() -> None:
    replica = some_log()
    consumers = [reader(COMMITTED), reader(BUFFERING)]
    for consumer in consumers:
        poll(consumer, replica)
    end(replica, 3)
    assert [poll(consumer, replica) for consumer in consumers] == [[6], [6]]


def test_a_consumer_that_begins_inside_an_aborted_transaction_skips_the_rest_of_it() -> None:
    consumer = reader(position=3)
    assert poll(consumer, some_log()) == []
    assert consumer.position == 6


def test_without_the_brokers_list_aborted_data_is_delivered() -> None:
    assert poll(reader(rules=with_switches(Rules(), off=["aborted_list"])), some_log()) == [0, 1, 2, 3]


def test_a_consumer_that_never_ends_to_skip_loses_committed_data() -> None:
    replica = Place(rules=UNVERIFIED).leader()
    replica.append(data(1, 0), 0, Origin.CLIENT)
    end(replica, 1, committed=False)
    replica.append(data(1, 1), 0, Origin.CLIENT)
    end(replica, 1)
    assert poll(reader(), replica) == [2]
    assert poll(reader(rules=with_switches(Rules(), off=["skipping_ends"])), replica) == []


def test_plain_data_of_a_producer_whose_marker_was_compacted_away_is_delivered() -> None:
    batches = (data(1, 0, at=0), data(1, 1, transactional=False, at=1))
    fetched = Fetched(0, 2, 2, 0, ((1, 0),), batches)
    assert offsets(reader().read(fetched)) == [1]


def test_records_before_the_position_are_not_delivered_again() -> None:
    replica = Place().leader()
    replica.append(plain(3), 0, Origin.CLIENT)
    assert poll(reader(position=1), replica) == [1, 2]


def test_what_is_sound_before_a_wrong_checksum_is_delivered_and_then_nothing() -> None:
    batches = tuple(replace(plain(1), base_offset=offset) for offset in range(3))
    consumer = reader()
    assert offsets(consumer.read(Fetched(0, 3, 3, 0, (), batches), corrupt_at=[1])) == [0]
    for _ in range(2):
        with pytest.raises(CorruptBatchError, match="t-0: the batch at offset 1 does not match") as raised:
            consumer.read(Fetched(0, 3, 3, 0, (), batches), corrupt_at=[1])
        assert raised.value.offset == 1
    assert consumer.position == 1


def test_an_answer_that_is_an_error_is_raised() -> None:
    with pytest.raises(FetchError, match="OFFSET_OUT_OF_RANGE") as raised:
        reader(position=7).read(Place().leader().fetch(7, COMMITTED))
    assert raised.value.error == Error.OFFSET_OUT_OF_RANGE


def test_what_is_known_of_aborted_producers_lasts_for_one_answer() -> None:
    consumer = reader()
    assert consumer.read(Fetched(0, 1, 1, 0, ((1, 0),), (data(1, 0, at=0),))) == ()
    assert offsets(consumer.read(Fetched(0, 2, 2, 0, (), (data(1, 1, at=1),)))) == [1]


@pytest.mark.parametrize(
    ("isolation", "targets"),
    [
        (COMMITTED, ["DELIVERING", "SKIPPING", "SKIPPING", "SKIPPING", "DELIVERING", "DELIVERING"]),
        (BUFFERING, ["BUFFERING", "BUFFERING", "BUFFERING", "DELIVERING", "DELIVERING", "BUFFERING"]),
    ],
)
def test_every_move_is_in_the_journal(isolation: Isolation, targets: list[str]) -> None:
    consumer = reader(isolation)
    poll(consumer, some_log())
    assert isinstance(consumer.journal, KeptJournal)
    assert [ConsumerState(move.target).name for move in consumer.journal.moves] == targets


def test_a_marker_whose_record_was_compacted_away_ends_nothing() -> None:
    batches = (
        Batch(1, 0, 0, True, (Record(None, b""),), base_offset=0),
        Batch(1, 0, NONE, True, base_offset=1, is_empty_control=True),
        Batch(1, 0, 1, True, (Record(None, b""),), base_offset=2),
        Batch(1, 0, NONE, True, (), Marker(False, 0), base_offset=3),
    )
    consumer = reader()
    assert consumer.read(Fetched(0, 4, 4, 0, ((1, 0),), batches)) == ()
    assert consumer.position == 4


STEPS = st.lists(
    st.tuples(st.sampled_from(["data", "plain", "commit", "abort"]), st.integers(1, 3), st.integers(1, 3)), max_size=25
)


@given(STEPS, st.lists(st.booleans(), max_size=25))
def test_both_ways_of_reading_committed_data_agree_and_only_order_differs(
    steps: list[tuple[str, int, int]], polls: list[bool]
) -> None:
    """Kafka's consumer delivers in the order of offsets; one that buffers delivers the same records, later."""
    replica = Place(rules=UNVERIFIED).leader()
    kafkas, buffering = reader(COMMITTED), reader(BUFFERING)
    read: dict[Isolation, list[int]] = {COMMITTED: [], BUFFERING: []}
    sequences = dict.fromkeys(range(4), 0)
    pending: dict[int, list[int]] = {}
    committed: list[int] = []
    for number, (what, producer_id, count) in enumerate(steps):
        if what == "data":
            appended = replica.append(data(producer_id, sequences[producer_id], count), 0, Origin.CLIENT)
            sequences[producer_id] += count
            pending.setdefault(producer_id, []).extend(range(appended.base_offset, appended.base_offset + count))
        elif what == "plain":
            base = replica.append(plain(count), 0, Origin.CLIENT).base_offset
            committed.extend(range(base, base + count))
        else:
            end(replica, producer_id, committed=what == "commit")
            ended = pending.pop(producer_id, [])
            committed.extend(ended if what == "commit" else [])
        if number < len(polls) and polls[number]:
            for consumer in (kafkas, buffering):
                read[consumer.isolation] += poll(consumer, replica)
    for producer_id in list(pending):
        end(replica, producer_id, committed=True)
        committed.extend(pending.pop(producer_id))
    for consumer in (kafkas, buffering):
        read[consumer.isolation] += poll(consumer, replica)
    assert read[COMMITTED] == sorted(committed)
    assert sorted(read[BUFFERING]) == sorted(committed)

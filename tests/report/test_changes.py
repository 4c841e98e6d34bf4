"""Each kind of change has its words, and a change that contradicts what was said or done before says so."""

import copy
from typing import Any

import pytest

from zombieproof.checker.transactions.capacities import OFFSETS
from zombieproof.checker.transactions.state import LogRecord, Message, State
from zombieproof.model.vocabulary import LogEntry, ProducerState, TransactionState
from zombieproof.report.changes import at_brokers, at_clients

COMMITTED, ABORTED = 1, 2
OFFSET = LogRecord(kind=int(LogEntry.OFFSET), label=1, value=1)


@pytest.fixture
def before() -> State:
    state = State()
    state.group.committed.offset = 0
    return state


def changes(before: State, after: State) -> tuple[str, ...]:
    return (*at_brokers(before, after), *at_clients(before, after))


def _changed(before: State, **leaves: int) -> tuple[str, ...]:
    """What is said of a state in which some leaves differ; `a__0__b` is the leaf a[0].b."""
    after = copy.deepcopy(before)
    for path, value in leaves.items():
        *way, last = path.split("__")
        place: Any = after
        for step in way:
            place = place[int(step)] if step.isdigit() else getattr(place, step)
        setattr(place, last, value)
    return changes(before, after)


def data(label: int, *, producer_epoch: int = 0, sequence: int = 0) -> LogRecord:
    return LogRecord(kind=int(LogEntry.DATA), label=label, producer_epoch=producer_epoch, value=sequence)


def marker(kind: LogEntry, *, producer_epoch: int = 0, coordinator_epoch: int = 0) -> LogRecord:
    return LogRecord(kind=int(kind), producer_epoch=producer_epoch, value=coordinator_epoch)


def log(state: State, *records: LogRecord, partition: int = 0, end: int | None = None) -> None:
    """Put records into a log, which ends at `end`, or behind them all."""
    state.partitions[partition].log[: len(records)] = list(records)
    state.partitions[partition].end = len(records) if end is None else end


@pytest.mark.parametrize(
    ("leaves", "says"),
    [
        ({"partitions__0__end": 1}, "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 0)"),
        ({"clients__1__producer_id": 0, "clients__1__producer_epoch": 2}, "B is now producer 0, epoch 2"),
        ({"clients__0__state": int(ProducerState.ABORTABLE_ERROR)}, "A can only abort now"),
        (
            {"clients__1__state": int(ProducerState.FATAL_ERROR)},
            "B is dead: a fatal error, it sends nothing any more",
        ),
        ({"ghost__labels__0__result": 1}, "A is told that A.1 is committed"),
        ({"ghost__labels__4__result": 2}, "B is told that B.2 is aborted"),
        ({"ghost__labels__3__acked": 2}, "B gets the ack from p1 for B.1"),
        ({"group__generation": 1, "group__owner": 1}, "generation 1 of the group: B owns the input"),
        (
            {"readers__0__position": 1, "readers__0__delivered": 1},
            "the read_committed reader delivers offset 0 of p0 (A.1, undecided) and stands at offset 1",
        ),
        ({"durable__0__known": 1}, "x0 is logged as EMPTY (producer -1, epoch -1)"),
    ],
)
def test_each_change_has_its_words(before: State, leaves: dict[str, int], says: str) -> None:
    before.partitions[0].log[0] = data(1)
    assert _changed(before, **leaves) == (says,)


def test_an_offset_that_passes_over_an_input_is_told_with_that(before: State) -> None:
    told = _changed(before, group__committed__offset=1)
    assert told == ("the group's committed offset is 1", "an input before offset 1 has no committed output")


def test_a_state_that_stays_the_same_is_told_in_no_words(before: State) -> None:
    assert _changed(before) == ()


def test_the_log_of_the_coordinator_is_told_record_by_record(before: State) -> None:
    txn = before.durable[1]
    txn.known, txn.producer_id, txn.producer_epoch = True, 0, 3
    before.ghost.owner[1] = 5
    opens = _changed(before, durable__1__state=int(TransactionState.ONGOING), durable__1__partitions=5)
    assert opens == ("x1 is logged as ONGOING (producer 0, epoch 3), partitions p0, __consumer_offsets, opened by B.2",)
    rotates = _changed(before, durable__1__state=int(TransactionState.PREPARE_COMMIT), durable__1__next_producer_id=1)
    assert rotates == ("x1 is logged as PREPARE_COMMIT (producer 0, epoch 3, then producer 1)",)
    assert _changed(before, durable__1__known=0) == ("x1 is forgotten: it was EMPTY (producer 0, epoch 3)",)


def test_a_partition_that_loses_its_place_on_the_list_without_a_marker_is_told(before: State) -> None:
    before.nodes[0].believes = True
    before.nodes[0].cache[0].partitions = 3
    before.partitions[1].leader = False
    decided = {"nodes__0__cache__0__state": int(TransactionState.PREPARE_COMMIT)}
    says = "p1 has no leader: it is taken off the list of x0 without a marker"
    assert _changed(before, **decided, nodes__0__cache__0__partitions=1) == (says,)
    assert _changed(before, **decided, nodes__0__cache__0__partitions=2) == ()


def test_markers_are_told_when_they_set_out_and_not_again(before: State) -> None:
    after = copy.deepcopy(before)
    for p in (0, 1):
        after.messages[p] = Message(kind=7, live=True, producer_id=0, producer_epoch=1, partition=p, detail=1)
    says = "COMMIT marker (producer 0, epoch 1, coordinator epoch 0) sets out for p0 and p1"
    assert changes(before, after) == (says,)
    later = copy.deepcopy(after)
    later.messages[0], later.messages[2] = Message(), later.messages[0]
    assert changes(after, later) == ()


# ---------------------------------------------------------------- contradictions


@pytest.mark.parametrize(
    ("there", "comes", "says"),
    [
        (data(1, producer_epoch=2), data(2), "behind epoch 2"),
        (data(1), data(2, sequence=2), "and sequence 1 would be next"),
        (data(1), data(1), "which is at offset 0 already, and sequence 1 would be next"),
        (data(1), data(1, producer_epoch=1), "which is at offset 0 already"),
        (marker(LogEntry.COMMIT, coordinator_epoch=3), marker(LogEntry.COMMIT), "behind coordinator epoch 3"),
    ],
)
def test_a_record_that_does_not_follow_says_why(before: State, there: LogRecord, comes: LogRecord, says: str) -> None:
    log(before, there, comes, end=1)
    assert _changed(before, partitions__0__end=2)[0].endswith(f"), {says}")


@pytest.mark.parametrize(
    ("there", "comes"),
    [
        (data(1), data(2, sequence=1)),
        (data(1), data(2, producer_epoch=1)),
        (marker(LogEntry.COMMIT, coordinator_epoch=3), marker(LogEntry.ABORT, coordinator_epoch=3)),
        (marker(LogEntry.COMMIT), data(1)),
    ],
)
def test_a_record_that_follows_is_told_without_remarks(before: State, there: LogRecord, comes: LogRecord) -> None:
    log(before, there, comes, end=1)
    assert _changed(before, partitions__0__end=2)[0].endswith(")")


@pytest.mark.parametrize(
    ("asked", "told", "kind", "says"),
    [
        (COMMITTED, COMMITTED, LogEntry.COMMIT, "A.1 is committed on p0"),
        (ABORTED, 0, LogEntry.ABORT, "A.1 is aborted on p0"),
        (0, 0, LogEntry.ABORT, "A.1 is aborted on p0"),
        (0, 0, LogEntry.COMMIT, "A.1 is committed on p0, although A has not asked to commit it"),
        (ABORTED, 0, LogEntry.COMMIT, "A.1 is committed on p0, although A asked to abort it"),
        (ABORTED, ABORTED, LogEntry.COMMIT, "A.1 is committed on p0, although A was told that it is aborted"),
        (COMMITTED, COMMITTED, LogEntry.ABORT, "A.1 is aborted on p0, although A was told that it is committed"),
    ],
)
def test_what_a_marker_decides_is_held_against_what_was_asked_and_told(
    before: State, asked: int, told: int, kind: LogEntry, says: str
) -> None:
    log(before, data(1), marker(kind), end=1)
    before.ghost.labels[0].asked, before.ghost.labels[0].result = asked, told
    assert _changed(before, partitions__0__end=2)[1:] == (says,)


def test_a_transaction_that_is_torn_apart_says_where(before: State) -> None:
    log(before, data(1), marker(LogEntry.COMMIT), end=1)
    log(before, data(1), marker(LogEntry.ABORT), partition=1)
    before.ghost.labels[0].asked = COMMITTED
    assert "A.1 is committed on p0, and aborted on p1" in _changed(before, partitions__0__end=2)
    assert "A is told that A.1 is committed, although it is aborted on p1" in _changed(
        before, ghost__labels__0__result=1
    )


def test_an_input_with_two_committed_outputs_is_told(before: State) -> None:
    log(before, data(1), marker(LogEntry.COMMIT), LogRecord(kind=1, producer_id=1, label=4), end=3)
    before.partitions[0].log[3] = LogRecord(kind=int(LogEntry.COMMIT), producer_id=1)
    for label in (1, 4):
        before.ghost.labels[label - 1].asked, before.ghost.labels[label - 1].input = COMMITTED, 0
    assert "B.1 is committed on p0, and so is A.1, for the same input 0" in _changed(before, partitions__0__end=4)


def test_an_open_transaction_that_nobody_lists_is_told_once(before: State) -> None:
    says = "p0 has an open transaction of producer 0 that no coordinator lists"
    assert _changed(before, partitions__0__entries__0__txn_first_offset=0) == (says,)
    txn = before.durable[0]
    txn.known, txn.state, txn.producer_id, txn.partitions = True, int(TransactionState.ONGOING), 0, 1
    assert _changed(before, partitions__0__entries__0__txn_first_offset=0) == ()
    before.partitions[0].entries[0].txn_first_offset = 0
    assert says in _changed(before, durable__0__partitions=2)
    txn.partitions = 2
    assert _changed(before, partitions__1__leader=0) == ()


def test_a_second_decision_is_held_against_the_first(before: State) -> None:
    assert _changed(before, ghost__labels__0__decided=1) == ()
    before.ghost.labels[0].decided = COMMITTED
    says = "A.1 is decided again, and differently: first to commit, now to abort"
    assert _changed(before, ghost__labels__0__decided=2) == (says,)


def test_two_producers_with_one_identity_are_told(before: State) -> None:
    before.clients[0].producer_id = before.clients[0].producer_epoch = 0
    identity = {"clients__1__producer_id": 0, "clients__1__producer_epoch": 0}
    assert _changed(before, **identity) == ("B is now producer 0, epoch 0, and so is A",)
    assert _changed(before, **identity | {"clients__1__producer_epoch": 1}) == ("B is now producer 0, epoch 1",)


def test_readers_that_differ_at_the_end_of_the_log_are_told(before: State) -> None:
    log(before, data(1), marker(LogEntry.ABORT))
    before.readers[0].position, before.readers[0].delivered = 2, 1
    assert _changed(before, readers__1__position=2) == (
        "the buffering reader delivers nothing and stands at offset 2",
        "the buffering reader passes over offset 0 of p0 (A.1, aborted)",
        "the read_committed reader delivered offset 0 of p0, the buffering reader did not",
    )
    holds = _changed(before, readers__1__position=1, readers__1__held=1)
    assert holds[1:] == ("the buffering reader holds back offset 0 of p0 (A.1, aborted)",)


def offsets(state: State, *records: LogRecord) -> None:
    log(state, *records, partition=OFFSETS)


def test_an_offset_that_waits_no_more_without_a_marker_is_told(before: State) -> None:
    offsets(before, OFFSET)
    before.group.pending[0].record_offset = 0
    says = "offset 1 of A.1 (producer 0, epoch 0) waits no more, although no marker has ended it"
    assert _changed(before, group__pending__0__record_offset=-1) == (says,)


def test_an_offset_that_is_loaded_from_the_log_waits_again(before: State) -> None:
    offsets(before, OFFSET)
    says = "offset 1 of A.1 (producer 0, epoch 0) waits again: it is in the log"
    assert _changed(before, group__pending__0__record_offset=0) == (says,)


def test_a_marker_that_finds_nothing_waiting_leaves_the_committed_offset(before: State) -> None:
    offsets(before, OFFSET, marker(LogEntry.COMMIT))
    before.partitions[OFFSETS].end = 1
    stays = "nothing of it waits, so that the group's committed offset stays 0"
    assert stays in _changed(before, partitions__2__end=2)
    assert stays not in _changed(before, partitions__2__end=2, group__committed__record_offset=0)

"""A story says what the steps did: each kind of change has its words, and the digest tells worlds apart."""

import copy
from typing import Any

import pytest

from zombieproof.checker.layout import layout_of
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.world import LogRecord, Message, Setup, World
from zombieproof.model.vocabulary import Guard, LogEntry, TransactionState
from zombieproof.report.story import DECISION_WORDS, Decided, Moved, tell, world_digest
from zombieproof.report.worlds import changes, ending, label_name, record_words


@pytest.fixture
def before() -> World:
    world = World()
    world.group.committed.offset = 0
    return world


def _changed(before: World, **leaves: int) -> tuple[str, ...]:
    """What is said of a world in which some leaves differ; `a__0__b` is the leaf a[0].b."""
    after = copy.deepcopy(before)
    for path, value in leaves.items():
        *way, last = path.split("__")
        place: Any = after
        for step in way:
            place = place[int(step)] if step.isdigit() else getattr(place, step)
        setattr(place, last, value)
    return changes(before, after, Setup())


@pytest.mark.parametrize(
    ("leaves", "says"),
    [
        ({"partitions__0__end": 1}, "p0 has at offset 0: data of A.1 (producer 0, epoch 0, sequence 0)"),
        ({"coordinator": 1}, "node 1 is the coordinator, with coordinator epoch 0"),
        ({"clients__1__producer_id": 0, "clients__1__producer_epoch": 2}, "B is now producer 0, epoch 2"),
        ({"ghost__labels__0__told": 1}, "A is told that A.1 is committed"),
        ({"ghost__labels__4__told": 2}, "B is told that B.2 is aborted"),
        ({"ghost__labels__3__acked": 2}, "B is told that p1 has its part of B.1"),
        ({"group__generation": 1, "group__owner": 1}, "generation 1 of the group: B owns the input"),
        ({"group__committed__offset": 1}, "the group's committed offset is 1"),
        (
            {"readers__0__position": 3, "readers__0__delivered": 5},
            "the read_committed reader delivers offsets 0, 2 of p0 and stands at offset 3",
        ),
        ({"readers__1__position": 1}, "the buffering reader delivers nothing and stands at offset 1"),
        ({"ghost__illegal": 3}, "the partition leader has no such move in its table"),
        ({"ghost__contradiction": 1}, "a transaction that was decided is decided again, and differently"),
        ({"ghost__usurped": 1}, "the transaction that is ended is another one than its sender meant"),
        ({"ghost__insane": 1}, "the coordinator fails a check of its own"),
    ],
)
def test_each_change_has_its_words(before: World, leaves: dict[str, int], says: str) -> None:
    before.partitions[0].log[0] = LogRecord(kind=int(LogEntry.DATA), label=1)
    assert _changed(before, **leaves) == (says,)


def test_a_world_that_stays_the_same_is_told_in_no_words(before: World) -> None:
    assert _changed(before) == ()


def test_a_partition_that_loses_its_place_on_the_list_without_a_marker_is_told(before: World) -> None:
    before.nodes[0].role = 1
    before.nodes[0].cache[0].partitions = 3
    before.partitions[1].leader = 0
    decided = {"nodes__0__cache__0__state": int(TransactionState.PREPARE_COMMIT)}
    says = "p1 has no leader: it is taken off the list of x0 without a marker"
    assert _changed(before, **decided, nodes__0__cache__0__partitions=1) == (says,)
    assert _changed(before, **decided, nodes__0__cache__0__partitions=2) == ()


def test_a_marker_is_told_when_it_sets_out_and_not_again(before: World) -> None:
    after = copy.deepcopy(before)
    after.messages[0] = Message(kind=7, live=1, producer_id=0, producer_epoch=1, partition=1, detail=1)
    says = "COMMIT marker (producer 0, epoch 1) sets out for p1"
    assert changes(before, after, Setup()) == (says,)
    later = copy.deepcopy(after)
    later.messages[0], later.messages[1] = Message(), later.messages[0]
    assert changes(after, later, Setup()) == ()


def test_records_are_named_by_what_they_are() -> None:
    assert record_words(LogRecord(kind=int(LogEntry.ABORT), producer_id=1, producer_epoch=2, value=3)) == (
        "ABORT marker (producer 1, epoch 2, coordinator epoch 3)"
    )
    assert record_words(LogRecord(kind=int(LogEntry.OFFSET), value=4, label=6)) == (
        "offset 4 of B.3 (producer 0, epoch 0)"
    )
    assert [label_name(label) for label in (1, 3, 4)] == ["A.1", "A.3", "B.1"]


def test_the_end_tells_what_became_of_each_record(before: World) -> None:
    partition = before.partitions[0]
    partition.log[0] = LogRecord(kind=int(LogEntry.DATA), label=1)
    partition.log[1] = LogRecord(kind=int(LogEntry.ABORT), producer_epoch=1)
    partition.end = 2
    before.partitions[1].leader = 0
    before.ghost.labels[0].asked = before.ghost.labels[0].told = 2
    lines = [f"{line.subject}|{line.text}" for line in ending(before, Setup())]
    assert lines == [
        "p0|0  data of A.1 (producer 0, epoch 0, sequence 0): aborted",
        "|1  ABORT marker (producer 0, epoch 1, coordinator epoch 0)",
        "p1|without a leader",
        "A|A.1  asked to abort, was told: aborted",
    ]


def test_the_digest_tells_worlds_apart_and_knows_them_again(before: World) -> None:
    layout = layout_of(World)
    other = copy.deepcopy(before)
    assert world_digest(layout, before, other) == world_digest(layout, before, before)
    other.readers[1].held = 1
    assert world_digest(layout, before, other) != world_digest(layout, before, before)


def test_decisions_and_moves_read_as_sentences() -> None:
    assert Decided("end_txn", "T6", "NONE").words == "EndTxn: accepted (guard T6)"
    assert Decided("offset_fetch", Guard.NO_GUARD.name, "UNSTABLE_OFFSET_COMMIT").words == (
        "OffsetFetch: refused with UNSTABLE_OFFSET_COMMIT"
    )
    assert Moved("partition_leader", "p0", "IDLE", "VERIFY", "VERIFYING", "it asks").words == (
        "partition leader p0: IDLE --VERIFY--> VERIFYING, because it asks"
    )


def test_every_decision_of_a_trail_has_words() -> None:
    from zombieproof.checker.world import Decision  # noqa: PLC0415  # the enum is only counted here

    assert set(DECISION_WORDS) == set(Decision)


def test_a_story_says_after_which_step_a_promise_is_broken() -> None:
    scenario = SCENARIOS["two_phase_commit"]
    bounds = scenario.own_bounds({"n": 2, "wait_for_all": 0})
    model, setup = scenario.model(bounds), scenario.setup(scenario.own_rules(), bounds)
    commit, abort_0, commit_1 = 0, 4, 10
    story = tell(model, setup, [commit, abort_0, commit_1], scenario.always)
    assert [beat.text for beat in story.beats] == [
        "the transaction manager decides to commit",
        "resource manager 0 chooses to abort",
        "resource manager 1 hears commit",
    ]
    assert story.broken == {3: ("nobody_commits_what_another_aborted",)}
    assert tell(model, setup, [commit, abort_0], scenario.always).broken == {}

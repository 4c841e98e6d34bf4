"""A story names records, decisions and moves, says after which step a promise is broken, and how it ends."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.checker.engine.layout import layout_of
from zombieproof.checker.engine.model import Malformed, by_its_number, by_number
from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.checker.spark_sink.model import ACTIONS, SPARK_SINK, Action
from zombieproof.checker.spark_sink.scenarios import SPARK_NAIVE_SINK
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import LogRecord, State
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import LogEntry, Row
from zombieproof.report.states import ending, label_name, record_words
from zombieproof.report.story import DECISION_WORDS, BeatDecision, BeatMove, state_digest, tell


@pytest.fixture
def before() -> State:
    state = State()
    state.group.committed.offset = 0
    return state


def test_records_are_named_by_what_they_are() -> None:
    assert record_words(LogRecord(kind=int(LogEntry.ABORT), producer_id=1, producer_epoch=2, value=3)) == (
        "ABORT marker (producer 1, epoch 2, coordinator epoch 3)"
    )
    assert record_words(LogRecord(kind=int(LogEntry.OFFSET), value=4, label=6)) == (
        "offset 4 of B.3 (producer 0, epoch 0)"
    )
    assert [label_name(label) for label in (1, 3, 4)] == ["A.1", "A.3", "B.1"]


def test_the_end_tells_what_became_of_each_record(before: State) -> None:
    partition = before.partitions[0]
    partition.log[0] = LogRecord(kind=int(LogEntry.DATA), label=1)
    partition.log[1] = LogRecord(kind=int(LogEntry.ABORT), producer_epoch=1)
    partition.end = 2
    before.partitions[1].leader = False
    before.ghost.labels[0].asked = before.ghost.labels[0].result = 2
    lines = [f"{line.subject}|{line.text}" for line in ending(before, Setup())]
    assert lines == [
        "p0|0  data of A.1 (producer 0, epoch 0, sequence 0): aborted",
        "|1  ABORT marker (producer 0, epoch 1, coordinator epoch 0)",
        "p1|without a leader",
        "A|A.1  asked to abort, was told: aborted",
    ]


def test_the_digest_tells_states_apart_and_knows_them_again(before: State) -> None:
    layout = layout_of(State)
    other = copy.deepcopy(before)
    assert state_digest(layout, before, other) == state_digest(layout, before, before)
    other.readers[1].held = 1
    assert state_digest(layout, before, other) != state_digest(layout, before, before)


def test_decisions_and_moves_read_as_sentences() -> None:
    assert BeatDecision("end_txn", "T6", "NONE").words == "EndTxn: accepted (row T6)"
    assert BeatDecision("offset_fetch", Row.NO_ROW.name, "UNSTABLE_OFFSET_COMMIT").words == (
        "OffsetFetch: refused with UNSTABLE_OFFSET_COMMIT"
    )
    assert BeatMove("partition_leader", "p0", "IDLE", "VERIFY", "VERIFYING", "it asks").words == (
        "partition leader p0: IDLE --VERIFY--> VERIFYING, because it asks"
    )


def test_every_decision_of_a_trail_has_words() -> None:
    from zombieproof.statemachines.notes import Decision  # noqa: PLC0415  # the enum is only counted here

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
        "resource manager 1 receives commit, and commits, although 0 aborted",
    ]
    assert [(beat.name, beat.argument) for beat in story.beats] == [
        ("commit", 0),
        ("choose_to_abort", 0),
        ("receive_commit", 1),
    ]
    assert story.broken == {3: ("nobody_commits_what_another_aborted",)}
    assert tell(model, setup, [commit, abort_0], scenario.always).broken == {}


ATTEMPTED = [
    ACTIONS.index(each)
    for each in (
        (Action.START, 0),
        (Action.PLAN, 0),
        (Action.START_ATTEMPT, 1),
        (Action.START_ATTEMPT, 0),
        (Action.STEP, 1),
    )
]
"""A driver plans a batch and starts an attempt of task 1, then one of task 0, which takes its transactional id."""


def test_a_story_of_the_spark_sink_says_which_machines_move_and_whose_they_are() -> None:
    setup = SPARK_NAIVE_SINK.setup(Rules(), SPARK_NAIVE_SINK.bounds)
    beats = tell(SPARK_SINK, setup, ATTEMPTED, ()).beats
    assert [(beat.name, beat.argument) for beat in beats] == [
        ("start", 0),
        ("plan", 0),
        ("start_attempt", 1),
        ("start_attempt", 0),
        ("step", 1),
    ]
    assert [(m.machine, m.subject, m.before, m.event, m.after) for beat in beats for m in beat.moves] == [
        ("micro_batch_reader", "driver A", "UNPLACED", "PLACE_AS_TOLD", "PLACED"),
        ("micro_batch_reader", "driver A", "PLACED", "PLAN", "PLANNED"),
        ("delivery", "new attempt of task 1", "NEW", "BEGIN", "FENCING"),
        ("delivery", "new attempt of task 0", "NEW", "BEGIN", "FENCING"),
        ("delivery", "attempt 1", "FENCING", "FENCE_OTHERS", "LOOKING_UP"),
    ]
    assert all(move.why for beat in beats for move in beat.moves)
    assert not any(beat.decisions or beat.changes for beat in beats)


def test_a_model_that_names_nothing_is_told_by_numbers() -> None:
    setup = SPARK_NAIVE_SINK.setup(Rules(), SPARK_NAIVE_SINK.bounds)
    beat = tell(replace(SPARK_SINK, names=by_number, subjects=by_its_number), setup, ATTEMPTED, ()).beats[4]
    assert (beat.name, beat.argument) == ("action", ATTEMPTED[4])
    assert [move.subject for move in beat.moves] == ["3"]


@pytest.mark.parametrize("what", ["names", "subjects"])
def test_what_names_something_is_a_function(what: str) -> None:
    given: dict[str, Any] = {what: "start"}
    with pytest.raises(Malformed, match=f"model 'spark_sink': {what} is 'start'; give a function"):
        replace(SPARK_SINK, **given)

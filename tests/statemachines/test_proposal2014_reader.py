"""A consumer of the 2014 proposal: commit order, checkpoints of three numbers, restarts anywhere."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.proposal2014.records import LOG, TRANSACTIONS, Log, Reader, Record
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import RecordKind
from zombieproof.model.vocabulary import NONE, ConsumerState
from zombieproof.statemachines.consumer.reading import ConsumerEffects
from zombieproof.statemachines.notes import MachineIndex, Notes
from zombieproof.statemachines.proposal2014 import cleaner
from zombieproof.statemachines.proposal2014 import reader as steps

WORDS = {
    "plain": RecordKind.PLAIN,
    "data": RecordKind.PAYLOAD,
    "commit": RecordKind.CONTROL_COMMITTED,
    "abort": RecordKind.CONTROL_ABORTED,
}


def log_of(words: list[str]) -> Log:
    """A log: "plain", "data0", "commit0" are a plain message, one of TxId 0, its control record."""
    log = Log()
    for word in words:
        kind = word.rstrip("0123456789")
        log.records[log.end] = Record(int(WORDS[kind]), int(word[len(kind) :] or 0))
        log.end += 1
    return log


@dataclass
class Application:
    """A reader of a log, and what its application was given (and has stored, with the reader's checkpoint)."""

    log: Log
    rules: Rules = field(default_factory=Rules)
    is_committed: bool = True
    reader: Reader = field(default_factory=Reader)
    given: list[int] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    def read(self) -> int:
        found = steps.read_one(self.reader, self.log, self.is_committed, self.rules, ConsumerEffects(), self.notes)
        if found != NONE:
            self.given.append(found)
        return found

    def read_all(self) -> list[int]:
        while steps.may_read(self.reader, self.log):
            self.read()
        assert self.notes.illegal == 0
        return self.given

    def checkpoint(self) -> tuple[int, int, int]:
        steps.checkpoint(self.reader, self.rules)
        self.saved = [*self.given]
        return self.reader.saved_start, self.reader.saved_to, self.reader.saved_partly

    def crash(self) -> None:
        steps.restart(self.reader)
        self.given = [*self.saved]


def reading(text: str, rules: Rules | None = None, *, is_committed: bool = True, steps_taken: int = 0) -> Application:
    """A reader that has taken so many steps in a log."""
    application = Application(log_of(text.split()), rules or Rules(), is_committed)
    for _ in range(steps_taken):
        application.read()
    return application


@pytest.mark.parametrize(
    ("text", "given_to_it"),
    [
        ("", []),
        ("plain plain", [0, 1]),
        ("data0 data0 commit0", [0, 1]),
        ("data0 data0 abort0 plain", [3]),
        ("data0 plain data0 commit0", [1, 0, 2]),
        ("data0 data0 plain", [2]),
        ("data0 data1 plain data0 commit1 data0 commit0", [2, 1, 0, 3, 5]),
        ("data0 data1 abort0 commit1", [1]),
        ("commit0 abort1 plain", [2]),
        ("data0 commit0 commit0 data1 commit1", [0, 3]),
        ("data0 abort0 commit0", []),
        ("data4 data0 commit0 commit4", [1, 0]),
    ],
)
def test_plain_messages_are_delivered_at_once_and_transactions_at_their_control_record(
    text: str, given_to_it: list[int]
) -> None:
    """§10.1: plain messages by append position, transactions by the position of their final commit record."""
    assert reading(text).read_all() == given_to_it


def test_the_example_of_the_text() -> None:
    """§10.1: X1 data, X2 data and plain messages arrive interleaved, then X2 commits, then X1 commits."""
    assert reading("data1 plain data2 data1 plain data2 commit2 commit1").read_all() == [1, 4, 2, 5, 0, 3]


def test_each_step_delivers_one_record_at_the_most() -> None:
    application = reading("data0 data0 data0 commit0 plain")
    assert [application.read() for _ in range(7)] == [NONE, NONE, NONE, 0, 1, 2, 4]
    assert not steps.may_read(application.reader, application.log)


def test_a_transaction_is_delivered_step_by_step_at_the_position_of_its_control_record() -> None:
    application = reading("data0 data0 commit0", steps_taken=3)
    reader = application.reader
    assert (reader.position, reader.is_delivering, reader.delivered_to, reader.partly) == (2, True, 2, 0)
    application.read()
    assert reader == Reader(position=3, finished=1, delivered_to=3)


def test_who_does_not_care_is_given_all_messages_at_their_offsets() -> None:
    """§10.8: READ_UNCOMMITTED: skip control records, deliver all else."""
    assert reading("data0 plain data1 abort0 commit1 data2", is_committed=False).read_all() == [0, 1, 2, 5]


def test_a_reader_that_buffers_from_the_control_record_on_has_nothing_to_hold_back() -> None:
    """§10.8: the sentence that buffering starts at the control message is a slip."""
    rules = Rules(buffering_starts_with_payload=0)
    assert reading("data0 plain abort0 data1 commit1", rules).read_all() == [0, 1, 3]


def test_a_second_control_record_is_ignored_or_delivers_again() -> None:
    """§10.6: readers must ignore a second control record for a finished TxId."""
    text = "data0 data0 commit0 plain commit0"
    again = Rules(second_controls_are_ignored=0)
    assert reading(text).read_all() == [0, 1, 3]
    assert reading(text, again).read_all() == [0, 1, 3, 0, 1]
    assert reading("data0 abort0 commit0", again).read_all() == [0], "nothing is forgotten in between"


def test_payload_behind_the_end_of_its_transaction_is_never_delivered() -> None:
    """No second control record ends it; it is held back, and restarts begin there."""
    application = reading("data0 commit0 data0 commit0")
    assert application.read_all() == [0]
    assert application.checkpoint() == (2, 4, NONE)


def test_the_moves_of_a_step_say_of_which_tx_id_they_are() -> None:
    application = reading("plain data3 commit3", steps_taken=3)
    moves = application.notes.moves[: application.notes.count]
    assert [(each.machine, each.subject) for each in moves] == [(MachineIndex.CONSUMER, 3)] * 2


def test_what_was_cleaned_away_is_passed_over() -> None:
    application = reading("plain data0 commit0 plain")
    application.log.records[0].is_cleaned = application.log.records[2].is_cleaned = True
    assert application.read_all() == [3]
    assert application.reader.held[0] == 2, "without its control record it is held back for ever"


@pytest.mark.parametrize(
    ("text", "steps_taken", "numbers"),
    [
        ("plain plain", 0, (0, 0, NONE)),
        ("plain plain", 1, (1, 1, NONE)),
        ("plain data0 plain", 3, (1, 3, NONE)),
        ("data0 data1 commit0 plain", 3, (1, 3, NONE)),
        ("plain data0 data0 commit0", 4, (1, 3, 1)),
        ("plain data0 data0 commit0", 5, (4, 4, NONE)),
        ("data1 data0 data0 commit0", 4, (0, 3, 1)),
        ("data0 data0 abort0", 3, (3, 3, NONE)),
    ],
)
def test_a_checkpoint_is_where_the_earliest_pending_begins_and_what_is_delivered(
    text: str, steps_taken: int, numbers: tuple[int, int, int]
) -> None:
    """§10.8: (o1, o2), and how far the application got inside the transaction that is being delivered."""
    assert reading(text, steps_taken=steps_taken).checkpoint() == numbers


def test_a_checkpoint_without_the_third_number_repeats_the_delivery() -> None:
    """§10.8: without the third offset, a crash inside a delivery repeats the transaction."""
    text, rules = "data0 data0 data0 commit0 plain", Rules(deliveries_are_counted=0)
    counted, repeated = reading(text, steps_taken=5), reading(text, rules, steps_taken=5)
    assert [each.checkpoint() for each in (counted, repeated)] == [(0, 3, 1), (0, 3, NONE)]
    for each in (counted, repeated):
        each.crash()
    assert counted.read_all() == [0, 1, 2, 4]
    assert repeated.read_all() == [0, 1, 0, 1, 2, 4]
    between = reading(text, rules, steps_taken=6)
    between.checkpoint()
    between.crash()
    assert between.read_all() == [0, 1, 2, 4], "between deliveries two numbers are enough"


def test_a_reader_that_restarts_where_it_was_loses_what_it_held() -> None:
    for rules, given_to_it in ((Rules(), [1, 0]), (Rules(restarts_at_first_pending=0), [1])):
        application = reading("data0 plain commit0", rules, steps_taken=2)
        application.checkpoint()
        application.crash()
        assert application.read_all() == given_to_it


def test_what_ended_between_the_two_numbers_is_not_delivered_again() -> None:
    """§10.8: transactions whose control record lies between o1 and o2 have already been delivered."""
    application = reading("data1 data0 commit0 plain abort2 commit1 plain", steps_taken=5)
    assert application.given == [1, 3]
    assert application.checkpoint() == (0, 5, NONE)
    application.crash()
    assert application.read_all() == [1, 3, 0, 6]


def test_a_restart_drops_the_buffers() -> None:
    """§10.8: drop buffers, fetch from o1, rebuild buffers."""
    application = reading("data0 data0 commit0 data1 plain", steps_taken=3)
    application.checkpoint()
    application.read_all()
    application.crash()
    reader = application.reader
    assert (reader.position, reader.delivered_to, reader.partly) == (0, 2, 0)
    assert (reader.is_delivering, reader.finished, set(reader.held)) == (False, 0, {0})
    assert application.given == [0]
    assert application.reader.states == [int(ConsumerState.DELIVERING)] * TRANSACTIONS


def test_a_crash_before_any_checkpoint_begins_anew() -> None:
    application = reading("plain data0 commit0", steps_taken=3)
    application.crash()
    assert application.given == []
    assert application.read_all() == [0, 1]


def in_commit_order(log: Log) -> list[int]:
    """What is to be delivered, told from the whole log at once: each message with where it becomes visible."""
    due: list[tuple[int, int]] = []
    for offset, record in enumerate(log.records[: log.end]):
        if record.kind == RecordKind.PLAIN and not record.is_cleaned:
            due.append((offset, offset))
        elif record.kind == RecordKind.PAYLOAD and not record.is_cleaned:
            behind = range(offset + 1, log.end)
            ends = [k for k in behind if log.records[k].kind > 2 and log.records[k].transaction == record.transaction]
            if ends and log.records[ends[0]].kind == RecordKind.CONTROL_COMMITTED:
                due.append((ends[0], offset))
    return [offset for _, offset in sorted(due)]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """No payload is behind a control record of its TxId; control records may be doubled, the log may be cleaned."""
    words: list[str] = []
    ends = [draw(st.sampled_from(["commit", "commit", "abort"])) for _ in range(3)]
    kinds = st.sampled_from(["plain", "data", "data", "end"])
    for kind, t in draw(st.lists(st.tuples(kinds, st.integers(0, 2)), min_size=2, max_size=2 * LOG)):
        end = f"{ends[t]}{t}"
        if kind == "end":
            words.append(end)
        elif kind == "plain" or end not in words:
            words.append("plain" if kind == "plain" else f"data{t}")
    log = log_of(words[:LOG])
    if draw(st.booleans()):
        cleaner.clean(log, Rules())
    return log


@given(logs())
def test_what_is_committed_is_delivered_once_and_in_commit_order(log: Log) -> None:
    """§10.11: exactly the committed set, each once, transactions contiguous per partition."""
    given_to_it = Application(log).read_all()
    assert given_to_it == in_commit_order(log)
    assert len(given_to_it) == len(set(given_to_it))


def take(application: Application, turn: str) -> None:
    """A reader goes on, stores a checkpoint, or crashes."""
    if turn == "crash":
        application.crash()
    elif turn == "checkpoint":
        application.checkpoint()
    elif steps.may_read(application.reader, application.log):
        application.read()


TURNS = st.lists(st.sampled_from(["read", "read", "read", "checkpoint", "crash"]), min_size=5, max_size=40)


@given(logs(), TURNS)
def test_three_numbers_restart_a_reader_anywhere(log: Log, turns: list[str]) -> None:
    """Checkpoints and crashes change nothing of what is delivered, nor its order."""
    application = Application(log)
    for turn in turns:
        take(application, turn)
    assert application.read_all() == Application(log).read_all() == in_commit_order(log)


@given(logs(), TURNS)
def test_two_numbers_do_where_no_checkpoint_is_within_a_delivery(log: Log, turns: list[str]) -> None:
    """§10.8: every message is delivered exactly once iff checkpoints are taken only between complete deliveries."""
    application = Application(log, Rules(deliveries_are_counted=0))
    for turn in turns:
        if turn != "checkpoint" or not application.reader.is_delivering:
            take(application, turn)
    assert application.read_all() == in_commit_order(log)


@given(logs(), TURNS)
def test_a_checkpoint_is_not_behind_what_is_held_back(log: Log, turns: list[str]) -> None:
    application = Application(log)
    for turn in turns:
        take(application, turn)
        held = [offset for offset in range(LOG) if any(bits >> offset & 1 for bits in application.reader.held)]
        start, to, partly = application.checkpoint()
        assert start <= min([*held, application.reader.position])
        assert to >= application.reader.position
        assert partly < to


@given(logs())
def test_who_reads_uncommitted_is_given_every_message_where_it_is(log: Log) -> None:
    messages = [offset for offset in range(log.end) if cleaner.is_message(log, offset)]
    assert Application(log, is_committed=False).read_all() == messages

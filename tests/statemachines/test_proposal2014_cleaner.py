"""The log cleaner of the 2014 proposal: what it removes of a partition whose messages have one key."""

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from zombieproof.model.proposal2014.records import LOG, TRANSACTIONS, Log, Record
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import RecordKind
from zombieproof.statemachines.proposal2014.cleaner import clean, is_committed, is_message
from zombieproof.statemachines.proposal2014.leader import ends_at, is_pending, watermark

WORDS = {
    "plain": RecordKind.PLAIN,
    "data": RecordKind.PAYLOAD,
    "commit": RecordKind.CONTROL_COMMITTED,
    "abort": RecordKind.CONTROL_ABORTED,
}


def log_of(text: str) -> Log:
    """A log: "plain data0 data1 commit0" is a plain message, two of TxIds 0 and 1, a control record."""
    log = Log()
    for word in text.split():
        kind = word.rstrip("0123456789")
        log.records[log.end] = Record(int(WORDS[kind]), int(word[len(kind) :] or 0))
        log.end += 1
    return log


def left(text: str, rules: Rules | None = None) -> str:
    """What is left of a log; "-" where something was removed."""
    log = log_of(text)
    removed = clean(log, rules or Rules())
    words = ["-" if record.is_cleaned else word for word, record in zip(text.split(), log.records, strict=False)]
    assert removed == ("-" in words)
    return " ".join(words)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("plain", "plain"),
        ("plain plain plain", "- - plain"),
        ("data0 commit0", "data0 commit0"),
        ("plain data0 commit0", "- data0 commit0"),
        ("data0 commit0 plain", "- - plain"),
        ("data0 data0 commit0", "- data0 commit0"),
        ("plain data0 abort0", "plain - -"),
        ("data0 commit0 data1 commit1", "- - data1 commit1"),
        ("data0 data1 commit1 commit0", "- data1 commit1 -"),
        ("data0 commit0 commit0", "data0 commit0 commit0"),
        ("abort0 plain", "- plain"),
    ],
)
def test_the_last_message_that_is_plain_or_committed_stays(before: str, after: str) -> None:
    assert left(before) == after


@pytest.mark.parametrize(
    ("before", "stops", "goes_on"),
    [
        ("plain plain data0 plain", "- plain data0 plain", "- - data0 plain"),
        ("data0 plain plain", "data0 plain plain", "data0 - plain"),
        ("plain data0 plain", "plain data0 plain", "- data0 plain"),
        ("data0 data1 abort1", "data0 data1 abort1", "data0 - -"),
        ("plain data0 data1 commit1", "plain data0 data1 commit1", "- data0 data1 commit1"),
        ("data0 abort1", "data0 abort1", "data0 -"),
    ],
)
def test_nothing_behind_the_high_watermark_is_cleaned_or_all_but_what_is_pending(
    before: str, stops: str, goes_on: str
) -> None:
    """§10.9: (b) never compact beyond it; (a) compact everything but copy messages of pending transactions."""
    assert left(before) == stops
    assert left(before, Rules(cleaning_stops_at_watermark=0)) == goes_on


@pytest.mark.parametrize(
    ("before", "committed", "any_later"),
    [
        ("plain data0 abort0", "plain - -", "- - -"),
        ("data0 commit0 data1 abort1", "data0 commit0 - -", "- - - -"),
    ],
)
def test_a_message_is_superseded_by_what_is_committed_or_by_anything(
    before: str, committed: str, any_later: str
) -> None:
    assert left(before) == committed
    assert left(before, Rules(only_committed_supersede=0)) == any_later


def test_what_is_pending_supersedes_where_all_is_cleaned_for_anything() -> None:
    rules = Rules(only_committed_supersede=0, cleaning_stops_at_watermark=0)
    assert left("plain data0", rules) == "- data0"
    assert left("plain data0", Rules(only_committed_supersede=0)) == "plain data0"


def test_control_records_go_with_their_last_message_or_at_once() -> None:
    """§10.9, open: eviction of control records."""
    assert left("data0 data0 commit0") == "- data0 commit0"
    assert left("data0 data0 commit0", Rules(controls_stay=0)) == "- data0 -"
    assert left("data0 data1 commit1", Rules(controls_stay=0)) == "data0 data1 commit1"


def test_a_second_cleaning_removes_nothing() -> None:
    log = log_of("plain data0 commit0 plain data1")
    assert clean(log, Rules())
    after = copy.deepcopy(log)
    assert not clean(log, Rules())
    assert log == after


def test_what_is_cleaned_away_is_no_message_and_ends_nothing() -> None:
    log = log_of("plain data0 commit0 data1 abort1 data2")
    assert [is_message(log, offset) for offset in range(7)] == [True, True, False, True, False, True, False]
    assert [is_committed(log, offset) for offset in range(7)] == [True, True, False, False, False, False, False]
    log.records[0].is_cleaned = log.records[2].is_cleaned = True
    assert not is_message(log, 0)
    assert not is_committed(log, 1)


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Logs as leaders write them: no payload behind a control record of its TxId, and one kind of end for each."""
    words: list[str] = []
    ends = [draw(st.sampled_from(["commit", "commit", "abort"])) for _ in range(TRANSACTIONS)]
    for kind, t in draw(st.lists(st.tuples(st.sampled_from(["plain", "data", "data", "end"]), st.integers(0, 3)))):
        end = f"{ends[t]}{t}"
        if kind == "end":
            words.append(end)
        elif kind == "plain" or end not in words:
            words.append("plain" if kind == "plain" else f"data{t}")
    return log_of(" ".join(words[:LOG]))


def committed(log: Log) -> list[int]:
    return [offset for offset in range(log.end) if is_message(log, offset) and is_committed(log, offset)]


@given(logs())
def test_the_newest_committed_message_is_never_removed(log: Log) -> None:
    before = committed(log)
    clean(log, Rules())
    assert committed(log)[-1:] == before[-1:]


@given(logs(), st.sampled_from([Rules(), Rules(cleaning_stops_at_watermark=0)]))
def test_what_is_pending_is_copied_unchanged_and_the_high_watermark_stays(log: Log, rules: Rules) -> None:
    pending = [offset for offset in range(log.end) if is_pending(log, offset)]
    bound = watermark(log)
    clean(log, rules)
    assert [offset for offset in range(log.end) if is_pending(log, offset)] == pending
    assert watermark(log) == bound


@given(logs())
def test_nothing_behind_the_high_watermark_is_removed(log: Log) -> None:
    bound = watermark(log)
    clean(log, Rules())
    assert not any(record.is_cleaned for record in log.records[bound:])


@given(logs())
def test_of_what_is_before_the_high_watermark_one_message_is_left(log: Log) -> None:
    bound = watermark(log)
    assume(any(offset < bound for offset in committed(log)))
    clean(log, Rules())
    assert len([offset for offset in range(bound) if is_message(log, offset)]) == 1


@given(logs(), st.integers(0, 1))
def test_every_message_that_is_left_is_decided_as_before(log: Log, stops: int) -> None:
    """A control record stays as long as a message of its TxId."""
    payload = [offset for offset in range(log.end) if log.records[offset].kind == RecordKind.PAYLOAD]
    before = [(offset, is_committed(log, offset), ends_at(log, offset)) for offset in payload]
    clean(log, Rules(cleaning_stops_at_watermark=stops))
    for offset, was_committed, end in before:
        if is_message(log, offset):
            assert (is_committed(log, offset), ends_at(log, offset)) == (was_committed, end)

"""Topics narrow what is read, a window what is reported; neither finds anything that is not there."""

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import ClientOutcome, Evidence
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.judging.histories.spans import time_at
from zombieproof.traces.narrowing import EVERYTHING, Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.report import Finding, Judgement

SAMPLES = Path(__file__).parents[2] / "recordings"
SHARED = Path(__file__).parents[4] / "shared/traces"
RECORDINGS = sorted(path for place in (SAMPLES, SHARED) if place.is_dir() for path in place.iterdir() if path.is_dir())
INTERNAL = (TRANSACTION_STATE, CONSUMER_OFFSETS)
WINDOWS = 12
LARGE = ("19-soak", "20-epoch-exhaustion")
"""They are judged for a few windows only."""


def label(path: Path) -> str:
    return "/".join(path.parts[-2:])


@functools.cache
def collected(path: Path) -> Evidence:
    return collect([path])


@functools.cache
def whole(path: Path) -> Examined:
    return judge(collected(path))


def identity(finding: Finding) -> tuple[object, ...]:
    return finding.promise, finding.transactional_id, finding.producer_id, finding.producer_epoch


def windows(evidence: Evidence, count: int) -> Iterator[Narrowing]:
    times = sorted({b.max_timestamp_ms for log in evidence.logs for b in log.batches if b.max_timestamp_ms >= 0})
    chosen = [times[i * (len(times) - 1) // count] for i in range(count + 1)] if times else []
    for i, first in enumerate(chosen):
        yield Narrowing(since_ms=first)
        yield Narrowing(until_ms=first)
        yield from (Narrowing(since_ms=first, until_ms=last) for last in chosen[i::3])


@pytest.mark.share(2)
@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.sample("recordings/")
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_a_window_finds_nothing_new(path: Path) -> None:
    report = whole(path).report
    known = [finding.model_dump_json() for finding in report.findings]
    for narrowing in windows(collected(path), 1 if path.name in LARGE else WINDOWS):
        found = judge(collected(path), narrowing=narrowing).report
        assert all(finding.model_dump_json() in known for finding in found.findings), narrowing
        assert found.narrowed is not None
        assert len(found.findings) + found.narrowed.findings_left_out == len(known)
        assert len(found.transactions) + found.narrowed.transactions_left_out == len(report.transactions)
        assert (found.lso, found.committed, found.damage) == (report.lso, report.committed, report.damage)
        assert (found.verdict is Judgement.VIOLATES) == bool(found.findings)


@pytest.mark.share(2)
@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_a_window_around_everything_leaves_nothing_out(path: Path) -> None:
    found = judge(collected(path), narrowing=Narrowing(since_ms=0, until_ms=1 << 62)).report
    assert found.findings == whole(path).report.findings
    assert found.transactions == whole(path).report.transactions


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_a_topic_alone_finds_nothing_new_and_reads_the_same(path: Path) -> None:
    report = whole(path).report
    topics = {log.topic for log in collected(path).logs if log.partition >= 0} - {*INTERNAL}
    for topic in topics if path.name not in LARGE else ():
        narrowing = Narrowing((topic,))
        evidence = collect([path], narrowing=narrowing)
        assert {log.topic for log in evidence.logs} <= {topic, *INTERNAL}
        assert evidence.left_out == topics - {topic}
        found = judge(evidence, narrowing=narrowing).report
        assert {identity(finding) for finding in found.findings} <= {identity(finding) for finding in report.findings}
        assert {finding.topic for finding in found.findings} <= {topic, *INTERNAL, None}
        for place, offset in found.lso.items():
            assert (offset, found.committed[place]) == (report.lso[place], report.committed[place])


def test_what_is_found_on_the_topic_asked_for_is_found() -> None:
    path = SAMPLES / "09-offline-partition-lost-commit"
    narrowing = Narrowing(("e",))
    found = judge(collect([path], narrowing=narrowing), narrowing=narrowing).report
    assert [finding.promise for finding in found.findings] == ["every_listed_partition_has_its_marker"]
    assert found.narrowed is not None
    assert (found.narrowed.topics, found.narrowed.left_out) == (["e"], ["d"])
    other = Narrowing(("d*",))
    assert judge(collect([path], narrowing=other), narrowing=other).report.verdict is Judgement.CONFORMS


def test_a_fault_is_in_the_window_as_long_as_nothing_ended_it(made: Any) -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, ("t", 0), tv=0)
    offset = history.data(("t", 0), 7, 0, 2)
    begun = history.now
    for _ in range(5):
        history.plain(("t", 0))
    [finding] = judge(history.evidence, narrowing=Narrowing(since_ms=history.now)).report.findings
    assert (finding.promise, finding.offset) == ("no_open_transaction_that_nobody_owns", offset)
    assert judge(history.evidence, narrowing=Narrowing(since_ms=history.now + 10**9)).report.findings == [finding]
    assert judge(history.evidence, narrowing=Narrowing(until_ms=begun)).report.findings == [finding]
    before = judge(history.evidence, narrowing=Narrowing(until_ms=begun - 1)).report
    assert (before.findings, before.verdict) == ([], Judgement.CONFORMS)
    assert before.narrowed is not None
    assert before.narrowed.findings_left_out == 1


def test_a_fault_without_a_time_is_always_in_the_window(made: Any) -> None:
    history = made.reported()
    lines = history.evidence.coordinator_lines
    lines[1] = replace(lines[1], from_state=S.COMPLETE_ABORT, to_state=S.PREPARE_COMMIT, target=None)
    found = judge(history.evidence, narrowing=Narrowing(until_ms=0)).report
    assert [finding.promise for finding in found.findings] == ["states_follow_the_table"]


def test_lines_that_do_not_name_the_topic_are_not_read_as_of_the_one_that_is_left(made: Any) -> None:
    """They could be about the topic that was left out; read as the other they would be lies."""
    history = made()
    history.data(("t", 0), 7, 0, 0)
    history.marker(("t", 0), 7, 0)
    outcome = ClientOutcome("client.jsonl", 1, "orders-1", 0, ((0, 0), (0, 99)), "commit", "committed")
    history.evidence.client_outcomes.append(outcome)
    assert judge(history.evidence).report.findings
    history.evidence.left_out.add("other")
    assert not judge(history.evidence, narrowing=Narrowing(("t",))).report.findings


def test_damage_of_a_topic_that_was_not_asked_for_is_not_met(tmp_path: Path) -> None:
    _segment(tmp_path, "good-0", (SAMPLES / "01-commit/segments/t-0/00000000000000000000.log").read_bytes())
    _segment(tmp_path, "bad-0", b"\xff" * 300)
    (tmp_path / "hollow-0").mkdir()
    (tmp_path / "hollow-0" / "leader-epoch-checkpoint").write_text("0\n0\n")
    assert len(collect([tmp_path]).damage) == 2
    narrowed = collect([tmp_path], narrowing=Narrowing(("good",)))
    assert (narrowed.damage, narrowed.left_out) == ([], {"bad"})
    assert [ignored.reason for ignored in narrowed.ignored if "bad-0" in ignored.file] == [
        "of a topic that was not asked for"
    ]


def test_a_folder_that_is_left_out_as_a_whole_is_no_damage(tmp_path: Path) -> None:
    sound = (SAMPLES / "01-commit/segments/t-0/00000000000000000000.log").read_bytes()
    folders = [_segment(tmp_path, "a-0", sound).parent, _segment(tmp_path, "b-0", sound).parent]
    assert collect(folders, narrowing=Narrowing(("a",))).damage == []


def test_a_segment_of_which_nothing_says_the_topic_is_left_out_and_named(tmp_path: Path) -> None:
    lost = tmp_path / "saved.bin"
    lost.write_bytes((SAMPLES / "01-commit/segments/t-0/00000000000000000000.log").read_bytes())
    assert collect([lost]).logs
    narrowed = collect([lost], narrowing=Narrowing(("t",)))
    assert narrowed.logs == []
    assert [each.reason for each in narrowed.ignored] == ["no name says of which topic it is"]


def test_parts_of_a_dump_are_left_out_too() -> None:
    dump = SAMPLES / "09-offline-partition-lost-commit/dump"
    topics = {log.topic for log in collect([dump], narrowing=Narrowing(("e",))).logs}
    assert topics == {TRANSACTION_STATE, "e"}


@pytest.mark.parametrize(
    ("patterns", "topic", "is_left_out"),
    [
        ((), "orders", False),
        (("orders",), "orders", False),
        (("orders",), "orders2", True),
        (("orders*",), "orders2", False),
        (("a", "b?"), "bc", False),
        (("a", "b?"), "b", True),
        (("Orders",), "orders", True),
        (("orders",), TRANSACTION_STATE, False),
        (("orders",), CONSUMER_OFFSETS, False),
        (("orders",), "", True),
    ],
)
def test_patterns_choose_topics(patterns: tuple[str, ...], topic: str, is_left_out: bool) -> None:
    assert Narrowing(patterns).leaves_out(topic) is is_left_out


@pytest.mark.parametrize(
    ("span", "touches"),
    [
        ((1, 9), False),
        ((1, 10), True),
        ((20, 30), True),
        ((21, 30), False),
        ((1, None), True),
        ((21, None), False),
        ((None, 9), False),
        ((None, None), True),
        ((None, 30), True),
    ],
)
def test_both_ends_belong_to_the_window(span: tuple[int | None, int | None], touches: bool) -> None:
    assert Narrowing(since_ms=10, until_ms=20).touches(span) is touches
    assert EVERYTHING.touches(span)


def test_a_transaction_of_other_topics_is_left_out_and_one_of_both_is_not(made: Any) -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, ("a", 0))
    history.transaction(1, ("a", 0), ("b", 0))
    found = judge(history.evidence, narrowing=Narrowing(("b",))).report
    assert [txn.partitions for txn in found.transactions] == [["a-0", "b-0"]]


def test_the_time_of_an_offset_is_that_of_its_batch(made: Any) -> None:
    history = made()
    history.data(("t", 0), 7, 0, 0, 3)
    begun = history.now
    history.marker(("t", 0), 7, 0)
    log = history.log(("t", 0))
    assert [time_at(log, offset) for offset in (0, 2, 3, 99)] == [begun, begun, history.now, history.now]
    history.change(("t", 0), 1, max_timestamp_ms=-1)
    assert time_at(log, 3) is None


def _segment(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(content)
    return path

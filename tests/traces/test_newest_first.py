"""Texts with their newest line first are turned round, and the report says so; any other text stays as it is."""

from pathlib import Path

import pytest

from tests.traces.dumps import text_of
from tests.traces.test_exports import STATE, rows
from tests.traces.test_pods_in_one_text import ASKS, FENCED, has
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.newest_first import TURNED_ROUND, turned_round
from zombieproof.traces.replay import replay

LINES = [
    f"[2025-11-03 10:00:{second:02},000] {text}"
    for second, text in enumerate((ASKS, has(3), has(4), has(5), has(6), FENCED))
]


def turned(lines: list[str], end: str = "\n") -> list[str] | None:
    found = turned_round(memoryview(("\n".join(lines) + end).encode()))
    return None if found is None else bytes(found).decode().removesuffix("\n").split("\n")


def test_a_log_whose_times_only_fall_is_turned_round() -> None:
    assert turned(LINES[::-1]) == LINES


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        [LINES[0]] * 9,
        [LINES[2], LINES[0]],
        [*LINES[:0:-1], LINES[3]],
        [*LINES[::-1], LINES[2]],
        ["a", "b", "c"],
        [],
    ],
)
def test_any_other_text_stays(lines: list[str]) -> None:
    assert turned(lines) is None


def test_a_text_that_is_cut_in_its_last_line_stays() -> None:
    assert turned([*LINES[:0:-1], LINES[0][:60]], end="") is None
    assert turned(LINES[::-1], end="") == LINES


TRACE = ["java.lang.Error: no", "\tat a.B.c(B.java:1)"]


def test_a_stack_trace_stays_below_its_line() -> None:
    by_entry = [LINES[4], LINES[3], *TRACE, LINES[2], LINES[1], *TRACE]
    assert turned(by_entry) == [LINES[1], *TRACE, LINES[2], LINES[3], *TRACE, LINES[4]]
    by_line = [*TRACE[::-1], LINES[3], LINES[2], LINES[1]]
    assert turned(by_line) == [LINES[1], LINES[2], LINES[3], *TRACE]


def test_the_report_of_a_turned_log_says_the_same_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "plain.log").write_text("\n".join(LINES) + "\n")
    (tmp_path / "turned.log").write_text("\n".join(LINES[::-1]) + "\n")
    (tmp_path / "turned.csv").write_text(rows(("Time", "Message"), LINES[::-1]))
    [plain] = replay([tmp_path / "plain.log"]).clients
    for name in ("turned.log", "turned.csv"):
        report = replay([tmp_path / name])
        [found] = report.clients
        assert found.producers == plain.producers == ["51:3", "51:4", "51:5", "51:6"]
        assert TURNED_ROUND in report.judged.written_in
        assert [each.timestamp_ms for each in collect([tmp_path / name]).client_lines] == sorted(
            each.timestamp_ms or 0 for each in collect([tmp_path / name]).client_lines
        )


@pytest.mark.parametrize("release", ["2.4", "3.1", "4.3", "0.11"])
def test_a_dump_from_its_end_to_its_beginning_is_turned_round(release: str, tmp_path: Path) -> None:
    lines = text_of(release).splitlines()
    assert turned(lines) is None
    assert turned(lines[::-1]) == lines
    (tmp_path / "orders-0.txt").write_text("\n".join(lines[::-1]) + "\n")
    report = replay([tmp_path / "orders-0.txt"])
    (tmp_path / "orders-0.txt").write_text("\n".join(lines) + "\n")
    plain = replay([tmp_path / "orders-0.txt"])
    assert (report.verdict, report.committed, report.damage) == (plain.verdict, plain.committed, plain.damage)
    assert turned(STATE) is None


def record(name: str, state: str, updated: int, started: int) -> str:
    return (
        f"{name}::TransactionMetadata(transactionalId={name}, producerId=7, producerEpoch=0, txnTimeoutMs=60000, "
        f"state={state}, pendingState=None, topicPartitions=HashSet(), txnStartTimestamp={started}, "
        f"txnLastUpdateTimestamp={updated})"
    )


STORY = [
    record("till", state, 1_700_000_000_000 + at, 1_700_000_000_000 + 10 * (at // 10))
    for at, state in ((0, "Ongoing"), (1, "PrepareCommit"), (2, "CompleteCommit"), (10, "Ongoing"))
]
OTHER = [record("desk", "Ongoing", 1_700_000_000_005, 1_700_000_000_005)]


@pytest.mark.parametrize("lines", [STORY, STORY[:2] + OTHER + STORY[2:], OTHER + STORY])
def test_records_of_the_console_are_turned_round(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    plain = collect([tmp_path / "a.txt"])
    (tmp_path / "a.txt").write_text("\n".join(lines[::-1]) + "\n")
    found = collect([tmp_path / "a.txt"])
    assert found.damage == []
    values = [(each.transactional_id, each.value) for each in plain.transaction_states]
    assert sorted(map(str, values)) == sorted(
        map(str, ((each.transactional_id, each.value) for each in found.transaction_states))
    )
    of_till = [each.value for each in found.transaction_states if each.transactional_id == "till"]
    assert of_till == [each.value for each in plain.transaction_states if each.transactional_id == "till"]
    assert TURNED_ROUND in found.dialects
    assert TURNED_ROUND not in plain.dialects


def test_records_that_rise_and_fall_are_not_turned_round(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join([STORY[2], STORY[1], STORY[3], STORY[0]]) + "\n")
    found = collect([tmp_path / "a.txt"])
    assert TURNED_ROUND not in found.dialects
    assert len(found.damage) == 1

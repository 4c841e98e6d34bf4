"""The slow half of the crash table: drivers are killed, executors are stopped, and nothing is lost or doubled.

Rows that matter most are part of CI; all of them run by ``ZOMBIEPROOF_TESTS=deep make spark``.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.pipeline.topics import producing
from tests.spark.kills.__main__ import PAGE, main, page
from tests.spark.kills.acts import NAIVE, run_to_the_end
from tests.spark.kills.drivers import Drivers
from tests.spark.kills.points import Forgotten, Injection, Point
from tests.spark.kills.program import OUTPUT, transformed
from tests.spark.kills.stage import ROWS as WRITTEN
from tests.spark.kills.stage import staged
from tests.spark.kills.table import ROWS, SINKS, carry_out

IN_CI = ("all-sent",)
CASES = [pytest.param(name, marks=pytest.mark.slow if name in IN_CI else pytest.mark.deep) for name in ROWS]


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """Drivers that wait."""
    made = Drivers(tmp_path_factory.mktemp("drivers"))
    yield made
    made.close()


@pytest.mark.parametrize("name", CASES)
def test_both_modes_are_exact_and_the_naive_sink_is_not(name: str, drivers: Drivers, tmp_path: Path) -> None:
    ended = carry_out(name, drivers, tmp_path)
    assert tuple(ended) == ROWS[name].sinks
    assert {str(ended[sink]) for sink in ended if sink != NAIVE} == {"exact"}
    if NAIVE in ended:
        assert ended[NAIVE].doubled or ended[NAIVE].lost or ended[NAIVE].hidden, "the naive sink was exact"


@pytest.mark.deep
def test_nothing_is_wrong_where_nothing_happens(drivers: Drivers, tmp_path: Path) -> None:
    with ExitStack() as opened:
        stages = [opened.enter_context(staged(tmp_path / sink, sink)) for sink in SINKS]
        run_to_the_end(stages, drivers)
        assert {stage.sink: str(stage.ended()) for stage in stages} == dict.fromkeys(SINKS, "exact")


def test_what_is_wrong_in_an_output_is_counted(tmp_path: Path) -> None:
    with staged(tmp_path / "stage", "batch") as stage:
        values = [transformed(b"value-%d" % number) for number in range(WRITTEN)]
        producer = producing(stage.brokers.bootstrap, "writer")
        for some in ([*values[1:], values[1], values[2], b"strange"], [values[0]]):
            producer.begin_transaction()
            for value in some:
                producer.produce(OUTPUT, value, partition=0)
            producer.flush(10)
            if len(some) > 1:
                producer.commit_transaction(10)
        ended = stage.ended()
        assert (ended.lost, ended.doubled, ended.strange, ended.hidden) == (1, 2, 1, 1)
        assert str(ended).startswith("2 duplicates, 1 lost, 1 strange, 1 hidden")
        producer.abort_transaction(10)
        producer.begin_transaction()
        producer.produce(OUTPUT, values[0], partition=0)
        producer.commit_transaction(10)
        assert (stage.ended().lost, stage.ended().hidden) == (0, 0)


def test_whoever_stands_still_is_not_waited_for_without_end(tmp_path: Path) -> None:
    injection = Injection(Point.ROWS_SENT, str(tmp_path))
    assert Injection.of_json(injection.as_json()) == injection
    with pytest.raises(Forgotten, match="nobody told 'reached' in 0 s"):
        injection.wait("reached", 0)


def test_the_page_has_every_row_of_the_table() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for row in ROWS.values():
        (line,) = (each for each in lines if each.startswith(f"| {row.says} |"))
        cells = dict(zip(("batch", "partition", NAIVE), line.split(" | ")[1:4], strict=True))
        assert {sink: cells[sink] == "exact" for sink in row.sinks} == {sink: sink != NAIVE for sink in row.sinks}


def test_a_row_that_is_written_anew_leaves_the_others_of_the_page() -> None:
    before = PAGE.read_text(encoding="utf-8")
    assert page({}, before) == before
    changed = page({"committed": f"| {ROWS['committed'].says} | another |"}, before).splitlines()
    assert [new for new, old in zip(changed, before.splitlines(), strict=True) if new != old] == [
        f"| {ROWS['committed'].says} | another |"
    ]


def test_a_row_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kills", "no-such"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "no such row: no-such; there are before-write" in capsys.readouterr().err

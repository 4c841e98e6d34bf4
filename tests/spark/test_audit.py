"""The audit on Spark reports what replay reports, and gives its findings and transactions as DataFrames."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.sessions import ROOT
from zombieproof.cli import main
from zombieproof.pipeline import audit as on_spark
from zombieproof.pipeline import audit_report, audit_transactions
from zombieproof.pipeline.own_session import NoSpark
from zombieproof.screening.runners import as_asked
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDINGS = [
    pytest.param(folder, id=folder.name, marks=[] if root.name == "recordings" else [pytest.mark.deep])
    for root in (ROOT / "tests" / "recordings", ROOT.parent / "shared" / "traces")
    for folder in (sorted(root.iterdir()) if root.is_dir() else ())
    if (folder / "segments").is_dir()
]
"""Those of the repository; all others, which runners without Spark judge in any case, if there is time (`deep`)."""
HANGING = ROOT / "tests" / "recordings" / "10-hanging"
TAMPERED = ROOT / "tests" / "recordings" / "30-tampered-abort-marker-removed"


def same(one: Report, other: Report) -> bool:
    return one.model_dump(mode="json") == other.model_dump(mode="json")


@pytest.mark.share(2)
@pytest.mark.parametrize("folder", RECORDINGS)
def test_the_report_is_that_of_replay(spark: "SparkSession", folder: Path) -> None:
    for part in (folder, folder / "segments"):
        assert same(on_spark.audit(spark, [part]).report, replay([part]))


def test_segments_are_screened_in_tasks(spark: "SparkSession") -> None:
    evidence = on_spark.audit(spark, [TAMPERED / "segments"]).evidence
    assert [log.topic for log in evidence.logs if log.cleared is not None] == ["t", "t"]
    assert all(log.cleared is None for log in collect([TAMPERED / "segments"]).logs)


def test_a_task_that_loses_its_segment_leaves_it_to_the_readers(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(results: Iterable[Any]) -> Any:
        return as_asked((file, None) for file, _ in results)

    monkeypatch.setattr(on_spark, "as_asked", lost)
    examined = on_spark.audit(spark, [TAMPERED / "segments"])
    assert all(log.cleared is None for log in examined.evidence.logs)
    assert same(examined.report, replay([TAMPERED / "segments"]))


def test_findings_are_rows(spark: "SparkSession") -> None:
    [found] = audit_report(spark, TAMPERED).collect()
    [finding] = replay([TAMPERED]).findings
    assert (found.promise, found.topic, found.partition, found.offset, found.message) == (
        finding.promise,
        finding.topic,
        finding.partition,
        finding.offset,
        finding.message,
    )
    assert found.effect
    assert audit_report(spark, ROOT / "tests" / "recordings" / "01-commit").count() == 0


@pytest.mark.parametrize("recording", [TAMPERED, HANGING], ids=lambda folder: folder.name)
def test_packed_logs_are_audited_in_tasks_too(spark: "SparkSession", recording: Path, tmp_path: Path) -> None:
    assert main(["pack", str(recording / "segments"), "--output", str(tmp_path)]) == 0
    evidence = on_spark.audit(spark, [tmp_path]).evidence
    assert any(log.cleared is not None for log in evidence.logs), "nothing was screened"
    for told in (audit_report, audit_transactions):
        raw, packed = (told(spark, place).drop("message").collect() for place in (recording / "segments", tmp_path))
        assert raw == packed
    assert raw, "there are transactions to compare"


def test_transactions_are_rows_from_their_first_data_to_their_marker(spark: "SparkSession") -> None:
    rows = audit_transactions(spark, HANGING / "segments").collect()
    outcomes = Counter(row.outcome for row in rows)
    assert outcomes["open"] == 1
    assert sum(outcomes.values()) == len(rows) > 1
    for row in rows:
        assert (row.ended is None) == (row.outcome == "open")
        assert row.ended is None or row.began <= row.ended
        assert row.records > 0


@pytest.fixture
def this_session(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """The command takes the session of the tests, and does not end it."""

    @contextmanager
    def session(master: str) -> Iterator["SparkSession"]:
        assert master == "local[2]"
        yield spark

    monkeypatch.setattr(on_spark, "session_for_audit", session)


@pytest.mark.usefixtures("this_session")
def test_the_command_reports_what_replay_reports(capsys: pytest.CaptureFixture[str]) -> None:
    codes = [main(["replay", str(TAMPERED), "--json"])]
    replayed = capsys.readouterr().out
    codes.append(main(["audit", "--spark", "local[2]", str(TAMPERED), "--json"]))
    assert codes == [1, 1]
    assert capsys.readouterr().out == replayed


def test_a_master_that_is_not_there_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def session(master: str) -> Iterator["SparkSession"]:
        if master:
            raise NoSpark(f"--spark {master}: no session of Spark begins")
        yield SparkSession.getActiveSession()

    monkeypatch.setattr(on_spark, "session_for_audit", session)
    assert main(["audit", "--spark", "nowhere", str(TAMPERED)]) == 2
    assert "--spark nowhere: no session of Spark begins" in capsys.readouterr().err


@pytest.mark.deep
def test_the_example_plots_what_was_open_when(tmp_path: Path) -> None:
    pytest.importorskip(
        "matplotlib", reason="the plot needs matplotlib (extra `plot`); the DataFrames are tested above"
    )
    plot = tmp_path / "open.png"
    program = ROOT / "examples" / "audit_report.py"
    done = subprocess.run(
        [sys.executable, program, "--png", plot],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "transactions on partitions; plot: " in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")

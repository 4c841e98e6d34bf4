"""The example of the pipeline runs as it stands, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.sessions import ROOT


@pytest.mark.parametrize(
    "mode", [pytest.param("batch", marks=pytest.mark.slow), pytest.param("partition", marks=pytest.mark.deep)]
)
def test_the_pipeline_is_exact_through_a_crash_and_a_lost_checkpoint(mode: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "spark_pipeline.py", "--rows", "600", "--mode", mode],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("input: 600 orders in 3 partitions, 400 of them committed\n")
    assert done.stdout.count("400 prices, 0 too many, 0 missing") == 3
    assert done.stdout.endswith("exact\n")
    assert not list(tmp_path.glob("spark-pipeline-*"))


def test_a_number_of_rows_that_cannot_be_is_refused() -> None:
    program = ROOT / "examples" / "spark_pipeline.py"
    done = subprocess.run([sys.executable, program, "--rows", "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--rows is 0; legal is a number from 1 on" in done.stderr

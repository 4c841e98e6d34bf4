"""Rows that a task stages for the driver: on local folders and on file systems that a URI names."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed (extra `spark`): part of `make spark`")

import pyarrow as pa
import pyarrow.fs

from zombieproof.pipeline.spark.options import IllegalOption, SinkOptions, sink_options
from zombieproof.pipeline.spark.staging import Handed, RowsNotStaged, StagedRowsLost, hand_over, remove, rows_handed
from zombieproof.pipeline.spark.task_context import Attempt

pytestmark = pytest.mark.spark

VALUES = [b"a", b"b", b"c"]


def options(staging: str) -> SinkOptions:
    given = {"kafka.bootstrap.servers": "b:1", "kafka.group.id": "g", "topic": "t", "inlineBytes": "0"}
    return sink_options({**given, "stagingDirectory": staging}, streaming=True)


def handed(staging: str, batch: int = 0, job: str = "job-0f", values: list[bytes] = VALUES) -> Handed:
    table = pa.table({"value": pa.array(values, pa.binary())})
    return hand_over(table, options(staging), Attempt("query/1", batch, 2, 0, 7), job)


def values(message: Handed, staging: str) -> Counter[Any]:
    return Counter(row.value for row in rows_handed([message], options(staging)))


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_rows_are_found_and_removed_in_a_folder(tmp_path: Path, form: str) -> None:
    staging = form.format(tmp_path / "staging")
    message = handed(staging)
    (found,) = (tmp_path / "staging").rglob("*.*")
    assert found.name == "0-2-7-job-0f.arrow"
    assert values(message, staging) == Counter(VALUES)
    remove([None, message], options(staging))
    assert not found.parent.exists()
    remove([message], options(staging))


def test_later_batches_and_files_of_others_stay(tmp_path: Path) -> None:
    messages = [handed(str(tmp_path), batch) for batch in (0, 1, 2)]
    folder = Path(messages[0].file).parent
    (folder / "notes.txt").touch()
    (folder / "1-9-9-job-0a.arrow.0f0f.part").touch()
    (folder / "1-9-9.arrow").touch()
    remove([messages[1]], options(str(tmp_path)))
    assert sorted(each.name for each in folder.iterdir()) == ["2-2-7-job-0f.arrow", "notes.txt"]
    with pytest.raises(StagedRowsLost, match=r"3 rows of batch 0 were staged in .*0-2-7-job-0f\.arrow"):
        values(messages[0], str(tmp_path))


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("s3a://bucket/staging", "s3://bucket/staging"),
        ("s3n://bucket/staging/", "s3://bucket/staging/"),
        ("abfss://in@store.dfs.core.windows.net/staging", "abfss://in@store.dfs.core.windows.net/staging"),
        ("gs://bucket/staging", "gs://bucket/staging"),
        ("hdfs://name:8020/staging", "hdfs://name:8020/staging"),
    ],
)
def test_sparks_names_of_object_stores_are_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, asked: str
) -> None:
    uris = []

    class Files(pyarrow.fs.FileSystem):  # type: ignore[misc]  # pyarrow publishes no types
        @staticmethod
        def from_uri(uri: str) -> tuple[Any, str]:
            uris.append(uri)
            return pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem()), "bucket/staging/"

    monkeypatch.setattr(pyarrow.fs, "FileSystem", Files)
    message = handed(given)
    assert set(uris) == {asked}
    assert message.file == "bucket/staging/query_1/0-2-7-job-0f.arrow"
    assert values(message, given) == Counter(VALUES)
    remove([message], options(given))
    assert not list(tmp_path.rglob("*.*"))


def test_databricks_folders_are_those_that_each_machine_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[str] = []

    class Files(pyarrow.fs.LocalFileSystem):  # type: ignore[misc]  # as above
        def create_dir(self, folder: str) -> None:
            folders.append(folder)
            raise OSError("there is none here")

    monkeypatch.setattr(pyarrow.fs, "LocalFileSystem", Files)
    with pytest.raises(RowsNotStaged, match=r"cannot stage rows \(there is none here\).*stagingDirectory"):
        handed("dbfs:/shared/staging")
    assert folders == ["/dbfs/shared/staging/query_1"]


@pytest.mark.parametrize("form", ["file:{}/st a", "file://{}/st#d", "file:{}/st?e", "file:{}/st%20a"])
def test_a_local_folder_is_the_one_that_is_named(tmp_path: Path, form: str) -> None:
    staging = form.format(tmp_path)
    message = handed(staging)
    assert Path(message.file).parent.parent == tmp_path / staging.rpartition("/")[2]
    assert values(message, staging) == Counter(VALUES)


def test_drivers_with_copies_of_one_checkpoint_have_files_of_their_own(tmp_path: Path) -> None:
    one, two = handed(str(tmp_path)), handed(str(tmp_path), job="job-1a", values=[b"d", b"e", b"f"])
    assert values(one, str(tmp_path)) == Counter(VALUES)
    assert values(two, str(tmp_path)) == Counter([b"d", b"e", b"f"])


@pytest.mark.parametrize(
    ("staging", "says"),
    [
        ("wasb:/staging", "wasb: is not a known file system; legal is .*s3a:.*dbfs:"),
        ("wasb://c@account/staging", "wasb: is not a known file system"),
        ("file:st", "without a slash after file:; legal is file:///folder/staging"),
        ("s3a:bucket/x", "without a slash after s3a:; legal is s3a://bucket/staging"),
        ("s3a://", "without a bucket or container; legal is s3a://bucket/staging"),
        ("gs:///x", "without a bucket or container; legal is gs://bucket/staging"),
        ("abfss:/x", "without a bucket or container; legal is abfss://container@account"),
        ("file://host/x", "names a machine; legal is file:///folder/staging"),
        ("s3://bucket/st a", "with a blank or a # in an address; .*%20"),
        ("hdfs://name:8020/st#d", "with a blank or a # in an address"),
    ],
)
def test_a_staging_directory_that_would_be_another_is_refused_before_anything_runs(staging: str, says: str) -> None:
    with pytest.raises(IllegalOption, match=f"stagingDirectory is '{re.escape(staging)}', .*{says}"):
        options(staging)


@pytest.mark.parametrize(
    "error", [pa.ArrowInvalid("bad\naddress"), OSError("away"), ValueError("x"), NotImplementedError]
)
def test_a_file_system_that_cannot_be_reached_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class Files(pyarrow.fs.FileSystem):  # type: ignore[misc]  # pyarrow publishes no types
        @staticmethod
        def from_uri(_: str) -> tuple[Any, str]:
            raise error

    monkeypatch.setattr(pyarrow.fs, "FileSystem", Files)
    with pytest.raises(RowsNotStaged, match=r"\Asink: .* cannot stage rows \(.*\).*stagingDirectory.*\Z"):
        handed("s3a://bucket/staging")
    message = Handed("q", 0, 3, b"", "bucket/staging/q/0-2-7-job-0f.arrow", "h")
    with pytest.raises(StagedRowsLost, match=r"\A.*say it with option stagingDirectory.*\Z"):
        values(message, "s3a://bucket/staging")
    remove([message], options("s3a://bucket/staging"))

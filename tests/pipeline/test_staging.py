"""Rows that a task stages for the driver: on local folders and on file systems that a URI names."""

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


def handed(staging: str, batch: int = 0, task: int = 7) -> Handed:
    table = pa.table({"value": pa.array(VALUES, pa.binary())})
    return hand_over(table, options(staging), Attempt("query/1", batch, 2, 0, task), "job")


def values(message: Handed, staging: str) -> Counter[Any]:
    return Counter(row.value for row in rows_handed([message], options(staging)))


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_rows_are_found_and_removed_in_a_folder(tmp_path: Path, form: str) -> None:
    staging = form.format(tmp_path / "staging")
    message = handed(staging)
    (found,) = (tmp_path / "staging").rglob("*.*")
    assert found.name == "0-2-7.arrow"
    assert values(message, staging) == Counter(VALUES)
    remove([None, message], options(staging))
    assert not found.parent.exists()
    remove([message], options(staging))


def test_later_batches_and_files_of_others_stay(tmp_path: Path) -> None:
    messages = [handed(str(tmp_path), batch) for batch in (0, 1, 2)]
    folder = Path(messages[0].file).parent
    (folder / "notes.txt").touch()
    (folder / "1-9-9.arrow.0f0f.part").touch()
    remove([messages[1]], options(str(tmp_path)))
    assert sorted(each.name for each in folder.iterdir()) == ["2-2-7.arrow", "notes.txt"]
    with pytest.raises(StagedRowsLost, match=r"3 rows of batch 0 were staged in .*0-2-7\.arrow"):
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
    assert message.file == "bucket/staging/query_1/0-2-7.arrow"
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


def test_an_unknown_file_system_is_refused_before_anything_runs() -> None:
    with pytest.raises(IllegalOption, match=r"stagingDirectory begins with wasb:.*legal is .*s3a:.*dbfs:"):
        options("wasb:/staging")

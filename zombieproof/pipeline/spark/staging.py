"""What a task hands to the driver: its rows themselves, or a file that holds them.

The file systems are those of Arrow. They take their credentials from the environment of each machine, not from Spark.
"""

import platform
import re
import tempfile
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs
from pyspark.sql.datasource import WriterCommitMessage

from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.spark.options import LOCAL_SCHEMES, STAGING_SCHEMES, STAGING_URI, SinkOptions
from zombieproof.pipeline.spark.progress import Counts
from zombieproof.pipeline.spark.tables import TableRows, from_bytes, to_bytes
from zombieproof.pipeline.spark.task_context import Attempt

DEFAULT: Final = "zombieproof-staging"
NAME: Final = re.compile(r"(?P<batch>-?\d+)-\d+-\d+(-job-\w+)?\.arrow(\.\w+\.part)?\Z")
"""Batch, partition, attempt (its number in the application) and run of the driver; and a part of a file."""
_NOT_REACHED: Final = (OSError, pa.ArrowException, ValueError, NotImplementedError)
"""What Arrow's file systems raise."""


class RowsNotStaged(RuntimeError):
    """A task cannot stage its rows."""


class StagedRowsLost(RuntimeError):
    """The driver does not find the rows that a task has staged."""


@dataclass(frozen=True)
class Handed(WriterCommitMessage):
    """The rows of one task.

    Attributes:
        query: id of the query, or a name of its own for a batch query.
        batch: number of the batch; -1 in a batch query.
        count: of rows.
        data: a table in Arrow's stream format; empty if staged.
        file: where it is staged; "" if handed over.
        host: that staged it.
        counts: of deliveries by the task itself.
    """

    query: str
    batch: int
    count: int
    data: bytes
    file: str
    host: str
    counts: Counts = Counts()  # noqa: RUF009  # it cannot change


def hand_over(table: pa.Table, options: SinkOptions, attempt: Attempt, job: str) -> Handed:
    """The message of a task; its rows are staged if they are many.

    `job` names the run of the driver.

    Raises:
        RowsNotStaged: the folder cannot be written.
    """
    query, batch = attempt.query or job, attempt.batch
    if table.nbytes <= options.inline:
        return Handed(query, batch, table.num_rows, to_bytes(table), "", "")
    try:
        name = f"{batch}-{attempt.partition}-{attempt.task}-{job}.arrow"  # another driver's tasks have the same numbers
        path = _stage(to_bytes(table), options, query, name)
    except _NOT_REACHED as error:
        raise RowsNotStaged(
            f"sink: {platform.node()} cannot stage rows ({_line(error)}); legal is a folder that driver and executors "
            "can write: say it with option stagingDirectory, or raise inlineBytes"
        ) from error
    return Handed(query, batch, table.num_rows, b"", path, platform.node())


def _stage(data: bytes, options: SinkOptions, query: str, name: str) -> str:
    files, root = files_of(options.staging)
    folder = f"{root}/{re.sub(r'[^a-zA-Z0-9_.-]', '_', query)}"
    path, part = f"{folder}/{name}", f"{folder}/{name}.{uuid.uuid4().hex}.part"
    files.create_dir(folder)
    with files.open_output_stream(part) as stream:
        stream.write(data)
    files.move(part, path)
    return path


def files_of(staging: str) -> tuple[Any, str]:
    """The file system in which rows are staged, and the folder there.

    Raises:
        OSError, pa.ArrowException, ValueError, NotImplementedError: it cannot be reached.
    """
    named = STAGING_URI.fullmatch(staging)
    if named is None:
        return pyarrow.fs.LocalFileSystem(), str(Path(staging or Path(tempfile.gettempdir(), DEFAULT)).absolute())
    if named["scheme"] in LOCAL_SCHEMES:
        return pyarrow.fs.LocalFileSystem(), f"{LOCAL_SCHEMES[named['scheme']]}/{named['rest'].strip('/')}"
    files, root = pyarrow.fs.FileSystem.from_uri(f"{STAGING_SCHEMES[named['scheme']]}:{named['rest']}")
    return files, root.rstrip("/")


def rows_handed(messages: Iterable[Handed | None], options: SinkOptions) -> TableRows:
    """The rows of all tasks, in the order of the messages.

    Raises:
        StagedRowsLost: a file is not there, or damaged.
    """
    tables = [_table(each, options) for each in messages if each is not None and each.count]
    return TableRows(pa.concat_tables(tables) if tables else pa.table({}), options)


def _table(handed: Handed, options: SinkOptions) -> Any:
    if not handed.file:
        return from_bytes(handed.data)
    try:
        files, _ = files_of(options.staging)
        with files.open_input_stream(handed.file) as stream:
            table = from_bytes(stream.read())
    except _NOT_REACHED as error:
        raise StagedRowsLost(
            f"sink: {handed.count} rows of batch {handed.batch} were staged in {handed.file} on {handed.host}, and the "
            f"driver on {platform.node()} cannot read them ({_line(error)}); nothing of the batch is written. Legal "
            "is a folder that driver and executors share: say it with option stagingDirectory, and run the batch again"
        ) from error
    if table.num_rows != handed.count:
        raise StagedRowsLost(
            f"sink: {handed.file} has {table.num_rows} rows, and the task that staged them wrote {handed.count}; "
            "nothing of the batch is written: look who else writes there, and run the batch again"
        )
    return table


def remove(messages: Iterable[Handed | None], options: SinkOptions) -> None:
    """Remove what is staged of a batch whose outcome is known, and of earlier ones; also what lost attempts left.

    What cannot be removed stays: the next batch tries again.
    """
    newest = {each.file.rpartition("/")[0]: each.batch for each in messages if each is not None and each.file}
    for folder, batch in newest.items():
        try:
            files, _ = files_of(options.staging)
            there = files.get_file_info(pyarrow.fs.FileSelector(folder, allow_not_found=True))
            done = [each.path for each in there if _batch_of(each.base_name) <= batch]
            for path in done:
                files.delete_file(path)
            if done and len(done) == len(there):
                files.delete_dir(folder)
        except _NOT_REACHED as error:
            LOGGER.warning("sink: rows of batch %s that are written stay in %s: %s", batch, folder, error)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _batch_of(name: str) -> int:
    """The batch of a staged file; of another file none."""
    named = NAME.match(name)
    return int(named["batch"]) if named else 1 << 63

"""What a task hands to the driver: its rows themselves, or a file that holds them."""

import contextlib
import platform
import re
import tempfile
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from zombieproof import system
from zombieproof.pipeline.spark.options import SinkOptions
from zombieproof.pipeline.spark.progress import Counts
from zombieproof.pipeline.spark.tables import TableRows, from_bytes, to_bytes
from zombieproof.pipeline.spark.task_context import Attempt

DEFAULT: Final = "zombieproof-staging"
NAME: Final = re.compile(r"(?P<batch>-?\d+)-\d+-\d+\.arrow")
"""Batch, partition and attempt (its number in the application)."""


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

    Raises:
        OSError: the folder cannot be written.
    """
    query, batch = attempt.query or job, attempt.batch
    if table.nbytes <= options.inline:
        return Handed(query, batch, table.num_rows, to_bytes(table), "", "")
    folder = folder_of(options, query)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{batch}-{attempt.partition}-{attempt.task}.arrow"
    beside = path.with_suffix(f".{uuid.uuid4().hex}.part")
    with beside.open("wb") as stream:
        stream.write(to_bytes(table))
        stream.flush()
        system.sync(stream.fileno())
    beside.replace(path)
    return Handed(query, batch, table.num_rows, b"", str(path), platform.node())


def folder_of(options: SinkOptions, query: str) -> Path:
    """Where the rows of a query are staged."""
    return Path(options.staging or Path(tempfile.gettempdir()) / DEFAULT) / re.sub(r"[^\w.-]", "_", query)


def rows_handed(messages: Iterable[Handed | None], options: SinkOptions) -> TableRows:
    """The rows of all tasks, in the order of the messages.

    Raises:
        StagedRowsLost: a file is not there, or damaged.
    """
    tables = [_table(each) for each in messages if each is not None and each.count]
    return TableRows(pa.concat_tables(tables) if tables else pa.table({}), options)


def _table(handed: Handed) -> Any:
    if not handed.file:
        return from_bytes(handed.data)
    try:
        table = from_bytes(Path(handed.file).read_bytes())
    except (OSError, pa.ArrowInvalid) as error:
        raise StagedRowsLost(
            f"sink: {handed.count} rows of batch {handed.batch} were staged in {handed.file} on {handed.host}, and the "
            f"driver on {platform.node()} cannot read them ({error}); nothing of the batch is written. Legal is a "
            "folder that driver and executors share: say it with option stagingDirectory, and run the batch again"
        ) from error
    if table.num_rows != handed.count:
        raise StagedRowsLost(
            f"sink: {handed.file} has {table.num_rows} rows, and the task that staged them wrote {handed.count}; "
            "nothing of the batch is written: look who else writes there, and run the batch again"
        )
    return table


def remove(messages: Iterable[Handed | None]) -> None:
    """Remove what is staged of a batch whose outcome is known, and of earlier ones; also what lost attempts left."""
    for each in messages:
        if each is None or not each.file:
            continue
        folder = Path(each.file).parent
        for path in list(folder.glob("*.arrow")):
            named = NAME.fullmatch(path.name)
            if named and int(named["batch"]) <= each.batch:
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds what a later batch has staged
            folder.rmdir()

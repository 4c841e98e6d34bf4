"""Read the checkpoint of a query before it starts.

Files and their contents are Spark's own (``OffsetSeqLog``, ``CommitLog``, ``StreamMetadata``), on any file system of
Hadoop's.
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.progress_topic import RECORDED, Place
from zombieproof.pipeline.spark.source import BEGUN, CONTINUED, GROUP, INITIAL

OFFSET = re.compile(r"(?:[^{\s]+:)?(?P<offset>\{.*\})")
"""A line of the offsets of a batch: since version 2, the name of the source comes first."""


class Checkpoint(NamedTuple):
    """What a checkpoint says before its query starts.

    Attributes:
        query: the id of the query; "" if there is no checkpoint yet.
        newest: its newest micro-batch; NONE if it has none; None if it is not known.
        is_finished: whether that micro-batch is; else it will be repeated.
        groups: of the sources, when that micro-batch was planned.
        progress_ids: the ids of the progress topics, by name, at that time.
    """

    query: str = ""
    newest: int | None = None
    is_finished: bool = True
    groups: frozenset[str] = frozenset()
    progress_ids: Mapping[str, str] = MappingProxyType({})


class _Files:
    """The files of a checkpoint, in any file system of Hadoop's.

    Without an option of its own, Spark makes the folder of its setting and the name of the query.
    """

    def __init__(self, session: Any, extra: Mapping[str, str]) -> None:
        self._folder, name = extra.get("checkpointlocation", ""), extra.get("queryname", "")
        root = session.conf.get("spark.sql.streaming.checkpointLocation", None)
        if not self._folder and root and name:
            self._folder = f"{root}/{name}"
        self._jvm = session._jvm  # noqa: SLF001  # PySpark has no public name for it
        self._conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001  # as above

    def read(self, name: str) -> str | None:
        """The text of a file; None if it is not there."""
        if not self._folder:
            return None
        path = self._jvm.org.apache.hadoop.fs.Path(self._folder, name)
        files = path.getFileSystem(self._conf)
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def batches(self, log: str) -> set[int]:
        """The numbers of the batches that a log has."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._folder, log)
        files = path.getFileSystem(self._conf)
        names = [each.getPath().getName() for each in files.listStatus(path)] if files.exists(path) else []
        return {int(name) for name in names if name.isdecimal()}

    def offsets(self, batch: int) -> list[Any]:
        """The offsets at which a batch ends, of each source that reads anything."""
        lines = (self.read(f"offsets/{batch}") or "").splitlines()
        return [json.loads(found["offset"]) for line in lines[2:] if (found := OFFSET.fullmatch(line))]


def checkpoint_of(session: Any, extra: Mapping[str, str]) -> Checkpoint:
    """Read the checkpoint of a query."""
    files = _Files(session, extra)
    metadata = files.read("metadata")
    if metadata is None:
        return Checkpoint(newest=NONE)
    newest = max(files.batches("offsets"), default=NONE)
    told = files.offsets(newest)
    groups = frozenset(group for each in told for group in each.get(GROUP, ()))
    progress_ids = {topic: number for each in told for topic, number in each.get(RECORDED, {}).items()}
    is_finished = newest in files.batches("commits")
    return Checkpoint(str(json.loads(metadata)["id"]), newest, is_finished, groups, progress_ids)


class Beginning(NamedTuple):
    """Where a query began that had no checkpoint.

    Attributes:
        offsets: by partition; {} if they are not known.
        continued: the groups whose positions these offsets were, by partition.
    """

    offsets: Mapping[Place, int] = MappingProxyType({})
    continued: Mapping[Place, str] = MappingProxyType({})


def beginning_of(session: Any, extra: Mapping[str, str]) -> Beginning:
    """Return where the sources of this project began when the query had no checkpoint.

    Offsets of earlier releases say it in the first batch alone, which Spark deletes after a while.
    """
    files = _Files(session, extra)
    newest = files.offsets(max(files.batches("offsets"), default=NONE))
    initial = [each[BEGUN] for each in newest if BEGUN in each]
    initial = initial or [each.get(INITIAL, each) for each in files.offsets(0)]
    begins = {place: offset for each in initial for place, offset in _places(each)}
    groups = [pair for each in newest for pair in each.get(CONTINUED, {}).items()]
    return Beginning(begins, {place: group for group, offsets in groups for place, _ in _places(offsets)})


def _places(told: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[Place, int]]:
    for topic, offsets in told.items():
        if not topic.startswith("@"):
            for partition, offset in offsets.items():
                yield (topic, int(partition)), offset

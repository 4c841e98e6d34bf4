"""Read the checkpoint of a query before it starts.

Files and their contents are Spark's own (``OffsetSeqLog``, ``CommitLog``, ``StreamMetadata``), on any file system of
Hadoop's.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.progress_topic import RECORDED
from zombieproof.pipeline.spark.source import GROUP


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


def checkpoint_of(session: Any, extra: Mapping[str, str]) -> Checkpoint:
    """Read the checkpoint of a query.

    Without an option of its own, Spark makes the folder of its setting and the name of the query.
    """
    checkpoint, name = extra.get("checkpointlocation", ""), extra.get("queryname", "")
    root = session.conf.get("spark.sql.streaming.checkpointLocation", None)
    if not checkpoint and root and name:
        checkpoint = f"{root}/{name}"
    if not checkpoint:
        return Checkpoint(newest=NONE)
    make_path = session._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001  # any file system of Hadoop's
    path = make_path(checkpoint, "metadata")
    files = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def read(file: Any) -> str:
        stream = files.open(file)
        try:
            return str(session._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))  # noqa: SLF001
        finally:
            stream.close()

    if not files.exists(path):
        return Checkpoint(newest=NONE)

    def batches(log: str) -> dict[int, Any]:
        if not files.exists(make_path(checkpoint, log)):
            return {}
        found = (each.getPath() for each in files.listStatus(make_path(checkpoint, log)))
        return {int(each.getName()): each for each in found if each.getName().isdecimal()}

    planned, finished = batches("offsets"), batches("commits")
    newest = max(planned, default=NONE)
    sources = read(planned[newest]).splitlines() if planned else ()
    told = [json.loads(line) for line in sources if line.startswith("{")]
    groups = frozenset(group for each in told for group in each.get(GROUP, ()))
    progress_ids = {topic: number for each in told for topic, number in each.get(RECORDED, {}).items()}
    return Checkpoint(str(json.loads(read(path))["id"]), newest, newest in finished, groups, progress_ids)

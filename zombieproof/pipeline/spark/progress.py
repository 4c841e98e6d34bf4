"""Progress of queries: descriptions of sources and sinks, rows written, and lag in offsets.

Spark describes a source or a sink in Python by the name of a JVM class, and takes no metrics from it: neither
``ReportsSourceMetrics`` nor ``ReportsSinkMetrics`` is implemented by its wrappers. So the driver's Python process keeps
both. Commits run in worker processes on the driver's machine and leave their counts in a temporary folder. PySpark's
`StreamingQueryProgress` is completed where it is made, for `lastProgress`, `recentProgress` and listeners. A listener
hands the numbers to Spark's metrics system (``LongAccumulatorSource``).

The JVM does not see this: Spark's web UI and listeners in Scala show Spark's texts.
"""

import functools
import json
import tempfile
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress

from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.reader import named
from zombieproof.pipeline.sink import Outcome
from zombieproof.pipeline.spark.options import NO_TOPIC, SinkOptions, SourceOptions

KEPT: Final = 1000
"""Batches and queries of which numbers and descriptions are kept."""
PART: Final = ".part"
BEHIND: Final = "offsetsBehindLatest"
_WRAPPED: Final = "zombieproof_completes"
_OWN: Final = "PythonMicroBatchStream"
"""Part of the name of Spark's class for every source in Python."""


class Counts(NamedTuple):
    """Rows and calls of the deliveries of a micro-batch."""

    written: int = 0
    skipped: int = 0
    transactions: int = 0
    retries: int = 0

    def as_metrics(self) -> dict[str, str]:
        """The metrics of a sink, by the names that its progress shows; texts, as Spark has them."""
        names = ("rowsWritten", "rowsSkipped", "transactions", "retries")
        return {name: str(value) for name, value in zip(names, self, strict=True)}


def counts_of(outcomes: Sequence[Outcome]) -> Counts:
    """Count the rows and calls of deliveries."""
    return total(
        Counts(each.sent, each.dropped, int(each.sent > 0), each.retries) for each in outcomes if each.is_delivered
    )


def total(counts: Iterable[Counts]) -> Counts:
    """Add up counts."""
    return Counts(*(sum(column) for column in zip(Counts(), *counts, strict=True)))


def report_counts(options: SinkOptions, batch: int, counts: Counts) -> None:
    """Leave the counts of a commit for the driver's Python process, if it wants them."""
    if not options.report_to:
        return
    file = f"{options.report_to}.{batch}.{uuid.uuid4().hex}"
    part = Path(f"{file}{PART}")
    try:
        part.write_bytes(json.dumps(counts).encode())
        part.replace(file)
    except OSError as error:  # the rows are written: nothing of that is lost
        LOGGER.info("sink: the counts of batch %d are not reported: %s", batch, error)


class _Reports:
    """Descriptions and counts of the queries of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._counts: OrderedDict[tuple[str, int], Counts] = OrderedDict()
        self._described: OrderedDict[str, tuple[list[str], str, str]] = OrderedDict()

    def address(self, writer: str) -> str:
        """Where commits of a writer leave their counts, as text for an option."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="zombieproof-progress-", ignore_cleanup_errors=True)
            return str(Path(self._folder.name) / writer)

    def _collect(self, writer: str, batch: int) -> Counts | None:
        """The counts of all commits of a batch; their files are removed."""
        key = writer, batch
        for file in Path(self._folder.name).glob(f"{writer}.{batch}.*") if self._folder is not None else ():
            if file.suffix != PART:
                self._counts[key] = total([self._counts.get(key, Counts()), Counts(*json.loads(file.read_bytes()))])
                file.unlink()
        _keep_newest(self._counts)
        return self._counts.get(key)

    def describe(self, run: str, sources: list[str], sink: str, writer: str) -> None:
        """Keep the descriptions of a run of a query: a text for each source of this project, "" for others.

        Without a sink of this project, calls of `exactly_once` report under the id of the run.
        """
        with self._lock:
            self._described[run] = sources, sink, writer or run
            _keep_newest(self._described)

    def complete(self, progress: dict[str, Any]) -> dict[str, Any]:
        """Add descriptions and metrics to a progress."""
        run = str(progress["runId"])
        with self._lock:
            described, sink, writer = self._described.get(run, ([], "", run))
            counts = self._collect(writer, int(progress["batchId"]))
        if len(described) == len(progress["sources"]):
            for text, source in zip(described, progress["sources"], strict=True):
                if text and _OWN in source["description"]:
                    source["description"] = text
                    source["metrics"] = behind_latest(source.get("endOffset"), source.get("latestOffset"))
        if sink:
            progress["sink"]["description"] = sink
        if sink or counts is not None:
            progress["sink"]["metrics"] = (counts or Counts()).as_metrics()
        return progress


def _keep_newest(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > KEPT:
        kept.popitem(last=False)


REPORTS: Final = _Reports()


def behind_latest(end: Any, latest: Any) -> dict[str, str]:
    """The lag of a source in offsets, by the names of Spark's Kafka source, and in all partitions together."""
    ends, latest = (json.loads(each) if isinstance(each, str) else each for each in (end, latest))
    if not ends or not latest:
        return {}
    behind = [
        max(0, past - ends.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        if not topic.startswith("@")
        for partition, past in partitions.items()
    ]
    if not behind:
        return {}
    return {
        "minOffsetsBehindLatest": str(min(behind)),
        "maxOffsetsBehindLatest": str(max(behind)),
        "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
        BEHIND: str(sum(behind)),
    }


def description_of_source(options: SourceOptions) -> str:
    """Describe a source for the progress of a query."""
    if options.pattern:
        read = f"subscribePattern={options.pattern}"
    elif options.assigned:
        read = f"assign={named(options.assigned)}"
    else:
        read = f"subscribe={', '.join(options.topics)}"
    return f"zombieproof[{read}; group={options.group}]"


def description_of_sink(options: SinkOptions, name: str) -> str:
    """Describe a sink for the progress of a query."""
    topic = options.topic or NO_TOPIC
    return (
        f"zombieproof[topic={topic}; group={options.group}; mode={options.mode.value}; "
        f"exactlyOnceBy={options.by.value}; name={options.name or name}]"
    )


def complete_progress() -> None:
    """Let PySpark's progress have descriptions and metrics."""
    for name, by_json in (("fromJson", True), ("fromJObject", False)):
        original = getattr(StreamingQueryProgress, name)
        if not hasattr(original, _WRAPPED):
            setattr(StreamingQueryProgress, name, classmethod(_completed(original.__func__, by_json=by_json)))


def _completed(original: Any, *, by_json: bool) -> Any:
    @functools.wraps(original)
    def completed(cls: Any, given: Any) -> Any:
        if by_json:
            return original(cls, REPORTS.complete(given))
        made, text = original(cls, given), REPORTS.complete(json.loads(given.json()))
        for part, told in ((made["sink"], text["sink"]), *zip(made["sources"], text["sources"], strict=True)):
            part.update(description=told["description"], metrics=told.get("metrics", {}))
            part._jprogress, part._jdict = None, told  # noqa: SLF001  # what it prints as JSON
        made._jprogress, made._jdict = None, text  # noqa: SLF001  # as above
        return made

    setattr(completed, _WRAPPED, True)
    return completed


class MetricsListener(StreamingQueryListener):
    """Hands the numbers of each micro-batch to Spark's metrics system, under the name or the id of the query."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._accumulators: dict[str, Any] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Do nothing."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Do nothing: the last numbers stay."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Add the counts of the sink, and set the lag."""
        progress = event.progress
        query = progress["name"] or str(progress["id"])
        try:
            if not progress["sink"]["metrics"].keys() >= Counts().as_metrics().keys():
                return
            for name in Counts().as_metrics():
                self._accumulator(query, name).add(int(progress["sink"]["metrics"][name]))
            behind = [int(each["metrics"].get(BEHIND, 0)) for each in progress["sources"]]
            self._accumulator(query, BEHIND).setValue(sum(behind))
        except (Py4JError, ValueError) as unknown:
            LOGGER.info("metrics of query %s did not reach Spark: %s", query, unknown)

    def _accumulator(self, query: str, name: str) -> Any:
        key = f"zombieproof.{query}.{name}"
        if key not in self._accumulators:
            scala, jvm = self._context._jsc.sc(), self._context._jvm  # noqa: SLF001  # PySpark has no public name
            made = scala.longAccumulator(key)
            registry = getattr(getattr(jvm.org.apache.spark.metrics.source, "LongAccumulatorSource$"), "MODULE$")
            registry.register(scala, jvm.PythonUtils.toScalaMap({key: made}))
            self._accumulators[key] = made
        return self._accumulators[key]


_listening: set[str] = set()
"""Sessions that have a listener."""


def report_metrics(session: Any) -> None:
    """Listen to the queries of a session; the second call does nothing."""
    key = str(session._jsparkSession.sessionUUID())  # noqa: SLF001  # as above
    if key not in _listening:
        _listening.add(key)
        session.streams.addListener(MetricsListener(session.sparkContext))

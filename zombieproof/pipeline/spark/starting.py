"""Check options and plan of a sink when the user starts it, so that `start()` and `save()` raise.

Spark itself creates a sink in Python only after `start()` has returned, and never shows it the plan. So `register`
wraps the methods of PySpark that start a write. A sink that was not started through them refuses to write.

Names of Spark's fields are not public and might change: only this module and `analyzed` have them.
Source: Spark's ``classic.DataStreamWriter``.
"""

import functools
import inspect
import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql.readwriter import DataFrameWriter
from pyspark.sql.streaming.readwriter import DataStreamWriter

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import LOGGER, client, consumer_for
from zombieproof.pipeline.progress_topic import RECORDED, Committed, Progress, unsigned
from zombieproof.pipeline.reader import BrokersUnavailable, RefusedByBrokers, Retries, answered, named
from zombieproof.pipeline.sink.asking import RowsNotAcknowledged
from zombieproof.pipeline.sink.claims import partition_id
from zombieproof.pipeline.sink.errors import NEEDS_A_GROUP, REMADE
from zombieproof.pipeline.sink.restoring import copy_positions
from zombieproof.pipeline.sink.rows import Identity, IllegalRows, NoIdentity, Place, foreign, identity_of_any
from zombieproof.pipeline.spark.analyzed import (
    FORMAT,
    STREAM,
    field_of,
    name_of,
    pairs_of,
    plan_of,
    refuse_made_up,
)
from zombieproof.pipeline.spark.options import (
    CHECKED,
    EARLIEST,
    REPORT_TO,
    STARTED,
    By,
    IllegalOption,
    Mode,
    SinkOptions,
    Started,
    sink_options,
)
from zombieproof.pipeline.spark.plans import BY_BATCH, Node, UnsuitablePlan, refuse_plan
from zombieproof.pipeline.spark.progress import (
    REPORTS,
    complete_progress,
    description_of_sink,
    description_of_source,
    report_metrics,
)
from zombieproof.pipeline.spark.reasons import reason_first
from zombieproof.pipeline.spark.source import GROUP
from zombieproof.pipeline.spark.tables import refuse_schema
from zombieproof.pipeline.spark.task_context import query_of, run_of
from zombieproof.pipeline.topic_pattern import matching_topics

WITHIN_S: Final = 5.0
"""Time that brokers have to answer before a query starts without that check."""
_WRAPPED: Final = "zombieproof_checks_first"


_CHECKPOINT: Final = "zombieproof_checkpoint"
"""An attribute of a writer of PySpark: the `_Checkpoint` with which its query starts."""


class _Checkpoint(NamedTuple):
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


@dataclass(slots=True)
class _Running:
    """A query with a function of `foreachBatch`.

    Attributes:
        plan: before the rows of a micro-batch; and as Spark has it.
        checkpoint: with which it was started.
        thread: of the function.
        rows: number of the RDD with the rows of this micro-batch.
        groups: under which `exactly_once` has written by source since the start.
        looked: runs, groups and names of sinks whose positions were compared with the checkpoint.
        progress_topics: those that are known to exist.
        source_ids: `_source_ids` by the address of a sink.
    """

    plan: Node
    analyzed: Any = None
    checkpoint: _Checkpoint = field(default_factory=_Checkpoint)
    thread: int = NONE
    rows: int = NONE
    groups: set[str] = field(default_factory=set)
    looked: set[tuple[str, str, str]] = field(default_factory=set)
    progress_topics: set[str] = field(default_factory=set)
    source_ids: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def ids_for(self, options: SinkOptions) -> Mapping[str, str]:
        """Return `_source_ids`, which are asked of the brokers once for each address."""
        address = options.settings.get("bootstrap.servers", "")
        if address not in self.source_ids:
            self.source_ids[address] = _source_ids(options, self.plan)
        return self.source_ids[address]


_running: dict[str, _Running] = {}
"""By run of a query, while its function runs."""


def check_starts() -> None:
    """Let the methods of PySpark that start a write check sources and sink of this project first.

    `DataStreamWriter.foreachBatch` keeps the plan of the query: the plan of a micro-batch begins after it.
    """
    complete_progress()
    for writer, method, wrapped in (
        (DataStreamWriter, "start", functools.partial(_checked, streaming=True)),
        (DataStreamWriter, "toTable", functools.partial(_checked, streaming=True)),
        (DataStreamWriter, "foreachBatch", _keeping_the_plan),
        (DataFrameWriter, "save", functools.partial(_checked, streaming=False)),
    ):
        original = getattr(writer, method)
        if not hasattr(original, _WRAPPED):
            made = wrapped(original)
            setattr(made, _WRAPPED, True)
            setattr(writer, method, made)


def is_remote_session(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _checked(original: Callable[..., Any], *, streaming: bool) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def checked(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        writer = given["self"]
        if given.get("format") is not None:
            writer.format(given["format"])
        if given.get("queryName") is not None:
            writer.queryName(given["queryName"])
        writer.options(**given.get("options", {}))
        described = None
        if _format_of(writer) == FORMAT:
            described = _check(writer, streaming=streaming)
        elif streaming:
            described = _check_sources(writer)
        if described is None or not streaming:
            return original(*arguments, **named)
        report_metrics(writer._df.sparkSession)  # noqa: SLF001  # PySpark has no public name for it
        query = original(*arguments, **named)
        REPORTS.describe(query.runId, *described)
        return query

    return checked


def _keeping_the_plan(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let `foreachBatch` keep the plan before it; where that is not known, `exactly_once` refuses."""

    @functools.wraps(original)
    def foreach_batch(writer: Any, func: Callable[[Any, int], None]) -> Any:
        try:
            plan = plan_of(writer._df)  # noqa: SLF001  # PySpark has no public name for it
            analyzed = writer._df._jdf.queryExecution().analyzed()  # noqa: SLF001  # as above
        except (AttributeError, Py4JError) as unknown:
            LOGGER.info("the plan before foreachBatch is not known: %s", unknown)
            return original(writer, func)

        running = _Running(plan, analyzed)

        @functools.wraps(func)
        def with_plan(rows: Any, batch: int) -> None:
            run, running.checkpoint = run_of(rows.sparkSession), getattr(writer, _CHECKPOINT, _Checkpoint())
            try:
                running.rows = rows._jdf.queryExecution().analyzed().rdd().id()  # noqa: SLF001  # as above
                running.thread, _running[run] = threading.get_ident(), running
            except Py4JError as unknown:
                LOGGER.info("rows of a micro-batch are not known: %s", unknown)
            try:
                func(rows, batch)
            finally:
                _running.pop(run, None)
            _refuse_groups_of_none(plan, running.groups)

        return original(writer, with_plan)

    return foreach_batch


def _format_of(writer: Any) -> str:
    """Return the format of a write, or "" in a release of Spark that hides it: our sink then refuses to write."""
    try:
        return str(field_of(writer._jwrite, "source")).lower()  # noqa: SLF001  # nothing else knows it
    except (AttributeError, Py4JError) as unknown:
        LOGGER.warning("this release of Spark does not show what a write is: %s", unknown)
        return ""


def _check(writer: Any, *, streaming: bool) -> tuple[list[str], str, str]:
    """Raise what is wrong with the options, the columns or the plan, and mark the writer as checked.

    Returns:
        Descriptions of the sources and of the sink, and the name under which its commits report.

    Raises:
        IllegalOption, IllegalSetting: an option is missing, unknown or not valid.
        IllegalRows: the columns are not those of a sink.
        UnsuitablePlan: rows would be lost or duplicated.
        TakenGroup: another write has committed positions under the group.
    """
    frame, extra = writer._df, _options_of(writer)  # noqa: SLF001  # PySpark has no public name for it
    session = frame.sparkSession
    options = sink_options(extra, streaming=streaming)
    if streaming:
        _refuse_update(writer)
    _refuse_columns(frame, options)
    plan = plan_of(frame, {each.rows: each.plan for each in _running.values()})
    refuse_plan(plan, options)
    _refuse_sources(options, plan, extra)
    running, name = _function_of(session, plan, streaming=streaming), name_of(frame, options.topic)
    if running is not None:
        _check_in_function(frame, options, plan, running)
        if options.by == By.SOURCE:
            _check_positions_in_function(session, options, options.name or name, running)
    checkpoint = _Checkpoint() if running is None else running.checkpoint
    source_ids: Mapping[str, str] = {}
    if options.by == By.SOURCE:
        source_ids = (running or _Running(plan)).ids_for(options)
    if streaming:
        checkpoint = _checkpoint_of(session, extra)
        _check_start(frame, options, plan, checkpoint)
        _check_positions(options, options.name or name, checkpoint, plan, source_ids)
    _refuse_written_elsewhere(options, options.name or name, checkpoint, streaming=streaming)
    writer_id = uuid.uuid4().hex if streaming else run_of(session)
    progress_id = checkpoint.progress_ids.get(options.progress_topic, "")
    writer.option(CHECKED, name)
    writer.option(REPORT_TO, REPORTS.address(writer_id) if writer_id else "")
    writer.option(STARTED, json.dumps(Started(writer_id, checkpoint.newest, progress_id, dict(source_ids))))
    return _descriptions(plan), description_of_sink(options, name), writer_id


def _refuse_update(writer: Any) -> None:
    """Check the output mode of a streaming query.

    Raises:
        UnsuitablePlan: it is update.
    """
    if str(field_of(writer._jwrite, "outputMode")) == "Update":  # noqa: SLF001  # nothing else knows it
        raise UnsuitablePlan(
            "sink: outputMode is update, which Spark offers to no sink in Python. Use append, for which an aggregation "
            "needs a watermark, or complete, which writes all rows of the result in each micro-batch; or write updated "
            "rows in foreachBatch, by exactly_once with exactlyOnceBy=batch"
        )


def _refuse_columns(frame: Any, options: SinkOptions) -> None:
    """Check that the columns are those of a sink.

    Raises:
        IllegalRows: they are not.
    """
    names = Counter(field.name.lower() for field in frame.schema.fields)
    if double := sorted(name for name, count in names.items() if count > 1):
        raise IllegalRows(
            f"sink: there are several columns {', '.join(double)}; legal is one of each name: drop or rename the "
            "others, for example after a join"
        )
    refuse_schema({field.name: field.dataType.simpleString() for field in frame.schema.fields}, options)


def _refuse_sources(options: SinkOptions, plan: Node, extra: Mapping[str, str]) -> None:
    """Check that source and sink reprocess under the same name, and that the source does not read the progress topic.

    Raises:
        IllegalOption: they do not, or it does.
    """
    for leaf in plan.leaves():
        if leaf.source is not None and options.progress_topic in (leaf.topics or ()):
            raise IllegalOption(
                f"source: {options.progress_topic} keeps the positions of this write (progressTopic), so it cannot be "
                "read by it; legal is any other topic, or another progressTopic"
            )
        if leaf.source is not None and leaf.source.reprocess != extra.get("reprocess", "").strip():
            raise IllegalOption(
                f"reprocess is {leaf.source.reprocess!r} of the source and {extra.get('reprocess', '')!r} of the sink, "
                "which would look up the positions of another group; set the same for both"
            )


def _function_of(session: Any, plan: Node, *, streaming: bool) -> _Running | None:
    """The query whose function of `foreachBatch` writes; None if there is no function.

    Raises:
        IllegalOption: it writes in a thread of its own.
        UnsuitablePlan: the plan before it is not known.
    """
    run = run_of(session)
    for number, each in _running.items():
        if _has(plan, each.plan) and (number, threading.get_ident()) != (run, each.thread):
            raise IllegalOption(
                "exactly_once: this is another thread than that of the function of foreachBatch, and does not know the "
                "micro-batch; call it in that thread, one write after the other"
            )
    if run not in _running and not streaming and query_of(session):
        raise UnsuitablePlan(
            "sink: the plan before foreachBatch is not known, nor is the checkpoint, so rows might be lost or written "
            "twice. Call zombieproof.pipeline.register(spark) before writeStream.foreachBatch"
        )
    return _running.get(run)


def _check_start(frame: Any, options: SinkOptions, plan: Node, checkpoint: _Checkpoint) -> None:
    """Check groups and clusters of a streaming query before it starts.

    Raises:
        IllegalOption: source and sink do not look for positions in the same place, or rows might be skipped.
        UnsuitablePlan: rows do not come from the source.
    """
    _refuse_changed_group(checkpoint, plan)
    if options.by == By.SOURCE:
        refuse_made_up(frame, is_of_ours=_is_of_ours(plan))
        _refuse_other_groups(options, plan)
        _refuse_other_clusters(options, checkpoint.query, plan)
    elif not checkpoint.query:
        _look_at_sources(plan, is_refused=True)


def _check_in_function(frame: Any, options: SinkOptions, plan: Node, running: _Running) -> None:
    """Check a write in a function of `foreachBatch`.

    Raises:
        UnsuitablePlan: rows would be lost or duplicated.
    """
    refuse_plan(running.plan, options)
    if options.by == By.SOURCE:
        if not _has(plan, running.plan):
            raise UnsuitablePlan(
                "sink: the plan does not show that its rows come from those of the micro-batch (collect, toPandas, "
                "checkpoint and localCheckpoint hide that), so column source might not tell whether they were written. "
                f"Derive them from the rows of the micro-batch; or {BY_BATCH}"
            )
        refuse_made_up(frame, {running.rows: running.analyzed}, is_of_ours=_is_of_ours(running.plan))
        running.groups.add(options.group)
    if not running.checkpoint.query and options.progress_topic not in running.progress_topics:
        _make_progress_topic(options)
        running.progress_topics.add(options.progress_topic)


def _refuse_written_elsewhere(options: SinkOptions, name: str, checkpoint: _Checkpoint, *, streaming: bool) -> None:
    """Check that a batch that is repeated was not written under another group, and, by batch, into another topic.

    Raises:
        IllegalOption: it was.
        BrokersUnavailable: no broker tells.
    """
    newest = NONE if checkpoint.newest is None else checkpoint.newest
    is_repeated = not checkpoint.is_finished and options.batch in (NONE, newest)
    has_one_output = streaming and options.by == By.BATCH
    if not checkpoint.query or not (is_repeated or has_one_output):
        return
    progress = Progress(options.settings, options.group, options.progress_topic)

    def ask() -> list[tuple[str, Place, Committed]]:
        progress.ask(())
        return progress.of_all_groups() if progress.topic in progress.ids() else []

    groups = set()
    for group, place, (_, text) in answered(ask, f"the records of topic {options.progress_topic}"):
        identity = identity_of_any(text, place)
        if identity is None or identity.query != checkpoint.query:
            continue
        if is_repeated and identity.sink == name and identity.batch >= newest:
            groups.add(group)
        if has_one_output and identity.rows and group == options.group and place[0] != options.topic:
            raise IllegalOption(
                f"sink: topic is {options.topic}, and batch {identity.batch} of this query was written to {place[0]} "
                f"under group {group}. Write to {place[0]}; or give the other output a query, a checkpoint and a group "
                "of its own"
            )
    if groups and options.group not in groups:
        old = ", ".join(sorted(groups))
        raise IllegalOption(
            f"sink: kafka.group.id is {options.group}, and batch {newest}, which is repeated, was written "
            f"under {old}: its rows would be written again. Use {old} until the batch is finished, and change the "
            "group then"
        )


def _is_of_ours(plan: Node) -> bool:
    """Whether every stream of a plan is read by a source of this project."""
    return all(leaf.source is not None for leaf in plan.leaves() if leaf.load)


def _has(plan: Node, part: Node) -> bool:
    return plan is part or any(_has(each, part) for each in plan.children)


def _source_ids(options: SinkOptions, plan: Node) -> dict[str, str]:
    """The ids of topics that are read in another cluster than the sink's, which does not know them."""
    address: Any = options.settings.get("bootstrap.servers")
    found: dict[str, str] = {}
    for leaf in plan.leaves():
        source = leaf.source
        if source is None or source.settings.get("bootstrap.servers") == address:
            continue
        reading, writing = (consumer_for(each, options.group) for each in (source.settings, options.settings))
        try:
            if cluster_of(reading) == cluster_of(writing):
                continue
            progress = Progress(source.settings, options.group, source.progress_topic)
            progress.ask(_topics_of(leaf, reading))
            found |= {foreign(topic): each for topic, each in progress.ids().items() if topic != progress.topic}
        except client.KafkaException as error:
            LOGGER.info("start of a query: the ids of the topics of its source are not known: %s", error)
        finally:
            reading.close()
            writing.close()
    return found


def _descriptions(plan: Node) -> list[str]:
    """Describe the loads of a plan in their order: "" for those of other sources."""
    loads = {leaf.load: leaf.source for leaf in plan.leaves()}
    return ["" if source is None else description_of_source(source) for source in loads.values()]


def _check_sources(writer: Any) -> tuple[list[str], str, str] | None:
    """Check the sources of this project in a query that writes by another sink, or by ``foreachBatch``.

    Returns:
        Descriptions of the sources, and "" for the sink and its name; None without a source of this project.

    Raises:
        IllegalOption, IllegalSetting: an option of a source is missing, unknown or not valid.
    """
    frame = writer._df  # noqa: SLF001  # as above
    try:
        plan = plan_of(frame)
        checkpoint = _checkpoint_of(frame.sparkSession, _options_of(writer))
    except (AttributeError, Py4JError) as unknown:
        LOGGER.info("start of a query: its plan was not checked: %s", unknown)
        return None
    setattr(writer, _CHECKPOINT, checkpoint)
    if not checkpoint.query:
        _look_at_sources(plan, is_refused=False)
    described = _descriptions(plan)
    return (described, "", "") if any(described) else None


def _refuse_changed_group(checkpoint: _Checkpoint, plan: Node) -> None:
    """Check that a batch that will be repeated was not written under another group, in which nobody looks any more.

    Raises:
        IllegalOption: it may have been.
    """
    groups = {leaf.source.group for leaf in plan.leaves() if leaf.source is not None and leaf.kind == STREAM}
    if not checkpoint.is_finished and groups and checkpoint.groups and not groups & checkpoint.groups:
        old = ", ".join(sorted(checkpoint.groups))
        raise IllegalOption(
            f"sink: kafka.group.id is {', '.join(sorted(groups))}, and batch {checkpoint.newest} of the checkpoint, "
            f"which is not finished, was planned under {old}. Its rows may be in the output, and would be written "
            f"again. Start the query with {old} until the batch is finished, and change the group then"
        )


def _refuse_other_groups(options: SinkOptions, plan: Node) -> None:
    """Check that sources look for positions where the sink commits them.

    Raises:
        IllegalOption: they do not.
    """
    for leaf in plan.leaves():
        if leaf.source is not None and leaf.kind == STREAM and leaf.source.group != options.group:
            raise IllegalOption(
                f"kafka.group.id is {leaf.source.group!r} of the source and {options.group!r} of the sink. The sink "
                "commits positions under its group, and without a checkpoint the source would not find them and might "
                "skip rows. Set the same group for both; a checkpoint that there is stays valid"
            )


def _make_progress_topic(options: SinkOptions) -> None:
    """Create the progress topic for a new query, whose first batches may have no rows.

    Raises:
        ProgressUnusable: it cannot be created.
    """
    progress = Progress(options.settings, options.group, options.progress_topic)
    try:
        progress.ask(())
        if progress.topic not in progress.ids():
            progress.create()
    except client.KafkaException as error:
        LOGGER.info("start of a query: topic %s was not created, which a delivery will do: %s", progress.topic, error)


@reason_first
def _refuse_groups_of_none(plan: Node, groups: set[str]) -> None:
    """Check that a source looks for positions where one of the writes of `foreachBatch` commits them.

    A source that begins at the first records, or at the same ones each time, needs no positions: writes leave out what
    they have written.

    Raises:
        IllegalOption: there are writes, and none is in its group.
    """
    for leaf in plan.leaves():
        source = leaf.source
        if groups and source is not None and source.group not in groups and source.starting.is_latest:
            raise IllegalOption(
                f"exactly_once: positions are committed under {', '.join(sorted(groups))}, and kafka.group.id of the "
                f"source is {source.group}. Without a checkpoint the source would not find them, begin at the latest "
                "records and skip rows. Give the source the group of the last exactly_once; or set "
                "startingOffsets=earliest. A checkpoint that there is stays valid, and nothing is written twice"
            )


def _refuse_other_clusters(options: SinkOptions, query: str, plan: Node) -> None:
    """Check that a sink can keep its positions in another cluster than the source's, and that no record is skipped.

    A source does not look for positions in the cluster of the sink. Without a checkpoint it has to begin at the first
    record: then the sink leaves out those that it has written.

    Raises:
        IllegalOption: the cluster of the sink cannot keep the positions.
        TakenGroup: it has some, and the source would not begin at the first record.
    """
    address = options.settings.get("bootstrap.servers")
    for leaf in plan.leaves():
        source = leaf.source
        if source is None or leaf.kind != STREAM or source.settings.get("bootstrap.servers") == address:
            continue
        reading, writing = (consumer_for(each, options.group) for each in (source.settings, options.settings))
        try:
            if cluster_of(reading) == cluster_of(writing):
                continue
            places = _places_of(reading, _topics_of(leaf, reading))
            there = set(_places_of(writing, {topic for topic, _ in places}))
            progress = Progress(options.settings, options.group, options.progress_topic)
            progress.ask(())
            found = _identities(writing, [place for place in places if place in there], progress, progress.ids())
        except client.KafkaException as error:
            LOGGER.info("start of a query: the clusters of source and sink were not compared: %s", error)
            continue
        finally:
            reading.close()
            writing.close()
        if missing := [f"{topic}-{partition}" for topic, partition in places if (topic, partition) not in there]:
            raise IllegalOption(
                f"sink: it commits the positions of {', '.join(missing)}, and its cluster has no such partitions. A "
                "cluster keeps positions of its own topics alone: create a topic of the same name and as many "
                "partitions there, which may stay empty; or use exactlyOnceBy=batch"
            )
        if query or (source.starting.value == EARLIEST and not source.starting.is_timestamp):
            continue
        for place, identity in found.items():
            raise TakenGroup(
                f"source: {source.starting.option} says where this query begins, because it has no checkpoint and its "
                f"source is in another cluster than its sink. But {identity} has committed the position of {place[0]}-"
                f"{place[1]} under group {options.group} in the cluster of the sink, and records between the two might "
                "be skipped. Bring back the checkpoint; or set startingOffsets=earliest, and the sink leaves out the "
                "rows that it has written; or use a new group"
            )


def cluster_of(consumer: Any) -> str:
    """Return the id of the cluster that a client is connected to."""
    return str(consumer.list_topics(None, WITHIN_S).cluster_id)


def _look_at_sources(plan: Node, *, is_refused: bool) -> None:
    """Look whether sources begin after positions that a sink of this project has committed, in a new query.

    Raises:
        TakenGroup: one does, and that `is_refused` because the positions cannot be those of this query. Otherwise they
            may be, if it calls `exactly_once` and its checkpoint is lost; then a warning is logged.
    """
    for leaf in plan.leaves():
        if leaf.source is None or leaf.kind != STREAM:
            continue
        consumer = consumer_for(leaf.source.settings, leaf.source.group)
        try:
            topics = _topics_of(leaf, consumer)
            progress = Progress(leaf.source.settings, leaf.source.group, leaf.source.progress_topic)
            progress.ask(topics)
            found = _identities(consumer, _places_of(consumer, topics), progress, progress.ids())
        except (client.KafkaException, NoIdentity) as error:
            LOGGER.info("start of a query: the positions of group %s were not checked: %s", leaf.source.group, error)
            continue
        finally:
            consumer.close()
        for place, identity in found.items():
            if not identity.query:
                continue
            fault = (
                f"source: the position of {place[0]}-{place[1]} under group {leaf.source.group} was committed by "
                f"{identity}, and this query has no checkpoint: it would begin there, and never read what is below"
            )
            if is_refused:
                raise TakenGroup(f"{fault}. {NEEDS_A_GROUP}")
            LOGGER.warning(
                "%s. Nothing is wrong if that is this query, and its checkpoint is lost. Otherwise stop it, and give "
                "it a group of its own, or reprocess=NAME for its source and for each exactly_once",
                fault,
            )
            break


def _topics_of(leaf: Node, consumer: Any) -> set[str]:
    """The topics that a leaf reads now, as far as its options tell."""
    if leaf.topics is None and leaf.source is not None and leaf.source.pattern:
        return set(matching_topics(leaf.source.pattern, consumer.list_topics(None, WITHIN_S).topics))
    return set(leaf.topics or ())


def _options_of(writer: Any) -> dict[str, str]:
    """The options of a write, by their names in lower case."""
    return {name.lower(): value for name, value in pairs_of(field_of(writer._jwrite, "extraOptions"))}  # noqa: SLF001


def _checkpoint_of(session: Any, extra: Mapping[str, str]) -> _Checkpoint:
    """Read the checkpoint of a query.

    Without an option of its own, Spark makes the folder of its setting and the name of the query.
    """
    checkpoint, name = extra.get("checkpointlocation", ""), extra.get("queryname", "")
    root = session.conf.get("spark.sql.streaming.checkpointLocation", None)
    if not checkpoint and root and name:
        checkpoint = f"{root}/{name}"
    if not checkpoint:
        return _Checkpoint(newest=NONE)
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
        return _Checkpoint(newest=NONE)

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
    return _Checkpoint(str(json.loads(read(path))["id"]), newest, newest in finished, groups, progress_ids)


class TakenGroup(ValueError):
    """A group under which another write has committed positions, or this one in a topic that no longer exists."""


def _found(options: SinkOptions, plan: Node, progress: Progress) -> dict[Place, Identity]:
    """Whose writes have committed the positions that a write of this plan commits.

    Raises:
        KafkaException: the brokers do not answer.
        NoIdentity: a position holds metadata of another client.
        ProgressUnusable: the progress topic does not keep its records.
    """
    consumer = consumer_for(options.settings, options.group)
    try:
        topics = {options.topic}
        if options.by == By.SOURCE:
            topics = {topic for leaf in plan.leaves() for topic in _topics_of(leaf, consumer)}
        progress.ask({*topics, options.topic})
        return _identities(consumer, _places_of(consumer, topics), progress, progress.ids())
    finally:
        consumer.close()


def _check_positions(
    options: SinkOptions, name: str, checkpoint: _Checkpoint, plan: Node, source_ids: Mapping[str, str]
) -> None:
    """Check that the positions of the group are of this write: a source would begin after those of another.

    The progress topic gets those that it lacks.

    A query without a checkpoint may continue at the positions of a sink of the same name. If the brokers do not answer,
    the query starts without this check: each delivery checks again.

    The progress topic is created for a new query. For one with a checkpoint the deliveries decide: if it is missing and
    the group has no positions, both were deleted.

    Raises:
        TakenGroup: they are of another write, or older than a topic.
        ProgressUnusable: the progress topic does not keep its records, or cannot be created.
    """
    progress = Progress(options.settings, options.group, options.progress_topic)
    try:
        found, topic_ids = _found(options, plan, progress), progress.ids()
        if progress.topic not in topic_ids and not checkpoint.query:
            progress.create()
    except client.KafkaException as error:
        LOGGER.info("start of sink %s: the positions of group %s were not checked: %s", name, options.group, error)
        return
    _refuse_older_checkpoint(options, name, checkpoint, found)
    for place, identity in found.items():
        is_same_sink = options.by == By.SOURCE and identity.sink == name
        is_of_a_stream = identity.run != "" or identity.first == NONE
        if identity.query not in ("", checkpoint.query) and not (is_same_sink and is_of_a_stream):
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} was committed by {identity}, "
                f"and this is query {checkpoint.query or 'without a checkpoint'}, sink {name}. {NEEDS_A_GROUP}"
            )
        if remade := identity.remade(topic_ids | dict(source_ids)):
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} is older than topic "
                f"{remade}. {REMADE}"
            )
    _restore_progress(options, progress, found)


def _restore_progress(options: SinkOptions, progress: Progress, found: Mapping[Place, Identity]) -> None:
    """See that the progress topic has the positions of the group: it was deleted, or it is another one."""
    if options.by == By.BATCH or not found:
        return

    own_id, has_tasks = options.transactional_id, options.mode == Mode.PARTITION
    ids = {place: partition_id(own_id, place) if has_tasks else own_id for place in found}

    def ask() -> list[Place]:
        return copy_positions(options.settings, options.group, progress, ids)

    try:
        copied = answered(ask, f"topic {progress.topic}", Retries(count=0, attempt_s=WITHIN_S))
    except (BrokersUnavailable, RefusedByBrokers, RowsNotAcknowledged) as error:
        LOGGER.warning("sink: topic %s lacks positions of group %s: %s", progress.topic, options.group, error)
    else:
        if copied:
            LOGGER.warning(
                "sink: topic %s lacked the positions of %s under group %s, and has them now",
                progress.topic,
                named(copied),
                options.group,
            )


def _refuse_older_checkpoint(
    options: SinkOptions, name: str, checkpoint: _Checkpoint, found: Mapping[Place, Identity]
) -> None:
    """Check that the checkpoint has finished every batch that the query has written with another plan.

    With the same plan an older copy is exact, because positions tell which rows are written. With another one a batch
    is compared by its number, and later batches without rows would pass over the numbers that the copy lacks.

    Raises:
        TakenGroup: it lacks one.
    """
    newest = NONE if checkpoint.newest is None else checkpoint.newest
    finished = newest if checkpoint.is_finished else newest - 1
    for place, identity in found.items():
        if identity.query == checkpoint.query != "" and identity.sink != name and identity.batch > finished:
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} was committed by {identity}, "
                f"and this is sink {name} with a checkpoint that has finished {max(0, finished + 1)} batches (their "
                f"numbers begin with 0). {NEEDS_A_GROUP}"
            )


def _check_positions_in_function(session: Any, options: SinkOptions, name: str, running: _Running) -> None:
    """Check the positions of a group before the first write of a function of `foreachBatch` in it.

    Raises:
        TakenGroup: the checkpoint is older.
        BrokersUnavailable: no broker tells.
    """
    write = run_of(session), options.group, name
    if not running.checkpoint.query or write in running.looked:
        return
    progress = Progress(options.settings, options.group, options.progress_topic)
    found = answered(lambda: _found(options, running.plan, progress), f"the positions of group {options.group}")
    _refuse_older_checkpoint(options, name, running.checkpoint, found)
    _restore_progress(options, progress, found)
    running.looked.add(write)


def _places_of(consumer: Any, topics: set[str]) -> list[Place]:
    return [
        (topic, partition)
        for topic in sorted(topics)
        for partition in consumer.list_topics(topic, WITHIN_S).topics[topic].partitions
    ]


def _identities(
    consumer: Any, places: list[Place], progress: Progress, topic_ids: Mapping[str, str]
) -> dict[Place, Identity]:
    """Whose writes have committed positions of these partitions."""
    asked = [client.TopicPartition(*place) for place in places]
    committed = {}
    for told in consumer.committed(asked, WITHIN_S) if asked else ():
        if told.error is not None:
            raise client.KafkaException(told.error)
        committed[told.topic, told.partition] = Committed(max(told.offset, NONE), told.metadata or "")
    if progress.topic in topic_ids:
        progress.check(topic_ids[progress.topic])
        committed |= progress.newest(unsigned(committed))
    read = {place: Identity.of_metadata(text, place) for place, (_, text) in committed.items()}
    return {place: identity for place, identity in read.items() if identity is not None}

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
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql.readwriter import DataFrameWriter
from pyspark.sql.streaming.readwriter import DataStreamWriter

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.sink.rows import IllegalRows
from zombieproof.pipeline.spark.analyzed import (
    FORMAT,
    STREAM,
    field_of,
    name_of,
    pairs_of,
    plan_of,
    refuse_made_up,
)
from zombieproof.pipeline.spark.checkpoints import Checkpoint, beginning_of, checkpoint_of
from zombieproof.pipeline.spark.options import (
    CHECKED,
    REPORT_TO,
    STARTED,
    By,
    IllegalOption,
    SinkOptions,
    Started,
    sink_options,
)
from zombieproof.pipeline.spark.plans import BY_BATCH, Node, UnsuitablePlan, refuse_plan
from zombieproof.pipeline.spark.positions import (
    check_before_first_write,
    check_positions,
    ids_in_other_clusters,
    look_at_sources,
    make_progress_topic,
    refuse_other_clusters,
    refuse_other_progress,
    refuse_written_elsewhere,
    restore_progress,
)
from zombieproof.pipeline.spark.progress import (
    REPORTS,
    complete_progress,
    description_of_sink,
    description_of_source,
    report_metrics,
)
from zombieproof.pipeline.spark.reasons import reason_first
from zombieproof.pipeline.spark.tables import refuse_schema
from zombieproof.pipeline.spark.task_context import query_of, run_of

_WRAPPED: Final = "zombieproof_checks_first"
_CHECKPOINT: Final = "zombieproof_checkpoint"
"""An attribute of a writer of PySpark: the `Checkpoint` with which its query starts."""


@dataclass(slots=True)
class _Running:
    """A query with a function of `foreachBatch`.

    Attributes:
        plan: before the rows of a micro-batch; and as Spark has it.
        run: of the query, as Spark names it.
        checkpoint: with which it was started.
        extra: the options of its writer.
        thread: of the function.
        rows: number of the RDD with the rows of this micro-batch.
        batch: number of this micro-batch.
        writing: the write that was checked last; `written`: those of this micro-batch that are done. A write is a group
            by source, and a group with an output and a number by batch.
        groups: under which `exactly_once` has written by source since the start.
        looked: runs, groups and names of sinks whose positions were compared with the checkpoint.
        progress_topics: those that are known to exist.
        source_ids: `ids_in_other_clusters` by the address of a sink.
    """

    plan: Node
    analyzed: Any = None
    run: str = ""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    extra: Mapping[str, str] = field(default_factory=dict)
    thread: int = NONE
    rows: int = NONE
    batch: int = NONE
    writing: tuple[str, str, int] = ("", "", NONE)
    written: set[tuple[str, str, int]] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    looked: set[tuple[str, str, str]] = field(default_factory=set)
    progress_topics: set[str] = field(default_factory=set)
    source_ids: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def ids_for(self, options: SinkOptions) -> Mapping[str, str]:
        """Return `ids_in_other_clusters`, which are asked of the brokers once for each address."""
        address = options.settings.get("bootstrap.servers", "")
        if address not in self.source_ids:
            self.source_ids[address] = ids_in_other_clusters(options, self.plan)
        return self.source_ids[address]


_running: dict[str, _Running] = {}
"""By run of a query, while its function runs."""


def _running_here() -> _Running | None:
    """The query whose function of `foreachBatch` runs in this thread."""
    return next((each for each in list(_running.values()) if each.thread == threading.get_ident()), None)


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
        for name in ("queryName", "outputMode"):
            if given.get(name) is not None:
                getattr(writer, name)(given[name])
        writer.options(**given.get("options", {}))
        described = None
        if _format_of(writer) == FORMAT and original.__name__ == "toTable":
            raise UnsuitablePlan(
                "sink: toTable would make a table in the catalog, which cannot be read; start the query by start()"
            )
        if _format_of(writer) == FORMAT:
            described = _check(writer, streaming=streaming)
        elif streaming:
            described = _check_sources(writer)
        if described is None or not streaming:
            made = original(*arguments, **named)
            if described is not None and (running := _running_here()) is not None:
                running.written.add(running.writing)
            return made
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
            running.checkpoint = getattr(writer, _CHECKPOINT, Checkpoint())
            running.extra = running.extra or _options_of(writer)
            with run_of(rows.sparkSession) as run:
                try:
                    running.rows = rows._jdf.queryExecution().analyzed().rdd().id()  # noqa: SLF001  # as above
                    running.run, running.batch, running.written = run, batch, set()
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
    running = _function_of(session, plan, streaming=streaming)
    name = options.name if extra.get("name", "").strip() else name_of(frame, options.topic)
    if running is not None:
        _check_in_function(frame, options, plan, options.name or name, running)
    checkpoint = Checkpoint() if running is None else running.checkpoint
    source_ids: Mapping[str, str] = {}
    if options.by == By.SOURCE:
        source_ids = (running or _Running(plan)).ids_for(options)
    if streaming:
        checkpoint = checkpoint_of(session, extra)
        _check_start(frame, options, plan, checkpoint)
        refuse_other_progress(options, checkpoint)
        check_positions(options, options.name or name, checkpoint, plan, source_ids)
    elif running is None:
        restore_progress(options)
    sources = plan if running is None else running.plan
    refuse_written_elsewhere(options, options.name or name, checkpoint, sources, streaming=streaming)
    writer_id = uuid.uuid4().hex if streaming else "" if running is None else running.run
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
    running = _running_here()
    for each in list(_running.values()):
        if each is not running and _has(plan, each.plan):
            raise IllegalOption(
                "exactly_once: this is another thread than that of the function of foreachBatch, and does not know the "
                "micro-batch; call it in that thread, one write after the other"
            )
    if running is None and not streaming and query_of(session):
        raise UnsuitablePlan(
            "sink: the plan before foreachBatch is not known, nor is the checkpoint, so rows might be lost or written "
            "twice. Call zombieproof.pipeline.register(spark) before writeStream.foreachBatch"
        )
    return running


def _check_start(frame: Any, options: SinkOptions, plan: Node, checkpoint: Checkpoint) -> None:
    """Check groups and clusters of a streaming query before it starts.

    Raises:
        IllegalOption: source and sink do not look for positions in the same place, or rows might be skipped.
        UnsuitablePlan: rows do not come from the source.
    """
    _refuse_changed_group(checkpoint, plan)
    if options.by == By.SOURCE:
        refuse_made_up(frame, is_of_ours=_is_of_ours(plan))
        _refuse_other_groups(options, plan)
        refuse_other_clusters(options, checkpoint.query, plan)
    elif not checkpoint.query:
        look_at_sources(plan, is_refused=True)


def _check_in_function(frame: Any, options: SinkOptions, plan: Node, name: str, running: _Running) -> None:
    """Check a write in a function of `foreachBatch`.

    Raises:
        UnsuitablePlan: rows would be lost or duplicated.
        IllegalOption, TakenGroup: positions of the group do not go with the checkpoint, or with the source.
        BrokersUnavailable: no broker tells.
    """
    refuse_plan(running.plan, options)
    _refuse_second_write(options, running)
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
        make_progress_topic(options)
        running.progress_topics.add(options.progress_topic)
    write = running.run, options.group, name
    if write in running.looked:
        return
    if options.by == By.SOURCE:
        begun, before = beginning_of(frame.sparkSession, running.extra), {group for group, *_ in running.written}
        check_before_first_write(options, name, running.checkpoint, running.plan, begun, before)
    else:
        restore_progress(options)
    refuse_other_progress(options, running.checkpoint)
    running.looked.add(write)


def _refuse_second_write(options: SinkOptions, running: _Running) -> None:
    """Check that a write tells its micro-batch, and that no other write of it would be taken for this one.

    Raises:
        IllegalOption: it does not, or one would.
    """
    if options.batch == NONE:
        raise IllegalOption(
            "sink: use exactly_once(rows, batch, ...) in a function of foreachBatch: save() does not tell the "
            "micro-batch, so two writes of one could not be told apart, and rows would be lost"
        )
    by_batch = options.by == By.BATCH
    running.writing = (options.group, options.topic, options.batch) if by_batch else (options.group, "", NONE)
    if running.writing in running.written:
        raise IllegalOption(
            f"exactly_once: batch {running.batch} has two writes under group {options.group}, and the second would be "
            "taken for the first; give each write a group of its own (kafka_group_id)"
        )


def _is_of_ours(plan: Node) -> bool:
    """Whether every stream of a plan is read by a source of this project."""
    return all(leaf.source is not None for leaf in plan.leaves() if leaf.load)


def _has(plan: Node, part: Node) -> bool:
    return plan is part or any(_has(each, part) for each in plan.children)


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
        checkpoint = checkpoint_of(frame.sparkSession, _options_of(writer))
    except (AttributeError, Py4JError) as unknown:
        LOGGER.info("start of a query: its plan was not checked: %s", unknown)
        return None
    setattr(writer, _CHECKPOINT, checkpoint)
    if not checkpoint.query:
        look_at_sources(plan, is_refused=False)
    described = _descriptions(plan)
    return (described, "", "") if any(described) else None


def _refuse_changed_group(checkpoint: Checkpoint, plan: Node) -> None:
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
        if groups and source is not None and source.group not in groups and source.may_begin_at_end:
            raise IllegalOption(
                f"exactly_once: positions are committed under {', '.join(sorted(groups))}, and kafka.group.id of the "
                f"source is {source.group}. Without a checkpoint the source would not find them, begin at the latest "
                "records and skip rows. Give the source the group of the last exactly_once; or set "
                "startingOffsets=earliest. A checkpoint that there is stays valid, and nothing is written twice"
            )


def _options_of(writer: Any) -> dict[str, str]:
    """The options of a write, by their names in lower case."""
    return {name.lower(): value for name, value in pairs_of(field_of(writer._jwrite, "extraOptions"))}  # noqa: SLF001

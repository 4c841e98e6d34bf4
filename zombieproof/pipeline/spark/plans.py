"""Which plans a sink writes exactly once: a plan is checked when the query starts, before anything is read.

A sink that recognises rows by where they were read (`exactlyOnceBy` *source*) commits one position per partition of
the source. That is exact only if every row is written in the micro-batch that read it, and if no two reads of one
partition share a position. Other plans are refused with the option to use.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from zombieproof.model.spark_sink.vocabulary import Trait
from zombieproof.pipeline.spark.options import By, Mode, SinkOptions, SourceOptions
from zombieproof.statemachines.delivery.steps import is_exact_for

NARROW: Final = frozenset(
    {
        *("Project", "Filter", "Generate", "Expand", "SubqueryAlias", "View", "EventTimeWatermark", "CollectMetrics"),
        *("MapInArrow", "MapInPandas", "PythonMapInArrow", "ArrowEvalPython", "BatchEvalPython"),
        *("MapElements", "MapPartitions", "TypedFilter", "DeserializeToObject", "SerializeFromObject"),
        *("ResolvedHint", "UnresolvedHint", "Sample", "Coalesce", "SortWithinPartitions", "CTERelationDef"),
    }
)
"""Operators that hand on each row in the task that read it."""
MOVING: Final = frozenset({"Repartition", "RepartitionByExpression", "RebalancePartitions", "Sort"})
"""Operators that move rows between tasks, within their micro-batch."""

BY_BATCH: Final = "use .option('exactlyOnceBy', 'batch'), which takes any plan as long as the checkpoint is kept"


class UnsuitablePlan(ValueError):
    """A plan of which a sink with these options would lose or duplicate rows."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator of a logical plan.

    Attributes:
        kind: the name of Spark's class.
        load: names the `load()` that a leaf reads, equal for two branches of one `load()`; "" for every other node and
            for static tables.
        topics: that a leaf reads; None: unknown.
        source: options of a leaf that this project's source reads; None for every other node.
        without_offsets: the name of a stream that numbers no rows in their order, such as files; "" for others.
    """

    kind: str
    children: "tuple[Node, ...]" = ()
    load: str = ""
    topics: frozenset[str] | None = None
    source: SourceOptions | None = None
    without_offsets: str = ""

    def leaves(self) -> "Iterator[Node]":
        """The reads below this node, one per branch."""
        if self.load:
            yield self
        for child in self.children:
            yield from child.leaves()

    def flowing(self) -> "Iterator[Node]":
        """This node and those below it through which rows of a read flow, without the reads."""
        if any(self.leaves()) and not self.load:
            yield self
            for child in self.children:
                yield from child.flowing()


def refuse_plan(root: Node, options: SinkOptions) -> None:
    """Check that a sink with these options writes each row of the plan once.

    Raises:
        UnsuitablePlan: it would not; the message names the operator and the option to use.
    """
    by_batch, by_task = options.by == By.BATCH, options.mode == Mode.PARTITION
    unsuited = {trait for trait in Trait if not is_exact_for(trait, by_batch, by_task)}
    for node in root.flowing():
        _refuse_operator(node, unsuited)
    reads: dict[str, Node] = {}
    for leaf in root.leaves():
        if leaf.without_offsets and not by_batch:
            raise UnsuitablePlan(
                f"sink: the plan reads {leaf.without_offsets}, whose rows have no offsets that grow from batch to "
                f"batch, so that column source does not tell whether they were written; {BY_BATCH}"
            )
        if leaf.source is not None and leaf.source.may_split and Trait.CUT in unsuited:
            raise UnsuitablePlan(
                "sink: mode is partition, in which one task commits what was read of a partition, and the source has "
                "minPartitions or maxRecordsPerPartition, by which several tasks read it. Leave them out, or use mode "
                "batch"
            )
        if leaf.load in reads and Trait.BRANCHES in unsuited:
            raise UnsuitablePlan(
                "sink: mode is partition, and two branches of the plan read the same load(); each branch would take "
                "the rows of the other for its own. Use mode batch, which commits all branches in one transaction"
            )
        reads[leaf.load] = leaf
    if Trait.LOADS in unsuited:
        _refuse_reads(list(reads.values()))


def _refuse_operator(node: Node, unsuited: Collection[Trait]) -> None:
    inputs = sum(any(child.leaves()) for child in node.children)
    if node.kind in NARROW or node.kind == "Union" or (node.kind == "Join" and inputs == 1):
        return
    if node.kind in MOVING and Trait.MOVING in unsuited:
        raise UnsuitablePlan(
            f"sink: mode is partition, in which each task commits the rows that it read, and the plan has {node.kind}, "
            f"which moves rows to other tasks. Use mode batch"
        )
    if node.kind not in MOVING and Trait.STATEFUL in unsuited:
        raise UnsuitablePlan(
            f"sink: the plan has {node.kind}, whose rows may come from several input rows or from an earlier "
            f"micro-batch, so that column source does not tell whether they were written; {BY_BATCH}"
        )


def _refuse_reads(reads: list[Node]) -> None:
    for number, one in enumerate(reads):
        for other in reads[:number]:
            shared = None if one.topics is None or other.topics is None else one.topics & other.topics
            if shared is None or shared:
                about = f"topic {', '.join(sorted(shared))}" if shared else "topics that overlap, as far as is known"
                raise UnsuitablePlan(
                    f"sink: two load()s of the plan read {about}, each at its own speed, and would share one position "
                    f"per partition. Read it by one load() and branch after it; or {BY_BATCH}"
                )


def topics_of(options: Mapping[str, str]) -> frozenset[str] | None:
    """The topics that options of a Kafka source name; None: unknown."""
    given = {name.lower(): value for name, value in options.items()}
    if given.get("assign", "").strip():
        return frozenset(json.loads(given["assign"]))
    if not given.get("subscribe", "").strip():
        return None
    return frozenset(each.strip() for each in given["subscribe"].split(",") if each.strip())

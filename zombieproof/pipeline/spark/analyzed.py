"""What an analyzed plan of Spark says: its operators, its name, and where a column comes from.

Names of Spark's classes and fields are not public and might change: only this module and `starting` have them.
Source: Spark's ``catalyst.plans.logical``.
"""

import hashlib
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from zombieproof.pipeline.kafka import LOGGER
from zombieproof.pipeline.spark.functions import digest_of
from zombieproof.pipeline.spark.options import NO_TOPIC, source_options
from zombieproof.pipeline.spark.plans import Node, UnsuitablePlan, topics_of

FORMAT: Final = "zombieproof"
KAFKA: Final = "kafka"
"""Spark's name of its own source of Kafka."""
STREAM: Final = "StreamingRelationV2"
"""Spark's class of a leaf that is read in micro-batches. Leaves that are read once do not look at a group."""
_CHANGING: Final = (
    (r"(StreamingRelationV2|DataSourceV2Relation) .*", r"\1"),  # its options may change
    (r"(EventTimeWatermark) [0-9a-f-]{36}", r"\1"),
    (r"(CollectMetrics .*), \d+$", r"\1"),
    (r"(lambda \w+?)_\d+#", r"\1#"),
)
"""What is another text each time that the same plan is made, and what is left of it."""
LIMITS: Final = ("spark.sql.debug.maxToStringFields", "spark.sql.maxPlanStringLength")
"""Of the text of a plan: Spark leaves out what is beyond."""


def name_of(frame: Any, topic: str) -> str:
    """The default name of a sink: output, plan without numbers of columns and objects, and the code of functions."""
    analyzed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    conf, before = frame.sparkSession.conf, {name: frame.sparkSession.conf.get(name) for name in LIMITS}
    for name in LIMITS:
        conf.set(name, str((1 << 31) - 16))  # the largest length of a text in Spark
    try:
        plan = str(analyzed.toString())
    finally:
        for name, limit in before.items():
            conf.set(name, limit)
    numbers: dict[str, str] = {}
    for numbered in (r"#\d+L?", r"CTERelation(?:Def|Ref) \d+"):
        plan = re.sub(numbered, lambda found: _numbered(found[0], numbers), plan)
    for changing, rest in _CHANGING:
        plan = re.sub(changing, rest, plan, flags=re.MULTILINE)
    plan = "\n".join([plan, *_functions(analyzed)])
    return f"{topic or NO_TOPIC}/{hashlib.sha256(plan.encode()).hexdigest()[:12]}"


def _numbered(name: str, numbers: dict[str, str]) -> str:
    """The name of a column or of a common table expression, with the number in which it comes in its plan."""
    number = re.search(r"\d+", name)
    assert number is not None
    kind = name[: number.start()].removesuffix("Def ").removesuffix("Ref ")
    return f"{name[: number.start()]}{numbers.setdefault(f'{kind} {number[0]}', str(len(numbers)))}"


def _functions(node: Any, *, is_plan: bool = True) -> Iterator[str]:
    """The digests of the Python functions of a plan or an expression, in the order of the plan."""
    for child in each_of(node.children()):
        yield from _functions(child, is_plan=is_plan)
    if is_plan:
        for expression in each_of(node.expressions()):
            yield from _functions(expression, is_plan=False)
    elif "Python" in node.getClass().getSimpleName():
        yield _digest_of(node)


def _digest_of(node: Any) -> str:
    """The digest of a function that Spark has pickled for its workers; the one that this program gave to Spark."""
    try:
        pickled = pickle.loads(bytes(node.func().command().unsafeArray()))  # noqa: S301  # made by this process
        return digest_of(pickled[0] if isinstance(pickled, tuple) else pickled)  # a table function is a class
    except Exception as unknown:  # noqa: BLE001  # unpickling runs code of the user
        LOGGER.warning(
            "sink: the default name does not cover the body of Python function %s (%s); set option name if another "
            "query with the same group has a function of the same name",
            node.toString(),
            unknown,
        )
        return ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a plan is read.

    Attributes:
        before: the plan before the rows of a micro-batch, by the number of their RDD.
        is_streaming: whether the plan is; then leaves that are not are static.
        shared: common table expressions by their ids.
    """

    before: Mapping[int, Node]
    is_streaming: bool
    shared: dict[int, Node] = field(default_factory=dict)


def plan_of(frame: Any, batches: Mapping[int, Node] = MappingProxyType({})) -> Node:
    """The analyzed plan of a DataFrame; `batches` has the plan before the rows of a micro-batch, by their RDD."""
    analyzed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    return _node(analyzed, _Reading(batches, analyzed.isStreaming()))


def _node(plan: Any, reading: _Reading) -> Node:
    kind = str(plan.getClass().getSimpleName())
    if kind == "WithCTE":
        for each in each_of(plan.cteDefs()):
            reading.shared[each.id()] = _node(each, reading)
        return _node(plan.plan(), reading)
    if kind == "CTERelationRef":
        return reading.shared[plan.cteId()]
    if (kind == "Repartition" and not plan.shuffle()) or (kind == "Sort" and not getattr(plan, "global")()):
        kind = {"Repartition": "Coalesce", "Sort": "SortWithinPartitions"}[kind]
    children = [_node(each, reading) for each in each_of(plan.children())]
    inside = [_node(each, reading) for each in each_of(plan.subqueries())]
    children += [Node("a subquery", (each,)) for each in inside if any(each.leaves())]
    if children:
        return Node(kind, tuple(children))
    return _leaf(plan, kind, reading)


def _leaf(plan: Any, kind: str, reading: _Reading) -> Node:
    if kind in (STREAM, "DataSourceV2Relation"):
        options = plan.extraOptions() if kind == STREAM else plan.options()
        told = {str(each.getKey()): str(each.getValue()) for each in options.entrySet().toArray()}
        if reading.is_streaming and not plan.isStreaming():
            return Node(kind)  # a static side
        if plan.table().name().lower() == FORMAT:
            source = source_options(told, streaming=plan.isStreaming())
            return Node(kind, load=f"{plan.table()}", topics=topics_of(told), source=source)
        if not plan.isStreaming():
            return Node(kind)
        of = str(plan.sourceName())
        return Node(kind, (), f"{plan.table()}", topics_of(told), without_offsets="" if of == KAFKA else of)
    if kind == "LogicalRDD" and reading.before and plan.rdd().id() in reading.before:
        return reading.before[plan.rdd().id()]
    return Node(kind, load=f"{kind} {plan.hashCode()}", without_offsets=kind) if plan.isStreaming() else Node(kind)


def each_of(found: Any) -> Iterator[Any]:
    """The elements of a collection of Scala's."""
    elements = found.iterator()
    while elements.hasNext():
        yield elements.next()


def pairs_of(found: Any) -> Iterator[tuple[str, str]]:
    """The entries of a map of Scala's."""
    return ((str(each._1()), str(each._2())) for each in each_of(found))  # noqa: SLF001  # Scala's name


def field_of(of: Any, name: str) -> Any:
    """A private field of a JVM object.

    Raises:
        AttributeError: it has none of that name: this release of Spark is another.
    """
    kind = of.getClass()
    while kind is not None:
        for each in kind.getDeclaredFields():
            if each.getName() == name:
                each.setAccessible(True)
                return each.get(of)
        kind = kind.getSuperclass()
    raise AttributeError(f"{of.getClass().getName()} has no field {name}: this version of Spark is not supported")


STATIC: Final = "a column of a static table"
CONSTANT: Final = "a constant"
CONSTANT_OFFSET: Final = f"field offset is {CONSTANT}"
"""Wrong for any source: rows of one partition have different offsets."""


def refuse_made_up(frame: Any, batches: Mapping[int, Any] = MappingProxyType({}), *, is_of_ours: bool) -> None:
    """Check that column `source` says where a row was read, as far as the plan shows.

    Args:
        frame: the rows.
        batches: the analyzed plan before the rows of a micro-batch, by their RDD.
        is_of_ours: whether all streams are sources of this project, whose columns are known.

    Raises:
        UnsuitablePlan: it is made of other columns or of constants.
    """
    analyzed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    number = next(each.exprId().id() for each in each_of(analyzed.output()) if each.name().lower() == "source")
    origin = _origin_of_column(analyzed, number, batches)
    is_never_right = origin in (STATIC, CONSTANT) or origin.endswith(CONSTANT_OFFSET)
    if origin not in ("", "source") and (is_of_ours or is_never_right):
        raise UnsuitablePlan(
            f"sink: column source does not say where a row was read: it is {origin}. Rows would be taken for others, "
            "and lost. Use that of option includeSource, or make it from the columns topic, partition and offset "
            "before they change"
        )


def _origin_of_column(node: Any, number: int, batches: Mapping[int, Any]) -> str:
    """Which column of the source a column of a plan is; "" if an operator hides that."""
    kind, below = node.getClass().getSimpleName(), list(each_of(node.children()))
    names = [(int(each.exprId().id()), str(each.name())) for each in each_of(node.output())]
    if kind == "LogicalRDD" and node.rdd().id() in batches:
        before = batches[node.rdd().id()]
        index = [each for each, _ in names].index(number)
        return _origin_of_column(before, int(list(each_of(before.output()))[index].exprId().id()), {})
    if not below:
        return dict(names).get(number, "") if node.isStreaming() else STATIC
    if kind == "Project":
        for each in each_of(node.projectList()):
            if each.exprId().id() == number and each.getClass().getSimpleName() == "Alias":
                return _origin(each.child(), below[0], batches)
    if kind == "Union":
        index = [each for each, _ in names].index(number)
        outputs = [list(each_of(child.output()))[index].exprId().id() for child in below]
        found = {_origin_of_column(*each, batches) for each in zip(below, outputs, strict=True)}
        return found.pop() if len(found) == 1 else next((each for each in found if each not in ("", "source")), "")
    for child in below:
        if any(each.exprId().id() == number for each in each_of(child.output())):
            return _origin_of_column(child, number, batches)
    return ""


def _origin(expression: Any, below: Any, batches: Mapping[int, Any]) -> str:
    """Which column of the source an expression is made of, "source" if it is a struct of the right ones.

    "" if that is hidden, or if it is made of several.
    """
    kind = expression.getClass().getSimpleName()
    if kind == "AttributeReference":
        return _origin_of_column(below, int(expression.exprId().id()), batches)
    if kind == "Literal":
        return CONSTANT
    if kind != "CreateNamedStruct":
        made_of = [int(each.exprId().id()) for each in each_of(expression.references())]
        found = {_origin_of_column(below, each, batches) for each in made_of} or {CONSTANT}
        return found.pop() if len(found) == 1 else ""
    parts = list(each_of(expression.children()))
    fields = dict(zip(map(str, parts[::2]), parts[1::2], strict=True))
    for name, part in sorted(fields.items(), key=lambda each: each[0]):
        origin = _origin(part, below, batches)
        is_right = origin in ("", "source", name) or (name == "topic" and origin == CONSTANT)
        if name in ("topic", "partition", "offset") and not is_right:
            return f"a struct whose field {name} is {origin if origin.startswith('a ') else f'column {origin}'}"
    return "source"

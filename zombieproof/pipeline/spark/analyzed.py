"""What an analyzed plan of Spark says: its operators, its name, and where a column comes from.

Names of Spark's classes and fields are not public and might change: only this module and `starting` have them.
Source: Spark's ``catalyst.plans.logical``.
"""

import hashlib
import io
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from py4j.java_gateway import is_instance_of

from zombieproof.pipeline.spark.active import LONGEST, without_limits
from zombieproof.pipeline.spark.functions import digest_of
from zombieproof.pipeline.spark.options import NO_TOPIC, source_options
from zombieproof.pipeline.spark.plans import Node, UnsuitablePlan, topics_of

FORMAT: Final = "zombieproof"
KAFKA: Final = "kafka"
"""Spark's name of its own source of Kafka."""
STREAM: Final = "StreamingRelationV2"
"""Spark's class of a leaf that is read in micro-batches. Leaves that are read once do not look at a group."""
_LINE: Final = r"^[ :+~!'-]*"
"""What comes before an operator in the text of a plan."""
_CHANGING: Final = (
    (rf"({_LINE}StreamingRelationV2) .*", r"\1"),  # its options may change
    (rf"({_LINE}EventTimeWatermark) [0-9a-f-]{{36}}", r"\1"),
    (rf"({_LINE}CollectMetrics .*), \d+$", r"\1"),
    (r"(lambda \w+?)_\d+#", r"\1#"),
)
"""What is another text each time that the same plan is made, and what is left of it."""
_NUMBERED: Final = (STREAM, "EventTimeWatermark", "CollectMetrics", "CTERelationDef", "CTERelationRef")
"""Operators whose text changes."""
_TOLD: Final = re.compile(
    r"""'(?:(?!(?:true|false|null|nan|infinity)')(?:[^\W\d]|[%\\^])[\w%.:/@\\+*?^$=&~!<>|;-]*  # a word
    | [ ,;:|/_=.&!?*+~^@<>\n\t-])'  # a separator
    | -?\d+ | -?\d+\.\d+(?:E-?\d+)?D | true | false | NULL\ VOID | X'[0-9A-F]*'  # a number, a truth, none, bytes
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Literals in SQL that the text of a plan tells from any others: it shows neither their types nor where they end."""
_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_FUNCTION: Final = f"{_EXPRESSIONS}.PythonFuncExpression"
_ZONED: Final = f"{_EXPRESSIONS}.TimeZoneAwareExpression"
_NAMED: Final = f"{_EXPRESSIONS}.NamedExpression"
_SUBQUERY: Final = f"{_EXPRESSIONS}.SubqueryExpression"


def name_of(frame: Any, topic: str) -> str:
    """The default name of a sink: output, plan without numbers of columns and objects, and the code of functions.

    It is the same each time that a program starts, in any session and thread.

    Raises:
        UnsuitablePlan: another plan might have the same name.
    """
    analyzed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    session = frame.sparkSession
    with without_limits(session):
        text = str(analyzed.toString())
        told = _Told(session.sparkContext._gateway)  # noqa: SLF001
        told.plan(analyzed)
    plan = "\n".join([_without_numbers(text, told), *told.functions, *told.unclear])
    return f"{topic or NO_TOPIC}/{hashlib.sha256(plan.encode()).hexdigest()[:12]}"


def _without_numbers(text: str, told: "_Told") -> str:
    """The text of a plan, with columns and common table expressions numbered as they come, and without objects."""
    numbers: dict[str, str] = {}

    def column(found: re.Match[str]) -> str:
        if not any(found.string.endswith(name, 0, found.start()) for name in told.columns.get(int(found[1]), ())):
            return found[0]  # it is in a literal, a name or an option
        return f"#{numbers.setdefault(f'# {found[1]}', str(len(numbers)))}"

    def shared(found: re.Match[str]) -> str:
        return f"{found[1]} {numbers.setdefault(f'CTERelation {found[2]}', str(len(numbers)))}"

    operators = re.findall(rf"{_LINE}(?:{'|'.join(_NUMBERED)}) ", text, flags=re.MULTILINE)
    if len(operators) > told.numbered:
        raise UnsuitablePlan(
            f"sink: a text in the plan looks like an operator of Spark ({', '.join(_NUMBERED)}), so a default name "
            f"might be that of another plan; {_SET_NAME}"
        )
    text = re.sub(r"#(\d+)L?", column, text)
    relations = [re.sub(r"#(\d+)L?", column, each) for each in told.relations]
    text = re.sub(rf"({_LINE}CTERelation(?:Def|Ref)) (\d+)", shared, text, flags=re.MULTILINE)
    for relation in relations:  # options may have several lines, such as certificates
        text = text.replace(relation, STREAM)
    for changing, rest in _CHANGING:
        text = re.sub(changing, rest, text, flags=re.MULTILINE)
    return text


class _Told:
    """What a walk over a plan says beside its text.

    Attributes:
        functions: the digests of Python functions, in the order of the plan.
        unclear: literals that look like others in the text, and time zones that are not there.
        columns: what may come before the number of a column in the text, by numbers.
        relations: the texts of those that are read in micro-batches.
        numbered: how many operators have a text that changes.
    """

    def __init__(self, gateway: Any) -> None:
        self.functions: list[str] = []
        self.unclear: list[str] = []
        self.columns: dict[int, set[str]] = {}
        self.relations: list[str] = []
        self.numbered = 0
        self._gateway = gateway
        self._count = 0

    def plan(self, node: Any) -> None:
        """Walk over an operator and those below it, then over its expressions and subqueries."""
        for child in each_of(node.children()):
            self.plan(child)
        kind = str(node.getClass().getSimpleName())
        self.numbered += kind in _NUMBERED
        if kind == STREAM:
            self.relations.append(str(node.verboseString(int(LONGEST))))
        for column in str(node.output().mkString("\0")).split("\0"):
            self._column(column)
        for expression in each_of(node.expressions()):
            self._expression(expression)
        for inside in each_of(node.innerChildren()):
            self.plan(inside)

    def _column(self, text: str) -> None:
        name, _, number = text.rpartition("#")
        if number.removesuffix("L").isdecimal():
            self.columns.setdefault(int(number.removesuffix("L")), set()).add(name)

    def _expression(self, node: Any) -> None:
        kind = node.getClass()
        name, simple = str(kind.getName()), str(kind.getSimpleName())
        if simple == "AttributeReference":
            self._column(str(node.toString()))
            return
        self._count += 1
        if simple == "Literal":
            literal = str(node.sql())
            if literal == "NULL":
                literal += f" {node.dataType().sql()}"
            elif literal.startswith("TIMESTAMP "):  # in the time zone of the session
                literal += f" {node.value()}"
            if not _TOLD.fullmatch(literal):
                self.unclear.append(repr((self._count, literal)))
            return
        for child in each_of(node.children()):
            self._expression(child)
        if self._is(node, name, _NAMED):
            self._column(f"{node.name()}#{node.exprId().id()}")
        elif self._is(node, name, _SUBQUERY):
            self._column(f"#{node.exprId().id()}")
        elif self._is(node, name, _FUNCTION):
            self._column(f")#{node.resultId().id()}")
        if simple == "GetStructField" and "." in (field := str(node.childSchema().apply(node.ordinal()).name())):
            self.unclear.append(repr((self._count, field)))
        if "Python" in simple:
            self.functions.append(_digest_of(node))
        if self._is(node, name, _ZONED) and (simple != "Cast" or node.needsTimeZone()):
            zone = str(node.timeZoneId().toString())
            if not re.search(rf"{re.escape(zone)}(?:, (?:true|false))*\)\Z", str(node.toString())):
                self.unclear.append(repr((self._count, zone)))

    def _is(self, node: Any, name: str, kind: str) -> bool:
        """Whether an expression of the class of that name is of a kind."""
        if (name, kind) not in _kinds:
            _kinds[name, kind] = is_instance_of(self._gateway, node, kind)
        return _kinds[name, kind]


_kinds: dict[tuple[str, str], bool] = {}
"""Whether Spark's class of that name is of that kind."""
_SET_NAME: Final = "set option name, to a text that no other write of the group has and that stays the same"


def _digest_of(node: Any) -> str:
    """The digest of a function that Spark has pickled for its workers, with the type of what it returns.

    Raises:
        UnsuitablePlan: it might be that of another function.
    """
    try:
        kind, returned = int(node.evalType()), str(node.dataType().json())
        found = _Unpickler(node, bytes(node.func().command().unsafeArray())).load()
        if isinstance(found, bytes):  # a large function is a broadcast itself
            found = _Unpickler(node, found).load()
        digest = digest_of(found[0] if isinstance(found, tuple) else found)  # a table function is a class
    except Exception as unknown:  # unpickling runs code of the user
        reason = " ".join(str(unknown).split()) or type(unknown).__name__
        raise UnsuitablePlan(
            f"sink: Python function {node.name()} cannot be told from another one ({reason}), so a default name might "
            f"be that of another write; {_SET_NAME}"
        ) from unknown
    return digest if (kind, returned) == _USUAL else f"{digest} {kind} {returned}"


_USUAL: Final = (101, '"string"')
"""`SQL_ARROW_BATCHED_UDF`, and the type that it returns if the user names none."""


class _Unpickler(pickle.Unpickler):
    """Reads a function with the values of its broadcasts, which the driver has in files."""

    def __init__(self, node: Any, pickled: bytes) -> None:
        super().__init__(io.BytesIO(pickled))
        self._node = node

    def find_class(self, module: str, name: str) -> Any:
        """Find a class or a function, as `pickle` does."""
        if (module, name) == ("pyspark.core.broadcast", "_from_id"):
            return self._broadcast
        return super().find_class(module, name)

    def _broadcast(self, number: int) -> Any:
        file = next(each.value().path() for each in self._node.func().broadcastVars() if each.id() == number)
        return pickle.loads(Path(str(file)).read_bytes())  # noqa: S301  # made by this process


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

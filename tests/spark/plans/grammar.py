"""Random cases: a plan of Spark, what it writes for an input, a way to write it, and a fault.

A case follows from its seed alone. `Structure.frame` builds a plan for Spark, and `Structure.rows` computes the same on
lists, without Spark, so that a judge compares two independent answers.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pair = tuple[str, str]
"""Key and value of a row."""
Inputs = Mapping[str, Sequence[Pair]]
"""The rows of each topic."""
Load = Callable[..., "DataFrame"]
"""Begins a `load()` of a topic with columns `k`, `v`, and `source` if the sink needs it; `most` changes its limit."""

A, B = "a", "b"
STATIC: Final = (("k0", "x"), ("k0", "y"), ("k2", "z"), ("-", "n"))


# ---------------------------------------------------------------- steps: each row is handed on by the task that read it


def _upper(batches: Any) -> Any:
    """Change values to upper case, in a Python worker."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    for batch in batches:
        at = batch.schema.get_field_index("v")
        columns = [pc.utf8_upper(each) if n == at else each for n, each in enumerate(batch.columns)]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _exploded(frame: "DataFrame") -> "DataFrame":
    return frame.selectExpr("*", "explode(array('x', 'y')) as e").selectExpr("*", "concat(e, v) as w").drop("v", "e")


STEPS: Final[dict[str, tuple[Callable[["DataFrame"], "DataFrame"], Callable[[Sequence[Pair]], list[Pair]]]]] = {
    "filter": (lambda frame: frame.filter("length(v) % 3 != 0"), lambda rows: [row for row in rows if len(row[1]) % 3]),
    "select": (
        lambda frame: frame.selectExpr("*", "concat(v, '.') as w").drop("v").withColumnRenamed("w", "v"),
        lambda rows: [(k, f"{v}.") for k, v in rows],
    ),
    "explode": (
        lambda frame: _exploded(frame).withColumnRenamed("w", "v"),
        lambda rows: [(k, e + v) for k, v in rows for e in "xy"],
    ),
    "mapInArrow": (
        lambda frame: frame.mapInArrow(_upper, frame.schema),
        lambda rows: [(k, v.upper()) for k, v in rows],
    ),
}


# ---------------------------------------------------------------- structures: how loads come together


@dataclass(frozen=True)
class Structure:
    """What a plan does besides its steps.

    Attributes:
        frame: the plan.
        rows: the rows that it writes, whatever the micro-batches are; None: they depend on the micro-batches.
        topics: that it reads.
        output_mode: of the query.
    """

    frame: Callable[["SparkSession", Load], "DataFrame"]
    rows: Callable[[Inputs], list[Pair]] | None
    topics: tuple[str, ...] = (A,)
    output_mode: str = "append"


def _prefixed(frame: "DataFrame", prefix: str) -> "DataFrame":
    columns = [each for each in frame.columns if each != "v"]
    return frame.selectExpr(*columns, f"concat('{prefix}', v) as v")


def _branches(_: "SparkSession", load: Load) -> "DataFrame":
    one = load(A)
    return _prefixed(one, "A").union(_prefixed(one.filter("k != 'k1'"), "B"))


def _two_loads(_: "SparkSession", load: Load) -> "DataFrame":
    return _prefixed(load(A), "A").union(_prefixed(load(A, most=7), "B"))


def _static(spark: "SparkSession", load: Load) -> "DataFrame":
    table = ", ".join(str(row) for row in STATIC)
    return load(A).join(spark.sql(f"select * from values {table} as t(k, label)"), "k").selectExpr(
        "*", "concat(v, label) as w"
    ).drop("v", "label").withColumnRenamed("w", "v")  # fmt: skip


def _stream_join(_: "SparkSession", load: Load) -> "DataFrame":
    other = load(B).selectExpr("k as other", "v as joined")
    return (
        load(A).join(other, _expression("k = other")).selectExpr("*", "concat(v, '+', joined) as w")
        .drop("v", "other", "joined").withColumnRenamed("w", "v")
    )  # fmt: skip


def _expression(text: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  # as all programs of Spark call it; an extra

    return F.expr(text)


def _counted(_: "SparkSession", load: Load) -> "DataFrame":
    rows = load(A)
    source = [_expression("max(source) as source")] if "source" in rows.columns else []
    counted = rows.groupBy("k").agg(_expression("count(*) as n"), *source)
    return counted.selectExpr("k", "concat(k, ':', n) as v", *(["source"] if source else []))


def _deduplicated(_: "SparkSession", load: Load) -> "DataFrame":
    rows = load(A).dropDuplicates(["k"])
    return rows.drop("v").selectExpr("*", "k as v")


def _plain(inputs: Inputs) -> list[Pair]:
    return list(inputs[A])


STRUCTURES: Final[dict[str, Structure]] = {
    "one load": Structure(lambda _, load: load(A), _plain),
    "branches of one load": Structure(
        _branches,
        lambda inputs: [(k, f"A{v}") for k, v in inputs[A]] + [(k, f"B{v}") for k, v in inputs[A] if k != "k1"],
    ),
    "loads of two topics": Structure(
        lambda _, load: load(A).union(load(B)), lambda inputs: [*inputs[A], *inputs[B]], (A, B)
    ),
    "two loads of one topic": Structure(
        _two_loads, lambda inputs: [(k, prefix + v) for k, v in inputs[A] for prefix in "AB"]
    ),
    "join with a static table": Structure(
        _static, lambda inputs: [(k, v + label) for k, v in inputs[A] for key, label in STATIC if k == key]
    ),
    "join of two streams": Structure(
        _stream_join,
        lambda inputs: [(k, f"{v}+{other}") for k, v in inputs[A] for key, other in inputs[B] if k == key],
        (A, B),
    ),
    "aggregation": Structure(_counted, None, output_mode="update"),
    "dropDuplicates": Structure(_deduplicated, lambda inputs: [(k, k) for k in dict(inputs[A])]),
    "repartition": Structure(lambda _, load: load(A).repartition(3), _plain),
    "repartition by key": Structure(lambda _, load: load(A).repartition(3, "k"), _plain),
    "coalesce": Structure(lambda _, load: load(A).coalesce(1), _plain),
}

OUTPUTS: Final = (
    "one query",
    "two queries",
    "two queries, one group",
    "foreachBatch",
    "foreachBatch, two writes",
    "foreachBatch, two writes, one group",
)
FOREACH: Final = "foreachBatch"
POINTS: Final = ("task begins", "task has written", "before commit", "in the transaction", "after commit")
FAULTS: Final = (
    "none",
    "driver dies",
    "driver dies, other trigger sizes",
    "checkpoint lost",
    "driver dies, checkpoint lost",
    "older checkpoint",
    "driver dies, older checkpoint",
    "broker restarted",
    "two drivers at once",
    "one driver stands still while another finishes",
    "mode changed",
    "partitions added",
    "two modes at once",
    "positions expired",
)
WRITES: Final = (("batch", "source"), ("partition", "source"), ("batch", "batch"))
"""Mode and exactlyOnceBy; partition with batch is refused by its options alone (tests/pipeline/test_options.py)."""
CUTS: Final[tuple[dict[str, str], ...]] = ({}, {}, {}, {"minPartitions": "5"}, {"maxRecordsPerPartition": "3"})
LIMITS: Final = (12, 15, 40, 0)
"""Of `maxOffsetsPerTrigger`; 0: none."""


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        steps: names in `STEPS`, before and after the structure.
        limits: of a micro-batch before and after the fault.
        cut: options of the source by which several tasks read one partition.
        point: where a driver dies or stands still.
        batch: the first micro-batch in which it may.
        keeps: whether the checkpoint of the first driver is that of the last run, where there are two.
    """

    seed: int
    structure: str
    steps: tuple[tuple[str, ...], tuple[str, ...]]
    outputs: str
    mode: str
    by: str
    limits: tuple[int, int]
    cut: Mapping[str, str]
    fault: str
    point: str
    batch: int
    keeps: bool

    @property
    def writes(self) -> str:
        """Mode and exactlyOnceBy, as the page has them."""
        return f"{self.mode}, by {self.by}"

    @property
    def count(self) -> int:
        """Of outputs."""
        return 2 if "two" in self.outputs else 1

    @property
    def is_foreach(self) -> bool:
        return self.outputs.startswith(FOREACH)

    def group(self, output: int) -> str:
        """The group of an output."""
        return f"g{self.seed}-{0 if 'one group' in self.outputs else output}"

    def frame(self, spark: "SparkSession", load: Load) -> "DataFrame":
        """The plan, up to its outputs."""
        first, last = self.steps
        frame = STRUCTURES[self.structure].frame(spark, lambda topic, **changed: stepped(load(topic, **changed), first))
        return stepped(frame, last)

    def rows(self, inputs: Inputs) -> list[Pair] | None:
        """What it writes; None if that depends on the micro-batches."""
        first, last = self.steps
        rows = STRUCTURES[self.structure].rows
        return (
            None if rows is None else listed(rows({topic: listed(each, first) for topic, each in inputs.items()}), last)
        )


def stepped(frame: "DataFrame", steps: Sequence[str]) -> "DataFrame":
    """A frame after some steps."""
    for each in steps:
        frame = STEPS[each][0](frame)
    return frame


def listed(rows: Sequence[Pair], steps: Sequence[str]) -> list[Pair]:
    """Rows after the same steps."""
    for each in steps:
        rows = STEPS[each][1](rows)
    return list(rows)


def variant(frame: "DataFrame", output: int) -> "DataFrame":
    """What the second output of a plan takes: some of the rows, as another value."""
    return _prefixed(frame.filter("length(k) > 1"), "2") if output else frame


def variant_rows(rows: Sequence[Pair], output: int) -> list[Pair]:
    """The same, without Spark."""
    return [(k, f"2{v}") for k, v in rows if len(k) > 1] if output else list(rows)


def one_case(seed: int, **changes: Any) -> Case:
    """A small case with these attributes: one load, one query, no fault."""
    plain = Case(
        seed,
        "one load",
        ((), ()),
        OUTPUTS[0],
        "batch",
        "source",
        (12, 12),
        {},
        "none",
        "in the transaction",
        0,
        keeps=True,
    )
    return replace(plain, **changes)


def case_of(seed: int) -> Case:
    """The case of a seed; each pair of a structure and a fault comes up: their counts have no common divisor."""
    drawn = random.Random(seed)
    fault = FAULTS[seed % len(FAULTS)]
    mode, by = drawn.choice(WRITES[:2] if "mode" in fault else WRITES)
    before, after = (tuple(drawn.sample(sorted(STEPS), drawn.choice((0, 0, 1, 2)))) for _ in range(2))
    structure = list(STRUCTURES)[seed % len(STRUCTURES)]
    return Case(
        seed,
        structure,
        (before, () if structure == "aggregation" else after),
        drawn.choice((OUTPUTS[0], *OUTPUTS) if structure != "aggregation" else OUTPUTS[3:]),  # others need mode append
        mode,
        by,
        (drawn.choice(LIMITS[:2]), drawn.choice(LIMITS)),
        drawn.choice(CUTS if mode == "batch" else (*CUTS, {}, {}, {})),
        fault,
        drawn.choice(POINTS),
        drawn.randrange(2),
        drawn.random() < 0.5,
    )

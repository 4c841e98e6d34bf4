"""Which plans a sink refuses, by operators and by what they read. What Spark calls them is tested in tests/spark."""

import pytest

from zombieproof.pipeline.spark.options import SinkOptions, sink_options, source_options
from zombieproof.pipeline.spark.plans import Node, UnsuitablePlan, refuse_plan, topics_of

BROKERS = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.group.id": "g"}
LOAD = Node("StreamingRelationV2", load="load 1", topics=frozenset({"a"}))
AGAIN = Node("StreamingRelationV2", load="load 2", topics=frozenset({"a", "b"}))
OTHER = Node("StreamingRelationV2", load="load 3", topics=frozenset({"c"}))
CUT = Node(
    "StreamingRelationV2",
    load="load 5",
    topics=frozenset({"a"}),
    source=source_options({**BROKERS, "subscribe": "a", "minPartitions": "4"}, streaming=True),
)
UNKNOWN = Node("StreamingRelationV2", load="load 4")
STATIC = Node("Project", (Node("Range"),))


def options(**changed: str) -> SinkOptions:
    told = {"kafka.bootstrap.servers": "b:1", "kafka.group.id": "g", "topic": "out", **changed}
    return sink_options(told, streaming=True)


def over(kind: str, *below: Node) -> Node:
    """An operator amid others that hand rows on."""
    return Node("Project", (Node(kind, below),))


UNION = over("Union", LOAD, over("Filter", LOAD))

EXACT = {
    "select, filter, explode": ("partition", over("Filter", Node("Generate", (LOAD,)))),
    "coalesce": ("partition", over("Coalesce", LOAD)),
    "a static side": ("partition", over("Join", LOAD, STATIC)),
    "two loads of other topics, by partition": ("partition", over("Union", LOAD, OTHER)),
    "two loads of other topics": ("batch", over("Union", LOAD, OTHER)),
    "repartition": ("batch", over("Repartition", LOAD)),
    "branches of one load": ("batch", UNION),
    "a table that stands still may have anything": ("batch", over("Join", LOAD, over("Aggregate", STATIC))),
    "several tasks for a partition": ("batch", over("Filter", CUT)),
    "nothing is read": ("batch", over("Aggregate", STATIC)),
}
REFUSED = {
    "branches of one load": ("partition", UNION, "two branches .* Use mode batch"),
    "repartition": ("partition", over("Repartition", LOAD), "has Repartition, .* Use mode batch"),
    "sort": ("partition", over("Sort", LOAD), "has Sort, .* Use mode batch"),
    "several tasks for a partition": ("partition", over("Filter", CUT), "minPartitions or maxRecordsPerPartition"),
    "an aggregation": ("batch", over("Aggregate", LOAD), "has Aggregate, .*'exactlyOnceBy', 'batch'"),
    "dropDuplicates": ("batch", over("Deduplicate", LOAD), "has Deduplicate"),
    "a join of streams": ("batch", over("Join", LOAD, OTHER), "has Join"),
    "a self-join": ("batch", over("Join", LOAD, LOAD), "has Join"),
    "state of one's own": ("batch", over("TransformWithStateInPandas", LOAD), "has TransformWithStateInPandas"),
    "limit": ("batch", over("GlobalLimit", LOAD), "has GlobalLimit"),
    "an operator of the future": ("batch", over("Teleport", LOAD), "has Teleport"),
    "an aggregation in one branch": ("batch", over("Union", LOAD, over("Aggregate", LOAD)), "has Aggregate"),
    "a subquery": ("batch", Node("Filter", (LOAD, Node("a subquery", (OTHER,)))), "has a subquery"),
    "two loads": ("batch", over("Union", LOAD, AGAIN), r"two load\(\)s of the plan read topic a,"),
    "two loads, one of a pattern": ("batch", over("Union", LOAD, UNKNOWN), "overlap, as far as is known"),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_plan_that_is_exact_is_taken(name: str) -> None:
    mode, plan = EXACT[name]
    refuse_plan(plan, options(mode=mode))


@pytest.mark.parametrize("name", REFUSED)
def test_a_plan_that_loses_rows_is_refused_and_by_batch_it_is_not(name: str) -> None:
    mode, plan, says = REFUSED[name]
    with pytest.raises(UnsuitablePlan, match=says):
        refuse_plan(plan, options(mode=mode))
    refuse_plan(plan, options(exactlyOnceBy="batch"))


@pytest.mark.parametrize(
    ("given", "topics"),
    [
        ({"subscribe": "a, b,"}, {"a", "b"}),
        ({"Subscribe": "a"}, {"a"}),
        ({"assign": '{"a": [0], "b": [1]}'}, {"a", "b"}),
        ({"subscribePattern": "a.*"}, None),
        ({"subscribe": " "}, None),
    ],
)
def test_topics_are_known_where_they_are_named(given: dict[str, str], topics: set[str] | None) -> None:
    assert topics_of(given) == topics

"""Programs in which a sink was silently wrong or refused unclearly, and their neighbours, as cases of the grammar.

A row is an event that a user of the sink reported, for each way to write that it may happen to. Their seeds are
negative, so that no case of `grammar.case_of` has one of them.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.spark.plans.grammar import WRITES, Case, one_case

BY_SOURCE: Final = WRITES[:2]
BATCH: Final = WRITES[:1]
BY_BATCH: Final = WRITES[2:]


@dataclass(frozen=True)
class Program:
    """A reported event.

    Attributes:
        writes: the ways to write in which it is tried.
        changes: attributes of its case.
    """

    says: str
    writes: tuple[tuple[str, str], ...] = WRITES
    changes: dict[str, Any] = field(default_factory=dict)

    def cases(self, number: int) -> list[Case]:
        """Its cases, one for each way to write."""
        return [
            one_case(-(10 * number + WRITES.index(each) + 1), mode=each[0], by=each[1], **self.changes)
            for each in self.writes
        ]


BRANCHES, LOADS = {"structure": "branches of one load"}, {"structure": "two loads of one topic"}
PROGRAMS: Final[dict[str, Program]] = {
    "union_branches": Program("a union of two branches of one load", changes=BRANCHES),
    "union_branches_killed": Program(
        "the same, driver killed in its transaction", changes=BRANCHES | {"fault": "driver dies"}
    ),
    "union_two_loads": Program("two loads of one topic at different speeds", changes=LOADS),
    "two_queries_one_group": Program("two queries under one group", changes={"outputs": "two queries, one group"}),
    "two_queries": Program("two queries, each under its own group", changes={"outputs": "two queries"}),
    "foreach_two_writes_one_group": Program(
        "foreachBatch with two exactly_once under one group", changes={"outputs": "foreachBatch, two writes, one group"}
    ),
    "foreach_two_writes": Program(
        "foreachBatch with two exactly_once, each under its own group",
        changes={"outputs": "foreachBatch, two writes", "fault": "driver dies"},
    ),
    "older_checkpoint": Program(
        "checkpoint restored from an older copy, larger batches",
        changes={"fault": "older checkpoint", "limits": (12, 0)},
    ),
    "older_checkpoint_smaller": Program(
        "checkpoint restored from an older copy, smaller batches",
        changes={"fault": "driver dies, older checkpoint", "limits": (20, 12)},
    ),
    "new_checkpoint": Program("checkpoint deleted", changes={"fault": "checkpoint lost", "limits": (12, 40)}),
    "stream_join": Program("a join of two streams", changes={"structure": "join of two streams"}),
    "stream_join_killed": Program(
        "the same, driver killed", changes={"structure": "join of two streams", "fault": "driver dies"}
    ),
    "drop_duplicates": Program("dropDuplicates", changes={"structure": "dropDuplicates"}),
    "drop_duplicates_in_foreach": Program(
        "dropDuplicates before foreachBatch", changes={"structure": "dropDuplicates", "outputs": "foreachBatch"}
    ),
    "two_loads_in_foreach": Program(
        "two loads of one topic before foreachBatch", changes=LOADS | {"outputs": "foreachBatch"}
    ),
    "explode": Program("explode", changes={"steps": (("explode",), ())}),
    "shuffle": Program("repartition", changes={"structure": "repartition"}),
    "shuffle_in_foreach": Program(
        "repartition before foreachBatch", changes={"structure": "repartition", "outputs": "foreachBatch"}
    ),
    "coalesce": Program("coalesce(1)", changes={"structure": "coalesce"}),
    "min_partitions": Program("minPartitions", changes={"cut": {"minPartitions": "5"}, "fault": "driver dies"}),
    "kill": Program("driver killed after its commit", changes={"fault": "driver dies", "point": "after commit"}),
    "broker": Program("broker killed and started while a transaction is open", changes={"fault": "broker restarted"}),
    "two_checkpoints": Program("two drivers, each with its own checkpoint", changes={"fault": "two drivers at once"}),
    "zombie": Program(
        "a driver stands still in its transaction while another finishes",
        changes={"fault": "one driver stands still while another finishes"},
    ),
    "repart": Program(
        "driver killed, other trigger sizes, behind a repartition",
        changes={"fault": "driver dies, other trigger sizes", "structure": "repartition"},
    ),
    "grow": Program("partitions added to the input", changes={"fault": "partitions added"}),
    "mode_change": Program("restarted in the other mode", BY_SOURCE, {"fault": "mode changed"}),
    "mixed": Program(
        "two drivers at once in different modes",
        BY_SOURCE,
        {"fault": "two modes at once"},
    ),
    "retention": Program(
        "positions of the group expired, newest batch run again",
        changes={"fault": "positions expired"},
    ),
    "topic_remade": Program("input topic deleted and created again", changes={"fault": "topic created again"}),
}


def cases_of_programs() -> "dict[int, tuple[str, Case]]":
    """Every case of a program, by its seed."""
    return {
        case.seed: (name, case)
        for number, (name, program) in enumerate(PROGRAMS.items())
        for case in program.cases(number)
    }

"""README: plans and events that made the Spark sink lose or duplicate rows without an error, and what prevents each.

A row is one published fault. The counterexample is that of a mutant: the sink without the rule against the fault. The
scenarios in the last column explore the sink with that rule.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from zombieproof.report.mutants import Hunt
from zombieproof.report.pages import table
from zombieproof.report.verification import Found


class Outcome(NamedTuple):
    """A behaviour of the sink, and the scenario that explores it."""

    text: str
    scenario: str


class SparkFault(NamedTuple):
    """A plan or an event, the mutant that shows it, and what the sink does about it."""

    event: str
    scenario: str
    mutant: str
    outcomes: tuple[Outcome, ...]


_REFUSED: Final = Outcome("refused when the query starts", "spark_refused_plans")
_BY_BATCH: Final = Outcome("exact with `exactlyOnceBy` *batch*", "spark_any_plan")
_OLD_CHECKPOINT: Final = (
    Outcome("refused", "spark_any_plan"),
    Outcome("exact by *source*", "spark_branches"),
)

SPARK_FAULTS: Final = (
    SparkFault(
        "`union` of branches of one `load()`, mode *partition*",
        "spark_refused_plans",
        "branches_in_mode_partition",
        (_REFUSED, Outcome("exact in mode *batch*", "spark_branches")),
    ),
    SparkFault(
        "two drivers of one query with different modes",
        "spark_two_modes",
        "deliver_without_a_claim",
        (Outcome("the drivers fence each other, exact", "spark_two_modes"),),
    ),
    SparkFault(
        "two queries in one group, started at the same time",
        "spark_two_queries",
        "take_any_position_for_its_own",
        (Outcome("the second commit is refused", "spark_two_queries"),),
    ),
    SparkFault(
        "two queries in one group, one after the other",
        "spark_two_queries",
        "begin_after_any_position",
        (Outcome("refused when the second query starts", "spark_two_queries"),),
    ),
    SparkFault(
        "two writes in one `foreachBatch` under one group",
        "spark_two_writes",
        "take_any_position_for_its_own",
        (Outcome("the second write is refused", "spark_two_writes"),),
    ),
    SparkFault(
        "`exactlyOnceBy` *batch*, an older copy of the checkpoint: a smaller number",
        "spark_any_plan",
        "take_a_smaller_number_for_written",
        _OLD_CHECKPOINT,
    ),
    SparkFault(
        "the same: the number of the newest batch, with other rows",
        "spark_any_plan",
        "know_batches_by_number",
        _OLD_CHECKPOINT,
    ),
    SparkFault(
        "the same: its next batch has no rows, so that a number would be passed over",
        "spark_older_checkpoint",
        "leave_out_batches_without_rows",
        (Outcome("refused", "spark_older_checkpoint"), Outcome("exact by *source*", "spark_branches")),
    ),
    SparkFault(
        "a stateful plan: rows of an earlier micro-batch",
        "spark_refused_plans",
        "rows_of_an_earlier_batch",
        (_REFUSED, _BY_BATCH),
    ),
    SparkFault(
        "expired positions of the group, then the newest batch again",
        "spark_expired_positions",
        "know_positions_by_the_group_alone",
        (Outcome("exact by the progress topic", "spark_expired_positions"),),
    ),
    SparkFault(
        "`union` of two `load()`s of one topic at different speeds",
        "spark_refused_plans",
        "loads_of_one_topic",
        (_REFUSED, _BY_BATCH),
    ),
    SparkFault(
        "a source topic that is deleted and created again",
        "spark_recreated_topic",
        "know_topics_by_name",
        (Outcome("refused, with both topic ids", "spark_recreated_topic"),),
    ),
    SparkFault(
        "a batch query and a stream in one group: the batch query has left out rows that the stream reads",
        "spark_batch_query",
        "continue_after_a_batch_query",
        (Outcome("the stream is refused", "spark_batch_query"),),
    ),
    SparkFault(
        "the same: the stream began after rows that the batch query reads",
        "spark_batch_query",
        "leave_out_rows_below_a_stream",
        (Outcome("the batch query is refused", "spark_batch_query"),),
    ),
    SparkFault(
        "a lost checkpoint and `startingOffsets` *latest*, with a position for one of two partitions",
        "spark_starts_at_latest",
        "begin_at_latest_without_a_position",
        (Outcome("refused", "spark_starts_at_latest"),),
    ),
)
"""In the order in which they were published."""


def section(found: Found) -> str:
    """The table, with the property that each mutant violates and the verdict of each scenario."""
    verdicts = {run.name: run.verdict for run in found.runs}
    rows = [_row(fault, found.hunts, verdicts) for fault in SPARK_FAULTS]
    return table(("plan or event", "counterexample without the rule", "violates", "steps:", "with the rule"), rows)


def _row(fault: SparkFault, hunts: Sequence[Hunt], verdicts: dict[str, str]) -> tuple[str, ...]:
    wanted = fault.scenario, fault.mutant
    hunt = next((each for each in hunts if (each.scenario.name, each.mutant.name) == wanted), None)
    return (
        fault.event,
        f"`zombieproof check {fault.scenario} --mutant {fault.mutant}`",
        f"`{hunt.promise}`" if hunt else "not explored",
        str(hunt.steps) if hunt else "",
        "; ".join(
            f"{each.text} (`{each.scenario}` {verdicts.get(each.scenario, 'not explored')})" for each in fault.outcomes
        ),
    )

"""The crash table on real Spark: its rows, and how one is carried out."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.spark.kills import acts
from tests.spark.kills.acts import NAIVE, Stages
from tests.spark.kills.drivers import Drivers
from tests.spark.kills.points import Point
from tests.spark.kills.stage import MOST, Ended, staged

GOOD = ("batch", "partition")
SINKS = (*GOOD, NAIVE)


@dataclass(frozen=True)
class Row:
    """What happens, and the sinks to which it can happen."""

    says: str
    act: Callable[[Stages, Drivers], None]
    sinks: tuple[str, ...] = SINKS


ROWS = {
    "before-write": Row(
        "driver killed when one task has written, and another has not begun", partial(acts.killed, at=Point.TASK_BEGINS)
    ),
    "all-written": Row(
        "driver killed when all tasks have written, before `commit`", partial(acts.killed, at=Point.COMMIT_BEGINS)
    ),
    "rows-sent": Row(
        "driver killed inside a transaction: rows are sent, positions are not", partial(acts.killed, at=Point.ROWS_SENT)
    ),
    "all-sent": Row(
        "driver killed inside a transaction: all is sent, nothing is committed",
        partial(acts.killed, at=Point.OFFSETS_SENT),
    ),
    "committed": Row(
        "driver killed right after the answer to the commit of a transaction", partial(acts.killed, at=Point.COMMITTED)
    ),
    "before-commit-log": Row(
        "driver killed after `commit`, before Spark's commit log", partial(acts.killed, at=Point.COMMIT_ENDED)
    ),
    "task-fails": Row("a task fails after writing, and is run again", partial(acts.failed, at=Point.TASK_WRITTEN)),
    "zombie-executor": Row(
        "an executor is stopped before a task writes; its worker goes on when the batch is finished",
        partial(acts.zombie_executor, at=Point.TASK_BEGINS),
    ),
    "zombie-in-transaction": Row(
        "an executor is stopped inside the transaction of a task; its worker goes on when the batch is finished",
        partial(acts.zombie_executor, at=Point.OFFSETS_SENT),
        ("partition", NAIVE),
    ),
    "two-drivers": Row(
        "two drivers on one checkpoint: one stands still before it takes its id, until the other one is done",
        partial(acts.two_drivers, at=Point.ID_NOT_TAKEN),
    ),
    "two-in-transaction": Row(
        "two drivers on one checkpoint: one stands still inside its transaction, until the other one is done",
        partial(acts.two_drivers, at=Point.OFFSETS_SENT),
    ),
    "lost-larger": Row(
        "driver killed after `commit`, checkpoint lost, restarted with larger batches",
        partial(acts.checkpoint_lost, at=Point.COMMIT_ENDED, most=3 * MOST),
    ),
    "lost-smaller": Row(
        "driver killed after `commit`, checkpoint lost, restarted with smaller batches",
        partial(acts.checkpoint_lost, at=Point.COMMIT_ENDED, most=MOST * 2 // 3),
    ),
    "lost-between": Row(
        "driver killed when one task has written, checkpoint lost, restarted with larger batches",
        partial(acts.checkpoint_lost, at=Point.TASK_BEGINS, most=3 * MOST),
    ),
    "down-too-long": Row(
        "driver killed inside a transaction, and down for longer than `transaction.timeout.ms`", acts.down_too_long
    ),
    # The naive sink is exact here: its attempt fails, nothing of it is there, and Spark runs the task again.
    "paused-too-long": Row(
        "a transaction stands still for longer than `transaction.timeout.ms`, and goes on", acts.paused_too_long, GOOD
    ),
}


def carry_out(name: str, drivers: Drivers, folder: Path) -> dict[str, Ended]:
    """What each sink has left of a row."""
    row = ROWS[name]
    with ExitStack() as opened:
        stages = [opened.enter_context(staged(folder / name / sink, sink)) for sink in row.sinks]
        row.act(stages, drivers)
        return {stage.sink: stage.ended() for stage in stages}

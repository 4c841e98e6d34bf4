"""What happens to the queries of one row, one for each sink, on drivers that they share."""

import shutil
import signal
from collections.abc import Sequence

from tests.spark.kills.drivers import CLUSTER, Driver, Drivers
from tests.spark.kills.points import BATCH, Point
from tests.spark.kills.stage import MOST, TIMEOUT_MS, Stage, executor_of, stopped

Stages = Sequence[Stage]

NAIVE = "naive"
LATE = ("FENCED", "FAILED")
END_OF_ZOMBIES = {Point.TASK_BEGINS: ("DONE",), Point.ID_NOT_TAKEN: ("DONE",), Point.OFFSETS_SENT: LATE}
"""Who has not taken the id finds all delivered; who is in its transaction is fenced. Nobody fences a naive one."""
LATER_MS = 2 * TIMEOUT_MS
"""The brokers' clock goes on by so much during an outage."""


# ---------------------------------------------------------------- steps


def stand_at(stages: Stages, drivers: Drivers, point: Point) -> Driver:
    """A driver runs the queries, one after the other, until somebody of each stands at the point."""
    driver = drivers.take()
    for stage in stages:
        driver.start(stage.query(stage.inject(point)))
        stage.injection.wait("reached")
    return driver


def kill_at(stages: Stages, drivers: Drivers, point: Point) -> None:
    """They stand at the point, and the driver is killed with all that is its own."""
    drivers.make_ready(2)
    assert stand_at(stages, drivers, point).kill() == -signal.SIGKILL
    for stage in stages:
        assert stage.logs() == (BATCH, BATCH - 1), "Spark has planned the micro-batch, and has not seen its end"


def run_to_the_end(stages: Stages, drivers: Drivers, most: int = MOST) -> None:
    """A driver runs the queries until they have read all that is there."""
    driver = drivers.take()
    for stage in stages:
        driver.start(stage.query(most=most))
        assert driver.ended() == [None]
        planned, finished = stage.logs()
        assert planned == finished
    drivers.give(driver)


def wake(stages: Stages) -> list[str]:
    """They go on; what came of each."""
    for stage in stages:
        stage.injection.tell("wake")
    return [str(stage.injection.wait("ended")["came_of_it"]) for stage in stages]


def check_zombies(stages: Stages, point: Point, ends: list[str]) -> None:
    for stage, came_of_it in zip(stages, ends, strict=True):
        assert came_of_it in (("DONE",) if stage.sink == NAIVE else END_OF_ZOMBIES[point]), (stage.sink, came_of_it)


# ---------------------------------------------------------------- acts


def killed(stages: Stages, drivers: Drivers, at: Point) -> None:
    kill_at(stages, drivers, at)
    run_to_the_end(stages, drivers)


def failed(stages: Stages, drivers: Drivers, at: Point) -> None:
    """Spark runs the task again, in the same job."""
    driver = drivers.take()
    for stage in stages:
        driver.start(stage.query(stage.inject(at, fails=True)))
        assert driver.ended() == [None]
        assert stage.injection.wait("ended")["came_of_it"] == "InjectedFailure"
    drivers.give(driver)


def checkpoint_lost(stages: Stages, drivers: Drivers, at: Point, most: int) -> None:
    """The restart begins at what the group has committed, and cuts other micro-batches."""
    kill_at(stages, drivers, at)
    for stage in stages:
        shutil.rmtree(stage.checkpoint)
    run_to_the_end(stages, drivers, most)


def _time_goes_on(stages: Stages) -> None:
    for stage in stages:
        assert stage.undecided(), f"{stage.sink}: a transaction is open"
        stage.brokers.advance(LATER_MS)
        assert not stage.undecided(), f"{stage.sink}: the coordinator has aborted it"


def down_too_long(stages: Stages, drivers: Drivers) -> None:
    """The transaction is open when the driver dies, and the coordinator aborts it at its time-out."""
    kill_at(stages, drivers, Point.OFFSETS_SENT)
    _time_goes_on(stages)
    run_to_the_end(stages, drivers)


def paused_too_long(stages: Stages, drivers: Drivers) -> None:
    """As before, but nobody dies: whoever stood still goes on, and is too late."""
    driver = stand_at(stages, drivers, Point.OFFSETS_SENT)
    _time_goes_on(stages)
    check_zombies(stages, Point.OFFSETS_SENT, wake(stages))
    driver.ended()
    drivers.give(driver)
    run_to_the_end(stages, drivers)


def two_drivers(stages: Stages, drivers: Drivers, at: Point) -> None:
    """One stands still, another one does everything on the same checkpoints; then the first one goes on."""
    drivers.make_ready(2)
    driver = stand_at(stages, drivers, at)
    run_to_the_end(stages, drivers)
    ends = wake(stages)
    assert None not in driver.ended(), "Spark ends a query whose checkpoint another one has written"
    drivers.give(driver)
    check_zombies(stages, at, ends)


def zombie_executor(stages: Stages, drivers: Drivers, at: Point) -> None:
    """An executor is stopped, Spark gives its task to another, and the worker goes on when the batch is finished."""
    driver = drivers.take(CLUSTER)
    for stage in stages:
        driver.start(stage.query(stage.inject(at)))
        with stopped(executor_of(stage.injection.wait("reached")["pid"])):
            stage.wait_for_the_end_of_the_batch()
            check_zombies([stage], at, wake([stage]))
        assert driver.ended() == [None]
    driver.kill()
